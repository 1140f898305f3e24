package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/release"
	"core5g.dev/core5g/e2e/scene"
)

const (
	supi        = "imsi-208930000000001"
	dataNetwork = cluster.DataNetwork
	unit        = "upf-0"
	tag         = "dev"
	patience    = 3 * time.Minute
)

// keeping are the components whose pods UEs and their sessions outlive; n2 is where gNBs have their association, whose end they notice.
var keeping = []string{"amf", n2, "smf", "session-store"}

const n2 = "amf-n2"

// upgrade is what the stories share. They stand in the order of their files' only test.
type upgrade struct {
	*cluster.Cluster
	// before are the files of the previous release, of TestUpgrade alone.
	before *release.Files
}

// alone is the core of a story by itself, which a variable asks for, and a target of make: it is ready, and its phone is attached.
func alone(t *testing.T, variable, target string) (upgrade, context.Context) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skip("needs a cluster: make " + target)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 18*time.Minute)
	t.Cleanup(cancel)
	k, err := cluster.Open(ctx)
	check(t, err)
	u := upgrade{Cluster: k}
	check(t, u.There(ctx, "core5g/core5g", "upfinstance/upf", "slice/internet", "deployment/ran"))
	t.Cleanup(func() {
		if t.Failed() {
			u.explain(t)
		}
	})
	u.ready(t, ctx)
	u.attached(t, ctx)
	return u, ctx
}

// TestUpgrade is one story: each step starts where the one before it ended.
func TestUpgrade(t *testing.T) {
	if os.Getenv("CORE5G_UPGRADE") == "" {
		t.Skip("needs a cluster: make e2e-upgrade")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	t.Cleanup(cancel)
	k, err := cluster.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u := upgrade{Cluster: k}
	began := time.Now()
	u.command(t, ctx, "hack/previous-release.sh", "build")
	if u.before, err = release.Open(filepath.Join(k.Root, "out/previous/release")); err != nil {
		t.Fatal(err)
	}
	t.Logf("release %s is made: %.0f s", u.before.Version, time.Since(began).Seconds())
	for _, step := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"the previous release", u.previousRelease},
		{"a new operator restarts nothing", u.newOperator},
		{"rollback of the operator restarts nothing", u.operatorBack},
		{"a new control plane leaves the UPF alone", u.newControlPlane},
		{"a new UPF waits for approval", u.newUPF},
		{"rollback of everything leaves the UPF alone", u.everythingBack},
		{"all in one step", u.oneStep},
		{"the SBI over TLS leaves the UPF alone", u.overTLS},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					u.explain(t)
				}
			})
			step.run(t, ctx)
		}) {
			t.Fatalf("the steps after %q start where it did not end", step.name)
		}
		t.Logf("%s: %.0f s", step.name, time.Since(began).Seconds())
	}
}

// previousRelease installs it from its files, in place of whatever is there.
func (u upgrade) previousRelease(t *testing.T, ctx context.Context) {
	u.command(t, ctx, "hack/cluster.sh", append([]string{"load-image"}, u.before.Archives()...)...)

	check(t, u.Delete(ctx, "manifests/samples/ran.yaml", "manifests/slice-second.yaml", "manifests/slice.yaml"))
	if _, err := u.HelmRun(ctx, "status", cluster.Release); err == nil {
		u.helm(t, ctx, "uninstall", cluster.Release, "--wait", "--timeout", "5m")
	}
	u.helm(t, ctx, append([]string{"install", cluster.Release, filepath.Join(u.before.Folder, u.before.Chart), "--create-namespace", "--wait", "--timeout", "4m"}, u.site()...)...)
	u.newestVersion(t, ctx)
	// Its definitions have v1alpha1 alone.
	slice, err := os.ReadFile(filepath.Join(u.Root, "manifests/slice.yaml"))
	check(t, err)
	_, err = u.Input(ctx, strings.ReplaceAll(string(slice), "core5g.dev/v1beta1", "core5g.dev/v1alpha1"),
		"apply", "--server-side", "--field-manager=kubectl-client-side-apply", "-f", "-")
	check(t, err)
	check(t, u.Apply(ctx, "manifests/samples/ran.yaml"))
	u.ready(t, ctx)
	u.attached(t, ctx)
	for _, component := range append([]string{"operator", "upf"}, keeping...) {
		u.previousImage(t, ctx, component)
	}
}

// newestVersion has kubectl ask which versions are served, as docs/upgrade.md says: it asks for the newest one that it remembers, also when that is gone.
func (u upgrade) newestVersion(t *testing.T, ctx context.Context) {
	t.Helper()
	_, err := u.Run(ctx, "api-resources", "--api-group=core5g.dev")
	check(t, err)
}

