package simulation

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
)

// mmState is the state of 5GMM (TS 24.501 5.1.3.2.1).
type mmState int

const (
	off mmState = iota
	deregistered
	registered
)

// ue is a UE with a USIM.
type ue struct {
	w          *world
	name, supi string
	k          []byte
	sqn        uint64
	resynced   bool // it has said that its SQN is another
	gnb        *gnb
	conn       *conn
	state      mmState
	guti       n1.GUTI
	nas        *nasContext // nil: none
	// coming is what authentication has made, until it is taken into use.
	coming *nasContext
	// doing is the procedure that the UE has begun, numbered; tries are those of it.
	doing    string
	number   int
	tries    int
	request  []byte // the whole of the message, as a Security Mode Complete has it
	sessions map[uint8]*session
	allowed  []record.Slice
	area     []uint32
	// imei of the UE. as is what the network calls it: its SUPI, or where nobody has authenticated it its PEI.
	imei, as string
	msin     string
	// simless: it has no SIM. emergency: it is registered for emergency services alone.
	simless, emergency bool
	// away is its stay with another AMF; nil: it is here.
	away *stay
	// twin: another phone has its SUPI. excused: it may be told that it is not registered.
	twin    bool
	excused bool
	dead    bool
	// spoke is when it did last.
	spoke time.Time
	// later: it was told to come later.
	later  bool
	calmed bool
	// wanted: it was paged, and comes for that.
	wanted bool
}

// session that the UE has, or asks for.
type session struct {
	active, ending bool
	// sos: it is for emergency services. forbidden: a UE that is registered for them has asked for another one.
	sos, forbidden bool
}

// mostSessions that a UE has: two, and one for emergency services.
const (
	emergencyID  = 3
	mostSessions = emergencyID
)

func newUE(w *world, n int) *ue {
	supi := fmt.Sprintf("imsi-%s%010d", plmnText, n+1)
	u := &ue{w: w, name: fmt.Sprint("ue-", n), supi: supi, k: keyOf(supi), state: deregistered, sessions: map[uint8]*session{}}
	u.as, u.msin, u.imei = supi, fmt.Sprintf("%010d", n+1), fmt.Sprintf("49015420323%04d", n)
	u.gnb = w.gnbs[w.Rand.IntN(len(w.gnbs))]
	u.live()
	return u
}

// live does something every now and then.
func (u *ue) live() {
	if u.dead || u.calmed {
		return
	}
	u.w.Soon(100*time.Millisecond, 5*time.Second, u.live)
	if u.doing != "" {
		return
	}
	if u.state == deregistered && u.calls() || u.state == registered && (u.abroad() || u.inEmergency()) {
		return
	}
	switch u.state {
	case off:
		if u.w.Chance(4) {
			u.state = deregistered
		}
	case deregistered:
		u.registerAnew()
	case registered:
		u.act()
	}
}

