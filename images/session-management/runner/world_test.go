package runner

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	shardName = "smf-1"
	unitID    = "upf.test"
	supi      = "imsi-208930000000001"
)

// scripted is a World that notes what a runner does, in order, and does of it what a test says.
type scripted struct {
	t      *testing.T
	now    time.Time
	store  *memory.Store
	sealer *sessionstore.Sealer
	lease  sessionstore.Lease
	runner *Runner
	config *configuration.Snapshot

	noted []string
	// soon is what the loop has to do, and later what has to wait for a time.
	soon  []func()
	later []timer
	// asked waits for answers: of the kind of effect that the key names.
	asked map[string]func(procedure.Event)
	// may is false when the lease has ended; gone are tokens whose askers have given up.
	may    bool
	gone   map[procedure.Token]bool
	listed []Listed
	// faults of commits to come, the first first.
	faults []memory.Fault
}

type timer struct {
	at time.Time
	f  func()
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	w := &scripted{t: t, now: time.Unix(1_800_000_000, 0), may: true, asked: map[string]func(procedure.Event){}, gone: map[procedure.Token]bool{}}
	w.store = memory.New(func() time.Time { return w.now })
	w.store.Fault = func(op string) memory.Fault {
		if op != "Commit" || len(w.faults) == 0 {
			return memory.None
		}
		f := w.faults[0]
		w.faults = w.faults[1:]
		return f
	}
	var err error
	if w.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		t.Fatal(err)
	}
	w.configure(1e8)
	w.begin("a")
	return w
}

