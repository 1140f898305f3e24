package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// UEs whose access network is lost are idle, whoever holds the shard when that is known.
func TestAccessNetworksThatAreLost(t *testing.T) {
	type story struct {
		lose func(*network, *holder)
		// waits: the gNB may come back.
		waits bool
	}
	for name, tt := range map[string]story{
		"the association has ended": {waits: true, lose: func(n *network, _ *holder) {
			n.gone[gnbAt] = true
			n.term.Ended(gnbAt, "shut down")
		}},
		"the association has ended while nobody held the shard": {waits: true, lose: func(n *network, h *holder) {
			h.die()
			n.gone[gnbAt] = true
			n.term.Ended(gnbAt, "shut down")
			n.hold(1)
		}},
		"the terminator has listed others": {waits: true, lose: func(n *network, h *holder) {
			n.gone[gnbAt] = true
			h.runner.TerminatorHeard(termName)
		}},
		"the gNB has reset all": {lose: func(n *network, _ *holder) {
			n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified})
		}},
		"the gNB has reset that one": {lose: func(n *network, _ *holder) {
			n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified, Connections: []n2.UEConnection{{RAN: n2.RANUEID(n.phone.ran), HasRAN: true}}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			n.hold(2) // it hears of resets, too
			tt.lose(n, h)
			n.pass(time.Second)
			if rec := n.has(); (rec.N2 != nil && rec.N2.Lost) != tt.waits {
				t.Errorf("a second later the UE is at %+v", rec.N2)
			}
			n.pass(procedure.RetainTime + time.Second)
			if rec := n.kept(); rec.N2 != nil || rec.Phase != record.Registered {
				t.Errorf("the record is %+v", rec)
			}
			_, err := n.store.Read(context.Background(), h.runner.noteKey(association{termName, gnbAt}))
			if n.gone[gnbAt] != errors.Is(err, sessionstore.ErrNotFound) {
				t.Errorf("the note of the association: %v", err)
			}
			if all, _ := n.term.Waiting(); all != 0 {
				t.Errorf("%d messages were not done with", all)
			}
		})
	}
}

// While an association is noted, a new holder hears of its end again: what has come of that is written before the note goes.
func TestANoteGoesBehindWhatIsWritten(t *testing.T) {
	n, h := registered(t)
	n.gone[gnbAt] = true
	h.do(func() { h.runner.loseForGood(association{termName, gnbAt}, "its gNB has stayed away") })
	n.settle()
	if _, err := n.store.Read(context.Background(), h.runner.noteKey(association{termName, gnbAt})); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("the note of the association: %v", err)
	}
	if rec := n.kept(); rec.N2 != nil {
		t.Errorf("the note has gone, and the UE is written at %+v", rec.N2)
	}
}

