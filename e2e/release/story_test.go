package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

const (
	supi = "imsi-208930000000001"
	// registry is the one of docs/install.md; `hack/cluster.sh prerequisites registry` brings it.
	registry = "registry.example.org"
	patience = 5 * time.Minute

	// Somebody copies the image of carelessly without its list of platforms, and moves the tag of moved, to which image `to` is then.
	carelessly = "session-management"
	moved, to  = "operator", "node-agent"
)

// reader installs a core from files, with what docs/install.md says and nothing else of the repository.
type reader struct {
	*cluster.Cluster
	files *Files
	// desk is the folder where the reader has the files; what the commands write goes there.
	desk string
	// env is what the commands have in their environment.
	env []string
	// hosts is their /etc/hosts: the registry has a name.
	hosts string
	doc   string
}

// TestRelease is one story: each step starts where the one before it ended.
func TestRelease(t *testing.T) {
	if os.Getenv("CORE5G_E2E_RELEASE") == "" {
		t.Skip("needs a release and a cluster without a core: make e2e-release")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	t.Cleanup(cancel)
	r := open(t, ctx)
	for _, step := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"files are as they were signed", r.checked},
		{"the document's own values are taken by the chart", r.documented},
		{"pushed, and two mistakes made", r.pushedWrongly},
		{"a moved tag is not pulled, and a platform's lack is told", r.installed},
		{"pushed as the document says, the core becomes ready by itself", r.pushed},
		{"a slice, and a phone that pings", r.phone},
		{"every image is the release's, from the registry", r.fromTheRegistry},
		{"the plug-in says that it is well", r.well},
	} {
		began := time.Now()
		if !t.Run(step.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					r.explain(t)
				}
			})
			step.run(t, ctx)
		}) {
			t.Fatalf("the steps after %q start where it did not end", step.name)
		}
		t.Logf("%s: %.0f s", step.name, time.Since(began).Seconds())
	}
}