func (u *ue) act() {
	w := u.w
	c := u.conn
	target := w.gnbs[w.Rand.IntN(len(w.gnbs))]
	switch w.Rand.IntN(20) {
	case 0:
		u.register(n1.PeriodicRegistration)
	case 1:
		u.register(n1.MobilityRegistration)
	case 2:
		if w.Chance(3) {
			u.deregister(w.Chance(2))
		}
	case 3:
		if w.Chance(3) { // it loses what it had, and its radio
			w.Note("%s loses its battery", u.name)
			u.switchOff()
			u.nas, u.guti = nil, n1.GUTI{}
		} else if w.Chance(3) { // nobody knows it
			w.Note("%s has a strange 5G-GUTI", u.name)
			u.loseRadio()
			u.state, u.nas = deregistered, nil
			u.guti.TMSI = w.Rand.Uint32()
			u.registerAnew()
		}
	case 4, 5:
		if c == nil && target != u.gnb { // another cell
			u.gnb = target
			if !slices.Contains(u.area, target.tac) {
				u.register(n1.MobilityRegistration)
			}
		}
	case 6, 14:
		if c != nil && c.known && target != c.g && !c.coming {
			c.g.overXn(c, target)
		}
	case 7, 15:
		if c != nil && c.known && target != c.g {
			c.g.overN2(c, target)
		}
	case 8:
		if c != nil && c.known {
			c.g.releaseRequest(c, 0)
		}
	case 9, 16, 17:
		u.establish(uint8(1 + w.Rand.IntN(2)))
	case 10:
		for id := uint8(1); id <= mostSessions; id++ {
			if s := u.sessions[id]; s != nil && s.active && c != nil && w.Chance(3) {
				s.ending = true
				u.carry(id, smReleaseRequest, 0)
			}
		}
	case 11:
		for _, x := range w.smf.contexts {
			if x.supi == u.supi && x.tunnel == nil {
				w.smf.data(x, 3)
				return
			}
		}
	case 12:
		if c != nil && c.last != nil { // somebody says it again
			c.uplink(c.last)
		}
	case 13:
		if w.Chance(6) {
			w.Note("%s is to register again", u.name)
			u.excused = true
			w.toAMF(u.supi, procedure.End{From: w.expect(10*time.Second, func(any) {}), Why: procedure.Again})
		}
	default:
		u.serve(n1.ServiceData)
	}
}

// calm: from here on the UE wants to be registered, to have no more than it has, and to be left alone.
func (u *ue) calm() {
	u.calmed = true
	if u.away != nil && u.away.here && u.w.also.chance(2) {
		u.comesBack(false)
	}
	u.settle()
}

// settle until the UE has spoken with the network once.
func (u *ue) settle() {
	if u.dead {
		return
	}
	u.w.After(7*time.Second, u.settle)
	switch {
	case u.doing != "" || u.away != nil:
	case u.stranger():
		u.settleInEmergency()
	case u.state != registered || u.emergency:
		u.state = deregistered
		u.register(n1.InitialRegistration)
	case u.conn == nil && !u.proved():
		u.serve(n1.ServiceData)
	case u.conn == nil && u.w.Now.Sub(u.spoke) > u.w.settings.Periodic-20*time.Second: // T3512
		u.register(n1.PeriodicRegistration)
	}
}

// proved: it has been served since all is well.
func (u *ue) proved() bool { return u.tries < 0 }

// begin a procedure: it is tried again when its timer expires.
func (u *ue) begin(what string) int {
	u.number++
	u.doing, u.tries, u.later, u.wanted = what, max(u.tries, 0), false, false
	return u.number
}

func (u *ue) over() {
	u.doing, u.number, u.tries = "", u.number+1, 0
	if u.calmed {
		u.tries = -1
	}
}

// expires after T3510 or T3517 (TS 24.501 10.2): the connection is let go of, and the UE tries again.
func (u *ue) expires(n int, after time.Duration, again func()) {
	u.w.After(after, func() {
		if u.number != n || u.doing == "" {
			return
		}
		u.w.Note("%s: no answer to %s", u.name, u.doing)
		u.loseRadio()
		u.retry(again, time.Second, 4*time.Second)
	})
}

func (u *ue) retry(again func(), least, most time.Duration) {
	n := u.number
	u.w.Soon(least, most, func() {
		if u.number == n && u.doing != "" {
			again()
		}
	})
}

// loseRadio: the gNB finds out.
func (u *ue) loseRadio() {
	if c := u.conn; c != nil {
		u.conn = nil
		c.g.w.After(100*time.Millisecond, func() {
			if !c.gone && c.known {
				c.g.releaseRequest(c, 0)
			}
			c.asked = 1
		})
	}
	u.radioGone()
}

// released by the gNB.
func (u *ue) released() {
	u.radioGone()
	if u.doing == "" || u.dead || u.later {
		return
	}
	// TS 24.501 5.5.1.2.7 b, 5.6.1.7 b: tried again, when the lower layers are there.
	n := u.number
	what := u.doing
	u.w.Soon(500*time.Millisecond, 3*time.Second, func() {
		if u.number == n && u.doing == what && u.conn == nil {
			u.again()
		}
	})
}

