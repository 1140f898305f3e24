package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/nat"
)

// records keeps what is logged of blocks.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

// take is what there is since the last time: what, UE, address and ports of each.
func (r *records) take(t *testing.T) (out []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.b.String()) {
		var v struct {
			Time                                     time.Time
			Msg, NetworkInstance, UE, Address, Ports string
			SEID, Node                               string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		what, is := strings.CutPrefix(v.Msg, "NAT44 block ")
		if !is {
			continue
		}
		if v.Time.IsZero() || v.SEID == "" || v.Node == "" {
			t.Errorf("a record without time, SEID or CP function: %s", line)
		}
		out = append(out, fmt.Sprint(what, " ", v.NetworkInstance, " ", v.UE, " ", v.Address, " ", v.Ports))
	}
	r.b.Reset()
	return out
}

func want(t *testing.T, r *records, what string, list ...string) {
	t.Helper()
	if diff := cmp.Diff(list, r.take(t)); diff != "" {
		t.Errorf("records %s (-want +got):\n%s", what, diff)
	}
}

// newNATLab is one whose network instance ims has NAT44, and internet has not. Its log is of errors alone.
func newNATLab(t *testing.T, ports uint32, prefixes ...string) (*lab, *records) {
	t.Helper()
	r := &records{}
	l := &lab{t: t, log: slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelError}), of: natOf(ports, prefixes...)}
	return l.start(), r
}

func natOf(ports uint32, prefixes ...string) []fakeupfu.Network {
	c := nat.Config{Ports: ports}
	for _, p := range prefixes {
		c.Prefixes = append(c.Prefixes, netip.MustParsePrefix(p))
	}
	return []fakeupfu.Network{{Name: "internet"}, {Name: "ims", NAT: c}}
}

func uePhone(i int, instance string) fakesmf.UE {
	return fakesmf.UE{TEID: uint32(i), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.0.%d", i), NetworkInstance: instance}
}

func text(b nat.Block, ports uint32) string {
	return fmt.Sprintf("%s %s", b.Addr, nat.Config{Ports: ports}.Text(b))
}

// met returns when upf-c has met the upf-u that there is.
func (l *lab) met() {
	l.t.Helper()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Meta() != nil && l.agent.Ready() == nil }); err != nil {
		l.t.Fatal(err)
	}
}

