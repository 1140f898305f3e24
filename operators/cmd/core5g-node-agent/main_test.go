package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/nodeagent"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		node      string
		args      []string
		wantError string
	}{
		"in a pod":                      {node: "w1"},
		"on a bare server":              {args: []string{"-print"}},
		"no node":                       {wantError: "Set NODE_NAME from spec.nodeName"},
		"printed through configz":       {args: []string{"-print", "-kubelet-config=configz"}, wantError: "which Node?"},
		"an argument too many":          {node: "w1", args: []string{"extra"}, wantError: `"extra"`},
		"an interval that is too long":  {node: "w1", args: []string{"-interval=1m"}, wantError: "write 1s to 4s"},
		"an interval that is too short": {node: "w1", args: []string{"-interval=1ms"}, wantError: "write 1s to 4s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", c.node)
			_, err := parse(c.args, io.Discard)
			if (err == nil) != (c.wantError == "") || (err != nil && !strings.Contains(err.Error(), c.wantError)) {
				t.Errorf("error %v, want one with %q", err, c.wantError)
			}
		})
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A file system on disk, with a link as sysfs has them, and no kubelet: what is missing is said.
func TestPrint(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	sys := t.TempDir()
	write(t, sys, "devices/system/cpu/online", "0-3\n")
	device := "devices/pci0000:00/0000:00:03.0"
	write(t, sys, device+"/class", "0x020000\n")
	write(t, sys, device+"/net/eth0/operstate", "up\n")
	if err := os.MkdirAll(filepath.Join(sys, "bus/pci/devices"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bus/pci/devices/0000:00:03.0": "../../../" + device, device + "/driver": "../../../bus/pci/drivers/e1000"} {
		if err := os.Symlink(target, filepath.Join(sys, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, sys, "kubelet.yaml", "kind: KubeletConfiguration\ncpuManagerPolicy: static\n")
	var out bytes.Buffer
	err := run(t.Context(), []string{"-print", "-sysfs=" + sys, "-kubelet-config=" + filepath.Join(sys, "kubelet.yaml"), "-pod-resources=" + filepath.Join(sys, "none.sock")}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got api.DataplaneNodeStatus
	if err := yaml.UnmarshalStrict(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kubelet.CPUManagerPolicy != "static" || len(got.Cells) != 1 || got.Cells[0].CPUs != "0-3" ||
		len(got.Cells[0].Interfaces) != 1 || got.Cells[0].Interfaces[0].Name != "eth0" || got.Cells[0].Interfaces[0].Driver != "e1000" {
		t.Errorf("printed:\n%s", out.String())
	}
	for _, want := range []string{"none.sock", "modprobe vfio-pci", "intel_iommu=on"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing of %q is printed:\n%s", want, out.String())
		}
	}
}

func TestConfigzIsAskedThroughTheAPIServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/w1/proxy/configz" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"kubeletconfig":{"cpuManagerPolicy":"static"}}`)
	}))
	defer server.Close()
	k, err := kubelet(config{node: "w1", kubelet: configz}, &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Policies(context.Background())
	if err != nil || got.CPUManagerPolicy != "static" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHealth(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	last := time.Time{}
	other := false
	handler := health(func() time.Time { return last }, func() bool { return other }, func() time.Time { return now })
	ask := func(what string, want int) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", what, w.Code, want)
		}
	}
	ask("just started", http.StatusOK)
	now = now.Add(patience + time.Second)
	ask("never looked", http.StatusServiceUnavailable)
	last = now
	ask("looked", http.StatusOK)
	now = now.Add(patience + time.Second)
	ask("stuck", http.StatusServiceUnavailable)
	last, other = now, true
	ask("another configuration file", http.StatusServiceUnavailable)
}

// What a mounted file shows once its name belongs to another one, here with the descriptor for a mount.
func TestReplacedConfiguration(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "config.yaml", "kind: KubeletConfiguration\n")
	path := filepath.Join(dir, "config.yaml")
	held, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	mounted := nodeagent.ConfigFile{FS: os.DirFS("/"), Path: fmt.Sprintf("proc/self/fd/%d", held.Fd())}
	if replaced(mounted)() {
		t.Error("replaced before anything was done")
	}
	write(t, dir, "config.yaml", "kind: KubeletConfiguration\ncpuManagerPolicy: static\n")
	if replaced(mounted)() {
		t.Error("a file that was written in place is seen without a restart")
	}
	write(t, dir, "new", "kind: KubeletConfiguration\n")
	if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
		t.Fatal(err)
	}
	if !replaced(mounted)() {
		t.Error("the old file is taken for the kubelet's")
	}
}
