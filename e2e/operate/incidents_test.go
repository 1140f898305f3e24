package operate

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/operators/certificates"
)

// incidents by round. A UPF that is away, and an operator that is, hide what else they would tell.
func incidents() [][]*incident {
	stray, crowding, cordoned := map[string]string{}, map[string]string{}, map[string]string{}
	return [][]*incident{
		{
			{
				name: "phones with wrong keys", cause: wrongKeys,
				tells: []tale{alert("Core5GAuthenticationFailures"), alert("Core5GRegistrationSuccessLow")},
				heal: []remedy{{
					page: "Core5GAuthenticationFailures", command: "create secret generic",
					shown: map[string]string{"secret": "wrong-keys"}, known: map[string]string{"k": usimK, "opc": usimOPc},
				}},
				healed: func(ctx context.Context) error {
					_, err := k.WaitAttached(ctx, wrongKeysPhone(0), time.Second)
					return err
				},
			},
			{
				name: "a flood of GTP-U for tunnels that are not there", cause: floodN3,
				tells: []tale{alert("Core5GUPFDropsPackets", "reason=rate_limited|unknown_teid")},
				heal: []remedy{{
					page: "Core5GUPFDropsPackets", command: "delete pod",
					shown: map[string]string{"sender": strayGNB, "address": strayGNBAddress},
				}},
				healed: gone(strayGNB),
			},
			{
				name: "as much as a phone can take", cause: saturate,
				tells: []tale{alert("Core5GUPFWorkerSaturated")},
			},
			{
				name: "an SMF of nobody's fills the UPF, and asks for nonsense", cause: strayControlPlane(stray),
				tells: []tale{
					alert("Core5GN4Slow"), // while the table fills
					alert("Core5GN4Errors").when(sessionsAre(straySessions)), alert("Core5GUPFSessionsNearLimit", "table=sessions").when(sessionsAre(straySessions)),
				},
				heal: []remedy{
					{page: "Core5GN4Errors", command: "delete pod", shown: map[string]string{"peer": straySMF}},
					{page: "Core5GUPFSessionsNearLimit", command: "upfctl release", shown: stray},
				},
				healed: sessionsGone,
			},
			{
				name: "a unit that nobody has room for, nor for its standby", cause: noRoom("required", "Required", 128, "redundancy: {standbys: 1}"),
				tells:  []tale{alert("Core5GUPFUnplaced", "upfinstance=required"), alert("Core5GUPFStandbyNotInSync", "name=required")},
				heal:   []remedy{{page: "Core5GUPFUnplaced", command: "units", known: map[string]string{"units": "0"}}},
				healed: conditionIs("upfinstance/required", "Placed", "True"),
			},
			{
				name: "a unit that is left to the scheduler", cause: noRoom("preferred", "Preferred", 144, ""),
				tells:  []tale{alert("Core5GUPFMisaligned", "name=preferred", "reason=NoNUMAFit")},
				heal:   []remedy{{page: "Core5GUPFMisaligned", command: "units", known: map[string]string{"units": "0"}}},
				healed: conditionIs("upfinstance/preferred", "NUMAAligned", "Unknown"),
			},
			{
				name: "a certificate that nobody may renew", skip: withoutAuthority, cause: frozenCertificate,
				tells:  []tale{alert("Core5GCertificateExpiring", "secret="+frozenSecret), alert("Core5GReconcileErrors")},
				heal:   []remedy{{page: "Core5GCertificateExpiring", command: "delete secret"}},
				healed: certificateRenewed,
			},
		},
		{
			{
				name: "packets for a phone that lost its power asleep", cause: powerLost,
				tells: []tale{alert("Core5GUPFBuffersFull", "reason=buffer_full")},
			},
			{
				name: "somebody has taken the operator away", cause: withoutOperator,
				tells: []tale{alert("Core5GOperatorDown")},
				heal:  []remedy{{page: "Core5GOperatorDown", command: "scale deployment"}},
				healed: func(ctx context.Context) error {
					_, err := k.Run(ctx, "rollout", "status", "deployment", "core5g-operator", "--timeout=1s")
					return err
				},
			},
		},
		{
			{
				// The unit begins anew with it, as it does when it is killed, and again without.
				name: "the second of two gateways is not there", cause: strayGateway,
				tells: []tale{alert("Core5GUPFGatewayDown", "pod="+upfInstance+"-0", "interface=n6", "gateway="+strayGatewayAddress)},
			},
			{
				name: "the UPF is killed", cause: killUPF,
				tells: []tale{alert("Core5GUPFRestarted")},
			},
		},
		{
			{
				name: "the cable of N6 is pulled out", skip: withoutBridge, cause: cablePulled,
				tells: []tale{alert("Core5GUPFPortDown", "pod="+upfInstance+"-0", "interface=n6")},
			},
			{
				name: "subscribers are to be in a database that is not there", cause: strayDatabase,
				tells: []tale{alert("Core5GSubscriberDatabaseDown", "reason=Unreachable|NotServed")},
			},
			{
				// Nobody makes a new PDU session meanwhile: most would be turned away.
				name: "an SMF of nobody's asks for more at a time than the UPF has room for", cause: crowd(crowding),
				tells: []tale{alert("Core5GUPFOverloaded", "pod="+upfInstance+"-0")},
				heal: []remedy{
					{page: "Core5GN4Errors", command: "delete pod", shown: map[string]string{"peer": straySMF}},
					{page: "Core5GUPFSessionsNearLimit", command: "upfctl release", shown: crowding},
				},
				healed: notOverloaded,
			},
		},
		{
			{
				name: "the UPF is killed, and its node is cordoned", cause: banish("upf", cordoned, failingSessions),
				tells: []tale{
					// With policy Any, as here, the pod is Pending; a unit that is planned would be Core5GUPFUnplaced.
					alert("Core5GUPFDown", "unit="+upfInstance+"-0"), alert("Core5GSMFWithoutUPF"),
					alert("Core5GPDUSessionFailures", "slice="+secondSlice), alert("Core5GSMFProceduresFail", "procedure=establishment"),
				},
				heal:   []remedy{{page: "Core5GUPFUnplaced", command: "kubectl uncordon", shown: cordoned}},
				healed: coreReady,
			},
		},
		{
			{
				name: "the SMFs are killed, and their node is cordoned", cause: banish("smf", cordoned, nil),
				tells:  []tale{alert("Core5GFunctionDown", "function=smf"), alert("Core5GUPFWithoutSMF")},
				heal:   []remedy{{page: "Core5GFunctionDown", command: "kubectl uncordon", shown: cordoned}},
				healed: coreReady,
			},
		},
		{
			{
				name: "the session store is killed, and its node is cordoned", cause: banish("session-store", cordoned, nil),
				tells:  []tale{alert("Core5GSessionStoreDown"), alert("Core5GAMFShardUnheld"), alert("Core5GSMFShardUnheld")},
				heal:   []remedy{{page: "Core5GFunctionDown", command: "kubectl uncordon", shown: cordoned}},
				healed: coreReady,
			},
		},
	}
}