// A gNB may have several associations at once. One that begins, or ends, is nothing to the UEs of the others.
func TestAGNBWithTwoAssociations(t *testing.T) {
	const second = gnbAt + 1
	n, _ := registered(t)
	n.hold(2)
	was := n.kept().N2
	n.term.Opened(second, 5, "gnb", "amf")
	plmn, err := n2.MakePLMN("208", "93")
	if err != nil {
		t.Fatal(err)
	}
	b, err := n2.Write(&n2.NGSetupRequest{
		Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128,
		TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.term.Received(second, b)
	n.settle()
	if n.nodes[second] == nil {
		t.Fatal("the second association is not set up")
	}
	n.pass(procedure.RetainTime + time.Second)
	if is := n.kept().N2; is == nil || is.Lost || !is.Is(was) {
		t.Errorf("the UE of the first association is at %+v", is)
	}
	n.gone[second] = true
	n.term.Ended(second, "shut down")
	n.pass(procedure.RetainTime + time.Second)
	if is := n.kept().N2; is == nil || is.Lost || !is.Is(was) {
		t.Errorf("the second is gone, and the UE of the first is at %+v", is)
	}
}

// TS 38.412 7, TS 38.413 8.7.2: a gNB has an association more for its NG interface. UEs are the interface's.
func TestAnAssociationMore(t *testing.T) {
	const more = gnbAt + 1
	joined := func(t *testing.T) (*network, *record.Attachment) {
		t.Helper()
		n, _ := registered(t)
		n.hold(2)
		n.settle()
		n.term.Opened(more, 5, "gnb", "amf")
		plmn, err := n2.MakePLMN("208", "93")
		if err != nil {
			t.Fatal(err)
		}
		n.phone.at = more
		n.phone.says(&n2.RANConfigurationUpdate{Node: &n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}})
		n.settle()
		if g := n.nodes[more]; g == nil || g.Root() != n.nodes[gnbAt].Root() || !strings.Contains(strings.Join(n.phone.log, " "), "RANConfigurationUpdateAcknowledge") {
			t.Fatalf("it is %+v, %v", g, n.phone.log)
		}
		return n, n.kept().N2
	}
	ends := func(n *network, a uint64) {
		n.gone[a] = true
		delete(n.nodes, a)
		n.term.Ended(a, "shut down")
		n.settle()
	}
	at := func(t *testing.T, n *network, was *record.Attachment, want uint64) {
		t.Helper()
		n.pass(procedure.RetainTime + 2*time.Second)
		is := n.kept().N2
		switch {
		case want == 0 && is != nil:
			t.Errorf("the UE is at %+v", is)
		case want != 0 && (is == nil || is.Lost || is.Association != want || is.AMF != was.AMF || is.RAN != was.RAN || is.Root() != was.Root()):
			t.Errorf("the UE is at %+v", is)
		}
		if all, _ := n.term.Waiting(); all != 0 {
			t.Errorf("%d messages were not done with", all)
		}
	}
	t.Run("the first one ends, and then the other", func(t *testing.T) {
		n, was := joined(t)
		ends(n, gnbAt)
		at(t, n, was, more)
		n.phone.uplinkNAS(n.phone.protected(&n1.ServiceRequest{STMSI: n1.STMSI{Set: amfSet, Pointer: 1, TMSI: n.phone.tmsi}}, n1.IntegrityProtectedAndCiphered))
		n.settle()
		if last := n.phone.log[len(n.phone.log)-1]; !strings.Contains(last, "ServiceAccept") {
			t.Errorf("the UE hears %v", n.phone.log)
		}
		ends(n, more)
		at(t, n, was, 0)
	})
	t.Run("the UE is spoken of by the other, which ends", func(t *testing.T) {
		n, was := joined(t)
		n.phone.uplinkNAS(n.phone.protected(&n1.ServiceRequest{STMSI: n1.STMSI{Set: amfSet, Pointer: 1, TMSI: n.phone.tmsi}}, n1.IntegrityProtectedAndCiphered))
		n.settle()
		at(t, n, was, more)
		ends(n, more)
		at(t, n, was, gnbAt)
	})
	t.Run("the first one ends before it is heard of the other", func(t *testing.T) {
		n, was := joined(t)
		g := n.nodes[more]
		delete(n.nodes, more)
		ends(n, gnbAt)
		if is := n.has().N2; is == nil || !is.Lost {
			t.Errorf("the UE is at %+v", is)
		}
		n.nodes[more] = g
		for _, h := range n.holders {
			h.do(func() { h.runner.Appeared(g) })
		}
		at(t, n, was, more)
	})
	t.Run("it gives up the first one", func(t *testing.T) {
		n, was := joined(t)
		address := func(s string) n2.Address { return n2.Address{IPv4: netip.MustParseAddr(s)} }
		n.nodes[gnbAt].Peer, n.nodes[gnbAt].Here = "192.0.2.1:40000", "198.51.100.1:38412"
		n.phone.says(&n2.RANConfigurationUpdate{Remove: []n2.AssociationPair{{RAN: address("192.0.2.1"), AMF: new(address("198.51.100.9"))}, {RAN: address("192.0.2.9")}}})
		n.pass(2 * time.Second)
		if len(n.shut) != 0 {
			t.Errorf("associations %v are ended, and it has none of those ends", n.shut)
		}
		n.phone.says(&n2.RANConfigurationUpdate{Remove: []n2.AssociationPair{{RAN: address("192.0.2.1"), AMF: new(address("198.51.100.1"))}}})
		n.settle()
		if !slices.Equal(n.shut, []uint64{gnbAt}) {
			t.Fatalf("associations %v are ended", n.shut)
		}
		ends(n, gnbAt)
		at(t, n, was, more)
	})
	t.Run("it gives up the one on which it says so", func(t *testing.T) {
		n, was := joined(t)
		n.phone.says(&n2.RANConfigurationUpdate{Remove: []n2.AssociationPair{{RAN: n2.Address{IPv4: netip.MustParseAddr("192.0.2.2")}}}})
		n.settle()
		if len(n.shut) != 0 {
			t.Errorf("associations %v are ended before it has heard the answer", n.shut)
		}
		n.pass(2 * time.Second)
		if !slices.Equal(n.shut, []uint64{more}) {
			t.Errorf("associations %v are ended", n.shut)
		}
		ends(n, more)
		at(t, n, was, gnbAt)
	})
	t.Run("a reset by the other is one of the interface", func(t *testing.T) {
		n, was := joined(t)
		n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified, Connections: []n2.UEConnection{{RAN: 77, HasRAN: true}}})
		n.settle()
		at(t, n, was, gnbAt)
		n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified, Connections: []n2.UEConnection{{RAN: n2.RANUEID(was.RAN), HasRAN: true}}})
		n.settle()
		at(t, n, was, 0)
	})
	t.Run("a reset by the other, with another terminator, is not of a UE that has come since, however late it is heard", func(t *testing.T) {
		n, was := joined(t)
		b, err := n2.Write(&n2.NGReset{Cause: ngapcause.MiscUnspecified})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ came, want int64 }{{was.Came - 1, gnbAt}, {was.Came + 1, 0}} {
			for _, h := range n.holders {
				h.do(func() {
					h.runner.Took("another", &link.Deliver{Number: 99, Association: more, Shard: 1, Message: b, At: c.came})
				})
			}
			n.settle()
			at(t, n, was, uint64(c.want))
		}
	})
	t.Run("NG Setup by the other is one of the interface", func(t *testing.T) {
		n, was := joined(t)
		plmn, _ := n2.MakePLMN("208", "93")
		n.phone.says(&n2.NGSetupRequest{
			Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128,
			TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
		})
		n.settle()
		at(t, n, was, 0)
	})
	t.Run("one of them is told of the AMF", func(t *testing.T) {
		n, _ := joined(t)
		n.rename("another")
		n.pass(5 * time.Second)
		n.heard(t, "another")
	})
	t.Run("the gNB is not known by another one", func(t *testing.T) {
		n, h := registered(t)
		delete(n.nodes, gnbAt)
		plmn, _ := n2.MakePLMN("208", "93")
		n.term.Opened(more, 5, "gnb", "amf")
		n.phone.at = more
		n.phone.says(&n2.RANConfigurationUpdate{Node: &n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}})
		n.settle()
		if last := n.phone.log[len(n.phone.log)-1]; last != "RANConfigurationUpdateFailure" || n.nodes[more] != nil || h.dead {
			t.Errorf("it hears %v", n.phone.log)
		}
	})
}

