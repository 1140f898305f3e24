package specs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestWhoNeedsASessionStore(t *testing.T) {
	core := makeCore()
	if NeedsSessionStore(core) || EmbeddedSessionStore(core) {
		t.Error("a core that does not name a session store has one")
	}
	for _, p := range NetworkPolicies(core) {
		if strings.Contains(p.Name, "session-store") {
			t.Error("and a policy for it")
		}
	}
	core.Spec.SessionStore = &api.SessionStoreSpec{}
	if !EmbeddedSessionStore(core) || SessionStoreSecretName(core) != "core5g-session-store" {
		t.Error("a core that names one has none")
	}
	if policies := NetworkPolicies(core); policies[len(policies)-1].Name != "core5g-session-store" {
		t.Error("it has no policy")
	}
	core.Spec.SessionStore = &api.SessionStoreSpec{Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: "site"}}
	if EmbeddedSessionStore(core) || !NeedsSessionStore(core) || SessionStoreSecretName(core) != "site" {
		t.Error("a site's own store is taken for the embedded one")
	}
}

func TestWhichSessionStoreItIs(t *testing.T) {
	place := func(store *api.SessionStoreSpec) string {
		core := makeCore()
		core.Spec.SessionStore = store
		return SessionStorePlace(core)
	}
	larger := &api.SessionStoreSpec{Type: api.SessionStoreEmbedded, Storage: &api.SessionStoreStorage{Size: ptr.To(resource.MustParse("8Gi"))}}
	if place(&api.SessionStoreSpec{}) != place(larger) {
		t.Error("a larger claim is another store")
	}
	external := func(name string) *api.SessionStoreSpec {
		return &api.SessionStoreSpec{Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: name}}
	}
	elsewhere := storeOnNode()
	elsewhere.Storage.Node = "w2"
	seen := map[string]bool{}
	for _, s := range []*api.SessionStoreSpec{nil, {}, storeOnNode(), elsewhere, external("a"), external("b")} {
		if seen[place(s)] {
			t.Errorf("%q twice", place(s))
		}
		seen[place(s)] = true
	}
}

func TestWhatADirectoryNeeds(t *testing.T) {
	core := makeCore()
	core.Spec.SessionStore = storeOnNode()
	hint := SessionStoreDirectoryHint(core)
	if s := core.Spec.SessionStore.Storage; !strings.Contains(hint, s.HostPath+" has to be on node "+s.Node+" and belong to user 1000") || !strings.HasSuffix(hint, "install -d -o 1000 -g 1000 -m 0700 "+s.HostPath) {
		t.Error(hint)
	}
	core.Spec.SessionStore = &api.SessionStoreSpec{}
	if hint := SessionStoreDirectoryHint(core); hint != "" {
		t.Errorf("a claim: %s", hint)
	}
}

// What the builders write is what those read who open the store.
func TestSecretsOfTheSessionStoreAreReadable(t *testing.T) {
	core := makeCore()
	access, err := mounted.Parse(SessionStoreSecret(core, "password").Data)
	if err != nil || access.Addresses[0] != "core5g-session-store.core5g.svc:6379" || access.Username != "core5g" || access.Password != "password" {
		t.Errorf("Parse = %+v, %v", access, err)
	}
	if _, err := mounted.ParseKeys(SessionStoreKeys(core, []byte(strings.Repeat("k", 32))).Data); err != nil {
		t.Error(err)
	}
	env, volumes, mounts := SessionStoreMount(core)
	if len(env) != 3 || len(volumes) != 2 || len(mounts) != 2 || env[0].Value != mounts[0].MountPath || env[1].Value != mounts[1].MountPath {
		t.Errorf("a pod gets %v, %v, %v", env, volumes, mounts)
	}
}

// The configuration as written makes a server that the store takes, with the probe of the pod.
func TestSessionStoreConfiguration(t *testing.T) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	core := makeCore()
	built := SessionStoreFunction(core, platform, "password")
	dir := t.TempDir()
	config := filepath.Join(dir, "redis.conf")
	text := strings.NewReplacer("dir /data", "dir "+dir, "port 6379", "port 0\nunixsocket "+dir+"/s").Replace(string(built.Secret.Data["redis.conf"]))
	if strings.Contains(text, "password") || !strings.Contains(text, "maxmemory 1610612736") {
		t.Errorf("the configuration is\n%s", text)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	probe := append([]string{"-s", dir + "/s"}, built.Deployment.Spec.Template.Spec.Containers[0].ReadinessProbe.Exec.Command[1:]...)
	var command *exec.Cmd
	kill := func() { _ = command.Process.Kill(); _ = command.Wait() }
	start := func() {
		t.Helper()
		command = exec.Command(server, config)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		var out []byte
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if out, err = exec.Command("redis-cli", probe...).CombinedOutput(); err == nil {
				break
			}
		}
		if err != nil || strings.TrimSpace(string(out)) != "PONG" {
			t.Fatalf("the probe: %q, %v", out, err)
		}
	}
	start()
	t.Cleanup(func() { kill() })
	cli := func(user, password string, args ...string) string {
		out, _ := exec.Command("redis-cli", append([]string{"-s", dir + "/s", "--no-auth-warning", "--user", user, "--pass", password}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	for _, c := range [][]string{{"probe", "probe", "info"}, {"core5g", "wrong", "get", "core5g:core5g/core5g:generation"}, {"core5g", "password", "get", "core5g:core5g/other:generation"}} {
		if got := cli(c[0], c[1], c[2:]...); !strings.Contains(got, "NOPERM") && !strings.Contains(got, "NOAUTH") && !strings.Contains(got, "WRONGPASS") {
			t.Errorf("%q: %q", c, got)
		}
	}
	if got := cli(SessionStoreUser, "password", "config", "get", "maxmemory-policy"); !strings.Contains(got, "noeviction") {
		t.Errorf("the policy is %q", got)
	}
	if out, _ := exec.Command("redis-cli", "-s", dir+"/s", "ping").CombinedOutput(); !strings.Contains(string(out), "NOAUTH") {
		t.Errorf("who says no name hears %q", out)
	}
	// What was written is there after a kill: single commands, and those of scripts, which the file has as transactions.
	key := SessionStorePrefix(core) + "k"
	cli(SessionStoreUser, "password", "set", key+"1", "one")
	cli(SessionStoreUser, "password", "eval", "redis.call('set', KEYS[1], 'two'); return redis.call('set', KEYS[2], 'three')", "2", key+"2", key+"3")
	kill()
	start()
	for i, want := range []string{"one", "two", "three"} {
		if got := cli(SessionStoreUser, "password", "get", fmt.Sprint(key, i+1)); got != want {
			t.Errorf("after a kill %s%d is %q, want %q", key, i+1, got, want)
		}
	}
}