// silentNodeAgent goes on beside the rounds.
func silentNodeAgent() *incident {
	return &incident{
		name: "somebody has changed the DaemonSet of the node agents", cause: withoutNodeAgents,
		tells: []tale{alert("Core5GNodeAgentSilent")},
		heal:  []remedy{{page: "Core5GNodeAgentSilent", command: "rollout undo"}},
		healed: func(ctx context.Context) error {
			pods, err := k.Component(ctx, "node-agent")
			if err == nil && len(pods) == 0 {
				err = errors.New("no node agent runs")
			}
			return err
		},
	}
}

// Keys of the manifests' USIMs, and of those whose Subscribers have others.
const (
	coreK   = "8baf473f2f8fd09487cccbd7097c6862"
	usimK   = "00112233445566778899aabbccddeeff"
	usimOPc = "8e27b6af0e692e750f32667a3b14605d"
)

func wrongKeysPhone(n int) string { return fmt.Sprintf("imsi-208930000000%d", 901+n) }

// wrongKeys adds phones whose K is not the one that the core knows. They try again and again.
func wrongKeys(t *testing.T, ctx context.Context) (undo func()) {
	const phones = 4
	manifest := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: wrong-keys, namespace: core5g}
type: Opaque
stringData: {k: %s, opc: %s}
`, coreK, usimOPc)
	for n := range phones {
		manifest += fmt.Sprintf(`---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: wrong-keys-%d, namespace: core5g}
