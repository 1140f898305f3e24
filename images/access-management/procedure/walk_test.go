package procedure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Whatever happens in whatever order, Handle comes back, no downlink COUNT is used twice or without being reserved (plainKeys), the record can be
// written and read, nobody who asked is answered twice, what was asked is asked with a number of its own, and a UE at rest has no SMF that does
// not know of a user plane that is down.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(400) {
		w := &walker{teller: newTeller(t), r: rand.New(rand.NewPCG(seed, 1)), open: map[Number]Effect{}, numbers: map[Number]bool{}}
		w.settings.Emergency = &Emergency{Slice: guest, DNN: "sos", Unauthenticated: seed%8 < 4}
		if from := []func(*teller){nil, withSession, twoSessions, idleUE}[seed%4]; from != nil {
			from(w.teller)
			w.due = map[string]bool{dueReachable: w.st.Record.N2 == nil}
			w.told = w.st.Record.Area.TACs
		}
		for range 120 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

type walker struct {
	*teller
	r       *rand.Rand
	open    map[Number]Effect // what was asked and is not answered
	numbers map[Number]bool
	late    []Event  // events that wait
	told    []uint32 // the registration area that the UE was told last; nil: none is known
	due     map[string]bool
	token   Token
}

func (w *walker) step() {
	e := w.event()
	if e == nil {
		return
	}
	out := w.handle(e)
	if !out.Later && !out.Stranger {
		w.times(out)
		w.hears(e, out)
	}
	for _, x := range out.Effects {
		w.asked(x)
		if r, ok := x.(Reply); ok && r.To == 0 {
			w.t.Errorf("%T answers nobody", e)
		}
		if s, ok := x.(Send); ok && s.Message == nil {
			w.t.Errorf("%T sends nothing", e)
		}
	}
	if out.Later && len(w.late) < 4 {
		w.late = append(w.late, e)
	} else if !out.Later && len(w.late) > 0 {
		if w.st.Record == nil {
			w.open, w.numbers = map[Number]Effect{}, map[Number]bool{}
		}
		again := w.late
		w.late = nil
		for _, e := range again {
			if out := w.handle(e); out.Later {
				w.late = append(w.late, e)
			} else {
				if !out.Stranger {
					w.times(out)
					w.hears(e, out)
				}
				for _, x := range out.Effects {
					w.asked(x)
				}
			}
		}
	}
	if w.st.Record == nil {
		w.open, w.late = map[Number]Effect{}, nil
		w.numbers = map[Number]bool{}
		return
	}
	w.check(e)
}

// hears what the UE is told of its area.
func (w *walker) hears(e Event, out Output) {
	if n, is := e.(Named); out.State.Record == nil || is && n.Record != nil {
		w.told = nil
	}
	for _, s := range out.NAS {
		m, err := n1.Decode(s.Plain, s.Direction)
		if err != nil || s.Direction != n1.Downlink {
			continue
		}
		var list n1.TAIs
		switch m := m.(type) {
		case *n1.RegistrationAccept:
			list = m.TAIs
		case *n1.ConfigurationUpdateCommand:
			list = m.TAIs
		}
		if len(list) > 0 {
			w.told = nil
		}
		for _, x := range list {
			w.told = append(w.told, x.TAC)
		}
	}
	for _, x := range out.Effects {
		if s, is := x.(Send); is && s.To.Lost {
			w.t.Errorf("%T sends %s by an association that is lost", e, s.Message.Kind())
		}
	}
}

func (w *walker) asked(x Effect) {
	var n Number
	switch x := x.(type) {
	case AskOther:
		n = x.Number
	case AskNamed:
		n = x.Number
	case AskPause:
		n = x.Number
	case AskChallenge:
		n = x.Number
	case AskConfirm:
		n = x.Number
	case AskRecording:
		n = x.Number
	case AskSubscription:
		n = x.Number
	case AskPolicy:
		n = x.Number
	case AskSession:
		n = x.Number
	default:
		return
	}
	if w.numbers[n] {
		w.t.Errorf("%T has a number that another had", x)
	}
	w.numbers[n] = true
	w.open[n] = x
}

func (w *walker) doing() Kind {
	if p := w.st.Record.Procedure; p != nil {
		return Kind(p.Kind)
	}
	return 0
}