func TestNAT44Block(t *testing.T) {
	l, r := newNATLab(t, 1024, "203.0.113.0/30")
	s := fakesmf.New(t, l.addr)
	s.Associate()
	one := s.Established(1, uePhone(1, "ims").Session()...)
	index, got := l.only()
	block := got.NAT
	if !netip.MustParsePrefix("203.0.113.0/30").Contains(block.Addr) || block.Port < 1024 || block.Port%1024 != 0 {
		t.Fatalf("the session has block %v", block)
	}
	mine := "ims 10.45.0.1 " + text(block, 1024)
	want(t, r, "of a session", "given "+mine)
	if d := l.agent.Sessions()[0].NAT44; d == nil || *d != (agent.NAT44{Address: block.Addr, Ports: nat.Config{Ports: 1024}.Text(block)}) {
		t.Errorf("shown as %v", d)
	}
	two := s.Established(2, uePhone(2, "ims").Session()...)
	other := l.upfu.Sessions()[index+1].NAT
	if other == block || !other.IsValid() {
		t.Fatalf("two sessions have %v and %v", block, other)
	}
	want(t, r, "of another one", "given ims 10.45.0.2 "+text(other, 1024))
	three := s.Established(3, uePhone(3, "internet").Session()...)
	if got := l.upfu.Sessions()[index+2].NAT; got.IsValid() {
		t.Errorf("without NAT44 the session has %v", got)
	}
	if got, want := l.agent.Tables()[2:], []agent.Table{{Name: "nat_blocks:ims", Used: 2, Limit: 252}}; !cmp.Equal(got, want) {
		t.Errorf("tables %v, want %v", got, want)
	}

	same := func(what string) {
		t.Helper()
		l.met()
		all := l.upfu.Sessions()
		if all[index].NAT != block || all[index+1].NAT != other || all[index+2].NAT.IsValid() {
			t.Errorf("%s: %v, %v, %v", what, all[index].NAT, all[index+1].NAT, all[index+2].NAT)
		}
		want(t, r, what)
	}
	fakesmf.WantCause(t, s.Modify(one, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	same("a change of rules")
	l.restartAgent()
	s.To = l.addr
	fakesmf.WantCause(t, s.Modify(one, fakesmf.Phone.GNB(0x200, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	same("another upf-c")
	l.upfu.Kill()
	l.startUPFU()
	same("another upf-u")
	l.stop()
	l.upfu.Kill()
	l.startUPFU()
	l.startAgent()
	s.To = l.addr
	same("both at once")

	fakesmf.WantCause(t, s.Delete(one).Cause, ie.CauseRequestAccepted)
	want(t, r, "of its end", "returned "+mine)
	fakesmf.WantCause(t, s.Delete(three).Cause, ie.CauseRequestAccepted)
	fakesmf.WantCause(t, s.Delete(two).Cause, ie.CauseRequestAccepted)
	want(t, r, "of theirs", "returned ims 10.45.0.2 "+text(other, 1024))
	// Who comes back has the same.
	s.Established(4, uePhone(1, "ims").Session()...)
	if _, got := l.only(); got.NAT != block {
		t.Errorf("%v after %v", got.NAT, block)
	}
}

func TestNoNAT44BlockIsLeft(t *testing.T) {
	l, r := newNATLab(t, 32768, "203.0.113.0/31")
	s := fakesmf.New(t, l.addr)
	s.Associate()
	one := s.Established(1, uePhone(1, "ims").Session()...)
	s.Established(2, uePhone(2, "ims").Session()...)
	if n := len(r.take(t)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	fakesmf.WantCause(t, s.Establish(3, uePhone(3, "ims").Session()...).Cause, ie.CauseNoResourcesAvailable)
	want(t, r, "of what was refused")
	if n := l.upfu.Len(); n != 2 {
		t.Errorf("%d sessions in upf-u, want 2", n)
	}
	s.Established(4, uePhone(4, "internet").Session()...)
	fakesmf.WantCause(t, s.Delete(one).Cause, ie.CauseRequestAccepted)
	s.Established(5, uePhone(5, "ims").Session()...)
}

// What upf-u does not take is given back.
func TestNAT44BlockOfASessionThatIsRefused(t *testing.T) {
	l, r := newNATLab(t, 32768, "203.0.113.0/32")
	s := fakesmf.New(t, l.addr)
	s.Associate()
	l.upfu.Refuse(12) // ENOMEM
	fakesmf.WantCause(t, s.Establish(1, uePhone(1, "ims").Session()...).Cause, ie.CauseNoResourcesAvailable)
	l.upfu.Refuse(0)
	want(t, r, "of both", "given ims 10.45.0.1 203.0.113.0 32768-65535", "returned ims 10.45.0.1 203.0.113.0 32768-65535")
	s.Established(2, uePhone(2, "ims").Session()...)
	want(t, r, "of the next", "given ims 10.45.0.2 203.0.113.0 32768-65535")
	// All sessions of an SMF end.
	fakesmf.WantCause(t, s.Ask(message.NewAssociationReleaseRequest(s.NextSeq(), s.Node())).(*message.AssociationReleaseResponse).Cause, ie.CauseRequestAccepted)
	want(t, r, "of its end", "returned ims 10.45.0.2 203.0.113.0 32768-65535")
}

// upf-u begins anew with other addresses: sessions whose blocks are gone have others, and the rest have what they had.
func TestUPFUHasOtherNAT44Addresses(t *testing.T) {
	l, r := newNATLab(t, 1024, "203.0.113.0/31", "198.51.100.0/32")
	s := fakesmf.New(t, l.addr)
	s.Associate()
	before := map[int]nat.Block{}
	for i := 1; i <= 100; i++ {
		s.Established(uint64(i), uePhone(i, "ims").Session()...)
	}
	for index, got := range l.upfu.Sessions() {
		before[int(index)] = got.NAT
	}
	r.take(t)
	l.upfu.Kill()
	l.of = natOf(1024, "192.0.2.0/31", "198.51.100.0/32")
	l.startUPFU()
	l.met()
	after, moved := map[nat.Block]bool{}, 0
	for index, got := range l.upfu.Sessions() {
		if after[got.NAT] || !got.NAT.IsValid() || netip.MustParsePrefix("203.0.113.0/31").Contains(got.NAT.Addr) {
			t.Errorf("a session has %v", got.NAT)
		}
		after[got.NAT] = true
		switch was := before[int(index)]; {
		case got.NAT == was:
		case netip.MustParsePrefix("198.51.100.0/32").Contains(was.Addr):
			t.Errorf("%v is there, and its session has %v", was, got.NAT)
		default:
			moved++
		}
	}
	if moved == 0 || moved == 100 {
		t.Fatalf("%d of 100 have others", moved)
	}
	if n := len(r.take(t)); n != 2*moved {
		t.Errorf("%d records of %d sessions, want two each", n, moved)
	}
	// Without NAT44 nobody has one, and it is not in the way.
	l.upfu.Kill()
	l.of = []fakeupfu.Network{{Name: "internet"}, {Name: "ims"}}
	l.startUPFU()
	l.met()
	for _, got := range l.upfu.Sessions() {
		if got.NAT.IsValid() {
			t.Errorf("a session has %v without NAT44", got.NAT)
		}
	}
	if n := len(r.take(t)); n != 100 {
		t.Errorf("%d records, want 100", n)
	}
}