spec:
  supi: %s
  authentication: {secretRef: {name: wrong-keys}}
  slices: [{name: %s}]
`, n, wrongKeysPhone(n), firstSlice)
	}
	scene.Must[string](t)(k.Input(ctx, manifest, "apply", "-f", "-"))
	scene.Must[string](t)(k.Input(ctx, fmt.Sprintf(`{"supi": %q, "count": %d, "k": %q, "opc": %q, "autostart": true,
		"sessions": [{"id": 1, "snssai": {"sst": 1, "sd": "010203"}, "dnn": "internet"}]}`, wrongKeysPhone(0), phones, usimK, usimOPc),
		"exec", "-i", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "add-ue", "-f", "-"))
	return func() {
		for n := range phones {
			// A gNB that was started anew meanwhile has forgotten them.
			if err := k.RAN(ctx, nil, "remove-ue", "--ue", wrongKeysPhone(n)); err != nil && !strings.Contains(err.Error(), "no such UE") {
				t.Errorf("remove-ue: %v", err)
			}
		}
		if _, err := k.Input(ctx, manifest, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Error(err)
		}
	}
}

// saturate keeps the first phone's transfers going, and says what they carried where nobody was told of them.
func saturate(t *testing.T, ctx context.Context) (undo func()) {
	var transfers []string
	stop := repeat(ctx, func(ctx context.Context) error {
		carried, err := k.Throughput(ctx, firstPhone, dataNetwork, "down", 15)
		transfers = append(transfers, fmt.Sprint(carried, err))
		return err
	})
	return func() {
		stop()
		if t.Failed() {
			t.Logf("transfers of %s: %s", firstPhone, strings.Join(transfers, "; "))
		}
	}
}

// Pods of trouble, in the simulated phones' image.
const (
	strayGNB, strayGNBAddress = "stray-gnb", "172.30.3.120"
	straySMF                  = "stray-smf"
)

// podOf is a pod that runs the script; more are further lines of its metadata, spec those of its spec, and
// context is the container's security context.
func podOf(t *testing.T, ctx context.Context, name, script, more, spec, security string) {
	t.Helper()
	image := scene.Must[string](t)(k.Run(ctx, "get", "deployment", "ran", "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
	scene.Must[string](t)(k.Input(ctx, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: core5g
%s
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 2
  restartPolicy: Never
%s
  containers:
    - name: trouble
      image: %s
      imagePullPolicy: IfNotPresent
      command: [/bin/busybox, sh, -c, %q]
      resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 128Mi}}
      securityContext: %s
      volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`, name, more, spec, image, script, security), "apply", "-f", "-"))
	scene.Must[string](t)(k.Run(ctx, "wait", "pod/"+name, "--for=condition=Ready", "--timeout=60s"))
}

// storm runs e2e/cmd/storm in a pod of its own.
func storm(t *testing.T, ctx context.Context, name, more string, args ...string) {
	t.Helper()
	program := scene.Must[[]byte](t)(os.ReadFile(scene.Must[string](t)(k.Built("storm", "e2e-operate"))))
	podOf(t, ctx, name, "until [ -e /tmp/ready ]; do sleep 0.1; done; exec /tmp/storm "+strings.Join(args, " "), more,
		"  securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}",
		"{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}")
	scene.Must[string](t)(k.Input(ctx, string(program), "exec", "-i", name, "--",
		"/bin/busybox", "sh", "-c", "cat >/tmp/storm && /bin/busybox chmod 755 /tmp/storm && >/tmp/ready"))
}

// dismiss ends pods of trouble that are still there.
func dismiss(t *testing.T, ctx context.Context, names ...string) {
	t.Helper()
	if _, err := k.Run(ctx, append([]string{"delete", "pod", "--ignore-not-found", "--wait=false"}, names...)...); err != nil {
		t.Error(err)
	}
}

// gone is nil once the pod has ended.
func gone(pod string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		out, err := k.Run(ctx, "get", "pod", pod, "--ignore-not-found", "-o", "name")
		if err == nil && strings.TrimSpace(out) != "" {
			err = fmt.Errorf("pod %s is still there", pod)
		}
		return err
	}
}

