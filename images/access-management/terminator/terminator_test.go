package terminator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"

	gocmp "github.com/google/go-cmp/cmp"
)

// stage is a World that writes down what happens, a line each.
type stage struct {
	t      *testing.T
	term   *Terminator
	now    time.Time
	lines  []string
	counts map[Happening]int
	broken map[uint64]bool
	came   time.Time // what was delivered last
}

const (
	amfSet = 5
	shards = 3
)

func newStage(t *testing.T) *stage {
	s := &stage{t: t, now: time.Unix(1000, 0), counts: map[Happening]int{}, broken: map[uint64]bool{}}
	s.term = New(Config{World: s, Name: "t-0", Shards: shards, Set: amfSet, Count: func(h Happening) { s.counts[h]++ }})
	return s
}

func (s *stage) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *stage) Transmit(association uint64, stream uint16, message []byte) error {
	if s.broken[association] {
		return errors.New("it takes nothing")
	}
	s.say("gNB %d <- %s on stream %d", association, message, stream)
	return nil
}
func (s *stage) Shut(association uint64) { s.say("shut %d", association) }
func (s *stage) Pause(association uint64, paused bool) {
	s.say("pause %d: %t", association, paused)
}
func (s *stage) Drop(worker uint64, why string) { s.say("drop %d: %s", worker, why) }
func (s *stage) Now() time.Time                 { return s.now }

func (s *stage) Tell(worker uint64, f link.Frame) {
	switch f := f.(type) {
	case *link.Deliver:
		s.came = time.UnixMilli(f.At)
		what := ""
		if f.Again {
			what += " again"
		}
		if f.Shared {
			what += " shared"
		}
		if f.UE != 0 {
			what += fmt.Sprintf(" as UE %d", f.UE)
		}
		s.say("worker %d <- %d for shard %d of gNB %d%s", worker, f.Number, f.Shard, f.Association, what)
	default:
		s.say("worker %d <- %s %v", worker, strings.TrimPrefix(fmt.Sprintf("%T", f), "*link."), cmpText(f))
	}
}

func cmpText(f link.Frame) string {
	return strings.Trim(strings.TrimPrefix(fmt.Sprintf("%+v", f), "&"), "{}")
}

// happened is what has happened since it was asked last.
func (s *stage) happened(want ...string) {
	s.t.Helper()
	if diff := gocmp.Diff(want, s.lines); diff != "" {
		s.t.Errorf("what happened (-want +got):\n%s", diff)
	}
	s.lines = nil
}

func (s *stage) worker(id uint64, name string, held ...uint16) {
	s.term.WorkerCame(id)
	s.term.Took(id, &link.Hello{Version: link.Version, Worker: name, Shards: shards, Resumes: name != "old"})
	for _, n := range held {
		s.term.Took(id, &link.Holds{Shard: n, Epoch: id})
	}
}

// quiet forgets what has happened so far.
func (s *stage) quiet() { s.lines = nil }

func (s *stage) message(m n2.Message) []byte {
	s.t.Helper()
	b, err := n2.Write(m)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

var place = n2.UserLocation{Kind: n2.LocationNR, Cell: n2.Cell{Radio: n2.NR}}

func (s *stage) uplink(shard uint16, n uint64) []byte {
	return s.message(&n2.UplinkNASTransport{
		UE: n2.UEIDs{AMF: n2.AMFUEID(record.AttachmentID(shard, n)), RAN: 7}, NAS: []byte{0x7e}, Location: place,
	})
}

func (s *stage) initial(set uint16, shard uint16) []byte {
	m := &n2.InitialUEMessage{RAN: 7, NAS: []byte{0x7e}, Location: place, Establishment: n2.EstablishmentCause(3)}
	if shard != 0 {
		m.STMSI = &n2.FiveGSTMSI{Set: set, TMSI: record.TMSI(shard, 99)}
	}
	return s.message(m)
}

func TestMessagesFindTheirShard(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1, 2)
	s.worker(2, "two", 3)
	s.term.Opened(10, 5, "gnb", "amf")
	s.quiet()
	for _, m := range [][]byte{
		s.uplink(3, 1), s.uplink(2, 1), s.initial(amfSet, 3), s.initial(amfSet+1, 3), s.initial(0, 0), s.initial(0, 0),
		s.message(&n2.NGReset{Cause: ngapcause.MiscUnspecified}), {0x7f, 0, 1}, nil, s.uplink(9, 1),
	} {
		s.term.Received(10, m)
	}
	s.happened(
		"worker 2 <- 1 for shard 3 of gNB 10",
		"worker 1 <- 2 for shard 2 of gNB 10",
		"worker 2 <- 3 for shard 3 of gNB 10",
		"worker 1 <- 4 for shard 1 of gNB 10", // another set's 5G-TMSI: any shard, each in its turn
		"worker 1 <- 5 for shard 2 of gNB 10",
		"worker 2 <- 6 for shard 3 of gNB 10",
		"worker 1 <- 7 for shard 1 of gNB 10", // the gNB's own, what cannot be read, and a UE of no shard: one shard does all of them
		"worker 1 <- 8 for shard 1 of gNB 10",
		"worker 1 <- 9 for shard 1 of gNB 10",
		"worker 1 <- 10 for shard 1 of gNB 10",
	)
}