// times as the store, or the holder's memory, has them.
func (w *walker) times(out Output) {
	if out.State.Record == nil {
		w.due = nil
		return
	}
	if w.due == nil {
		w.due = map[string]bool{}
	}
	for name, at := range out.Due {
		w.due[name] = !at.IsZero()
	}
}

// check what holds between events.
func (w *walker) check(e Event) {
	u, l := w.st.Record, w.st.live
	if p := u.Procedure; p != nil && l.awaited == 0 && len(l.sessions) == 0 && u.Command == nil && u.Paging == nil && (u.N2 == nil || !u.N2.Releasing) {
		w.t.Errorf("after %T the procedure %s step %d waits for nobody", e, Kind(p.Kind), p.Step)
	}
	for id, list := range l.sessions {
		for n, a := range list {
			if a.sent != (n == 0) {
				w.t.Errorf("after %T what is asked of session %d as number %d was sent: %t", e, id, n, a.sent)
			}
		}
	}
	for name, waits := range map[string]bool{
		dueCommand: u.Command != nil, DuePaging: u.Paging != nil, dueAccess: u.N2 != nil && !u.N2.Lost && (u.N2.Setting || u.N2.Releasing),
		dueLeft: len(u.Left) > 0, dueHandover: u.Handover != nil, dueRetained: u.N2 != nil && u.N2.Lost && !w.due[dueAccess], dueMoved: u.Going,
	} {
		if waits && !w.due[name] {
			w.t.Errorf("after %T (%+v) the UE waits, and %s is not due", e, e, name)
		}
	}
	if u.Phase == record.Registered && u.N2 == nil && !w.due[dueReachable] && !w.due[dueImplicit] && u.Procedure == nil {
		w.t.Errorf("after %T nobody watches a UE that is idle", e)
	}
	for _, s := range u.Sessions {
		if s.Arriving && u.N2 != nil && !u.N2.Releasing && len(l.sessions[s.ID]) == 0 && !w.due[dueUnheard] {
			w.t.Errorf("after %T the SMF of session %d is not told that the UE has arrived", e, s.ID)
		}
		if k := w.doing(); s.Silent && k != Registration && k != Service && k != Switching && k != Deregistration && len(l.sessions[s.ID]) == 0 && !w.due[dueSilent] {
			w.t.Errorf("after %T the SMF of session %d is not told that its user plane is down", e, s.ID)
		}
	}
	if u.Procedure == nil && u.Phase == record.Registered && len(w.open) == 0 {
		for _, s := range u.Sessions {
			if s.Held != nil && u.N2 == nil && u.Paging == nil {
				w.t.Errorf("after %T session %d waits for a UE that nobody pages", e, s.ID)
			}
			if s.Up && (u.N2 == nil || !u.N2.Set && !u.N2.Setting && !u.N2.Releasing) {
				w.t.Errorf("after %T session %d is up, and the UE has no context", e, s.ID)
			}
		}
	}
	if len(l.reaching) > 0 && u.Paging == nil {
		w.t.Errorf("after %T somebody waits for a UE that nobody pages", e)
	}
	if len(l.locating) > 0 && (u.N2 == nil || !w.due[dueLocated]) {
		w.t.Errorf("after %T somebody waits for an access network that is not asked, or for ever", e)
	}
	if u.Phase == record.Registered && u.Procedure == nil && w.told != nil && !slices.Equal(w.told, u.Area.TACs) {
		w.t.Errorf("after %T the registration area is %v, and the UE was told %v", e, u.Area.TACs, w.told)
	}
	if a := u.N2; a != nil && a.Lost && u.Phase != record.Registered && !a.Releasing {
		w.t.Errorf("after %T a UE that is not registered waits for its gNB", e)
	}
	if u.N2 != nil && slices.ContainsFunc(u.Left, func(a record.Attachment) bool { return a.AMF == u.N2.AMF }) {
		w.t.Errorf("after %T the UE is where it has left", e)
	}
}