// endpoint is the N3 address that the UPF has for a slice.
func endpoint(t *testing.T, ctx context.Context, slice string) netip.Addr {
	t.Helper()
	out := scene.Must[string](t)(k.Run(ctx, "get", "upfinstance", upfInstance, "-o", `jsonpath={.status.endpoints[?(@.slice=="`+slice+`")].address}`))
	return scene.Must[netip.Addr](t)(netip.ParseAddr(out))
}

// floodN3 sends G-PDUs for tunnels that there are not, at the alert's own threshold and far above.
func floodN3(t *testing.T, ctx context.Context) (undo func()) {
	networks := fmt.Sprintf(`  annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": "c5g-n3-ran", "interface": "n3", "ips": [%q]}]'}`, strayGNBAddress+"/24")
	storm(t, ctx, strayGNB, networks, "gtpu", "-rate", "5000", "-upf", endpoint(t, ctx, firstSlice).String())
	return func() { dismiss(t, ctx, strayGNB) }
}

// smfLabels let a pod through the NetworkPolicies to N4, where these are enforced. No Service sends to it.
const smfLabels = "  labels: {app.kubernetes.io/name: core5g, app.kubernetes.io/instance: core5g, app.kubernetes.io/component: smf}"

func upfPod(t *testing.T, ctx context.Context) cluster.Object {
	t.Helper()
	var pod cluster.Object
	check(t, k.JSON(ctx, &pod, "get", "pod", upfInstance+"-0"))
	return pod
}

// straySessions of the 65,536 that there may be.
const straySessions = 53000

// sessionsAre is nil once the UPF has so many.
func sessionsAre(least float64) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		metrics, err := k.UPFMetrics(ctx, upfInstance+"-0")
		if n := metrics[`upf_table_entries{table="sessions"}`]; err == nil && n < least {
			err = fmt.Errorf("the UPF has %.0f sessions of %.0f", n, least)
		}
		return err
	}
}

// atOnce requests wait for upf-c's next share of a CPU together, 10 ms in 100: however fast the machine is, more than one in a hundred.
const atOnce = 256

// strayControlPlane is an SMF that nobody has asked for: it fills the table of sessions to more than the alert's
// threshold, as fast as upf-c's share of a CPU lets it, and then asks for what is not there.
func strayControlPlane(stray map[string]string) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		strayN4(t, ctx, stray, "-n3", endpoint(t, ctx, firstSlice).String(), "-sessions", fmt.Sprint(straySessions), "-at-once", fmt.Sprint(atOnce), "-nonsense", "20")
		return func() { dismiss(t, ctx, straySMF) }
	}
}

// strayN4 runs an SMF of nobody's, and notes by which address the UPF knows it.
func strayN4(t *testing.T, ctx context.Context, stray map[string]string, args ...string) {
	t.Helper()
	storm(t, ctx, straySMF, smfLabels, append([]string{"pfcp", "-upf", upfPod(t, ctx).Status.PodIP}, args...)...)
	var pod cluster.Object
	check(t, k.JSON(ctx, &pod, "get", "pod", straySMF))
	stray["smf"] = pod.Status.PodIP
}

// crowd asks for one session far more often at a time than the UPF lets wait for it: 4,096 in all, 32 for one.
func crowd(stray map[string]string) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		strayN4(t, ctx, stray, "-crowd", "500")
		return func() { dismiss(t, ctx, straySMF) }
	}
}

// notOverloaded is nil once the UPF has no PDU session left out.
func notOverloaded(ctx context.Context) error {
	metrics, err := k.UPFMetrics(ctx, upfInstance+"-0")
	if n := metrics["upf_overload_reduction_percent"]; err == nil && n > 0 {
		err = fmt.Errorf("the UPF has %.0f %% of new PDU sessions left out", n)
	}
	return err
}

// sessionsGone is nil once the UPF has no more sessions than the phones of this suite may have.
func sessionsGone(ctx context.Context) error {
	metrics, err := k.UPFMetrics(ctx, upfInstance+"-0")
	if n := metrics[`upf_table_entries{table="sessions"}`]; err == nil && n > 100 {
		err = fmt.Errorf("the UPF has %.0f sessions", n)
	}
	return err
}

