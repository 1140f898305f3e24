package agent_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// book adds up the reports of one URR over its lives: a URR that is created anew begins its UR-SEQN
// anew.
type book struct {
	t      *testing.T
	life   map[uint32]bool // UR-SEQNs of this life
	ul, dl uint64
}

func (b *book) add(reports ...*ie.IE) {
	b.t.Helper()
	for _, r := range reports {
		seqn, err := r.URSEQN()
		if err != nil {
			b.t.Fatal(err)
		}
		if b.life[seqn] {
			continue // repeated
		}
		b.life[seqn] = true
		_, ul, dl := fakesmf.Volumes(b.t, r)
		b.ul, b.dl = b.ul+ul, b.dl+dl
	}
}

// What the SMF is told adds up to what upf-u forwarded, whatever is reported, updated, replaced and
// killed in between.
func TestReportsAddUpToWhatWasForwarded(t *testing.T) {
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 7))
		l := newLab(t, nil)
		s := fakesmf.New(t, l.addr)
		s.Associate()
		urr := func() []*ie.IE {
			return []*ie.IE{ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, random.IntN(2)), ie.NewReportingTriggers(0x02|uint8(random.IntN(2))<<4, 0),
				ie.NewVolumeThreshold(0x07, 200+random.Uint64N(2000), 200+random.Uint64N(2000), 200+random.Uint64N(2000))}
		}
		u := fakesmf.Phone
		u.URR = urr()[1:]
		seid := s.Established(7, u.Session()...)
		b := &book{t: t, life: map[uint32]bool{}}
		drain := func() {
			for len(s.Reports) > 0 {
				b.add((<-s.Reports).UsageReport...)
			}
		}
		// settled: nothing is due and nothing waits for its acknowledgement.
		settled := func() {
			t.Helper()
			if err := l.upfu.Await(fakesmf.Patience, func() bool {
				drain()
				index, sess := l.only()
				if len(blobOf(t, l).Outbox) > 0 || l.agent.Owes(index) {
					return false
				}
				a := l.upfu.Arm(sess.URRs[0].Slot)
				ul, dl := l.upfu.Counters(sess.URRs[0].Slot)
				return ul+dl < a.Total && ul < a.Ul && dl < a.Dl
			}); err != nil {
				t.Fatalf("seed %d: reports do not come to an end: %v", seed, err)
			}
			drain()
		}
		var ul, dl uint64
		for range 60 {
			_, sess := l.only()
			slot := sess.URRs[0].Slot
			switch random.IntN(10) {
			default:
				n := 1 + random.Uint64N(500)
				if random.IntN(2) == 0 {
					l.upfu.Forward(slot, abi.Ul, n)
					ul += n
				} else {
					l.upfu.Forward(slot, abi.Dl, n)
					dl += n
				}
			case 5:
				b.add(s.Modify(seid, ie.NewQueryURR(ie.NewURRID(1))).UsageReport...)
			case 6:
				b.add(s.Modify(seid, ie.NewUpdateURR(urr()...)).UsageReport...)
			case 7:
				settled() // what of the old life is under way would be taken for the new one's
				b.add(s.Modify(seid, ie.NewRemoveURR(ie.NewURRID(1)), ie.NewCreateURR(urr()...), ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewURRID(1))).UsageReport...)
				b.life = map[uint32]bool{}
			case 8:
				l.restartAgent()
				s.To = l.addr
			case 9:
				l.upfu.Kill()
				l.startUPFU()
				if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 1 && l.agent.Ready() == nil }); err != nil {
					t.Fatal(errors.Join(err, l.agent.Ready()))
				}
			}
		}
		settled()
		b.add(s.Delete(seid).UsageReport...)
		drain()
		if b.ul != ul || b.dl != dl {
			t.Errorf("seed %d: forwarded %d and %d octets, reported %d and %d", seed, ul, dl, b.ul, b.dl)
		}
		l.stop()
	}
}