// TS 23.501 5.21.1.2: the association ends anywhere in a registration, and the gNB has another one: the registration goes on by that, and the UE does not begin anew.
func TestARegistrationGoesOnByAnotherAssociation(t *testing.T) {
	const more = gnbAt + 1
	for at := 1; ; at++ {
		steps, ended := 0, false
		t.Run(fmt.Sprintf("before step %d", at), func(t *testing.T) {
			n := newNetwork(t)
			n.hold(1)
			n.joinBy(more)
			n.step = func(*holder) {
				if steps++; steps == at {
					ended = true
					n.soon = append(n.soon, func() {
						n.gone[gnbAt], n.phone.at = true, more
						delete(n.nodes, gnbAt)
						n.term.Ended(gnbAt, "shut down")
					})
				}
			}
			n.phone.register()
			n.settle()
			n.step = func(*holder) {}
			n.pass(5 * time.Second)
			rec := n.kept()
			switch {
			case !n.phone.registered || rec == nil || rec.N2 == nil || !rec.N2.Set:
				t.Errorf("the UE is not registered, or has no context: %+v\n%v", rec, n.phone.log)
			case ended && rec.N2.Association != more:
				t.Errorf("it is at %+v", rec.N2)
			}
			if all, _ := n.term.Waiting(); all != 0 {
				t.Errorf("%d messages were not done with", all)
			}
		})
		if !ended || t.Failed() {
			if at < 10 {
				t.Errorf("it ended %d times only", at-1)
			}
			return
		}
	}
}