// noRoom makes a UPFInstance for whose unit the node has no CPU left beside that of the core's UPF; more is a further line of its spec.
func noRoom(name, enforcement string, host int, more string) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		scene.Must[string](t)(k.Input(ctx, fmt.Sprintf(`apiVersion: core5g.dev/v1alpha1
kind: UPFInstance
metadata: {name: %s, namespace: core5g}
spec:
  workers: 64
  placement: {policy: PerSocket, enforcement: %s}
  hugepages: {amount: 64Mi}
  n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.%[3]d/28}
  n6: {attachment: {type: Bridge, bridge: c5g-n6}, address: 172.30.6.%[3]d/24, gateway: 172.30.6.1}
  %s
`, name, enforcement, host, more), "apply", "-f", "-"))
		return func() {
			if _, err := k.Run(ctx, "delete", "upfinstance", name, "--ignore-not-found", "--wait=false"); err != nil {
				t.Error(err)
			}
		}
	}
}

// conditionIs is nil once the condition has the status.
func conditionIs(object, condition, status string) func(ctx context.Context) error {
	return func(ctx context.Context) error { return k.WaitConditionIs(ctx, object, condition, status, time.Second) }
}

// frozenSecret holds the certificate of the PCF.
const frozenSecret = "core5g-pcf-tls"

// tlsSecret is as much of a Secret as its certificate is.
type tlsSecret struct {
	Data map[string][]byte `json:"data"`
}

func certificateOf(t *testing.T, s tlsSecret) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(s.Data[certificates.KeyCertificate])
	if block == nil {
		t.Fatalf("Secret %s has no certificate", frozenSecret)
	}
	return scene.Must[*x509.Certificate](t)(x509.ParseCertificate(block.Bytes))
}

// withoutAuthority says why no certificate can be made that ends soon.
func withoutAuthority(ctx context.Context) (string, error) {
	out, err := k.Run(ctx, "get", "secret", "core5g-ca", frozenSecret, "--ignore-not-found", "-o", "name")
	if err != nil || strings.Count(out, "\n") == 2 {
		return "", err
	}
	return "the SBI has no TLS here, or not with the operator's own authority: no certificate to let expire", nil
}

// frozenCertificate puts a certificate that ends in three days into a Secret, and makes it immutable: the operator
// sees that it is to be renewed, and may not. It is of the core's own authority, so that its peers believe it.
func frozenCertificate(t *testing.T, ctx context.Context) (undo func()) {
	var authority, secret tlsSecret
	check(t, k.JSON(ctx, &authority, "get", "secret", "core5g-ca"))
	check(t, k.JSON(ctx, &secret, "get", "secret", frozenSecret))
	signer := scene.Must[*certificates.Authority](t)(certificates.ReadAuthority(authority.Data))
	data, _, err := signer.Renew(nil, certificates.Certificate{
		DNSNames: certificateOf(t, secret).DNSNames, Duration: 72 * time.Hour, RenewBefore: time.Hour,
	}, time.Now())
	check(t, err)
	patch := scene.Must[[]byte](t)(json.Marshal(map[string]any{"immutable": true, "data": data}))
	scene.Must[string](t)(k.Run(ctx, "patch", "secret", frozenSecret, "--type=merge", "-p", string(patch)))
	return func() {
		if certificateRenewed(ctx) != nil {
			if _, err := k.Run(ctx, "delete", "secret", frozenSecret, "--ignore-not-found"); err != nil {
				t.Error(err)
			}
		}
	}
}

// certificateRenewed is nil once the Secret's certificate does not end soon.
func certificateRenewed(ctx context.Context) error {
	var secret tlsSecret
	if err := k.JSON(ctx, &secret, "get", "secret", frozenSecret); err != nil {
		return err
	}
	if end, ok := certificates.End(secret.Data); !ok || time.Until(end) < 14*24*time.Hour {
		return fmt.Errorf("the certificate in Secret %s ends at %s", frozenSecret, end)
	}
	return nil
}

// withoutNodeAgents has the DaemonSet look for a label that no node has.
func withoutNodeAgents(t *testing.T, ctx context.Context) (undo func()) {
	selector := func(value string) error {
		_, err := k.Run(ctx, "patch", "daemonset", "core5g-node-agent", "--type=merge", "-p",
			`{"spec":{"template":{"spec":{"nodeSelector":{"core5g.dev/no-such-node":`+value+`}}}}}`)
		return err
	}
	check(t, selector(`"true"`))
	return func() {
		if err := selector("null"); err != nil {
			t.Error(err)
		}
	}
}