func (u *ue) radioGone() {
	u.coming = nil
	for id := uint8(1); id <= mostSessions; id++ {
		if s := u.sessions[id]; s != nil && s.ending { // T3582: it is of no use to the UE in any case
			delete(u.sessions, id)
		} else if s != nil && !s.active {
			delete(u.sessions, id)
		}
	}
}

// again what the UE is in the midst of.
func (u *ue) again() {
	kind, is := strings.CutPrefix(u.doing, "registration ")
	switch {
	case is && kind == "initial":
		u.register(n1.InitialRegistration)
	case is && kind == "emergency":
		u.register(n1.EmergencyRegistration)
	case is && kind == "mobility":
		u.register(n1.MobilityRegistration)
	case is:
		u.register(n1.PeriodicRegistration)
	case u.doing == "service":
		u.serve(n1.ServiceData)
	case u.doing == "deregistration":
		u.deregistered("it has left")
	}
}

func (u *ue) die() {
	u.dead = true
	u.switchOff()
}

// vanish: its battery is empty.
func (u *ue) vanish() {
	u.die()
	u.conn = nil
}

func (u *ue) switchOff() {
	u.loseRadio()
	u.over()
	u.state, u.sessions, u.allowed, u.area, u.emergency = off, map[uint8]*session{}, nil, nil, false
}

// deregistered, and without what it had.
func (u *ue) deregistered(why string) {
	u.w.Note("%s is deregistered: %s", u.name, why)
	u.over()
	u.tries = 0
	u.state, u.sessions, u.allowed, u.area, u.emergency = deregistered, map[uint8]*session{}, nil, nil, false
}

// ---- what it says ------------------------------------------------------------------------------------------------

// mayLose says whether the network may not know a UE that is registered: writes were lost, its subscription was withdrawn, another phone has its SUPI.
func (u *ue) mayLose() bool {
	s := u.w.udm.of(u.supi)
	if s == nil || u.emergency { // nobody has subscribed to emergency services, which are there or not
		may := u.twin || u.excused || !u.w.forgotten.IsZero() || !u.w.without.IsZero()
		if may || s == nil || u.doing != "registration initial" {
			return may
		}
		// The network may have registered it as it asks for, and the accept not have come.
	}
	return u.twin || u.excused || s.barred || !s.barredAt.IsZero() && u.w.Now.Sub(s.barredAt) < time.Minute || !u.w.forgotten.IsZero()
}

func (u *ue) plain(m n1.Message) []byte {
	b, err := n1.Encode(m)
	if err != nil {
		u.w.Fail("%s: %v", u.name, err)
	}
	return b
}

var ability = n1.UESecurityCapability{0xf0, 0xf0, 0xf0, 0xf0}

func (u *ue) status() *n1.Sessions {
	var s n1.Sessions
	for id := uint8(1); id <= mostSessions; id++ {
		if x := u.sessions[id]; x != nil && x.active {
			s |= n1.Of(id)
		}
	}
	return &s
}

func (u *ue) identity() n1.Identity {
	switch {
	case u.guti.TMSI != 0:
		return u.guti
	case u.simless:
		return n1.IMEI(u.imei)
	}
	return u.suci()
}

func (u *ue) suci() n1.SUCI {
	return n1.SUCI{Home: n1.PLMN(plmn), Routing: "0", Scheme: n1.SchemeNull, MSIN: u.msin}
}

func (u *ue) keySet() n1.KeySet {
	if u.nas == nil {
		return n1.NoKey
	}
	return n1.KeySet(u.nas.ksi)
}

// registerAnew for what it can have.
func (u *ue) registerAnew() {
	if u.stranger() {
		u.register(n1.EmergencyRegistration)
		return
	}
	u.register(n1.InitialRegistration)
}

