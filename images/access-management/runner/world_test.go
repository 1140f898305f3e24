package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/terminator"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/ngapcause"
)

const (
	supi       = "imsi-208930000000001"
	termName   = "n2-0"
	gnbAt      = 1 // the association
	leaseTime  = time.Hour
	amfSet     = 1
	mostShards = 2
)

// network is a store, a terminator with one gNB, a UE, and the holders of shards. All of it is one loop with a clock of its own.
type network struct {
	t        *testing.T
	now      time.Time
	store    *memory.Store
	sealer   *sessionstore.Sealer
	settings *procedure.Settings
	keys     *plainKeys
	random   *rand.ChaCha8
	term     *terminator.Terminator
	soon     []func()
	// brief is what happens in a moment.
	brief []func()
	later []timer
	// takes is how long an SMF takes to answer.
	takes   time.Duration
	holders map[uint64]*holder // by the number of their connection to the terminator
	last    uint64
	nodes   map[uint64]*record.GNB
	gone    map[uint64]bool
	phone   *phone
	noted   []string
	handled []Handled
	carried []string
	// manual: what SBI is asked waits for a test's answer, in asked.
	manual bool
	asked  []func(procedure.Event)
	asks   []procedure.Effect
	faults []memory.Fault
	// sealed is a record that nobody can read, and that may be written as it is.
	sealed []byte
	// listed are groups whose members were asked for.
	listed []string
	// reads of the UE's record.
	reads int
	// gaveUp: those of tokens up to that one wait no more.
	gaveUp procedure.Token
	// cut: what is posted is lost. deaf: so is what the terminator says.
	cut, deaf bool
	// before: the terminator is of a release that keeps nothing.
	before bool
	// strangers of each shard, at most; 0: as configured where nothing is said.
	strangers int
	// step is called before anything leaves a holder, and before it writes.
	step func(*holder)
	// doubtful: it is not known whether other associations of gNBs are gone; unsure are those who have asked.
	doubtful bool
	unsure   []func()
	// shut are associations that the AMF has ended.
	shut []uint64
	// remembered are the reductions that records of gNBs said, one after the other.
	remembered []uint8
}

type timer struct {
	at time.Time
	f  func()
}

// holder of a shard, one life of it.
type holder struct {
	*network
	runner *Runner
	lease  sessionstore.Lease
	shard  uint16
	id     uint64
	dead   bool
	may    bool
	lost   time.Time
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{
		t: t, now: time.Unix(1_800_000_000, 0), keys: &plainKeys{t: t, used: map[string]bool{}}, random: rand.NewChaCha8([32]byte{1}),
		holders: map[uint64]*holder{}, nodes: map[uint64]*record.GNB{}, gone: map[uint64]bool{}, step: func(*holder) {},
		settings: &procedure.Settings{
			Name: "AMF", Region: 1, Set: amfSet, Pointer: 1, Capacity: 255, PLMNs: []procedure.PLMN{{PLMN: "20893", Slices: []record.Slice{{SST: 1}}}},
			Integrity: []uint8{2}, Ciphering: []uint8{2}, Periodic: 54 * time.Minute,
		},
	}
	n.store = memory.New(func() time.Time { return n.now })
	n.store.Fault = func(op string) memory.Fault {
		if op != "Commit" || len(n.faults) == 0 {
			return memory.None
		}
		f := n.faults[0]
		n.faults = n.faults[1:]
		return f
	}
	var err error
	if n.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		t.Fatal(err)
	}
	n.term = terminator.New(terminator.Config{World: n2World{n}, Name: termName, Shards: mostShards, Set: amfSet})
	n.term.Opened(gnbAt, 5, "gnb", "amf")
	n.nodes[gnbAt] = &record.GNB{
		PLMN: "20893", ID: 1, Bits: 24, Name: "roof", Terminator: termName, Association: gnbAt, DRX: 128,
		Areas: []record.Tracking{{TAC: 1, Broadcast: []record.Broadcast{{PLMN: "20893", Slices: []record.Slice{{SST: 1}}}}}},
	}
	n.nodes[gnbAt].Lead = 1
	_, n.nodes[gnbAt].Told = procedure.Announce(n.settings, n.nodes[gnbAt])
	n.phone = &phone{network: n, at: gnbAt}
	return n
}

