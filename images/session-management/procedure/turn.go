package procedure

import (
	"maps"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
)

// Input is what Handle goes by, beside session and event.
type Input struct {
	Now    time.Time
	Config *configuration.Snapshot
	// Came is when the event did, which may have waited for a procedure.
	Came time.Time
	// Live is what is known of the units, by Node ID.
	Live map[string]configuration.Live
	// Fresh gives a CP SEID that no session ever had.
	Fresh func() uint64
	// Random fills the slice.
	Random func([]byte)
	// CommandTime is T3591 and T3592, 0 for the 16 s of TS 24.501 10.3.
	CommandTime time.Duration
}

// State of a session.
type State struct {
	// Record is what is kept; nil: there is no session.
	Record *record.Session
	// Asker waits for the answer to the request under way. It is not kept: who asked a pod that died asks again.
	Asker Token
	// Create is the request for a session of which nothing is kept yet.
	Create *Create
	// Policed is when the PCF answered last, Unix time in ns. It is not kept: who takes over asks it what holds.
	Policed int64
}

// Output of Handle.
type Output struct {
	State State
	// Busy: a procedure is under way, and only answers and Resumed are for it.
	Busy bool
	// Lazy: the record need not be written before the effects: who finds the one of before does what is right.
	Lazy bool
	// Due are times at which Due is to come, by name; zero takes one away.
	Due map[string]time.Time
	// Owed: where nothing is new but these times, and that an access network was asked, and the times that go were not there, all of it may be written with the
	// next change of the record. Who takes over before that goes on without the times, and takes it that the access network was asked.
	Owed bool
	// Again: who asked says so again, if whoever holds the session dies before it has answered. The effects, which the unit takes twice, may come before the
	// write, which is that of the unit's answer.
	Again bool
	// Soon: what comes next comes in a moment, as a rule. The write, and the effects behind it, may wait so long; who takes over meanwhile does the last step again.
	Soon bool
	// Ahead: the unit may be asked before the record is written, if it lists its sessions. Whoever finds neither has it delete what nobody knows.
	Ahead   bool
	Effects []Effect
	// Ended are procedures that have ended, the first first.
	Ended []Result
	// Refused says why an event was not for this session as it is; "" otherwise.
	Refused string
}

// Result of a procedure that has ended.
type Result struct {
	Kind Kind
	// Cause is "" where it did what it should.
	Cause string
	Took  time.Duration
	// Slice and DNN of the session; "" where the UE asked for one that is not configured.
	Slice, DNN string
	// Why, for the log, of the session of SUPI; "": what is counted says it.
	Why, SUPI string
}

// Kind of procedure. The numbers are in records.
type Kind uint8

// The kinds.
const (
	Establishment Kind = 1
	Connection    Kind = 2
	Ending        Kind = 3
	Paging        Kind = 4
	Modification  Kind = 5
	Switching     Kind = 6
	Handing       Kind = 7
	Restoration   Kind = 8
	Rerouting     Kind = 20
	Charging      Kind = 9
	Policing      Kind = 10
)

var kindNames = map[Kind]string{
	Establishment: "establishment", Connection: "connection", Ending: "release", Paging: "paging", Modification: "modification",
	Switching: "path_switch", Handing: "handover", Restoration: "restoration", Rerouting: "rerouting", Charging: "charging", Policing: "policy",
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
	// take the answer: go to another step, or end the procedure.
	take func(*turn, Event)
}

// turn is one call of Handle.
type turn struct {
	in     Input
	s      *record.Session // the session as it will be; nil: none
	was    *record.Session
	asker  Token
	create *Create
	out    Output
	// policed is when the PCF answered last.
	policed int64
	// lostBranch: it is the branch that does not know the session any more, rather than the anchor.
	lostBranch bool
	// uncommitted: the unit has refused what UE and access network have already.
	uncommitted bool
	// reported is the CP SEID of a report that came.
	reported uint64
	// saidAgain: what the AMF has said it says again where nobody answers it.
	saidAgain bool
}

// network is the data network that the session is in, with the flows that the session alone has; nil where its Slice, or the Slice's data
// network, is gone.
func (t *turn) network() *configuration.DataNetwork { return NetworkOf(t.s, t.in.Config) }

func (t *turn) do(e Effect) { t.out.Effects = append(t.out.Effects, e) }

// reply to who waits. Nobody is answered twice.
func (t *turn) reply(body any) {
	if r, ok := body.(Reported); ok && t.s != nil {
		r.UPSEID = t.reporter()
		body = r
	}
	if t.asker != 0 {
		t.do(Reply{To: t.asker, Body: body})
	}
	t.asker = 0
}

// reporter is the UP SEID of who reports: what is not known any more is the unit's on N3, which reports packets that wait.
func (t *turn) reporter() uint64 {
	b := t.s.Branch
	if t.reported == t.s.CPSEID || b == nil || b.UPSEID == 0 {
		return t.s.UPSEID
	}
	return b.UPSEID
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

// begin a procedure with its first step.
func (t *turn) begin(kind Kind, first uint8) {
	t.s.Procedure = &record.Procedure{Kind: uint8(kind), Began: t.in.Now.UnixMilli()}
	t.next(first)
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
	took := t.in.Now.UnixMilli() - p.Began
	past := record.Past{Kind: p.Kind, At: t.in.Now.UnixMilli(), Took: uint32(max(took, 0))}
	if cause != "" {
		past.Result = 1
	}
	t.s.History = append(t.s.History, past)
	if n := len(t.s.History); n > record.HistoryLength {
		t.s.History = t.s.History[n-record.HistoryLength:]
	}
	t.ended(Kind(p.Kind), cause, p.Began)
	t.s.Procedure = nil
}

func (t *turn) ended(kind Kind, cause string, began int64) {
	r := Result{Kind: kind, Cause: cause, Took: time.Duration(max(t.in.Now.UnixMilli()-began, 0)) * time.Millisecond}
	if t.s != nil {
		r.Slice, r.DNN = t.s.Slice, t.s.DNN
	} else if c := t.create; c != nil && t.in.Config != nil {
		if slice := t.in.Config.Slice(c.SST, c.SD); slice != nil {
			r.Slice = slice.Name
			if network, err := t.in.Config.DataNetwork(c.SST, c.SD, c.DNN); err == nil {
				r.DNN = network.DNN
			}
		}
	}
	t.out.Ended = append(t.out.Ended, r)
}

// gone: the session is no more, and its times with it.
func (t *turn) gone(cause string) {
	if t.s.Procedure != nil {
		t.ended(Kind(t.s.Procedure.Kind), cause, t.s.Procedure.Began)
	}
	t.s, t.create = nil, nil
}

// modifiesAlone: of a session with which nothing was under way, and of which its unit knows all, one modification is all that comes of an event.
func (t *turn) modifiesAlone() bool {
	if t.was == nil || t.was.Procedure != nil || t.was.Told != nil || t.s == nil || t.s.Procedure == nil || len(t.out.Effects) != 1 {
		return false
	}
	asked, is := t.out.Effects[0].(AskUnit)
	return is && asked.Operation == Modify
}

func (t *turn) output() Output {
	t.out.State = State{Record: t.s, Asker: t.asker, Create: t.create, Policed: t.policed}
	t.out.Busy = t.s != nil && t.s.Procedure != nil
	t.out.Again = t.saidAgain && t.asker != 0 && t.modifiesAlone()
	if t.s == nil {
		t.out.Due = nil // they go with the record
	}
	maps.DeleteFunc(t.out.Due, func(name string, at time.Time) bool { return at.IsZero() && t.was == nil })
	return t.out
}