// register: TS 24.501 5.5.1.
func (u *ue) register(how n1.RegistrationType) {
	what := "registration periodic"
	switch how {
	case n1.InitialRegistration:
		what = "registration initial"
	case n1.MobilityRegistration:
		what = "registration mobility"
	case n1.EmergencyRegistration:
		what = "registration emergency"
	}
	again := u.doing == what
	n := u.begin(what)
	if again {
		u.tries++
	}
	m := &n1.RegistrationRequest{RegistrationType: how, FollowOn: u.w.Chance(2), KeySet: u.keySet(), Identity: u.identity(), Security: ability}
	if how != n1.InitialRegistration && how != n1.EmergencyRegistration {
		m.Sessions = u.status()
		if u.w.Chance(2) {
			m.UplinkData = u.status()
		}
	}
	if how != n1.PeriodicRegistration && how != n1.EmergencyRegistration {
		m.Requested = n1.NSSAI{{SNSSAI: n1.SNSSAI{SST: 1}}}
		if u.w.Chance(2) {
			m.Requested = append(m.Requested, n1.Slice{SNSSAI: n1.SNSSAI{SST: 2, HasSD: true, SD: [3]byte{0, 0, 7}}})
		}
	}
	u.request = u.plain(m)
	clear := &n1.RegistrationRequest{RegistrationType: how, FollowOn: m.FollowOn, KeySet: m.KeySet, Identity: m.Identity, Security: ability}
	u.w.Note("%s: %s, %v, key %d", u.name, what, m.Identity, m.KeySet)
	u.first(clear, func() []byte { clear.Container = u.nas.container(u.request); return u.plain(clear) })
	u.expires(n, 15*time.Second, u.again)
}

// first message, where the UE has no connection; whole gives what is protected.
func (u *ue) first(clear n1.Message, whole func() []byte) {
	u.spoke = u.w.Now
	var nas []byte
	if u.nas != nil {
		nas = u.nas.protect(whole(), n1.IntegrityProtected)
	} else {
		nas = u.plain(clear)
	}
	if u.conn != nil {
		u.conn.uplink(nas)
		return
	}
	var stmsi *n2.FiveGSTMSI
	if u.guti.TMSI != 0 {
		stmsi = &n2.FiveGSTMSI{Set: u.guti.Set, Pointer: u.guti.Pointer, TMSI: u.guti.TMSI}
	}
	if u.conn = u.gnb.initial(u, nas, stmsi); u.conn == nil { // no service here
		if u.w.Chance(2) {
			u.gnb = u.w.gnbs[u.w.Rand.IntN(len(u.w.gnbs))]
		}
		n := u.number
		u.w.Soon(500*time.Millisecond, 2*time.Second, func() {
			if u.number == n && u.conn == nil {
				u.again()
			}
		})
	}
}

// serve: TS 24.501 5.6.1.
func (u *ue) serve(how n1.ServiceType) {
	if u.conn != nil || u.nas == nil || u.state != registered {
		if u.doing == "service" {
			u.over()
		}
		return
	}
	if !slices.Contains(u.area, u.gnb.tac) {
		u.register(n1.MobilityRegistration)
		return
	}
	n := u.begin("service")
	u.wanted = how == n1.ServiceMobileTerminated
	m := &n1.ServiceRequest{Service: how, KeySet: u.keySet(), STMSI: u.guti.STMSI(), Sessions: u.status()}
	if u.w.Chance(2) {
		m.UplinkData = u.status()
	}
	u.request = u.plain(m)
	clear := m.Clear()
	u.w.Note("%s: service request, %v", u.name, m.STMSI)
	u.first(clear, func() []byte { clear.Container = u.nas.container(u.request); return u.plain(clear) })
	u.expires(n, 15*time.Second, u.again)
}