func shardName(shard uint16) string { return fmt.Sprintf("amf-%d", shard) }

// hold a shard from now on, whoever had it.
func (n *network) hold(shard uint16) *holder {
	n.t.Helper()
	n.last++
	lease, err := n.store.Acquire(context.Background(), shardName(shard), fmt.Sprintf("holder-%d", n.last), leaseTime)
	if err != nil {
		n.t.Fatal(err)
	}
	h := &holder{network: n, lease: lease, shard: shard, id: n.last, may: true}
	n.holders[h.id] = h
	h.runner = New(Config{
		World: h, Log: slog.New(slog.DiscardHandler), Shard: shard, ShardName: shardName, Lease: lease, Sealer: n.sealer, Keys: n.keys, Writer: lease.Epoch<<8 | uint64(shard),
		Strangers: n.strangers,
	})
	h.runner.Start()
	n.term.WorkerCame(h.id)
	n.term.Took(h.id, &link.Hello{Version: link.Version, Worker: fmt.Sprint(h.id), Shards: mostShards, Resumes: true})
	n.term.Took(h.id, &link.Holds{Shard: shard, Epoch: lease.Epoch})
	n.settle()
	return h
}

// die without a word; the lease has ended when anybody looks.
func (h *holder) die() {
	h.dead = true
	delete(h.holders, h.id)
	h.term.WorkerGone(h.id)
	h.now = h.now.Add(3 * time.Second)
	_ = h.store.Release(context.Background(), h.lease)
}

// leave gives the lease back, alive.
func (h *holder) leave() {
	h.runner.Stop()
	h.dead = true
	delete(h.holders, h.id)
	h.term.WorkerGone(h.id)
	_ = h.store.Release(context.Background(), h.lease)
}

func (n *network) note(format string, a ...any) { n.noted = append(n.noted, fmt.Sprintf(format, a...)) }

func (n *network) takeNoted() []string {
	out := n.noted
	n.noted = nil
	return out
}

func (n *network) settle() {
	for len(n.soon)+len(n.brief) > 0 {
		list := &n.soon
		if len(n.soon) == 0 { // moments take no time here, and are the last to come
			list = &n.brief
		}
		f := (*list)[0]
		*list = (*list)[1:]
		f()
	}
}

// pass lets time go, and what waits for it happen in its order.
func (n *network) pass(d time.Duration) {
	n.settle()
	end := n.now.Add(d)
	for {
		next := -1
		for k, x := range n.later {
			if !x.at.After(end) && (next < 0 || x.at.Before(n.later[next].at)) {
				next = k
			}
		}
		if next < 0 {
			n.now = end
			return
		}
		x := n.later[next]
		n.later = append(n.later[:next:next], n.later[next+1:]...)
		if x.at.After(n.now) {
			n.now = x.at
		}
		x.f()
		n.settle()
	}
}

// do on the holder's loop, while it lives.
func (h *holder) do(f func()) {
	h.soon = append(h.soon, func() {
		if !h.dead {
			f()
		}
	})
}

func (h *holder) Now() time.Time { return h.now }
func (h *holder) After(d time.Duration, f func()) {
	if d <= togetherFor {
		h.brief = append(h.brief, func() {
			if !h.dead {
				f()
			}
		})
		return
	}
	h.later = append(h.later, timer{h.now.Add(d), func() {
		if !h.dead {
			f()
		}
	}})
}
func (h *holder) May() bool                      { return h.may }
func (h *holder) Random(b []byte)                { _, _ = h.random.Read(b) }
func (h *holder) Settings() *procedure.Settings  { return h.settings }
func (h *holder) Waiting(t procedure.Token) bool { return t > h.gaveUp }
func (h *holder) Stopped(why error)              { h.note("stopped: %v", why) }
func (h *holder) Handled(x Handled)              { h.handled = append(h.handled, x) }
func (h *holder) Carried(m n2.Message, toAccess bool) {
	h.carried = append(h.carried, fmt.Sprintf("%s %t", m.Kind(), toAccess))
}
func (h *holder) Ended(r procedure.Result) {
	h.note("ended %s", strings.TrimSpace(r.Kind.String()+" "+r.Cause))
}

