package nodeagent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

const kubeletHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

func TestKubeletPolicies(t *testing.T) {
	file := func(content string) ConfigFile {
		return ConfigFile{FS: tree{}.file("config.yaml", content).fs(), Path: "config.yaml", DropIns: "config.d"}
	}
	configz := func(content string, err error) Configz {
		return Configz{Get: func(context.Context) ([]byte, error) { return []byte(content), err }}
	}
	nothing := api.KubeletStatus{CPUManagerPolicy: "none", TopologyManagerPolicy: "none", TopologyManagerScope: "container", MemoryManagerPolicy: "None"}
	aligned := api.KubeletStatus{
		CPUManagerPolicy: "static", CPUManagerOptions: map[string]string{"full-pcpus-only": "true"},
		TopologyManagerPolicy: "single-numa-node", TopologyManagerScope: "pod", MemoryManagerPolicy: "Static",
	}
	for name, c := range map[string]struct {
		source    Kubelet
		want      api.KubeletStatus
		wantError string
	}{
		"a file that says nothing": {source: file(kubeletHead), want: nothing},
		"a file that says all": {
			source: file(kubeletHead + "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n" +
				"topologyManagerPolicy: single-numa-node\ntopologyManagerScope: pod\nmemoryManagerPolicy: Static\nmaxPods: 42\n"),
			want: aligned,
		},
		"files of the directory override": {
			source: ConfigFile{
				FS: tree{}.file("config.yaml", kubeletHead+"cpuManagerPolicy: static\nmemoryManagerPolicy: None\ntopologyManagerPolicy: best-effort\n").
					file("config.d/10-numa.conf", kubeletHead+"memoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\n").
					file("config.d/20-numa.conf", kubeletHead+"topologyManagerPolicy: single-numa-node\n").
					file("config.d/30-numa.conf.off", kubeletHead+"cpuManagerPolicy: none\n").fs(),
				Path: "config.yaml", DropIns: "config.d",
			},
			want: api.KubeletStatus{CPUManagerPolicy: "static", TopologyManagerPolicy: "single-numa-node", TopologyManagerScope: "container", MemoryManagerPolicy: "Static"},
		},
		"no file":         {source: ConfigFile{FS: tree{}.fs(), Path: "config.yaml"}, wantError: "config.yaml"},
		"another file":    {source: file("apiVersion: v1\nkind: Config\n"), wantError: `its kind is "Config", not KubeletConfiguration`},
		"a broken file":   {source: file("kind: ["), wantError: "config.yaml"},
		"configz":         {source: configz(`{"kubeletconfig":{"cpuManagerPolicy":"static","cpuManagerPolicyOptions":{"full-pcpus-only":"true"},"topologyManagerPolicy":"single-numa-node","topologyManagerScope":"pod","memoryManagerPolicy":"Static","maxPods":110}}`, nil), want: aligned},
		"an old configz":  {source: configz(`{"kubeletconfig":{}}`, nil), want: nothing},
		"no kubelet":      {source: configz("", errors.New("connection refused")), wantError: "connection refused"},
		"another configz": {source: configz(`{"componentconfig":{}}`, nil), wantError: "no kubeletconfig"},
		"a web page":      {source: configz("<html>", nil), wantError: "/configz"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.source.Policies(t.Context())
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Fatalf("error %v, want one with %q", err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