// newOperator takes over chart, definitions and operator; the functions keep their images.
func (u upgrade) newOperator(t *testing.T, ctx context.Context) {
	if replaced := u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, u.upgradeTo(t, "--set", "images.tag="+tag, "--set", "core.spec.images.tag="+u.before.Version)...)
	}); len(replaced) > 0 {
		t.Errorf("a new operator alone has replaced %s", strings.Join(replaced, " and "))
	}
	u.definitionsAre(t, ctx, filepath.Join(u.Root, "charts/core5g"))
	u.image(t, ctx, "operator", tag)
	u.previousImage(t, ctx, "amf")
	u.clearText(t, ctx)
}

func (u upgrade) operatorBack(t *testing.T, ctx context.Context) {
	u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, "rollback", cluster.Release, "1", "--wait", "--timeout", "4m")
		u.newestVersion(t, ctx)
	})
	u.definitionsAre(t, ctx, u.previousChart(t, ctx))
	u.previousImage(t, ctx, "operator")
	u.helm(t, ctx, u.upgradeTo(t, "--set", "images.tag="+tag, "--set", "core.spec.images.tag="+u.before.Version)...)
	u.ready(t, ctx)
}

// newControlPlane lets the core's functions follow.
func (u upgrade) newControlPlane(t *testing.T, ctx context.Context) {
	u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, u.upgradeTo(t, "--set", "images.tag="+tag, "--set", "core.spec.images.tag="+tag)...)
		u.images(t, ctx, keeping, tag)
	})
}

// newUPF does what condition UpdatePending says. The SMF restores the unit's sessions.
func (u upgrade) newUPF(t *testing.T, ctx context.Context) {
	check(t, u.WaitCondition(ctx, "upfinstance/upf", "UpdatePending", patience))
	var upf cluster.Object
	check(t, u.JSON(ctx, &upf, "get", "upfinstance/upf"))
	pending, _ := upf.Condition("UpdatePending")
	_, command, found := strings.Cut(pending.Message, "kubectl ")
	if !found {
		t.Fatalf("UpdatePending names no command: %s", pending.Message)
	}
	before, ue := incarnations(u.pods(t, ctx, "upf")), u.attached(t, ctx)
	_, err := u.Run(ctx, strings.Fields(command)...)
	check(t, err)
	check(t, u.WaitConditionIs(ctx, "upfinstance/upf", "UpdatePending", "False", patience))
	check(t, u.WaitCondition(ctx, "upfinstance/upf", "Ready", patience))
	if now := incarnations(u.pods(t, ctx, "upf")); now == before {
		t.Fatalf("the unit was not replaced although its update was let through")
	}
	u.image(t, ctx, "upf", tag)
	u.same(t, ctx, ue)
}

func (u upgrade) everythingBack(t *testing.T, ctx context.Context) {
	u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, "rollback", cluster.Release, "1", "--wait", "--timeout", "4m")
		u.newestVersion(t, ctx)
		for _, component := range keeping {
			u.previousImage(t, ctx, component)
		}
	})
	u.definitionsAre(t, ctx, u.previousChart(t, ctx))
	u.previousImage(t, ctx, "operator")
}

// oneStep is the upgrade of somebody who has read nothing.
func (u upgrade) oneStep(t *testing.T, ctx context.Context) {
	u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, u.upgradeTo(t, "--set", "images.tag="+tag, "--set", "core.spec.images.tag="+tag)...)
		u.images(t, ctx, keeping, tag)
	})
}

// clearText fails where the core speaks TLS: that restarts the whole control plane, which nobody has asked for.
func (u upgrade) clearText(t *testing.T, ctx context.Context) {
	t.Helper()
	mode, err := u.Run(ctx, "get", "core5g/core5g", "-o", "jsonpath={.spec.tls.mode}")
	check(t, err)
	if mode != "Disabled" {
		t.Errorf("spec.tls.mode of a core of the previous release is %q now, want Disabled", mode)
	}
}

// overTLS gives the core what a new one has, as docs/upgrade.md says. Functions that speak https do not hear those that do not
// yet: a UE that asks for something meanwhile may make its session anew.
func (u upgrade) overTLS(t *testing.T, ctx context.Context) {
	u.clearText(t, ctx)
	upf := incarnations(u.pods(t, ctx, "upf"))
	u.helm(t, ctx, u.upgradeTo(t, "--set", "core.spec.tls.mode=Mutual")...)
	check(t, u.WaitCondition(ctx, "core5g/core5g", "CertificatesReady", patience))
	for _, deployment := range []string{"deploy/core5g-amf", "deploy/core5g-smf"} {
		check(t, cluster.Eventually(ctx, patience, func() error {
			volumes, err := u.Run(ctx, "get", deployment, "-o", "jsonpath={.spec.template.spec.volumes[*].name}")
			if err == nil && !strings.Contains(volumes, "sbi-tls") {
				err = fmt.Errorf("%s has the volumes %s, want sbi-tls too", deployment, volumes)
			}
			return err
		}))
		_, err := u.Run(ctx, "rollout", "status", deployment, "--timeout=180s")
		check(t, err)
	}
	u.ready(t, ctx)
	// AMF and SMF know each other's resources of before by http.
	before := u.attached(t, ctx)
	check(t, u.RAN(ctx, nil, "idle", "--ue", supi))
	check(t, u.RAN(ctx, nil, "service-request", "--ue", supi))
	if after := u.attached(t, ctx); after.Sessions[0].Address != before.Sessions[0].Address {
		t.Errorf("the session of before has ended: it has %s, and had %s", after.Sessions[0].Address, before.Sessions[0].Address)
	}
	if now := incarnations(u.pods(t, ctx, "upf")); now != upf {
		t.Errorf("the UPF was restarted: %s, was %s", now, upf)
	}
}