// A gNB whose association was lost is there again, by another one: its UEs are where they were, or idle.
func TestAGNBComesBack(t *testing.T) {
	const again = gnbAt + 1
	for name, tt := range map[string]struct {
		retains, known bool
		want           bool
	}{
		"with its UEs, and the loss is known":     {true, true, true},
		"with its UEs, and the loss is not known": {true, false, false},
		"without its UEs":                         {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			other := n.hold(2)
			if tt.known {
				h.lost, other.lost = n.now, n.now
			}
			n.gone[gnbAt] = true
			n.term.Ended(gnbAt, "shut down")
			delete(n.nodes, gnbAt)
			n.pass(2 * time.Second)
			was := n.kept().N2
			if was == nil || !was.Lost {
				t.Fatalf("the UE is at %+v", was)
			}
			n.term.Opened(again, 5, "gnb", "amf")
			plmn, err := n2.MakePLMN("208", "93")
			if err != nil {
				t.Fatal(err)
			}
			b, err := n2.Write(&n2.NGSetupRequest{
				Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128, Retention: tt.retains,
				TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			n.term.Received(again, b)
			n.settle()
			switch is := n.has().N2; {
			case tt.want && (is == nil || is.Lost || is.Association != again || is.AMF != was.AMF || is.RAN != was.RAN):
				t.Errorf("the UE is at %+v", is)
			case !tt.want && is != nil:
				t.Errorf("the UE is at %+v", is)
			}
			n.pass(procedure.RetainTime + time.Second)
			if is := n.kept().N2; (is != nil) != tt.want {
				t.Errorf("later the UE is at %+v", is)
			}
			if g := n.nodes[again]; g == nil || g.Doubtful != (tt.retains && !tt.want) {
				t.Errorf("the gNB is %+v", g)
			} else if g.Doubtful {
				if len(n.phone.announced) == 0 {
					t.Error("nobody tells the gNB anything that it would answer")
				}
				b, err := n2.Write(&n2.AMFConfigurationUpdateAcknowledge{})
				if err != nil {
					t.Fatal(err)
				}
				n.term.Received(again, b)
				n.settle()
				if g := n.nodes[again]; g.Doubtful || g.Told == 0 {
					t.Errorf("the gNB has answered, and is %+v", g)
				}
			}
			if _, err := n.store.Read(context.Background(), h.runner.noteKey(association{termName, gnbAt})); !errors.Is(err, sessionstore.ErrNotFound) {
				t.Errorf("the note of the association: %v", err)
			}
		})
	}
}

// A shard is done with an NG Setup when the SMFs of UEs that are lost by it have answered: until then the terminator has the gNB wait.
func TestAnNGSetupWaitsForSMFs(t *testing.T) {
	n, h := registered(t)
	u := h.runner.ues[record.Key(supi)]
	u.state.Record.Sessions = []record.Session{{ID: 1, DNN: "internet", SMF: "http://smf", Context: "smf/1", Up: true}}
	n.manual = true
	n.term.Received(gnbAt, setupOf(t))
	n.settle()
	done := func() bool {
		return slices.ContainsFunc(n.noted, func(l string) bool { return strings.HasPrefix(l, "done ") })
	}
	if !slices.Contains(n.noted, "AskSession") || done() {
		t.Errorf("it is done before the SMF has answered: %q", n.noted)
	}
	if n.reply(); !done() || n.kept().N2 != nil {
		t.Errorf("it is not done with: %q", n.noted)
	}
}

// A UE may be lost before its shard comes to the NG Setup: the news of the association's end finds the gNB back at another one, without its UEs. What its SMF
// is asked then, the answer to the gNB waits for all the same.
func TestAnNGSetupWaitsForWhatTheNewsHasBegun(t *testing.T) {
	const again = gnbAt + 1
	n, h := withSession(t)
	back := *n.nodes[gnbAt]
	back.Association = again
	n.manual = true
	n.gone[gnbAt], n.nodes[again] = true, &back // another shard has taken the NG Setup, and its terminator says so
	delete(n.nodes, gnbAt)
	h.do(func() { h.runner.TerminatorHeard(termName) })
	n.settle()
	if noted := n.takeNoted(); !slices.Contains(noted, "AskSession") {
		t.Fatalf("the SMF is not asked: %q", noted)
	}
	n.term.Opened(again, 5, "gnb", "amf")
	n.term.Received(again, setupOf(t))
	n.settle()
	done := func() bool {
		return slices.ContainsFunc(n.noted, func(l string) bool { return strings.HasPrefix(l, "done ") })
	}
	if done() {
		t.Errorf("it is done before the SMF has answered: %q", n.noted)
	}
	if n.reply(); !done() || n.has().N2 != nil {
		t.Errorf("it is not done with: %q", n.noted)
	}
}

// setupOf the gNB that does not say that it has kept its UEs.
func setupOf(t *testing.T) []byte {
	t.Helper()
	plmn, err := n2.MakePLMN("208", "93")
	if err != nil {
		t.Fatal(err)
	}
	b, err := n2.Write(&n2.NGSetupRequest{
		Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128,
		TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withSession is a UE that has a PDU session with a user plane, as the store has it.
func withSession(t *testing.T) (*network, *holder) {
	t.Helper()
	n, h := registered(t)
	u := h.runner.ues[record.Key(supi)]
	u.state.Record.Sessions = []record.Session{{ID: 1, DNN: "internet", SMF: "http://smf", Context: "smf/1", Up: true}}
	h.runner.write(u, nil, nil, queued{})
	n.settle()
	n.takeNoted()
	return n, h
}

// A gNB that is back at once without its UEs, and a UE that comes again by it, cost as few writes as they can: what has come of the loss is written with the Service Request. Whoever
// comes when a holder has died anywhere in between has the UE where it would have been.
func TestAUEThatComesBackAtOnce(t *testing.T) {
	const again = gnbAt + 1
	setup := setupOf(t)
	story := func(t *testing.T, dies int) (steps int, noted []string) {
		n, h := withSession(t)
		other := n.hold(2)
		n.step = func(h *holder) {
			if steps++; steps == dies {
				h.die()
				n.soon = append(n.soon, func() { n.hold(h.shard) })
			}
		}
		h.lost, other.lost = n.now, n.now
		n.gone[gnbAt] = true
		n.term.Ended(gnbAt, "shut down")
		delete(n.nodes, gnbAt)
		n.settle()
		n.term.Opened(again, 5, "gnb", "amf")
		n.term.Received(again, setup)
		n.settle()
		n.phone.at = again
		n.phone.serve(1)
		n.settle()
		noted = n.takeNoted()
		n.pass(time.Minute)
		rec := n.kept()
		if rec.N2 == nil || rec.N2.Association != again || rec.N2.RAN != n.phone.ran || !rec.N2.Set || rec.Procedure != nil {
			t.Errorf("dead at step %d: the UE is at %+v in %+v", dies, rec.N2, rec.Procedure)
		}
		if all, _ := n.term.Waiting(); all != 0 {
			t.Errorf("dead at step %d: %d messages wait", dies, all)
		}
		return steps, noted
	}
	steps, noted := story(t, 0)
	if writes := countPrefixed(noted, "commit "); writes != 2 {
		t.Errorf("it takes %d writes: %q", writes, noted)
	}
	for dies := range steps {
		story(t, dies+1)
	}
}

func countPrefixed(list []string, prefix string) (n int) {
	for _, l := range list {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

// A gNB sets itself up anew before it is known that the association is gone that it had: its UEs are not left on that, and it hears whether they are kept when it is.
func TestAGNBThatIsFasterThanTheNews(t *testing.T) {
	const again = gnbAt + 1
	plmn, err := n2.MakePLMN("208", "93")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ retains, dies, ends bool }{
		"with its UEs":                         {retains: true, dies: true},
		"without them":                         {dies: true},
		"and both associations are there":      {},
		"and loses the new one while it waits": {dies: true, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			other := n.hold(2)
			n.doubtful = true
			b, err := n2.Write(&n2.NGSetupRequest{
				Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128, Retention: tt.retains,
				TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			update, err := n2.Write(&n2.RANConfigurationUpdate{Name: "attic"})
			if err != nil {
				t.Fatal(err)
			}
			n.term.Opened(again, 5, "gnb", "amf")
			n.takeNoted()
			n.term.Received(again, b)
			n.term.Received(again, update)
			n.settle()
			if meanwhile := n.takeNoted(); len(n.unsure) != 1 || len(meanwhile) > 0 {
				t.Fatalf("%d ask whether the association is gone, and meanwhile: %q", len(n.unsure), meanwhile)
			}
			was := n.kept().N2
			if tt.dies {
				n.gone[gnbAt], h.lost, other.lost = true, n.now, n.now
			}
			if tt.ends {
				n.gone[again] = true
				n.term.Ended(again, "shut down")
			}
			n.doubtful = false
			n.unsure[0]()
			n.settle()
			is, answers := n.has().N2, strings.Join(n.takeNoted(), ", ")
			switch {
			case tt.ends:
				if is == nil || strings.Contains(answers, "send NGSetupResponse") {
					t.Errorf("the UE is at %+v; %s", is, answers)
				}
			case !strings.Contains(answers, "send NGSetupResponse") || !strings.Contains(answers, "send RANConfigurationUpdate"):
				t.Errorf("the answers are %s", answers)
			case !tt.dies && (is == nil || is.Association != gnbAt):
				t.Errorf("the UE is at %+v", is)
			case tt.dies && tt.retains && (is == nil || is.Lost || is.Association != again || is.AMF != was.AMF):
				t.Errorf("the UE is at %+v", is)
			case tt.dies && !tt.retains && is != nil:
				t.Errorf("the UE is at %+v", is)
			}
			if all, _ := n.term.Waiting(); all != 0 {
				t.Errorf("%d messages wait", all)
			}
		})
	}
}

// A UE that is paged while its gNB is away is paged when that appears, and not when T3513 has run out.
func TestAGNBThatAppears(t *testing.T) {
	n, h := registered(t)
	n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified})
	n.settle()
	g := n.nodes[gnbAt]
	n.takeNoted()
	paged := func(when string, want bool) {
		t.Helper()
		n.settle()
		if is := slices.Contains(n.takeNoted(), "send Paging"); is != want {
			t.Errorf("%s: paged %v, want %v", when, is, want)
		}
	}
	h.do(func() { h.runner.Appeared(g) })
	paged("nobody wants the UE", false)
	h.do(func() { h.runner.Deliver(supi, procedure.Reach{From: 1}) })
	paged("somebody does", true)
	h.do(func() { h.runner.Appeared(g) })
	paged("its gNB appears", true)
	other := *g
	other.Areas = []record.Tracking{{TAC: 9, Broadcast: g.Areas[0].Broadcast}}
	h.do(func() { h.runner.Appeared(&other) })
	paged("another one does", false)
	n.pass(time.Minute) // nobody answers
	n.takeNoted()
	h.do(func() { h.runner.Appeared(g) })
	paged("it was given up", false)
}

// A gNB that was gone again before its NG Setup came to anybody hears nothing of what would be decided: its UEs wait for the next one.
func TestAGNBThatHasGoneAgain(t *testing.T) {
	n, h := registered(t)
	n.gone[gnbAt] = true
	n.term.Ended(gnbAt, "shut down")
	delete(n.nodes, gnbAt)
	n.pass(2 * time.Second)
	plmn, err := n2.MakePLMN("208", "93")
	if err != nil {
		t.Fatal(err)
	}
	b, err := n2.Write(&n2.NGSetupRequest{
		Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128, Retention: true,
		TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const once, again = gnbAt + 1, gnbAt + 2
	n.gone[once] = true
	n.term.Opened(once, 5, "gnb", "amf")
	n.term.Received(once, b) // the loss is not known yet
	n.settle()
	if is := n.kept().N2; is == nil || !is.Lost {
		t.Fatalf("the UE is at %+v", is)
	}
	n.term.Ended(once, "shut down")
	if all, _ := n.term.Waiting(); all != 0 {
		t.Errorf("%d messages wait", all)
	}
	h.lost = n.now
	n.term.Opened(again, 5, "gnb", "amf")
	n.term.Received(again, b)
	n.settle()
	if is := n.kept().N2; is == nil || is.Lost || is.Association != again {
		t.Errorf("the UE is at %+v", is)
	}
}

// Of a terminator that has died each gNB comes back by itself: the UEs of the others are not looked at with it, whoever holds the shard.
func TestAnotherGNBComesBack(t *testing.T) {
	n, h := registered(t)
	h.die()
	h = n.hold(1)
	n.gone[gnbAt] = true
	n.term.Ended(gnbAt, "shut down")
	n.pass(time.Second)
	gnb := n.kept().N2.GNB
	for of, want := range map[string]bool{gnb: true, record.GNBName("20893", 99, 24): false} {
		n.listed = nil
		answered := false
		h.do(func() {
			h.runner.returned(nil, record.Attachment{Terminator: termName, Association: gnbAt + 1}, of, true, func() { answered = true })
		})
		n.settle()
		if !answered || slices.Contains(n.listed, associationGroup(1, association{termName, gnbAt})) != want {
			t.Errorf("%s: answered %v, listed %q", of, answered, n.listed)
		}
	}
}

// What a reset names, and what came behind it, are told apart.
func TestAResetOfOthers(t *testing.T) {
	n, _ := registered(t)
	n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified, Connections: []n2.UEConnection{{RAN: n2.RANUEID(n.phone.ran + 9), HasRAN: true}}})
	n.settle()
	if rec := n.kept(); rec.N2 == nil {
		t.Error("a UE is idle that was not named")
	}
	n.phone.log = nil
	n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified})
	n.phone.serve() // behind it
	n.settle()
	n.pass(time.Second)
	if rec := n.kept(); rec.N2 == nil || rec.N2.RAN != n.phone.ran {
		t.Errorf("the UE that came behind the reset is at %+v: %q", rec.N2, n.phone.log)
	}
}

// A queue is bounded, and who is too much hears so.
func TestQueue(t *testing.T) {
	n, h := registered(t)
	h.die()
	h = n.hold(1)
	n.takeNoted()
	for k := range mostQueued + 1 {
		h.runner.Deliver(supi, procedure.Locate{From: procedure.Token(k + 1)})
	}
	wants(t, n, "reply to 17: Failed")
	n.settle()
	if got := n.takeNoted(); len(got) != mostQueued || got[0] != "reply to 1: Placed" || got[mostQueued-1] != "reply to 16: Placed" {
		t.Errorf("replies: %q", got)
	}
	if c := h.runner.Counts(); c.Full != 1 || c.Declined != 1 {
		t.Errorf("counts are %+v", c)
	}
}

// Requests that wait for a gNB that is lost, and whose askers have given up, are not in the way of the UE when it comes.
func TestQueueOfAbandonedRequests(t *testing.T) {
	n, h := registered(t)
	n.gone[gnbAt] = true
	n.term.Ended(gnbAt, "shut down")
	n.pass(time.Second)
	if was := n.has().N2; was == nil || !was.Lost {
		t.Fatalf("the UE is at %+v", was)
	}
	for k := range procedure.Token(2 * mostQueued) {
		n.gaveUp = k
		h.runner.Deliver(supi, procedure.Transfer{From: k + 1, N1: []byte{1}, Kind: 5})
		n.settle()
	}
	if c := h.runner.Counts(); c.Full != 0 || c.Abandoned == 0 {
		t.Errorf("%d requests were refused, %d abandoned", c.Full, c.Abandoned)
	}
}

// That there is no UE is said when the store has said so, and not before.
func TestWhatIsNotKnown(t *testing.T) {
	for name, tt := range map[string]struct {
		away bool
		want []string
	}{
		"the store has none":        {false, []string{"reply to 2: Failed", "send ErrorIndication"}},
		"the store does not answer": {true, []string{"reply to 2: Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			h := n.hold(1)
			n.takeNoted()
			n.store.Away = func() bool { return tt.away }
			h.runner.DeliverTo(record.TMSI(1, 4711), procedure.Locate{From: 2})
			n.settle()
			h.runner.deliverAttached(record.AttachmentID(1, 4711), queued{Event: procedure.FromAccess{
				At: record.Attachment{Terminator: termName, Association: gnbAt, RAN: 1, AMF: record.AttachmentID(1, 4711)}, Message: &n2.UplinkNASTransport{},
			}})
			n.settle()
			wants(t, n, tt.want...)
			if tt.away { // what nobody says again waits
				n.store.Away = nil
				n.pass(time.Second)
				wants(t, n, "send ErrorIndication")
			}
		})
	}
}

// A record that somebody else has written is not overwritten: who waits hears that nothing was done.
func TestAConflict(t *testing.T) {
	n, h := registered(t)
	found, err := n.store.Read(context.Background(), record.Key(supi))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.store.Commit(context.Background(), h.lease, sessionstore.Change{
		Key: found.Key, Was: found.Revision, Is: sessionstore.Revision{Writer: 4711, Count: 1}, Value: found.Value,
	}); err != nil {
		t.Fatal(err)
	}
	h.runner.Deliver(supi, procedure.End{From: 2, Why: procedure.Withdrawn})
	n.settle()
	if got := n.takeNoted(); len(got) != 2 || got[1] != "reply to 2: Failed" {
		t.Errorf("what was done: %q", got)
	}
	if c := h.runner.Counts(); c.Conflicts != 1 {
		t.Errorf("counts are %+v", c)
	}
	n.release(h) // from what the store has
}

// A gNB that makes a mistake with every message does not fill the log, and has each answered.
func TestAGNBThatGoesOnMakingMistakes(t *testing.T) {
	n := newNetwork(t)
	h := n.hold(1)
	var log strings.Builder
	h.runner.log = slog.New(slog.NewTextHandler(&log, nil))
	number := uint64(0)
	for minute := range 2 {
		n.takeNoted()
		for range 9 {
			number++
			h.runner.Took(termName, &link.Deliver{Number: number, Association: gnbAt, Shard: 1, Message: []byte("nothing of NGAP")})
		}
		n.settle()
		if got := strings.Count(log.String(), "\n"); got != minute+1 {
			t.Errorf("in minute %d the log has %d lines:\n%s", minute+1, got, log.String())
		}
		if got := n.takeNoted(); len(got) != 2*9 || got[0] != "send ErrorIndication" || got[1] != fmt.Sprintf("done %d", number-8) {
			t.Errorf("the gNB is told %q", got)
		}
		n.pass(warnEvery)
	}
	if c := h.runner.Counts(); c.Unreadable != number {
		t.Errorf("counts are %+v", c)
	}
	h.runner.Took(termName, &link.Ended{Association: gnbAt})
	n.settle()
	if len(h.runner.warned) != 0 {
		t.Errorf("of associations that have ended there is %v", h.runner.warned)
	}
}

// Who tells something that nothing comes of hears so, and not that it is in the store.
func TestWhatIsToldAndLost(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*network, *holder) *holder
		event  procedure.Event
		want   error
	}{
		"it is in the store": {func(_ *network, h *holder) *holder { return h }, procedure.SubscriptionChanged{}, nil},
		"it is in the store, and somebody is asked because of it": {func(n *network, h *holder) *holder {
			n.manual = true
			return h
		}, procedure.SubscriptionChanged{}, nil},
		"somebody was asked before": {func(n *network, h *holder) *holder {
			n.manual = true
			h.runner.Deliver(supi, procedure.SubscriptionChanged{})
			n.settle()
			if len(n.asks) == 0 {
				n.t.Fatal("nobody was asked")
			}
			return h
		}, procedure.SessionEnded{Session: 1}, nil},
		"too much waits": {func(n *network, h *holder) *holder {
			h.die()
			h = n.hold(1)
			for k := range mostQueued {
				h.runner.Deliver(supi, procedure.Locate{From: procedure.Token(k + 1)})
			}
			return h
		}, procedure.SubscriptionChanged{}, errFull},
		"somebody else has written": {func(n *network, h *holder) *holder {
			found, err := n.store.Read(context.Background(), record.Key(supi))
			if err == nil {
				err = n.store.Commit(context.Background(), h.lease, sessionstore.Change{
					Key: found.Key, Was: found.Revision, Is: sessionstore.Revision{Writer: 4711, Count: 1}, Value: found.Value,
				})
			}
			if err != nil {
				n.t.Fatal(err)
			}
			return h
		}, procedure.End{Why: procedure.Withdrawn}, sessionstore.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			h = tt.before(n, h)
			var heard []error
			h.runner.DeliverThen(supi, tt.event, func(err error) { heard = append(heard, err) })
			n.settle()
			if len(heard) != 1 || !errors.Is(heard[0], tt.want) {
				t.Errorf("who tells it hears %v, want %v", heard, tt.want)
			}
		})
	}
}