func (u *ue) paged() {
	if u.doing == "" && (!u.w.faults || !u.w.Chance(5)) {
		u.w.Note("%s is paged", u.name)
		u.serve(n1.ServiceMobileTerminated)
	}
}

func (u *ue) deregister(switchOff bool) {
	m := &n1.DeregistrationRequestFromUE{SwitchOff: switchOff, Access: n1.Access3GPP, KeySet: u.keySet(), Identity: u.identity()}
	u.w.Note("%s leaves, switched off %v", u.name, switchOff)
	n := u.begin("deregistration")
	u.first(m, func() []byte { return u.plain(m) })
	u.excused = true
	if switchOff {
		u.deregistered("it is switched off")
		u.state = off
		return
	}
	u.w.After(15*time.Second, func() { // T3521
		if u.number == n {
			u.loseRadio()
			u.deregistered("no answer")
		}
	})
}

// says on its connection, protected.
func (u *ue) says(m n1.Message) {
	if u.conn != nil && u.nas != nil {
		u.conn.uplink(u.nas.protect(u.plain(m), n1.IntegrityProtectedAndCiphered))
	}
}

// answers what was asked without protection: ciphered only once the network has shown the key, too, on this connection (TS 24.501 4.4.5).
func (u *ue) answers(m n1.Message) {
	switch {
	case u.conn == nil:
	case u.conn.secured:
		u.says(m)
	case u.nas != nil:
		u.conn.uplink(u.nas.protect(u.plain(m), n1.IntegrityProtected))
	default:
		u.conn.uplink(u.plain(m))
	}
}

func (u *ue) establish(id uint8) {
	if u.conn == nil || u.sessions[id] != nil || len(u.allowed) == 0 {
		return
	}
	s := &session{}
	u.ask(id, s, n1.RequestInitial)
}

// ask for a session.
func (u *ue) ask(id uint8, s *session, how n1.RequestType) {
	u.sessions[id] = s
	u.carry(id, smEstablish, how)
	u.w.After(16*time.Second, func() { // T3580
		if u.sessions[id] == s && !s.active {
			delete(u.sessions, id)
		}
	})
}

func (u *ue) carry(id, kind uint8, how n1.RequestType) {
	u.says(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: sm(id, kind), SessionID: id, Request: how})
}

// ---- what it hears -----------------------------------------------------------------------------------------------

func (u *ue) hear(nas []byte) {
	header, is := n1.HeaderOf(nas)
	if !is || u.dead {
		return
	}
	plain := nas
	switch {
	case header == n1.Plain:
	case header.NewContext():
		if plain = u.command(nas); plain == nil {
			return
		}
	case u.nas == nil:
		u.w.Note("%s hears what it has no key for", u.name)
		return
	default:
		var ok bool
		if plain, ok = u.nas.open(nas); !ok {
			u.w.Note("%s hears what it cannot open", u.name)
			return
		}
	}
	if header != n1.Plain && u.conn != nil {
		u.conn.secured = true
	}
	m, err := n1.Decode(plain, n1.Downlink)
	if err != nil {
		u.w.Fail("%s cannot read %x: %v", u.name, plain, err)
		return
	}
	u.w.Note("%s hears %s", u.name, strings.TrimPrefix(fmt.Sprintf("%T", m), "*n1."))
	u.told(m, header != n1.Plain)
}

// command opens a Security Mode Command: with the key that was agreed last.
func (u *ue) command(nas []byte) []byte {
	e, err := n1.ReadEnvelope(nas)
	if err != nil {
		return nil
	}
	m, err := n1.Decode(e.Payload, n1.Downlink)
	c, is := m.(*n1.SecurityModeCommand)
	if err != nil || !is {
		u.w.Fail("%s: a new context without a command: %v", u.name, err)
		return nil
	}
	if c.Algorithms.Integrity == security.Null {
		return u.unprotected(c, e, nas)
	}
	if x := u.coming; x != nil && uint8(c.KeySet) == x.ksi {
		x.algs = c.Algorithms
		if _, ok := x.open(nas); ok {
			u.nas, u.coming, u.as = x, nil, u.supi
			return e.Payload
		}
	}
	if x := u.nas; x != nil && uint8(c.KeySet) == x.ksi {
		if _, ok := x.open(nas); ok { // again
			return e.Payload
		}
	}
	u.w.Note("%s hears a command of another key", u.name)
	return nil
}