func (w *walker) event() Event {
	u := w.st.Record
	if len(w.open) > 0 && w.r.IntN(3) > 0 {
		return w.answer()
	}
	if u == nil {
		return []act{
			asksIn, asksIn, asksIn, comesFrom("", n1.MobilityRegistration), inEmergency("", suci()), inEmergency("", n1.IMEI(equipment)),
		}[w.r.IntN(6)].event(w.teller)
	}
	rare := []func() Event{
		func() Event { return asksIn.event(w.teller) },
		func() Event { w.token++; return End{From: w.token, Why: Ending(1 + w.r.IntN(4))} },
		func() Event { w.token++; return End{From: w.token, Why: Moved} },
		func() Event { w.token++; return LeftFor{From: w.token, Taken: w.r.IntN(2) == 0, Release: []uint8{1}} },
		func() Event { w.token++; return PolicyChanged{From: w.token, Uplink: 1e6, Downlink: 1e6} },
	}
	if w.r.IntN(30) == 0 {
		return rare[w.r.IntN(len(rare))]()
	}
	if u.Paging != nil && w.r.IntN(2) == 0 {
		return Due{Name: DuePaging}
	}
	if c := u.Command; c != nil && c.Attempts > 1 && w.r.IntN(2) == 0 { // who is silent mostly stays so
		return Due{Name: dueCommand}
	}
	pick := []func() Event{
		func() Event { return Due{Name: DueNames[w.r.IntN(len(DueNames))]} },
		func() Event { return Due{Name: dueCommand} },
		func() Event {
			w.token++
			return Transfer{From: w.token, Session: uint8(1 + w.r.IntN(2)), N1: []byte{0x2e, 1, 0, 0xcb}, N2: []byte{1}, N2Type: setupRequest, SkipIdle: w.r.IntN(2) == 0}
		},
		func() Event { return SubscriptionChanged{} },
		func() Event { return Appeared{GNB: w.gnbs[[]record.GNB{gnb1, gnb2}[w.r.IntN(2)].Key()]} },
		func() Event {
			return AccessLost{At: record.Attachment{Terminator: "n2-0", Association: uint64(1 + w.r.IntN(2))}, Kept: w.r.IntN(4) > 0}
		},
		func() Event {
			g := []record.GNB{gnb1, gnb2}[w.r.IntN(2)]
			back := *w.gnbs[g.Key()]
			back.Retains, back.Association = w.r.IntN(2) == 0, uint64(1+w.r.IntN(2)+2*w.r.IntN(2))
			w.gnbs[g.Key()] = &back
			return AccessBack{At: at(back, 0)}
		},
		func() Event {
			w.token++
			return Transfer{From: w.token, Session: uint8(1 + w.r.IntN(2)), N2: []byte{1}, N2Type: setupRequest}
		},
		func() Event { w.token++; return Lend{From: w.token} },
		func() Event { w.token++; return Reach{From: w.token} },
		func() Event { w.token++; return Locate{From: w.token, Current: true} },
		func() Event {
			w.token++
			e := watches(uint32(w.r.IntN(3)), w.r.IntN(2) == 0, EventLocation, EventPresence, EventRegistration, EventConnectivity, EventReachability, EventLoss)
			e.From = w.token
			return e
		},
		func() Event { w.token++; return Unwatch{From: w.token, Name: "00000000000a"} },
		func() Event {
			w.settings.PLMNs = []PLMN{{PLMN: "20893", Slices: [][]record.Slice{{eMBB}, {eMBB, ioT}, {eMBB, ioT, guest}}[w.r.IntN(3)]}}
			return SettingsChanged{}
		},
		func() Event {
			w.st = State{Record: w.st.Record, Capability: w.st.Capability}
			w.open = map[Number]Effect{}
			w.numbers = map[Number]bool{}
			if w.st.Record.SUPI == "" {
				w.st = State{}
				return nil
			}
			return Resumed{Lost: w.r.IntN(4) == 0}
		},
		func() Event { return SessionEnded{Session: 1, Context: "http://smf-1/sm-contexts/1"} },
		func() Event {
			w.settings.FullName = []string{"", "a", "b"}[w.r.IntN(3)]
			return SettingsChanged{}
		},
	}
	if w.phone.key != nil && u.SUPI != "" {
		uplink := n1.Sessions(w.r.UintN(8)) &^ 1
		has := n1.Of(1, 2)
		if w.r.IntN(8) == 0 {
			has = n1.Sessions(w.r.UintN(8)) &^ 1
		}
		g, tac := gnb1, uint32(1+w.r.IntN(2))
		if w.r.IntN(2) == 0 {
			g, tac = gnb2, 7
		}
		ran := w.r.Uint32N(1000)
		for range 3 {
			pick = append(pick,
				func() Event { return first("", g, ran, tac, mobility(&uplink)).event(w.teller) },
				func() Event {
					return first("", g, ran, tac, serviceRequest(n1.ServiceData, has, uplink)).event(w.teller)
				},
			)
		}
		pick = append(pick, func() Event { return first("", g, ran, tac, leaves(false)).event(w.teller) }, func() Event {
			return emergencyAgain("", n1.RegistrationType(1+w.r.IntN(4))).event(w.teller)
		})
	}
	if a := u.N2; a != nil && a.Lost && w.r.IntN(8) == 0 {
		return Due{Name: dueRetained}
	}
	if a := u.N2; a != nil && (!a.Lost || w.r.IntN(4) == 0) {
		if w.r.IntN(16) == 0 {
			return NotSent{Send: Send{To: *a}}
		}
		if n := len(u.Left); n > 0 && w.r.IntN(4) == 0 {
			return FromAccess{At: said(u.Left[w.r.IntN(n)]), Message: &n2.UEContextReleaseComplete{}}
		}
		if u.N2.Setting && w.r.IntN(2) == 0 {
			return FromAccess{At: said(*u.N2), Message: &n2.InitialContextSetupResponse{}}
		}
		says := w.connected(u)
		if u.Handover != nil && w.r.IntN(2) == 0 {
			return says[w.r.IntN(len(says))]()
		}
		pick = append(pick, says...)
	}
	return pick[w.r.IntN(len(pick))]()
}