func (h *holder) Store(f func(context.Context, sessionstore.Store) func()) {
	h.do(func() {
		then := f(context.Background(), noting{h.store, h})
		h.do(then)
	})
}

// noting notes commits of UEs, and what came of them.
type noting struct {
	*memory.Store
	h *holder
}

func (s noting) Read(ctx context.Context, key string) (sessionstore.Record, error) {
	if key == record.Key(supi) {
		s.h.reads++
	}
	return s.Store.Read(ctx, key)
}

func (s noting) Members(ctx context.Context, group, cursor string, most int) ([]string, string, error) {
	s.h.listed = append(s.h.listed, group)
	return s.Store.Members(ctx, group, cursor, most)
}

func (s noting) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	s.h.step(s.h)
	if s.h.dead {
		return sessionstore.ErrUnknown
	}
	err := s.Store.Commit(ctx, l, c)
	if !record.IsKey(c.Key) {
		return err
	}
	what := "nothing"
	if c.Value != nil {
		octets, openErr := s.h.sealer.Open(c.Key, c.Value)
		rec, decodeErr := record.Decode(octets)
		if openErr != nil || decodeErr != nil {
			if !bytes.Equal(c.Value, s.h.sealed) {
				s.h.t.Fatal(openErr, decodeErr)
			}
			return err
		}
		what = fmt.Sprintf("shard %d phase %d", rec.Shard, rec.Phase)
		if rec.Procedure != nil {
			what += fmt.Sprintf(" %s step %d", procedure.Kind(rec.Procedure.Kind), rec.Procedure.Step)
		}
	}
	if err != nil {
		what += ": " + err.Error()
	}
	s.h.note("commit %s", what)
	return err
}

func (h *holder) Post(_ string, f link.Frame) {
	h.step(h)
	if h.dead || h.cut {
		return
	}
	switch f := f.(type) {
	case *link.Send:
		m, fault := n2.Read(f.Message)
		if fault != nil {
			h.t.Errorf("what is sent cannot be read: %v", fault)
			return
		}
		h.note("send %s", words(m))
	case *link.Done:
		h.note("done %d", f.Number)
	case *link.Keep:
		h.note("keep %d", f.Number)
	default:
		h.note("%T", f)
	}
	h.soon = append(h.soon, func() { h.term.Took(h.id, f) })
}

func words(m n2.Message) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*n2.")
	if d, ok := m.(*n2.DownlinkNASTransport); ok {
		return name + " " + nasName(d.NAS)
	}
	return name
}

func nasName(b []byte) string {
	if e, err := n1.ReadEnvelope(b); err == nil {
		b = e.Payload
	}
	m, err := n1.Decode(b, n1.Downlink)
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*n1.")
}

func (h *holder) Association(_ string, a uint64) Standing {
	if h.gone[a] {
		return Gone
	}
	return There
}

// newest association of the gNB.
func (n *network) newest() (g *record.GNB) {
	for _, x := range n.nodes {
		if g == nil || x.Association > g.Association {
			g = x
		}
	}
	return g
}

func (h *holder) GNB(_ string, a uint64) *record.GNB { return h.nodes[a] }
func (h *holder) Find(string) *record.GNB            { return h.newest() }
func (h *holder) Beside(at record.Attachment) (g *record.GNB) {
	for _, x := range h.nodes {
		if x.Serves(&at) && x.Association != at.Association && (g == nil || x.Association > g.Association) {
			g = x
		}
	}
	return g
}
func (h *holder) Sure(_ string, _ record.Attachment, then func()) {
	if h.doubtful {
		h.unsure = append(h.unsure, func() { h.do(then) })
		return
	}
	then()
}
func (h *holder) Taken(then func())             { h.do(then) }
func (h *holder) Lost(string) (time.Time, bool) { return h.lost, !h.lost.IsZero() }
func (h *holder) GNBs() (out []*record.GNB) {
	for _, a := range slices.Sorted(maps.Keys(h.nodes)) {
		out = append(out, h.nodes[a])
	}
	return out
}
func (h *holder) Near(record.Area) []*record.GNB { return []*record.GNB{h.newest()} }