// withTraffic does something while packets flow, and holds it to the promise: no unit of the UPF is restarted; no UE registers anew and no
// session ends, whichever function was replaced; and no packet is lost but where that was the N2 terminator, whose end the gNB
// notices.
func (u upgrade) withTraffic(t *testing.T, ctx context.Context, do func()) (replaced []string) {
	t.Helper()
	before := u.attached(t, ctx)
	upf := incarnations(u.pods(t, ctx, "upf"))
	were := u.functions(t, ctx)
	tr := u.StartTraffic(ctx, supi, dataNetwork, unit)

	do()
	u.ready(t, ctx)

	for name, now := range u.functions(t, ctx) {
		if now != were[name] {
			replaced = append(replaced, name)
		}
	}
	slices.Sort(replaced)
	if now := incarnations(u.pods(t, ctx, "upf")); now != upf {
		t.Fatalf("the UPF was restarted: %s, was %s", now, upf)
	}
	if slices.Contains(replaced, n2) {
		tr.Stop()
	} else {
		check(t, tr.Lossless())
	}
	u.same(t, ctx, before)
	t.Logf("replaced: [%s]; %d packets sent, %d came back", strings.Join(replaced, " "), tr.Sent, tr.Received)
	return replaced
}

// same waits until the UE is served, by the sessions and with the registration that it had.
func (u upgrade) same(t *testing.T, ctx context.Context, before cluster.UEStatus) {
	t.Helper()
	after := u.attached(t, ctx)
	if diff := cmp.Diff(before.Sessions, after.Sessions); diff != "" {
		t.Errorf("sessions of the UE (-before +after):\n%s", diff)
	}
	if after.Counters.Registrations != before.Counters.Registrations {
		t.Errorf("the UE has registered %d times, %d of them before", after.Counters.Registrations, before.Counters.Registrations)
	}
}

// upgradeTo are the arguments of an upgrade to this chart, which knows the digests of the release before as one of a release does. Values that the user has
// set stay, and new ones have their defaults: --reuse-values would leave those out.
func (u upgrade) upgradeTo(t *testing.T, more ...string) []string {
	t.Helper()
	digests, err := json.Marshal(map[string]map[string]string{u.before.Version: u.before.Digests()})
	check(t, err)
	return append([]string{"upgrade", cluster.Release, "charts/core5g", "--reset-then-reuse-values", "--wait", "--timeout", "4m",
		"--set-json", "images.digests=" + string(digests)}, more...)
}

// site are the values that `make up` gives this cluster too, of a core in clear text.
func (u upgrade) site() []string {
	args := []string{"--set", "core.spec.n2.transport=" + cluster.N2Transport(), "--set", "core.spec.tls.mode=Disabled",
		"--set", "core.spec.controlPlane=" + cluster.Core5G, "--set", fmt.Sprintf("core.spec.amf.workers=%d", cluster.AMFWorkers)}
	if pods := cluster.PodNetwork(); pods != "" {
		args = append(args, "--set", "upf.spec.n4.controlPlaneSubnets={"+pods+"}")
	}
	if registry := os.Getenv("CORE5G_REGISTRY"); registry != "" {
		args = append(args, "--set", "images.registry="+registry)
	}
	return args
}

// previousChart is the folder of the previous release's chart, unpacked.
func (u upgrade) previousChart(t *testing.T, ctx context.Context) string {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", filepath.Join(u.before.Folder, u.before.Chart), "-C", folder).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return filepath.Join(folder, "core5g")
}

// definitionsAre compares the served definitions with those of a chart.
func (u upgrade) definitionsAre(t *testing.T, ctx context.Context, chart string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chart, "files/crds/*.yaml"))
	check(t, err)
	if len(paths) == 0 {
		t.Fatalf("no definitions in %s", chart)
	}
	type definition struct {
		Metadata struct{ Name string }
		Spec     struct {
			Versions []struct {
				Name   string
				Schema map[string]any
			}
		}
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		check(t, err)
		var want, got definition
		check(t, yaml.Unmarshal(content, &want))
		out, err := u.Run(ctx, "get", "crd", want.Metadata.Name, "-o", "json")
		check(t, err)
		check(t, json.Unmarshal([]byte(out), &got))
		if diff := cmp.Diff(want.Spec.Versions, got.Spec.Versions); diff != "" {
			t.Errorf("definition %s (-of the chart +served):\n%s", want.Metadata.Name, diff)
		}
	}
}

