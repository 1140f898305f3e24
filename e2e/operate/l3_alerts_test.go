package operate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/grafana"
	"core5g.dev/core5g/e2e/scene"
)

// incident is something that goes wrong, and who has to hear of it.
type incident struct {
	name string
	// alerts that fire; "A|B" where one of them is enough.
	alerts []string
	// cause makes it go wrong, and go on being wrong until undo.
	cause func(t *testing.T, ctx context.Context) (undo func())

	began time.Time
	undo  func()
}

// Every incident is told within two minutes of its cause, and no longer once it is over. Those of the
// first group go on at the same time; those of the second come one after the other.
func TestAlertsFireAndClear(t *testing.T) {
	ctx := story(t, 20*time.Minute)
	check(t, quiet(ctx, patience))
	together := []*incident{
		{name: "phones with wrong keys", alerts: []string{"Core5GAuthenticationFailures", "Core5GRegistrationSuccessLow"}, cause: wrongKeys},
		{name: "packets for nobody", alerts: []string{"Core5GUPFDropsPackets"}, cause: packetsForNobody},
		{name: "as much as a phone can take", alerts: []string{"Core5GUPFWorkerSaturated"}, cause: saturate},
	}
	heard := listen(ctx)
	defer heard.stop()
	for _, i := range together {
		i.begin(t, ctx)
	}
	for _, i := range together {
		t.Run(i.name, func(t *testing.T) { i.fires(t, ctx, heard) })
	}
	for _, i := range together {
		i.undo()
	}
	for _, i := range []*incident{
		{name: "packets for a phone that lost its power asleep", alerts: []string{"Core5GUPFBuffersFull"}, cause: powerLost},
		{name: "the UPF is killed", alerts: []string{"Core5GUPFRestarted"}, cause: killUPF},
		{name: "the UPF is killed and cannot come back", alerts: []string{"Core5GUPFDown|Core5GUPFUnplaced", "Core5GSMFWithoutUPF"}, cause: banish("upf", "")},
		{name: "an SMF is killed and cannot come back", alerts: []string{"Core5GFunctionDown"}, cause: banish("smf", firstSlice)},
	} {
		t.Run(i.name, func(t *testing.T) {
			i.begin(t, ctx)
			i.fires(t, ctx, heard)
			i.undo()
		})
	}
	t.Run("all clear", func(t *testing.T) {
		over := time.Now()
		check(t, quiet(ctx, alertLimit))
		t.Logf("no alert fires %s after the last incident was over", time.Since(over).Round(time.Second))
		scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, firstPhone, patience))
	})
}

func (i *incident) begin(t *testing.T, ctx context.Context) {
	t.Helper()
	i.began = time.Now()
	i.undo = sync.OnceFunc(i.cause(t, ctx))
	t.Cleanup(i.undo)
}

// fires waits for the alerts, and follows the runbook of each.
func (i *incident) fires(t *testing.T, ctx context.Context, heard *ear) {
	t.Helper()
	for _, want := range i.alerts {
		var told news
		check(t, cluster.Eventually(ctx, time.Until(i.began.Add(alertLimit)), func() error {
			var ok bool
			if told, ok = heard.since(i.began, strings.Split(want, "|")); !ok {
				return fmt.Errorf("%s does not fire", want)
			}
			return nil
		}))
		name := told.alert.Labels["alertname"]
		t.Logf("%s fires after %s: %s", name, told.at.Sub(i.began).Round(time.Second), told.alert.Annotations["description"])
		runbook(t, ctx, told.alert)
	}
}

// ear hears every alert when it begins to fire, also one that is over before somebody asks.
type ear struct {
	mutex sync.Mutex
	told  []news
	stop  func()
}

type news struct {
	at    time.Time
	alert grafana.Alert
}

func listen(ctx context.Context) *ear {
	e := &ear{}
	before := map[string]grafana.Alert{}
	e.stop = repeat(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		now, err := firing(ctx)
		if err != nil {
			return err
		}
		e.mutex.Lock()
		defer e.mutex.Unlock()
		for name, alert := range now {
			if _, known := before[name]; !known {
				e.told = append(e.told, news{time.Now(), alert})
			}
		}
		before = now
		return nil
	})
	return e
}