func (n *network) holderOf(shard uint16) *holder {
	for _, h := range n.holders {
		if h.shard == shard {
			return h
		}
	}
	return nil
}

func (h *holder) GiveUp(shard uint16, key string, done func([]byte, error)) {
	h.note("shard %d is to give it up", shard)
	other := h.holderOf(shard)
	if other == nil {
		h.do(func() { done(nil, errors.New("nobody has it")) })
		return
	}
	other.do(func() { other.runner.GiveUp(key, func(c []byte, err error) { h.do(func() { done(c, err) }) }) })
}

func (h *holder) Pass(shard uint16, _ string, e procedure.Event) { h.note("pass %T to %d", e, shard) }

func (h *holder) Do(e procedure.Effect, done func(procedure.Event)) {
	h.step(h)
	if h.dead {
		return
	}
	switch e := e.(type) {
	case procedure.Reply:
		h.note("reply to %d: %s", e.To, strings.TrimPrefix(fmt.Sprintf("%T", e.Body), "procedure."))
		return
	default:
		h.note("%s", strings.TrimPrefix(fmt.Sprintf("%T", e), "procedure."))
	}
	if !procedure.Asks(e) {
		return
	}
	answer := func(e procedure.Event) { h.do(func() { done(e) }) }
	if _, is := e.(procedure.AskSession); is && h.takes > 0 {
		said := answer
		answer = func(e procedure.Event) { h.After(h.takes, func() { said(e) }) }
	}
	if h.manual {
		h.asked, h.asks = append(h.asked, answer), append(h.asks, e)
		return
	}
	answer(h.answer(e))
}

// answer of other functions.
func (n *network) answer(e procedure.Effect) procedure.Event {
	switch e := e.(type) {
	case procedure.AskChallenge:
		return procedure.Challenge{Number: e.Number, Outcome: procedure.Done, Context: "c", RAND: octets(1), AUTN: octets(2), HXRES: n.keys.HXRES(octets(1), octets(3))}
	case procedure.AskConfirm:
		n.phone.authentications++
		return procedure.Confirmed{
			Number: e.Number, Outcome: procedure.Done, Success: true, SUPI: supi, KSEAF: bytes.Repeat([]byte{n.phone.authentications}, 32),
		}
	case procedure.AskRecording:
		sub := n.answer(*e.Subscription).(procedure.Subscription)
		return procedure.Recorded{Number: e.Number, Outcome: procedure.Done, Subscription: &sub}
	case procedure.AskSubscription:
		return procedure.Subscription{
			Number: e.Number, Outcome: procedure.Done, Uplink: 1e9, Downlink: 1e9, Notified: "http://udm/1",
			Slices: []procedure.SubscribedSlice{{Slice: record.Slice{SST: 1}, Default: true, DNN: "internet", DNNs: []string{"internet"}}},
		}
	case procedure.AskPolicy:
		return procedure.Policy{Number: e.Number, Outcome: procedure.Done, URI: "http://pcf/1"}
	case procedure.AskSession:
		if e.Connection == "ACTIVATING" {
			return procedure.SessionAnswer{Number: e.Number, Outcome: procedure.Done, Connection: e.Connection, N2: octets(7), N2Type: "PDU_RES_SETUP_REQ"}
		}
		return procedure.SessionAnswer{Number: e.Number, Outcome: procedure.Done, Context: "http://smf/1", SMF: "smf", Set: "smfs"}
	case procedure.AskOther:
		return procedure.Other{Number: e.Number, Outcome: procedure.Refused}
	}
	n.t.Fatalf("nobody answers %T", e)
	return nil
}

func octets(b byte) []byte { return bytes.Repeat([]byte{b}, 16) }

// n2World is what the terminator needs.
type n2World struct{ *network }