// After lost writes every UE is to prove who it is, and no number is given again.
func TestAStoreThatHasForgotten(t *testing.T) {
	n, h := registered(t)
	n.store.Checkpoint()
	was := h.runner.numbers.attachments.blocks[0][0]
	h.die()
	n.store.Forget()
	n.now = n.now.Add(2 * leaseTime)
	h = n.hold(1)
	n.pass(time.Second)
	if rec := n.kept(); !rec.Prove {
		t.Error("the UE has not to prove who it is")
	}
	if is := h.runner.numbers.attachments.blocks[0][0]; is < was+lostNumbers {
		t.Errorf("numbers go on at %d, they were at %d", is, was)
	}
	if h.runner.lost || h.runner.kept.Generation != h.lease.Generation {
		t.Errorf("not all UEs were visited: %+v", h.runner.kept)
	}
}

// Nor where it has forgotten twice within seconds, and with the second time what was skipped for the first.
func TestWhatIsSkippedTwice(t *testing.T) {
	const epoch = 1_800_000_009_019
	for later := uint64(32); later < 8000; later++ {
		a, b := skipOf(epoch), skipOf(epoch+later)
		if max(a, b)-min(a, b) < lostNumbers || min(a, b) < lostNumbers {
			t.Fatalf("%d numbers are skipped, and %d %d ms later", a, b, later)
		}
	}
}

