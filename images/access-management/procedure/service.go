package procedure

import (
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/ngapcause"
)

// Service Request (TS 23.502 4.2.3.2, TS 24.501 5.6.1), and the answer to paging:
//
//	1,2   Service Request                              serve
//	3     authentication, where it has to be           svcSessions follows
//	4     SMFs: sessions that have packets, or for
//	      which the UE was paged; those that the UE
//	      has not any more end                         svcSessions
//	12    Service Accept, Initial Context Setup        svcAccept
//	      another 5G-GUTI, where it was paged          sayName (configuration.go)
//	15    the access network's tunnels                 contextSet, resources
//
// The UE may come by any gNB of the set, whether or not it still has a connection with another: that one is released.
// Refusals: 9 where nothing is kept of the UE, or its MAC is another (initial.go), 22 with T3346 in a storm, 12 and 11 where the place is not served.
const (
	svcSessions uint8 = 20
	svcAccept   uint8 = 21
)

var service = map[uint8]step{
	regIdentity:     {ask: askIdentity},
	regChallenge:    {ask: askChallenge, take: takeChallenge},
	regAuthenticate: {ask: askAuthentication},
	regConfirm:      {ask: askConfirm, take: takeConfirmed},
	regNamed:        {ask: askNamed, take: takeNamed},
	regSecurity:     {ask: askSecurity},
	svcSessions:     {ask: askSvcSessions},
	svcAccept:       {ask: askSvcAccept},
}

// Flags of a service request.
const (
	svcTold    uint16 = 1 << 8
	svcContext uint16 = 1 << 9  // the access network asks for a context
	svcAgain   uint16 = 1 << 10 // a new holder does again what the one before may have done
	svcPaged   uint16 = 1 << 14 // the UE answers paging; what is between is others'
)

// serve: steps 1 to 3.
func (t *turn) serve(m *n1.ServiceRequest, context, storm bool) {
	flags := uint16(0)
	if context {
		flags |= svcContext
	}
	if m.Service == n1.ServiceMobileTerminated {
		flags |= svcPaged
	}
	t.serveWith(m, flags)
	t.live.suci = ""
	t.notGoing()
	plmn := t.in.Settings.plmn(t.s.Place.PLMN)
	switch {
	case plmn == nil:
		t.refuseService(n1.CausePLMNNotAllowed, "the PLMN is not served")
	case !plmn.serves(t.s.Place.TAC) && !t.s.Emergency:
		t.refuseService(n1.CauseTrackingAreaNotAllowed, "the tracking area is not served")
	case storm && m.Service != n1.ServiceMobileTerminated && m.Service != n1.ServiceHighPriority && m.Service != n1.ServiceEmergency && !t.s.Emergency:
		t.refuseService(n1.CauseCongestion, "a storm")
	case t.mustProve():
		t.next(regChallenge)
	default:
		t.next(svcSessions)
	}
}

func (t *turn) serveWith(m *n1.ServiceRequest, flags uint16) {
	p := t.begin(Service)
	p.Flags = flags
	if b, err := n1.Encode(m); err == nil {
		p.Message = b
	}
}

// refuseService: TS 24.501 5.6.1.5. The UE stays registered: it says so by its own means where the cause wants that.
func (t *turn) refuseService(c n1.Cause, why string) {
	m := &n1.ServiceReject{Cause: c, Sessions: t.status()}
	if c == n1.CauseCongestion {
		m.T3346 = timer2(t.backoff())
	}
	t.tell(m)
	t.over(why)
	t.release(ngapcause.NormalRelease)
}

func (t *turn) serviceRequest() *n1.ServiceRequest {
	m, err := n1.Decode(t.s.Procedure.Message, n1.Uplink)
	if err == nil {
		if r, ok := m.(*n1.ServiceRequest); ok {
			return r
		}
	}
	return &n1.ServiceRequest{}
}

// Step 4.

func askSvcSessions(t *turn) {
	p := t.s.Procedure
	if p.Flags&svcTold == 0 {
		p.Flags |= svcTold
		m := t.serviceRequest()
		t.reconcile(m.Sessions)
		t.activate(t.wanted(m.UplinkData, m.Allowed))
	}
	if p.Sessions != 0 {
		return // the last answer comes back here
	}
	t.next(svcAccept)
}

// Step 12.

func askSvcAccept(t *turn) {
	p := t.s.Procedure
	m := t.serviceRequest()
	a := &n1.ServiceAccept{Sessions: t.status()}
	a.Reactivation, a.ReactivationErrors = t.reactivation(m.UplinkData)
	plain, err := n1.Encode(a)
	if err != nil {
		t.refuseService(n1.CauseProtocolErrorUnspecified, "the accept cannot be written")
		return
	}
	if p.Flags&svcAgain != 0 && t.commanded(n1.RegistrationAcceptType) { // that is what it waits for
		plain = t.s.Command.Message
	}
	renames := p.Flags&svcPaged != 0 && t.configurable()
	if renames { // before the access network hears when it is paged
		t.renameTemporarily(m.STMSI.TMSI)
	}
	setups, follow := t.setups(false), t.live.gathered
	if p.Flags&svcContext != 0 || len(setups) > 0 || t.s.N2.Set {
		t.bring(plain, setups)
	} else {
		t.downlink(t.protect(plain))
	}
	t.over("")
	for _, g := range follow {
		if g.n1 != nil {
			t.downlink(t.container(g.id, g.n1))
		}
	}
	t.deliverHeld()
	if renames {
		t.sayName()
	}
	t.catchUp()
}