func (u *ue) told(m n1.Message, protected bool) {
	switch m := m.(type) {
	case *n1.IdentityRequest:
		u.identifies(m.Requested)
	case *n1.AuthenticationRequest:
		u.challenged(m)
	case *n1.SecurityModeCommand:
		if string(m.Replayed) != string(ability) {
			u.w.Fail("%s: its capability comes back as %x", u.name, m.Replayed)
		}
		out := u.plain(&n1.SecurityModeComplete{IMEISV: "4370816125816151", Container: u.request})
		if u.conn != nil {
			u.conn.uplink(u.nas.protect(out, n1.IntegrityProtectedAndCipheredNewContext))
		}
	case *n1.AuthenticationReject:
		if !u.mayLose() {
			u.w.Fail("%s is rejected: it is not him", u.name)
		}
		u.forgotten("rejected")
	case *n1.RegistrationAccept:
		u.accepted(m, protected)
	case *n1.RegistrationReject:
		u.rejected(m.Cause, "registration")
	case *n1.ServiceReject:
		if u.doing == "service" {
			u.rejected(m.Cause, "service")
		}
	case *n1.ServiceAccept:
		if u.doing == "service" && protected {
			u.has(m.Sessions)
			u.over()
		}
	case *n1.DeregistrationAcceptToUE:
		if u.doing == "deregistration" {
			u.deregistered("it has left")
		}
	case *n1.DeregistrationRequestToUE:
		if protected {
			u.says(&n1.DeregistrationAcceptFromUE{})
			if !u.mayLose() {
				u.w.Fail("%s is deregistered by the network, cause %d", u.name, m.Cause)
			}
			u.deregistered("by the network")
			if u.w.hasty && u.w.links.chance(2) {
				u.registerAnew()
			}
		}
	case *n1.ConfigurationUpdateCommand:
		u.configured(m)
	case *n1.DLNASTransport:
		u.carried(m)
	case *n1.Status:
		u.w.Note("%s hears status %d", u.name, m.Cause)
	}
}

func (u *ue) challenged(m *n1.AuthenticationRequest) {
	sqn, ok := readToken(u.k, m.RAND[:], m.AUTN[:])
	switch {
	case !ok:
		u.w.Fail("%s is challenged by a stranger", u.name)
		return
	case sqn <= u.sqn || u.w.faults && !u.resynced && u.w.Chance(20):
		u.resynced = true
		u.sqn = max(u.sqn, sqn)
		var auts n1.Resynchronisation
		binary.BigEndian.PutUint16(auts[:], uint16(u.sqn))
		u.answers(&n1.AuthenticationFailure{Cause: n1.CauseSynchFailure, AUTS: &auts})
		return
	}
	u.sqn, u.resynced = sqn, false
	key := security.AMFKey(security.Key(anchor(u.k, m.RAND[:])), u.supi, abba)
	u.answers(&n1.AuthenticationResponse{RES: response(u.k, m.RAND[:])})
	u.coming = &nasContext{key: key[:], ksi: uint8(m.KeySet)}
}

func (u *ue) accepted(m *n1.RegistrationAccept, protected bool) {
	if !protected {
		u.w.Fail("%s: an accept without protection", u.name)
		return
	}
	again := u.doing == "" && u.state == registered
	if !again && !strings.HasPrefix(u.doing, "registration") {
		return
	}
	if u.doing == "registration initial" || u.doing == "registration emergency" {
		u.sessions = map[uint8]*session{}
	}
	if m.GUTI != nil {
		u.guti = *m.GUTI
	}
	u.allowed = slicesFrom(m.Allowed)
	u.areas(m.TAIs)
	u.has(m.Sessions)
	u.state, u.excused, u.emergency = registered, false, m.Result.Emergency
	if m.GUTI != nil || len(m.Configured) > 0 {
		u.says(&n1.RegistrationComplete{})
	}
	u.over()
}