func (w n2World) Transmit(_ uint64, _ uint16, b []byte) error {
	if w.phone.full {
		return errors.New("it takes nothing for the moment")
	}
	w.soon = append(w.soon, func() { w.phone.take(b) })
	return nil
}
func (w n2World) Shut(a uint64)    { w.shut = append(w.shut, a) }
func (n2World) Pause(uint64, bool) {}
func (w n2World) Tell(worker uint64, f link.Frame) {
	if f, is := f.(*link.Node); is {
		g, err := record.DecodeGNB(f.Node)
		if err != nil {
			w.t.Error(err)
		}
		g.Peer, g.Here = fmt.Sprintf("192.0.2.%d:40000", f.Association), fmt.Sprintf("198.51.100.%d:38412", f.Association)
		w.nodes[f.Association] = g
		w.remembered = append(w.remembered, g.Reduction)
		return
	}
	if d, is := f.(*link.Deliver); is && w.before {
		d.Keeps = false
	}
	if h := w.holders[worker]; h != nil && !w.deaf {
		h.do(func() { h.runner.Took(termName, f) })
	}
}
func (w n2World) Drop(_ uint64, why string) { w.t.Errorf("a worker is dropped: %s", why) }
func (w n2World) Now() time.Time            { return w.now }

// ---- a UE and its gNB ---------------------------------------------------------------------------------------

type phone struct {
	*network
	at uint64 // the association
	// silent: it does not answer.
	silent bool
	// announced are AMF Configuration Updates, in their order, which the gNB refuses.
	announced []*n2.AMFConfigurationUpdate
	// offers are those of N2 terminators, which the gNB answers as answers says; nil: it knows nothing of them.
	offers          []*n2.AMFConfigurationUpdate
	answers         func(*n2.AMFConfigurationUpdate) n2.Message
	reductions      []uint8 // that it was asked for; 0: the overload is over
	refuses         bool
	keeps           bool // it lets go of no connection
	full            bool // it takes nothing for the moment
	ran             uint32
	amf             n2.AMFUEID
	key             []byte
	uplink          uint32
	heard           map[uint32]bool // downlink COUNTs of the key
	authentications byte
	confirmed       byte // authentications when the UE last answered a Security Mode Command
	registered      bool
	// hasty: it asks for a PDU session in the same breath in which it says that it is registered.
	hasty bool
	tmsi  uint32
	log   []string
}

func (p *phone) location() n2.UserLocation {
	plmn, _ := n2.MakePLMN("208", "93")
	return n2.UserLocation{Kind: n2.LocationNR, TAI: n2.TAI{PLMN: plmn, TAC: 1}, Cell: n2.Cell{Radio: n2.NR, PLMN: plmn, ID: 16}}
}

func (p *phone) says(m n2.Message) {
	b, err := n2.Write(m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.soon = append(p.soon, func() { p.term.Received(p.at, b) })
}

func (p *phone) nas(m n1.Message) []byte {
	b, err := n1.Encode(m)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *phone) protected(m n1.Message, header n1.SecurityHeader) []byte {
	b := p.nas(m)
	out := n1.Envelope{Header: header, MAC: mac(p.key, 0, p.uplink, b), Sequence: uint8(p.uplink), Payload: b}.Append(nil)
	p.uplink++
	return out
}

func (p *phone) uplinkNAS(nas []byte) {
	p.says(&n2.UplinkNASTransport{UE: n2.UEIDs{AMF: p.amf, RAN: n2.RANUEID(p.ran)}, NAS: nas, Location: p.location()})
}

// register with a SUCI, on a new connection.
func (p *phone) register() {
	plmn, _ := n2.MakePLMN("208", "93")
	p.ran++
	p.registered = false
	p.says(&n2.InitialUEMessage{
		RAN: n2.RANUEID(p.ran), Location: p.location(), Establishment: n2.EstablishmentCause(3), ContextRequest: true,
		NAS: p.nas(&n1.RegistrationRequest{
			RegistrationType: n1.InitialRegistration, FollowOn: true, KeySet: n1.NoKey,
			Identity: n1.SUCI{Home: n1.PLMN(plmn), Routing: "0", Scheme: n1.SchemeNull, MSIN: "0000000001"}, Security: n1.UESecurityCapability{0xf0, 0x70, 0xf0, 0x70},
		}),
	})
}

// serve asks for service, as the UE of a 5G-TMSI, for the user plane of those sessions.
func (p *phone) serve(sessions ...uint8) {
	p.ran++
	stmsi := n1.STMSI{Set: amfSet, Pointer: 1, TMSI: p.tmsi}
	m := &n1.ServiceRequest{STMSI: stmsi}
	if len(sessions) > 0 {
		m.UplinkData = new(n1.Of(sessions...))
	}
	p.says(&n2.InitialUEMessage{
		RAN: n2.RANUEID(p.ran), Location: p.location(), Establishment: n2.EstablishmentCause(3), ContextRequest: true,
		STMSI: &n2.FiveGSTMSI{Set: amfSet, Pointer: 1, TMSI: p.tmsi},
		NAS:   p.protected(m, n1.IntegrityProtected),
	})
}

// asks for a PDU session.
func (p *phone) asks() { p.asksFor(1) }

func (p *phone) asksFor(id uint8) {
	p.uplinkNAS(p.protected(&n1.ULNASTransport{
		PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, id, 1, 0xc1, 0xff, 0xff}, SessionID: id, Request: n1.RequestInitial, DNN: "internet",
	}, n1.IntegrityProtectedAndCiphered))
}

