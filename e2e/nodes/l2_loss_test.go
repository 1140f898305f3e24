package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/e2e/takeover"
)

// rate of the probe's packets.
const rate = 500

func TestL2ANodeLosesItsPower(t *testing.T) { lose(t, "off") }

func TestL3ANodeIsCutOff(t *testing.T) { lose(t, "cut") }

// lose has the node die that serves.
func lose(t *testing.T, verb string) {
	ctx := story(t, 25*time.Minute)
	f := figures{name: verb, ues: settledUEs}
	victim := serveWhereItTells(t, ctx)
	bring(t, ctx, victim, "nrf", "database")
	leadStore(t, ctx, victim)
	t.Cleanup(func() { // whatever happens, the next story finds three nodes
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(k.Node(ctx, "on", victim), cluster.Eventually(ctx, patience, func() error { return nodeReady(ctx, victim) })); err != nil {
			t.Error(err)
		}
	})
	check(t, probe.Start(ctx, upfInstance, unitName, slice))
	check(t, probe.Tell(ctx, nil, "/fill", url.Values{"sessions": {fmt.Sprint(probed)}}))
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
	before := scene.Must[map[string]cluster.UEStatus](t)(settled(ctx))
	lost := scene.Must[map[string]string](t)(podsOn(ctx, victim))
	u := scene.Must[unit](t)(theUnit(ctx))
	began := scene.Must[takeover.Check](t)(probe.Check(ctx))
	check(t, probe.Tell(ctx, nil, "/begin", url.Values{"rate": {fmt.Sprint(rate)}}))
	check(t, probe.Passing(ctx, 2*rate))
	acts := scene.Must[string](t)(k.Run(ctx, "get", "pods", "-l", "app.kubernetes.io/component=operator", "--field-selector", "spec.nodeName="+victim, "-o", "name"))
	t.Logf("node %s dies, with pods %v, and of the operator %q", victim, lost, strings.TrimSpace(acts))

	check(t, k.Node(ctx, verb, victim))
	died := time.Now()
	moving := come(ctx, k.RAN, movers())
	t.Run("the standby serves", func(t *testing.T) {
		check(t, cluster.Eventually(ctx, patience, func() error {
			now, err := theUnit(ctx)
			if err == nil && now.holder.Metadata.UID != u.standby.Metadata.UID {
				err = fmt.Errorf("%s serves, want %s", now.holder.Metadata.Name, u.standby.Metadata.Name)
			}
			return err
		}))
		t.Logf("seen %s after the death", time.Since(died).Round(100*time.Millisecond))
		check(t, probe.Passing(ctx, 2*rate))
	})
	t.Run("conditions say which pods are on which lost node, and what becomes of them", func(t *testing.T) {
		check(t, notes(ctx, "core5g/core5g", "SessionStoreReady", "True", "is on node "+victim, "it has a volume, and is waited for"))
		check(t, says(ctx, "core5g/core5g", "AMFReady", "is on node "+victim, "another one is made elsewhere"))
		check(t, says(ctx, "upfinstance/"+upfInstance, "NodesReachable", "is on node "+victim, "the node is waited for until"))
		check(t, says(ctx, "upfinstance/"+upfInstance, "StandbyInSync", unitName))
	})
	t.Run("all is made elsewhere, and no Service leads to the lost node", func(t *testing.T) {
		check(t, cluster.Eventually(ctx, patience, func() error {
			still, err := podsOn(ctx, victim)
			maps.DeleteFunc(still, func(_, name string) bool { return strings.HasPrefix(name, storeName) })
			if err != nil || len(still) > 0 {
				return errors.Join(err, fmt.Errorf("pods %v are still on node %s", still, victim))
			}
			if services, err := stillServed(ctx, victim); err != nil || len(services) > 0 {
				return errors.Join(err, fmt.Errorf("Services %v lead to node %s", services, victim))
			}
			return wellBut(ctx, victim)
		}))
		f.elsewhere = time.Since(died)
		now := scene.Must[unit](t)(theUnit(ctx))
		if now.holder.Metadata.UID != u.standby.Metadata.UID || now.standby.Spec.NodeName == victim || now.standby.Spec.NodeName == now.holder.Spec.NodeName {
			t.Errorf("%s on %s serves and %s on %s stands by: want %s, and one on another node", now.holder.Metadata.Name, now.holder.Spec.NodeName,
				now.standby.Metadata.Name, now.standby.Spec.NodeName, u.standby.Metadata.Name)
		}
	})
	check(t, probe.Passing(ctx, 2*rate))
	if verb == "cut" {
		t.Run("the old unit runs in the dark", func(t *testing.T) {
			if n, err := forwarders(ctx, victim); err != nil || n == 0 {
				t.Errorf("%d upf-u run on %s, %v: want the one that nobody reaches", n, victim, err)
			}
		})
	}

	check(t, k.Node(ctx, "on", victim))
	returned := time.Now()
	t.Run("the node is back, and what was on it goes without a word", func(t *testing.T) {
		check(t, cluster.Eventually(ctx, patience, func() error { return nodeReady(ctx, victim) }))
		check(t, cluster.Eventually(ctx, patience, func() error {
			on, err := podsOn(ctx, victim)
			if err != nil {
				return err
			}
			for uid, name := range on {
				if lost[uid] != "" && !strings.HasPrefix(name, "core5g-node-agent") && !strings.HasPrefix(name, storeName) {
					return fmt.Errorf("pod %s of before is there again", name)
				}
			}
			if n, err := forwarders(ctx, victim); err != nil || n > 0 {
				return errors.Join(err, fmt.Errorf("%d upf-u still run on %s", n, victim))
			}
			return allWell(ctx)
		}))
		f.back = time.Since(returned)
	})
	check(t, probe.Passing(ctx, 10*rate)) // as long as it takes to see two answer
	moving.end()
	check(t, probe.Tell(ctx, &f.packets, "/end", nil))
	f.check = scene.Must[takeover.Check](t)(probe.Check(ctx))
	if !f.check.Recovery.Equal(began.Recovery) {
		t.Errorf("the UPF's Recovery Time Stamp is %s, and was %s", f.check.Recovery, began.Recovery)
	}
	f.epochs = scene.Must[unit](t)(theUnit(ctx)).epoch - u.epoch
	f.registrations, f.longest, f.failed = moving.so()
	after := scene.Must[map[string]cluster.UEStatus](t)(settled(ctx))
	f.anew = changed(before, after)
	for supi := range before {
		if p, err := k.Ping(ctx, supi, cluster.DataNetwork, 3, 200*time.Millisecond); err != nil || p.Received == 0 {
			f.anew = append(f.anew, fmt.Sprintf("no packet of %s comes back: %+v, %v", supi, p, err))
		}
	}
	fmt.Fprintln(t.Output(), f.line())
	check(t, f.judge())
	check(t, probe.Remove(ctx))
}

