package storm

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/figures"
	"core5g.dev/core5g/e2e/ran/config"
)

const (
	// ofStorm is the label of everything that Register makes.
	ofStorm = "core5g.dev/storm"
	// gNB is the name of the pod, and of its configuration.
	gNB        = "storm-gnb"
	gNBAddress = "172.30.3.121"
	core       = "core5g"
	slice      = "internet"
	// subscriber has a Secret whose keys all UEs use.
	subscriber = "phone-1"
	// firstMSIN is far from those of manifests/.
	firstMSIN = 100001
)

// site is what UEs must know of the core that they come to.
type site struct {
	mcc, mnc, tac, sst, sd, dnn string
	// layout is Distributed or Fused, or Free5GC where the functions are free5GC's.
	layout string
	// secret has the keys of all UEs.
	secret, k, opc string
}

func (s site) snssai() string {
	if s.sd == "" {
		return fmt.Sprintf(`{"sst": %s}`, s.sst)
	}
	return fmt.Sprintf(`{"sst": %s, "sd": %q}`, s.sst, s.sd)
}

// supi of the UE n, from 0.
func (s site) supi(n int) string {
	return fmt.Sprintf("imsi-%s%s%0*d", s.mcc, s.mnc, 15-len(s.mcc)-len(s.mnc), firstMSIN+n)
}

func look(ctx context.Context, k *cluster.Cluster) (site, error) {
	var s site
	var of string
	for _, q := range []struct {
		object, path string
		into         []*string
	}{
		{"core5g/" + core, "{.spec.plmns[0].mcc},{.spec.plmns[0].mnc},{.spec.tacs[0]}", []*string{&s.mcc, &s.mnc, &s.tac}},
		{"core5g/" + core, "{.spec.controlPlane},{.spec.layout}", []*string{&of, &s.layout}},
		{"slice/" + slice, "{.spec.snssai.sst},{.spec.snssai.sd},{.spec.dataNetworks[0].dnn}", []*string{&s.sst, &s.sd, &s.dnn}},
		{"subscriber/" + subscriber, "{.spec.authentication.secretRef.name}", []*string{&s.secret}},
	} {
		out, err := k.Run(ctx, "get", q.object, "-o", "jsonpath="+q.path)
		if err != nil {
			return s, fmt.Errorf("%w; the UEs come to the core and the slice of `make up`", err)
		}
		for i, word := range strings.SplitN(out, ",", len(q.into)) {
			*q.into[i] = word
		}
	}
	if of == cluster.Free5GC {
		s.layout = of
	}
	s.layout = cmp.Or(s.layout, figures.Distributed)
	var keys struct{ Data struct{ K, OPc []byte } }
	if err := k.JSON(ctx, &keys, "get", "secret", s.secret); err != nil {
		return s, err
	}
	s.k, s.opc = string(keys.Data.K), string(keys.Data.OPc)
	return s, nil
}

// subscribers are the objects that the core must have of n UEs.
func (s site) subscribers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: storm-%d, labels: {%s: ues}}
spec:
  supi: %s
  authentication: {secretRef: {name: %s}}
  slices: [{name: %s}]
`, i+1, ofStorm, s.supi(i), s.secret, slice)
	}
	return b.String()
}

// gnb is a gNB without UEs, on the networks of manifests/samples/ran.yaml. Its UEs have sessions and no devices, so
// that the pod needs no right.
func (s site) gnb(image string) string {
	text := fmt.Sprintf(`{"gnb": {"name": %q, "id": 2, "plmn": {"mcc": %q, "mnc": %q}, "tac": %q, "slices": [%s],
    "amf": ["%s-amf-n2:38412"], "n3": {"address": %q}}, "device": "none", "ues": []}`,
		gNB, s.mcc, s.mnc, s.tac, s.snssai(), core, gNBAddress)
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: %[1]s, labels: {%[2]s: ues}}
data: {ran.yaml: %[3]s}
---
apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  labels: {%[2]s: ues}
  annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": "c5g-n3-ran", "interface": "n3", "ips": ["%[4]s/24"]}]'}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 5
  restartPolicy: Never
  securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: ran
      image: %[5]s
      imagePullPolicy: IfNotPresent
      command: [/ran]
      args: [run, -c, /etc/ran/ran.yaml]
      readinessProbe: {httpGet: {path: /readyz, port: 8081}, periodSeconds: 1}
      resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 1Gi}}
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: config, mountPath: /etc/ran, readOnly: true}]
  volumes: [{name: config, secret: {secretName: %[1]s}}]
`, gNB, ofStorm, base64.StdEncoding.EncodeToString([]byte(text)), gNBAddress, image)
}

func ctl(ctx context.Context, k *cluster.Cluster, in string, args ...string) (string, error) {
	return k.Input(ctx, in, append([]string{"exec", "-i", gNB, "--", "/ran", "ctl"}, args...)...)
}

