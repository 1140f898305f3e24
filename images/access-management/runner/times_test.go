package runner

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A stranger that does not answer is asked again, by times in memory alone, and let go of.
func TestASilentStranger(t *testing.T) {
	n := newNetwork(t)
	h := n.hold(1)
	n.phone.silent = true
	n.phone.register()
	n.pass(time.Minute)
	asked := "DownlinkNASTransport AuthenticationRequest"
	if diff := cmp.Diff([]string{asked, asked, asked, asked, asked, "UEContextReleaseCommand"}, n.phone.log); diff != "" {
		t.Errorf("what the UE is told (-want +is):\n%s", diff)
	}
	if all, strangers := h.runner.UEs(); all != 0 || strangers != 0 {
		t.Errorf("%d UEs in memory, %d strangers", all, strangers)
	}
}

// A UE that is taken over in the midst of something leaves nothing to be gone on with behind, neither intents nor times.
func TestATakeoverInTheMidst(t *testing.T) {
	n := newNetwork(t)
	n.hold(1)
	n.manual = true
	n.phone.register()
	n.settle()
	n.reply()
	n.reply() // the UDM is asked now
	intents := func(shard string) int {
		keys, err := n.store.Intents(context.Background(), shard, 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if rec := n.kept(); rec == nil || intents("amf-1") != 1 {
		t.Fatalf("there is no intent: %q", n.noted)
	}
	n.hold(2)
	n.manual = false
	n.phone.register()
	n.pass(10 * time.Second)
	if rec := n.kept(); !n.phone.registered || rec.Shard != 2 {
		t.Errorf("registered %t; the record is %+v", n.phone.registered, rec)
	}
	due, err := n.store.Due(context.Background(), "amf-1", n.now.Add(24*time.Hour), 9)
	if err != nil || len(due) != 0 || intents("amf-1") != 0 || intents("amf-2") != 0 {
		t.Errorf("left are %v, %v, intents %d and %d", due, err, intents("amf-1"), intents("amf-2"))
	}
}
