package procedure

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// Input is what Handle goes by, beside UE and event.
type Input struct {
	Now      time.Time
	Settings *Settings
	// Shard is the number of the shard whose UE it is.
	Shard uint16
	// GNB of an attachment's association; nil: it is not known (any more).
	GNB func(record.Attachment) *record.GNB
	// Find the gNB of that name (record.GNBName); nil: it is not there.
	Find func(name string) *record.GNB
	// Beside is another association of the NG interface that a connection is on, or was; nil: there is none.
	Beside func(record.Attachment) *record.GNB
	// Attachment gives an AMF UE NGAP ID, and Temporary a 5G-TMSI, that no UE ever had.
	Attachment func() uint64
	Temporary  func() uint32
	// Keys does what has to do with keys.
	Keys Keys
}

// State of a UE.
type State struct {
	// Record is what is kept; nil: there is no UE. One without a SUPI is kept in memory alone.
	Record *record.UE
	// Capability is the UE's radio capability, in memory alone: a gNB that is not told asks the UE.
	Capability []byte
	live       live
}

// live is what is known of a UE in this life of its holder. What stands in others' hands ends with them, or is asked again.
type live struct {
	// begun: the counts below are right; otherwise they begin with what the record has reserved.
	begun bool
	// next and nextComing are the downlink COUNTs to use next, of the record's two contexts.
	next, nextComing uint32
	// asked is the last Number, awaited the one that the procedure waits for, 0 none.
	asked, awaited Number
	// sessions are what SMFs are asked, by PDU session: the first was asked, the others wait for its answer.
	sessions map[uint8][]AskSession
	// unheard is what an access network has said and an SMF has not heard, by PDU session, the oldest first. In memory alone: an SMF that never hears of a tunnel has
	// it released, and sets up another.
	unheard map[uint8][]AskSession
	// gathered are what SMFs gave for the access network in the procedure.
	gathered []gathered
	// challenge is an authentication under way.
	challenge *challenge
	// challenged by a holder before, perhaps, whose challenge is not known: the UE's first answer may be to that.
	challenged bool
	// suci that the UE has said, as the AUSF takes it.
	suci string
	// subscription as long as a registration needs it.
	subscription *Subscription
	// radio is the UE's radio capability for paging.
	radio *n2.PagingCapability
	// nas of a registration as it came, and what another AMF has said of its UE.
	nas   []byte
	other *other
	// container of a handover's source for its target.
	container []byte
	transfers map[uint8][]byte
	// reaching are who wait for the UE to come, locating for its access network to say where it is.
	reaching, locating []Token
}

type gathered struct {
	id       uint8
	n1, n2   []byte
	transfer string
}

func (l live) clone() live {
	l.sessions, l.transfers, l.unheard = maps.Clone(l.sessions), maps.Clone(l.transfers), maps.Clone(l.unheard)
	l.gathered = slices.Clone(l.gathered)
	l.reaching, l.locating = slices.Clone(l.reaching), slices.Clone(l.locating)
	if l.challenge != nil {
		c := *l.challenge
		l.challenge = &c
	}
	return l
}

// Output of Handle.
type Output struct {
	State State
	// Lazy: nothing is written, since there is no SUPI yet, or nothing has changed but what is in memory alone.
	Lazy bool
	// Stranger: the message names this UE and is not protected as its would be, so that it is handled as a UE's of which nothing is known.
	Stranger bool
	// Later: the event waits until something else has happened to the UE.
	Later bool
	// Due are times at which Due is to come, by name; zero takes one away. Those of a UE that is not written are in memory.
	Due     map[string]time.Time
	Effects []Effect
	// NAS messages that were read, and that are sent, in their order.
	NAS []Said
	// Ended are procedures that have ended, the first first.
	Ended []Result
	// Refused says why an event was not for this UE as it is; "" otherwise.
	Refused string
}

// Result of a procedure that has ended.
type Result struct {
	Kind Kind
	// Type of a registration; 0: it is none. Who the UE is that registers, as far as was known: a SUPI, else a SUCI, else "".
	Type n1.RegistrationType
	Who  string
	// Cause is "" where it did what it should.
	Cause string
	Took  time.Duration
}

// Kind of procedure. The numbers are in records.
type Kind uint8

// The kinds.
const (
	Registration   Kind = 1
	Service        Kind = 2
	Deregistration Kind = 3
	Release        Kind = 4
	Configuration  Kind = 5
	Paging         Kind = 6
	Switching      Kind = 7
	Handing        Kind = 8
	Transport      Kind = 9
)

var kindNames = map[Kind]string{
	Registration: "registration", Service: "service_request", Deregistration: "deregistration", Release: "release", Configuration: "configuration",
	Paging: "paging", Switching: "path_switch", Handing: "handover", Transport: "transport",
}

// String is the kind as metrics and people have it.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return "unknown"
}