// serveWhereItTells returns the node that is to die, on which the unit serves: of those that are not the first one, where there is a member.
func serveWhereItTells(t *testing.T, ctx context.Context) string {
	t.Helper()
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
	u := scene.Must[unit](t)(theUnit(ctx))
	if u.holder.Spec.NodeName != firstNode {
		return u.holder.Spec.NodeName
	}
	out, err := k.Shell(ctx, "kubectl core5g switch "+unitName+" -n "+cluster.Namespace)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(t, cluster.Eventually(ctx, patience, func() error {
		now, err := theUnit(ctx)
		if err == nil && now.holder.Metadata.UID != u.standby.Metadata.UID {
			err = fmt.Errorf("%s serves, want %s", now.holder.Metadata.Name, u.standby.Metadata.Name)
		}
		return errors.Join(err, allWell(ctx))
	}))
	return u.standby.Spec.NodeName
}

// settled are the UEs that stay, by their SUPI; all have to be registered, with a session.
func settled(ctx context.Context) (map[string]cluster.UEStatus, error) {
	var ran cluster.RANStatus
	if err := k.RAN(ctx, &ran, "status"); err != nil {
		return nil, err
	}
	out := map[string]cluster.UEStatus{}
	for _, ue := range ran.UEs {
		for n := settledFrom; n < settledFrom+settledUEs; n++ {
			if ue.SUPI == supi(n) {
				out[ue.SUPI] = ue
			}
		}
	}
	if len(out) != settledUEs {
		return nil, fmt.Errorf("the gNB knows %d UEs that stay, want %d", len(out), settledUEs)
	}
	return out, nil
}

func movers() (out []string) {
	for n := movingFrom; n < movingFrom+movingUEs; n++ {
		out = append(out, supi(n))
	}
	return out
}

// changed says which UEs are not what they were.
func changed(before, after map[string]cluster.UEStatus) (out []string) {
	for supi, was := range before {
		now := after[supi]
		switch {
		case now.State != was.State:
			out = append(out, fmt.Sprintf("%s is %s, and was %s (%s)", supi, now.State, was.State, now.Error))
		case now.Counters.Registrations != was.Counters.Registrations:
			out = append(out, fmt.Sprintf("%s has registered %d times more", supi, now.Counters.Registrations-was.Counters.Registrations))
		case len(now.Sessions) != 1 || len(was.Sessions) != 1 || now.Sessions[0] != was.Sessions[0]:
			out = append(out, fmt.Sprintf("%s has sessions %+v, and had %+v", supi, now.Sessions, was.Sessions))
		}
	}
	return out
}

func TestChanged(t *testing.T) {
	ue := func(change func(*cluster.UEStatus)) map[string]cluster.UEStatus {
		ue := cluster.UEStatus{State: "registered", Sessions: []cluster.Session{{ID: 1, Address: "10.45.0.1"}}}
		ue.Counters.Registrations = 1
		change(&ue)
		return map[string]cluster.UEStatus{"imsi-1": ue}
	}
	same := func(*cluster.UEStatus) {}
	for want, change := range map[string]func(*cluster.UEStatus){
		"":                        same,
		"is deregistered":         func(u *cluster.UEStatus) { u.State = "deregistered" },
		"registered 1 times more": func(u *cluster.UEStatus) { u.Counters.Registrations++ },
		"has sessions []":         func(u *cluster.UEStatus) { u.Sessions = nil },
		"Address:10.45.0.2":       func(u *cluster.UEStatus) { u.Sessions[0].Address = "10.45.0.2" },
	} {
		got := strings.Join(changed(ue(same), ue(change)), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// forwarders is how many upf-u run on a node.
func forwarders(ctx context.Context, node string) (n int, err error) {
	out, err := k.OnNode(ctx, node, "sh", "-c", `for p in /proc/[0-9]*/comm; do cat "$p" 2>/dev/null; done; true`)
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "upf-u" {
			n++
		}
	}
	return n, err
}