// said is that connection as a message names it, which has come by it.
func said(a record.Attachment) record.Attachment {
	a.Lost = false
	return a
}

// connected are events of a UE that is.
func (w *walker) connected(u *record.UE) []func() Event {
	say := func(m n2.Message) func() Event {
		return func() Event { return FromAccess{At: said(*u.N2), Message: m} }
	}
	sessions := []n2.Session{{ID: uint8(1 + w.r.IntN(2)), Transfer: []byte{9}}}
	node := n2.RANNode{Kind: n2.GNB, PLMN: plmnOf("20893"), ID: uint32(1 + w.r.IntN(2)), Bits: 24}
	out := []func() Event{
		say(&n2.UEContextReleaseRequest{Cause: ngapcause.UserInactivity}), say(&n2.UEContextReleaseComplete{}), say(&n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)}),
		say(&n2.InitialContextSetupResponse{Sessions: sessions}), say(&n2.InitialContextSetupFailure{}), say(&n2.PDUSessionResourceSetupResponse{Sessions: sessions}),
		say(&n2.LocationReport{Location: location(1)}), say(&n2.LocationReportingFailureIndication{}),
		say(&n2.PDUSessionResourceNotify{Released: sessions}), say(&n2.HandoverCancel{}), say(&n2.UplinkRANStatusTransfer{}),
		say(&n2.HandoverRequired{Target: n2.HandoverTarget{Node: node, TAI: n2.TAI{PLMN: plmnOf("20893"), TAC: 7}}, Sessions: sessions}),
		func() Event {
			return FromAccess{At: at(gnb2, 60), Message: &n2.PathSwitchRequest{RAN: 60, SourceAMF: n2.AMFUEID(u.N2.AMF), Location: location(7), Sessions: sessions}}
		},
	}
	if h := u.Handover; h != nil {
		target := h.Target
		target.RAN = 61
		taken := func() Event {
			return FromAccess{At: target, Message: &n2.HandoverRequestAcknowledge{Sessions: sessions}}
		}
		arrived := func() Event { return FromAccess{At: target, Message: &n2.HandoverNotify{Location: location(7)}} }
		switch roll := w.r.IntN(4); {
		case roll > 0 && h.Step == handTarget:
			return []func() Event{taken}
		case roll > 0 && h.Step == handMoving:
			return []func() Event{arrived}
		}
		out = append(out,
			taken, arrived, func() Event { return FromAccess{At: target, Message: &n2.HandoverFailure{}} },
		)
	}
	if u.Coming != nil && NamedByPEI(u.SUPI) {
		null := func() Event { return completesNull.event(w.teller) }
		out = append(out, null, null)
	} else if w.authentications > 0 && u.Coming != nil {
		out = append(out, func() Event { return completes.event(w.teller) }, func() Event { return completes.event(w.teller) })
	}
	required := say(&n2.HandoverRequired{Target: n2.HandoverTarget{Node: node, TAI: n2.TAI{PLMN: plmnOf("20893"), TAC: 7}}, Sessions: []n2.Session{{ID: 1}, {ID: 2}}})
	out = append(out, required, required)
	messages := []n1.Message{
		&n1.AuthenticationResponse{RES: resOf}, &n1.AuthenticationResponse{RES: resOf}, &n1.AuthenticationFailure{Cause: n1.CauseSynchFailure, AUTS: &n1.Resynchronisation{1}},
		&n1.RegistrationComplete{}, &n1.ConfigurationUpdateComplete{}, calls(2), establishes(1), establishes(2), &n1.DeregistrationAcceptFromUE{},
		&n1.SecurityModeReject{Cause: n1.CauseSecurityModeRejected}, &n1.IdentityResponse{Identity: suci()}, &n1.Status{Cause: n1.CauseMessageTypeNotCompatible},
	}
	m := messages[w.r.IntN(len(messages))]
	how := unprotected(m)
	if w.phone.key != nil && u.Security != nil {
		how = protected(m)
	}
	return append(out, func() Event { return says("", how).event(w.teller) }, func() Event { return says("", how).event(w.teller) })
}

