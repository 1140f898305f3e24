package specs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/storemember"
)

func coreOfThree() *api.Core5G {
	core := makeOwnCore()
	core.Spec.SessionStore = &api.SessionStoreSpec{Replicas: ptr.To(int32(3))}
	return core
}

// storeAt has the Services at these addresses.
func storeAt(n int, addresses ...string) FunctionObjects {
	return SessionStoreMember(coreOfThree(), platform, "password", n, servicesAt(addresses...))
}

func servicesAt(addresses ...string) []*corev1.Service {
	services := SessionStoreServices(coreOfThree())
	for i, address := range addresses {
		services[i].Spec.ClusterIP = address
	}
	return services
}

func storeOfThree(n int) []client.Object {
	return append([]client.Object{SessionStoreServices(coreOfThree())[n]}, storeAt(n, "10.96.7.1", "10.96.7.2", "10.96.7.3").all()...)
}

func TestAStoreOfThreeGrowsOutOfOne(t *testing.T) {
	alone, first, second := SessionStoreFunction(makeOwnCore(), platform, "password"), storeAt(0, "10.96.7.1", "10.96.7.2", "10.96.7.3"), storeAt(1, "10.96.7.1", "10.96.7.2", "10.96.7.3")
	// What cannot be changed of a Deployment, and where the data is, stays; so does the Service.
	if first.Deployment.Name != alone.Deployment.Name || fmt.Sprint(first.Deployment.Spec.Selector) != fmt.Sprint(alone.Deployment.Spec.Selector) ||
		SessionStoreClaim(coreOfThree(), 0).Name != SessionStoreClaim(makeOwnCore(), 0).Name || SessionStoreServices(coreOfThree())[0].Name != alone.Services[0].Name {
		t.Error("the first of three is not the one that was alone")
	}
	// Each Service leads to its member alone, and the others are not taken for the first one's pods once they have its label.
	for n, service := range SessionStoreServices(coreOfThree()) {
		for m, member := range []FunctionObjects{first, second} {
			selected := true
			for name, value := range service.Spec.Selector {
				selected = selected && member.Deployment.Spec.Template.Labels[name] == value
			}
			if selected != (n == m) {
				t.Errorf("Service %s leads to member %d: %t", service.Name, m, selected)
			}
		}
	}
	if first.Budget == nil || second.Budget != nil || first.Budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Error("the three have not one budget between them")
	}
	// Who keeps records finds it in another way, and is told by a new start.
	if Hash(AMFWorkers(makeOwnCore(), platform).Deployment.Spec.Template) == Hash(AMFWorkers(coreOfThree(), platform).Deployment.Spec.Template) {
		t.Error("the AMF's workers go on with one server")
	}
	// A new operator alone replaces none of them.
	newer := platform
	newer.OperatorImage = "core5g/operator:newer"
	core := coreOfThree()
	services := SessionStoreServices(core)
	live := SessionStoreMember(core, platform, "password", 1, services).Deployment
	wanted := SessionStoreMember(core, newer, "password", 1, services).Deployment
	if KeepRunning(wanted, live); Hash(wanted.Spec.Template) != Hash(live.Spec.Template) {
		t.Error("a new operator restarts the session store")
	}
}

// member is one of three, with the processes of its pod.
type member struct {
	t                *testing.T
	n                int
	addresses        []string
	data, written    string
	server, sentinel *exec.Cmd
}