func open(t *testing.T, ctx context.Context) *reader {
	t.Helper()
	k, err := cluster.Open(ctx)
	check(t, err)
	r := &reader{Cluster: k, desk: t.TempDir()}
	r.files, err = Open(os.Getenv("CORE5G_RELEASE"))
	check(t, err)
	if text, err := k.Run(ctx, "get", "namespace", cluster.Namespace, "--ignore-not-found"); err != nil || text != "" {
		t.Fatalf("the cluster has a namespace %s already, of which nothing may be there: %v", cluster.Namespace, err)
	}
	// The documents are the release's own.
	bundle := "core5g-docs-" + r.files.Version
	out, err := exec.CommandContext(ctx, "tar", "-xzOf", filepath.Join(r.files.Folder, bundle+".tar.gz"), bundle+"/docs/install.md").Output()
	check(t, err)
	r.doc = string(out)
	// Links: what the commands write beside them is none of the release.
	entries, err := os.ReadDir(r.files.Folder)
	check(t, err)
	for _, e := range entries {
		check(t, os.Symlink(filepath.Join(r.files.Folder, e.Name()), filepath.Join(r.desk, e.Name())))
	}

	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	check(t, os.Mkdir(bin, 0o755))
	for name, path := range map[string]string{"kubectl": k.Kubectl, "helm": k.Helm} {
		check(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	// The reader has the public key from its owner.
	key, err := os.ReadFile(os.Getenv("CORE5G_RELEASE_PUBLIC"))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(home, "core5g.pub"), key, 0o644))
	// Of a registry that lets everybody in: `skopeo login` takes what is there.
	auth := filepath.Join(home, "auth.json")
	check(t, os.WriteFile(auth, []byte(`{"auths": {"`+registry+`": {"auth": "cmVhZGVyOnJlYWRlcg=="}}}`), 0o600))
	trusted := filepath.Join(filepath.Dir(k.Kubeconfig), "certs.d", registry, "ca.crt")
	_, err = os.Stat(trusted)
	check(t, err)
	node, err := k.Run(ctx, "get", "nodes", "-o", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
	check(t, err)
	r.hosts = filepath.Join(home, "hosts")
	check(t, os.WriteFile(r.hosts, []byte("127.0.0.1 localhost\n"+node+" "+registry+"\n"), 0o644))
	r.env = append(os.Environ(), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+k.Kubeconfig,
		"REGISTRY_AUTH_FILE="+auth, "SSL_CERT_FILE="+trusted)
	return r
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// block is the document's only block of commands that has a text, for this release's version.
func (r *reader) block(t *testing.T, with string) string {
	t.Helper()
	var found []string
	for _, b := range shellBlock.FindAllStringSubmatch(r.doc, -1) {
		if strings.Contains(b[1], with) {
			found = append(found, b[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/install.md has %d blocks of commands with %q, want one", len(found), with)
	}
	base, _, _ := strings.Cut(r.files.Version, "-")
	return strings.ReplaceAll(found[0], base, r.files.Version)
}

// line is the only line of a block that begins so.
func line(t *testing.T, block, with string) string {
	t.Helper()
	var found []string
	for l := range strings.Lines(block) {
		if strings.HasPrefix(l, with) {
			found = append(found, strings.TrimSpace(l))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines begin with %q, want one of:\n%s", len(found), with, block)
	}
	return found[0]
}

// try runs commands at the reader's desk.
func (r *reader) try(ctx context.Context, script string) (string, error) {
	// A mount namespace of their own has the name of the registry.
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "bash", "-euo", "pipefail", "-c",
		`mount --bind "$1" /etc/hosts; exec bash -euo pipefail -c "$2"`, "bash", r.hosts, script)
	cmd.Dir, cmd.Env = r.desk, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w:\n%s%s", err, script, out)
	}
	return string(out), err
}

func (r *reader) do(t *testing.T, ctx context.Context, script string) string {
	t.Helper()
	out, err := r.try(ctx, script)
	check(t, err)
	return out
}

func (r *reader) checked(t *testing.T, ctx context.Context) {
	r.do(t, ctx, r.block(t, "minisign -Vm"))
}

// documented has the chart take the document's own site.yaml, whose networks this machine has not.
func (r *reader) documented(t *testing.T, ctx context.Context) {
	cat, _, found := strings.Cut(r.block(t, "cat >site.yaml"), "\nhelm install")
	if !found {
		t.Fatal("no helm install after site.yaml")
	}
	r.do(t, ctx, cat)
	r.do(t, ctx, fmt.Sprintf("helm template core5g %s -f site.yaml >/dev/null", r.files.Chart))
	text, err := os.ReadFile(filepath.Join(r.desk, "site.yaml"))
	check(t, err)
	var site struct {
		Images struct {
			Registry string `json:"registry"`
		} `json:"images"`
		UPF struct {
			Spec struct {
				N4 map[string]any `json:"n4"`
			} `json:"spec"`
		} `json:"upf"`
	}
	check(t, yaml.Unmarshal(text, &site))
	if site.Images.Registry != registry+"/core5g" {
		t.Fatalf("images.registry of the document is %q", site.Images.Registry)
	}
	// Of this site: its registry and pods as there, N2 as the kernel has it, and the default's PLMN and bridges, which the simulator has too.
	own, err := yaml.Marshal(map[string]any{
		"images": site.Images,
		"core":   map[string]any{"spec": map[string]any{"n2": map[string]any{"transport": cluster.N2Transport()}}},
		"upf":    map[string]any{"spec": map[string]any{"n4": site.UPF.Spec.N4}},
	})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(r.desk, "site.yaml"), own, 0o644))
}

// push is the document's line.
func (r *reader) push(t *testing.T) string {
	t.Helper()
	return line(t, r.block(t, "skopeo login"), "sh push.sh")
}

func (r *reader) pushedWrongly(t *testing.T, ctx context.Context) {
	var rest []string
	for name := range r.files.Digests() {
		if name != carelessly {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	r.do(t, ctx, line(t, r.block(t, "skopeo login"), "skopeo login")+"\n"+r.push(t)+" "+strings.Join(rest, " "))
	// The document's line for one image, but for what it says of platforms and digests.
	copied := strings.NewReplacer("--all --preserve-digests ", "", "/amf", "/"+carelessly).Replace(line(t, r.block(t, "skopeo copy"), "skopeo copy"))
	if strings.Contains(copied, "--all") || !strings.Contains(copied, carelessly) {
		t.Fatalf("the document's line has become %s", copied)
	}
	r.do(t, ctx, copied)
	if r.tagged(t, ctx, carelessly) == r.files.Digests()[carelessly] {
		t.Fatalf("%s has the release's digest without its list of platforms", carelessly)
	}
	r.do(t, ctx, fmt.Sprintf("skopeo copy --all --preserve-digests docker://%[1]s/core5g/%[2]s:%[4]s docker://%[1]s/core5g/%[3]s:%[4]s", registry, to, moved, r.files.Version))
	if got := r.tagged(t, ctx, moved); got != r.files.Digests()[to] {
		t.Fatalf("the tag of %s is at %s, want the digest of %s", moved, got, to)
	}
}

// tagged is the digest that the registry has for a tag of the release.
func (r *reader) tagged(t *testing.T, ctx context.Context, image string) string {
	t.Helper()
	return "sha256:" + strings.Fields(r.do(t, ctx, fmt.Sprintf("skopeo inspect --raw docker://%s/core5g/%s:%s | sha256sum", registry, image, r.files.Version)))[0]
}

// installed waits for the chart's own pods, of which the operator's tag is moved, and then for the core to say what it lacks.
func (r *reader) installed(t *testing.T, ctx context.Context) {
	r.do(t, ctx, line(t, r.block(t, "cat >site.yaml"), "helm install"))
	check(t, r.imageOf(ctx, moved))
	want := []string{carelessly + ":" + r.files.Version + "@" + r.files.Digests()[carelessly], "not found"}
	check(t, cluster.Eventually(ctx, patience, func() error {
		// As the document says where a pod does not come.
		said, err := r.try(ctx, "kubectl -n core5g get core5gs,upfinstances -o wide")
		for _, w := range want {
			if err == nil && !strings.Contains(said, w) {
				err = fmt.Errorf("no %q in\n%s", w, said)
			}
		}
		if err == nil {
			t.Log(said)
		}
		return err
	}))
}

func (r *reader) pushed(t *testing.T, ctx context.Context) {
	r.do(t, ctx, r.push(t))
	for _, name := range []string{carelessly, moved} {
		if got := r.tagged(t, ctx, name); got != r.files.Digests()[name] {
			t.Errorf("the tag of %s is at %s, want %s", name, got, r.files.Digests()[name])
		}
	}
	r.do(t, ctx, line(t, r.block(t, "cat >site.yaml"), "kubectl -n core5g wait"))
}

// phone applies the document's slice, and the simulated RAN, which no site has, with the release's image.
func (r *reader) phone(t *testing.T, ctx context.Context) {
	r.do(t, ctx, r.block(t, "manifests/slice.yaml"))
	ran, err := os.ReadFile(filepath.Join(r.desk, "core5g-docs-"+r.files.Version, "manifests/samples/ran.yaml"))
	check(t, err)
	image := fmt.Sprintf("%s/core5g/ran:%s@%s", registry, r.files.Version, r.files.Digests()["ran"])
	own := strings.ReplaceAll(string(ran), "core5g/ran:dev", image)
	if strings.Count(own, image) != 2 {
		t.Fatalf("manifests/samples/ran.yaml does not have two pods of core5g/ran:dev")
	}
	_, err = r.Input(ctx, own, "apply", "--server-side", "-f", "-")
	check(t, err)
	ue, err := r.WaitAttached(ctx, supi, patience)
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error {
		p, err := r.Ping(ctx, supi, cluster.DataNetwork, 5, 100*time.Millisecond)
		if err == nil && p.Received != p.Sent {
			err = fmt.Errorf("%d of %d packets came back", p.Received, p.Sent)
		}
		return err
	}))
	t.Logf("%s has %s", supi, ue.Sessions[0].Address)
}

// imageOf says why pods of a component do not have the release's images, pulled from the registry.
func (r *reader) imageOf(ctx context.Context, component string) error {
	pods, err := r.Component(ctx, component)
	if err == nil && len(pods) == 0 {
		err = fmt.Errorf("no pod of %s", component)
	}
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if err := r.pulled(pod); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) pulled(pod cluster.Object) error {
	for _, c := range pod.Spec.Containers {
		if !strings.HasPrefix(c.Image, registry+"/core5g/") {
			return fmt.Errorf("%s has %s, which is not of %s", pod.Metadata.Name, c.Image, registry)
		}
		if err := r.files.Is(c.Image); err != nil {
			return fmt.Errorf("%s: %w", pod.Metadata.Name, err)
		}
	}
	if !pod.Ready() {
		return fmt.Errorf("%s is not ready", pod.Metadata.Name)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if !slices.ContainsFunc(r.files.Images, func(i Image) bool { return c.ImageID == registry+"/core5g/"+i.Name+"@"+i.Digest }) {
			return fmt.Errorf("%s: container %s runs %s, which is none of the release's", pod.Metadata.Name, c.Name, c.ImageID)
		}
	}
	return nil
}

func (r *reader) fromTheRegistry(t *testing.T, ctx context.Context) {
	check(t, cluster.Eventually(ctx, patience, func() error {
		pods, err := r.Pods(ctx, "app.kubernetes.io/name=core5g")
		if err == nil && len(pods) == 0 {
			err = errors.New("no pod")
		}
		for _, pod := range pods {
			err = errors.Join(err, r.pulled(pod))
		}
		return err
	}))
}

// well runs the plug-in of the files.
func (r *reader) well(t *testing.T, ctx context.Context) {
	block := strings.ReplaceAll(r.block(t, "kubectl core5g status"), "/usr/local/bin", `"$HOME/bin"`)
	if said := r.do(t, ctx, block); !strings.Contains(said, "internet") {
		t.Errorf("kubectl core5g status does not name the slice:\n%s", said)
	}
}

func (r *reader) explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	scene.Show(t, ctx, r.Cluster, 40,
		[]string{"get", "pods", "-A", "-o", "wide"},
		[]string{"get", "core5gs,slices,upfinstances", "-o", "wide"},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
	)
}

var check = scene.Check