// elsewhere is what another connection has made of the UE, in that shard.
func elsewhere(shard uint16) *record.UE {
	there := at(gnb2, 4)
	there.AMF, there.Set = record.AttachmentID(shard, 1<<20), true
	return &record.UE{
		Security: &record.Security{Key: make([]byte, 32), Integrity: 2, Ciphering: 2, Identifier: 5}, Periodic: 3600,
		SUPI: supi, Shard: shard, Phase: record.Registered, TMSI: record.TMSI(shard, 5), N2: &there, Recorded: true, Policy: "http://pcf/policies/9",
		Sessions: []record.Session{{ID: 1, Slice: eMBB, DNN: "internet", SMF: "smf-1", Context: "http://smf-1/sm-contexts/1", Up: true}},
	}
}

// answer something that is open, in one of the ways.
func (w *walker) subscribed(n Number, outcome Outcome) Subscription {
	s := subscription(n)
	s.Outcome = outcome
	s.Barred = w.r.IntN(16) == 0
	if w.r.IntN(6) == 0 {
		s.Slices = services[1:]
	}
	return s
}

func (w *walker) answer() Event {
	numbers := make([]Number, 0, len(w.open))
	for n := range w.open {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	n := numbers[w.r.IntN(len(numbers))]
	x := w.open[n]
	delete(w.open, n)
	outcome := Done
	if w.r.IntN(10) == 0 {
		outcome = []Outcome{Refused, Unknown, Unsent}[w.r.IntN(3)]
	}
	switch x := x.(type) {
	case AskPause:
		return Paused{Number: n}
	case AskNamed:
		named := Named{Number: n, Failed: outcome == Unknown}
		if w.r.IntN(2) == 0 {
			named.Record = elsewhere(uint16(2 + w.r.IntN(2)))
			named.Record.SUPI, named.Record.Emergency = x.SUPI, NamedByPEI(x.SUPI)
		}
		return named
	case AskChallenge:
		c := aka(n)
		c.Outcome = outcome
		return c
	case AskConfirm:
		c := confirms.event(w.teller).(Confirmed)
		c.Number, c.Outcome = n, outcome
		return c
	case AskOther:
		return Other{Number: n, Outcome: outcome, SUPI: supi, Sessions: []record.Session{{ID: 1, Slice: eMBB, DNN: "internet", SMF: "smf-9", Context: "http://smf-9/sm-contexts/1#00"}}}
	case AskRecording:
		out := Recorded{Number: n, Outcome: outcome}
		if outcome == Done && x.Subscription != nil && w.r.IntN(4) > 0 {
			s := w.subscribed(n, []Outcome{Done, Done, Done, Refused, Unknown}[w.r.IntN(5)])
			out.Subscription = &s
		}
		return out
	case AskSubscription:
		return w.subscribed(n, outcome)
	case AskPolicy:
		return Policy{Number: n, Outcome: outcome, URI: "http://pcf/policies/1"}
	case AskSession:
		a := SessionAnswer{Number: n, Outcome: outcome, Status: []int{404, 500, 503}[w.r.IntN(3)]}
		if a.Status == 503 {
			a.RetryAfter = time.Second
		}
		if outcome != Done {
			return a
		}
		if x.Operation == CreateSession {
			c := created(x.Session.ID)
			c.Number = n
			return c
		}
		a.N2 = []byte{1}
		a.N2Type = map[purpose]string{forActivation: setupRequest, forPreparing: setupRequest, forPrepared: handCommand, forSwitch: switchDone, forPlace: releaseRequest}[x.purpose]
		return a
	}
	return nil
}