// Nor is a UE told anything by its gNB that was away meanwhile, and is back with it: the next COUNT may have been used.
func TestAStoreThatHasForgottenAndAGNBThatIsBack(t *testing.T) {
	const again = gnbAt + 1
	n, h := registered(t)
	n.store.Checkpoint()
	h.die()
	n.store.Forget()
	n.settings.FullName = "another" // which the UE would be told
	g := *n.nodes[gnbAt]
	g.Association, g.Retains = again, true
	delete(n.nodes, gnbAt)
	n.gone[gnbAt], n.nodes[again] = true, &g
	n.term.Ended(gnbAt, "shut down")
	n.term.Opened(again, 5, "gnb", "amf")
	n.now = n.now.Add(2 * leaseTime)
	n.carried = nil
	n.hold(1)
	n.pass(time.Second)
	if slices.Contains(n.carried, "DownlinkNASTransport true") || !slices.Contains(n.carried, "UEContextReleaseCommand true") {
		t.Errorf("the gNB hears %v", n.carried)
	}
	if a := n.kept().N2; a != nil && !a.Releasing {
		t.Errorf("the UE is at %+v", a)
	}
}

// What is at rest leaves memory, and comes again from the store.
func TestEviction(t *testing.T) {
	n, h := registered(t)
	n.release(h)
	h.runner.cache.most = 1
	h.runner.Deliver("imsi-208930000000002", procedure.Locate{From: 1})
	n.settle()
	if c := h.runner.Counts(); c.Evicted != 1 || h.runner.ues[record.Key(supi)] != nil {
		t.Errorf("counts are %+v", c)
	}
	n.takeNoted()
	h.runner.Deliver(supi, procedure.Locate{From: 2})
	n.settle()
	wants(t, n, "reply to 2: Placed")
}