func withoutOperator(t *testing.T, ctx context.Context) (undo func()) {
	scale := func(replicas string) error {
		_, err := k.Run(ctx, "scale", "deployment", "core5g-operator", "--replicas="+replicas)
		return err
	}
	check(t, scale("0"))
	return func() {
		if err := scale("1"); err != nil {
			t.Error(err)
		}
	}
}

// strayDatabase has the core look for subscribers in a database that nobody runs. The phones are Subscriber objects, which are served as ever.
func strayDatabase(t *testing.T, ctx context.Context) (undo func()) {
	const secret, pods = "stray-database", "app.kubernetes.io/component in (subscriber-data,control-plane)"
	patch := func(spec string) error {
		_, err := k.Run(ctx, "patch", "core5g", "core5g", "--type=merge", "-p", `{"spec":`+spec+`}`)
		return err
	}
	undo = func() {
		if err := patch(`{"subscriberData":null,"subscriberDatabase":null}`); err != nil {
			t.Error(err)
			return
		}
		if err := cluster.Eventually(ctx, patience, func() error { // the next incidents want these pods
			mounted, err := k.Run(ctx, "get", "pods", "-l", pods, "-o", "jsonpath={.items[*].spec.volumes[*].secret.secretName}")
			if err == nil && strings.Contains(mounted, secret) {
				err = errors.New("pods with the database are there still")
			}
			if err == nil {
				_, err = k.Run(ctx, "wait", "pods", "-l", pods, "--for=condition=Ready", "--timeout=1s")
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		if _, err := k.Run(ctx, "delete", "secret", secret, "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	}
	scene.Must[string](t)(k.Run(ctx, "create", "secret", "generic", secret,
		"--from-literal=uri=postgresql://core5g:nobody@127.0.0.1:1/core5g", "--from-literal=1="+strings.Repeat("k", 32)))
	check(t, patch(`{"subscriberData":"PostgreSQL","subscriberDatabase":{"secretRef":{"name":"`+secret+`"}}}`))
	return undo
}

// powerLost ends the gNB with its phones, without a goodbye, while the second phone sleeps, and sends to
// that phone: the UPF keeps packets for a phone that does not answer its paging. The gNB and the first
// phone come back by themselves.
func powerLost(t *testing.T, ctx context.Context) (undo func()) {
	ue := scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, secondPhone, patience))
	pods := scene.Must[[]cluster.Object](t)(k.Component(ctx, "ran"))
	if len(pods) != 1 {
		t.Fatalf("%d pods of the gNB, want 1", len(pods))
	}
	check(t, k.RAN(ctx, nil, "idle", "--ue", secondPhone))
	// From a pod that sees the node's processes, for a container's first process ignores what comes from within.
	const pod = "power-lost"
	podOf(t, ctx, pod, `
		for p in /proc/[0-9]*; do
			if tr '\0' ' ' <$p/cmdline | grep -q '^/ran run '; then kill -9 ${p#/proc/}; fi
		done
		exec sleep 3600`, "", fmt.Sprintf("  hostPID: true\n  nodeName: %s", pods[0].Spec.NodeName), "{runAsUser: 0}")
	stop := repeat(ctx, func(ctx context.Context) error {
		_, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", ue.Sessions[0].Address, "-count", "1000", "-interval", "2ms")
		return err
	})
	return func() {
		stop()
		dismiss(t, ctx, pod)
		if _, err := k.WaitAttached(ctx, firstPhone, patience); err != nil {
			t.Error(err)
		}
		if err := register(ctx, secondPhone); err != nil {
			t.Error(err)
		}
	}
}

func killUPF(t *testing.T, ctx context.Context) (undo func()) {
	scene.Must[string](t)(k.Run(ctx, "delete", "pod", upfInstance+"-0", "--wait=false"))
	return func() {
		check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, "Ready", patience))
	}
}

// strayGatewayAddress is on the UPF's N6, and nobody has it.
const strayGatewayAddress = "172.30.6.250"

// strayGateway names a second router on N6 where there is none.
func strayGateway(t *testing.T, ctx context.Context) (undo func()) {
	name := func(gateway string) {
		scene.Must[string](t)(k.Run(ctx, "patch", "upfinstance", upfInstance, "--type", "merge", "-p", `{"spec":{"n6":{"secondGateway":`+gateway+`}}}`))
	}
	name(`"` + strayGatewayAddress + `"`)
	return func() {
		name("null")
		check(t, cluster.Eventually(ctx, patience, func() error {
			metrics, err := k.UPFMetrics(ctx, upfInstance+"-0")
			for name := range metrics {
				if err == nil && strings.HasPrefix(name, "upf_gateway_up{") {
					err = errors.New("the unit still has two gateways")
				}
			}
			return err
		}))
	}
}

// withoutBridge says why no cable can be pulled.
func withoutBridge(ctx context.Context) (string, error) {
	out, err := k.Run(ctx, "get", "upfinstance", upfInstance, "-o", "jsonpath={.spec.n6.attachment.type}")
	if err != nil || out == "Bridge" {
		return "", err
	}
	return "the UPF's N6 is attached by " + out + ": its other end is no port of a bridge on its node", nil
}

// cablePulled takes down the other end of the UPF's N6, a port of the bridge on its node.
func cablePulled(t *testing.T, ctx context.Context) (undo func()) {
	check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, "LinksUp", patience))
	upf := upfPod(t, ctx)
	const pod = "cable-pulled"
	podOf(t, ctx, pod, `
		for p in /proc/[0-9]*; do
			if [ "$(cat $p/comm)" = upf-u ]; then other=$(cat $p/root/sys/class/net/n6/iflink); fi
		done
		for d in /sys/class/net/*; do
			if [ "$(cat $d/ifindex)" = "$other" ]; then device=${d##*/}; fi
		done
		trap 'ip link set $device up; exit' TERM
		ip link set $device down || exit 1
		while :; do sleep 1; done`,
		"", "  hostNetwork: true\n  hostPID: true\n  nodeName: "+upf.Spec.NodeName,
		"{runAsUser: 0, capabilities: {add: [NET_ADMIN, SYS_PTRACE]}}")
	check(t, k.WaitConditionIs(ctx, "upfinstance/"+upfInstance, "LinksUp", "False", patience))
	return func() {
		dismiss(t, ctx, pod)
		check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, "LinksUp", patience))
	}
}