func (e *ear) since(begin time.Time, names []string) (news, bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, n := range e.told {
		if n.at.After(begin) && slices.Contains(names, n.alert.Labels["alertname"]) {
			return n, true
		}
	}
	return news{}, false
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// runbook follows the alert's link and runs the commands by which its page looks at the trouble, as who is
// woken up would: the page takes the alert's labels for variables.
func runbook(t *testing.T, ctx context.Context, alert grafana.Alert) {
	t.Helper()
	url := alert.Annotations["runbook_url"]
	page, err := os.ReadFile(filepath.Join(k.Root, url))
	if err != nil {
		t.Errorf("runbook_url of %s: %v", alert.Labels["alertname"], err)
		return
	}
	_, look, _ := strings.Cut(string(page), "\n## Look\n")
	look, _, _ = strings.Cut(look, "\n## ")
	blocks := shellBlock.FindAllStringSubmatch(look, -1)
	if len(blocks) == 0 {
		t.Errorf("%s has no command below its heading Look", url)
	}
	variables := fmt.Sprintf("ns=%q\n", alert.Labels["namespace"])
	for _, label := range slices.Sorted(maps.Keys(alert.Labels)) {
		variables += fmt.Sprintf("%s=%q\n", label, alert.Labels[label])
	}
	for _, block := range blocks {
		if out, err := k.Shell(ctx, variables+block[1]); err != nil {
			t.Errorf("%s: %v\n%s%s", url, err, block[1], out)
		}
	}
}

// wrongKeys adds phones whose K is not the one that the core knows. They try again and again.
func wrongKeys(t *testing.T, ctx context.Context) (undo func()) {
	const first, phones = 901, 4
	manifest := `apiVersion: v1
kind: Secret
metadata: {name: wrong-keys, namespace: core5g}
type: Opaque
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
`
	var supis []string
	for n := range phones {
		supis = append(supis, fmt.Sprintf("imsi-208930000000%d", first+n))
		manifest += fmt.Sprintf(`---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: wrong-keys-%d, namespace: core5g}
spec:
  supi: %s
  authentication: {secretRef: {name: wrong-keys}}
  slices: [{name: %s}]
`, n, supis[n], firstSlice)
	}
	scene.Must[string](t)(k.Input(ctx, manifest, "apply", "-f", "-"))
	scene.Must[string](t)(k.Input(ctx, fmt.Sprintf(`{"supi": %q, "count": %d, "k": "00112233445566778899aabbccddeeff",
		"opc": "8e27b6af0e692e750f32667a3b14605d", "autostart": true,
		"sessions": [{"id": 1, "snssai": {"sst": 1, "sd": "010203"}, "dnn": "internet"}]}`, supis[0], phones),
		"exec", "-i", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "add-ue", "-f", "-"))
	return func() {
		for _, supi := range supis {
			if err := k.RAN(ctx, nil, "remove-ue", "--ue", supi); err != nil {
				t.Errorf("remove-ue: %v", err)
			}
		}
		if _, err := k.Input(ctx, manifest, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Error(err)
		}
	}
}

// repeat calls what until it is told to stop, and waits for the last call. Errors are those of a core in
// trouble, and nobody's.
func repeat(ctx context.Context, what func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = what(ctx)
		}
	}()
	return func() { cancel(); <-done }
}

// packetsForNobody sends from the data network to an address of the slice's pool that no phone has.
func packetsForNobody(_ *testing.T, ctx context.Context) (undo func()) {
	return repeat(ctx, func(ctx context.Context) error {
		_, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", "10.45.200.200", "-count", "2000", "-interval", "2ms")
		return err
	})
}

// saturate keeps the first phone's transfers going.
func saturate(_ *testing.T, ctx context.Context) (undo func()) {
	return repeat(ctx, func(ctx context.Context) error {
		_, err := k.Throughput(ctx, firstPhone, dataNetwork, "down", 5)
		return err
	})
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
	overrides := fmt.Sprintf(`{"spec": {"hostPID": true, "restartPolicy": "Never", "nodeName": %q, "containers": [{
		"name": "kill", "image": %q, "imagePullPolicy": "IfNotPresent", "command": ["/bin/busybox", "sh", "-c",
		"for p in /proc/[0-9]*; do if tr '\\0' ' ' <$p/cmdline | grep -q '^/ran run '; then kill -9 ${p#/proc/}; fi; done"]}]}}`,
		pods[0].Spec.NodeName, pods[0].Spec.Containers[0].Image)
	scene.Must[string](t)(k.Run(ctx, "run", pod, "--image", pods[0].Spec.Containers[0].Image, "--restart=Never", "--overrides", overrides))
	scene.Must[string](t)(k.Run(ctx, "wait", "pod/"+pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"))
	stop := repeat(ctx, func(ctx context.Context) error {
		_, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", ue.Sessions[0].Address, "-count", "1000", "-interval", "2ms")
		return err
	})
	return func() {
		stop()
		if _, err := k.Run(ctx, "delete", "pod", pod, "--wait=false"); err != nil {
			t.Error(err)
		}
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

// banish kills a function while its node takes no pods.
func banish(component, slice string) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		selector := "app.kubernetes.io/component=" + component
		if slice != "" {
			selector += ",core5g.dev/slice=" + slice
		}
		var node string
		check(t, cluster.Eventually(ctx, patience, func() error {
			pods, err := k.Pods(ctx, selector)
			if err == nil && (len(pods) != 1 || !pods[0].Ready()) {
				err = fmt.Errorf("%d pods with %s, want one that is ready", len(pods), selector)
			}
			if err == nil {
				node = pods[0].Spec.NodeName
			}
			return err
		}))
		scene.Must[string](t)(k.Run(ctx, "cordon", node))
		undo = func() {
			if _, err := k.Run(ctx, "uncordon", node); err != nil {
				t.Error(err)
			}
			for _, object := range []string{"upfinstance/" + upfInstance, "slice/" + firstSlice} {
				if err := k.WaitCondition(ctx, object, "Ready", patience); err != nil {
					t.Error(err)
				}
			}
		}
		scene.Must[string](t)(k.Run(ctx, "delete", "pod", "-l", selector, "--wait=false"))
		return undo
	}
}