// take what the AMF says to the gNB.
func (p *phone) take(b []byte) {
	m, fault := n2.Read(b)
	if fault != nil {
		p.t.Fatal(fault)
	}
	p.log = append(p.log, words(m))
	update, announced := m.(*n2.AMFConfigurationUpdate)
	offered := announced && len(update.Add)+len(update.Remove) > 0
	switch {
	case offered:
		p.offers = append(p.offers, update)
	case announced:
		p.announced = append(p.announced, update)
	}
	switch m := m.(type) {
	case *n2.OverloadStart:
		p.reductions = append(p.reductions, m.Reduction)
	case *n2.OverloadStop:
		p.reductions = append(p.reductions, 0)
	}
	if p.silent {
		return
	}
	switch m := m.(type) {
	case *n2.AMFConfigurationUpdate:
		if offered && p.answers != nil {
			p.says(p.answers(m))
			return
		}
		if p.refuses {
			p.says(&n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified})
			return
		}
		p.says(&n2.AMFConfigurationUpdateAcknowledge{})
	case *n2.DownlinkNASTransport:
		if uint32(m.UE.RAN) == p.ran {
			p.amf = m.UE.AMF
			p.hear(m.NAS)
		}
	case *n2.InitialContextSetupRequest:
		if uint32(m.UE.RAN) == p.ran {
			p.amf = m.UE.AMF
			p.says(&n2.InitialContextSetupResponse{UE: m.UE, Sessions: admitted(m.Sessions)})
			if m.NAS != nil {
				p.hear(m.NAS)
			}
		}
	case *n2.UEContextReleaseCommand:
		if m.RAN != nil && !p.keeps {
			p.says(&n2.UEContextReleaseComplete{UE: n2.UEIDs{AMF: m.AMF, RAN: *m.RAN}})
		}
	}
}

func admitted(list []n2.SessionSetup) (out []n2.Session) {
	for _, s := range list {
		out = append(out, n2.Session{ID: s.ID, Transfer: octets(8)})
	}
	return out
}

func (p *phone) hear(nas []byte) {
	header, _ := n1.HeaderOf(nas)
	if e, err := n1.ReadEnvelope(nas); err == nil && !header.NewContext() {
		count := uint32(e.Sequence)
		if e.MAC != mac(p.key, 1, count, e.Payload) {
			return // of a context that the UE has not
		}
		if p.heard[count] {
			p.t.Errorf("the downlink COUNT %d comes twice", count)
		}
		p.heard[count] = true
	}
	if e, err := n1.ReadEnvelope(nas); err == nil {
		nas = e.Payload
	}
	m, err := n1.Decode(nas, n1.Downlink)
	if err != nil {
		p.t.Fatal(err)
	}
	switch m := m.(type) {
	case *n1.IdentityRequest:
		plmn, _ := n2.MakePLMN("208", "93")
		p.uplinkNAS(p.nas(&n1.IdentityResponse{Identity: n1.SUCI{Home: n1.PLMN(plmn), Routing: "0", Scheme: n1.SchemeNull, MSIN: "0000000001"}}))
	case *n1.AuthenticationRequest:
		p.uplinkNAS(p.nas(&n1.AuthenticationResponse{RES: octets(3)}))
	case *n1.SecurityModeCommand:
		if p.confirmed != p.authentications { // a new key, and new COUNTs with it
			p.key, p.uplink, p.heard = p.keys.AMF(bytes.Repeat([]byte{p.authentications}, 32), supi, []byte{0, 0}), 0, map[uint32]bool{}
			p.confirmed = p.authentications
		}
		p.uplinkNAS(p.protected(&n1.SecurityModeComplete{IMEISV: "4370816125816151"}, n1.IntegrityProtectedAndCipheredNewContext))
	case *n1.RegistrationAccept:
		if m.GUTI != nil {
			p.tmsi = m.GUTI.TMSI
		}
		p.registered = true
		p.uplinkNAS(p.protected(&n1.RegistrationComplete{}, n1.IntegrityProtectedAndCiphered))
		if p.hasty {
			p.asks()
		}
	case *n1.ConfigurationUpdateCommand:
		if m.GUTI != nil {
			p.tmsi = m.GUTI.TMSI
		}
		p.uplinkNAS(p.protected(&n1.ConfigurationUpdateComplete{}, n1.IntegrityProtectedAndCiphered))
	case *n1.ServiceReject, *n1.RegistrationReject:
		p.log = append(p.log, "rejected")
	}
}