func TestWhatIsNotDoneIsTheNextHolders(t *testing.T) {
	for name, end := range map[string]func(s *stage){
		"the worker dies":             func(s *stage) { s.term.WorkerGone(1) },
		"it lets the shard go":        func(s *stage) { s.term.Took(1, &link.LetsGo{Shard: 2, Epoch: 1}) },
		"another has it before it is": func(*stage) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.worker(1, "one", 2)
			s.worker(2, "two")
			s.term.Opened(10, 5, "gnb", "amf")
			s.quiet()
			for n := range uint64(4) {
				s.term.Received(10, s.uplink(2, n))
			}
			s.term.Took(1, &link.Done{Number: 2})
			s.quiet()
			end(s)
			s.term.Took(2, &link.Holds{Shard: 2, Epoch: 7})
			s.happened(
				"worker 2 <- 1 for shard 2 of gNB 10 again",
				"worker 2 <- 3 for shard 2 of gNB 10 again",
				"worker 2 <- 4 for shard 2 of gNB 10 again",
			)
			s.term.Took(1, &link.Done{Number: 3}) // too late: it is another's
			s.term.Took(1, &link.Send{Number: 5, Shard: 2, Epoch: 1, Association: 10, Message: []byte("late")})
			s.term.Took(1, &link.Holds{Shard: 2, Epoch: 6})
			s.term.Received(10, s.uplink(2, 9))
			if name == "the worker dies" {
				s.happened("worker 2 <- 5 for shard 2 of gNB 10")
			} else {
				s.happened("worker 1 <- NotSent Number:5 Shard:2 Fenced:true Why:shard 2 is not held under epoch 1", "worker 2 <- 5 for shard 2 of gNB 10")
			}
			if all, untaken := s.term.Waiting(); all != 4 || untaken != 0 {
				t.Errorf("%d messages wait, %d of them for anybody", all, untaken)
			}
		})
	}
}