// step of a procedure.
type step struct {
	// ask says what is asked of whom. It is asked again where the answer was lost.
	ask func(*turn)
	// take the answer of another function: go to another step, or end the procedure. nil: the step waits for the UE, or for its access network.
	take func(*turn, Event)
}

// turn is one call of Handle.
type turn struct {
	in         Input
	s          *record.UE // the UE as it will be; nil: none
	was        *record.UE
	capability []byte
	live       live
	out        Output
	// moved: the UE is another shard's, and goes on there.
	moved bool
	// pausing: an SMF is asked again, now or in a while, and nothing else has happened.
	pausing bool
}

func (t *turn) do(e Effect) { t.out.Effects = append(t.out.Effects, e) }

// send to where the UE is connected.
func (t *turn) send(m n2.Message) {
	if t.s.N2 != nil && !t.s.N2.Lost {
		t.do(Send{To: *t.s.N2, Message: m})
	}
}

func (t *turn) reply(to Token, body any) {
	if to != 0 {
		t.do(Reply{To: to, Body: body})
	}
}

// number for something that is asked.
func (t *turn) number() Number {
	t.live.asked++
	return t.live.asked
}

// await the answer to what the procedure asks now.
func (t *turn) await() Number {
	t.live.awaited = t.number()
	return t.live.awaited
}

// due sets a time, from now on; 0 takes it away.
func (t *turn) due(name string, in time.Duration) {
	if t.out.Due == nil {
		t.out.Due = map[string]time.Time{}
	}
	t.out.Due[name] = time.Time{}
	if in > 0 {
		t.out.Due[name] = t.in.Now.Add(in)
	}
}

// begin a procedure, without a step. What is under way is over.
func (t *turn) begin(kind Kind) *record.Procedure {
	if t.s.Procedure != nil {
		t.drop("another procedure has begun")
	}
	t.live.awaited, t.live.gathered = 0, nil
	t.s.Procedure = &record.Procedure{Kind: uint8(kind), Began: t.in.Now.UnixMilli()}
	return t.s.Procedure
}

// doing says which procedure is under way, 0 none.
func (t *turn) doing() Kind {
	if t.s == nil || t.s.Procedure == nil {
		return 0
	}
	return Kind(t.s.Procedure.Kind)
}

// at says whether the procedure is at that step.
func (t *turn) at(kind Kind, number uint8) bool {
	return t.doing() == kind && t.s.Procedure.Step == number
}

// next step of the procedure.
func (t *turn) next(number uint8) {
	t.s.Procedure.Step, t.s.Procedure.Attempts = number, 0
	t.ask()
}

func (t *turn) ask() {
	if s, ok := steps[Kind(t.s.Procedure.Kind)][t.s.Procedure.Step]; ok {
		s.ask(t)
		return
	}
	t.over("a record of a program that knows more steps") // of version N, read by N-1
}

// over ends the procedure; cause is "" where it did what it should.
func (t *turn) over(cause string) {
	p := t.s.Procedure
	if Kind(p.Kind) == Registration {
		t.tellOther(cause == "")
		t.live.nas = nil
	}
	t.ended(Kind(p.Kind), cause, p.Began)
	if Kind(p.Kind) == Registration {
		r := &t.out.Ended[len(t.out.Ended)-1]
		r.Type, r.Who = registrationType(p.Message), cmp.Or(t.s.SUPI, t.live.suci)
	}
	t.s.Procedure = nil
	t.live.awaited, t.live.gathered, t.live.challenge, t.live.subscription = 0, nil, nil, nil
	t.silence()
	t.endOn()
}

// drop what is under way, for something else. A change of the subscription that nobody has said yet is asked for again (catchUp, secured).
func (t *turn) drop(why string) {
	if t.doing() == Configuration && t.s.Procedure.Flags&confRenew == 0 {
		t.s.Behind = true
	}
	t.over(why)
}

// ended notes how a procedure has ended, one that was in the record or one that took a moment.
func (t *turn) ended(kind Kind, cause string, began int64) {
	now := t.in.Now.UnixMilli()
	past := record.Past{Kind: uint8(kind), At: now, Took: uint32(max(now-began, 0))}
	if cause != "" {
		past.Result = 1
	}
	t.s.History = append(t.s.History, past)
	if n := len(t.s.History); n > record.HistoryLength {
		t.s.History = t.s.History[n-record.HistoryLength:]
	}
	t.out.Ended = append(t.out.Ended, Result{Kind: kind, Cause: cause, Took: time.Duration(past.Took) * time.Millisecond})
}

func (t *turn) output() Output {
	t.observe()
	t.settle()
	t.landed()
	t.out.State = State{Record: t.s, Capability: t.capability, live: t.live}
	if t.s == nil {
		t.out.State, t.out.Due = State{}, nil
	}
	t.out.Lazy = t.s != nil && (t.s.SUPI == "" || t.pausing && len(t.out.Due) == 0 && reflect.DeepEqual(t.was, t.s))
	maps.DeleteFunc(t.out.Due, func(name string, at time.Time) bool { return at.IsZero() && t.was == nil })
	return t.out
}
