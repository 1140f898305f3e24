package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// Pod is a Probe in a pod of a cluster, for the unit of the chart's UPFInstance; its program is out/bin/redundancy.
type Pod struct {
	*cluster.Cluster
	// Node where it shall run; "" where the scheduler wants.
	Node string
}

const (
	// PodName of the probe.
	PodName = "redundancy-probe"

	podAddress, podUE = "172.30.3.121", "10.46.200.1"
	podPatience       = 5 * time.Minute
)

// Start starts the pod, and waits for the probe's association and session.
func (p *Pod) Start(ctx context.Context, upf, unit, slice string) error {
	if err := p.Remove(ctx); err != nil {
		return err
	}
	image, err := p.Run(ctx, "get", "deployment", "ran", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if err != nil {
		return err
	}
	n3, err := p.Run(ctx, "get", "upfinstance", upf, "-o", `jsonpath={.status.endpoints[?(@.slice=="`+slice+`")].address}`)
	if err != nil {
		return err
	}
	n4, err := p.Run(ctx, "get", "service", unit+"-n4", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	path, err := p.Built("redundancy", "e2e-redundancy")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	selector := "{}"
	if p.Node != "" {
		selector = "{kubernetes.io/hostname: " + p.Node + "}"
	}
	command := fmt.Sprintf("/tmp/redundancy probe -n4 %s -n3 %s -own %s -ue %s -to %s", n4, n3, podAddress, podUE, cluster.DataNetwork)
	if _, err := p.Input(ctx, fmt.Sprintf(podManifest, PodName, podAddress, selector, image, command), "apply", "-f", "-"); err != nil {
		return err
	}
	if _, err := p.Run(ctx, "wait", "pod/"+PodName, "--for=condition=Ready", "--timeout=90s"); err != nil {
		return err
	}
	if _, err := p.Input(ctx, string(program), "exec", "-i", PodName, "--", "/bin/busybox", "sh", "-c",
		"cat >/tmp/redundancy && /bin/busybox chmod 755 /tmp/redundancy && >/tmp/ready"); err != nil {
		return err
	}
	return cluster.Eventually(ctx, podPatience, func() error { return p.Tell(ctx, nil, "/count", nil) })
}

// Remove removes the pod.
func (p *Pod) Remove(ctx context.Context) error {
	_, err := p.Run(ctx, "delete", "pod", PodName, "--ignore-not-found", "--wait")
	return err
}

// Tell has the probe do something, and decodes what it answers.
func (p *Pod) Tell(ctx context.Context, v any, path string, values url.Values) error {
	out, err := p.Run(ctx, "exec", PodName, "--", "/bin/busybox", "wget", "-q", "-O", "-", "http://127.0.0.1:8080"+path+"?"+values.Encode())
	if err != nil {
		return err
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal([]byte(out), v)
}

// Passing waits until so many packets more have come back.
func (p *Pod) Passing(ctx context.Context, packets int) error {
	var first Report
	if err := p.Tell(ctx, &first, "/count", nil); err != nil {
		return err
	}
	return cluster.Eventually(ctx, podPatience, func() error {
		var now Report
		if err := p.Tell(ctx, &now, "/count", nil); err != nil {
			return err
		}
		if n := now.Answered - first.Answered; n < packets {
			return fmt.Errorf("%d packets came back, want %d", n, packets)
		}
		return nil
	})
}

// Check asks the probe for its sessions.
func (p *Pod) Check(ctx context.Context) (c Check, err error) {
	if err = p.Tell(ctx, &c, "/check", nil); err == nil && c.Sessions == 0 {
		err = errors.New("the probe has no sessions")
	}
	return c, err
}

// podManifest: the pod has the labels of an SMF, by which the core's NetworkPolicies let it to N4, if there are any; no Service leads to it.
const podManifest = `apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: core5g
  labels: {app.kubernetes.io/name: core5g, app.kubernetes.io/instance: core5g, app.kubernetes.io/component: smf}
  annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": "c5g-n3-ran", "interface": "n3", "ips": ["%s/24"]}]'}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 10
  restartPolicy: Never
  nodeSelector: %s
  containers:
    - name: probe
      image: %s
      imagePullPolicy: IfNotPresent
      command: [/bin/busybox, sh, -c, "until [ -e /tmp/ready ]; do sleep 0.1; done; exec %s"]
      resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi}}
      securityContext: {runAsUser: 0, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL], add: [NET_RAW]}}
      volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`