// configure a Slice whose sessions have that AMBR, bit/s.
func (w *scripted) configure(ambr uint64) {
	w.t.Helper()
	var err error
	w.config, err = configuration.New([]configuration.Slice{{Name: "internet", SST: 1, DataNetworks: []configuration.DataNetwork{{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: ambr, Downlink: ambr}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}, MTU: 1400,
		Units: []configuration.Serving{{NodeID: unitID, Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/16")}}},
	}}}}, []configuration.Unit{{NodeID: unitID, Address: netip.MustParseAddrPort("10.96.7.8:8805")}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// begin the life of a holder.
func (w *scripted) begin(holder string) {
	w.t.Helper()
	lease, err := w.store.Acquire(context.Background(), shardName, holder, time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(lease)
	w.settle()
}

// start it, and do nothing else yet.
func (w *scripted) start(lease sessionstore.Lease) {
	w.lease, w.soon, w.later = lease, nil, nil
	w.runner = New(Config{World: w, Log: slog.New(slog.DiscardHandler), Shard: 1, Lease: lease, Sealer: w.sealer, Writer: lease.Epoch})
	w.runner.Start()
}

func (w *scripted) note(format string, arguments ...any) {
	w.noted = append(w.noted, fmt.Sprintf(format, arguments...))
}

// takeNoted is what happened since, without what the runner reads.
func (w *scripted) takeNoted() string {
	out := strings.Join(w.noted, "\n")
	w.noted = nil
	return out
}

// settle does what there is to do now.
func (w *scripted) settle() {
	for len(w.soon) > 0 {
		f := w.soon[0]
		w.soon = w.soon[1:]
		f()
	}
}

// pass lets time go, and what waits for it happen in its order.
func (w *scripted) pass(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := -1
		for n, x := range w.later {
			if !x.at.After(end) && (next < 0 || x.at.Before(w.later[next].at)) {
				next = n
			}
		}
		if next < 0 {
			w.now = end
			return
		}
		x := w.later[next]
		w.later = append(w.later[:next:next], w.later[next+1:]...)
		w.now = x.at
		x.f()
		w.settle()
	}
}

func (w *scripted) deliver(e procedure.Event) {
	w.runner.Deliver(record.Key(supi, 1), e)
	w.settle()
}

// answer what was asked.
func (w *scripted) answer(kind string, e procedure.Event) {
	w.t.Helper()
	done := w.asked[kind]
	if done == nil {
		w.t.Fatalf("nobody has asked: %s; but %v", kind, w.noted)
	}
	delete(w.asked, kind)
	done(e)
	w.settle()
}

func (w *scripted) Now() time.Time { return w.now }
func (w *scripted) After(d time.Duration, f func()) {
	w.later = append(w.later, timer{w.now.Add(d), f})
}
func (w *scripted) May() bool                              { return w.may }
func (w *scripted) Random(b []byte)                        { _, _ = rand.Read(b) }
func (w *scripted) Configuration() *configuration.Snapshot { return w.config }
func (w *scripted) Live() map[string]configuration.Live    { return nil }
func (w *scripted) Waiting(t procedure.Token) bool         { return !w.gone[t] }
func (w *scripted) Restored(node string, _ uint32)         { w.note("restored %s", node) }
func (w *scripted) Left(node string)                       { w.note("left %s", node) }
func (w *scripted) Handled(Handled)                        {}
func (w *scripted) Ended(r procedure.Result)               { w.note("ended %s %s", r.Kind, r.Cause) }
func (w *scripted) Stopped(why error)                      { w.note("stopped: %v", why) }
func (w *scripted) EndElsewhere(shard uint16, _ string, done func(error)) {
	w.note("shard %d is to end it", shard)
	w.soon = append(w.soon, func() { done(nil) })
}

func (w *scripted) List(_ string, done func([]Listed, error)) {
	w.soon = append(w.soon, func() { done(w.listed, nil) })
}

func (w *scripted) Store(f func(context.Context, sessionstore.Store) func()) {
	w.soon = append(w.soon, func() { w.soon = append(w.soon, f(context.Background(), noting{w.store, w})) })
}

// noting notes commits of sessions, and what came of them.
type noting struct {
	*memory.Store
	w *scripted
}

func (s noting) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	err := s.Store.Commit(ctx, l, c)
	if !record.IsKey(c.Key) {
		return err
	}
	what := "nothing"
	if c.Value != nil {
		octets, openErr := s.w.sealer.Open(c.Key, c.Value)
		rec, decodeErr := record.Decode(octets)
		if openErr != nil || decodeErr != nil {
			s.w.t.Fatal(openErr, decodeErr)
		}
		what = fmt.Sprintf("phase %d", rec.Phase)
		if rec.Procedure != nil {
			what += fmt.Sprintf(", %s step %d", procedure.Kind(rec.Procedure.Kind), rec.Procedure.Step)
		}
	}
	if err != nil {
		what += ": " + err.Error()
	}
	s.w.note("commit %s", what)
	return err
}

var operations = map[procedure.UnitOperation]string{procedure.Establish: "establish", procedure.Modify: "modify", procedure.Delete: "delete"}

func (w *scripted) Do(e procedure.Effect, done func(procedure.Event)) {
	kind := ""
	switch e := e.(type) {
	case procedure.Reply:
		if f, ok := e.Body.(procedure.Failed); ok {
			w.note("reply to %d: %d %s", e.To, f.Status, f.Cause)
			return
		}
		w.note("reply to %d: %s", e.To, strings.TrimPrefix(fmt.Sprintf("%T", e.Body), "procedure."))
		return
	case procedure.TellRegistration, procedure.TellSubscription:
		return
	case procedure.AskUnit:
		kind = operations[e.Operation]
		if e.Operation == procedure.Delete {
			kind = fmt.Sprintf("delete %x", e.UPSEID)
		}
	case procedure.AskSubscription:
		kind = "subscription"
	case procedure.AskTransfer:
		kind = "transfer"
	case procedure.AskStatus:
		kind = "status"
	}
	w.note("ask %s", kind)
	w.asked[kind] = done
}

const upSEID = 9

func create(from procedure.Token) procedure.Create {
	return procedure.Create{
		From: from, SUPI: supi, ID: 1, DNN: "internet", SST: 1, PLMN: "20893", N1: []byte{0x2e, 1, 5, byte(n1.EstablishmentRequestType), 0xff, 0xff, 0x91},
		AMF: record.AMF{InstanceID: "amf", StatusURI: "http://amf/status", TAC: 1},
	}
}

func made() procedure.Event {
	return procedure.Unit{Outcome: procedure.Done, Established: &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(upSEID, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x10, []byte{172, 30, 3, 16}, nil, 0), ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0))},
	}}
}

// establish a session; the access network has no tunnel for it yet.
func (w *scripted) establish() {
	w.t.Helper()
	w.deliver(create(1))
	w.answer("subscription", procedure.Subscription{})
	w.answer("establish", made())
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	w.pass(soonFor)
	w.takeNoted()
}

// connect it.
func (w *scripted) connect() {
	w.t.Helper()
	w.deliverSetup(1)
	w.answer("modify", procedure.Unit{Outcome: procedure.Done})
	w.takeNoted()
}

// deliverSetup: the access network has a tunnel.
func (w *scripted) deliverSetup(from procedure.Token) {
	w.t.Helper()
	b, err := (&n2.SetupResponse{Downlink: n2.FlowTunnel{
		Tunnel: record.Tunnel{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")}, Flows: []n2.AssociatedFlow{{QFI: 1}},
	}}).Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.deliver(procedure.Update{From: from, N2: b, N2Type: n2.InfoSetupResponse})
}

// seid of the session that there is.
func (w *scripted) seid() uint64 {
	w.t.Helper()
	return w.runner.sessions[record.Key(supi, 1)].state.Record.CPSEID
}

const unavailable = http.StatusServiceUnavailable