// What leaves memory and comes again is not taken up as a holder before would have left it: a gNB that does not answer is told twice to let go of a connection
// that its UE has left, and then no more.
func TestEvictionIsNoTakeover(t *testing.T) {
	n, h := registered(t)
	h.runner.cache.most = 1
	n.phone.keeps = true
	n.phone.serve()
	n.settle()
	if rec := n.kept(); len(rec.Left) != 1 {
		t.Fatalf("the record is %+v", rec)
	}
	for range 30 {
		h.runner.Deliver("imsi-208930000000002", procedure.Locate{From: 1})
		n.pass(time.Second)
	}
	told := slices.DeleteFunc(slices.Clone(n.phone.log), func(s string) bool { return s != "UEContextReleaseCommand" })
	if rec := n.kept(); len(told) != 2 || len(rec.Left) > 0 || h.runner.Counts().Evicted == 0 {
		t.Errorf("it is told %d times; left is %+v; counts are %+v", len(told), rec.Left, h.runner.Counts())
	}
}

// What an SMF has not heard of a UE's user plane memory alone has: the UE stays there until it has.
func TestWhatAnSMFHasNotHeardStaysInMemory(t *testing.T) {
	n, h := withSession(t)
	h.runner.cache.most = 1
	n.manual = true
	n.phone.says(&n2.PDUSessionResourceSetupResponse{UE: n2.UEIDs{AMF: n2.AMFUEID(n.kept().N2.AMF), RAN: n2.RANUEID(n.phone.ran)}, Sessions: []n2.Session{{ID: 1, Transfer: []byte("tunnel")}}})
	n.settle()
	if len(n.asks) != 1 {
		t.Fatalf("the SMF is not asked: %q", n.noted)
	}
	n.asked[0](procedure.SessionAnswer{Number: n.asks[0].(procedure.AskSession).Number, Outcome: procedure.Unknown})
	n.settle()
	h.runner.Deliver("imsi-208930000000002", procedure.Locate{From: 1}) // another one comes into memory
	n.pass(3 * time.Second)
	if len(n.asks) != 2 {
		t.Errorf("the SMF is not asked again: %q", n.noted)
	}
}