// start plays the kubelet: the files of the Secret, the init container, both processes.
func (m *member) start() {
	m.t.Helper()
	o := storeAt(m.n, m.addresses...)
	for name, content := range o.Secret.Data {
		text := strings.NewReplacer("dir "+sessionStoreData+"\n", "dir "+m.data+"\n", "include "+sessionStoreData, "include "+m.data, "bind *", "bind "+m.addresses[m.n]).Replace(string(content))
		if err := os.WriteFile(filepath.Join(m.written, name), []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	args := append([]string{}, o.Deployment.Spec.Template.Spec.InitContainers[0].Command[2:]...)
	begin, err := storemember.Parse(append(args, "--directory", m.data, "--configuration", m.written), io.Discard)
	if err == nil {
		err = storemember.Prepare(m.t.Context(), begin)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		c := exec.Command("redis-server", args...)
		if err := c.Start(); err != nil {
			m.t.Fatal(err)
		}
		return c
	}
	m.server = run(filepath.Join(m.written, "redis.conf"))
	m.sentinel = run(storemember.SentinelConfig(m.data), "--sentinel")
}

// kill both, as a node that loses its power does.
func (m *member) kill() {
	for _, c := range []*exec.Cmd{m.server, m.sentinel} {
		if c != nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	m.server, m.sentinel = nil, nil
}

// Three members as the operator makes them, as processes: whichever has the primary dies with its node, and nothing that was acknowledged is lost; one that comes back follows,
// also with an empty disk; and all of them go on after all of them were off.
func TestIntegrationAStoreOfThreeOutlivesAnyNode(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers and three Sentinels: not with -short")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	network := loopback.Network()
	addresses := []string{network + ".1", network + ".2", network + ".3"}
	var members []*member
	for n := range addresses {
		m := &member{t: t, n: n, addresses: addresses, data: t.TempDir(), written: t.TempDir()}
		t.Cleanup(m.kill)
		members = append(members, m)
	}
	for _, n := range []int{1, 2, 0} { // the first one waits for the others
		members[n].start()
	}
	core := coreOfThree()
	secret := SessionStoreSecret(core, "password", servicesAt(addresses...)...).Data
	access, err := mounted.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	access.Prefix = SessionStorePrefix(core)
	await := func(what string, try func(context.Context) error) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := try(ctx)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	var store *redisstore.Store
	await("the store opens", func(ctx context.Context) (err error) {
		store, err = redisstore.Open(ctx, access.Options)
		return err
	})
	t.Cleanup(func() { _ = store.Close() })
	generation := ""
	await("it has a generation", func(ctx context.Context) (err error) {
		generation, err = store.Generation(ctx)
		return err
	})
	written := 0
	write := func(why string) {
		t.Helper()
		written++
		key := fmt.Sprint("k", written)
		await(why+": a write", func(ctx context.Context) error {
			lease, err := store.Acquire(ctx, "shard", "pod", time.Minute)
			if err != nil {
				return err
			}
			return store.Commit(ctx, lease, sessionstore.Change{Key: key, Is: sessionstore.Revision{Writer: 1, Count: uint64(written)}, Value: []byte(why)})
		})
		for n := 1; n <= written; n++ {
			await(why+": a record of before", func(ctx context.Context) error {
				_, err := store.Read(ctx, fmt.Sprint("k", n))
				return err
			})
		}
		await(why+": the generation", func(ctx context.Context) error {
			now, err := store.Generation(ctx)
			if err == nil && now != generation {
				t.Fatalf("%s: the store has forgotten", why)
			}
			return err
		})
	}
	// primary is which member the Sentinels lead to, when all that live agree on it and as many follow as there are others.
	primary := func(followers int) (at int) {
		t.Helper()
		await("a primary with its followers", func(ctx context.Context) error {
			at = -1
			for _, m := range members {
				if m.sentinel == nil {
					continue
				}
				word, err := storemember.Ask(ctx, addresses[m.n], "password")
				if err != nil {
					return err
				}
				for n, address := range addresses {
					if address == word.Primary && at >= 0 && at != n {
						return errors.New("the Sentinels do not agree")
					} else if address == word.Primary {
						at = n
					}
				}
			}
			if at < 0 || members[at].server == nil {
				return fmt.Errorf("the primary is member %d", at)
			}
			out, err := exec.CommandContext(ctx, "redis-cli", "-h", addresses[at], "--no-auth-warning", "--user", SessionStoreUser, "--pass", "password", "info", "replication").CombinedOutput()
			if n := strings.Count(string(out), "state=online"); err != nil || n != followers || !strings.Contains(string(out), "role:master") {
				return fmt.Errorf("%d follow member %d, %v: %s", n, at, err, out)
			}
			return nil
		})
		return at
	}
	if at := primary(2); at != 0 {
		t.Errorf("member %d is the first primary", at)
	}
	write("all serve")
	for round, empty := range []bool{false, true} {
		lost := primary(2)
		members[lost].kill()
		write(fmt.Sprintf("round %d: without member %d", round, lost))
		if at := primary(1); at == lost {
			t.Errorf("round %d: member %d is the primary, and is dead", round, at)
		}
		if empty {
			members[lost].data = t.TempDir()
		}
		members[lost].start()
		if at := primary(2); at == lost {
			t.Errorf("round %d: member %d is the primary again", round, at)
		}
		write(fmt.Sprintf("round %d: member %d is back", round, lost))
	}
	for _, m := range members {
		m.kill()
	}
	for _, m := range members {
		m.start()
	}
	last := primary(2)
	write("all were off")

	// Three grow out of one with data: the others begin with nothing, each when those before it have everything.
	for _, m := range members {
		m.kill()
	}
	alone := t.TempDir()
	if err := os.Rename(filepath.Join(members[last].data, "appendonlydir"), filepath.Join(alone, "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.data = t.TempDir()
	}
	members[0].data = alone
	for n, m := range members {
		m.start()
		await("it has everything", func(ctx context.Context) error {
			if synced, err := storemember.Synced(ctx, addresses[n], "password"); err != nil || !synced {
				return fmt.Errorf("member %d has: %t, %v", n, synced, err)
			}
			return nil
		})
	}
	if at := primary(2); at != 0 {
		t.Errorf("member %d is the primary of three that have grown out of the first", at)
	}
	write("three out of one")
}