func (u *ue) areas(list n1.TAIs) {
	if len(list) == 0 {
		return
	}
	u.area = nil
	for _, t := range list {
		u.area = append(u.area, t.TAC)
	}
	if !slices.Contains(u.area, u.gnb.tac) {
		u.w.After(time.Second, u.strays)
	}
}

// strays: it has been handed over while it was told an area that it is not in any more (TS 24.501 5.5.1.3.2 a).
func (u *ue) strays() {
	switch {
	case u.dead || u.state != registered || u.away != nil || slices.Contains(u.area, u.gnb.tac):
	case u.doing != "":
		u.w.After(time.Second, u.strays)
	default:
		u.register(n1.MobilityRegistration)
	}
}

// has: of the UE's sessions those that the network says (TS 24.501 5.5.1.3.4).
func (u *ue) has(s *n1.Sessions) {
	if s == nil {
		return
	}
	for id := uint8(1); id <= mostSessions; id++ {
		if x := u.sessions[id]; x != nil && x.active && !s.Has(id) {
			if !x.ending && !u.mayLose() {
				u.w.Note("%s: session %d is gone", u.name, id)
			}
			delete(u.sessions, id)
		}
	}
}

func (u *ue) rejected(c n1.Cause, what string) {
	u.w.Note("%s: %s is rejected, cause %d", u.name, what, c)
	if u.doing == "registration emergency" && c != n1.CauseCongestion {
		u.refusedInEmergency(c)
		return
	}
	switch c {
	case n1.CauseCongestion:
		u.number++ // its timer is over
		u.later = true
		u.retry(u.again, 5*time.Second, 8*time.Second)
	case n1.CauseIdentityCannotBeDerived, n1.CauseImplicitlyDeregistered:
		if u.state == registered && u.doing != "registration initial" && !u.mayLose() {
			u.w.Fail("%s is registered, and told that it is not: %s, cause %d", u.name, what, c)
		}
		u.forgotten("nobody knows it")
	default:
		if !u.mayLose() && c != n1.Cause5GSServicesNotAllowed && (!u.emergency || u.w.emergencies()) {
			u.w.Fail("%s: %s is rejected, cause %d", u.name, what, c)
		}
		u.forgotten("refused")
	}
}

// forgotten: the UE has nothing more of the network.
func (u *ue) forgotten(why string) {
	u.nas, u.coming, u.guti = nil, nil, n1.GUTI{}
	u.deregistered(why)
}

func (u *ue) configured(m *n1.ConfigurationUpdateCommand) {
	if m.GUTI != nil {
		u.guti = *m.GUTI
	}
	if len(m.Allowed) > 0 {
		u.allowed = slicesFrom(m.Allowed)
	}
	u.areas(m.TAIs)
	if m.Acknowledge {
		u.says(&n1.ConfigurationUpdateComplete{})
	}
}

// carried is a 5GSM message.
func (u *ue) carried(m *n1.DLNASTransport) {
	s := u.sessions[m.SessionID]
	switch {
	case m.Cause != 0:
		if s != nil && !s.active {
			delete(u.sessions, m.SessionID)
		}
	case len(m.Payload) == 4 && m.Payload[3] == smAccept:
		if s != nil {
			s.active = true
			if s.forbidden && u.emergency {
				u.w.Fail("%s is registered for emergency services, and gets session %d", u.name, m.SessionID)
			}
		}
	case len(m.Payload) == 4 && m.Payload[3] == smCommand:
		delete(u.sessions, m.SessionID)
		u.carry(m.SessionID, smReleaseEnd, 0)
	}
}