// kept is the record of the UE in the store.
// joinBy another association: the gNB has it for its NG interface, too (TS 38.413 8.7.2). What it says then it says by the first one.
func (n *network) joinBy(association uint64) {
	n.term.Opened(association, 5, "gnb", "amf")
	plmn, _ := n2.MakePLMN("208", "93")
	n.phone.at = association
	n.phone.says(&n2.RANConfigurationUpdate{Node: &n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}})
	n.settle()
	n.phone.at = gnbAt
}

// has is the UE as its holder has it, be that written yet or not.
func (n *network) has() *record.UE {
	for _, h := range n.holders {
		if u := h.runner.ues[record.Key(supi)]; u != nil && u.state.Record != nil {
			return u.state.Record
		}
	}
	return n.kept()
}

func (n *network) kept() *record.UE {
	found, err := n.store.Read(context.Background(), record.Key(supi))
	if err != nil {
		return nil
	}
	b, err := n.sealer.Open(found.Key, found.Value)
	if err != nil {
		n.t.Fatal(err)
	}
	rec, err := record.Decode(b)
	if err != nil {
		n.t.Fatal(err)
	}
	return rec
}

// ---- keys that can be read ----------------------------------------------------------------------------------

// plainKeys protect without ciphering, and find a downlink COUNT that is used twice, by whoever.
type plainKeys struct {
	t    *testing.T
	used map[string]bool
}

func digestOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

func mac(key []byte, direction byte, count uint32, plain []byte) (out [4]byte) {
	copy(out[:], digestOf(key, []byte{direction}, binary.BigEndian.AppendUint32(nil, count), plain))
	return out
}

func (*plainKeys) AMF(kseaf []byte, supi string, abba []byte) []byte {
	return digestOf(kseaf, []byte(supi), abba)
}
func (*plainKeys) HXRES(rand, res []byte) []byte { return digestOf(rand, res)[16:] }
func (*plainKeys) GNB(amf []byte, uplink uint32) []byte {
	return digestOf(amf, binary.BigEndian.AppendUint32(nil, uplink))
}
func (*plainKeys) Hop(amf, before []byte) []byte { return digestOf(amf, before) }
func (*plainKeys) Decipher(_ *record.Security, _ uint32, content []byte) []byte {
	return content
}
func (k *plainKeys) Protect(s *record.Security, count uint32, header n1.SecurityHeader, plain []byte) []byte {
	return n1.Envelope{Header: header, MAC: mac(s.Key, 1, count, plain), Sequence: uint8(count), Payload: plain}.Append(nil)
}
func (*plainKeys) Open(s *record.Security, octets []byte) ([]byte, uint32, bool) {
	e, err := n1.ReadEnvelope(octets)
	if err != nil {
		return nil, 0, false
	}
	count := s.Uplink&^0xff | uint32(e.Sequence)
	if count < s.Uplink {
		count += 0x100
	}
	return e.Payload, count, e.MAC == mac(s.Key, 0, count, e.Payload)
}