// 5G-TMSIs come once each, in no order.
func TestPermutation(t *testing.T) {
	p, err := newPermutation(make([]byte, permutationKey))
	if err != nil {
		t.Fatal(err)
	}
	seen, steps := map[uint32]bool{}, map[uint32]int{}
	last := uint32(0)
	for k := range uint32(1 << 16) {
		v := p.of(k)
		if v >= record.Temporaries || seen[v] {
			t.Fatalf("%d comes twice, or is too large", v)
		}
		seen[v] = true
		steps[v-last]++
		last = v
	}
	for d, times := range steps {
		if times > 8 {
			t.Errorf("a step of %d comes %d times", d, times)
		}
	}
}

func TestNotesHaveNames(t *testing.T) {
	r := &Runner{lease: sessionstore.Lease{Shard: "amf-1"}}
	for _, a := range []association{{"n2-0/life-7", 12}, {"t", 0}} {
		got, ok := r.noted(r.noteKey(a))
		if diff := cmp.Diff(a, got, cmp.AllowUnexported(association{})); diff != "" || !ok {
			t.Errorf("%t (-want +is): %s", ok, diff)
		}
	}
	if _, ok := r.noted("association/amf-2/t/1"); ok {
		t.Error("another shard's is taken")
	}
}

// A gNB that sets itself up anew has lost its UEs before it is answered. What is new of it is remembered.
func TestASetup(t *testing.T) {
	for name, tt := range map[string]struct {
		retains bool
		want    []string
	}{
		"without its UEs": {false, []string{"*link.Share", "ended release the gNB has forgotten its UEs", "commit shard 1 phase 2", "send NGSetupResponse", "done 6"}},
		"with its UEs":    {true, []string{"*link.Remember", "*link.Share", "send NGSetupResponse", "done 6"}},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := registered(t)
			plmn, err := n2.MakePLMN("208", "93")
			if err != nil {
				t.Fatal(err)
			}
			n.phone.says(&n2.NGSetupRequest{
				Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "roof", DRX: n2.DRX128, Retention: tt.retains,
				TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
			})
			n.settle()
			wants(t, n, tt.want...)
			if rec := n.kept(); (rec.N2 != nil) != tt.retains {
				t.Errorf("the UE is at %+v", rec.N2)
			}
		})
	}
}