// A first message that is kept waits for nobody, and is the next holder's, with the AMF UE NGAP ID that the gNB may know: until its worker is done with it, the association
// has ended, or its UE has given up. A worker of before could not go on with it.
func TestWhatIsKeptIsTheNextHolders(t *testing.T) {
	for name, tt := range map[string]struct {
		then    func(s *stage)
		next    string
		want    []string
		expired int
	}{
		"the worker dies":         {want: []string{"worker 3 <- 1 for shard 1 of gNB 10 again as UE 77", "worker 3 <- 2 for shard 1 of gNB 10 again"}},
		"it was done with":        {then: func(s *stage) { s.term.Took(1, &link.Done{Number: 1}) }, want: []string{"worker 3 <- 2 for shard 1 of gNB 10 again"}},
		"another says to keep it": {then: func(s *stage) { s.term.Took(2, &link.Keep{Number: 2, UE: 78}) }, want: []string{"worker 3 <- 1 for shard 1 of gNB 10 again as UE 77", "worker 3 <- 2 for shard 1 of gNB 10 again"}},
		"the association ends":    {then: func(s *stage) { s.term.Ended(10, "gone") }, want: []string{"worker 3 <- 2 for shard 1 of gNB 10 again"}},
		"its UE has given up": {then: func(s *stage) {
			s.now = s.now.Add(Patience + time.Second)
			s.term.Tick()
		}, want: []string{"worker 3 <- 2 for shard 1 of gNB 10 again"}},
		"its UE gives up while nobody holds the shard": {then: func(s *stage) {
			s.now = s.now.Add(Patience - time.Second)
			s.term.WorkerGone(1)
			s.now = s.now.Add(2 * time.Second)
			s.term.Tick()
		}, want: []string{"worker 3 <- 2 for shard 1 of gNB 10 again"}, expired: 1},
		"the next one is of before": {next: "old", want: []string{"worker 3 <- 2 for shard 1 of gNB 10 again"}, expired: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.worker(1, "one", 1)
			s.worker(2, "two")
			s.term.Opened(10, 5, "gnb", "amf")
			s.term.Received(10, s.initial(0, 0))
			s.term.Received(10, s.uplink(1, 2))
			s.term.Took(1, &link.Keep{Number: 1, UE: 77})
			if all, untaken := s.term.Waiting(); all != 1 || untaken != 0 {
				t.Errorf("%d messages wait, %d for anybody", all, untaken)
			}
			if tt.then != nil {
				tt.then(s)
			}
			s.term.WorkerGone(1)
			s.worker(3, cmp.Or(tt.next, "three"))
			s.quiet()
			s.term.Took(3, &link.Holds{Shard: 1, Epoch: 3})
			s.happened(tt.want...)
			if got := s.counts[Expired]; got != tt.expired {
				t.Errorf("%d expired, want %d", got, tt.expired)
			}
		})
	}
}

// What is kept does not pause its association, however much it is; and what is too much is not kept.
func TestHowMuchIsKept(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.term.Opened(10, 5, "gnb", "amf")
	s.quiet()
	for n := range uint64(mostKept + 1) {
		s.term.Received(10, s.initial(0, 0))
		s.term.Took(1, &link.Keep{Number: n + 1, UE: n + 1})
	}
	if slices.ContainsFunc(s.lines, func(line string) bool { return strings.HasPrefix(line, "pause") }) {
		t.Error("the association was paused")
	}
	if got := len(s.term.messages); got != mostKept {
		t.Errorf("%d are kept, want %d", got, mostKept)
	}
	for n := range uint64(mostKept) {
		s.term.Took(1, &link.Done{Number: n + 1})
	}
	if a := s.term.associations[10]; a.kept != 0 || a.waiting != 0 || a.octets != 0 || len(s.term.messages) != 0 {
		t.Errorf("of %d messages %d are kept and %d wait, of %d octets", len(s.term.messages), a.kept, a.waiting, a.octets)
	}
}

// When a message came its next holder hears as the first did: what came by another association meanwhile is behind it still.
func TestWhatIsDeliveredAgainCameWhenItDid(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.term.Opened(10, 5, "gnb", "amf")
	s.term.Received(10, s.uplink(1, 5))
	first := s.came
	s.now = s.now.Add(time.Minute)
	s.term.WorkerGone(1)
	s.now = s.now.Add(Patience / 2)
	s.term.Tick()
	s.came = time.Time{}
	s.worker(2, "two", 1)
	if !s.came.Equal(first) {
		t.Errorf("it came at %v, and then at %v", first, s.came)
	}
}

func TestMessagesWaitForAHolder(t *testing.T) {
	s := newStage(t)
	s.term.Opened(10, 5, "gnb", "amf")
	s.term.Received(10, s.message(&n2.NGReset{Cause: ngapcause.MiscUnspecified}))
	s.term.Received(10, s.uplink(2, 1))
	s.term.Received(10, s.initial(0, 0))
	s.now = s.now.Add(Patience - time.Second)
	s.term.Tick()
	s.happened()
	s.worker(1, "one")
	s.quiet()
	s.term.Took(1, &link.Holds{Shard: 3, Epoch: 1})
	s.happened("worker 1 <- 1 for shard 3 of gNB 10", "worker 1 <- 3 for shard 3 of gNB 10")
	s.now = s.now.Add(2 * time.Second)
	s.term.Tick() // shard 2 came too late for the UE
	s.term.Took(1, &link.Holds{Shard: 2, Epoch: 1})
	s.happened()
	if s.counts[Expired] != 1 {
		t.Errorf("%d expired, want 1", s.counts[Expired])
	}
}