// Register has so many UEs come at once, behind a gNB of their own, waits until all have a PDU session, and prints
// how long that took and what the core's functions took for it. Then the UEs leave, and everything that it has made
// goes. It is for the core of `make up`, and one without other users.
func Register(ctx context.Context, k *cluster.Cluster, ues int, limit time.Duration, out io.Writer) (err error) {
	if ues < 1 || ues > config.MaxUEs {
		return fmt.Errorf("%d is not a number of UEs: write 1 to %d", ues, config.MaxUEs)
	}
	s, err := look(ctx, k)
	if err != nil {
		return err
	}
	image, err := k.Run(ctx, "get", "deployment", "ran", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(k)) }()

	began := time.Now()
	if _, err := k.Input(ctx, s.subscribers(ues), "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	created := time.Since(began)
	if err := subscribed(ctx, k, ues); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d Subscribers: created in %.1f s, ready after %.1f s\n", ues, created.Seconds(), time.Since(began).Seconds())
	if _, err := k.Input(ctx, s.gnb(image), "apply", "-f", "-"); err != nil {
		return err
	}
	if _, err := k.Run(ctx, "wait", "pod/"+gNB, "--for=condition=Ready", "--timeout=2m"); err != nil {
		return err
	}
	before, err := rest(ctx, k)
	if err != nil {
		return err
	}

	began = time.Now()
	if _, err := ctl(ctx, k, fmt.Sprintf(`{"supi": %q, "count": %d, "k": %q, "opc": %q, "autostart": true, "sessions": [{"id": 1, "snssai": %s, "dnn": %q}]}`,
		s.supi(0), ues, s.k, s.opc, s.snssai(), s.dnn), "add-ue", "-f", "-"); err != nil {
		return err
	}
	// Its answer is a failure where not all are in; that is counted below.
	_, _ = ctl(ctx, k, "", "status", "-wait-ready", limit.String())
	took := time.Since(began)
	raw, err := ctl(ctx, k, "", "status")
	if err != nil {
		return err
	}
	in, outside, err := attached([]byte(raw))
	if err != nil {
		return err
	}
	after, err := measure(ctx, k, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d UEs at once behind one gNB: %d with a PDU session after %.1f s, %.1f a second\n", ues, in, took.Seconds(), float64(in)/took.Seconds())
	cpu, err := tell(out, before, after)
	if err != nil {
		return err
	}
	if in > 0 {
		fmt.Fprintln(out, figures.Line{Layout: s.layout, Case: "storm", UEs: in, Took: took, CPU: cpu})
	}
	for _, cause := range slices.Sorted(maps.Keys(outside)) {
		fmt.Fprintf(out, "%d UEs are outside: %s\n", outside[cause], cause)
	}
	if err := leave(ctx, k, s, ues); err != nil {
		return err
	}
	if in < ues {
		return fmt.Errorf("%d of %d UEs have no PDU session after %s", ues-in, ues, limit)
	}
	return nil
}

// subscribed waits until the core knows all UEs. One question for all: kubectl itself asks five a second.
func subscribed(ctx context.Context, k *cluster.Cluster, ues int) error {
	return cluster.Eventually(ctx, 5*time.Minute, func() error {
		out, err := k.Run(ctx, "get", "subscribers", "-l", ofStorm, "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		if n := strings.Count(out, "True"); err == nil && n < ues {
			err = fmt.Errorf("%d of %d Subscribers are Ready", n, ues)
		}
		return err
	})
}

// attached counts the UEs that have a PDU session, and the others by what was said to them last.
func attached(raw []byte) (in int, outside map[string]int, err error) {
	var status cluster.RANStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return 0, nil, fmt.Errorf("ran ctl status answered %q: %w", raw, err)
	}
	outside = map[string]int{}
	for _, ue := range status.UEs {
		if slices.ContainsFunc(ue.Sessions, func(s cluster.Session) bool { return s.Address != "" }) {
			in++
			continue
		}
		outside[strings.TrimSuffix(ue.State+", "+ue.Error, ", ")]++
	}
	return in, outside, nil
}

// leave has all UEs take leave of the core, some at a time.
func leave(ctx context.Context, k *cluster.Cluster, s site, ues int) error {
	prefix := strings.TrimSuffix(s.supi(0), fmt.Sprint(firstMSIN))
	script := fmt.Sprintf("/bin/busybox seq %d %d | /bin/busybox xargs -P 8 -I N /ran ctl deregister -switch-off -ue %sN >/dev/null",
		firstMSIN, firstMSIN+ues-1, prefix)
	_, err := k.Run(ctx, "exec", gNB, "--", "/bin/busybox", "sh", "-c", script)
	return err
}

// remove takes away what Register has made, also where it was interrupted.
func remove(k *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, err := k.Run(ctx, "delete", "pods,secrets", "-l", ofStorm, "--timeout=1m")
	_, left := k.Run(ctx, "delete", "subscribers", "-l", ofStorm, "--wait=false")
	return errors.Join(err, left)
}