func (u upgrade) ready(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, object := range []string{"upfinstance/upf", "core5g/core5g"} {
		check(t, u.WaitCondition(ctx, object, "Ready", patience))
	}
	check(t, cluster.Eventually(ctx, patience, func() error {
		err := u.WaitCondition(ctx, "slice/internet", "Ready", 10*time.Second)
		if err == nil {
			return nil
		}
		// The operator of the previous release may miss that the SMF is ready, and looks again when the Slice changes (docs/upgrade.md).
		operator, failed := u.Run(ctx, "get", "deploy/core5g-operator", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
		if failed == nil && u.before != nil && u.before.Is(operator) == nil {
			_, failed = u.Run(ctx, "annotate", "slice/internet", "--overwrite", "looked-at="+strconv.FormatInt(time.Now().Unix(), 10))
		}
		return errors.Join(err, failed)
	}))
}

// attached waits until the UE has a PDU session through which packets come back.
func (u upgrade) attached(t *testing.T, ctx context.Context) (ue cluster.UEStatus) {
	t.Helper()
	check(t, cluster.Eventually(ctx, patience, func() (err error) {
		if ue, err = u.WaitAttached(ctx, supi, time.Second); err != nil {
			return err
		}
		p, err := u.Ping(ctx, supi, dataNetwork, 5, 100*time.Millisecond)
		if err == nil && p.Received != p.Sent {
			err = fmt.Errorf("%d of %d packets came back", p.Received, p.Sent)
		}
		return err
	}))
	return ue
}

// images waits until every pod of all these components does what image says.
func (u upgrade) images(t *testing.T, ctx context.Context, components []string, tag string) {
	t.Helper()
	for _, component := range components {
		u.image(t, ctx, component, tag)
	}
}

// image waits until every pod of a component is ready and runs images of the tag.
func (u upgrade) image(t *testing.T, ctx context.Context, component, tag string) {
	t.Helper()
	u.runs(t, ctx, component, func(image string) error {
		if !strings.HasSuffix(image, ":"+tag) {
			return fmt.Errorf("%s: want tag %s", image, tag)
		}
		return nil
	})
}

// previousImage waits until every pod of a component is ready and runs images of the previous release, by their digests.
func (u upgrade) previousImage(t *testing.T, ctx context.Context, component string) {
	t.Helper()
	u.runs(t, ctx, component, u.before.Is)
}

func (u upgrade) runs(t *testing.T, ctx context.Context, component string, right func(image string) error) {
	t.Helper()
	check(t, cluster.Eventually(ctx, patience, func() error {
		pods, err := u.Component(ctx, component)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return fmt.Errorf("no pod of %s", component)
		}
		for _, pod := range pods {
			for _, c := range pod.Spec.Containers {
				if err := right(c.Image); err != nil {
					return fmt.Errorf("%s runs %w", pod.Metadata.Name, err)
				}
			}
			if !pod.Ready() {
				return fmt.Errorf("%s is not ready", pod.Metadata.Name)
			}
		}
		return nil
	}))
}

func (u upgrade) pods(t *testing.T, ctx context.Context, component string) []cluster.Object {
	t.Helper()
	pods, err := u.Component(ctx, component)
	check(t, err)
	if len(pods) == 0 {
		t.Fatalf("no pod of %s", component)
	}
	return pods
}

// functions returns the incarnations of the pods of each component that keeps UEs or sessions.
func (u upgrade) functions(t *testing.T, ctx context.Context) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range keeping {
		found[name] = incarnations(u.pods(t, ctx, name))
	}
	return found
}

// incarnations change with a new pod and with a restarted container.
func incarnations(pods []cluster.Object) string {
	var words []string
	for _, pod := range pods {
		words = append(words, pod.Metadata.UID)
		for _, c := range pod.Status.ContainerStatuses {
			words = append(words, c.Name+"="+c.ContainerID)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func (u upgrade) helm(t *testing.T, ctx context.Context, args ...string) {
	t.Helper()
	_, err := u.HelmRun(ctx, args...)
	check(t, err)
}

func (u upgrade) command(t *testing.T, ctx context.Context, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(u.Root, name), args...)
	cmd.Dir = u.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (u upgrade) explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	scene.Show(t, ctx, u.Cluster, 40,
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "core5gs,slices,upfinstances", "-o", "wide"},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
	)
}

var check = scene.Check