// A worker that asks for an echo gets one, and nothing of it is counted.
func TestAnEcho(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.quiet()
	s.term.Took(1, &link.Send{Number: 7, Shard: link.NoShard})
	s.happened("worker 1 <- NotSent Number:7 Shard:0 Fenced:true Why:an echo")
	if len(s.counts) != 0 {
		t.Errorf("counted: %v", s.counts)
	}
}

func TestAnAssociationsEnd(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.term.Opened(10, 5, "gnb", "amf")
	s.quiet()
	s.term.Received(10, s.uplink(1, 1))
	s.term.Received(10, s.uplink(2, 1)) // nobody's
	s.quiet()
	s.term.Ended(10, "shut down")
	s.happened("worker 1 <- Ended Association:10 Why:shut down")
	s.term.Took(1, &link.Send{Number: 1, Shard: 1, Epoch: 1, Association: 10, Message: []byte("x")})
	s.happened("worker 1 <- NotSent Number:1 Shard:1 Fenced:false Why:the association has ended")
	s.term.Took(1, &link.Done{Number: 1})
	s.term.Received(10, s.uplink(1, 1))
	if all, _ := s.term.Waiting(); all != 0 || s.counts[Orphaned] != 1 {
		t.Errorf("%d wait, %d orphaned", all, s.counts[Orphaned])
	}
}

func TestWorkersAreToldWhatThereIs(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.term.Opened(10, 5, "gnb-a", "amf")
	s.term.Took(1, &link.Remember{Shard: 1, Epoch: 1, Association: 10, Node: []byte("A")})
	s.term.Took(1, &link.Remember{Shard: 1, Epoch: 0, Association: 10, Node: []byte("B")}) // fenced
	s.happened(
		"worker 1 <- Welcome Version:1 Terminator:t-0",
		"worker 1 <- Opened Association:0 Peer: Node:[] Listed:true Last:true Here: Ago:0",
		"worker 1 <- Opened Association:10 Peer:gnb-a Node:[] Listed:false Last:false Here:amf Ago:0",
		"worker 1 <- Node Association:10 Node:[65]",
	)
	s.now = s.now.Add(70 * time.Second)
	s.worker(2, "two")
	s.happened(
		"worker 2 <- Welcome Version:1 Terminator:t-0",
		"worker 2 <- Opened Association:10 Peer:gnb-a Node:[65] Listed:true Last:false Here:amf Ago:70000",
		"worker 2 <- Opened Association:10 Peer: Node:[] Listed:true Last:true Here: Ago:0",
	)
}

func TestASharedMessageReachesAllShards(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.worker(2, "two", 2)
	s.term.Opened(10, 5, "gnb", "amf")
	s.term.Received(10, s.message(&n2.NGReset{Cause: ngapcause.MiscUnspecified}))
	s.quiet()
	s.term.Took(1, &link.Share{Number: 1})
	s.term.Took(2, &link.Share{Number: 2}) // not the lead's
	s.happened("worker 2 <- 2 for shard 2 of gNB 10 shared")
	s.now = s.now.Add(time.Hour)
	s.term.Tick()
	s.worker(3, "three")
	s.quiet()
	s.term.Took(3, &link.Holds{Shard: 3, Epoch: 1})
	s.happened("worker 3 <- 3 for shard 3 of gNB 10 shared")
	if !s.came.Equal(s.now.Add(-time.Hour)) {
		t.Errorf("it came at %v, an hour before %v", s.came, s.now)
	}
}