// banish kills functions while their node takes no pods, and notes which node that is. meanwhile goes on until
// the end.
func banish(component string, cordoned map[string]string, meanwhile func(t *testing.T, ctx context.Context) (stop func())) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		selector := "app.kubernetes.io/managed-by=core5g-operator,app.kubernetes.io/component=" + component
		var node string
		check(t, cluster.Eventually(ctx, patience, func() error {
			pods, err := k.Pods(ctx, selector)
			if err == nil && len(pods) == 0 {
				err = fmt.Errorf("no pod with %s", selector)
			}
			for _, pod := range pods {
				if node = pod.Spec.NodeName; !pod.Ready() {
					err = fmt.Errorf("pod %s is not ready", pod.Metadata.Name)
				}
			}
			return err
		}))
		cordoned["node"] = node
		scene.Must[string](t)(k.Run(ctx, "cordon", node))
		scene.Must[string](t)(k.Run(ctx, "delete", "pod", "-l", selector, "--wait=false"))
		stop := func() {}
		if meanwhile != nil {
			stop = meanwhile(t, ctx)
		}
		return func() {
			stop()
			if _, err := k.Run(ctx, "uncordon", node); err != nil {
				t.Error(err)
			}
		}
	}
}

// coreReady is nil once all is in order again.
func coreReady(ctx context.Context) error {
	for _, object := range []string{"upfinstance/" + upfInstance, "slice/" + firstSlice, "slice/" + secondSlice} {
		if err := k.WaitCondition(ctx, object, "Ready", time.Second); err != nil {
			return err
		}
	}
	return nil
}

// failingSessions has the second phone ask for PDU sessions, again and again.
func failingSessions(t *testing.T, ctx context.Context) (stop func()) {
	var stops []func()
	for id := range 4 {
		stops = append(stops, repeat(ctx, func(ctx context.Context) error {
			return k.RAN(ctx, nil, "session", "--ue", secondPhone, "--id", fmt.Sprint(2+id), "--sd", "112233", "--dnn", "internet")
		}))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
		if err := k.RAN(ctx, nil, "deregister", "--ue", secondPhone); err != nil {
			t.Logf("deregister: %v", err)
		}
		if err := register(ctx, secondPhone); err != nil {
			t.Error(err)
		}
	}
}