// Who nobody knows is for a shard that is held for a while yet, and waits where there is none; all others are for theirs.
func TestAShardThatIsLeft(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1, 2)
	s.worker(2, "two", 3)
	s.term.Opened(10, 5, "gnb", "amf")
	s.quiet()
	s.term.Received(10, s.uplink(3, 1))
	s.happened("worker 2 <- 1 for shard 3 of gNB 10")
	s.term.Took(2, &link.Holds{Shard: 3, Epoch: 2, Leaving: true}) // what it has it keeps
	s.happened()
	for range 3 {
		s.term.Received(10, s.initial(0, 0))
	}
	s.happened("worker 1 <- 2 for shard 1 of gNB 10", "worker 1 <- 3 for shard 2 of gNB 10", "worker 1 <- 4 for shard 1 of gNB 10")
	s.term.Received(10, s.uplink(3, 1))
	s.happened("worker 2 <- 5 for shard 3 of gNB 10")

	s.term.Took(1, &link.Holds{Shard: 1, Epoch: 1, Leaving: true})
	s.term.Took(1, &link.Holds{Shard: 2, Epoch: 1, Leaving: true})
	s.term.Received(10, s.initial(0, 0))
	s.happened()
	if all, untaken := s.term.Waiting(); all != 6 || untaken != 1 {
		t.Errorf("%d wait, %d of them for somebody, want 6 and 1", all, untaken)
	}
	s.term.Took(2, &link.Holds{Shard: 3, Epoch: 2}) // it has been given up and taken again, or will not go
	s.happened("worker 2 <- 6 for shard 3 of gNB 10")
}

func TestStreams(t *testing.T) {
	for name, c := range map[string]struct {
		streams uint16
		ue      uint64
		want    uint16
	}{
		"what concerns no UE is on stream 0": {5, 0, 0},
		"a UE's is not":                      {5, 4, 1},
		"and always the same":                {5, 7, 4},
		"where there are two":                {2, 7, 1},
		"where there is one":                 {1, 7, 0},
		"few of very many":                   {65535, 10_000, 1 + 10_000%mostStreams},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.worker(1, "one", 1)
			s.term.Opened(10, c.streams, "gnb", "amf")
			s.quiet()
			s.term.Took(1, &link.Send{Shard: 1, Epoch: 1, Association: 10, UE: c.ue, Message: []byte("m")})
			s.happened(fmt.Sprintf("gNB 10 <- m on stream %d", c.want))
		})
	}
}

func TestAnAssociationThatSaysTooMuchIsPaused(t *testing.T) {
	s := newStage(t)
	s.worker(1, "one", 1)
	s.term.Opened(10, 5, "gnb", "amf")
	for n := range uint64(mostWaiting) {
		s.term.Received(10, s.uplink(1, n))
	}
	if got := s.lines[len(s.lines)-2]; got != "pause 10: true" {
		t.Errorf("before the last message is delivered: %s", got)
	}
	s.quiet()
	for n := range uint64(mostWaiting / 2) {
		s.happened()
		s.term.Took(1, &link.Done{Number: n + 1})
	}
	s.happened("pause 10: false")
}

func TestWorkersThatAreTurnedAway(t *testing.T) {
	for name, c := range map[string]struct {
		frame link.Frame
		want  string
	}{
		"another version": {
			&link.Hello{Version: 9, Worker: "w", Shards: shards}, "drop 1: worker w speaks version 9 of the protocol, this terminator version 1",
		},
		"other shards":        {&link.Hello{Version: 1, Worker: "w", Shards: 8}, "drop 1: worker w knows of 8 shards, this terminator of 3"},
		"one without manners": {&link.Done{Number: 1}, "drop 1: Hello comes first, and once"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.term.WorkerCame(1)
			s.term.Took(1, c.frame)
			s.happened(c.want)
		})
	}
	s := newStage(t)
	s.worker(1, "one")
	s.quiet()
	s.term.Took(1, &link.Holds{Shard: 4, Epoch: 1})
	s.term.Took(1, &link.Welcome{})
	s.happened("drop 1: there is no shard 4", "drop 1: *link.Welcome is no frame of a worker")
}

// The answer to an NG Setup leaves when every shard that somebody holds is done with the request, or has had its time, and nothing before it.
func TestAnNGSetupIsAnsweredWhenAllAreDone(t *testing.T) {
	const gnb, rest, answered = 10, 3, "gNB 10 <- "
	request := &n2.NGSetupRequest{Node: n2.RANNode{Kind: n2.GNB, Bits: 24, ID: 1}, DRX: n2.DRX128, TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{
		Slices: []n2.SNSSAI{{SST: 1}},
	}}}}}
	begin := func(t *testing.T) (*stage, func(shard uint16, m n2.Message)) {
		s := newStage(t)
		s.worker(1, "one", 1, 2)
		s.worker(2, "two", 3)
		s.term.Opened(gnb, 5, "gnb", "amf")
		s.term.Received(gnb, s.message(request))
		s.term.Took(1, &link.Share{Number: 1})
		s.quiet()
		return s, func(shard uint16, m n2.Message) {
			worker := uint64(1)
			if shard == rest {
				worker = 2
			}
			s.term.Took(worker, &link.Send{Shard: shard, Epoch: worker, Association: gnb, Message: s.message(m)})
		}
	}
	left := func(s *stage) (kinds []string) { // to the gNB
		for _, l := range s.lines {
			if b, is := strings.CutPrefix(l, answered); is {
				h, err := n2.Peek([]byte(strings.TrimSuffix(b, " on stream 0")))
				if err != nil {
					s.t.Fatal(err)
				}
				kinds = append(kinds, h.Kind.String())
			}
		}
		return kinds
	}
	response := &n2.NGSetupResponse{Name: "amf", Capacity: 1, GUAMIs: []n2.ServedGUAMI{{}}, PLMNs: []n2.PLMNSlices{{Slices: []n2.SNSSAI{{SST: 1}}}}}
	other := &n2.AMFConfigurationUpdate{Name: "other"}
	t.Run("the gNB does not wait for its answer, and sets itself up again: what waits leaves behind the answer to that", func(t *testing.T) {
		s, send := begin(t)
		send(3, other)
		s.term.Received(gnb, s.message(request))
		s.term.Took(1, &link.Share{Number: 4})
		s.quiet()
		send(1, response)
		s.happened()
		for n := range uint64(6) { // those of the first request are 1 to 3
			worker := uint64(1)
			if n%3 == 2 {
				worker = 2
			}
			s.term.Took(worker, &link.Done{Number: n + 1})
		}
		if diff := gocmp.Diff([]string{response.Kind().String(), other.Kind().String()}, left(s)); diff != "" {
			t.Errorf("what has left (-want +is):\n%s", diff)
		}
	})
	for name, tt := range map[string]struct {
		do   func(s *stage)
		want bool
	}{
		"two shards are not": {func(s *stage) { s.term.Took(1, &link.Done{Number: 1}) }, false},
		"one is not": {func(s *stage) {
			s.term.Took(1, &link.Done{Number: 1})
			s.term.Took(2, &link.Done{Number: 3})
		}, false},
		"all are": {func(s *stage) {
			s.term.Took(1, &link.Done{Number: 1})
			s.term.Took(1, &link.Done{Number: 2})
			s.term.Took(2, &link.Done{Number: 3})
		}, true},
		"nobody holds the one that is not": {func(s *stage) {
			s.term.Took(1, &link.Done{Number: 1})
			s.term.Took(1, &link.Done{Number: 2})
			s.term.WorkerGone(2)
			s.term.Tick()
		}, true},
		"none is in time": {func(s *stage) {
			s.now = s.now.Add(setupPatience)
			s.term.Tick()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, send := begin(t)
			send(3, other) // another shard's comes before
			send(1, response)
			s.happened()
			tt.do(s)
			kinds := left(s)
			var want []string
			if tt.want {
				want = []string{response.Kind().String(), other.Kind().String()}
			}
			if diff := gocmp.Diff(want, kinds); diff != "" {
				t.Errorf("what has left (-want +is):\n%s", diff)
			}
			if s.quiet(); tt.want {
				if send(1, other); len(s.lines) != 1 {
					t.Errorf("and what comes behind it is not sent: %q", s.lines)
				}
				s.quiet()
				if send(3, response); len(s.lines) != 0 {
					t.Errorf("it is answered again, by who does not know that it was: %q", s.lines)
				}
				s.term.Received(gnb, s.message(request))
				s.term.Took(1, &link.Done{Number: 4})
				s.quiet()
				if send(1, response); len(s.lines) != 1 {
					t.Errorf("the next one is not answered: %q", s.lines)
				}
			}
		})
	}
}
