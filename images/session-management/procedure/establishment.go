package procedure

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
)

// PDU session establishment (TS 23.502 4.3.2.2.1, TS 24.501 6.4.1):
//
//	 3  Create SM Context                      establish
//	 4  subscription                           establishSubscription
//	 5  answer with the SM context's name      as soon as it is kept
//	 7  policy                                 establishPolicy
//	    charging (TS 32.255 5.2.2.2.2)         establishCharging
//	 8  UPF selection
//	10  N4 session                             establishUnit
//	11  accept to UE and access network        establishTransfer
//	14  the access network's tunnel            accessReady (connection.go)
//
// A session for emergency services (TS 23.501 5.16.4) has steps 3, 5, 8, 10 and 11: neither subscription nor PCF nor CHF are asked, and the UDM hears nothing.
//
// What goes wrong before step 5, which comes behind step 7, is answered with the reject for the UE; behind it, the reject is transferred and the AMF told that the context has
// ended (steps 11 and 18).
const (
	establishSubscription uint8 = 1
	establishPolicy       uint8 = 2
	establishUnit         uint8 = 3
	establishTransfer     uint8 = 4
	establishCharging     uint8 = 5 // before establishUnit
	// establishRemains: its address is another session's, so that the unit is to choose again. The count is in the record, in the place of a cause.
	establishRemains uint8 = 6
)

var establishment = map[uint8]step{
	establishSubscription: {ask: askSubscription, take: takeSubscription},
	establishPolicy:       {ask: askPolicy, take: takePolicy},
	establishUnit:         {ask: askEstablishment, take: takeEstablishment},
	establishTransfer:     {ask: askAccept, take: takeAccepted},
	establishCharging:     {ask: askOpening, take: takeOpening},
	establishRemains:      {ask: askAnchorDeletion, take: takeChosen},
}

// establishAgain is how often a unit may choose: it walks through its pool (TS 29.244 5.21.3.2), and few of it have been taken along elsewhere.
const establishAgain = 8

// accessTime is how long an access network may take to answer. UEs ask again after T3580, 16 s (TS 24.501 10.3).
const accessTime = 12 * time.Second

// acceptAgain is when an accept is transferred again of which nobody knows whether the AMF has taken it: another of its pods has the UE by then.
const acceptAgain = time.Second

// networkBackOff is what UEs are told to wait where the network is what failed (T3396).
const networkBackOff = 30 * time.Second

// storeBackOff is what they are told while the session store does not answer.
const storeBackOff = 4 * time.Second

func (t *turn) establish(c Create) {
	t.asker, t.create = c.From, &c
	request, refusal := readEstablishment(c)
	if refusal != nil {
		t.refuseCreate(*refusal)
		return
	}
	if c.Existing { // there is none: TS 24.501 6.4.1.4
		t.refuseCreate(refused(http.StatusNotFound, "CONTEXT_NOT_FOUND", request, n1.CauseSessionDoesNotExist))
		return
	}
	network, err := t.in.Config.DataNetwork(c.SST, c.SD, c.DNN)
	switch {
	case errors.Is(err, configuration.ErrUnknownSlice):
		t.refuseCreate(refused(http.StatusForbidden, "SNSSAI_DENIED", request, n1.CauseMissingOrUnknownDNNInSlice))
		return
	case err != nil:
		t.refuseCreate(refused(http.StatusForbidden, "DNN_NOT_SUPPORTED", request, n1.CauseMissingOrUnknownDNNInSlice))
		return
	}
	t.s = &record.Session{
		SUPI: c.SUPI, ID: c.ID, DNN: network.DNN, SST: c.SST, SD: c.SD, PLMN: c.PLMN, Slice: network.Slice, Phase: record.Establishing,
		CPSEID: t.in.Fresh(), AMF: c.AMF, RAT: c.RAT, Emergency: c.Emergency, Since: t.in.Now.UnixMilli(), Answered: &record.Answered{Digest: digest(c.N1)},
	}
	t.begin(Establishment, establishSubscription)
}

// createAgain: the session is there. The same request has the same answer; another one means that the UE has no session
// (TS 24.501 6.4.1.7 b), so the one that is there goes first.
func (t *turn) createAgain(c Create) {
	if isMadeFor(t.s, c) {
		t.asker = c.From
		t.heardFrom(c.AMF)
		t.reply(Created{Ref: t.s.Ref()})
		if t.acceptUnheard() {
			t.begin(Connection, connectAccept)
		}
		return
	}
	t.asker, t.create = c.From, &c
	t.end(endForAnother, 0)
}

// isMadeFor says of a session whether it is being made for that request.
func isMadeFor(s *record.Session, c Create) bool {
	return s.Phase == record.Establishing && s.Answered != nil && s.Answered.Digest == digest(c.N1)
}

// SaidAgain answers the request of the establishment that is under way, once that is kept: an AMF whose pod has died asks again, and takes no transfer of the session before
// it has its name, for which the procedure waits. Nothing else comes of it; nil: the event is something else.
func SaidAgain(s State, e Event) []Effect {
	c, is := e.(Create)
	if rec := s.Record; is && rec != nil && s.Create == nil && rec.AMF.InstanceID == c.AMF.InstanceID && isMadeFor(rec, c) {
		return []Effect{Reply{To: c.From, Body: Created{Ref: rec.Ref()}}}
	}
	return nil
}

func readEstablishment(c Create) (*n1.EstablishmentRequest, *Failed) {
	m, err := n1.Decode(c.N1)
	if err != nil {
		f := Failed{Status: http.StatusForbidden, Cause: "N1_SM_ERROR", Detail: err.Error()}
		var fault *n1.Fault
		if errors.As(err, &fault) && !fault.Ignore {
			f.N1 = (&n1.EstablishmentReject{SessionID: c.ID, PTI: fault.Header.PTI, Cause: fault.Cause}).Encode()
		}
		return nil, &f
	}
	request, ok := m.(*n1.EstablishmentRequest)
	if !ok || request.SessionID != c.ID {
		return nil, &Failed{Status: http.StatusForbidden, Cause: "N1_SM_ERROR", Detail: "the N1 container is no PDU Session Establishment Request of this session"}
	}
	if request.SSCMode > 1 {
		return nil, &Failed{Status: http.StatusForbidden, Cause: "SSC_NOT_SUPPORTED", Detail: "SSC mode 1 is what there is", N1: (&n1.EstablishmentReject{
			SessionID: c.ID, PTI: request.PTI, Cause: n1.CauseUnsupportedSSCMode, AllowedSSCModes: []uint8{1},
		}).Encode()}
	}
	return request, nil
}

// refused is the answer to a Create with the reject that the UE is given.
func refused(status int, cause string, request *n1.EstablishmentRequest, told n1.Cause) Failed {
	return refusedFor(status, cause, request, told, backOffOf(told))
}

// refusedFor so long; 0: the UE is not told how long.
func refusedFor(status int, cause string, request *n1.EstablishmentRequest, told n1.Cause, backOff time.Duration) Failed {
	reject := n1.EstablishmentReject{SessionID: request.SessionID, PTI: request.PTI, Cause: told, BackOff: backOff}
	return Failed{Status: status, Cause: cause, N1: reject.Encode()}
}

// backOffOf a cause: 0 where it is not the network that failed.
func backOffOf(told n1.Cause) time.Duration {
	if told == n1.CauseInsufficientResources || told == n1.CauseNetworkFailure {
		return networkBackOff
	}
	return 0
}

// refuseCreate: nothing is kept, nothing is to be undone.
func (t *turn) refuseCreate(f Failed) {
	t.reply(f)
	if t.s != nil {
		t.gone(f.Cause)
		return
	}
	t.ended(Establishment, f.Cause, t.in.Now.UnixMilli())
	t.create = nil
}

// Step 4.

func askSubscription(t *turn) {
	if t.create == nil { // a new holder finds no record of this step: it was never written
		t.gone("lost")
		return
	}
	if t.s.Emergency { // TS 23.501 5.16.4.6: what the Slice says is what there is
		takeSubscription(t, Subscription{})
		return
	}
	t.out.Lazy = true
	t.do(t.question())
}

func takeSubscription(t *turn, e Event) {
	sub, ok := e.(Subscription)
	if !ok || t.create == nil {
		return
	}
	request, _ := readEstablishment(*t.create) // it was read before
	network := t.network()
	switch {
	case sub.Unknown:
		t.refuseCreate(refused(http.StatusForbidden, "SUBSCRIPTION_DENIED", request, n1.CauseServiceOptionNotSubscribed))
		return
	case sub.Failed:
		t.refuseCreate(refused(http.StatusGatewayTimeout, "PEER_NOT_RESPONDING", request, n1.CauseNetworkFailure))
		return
	case network == nil:
		t.refuseCreate(refused(http.StatusForbidden, "DNN_NOT_SUPPORTED", request, n1.CauseMissingOrUnknownDNNInSlice))
		return
	}
	kind, cause := sessionType(request.Type, allowed(network.Types, sub.Types))
	if kind == 0 {
		t.refuseCreate(refused(http.StatusForbidden, "PDUTYPE_NOT_SUPPORTED", request, cause))
		return
	}
	t.s.Type = kind
	t.s.AlwaysOn = network.AlwaysOn.Grants(request.AlwaysOn)
	if configuration.HasIPv6(kind) {
		t.in.Random(t.s.InterfaceID[:])
		t.s.InterfaceID[0] &^= 2 // not universally administered (RFC 4291 2.5.1)
		t.s.InterfaceID[7] |= 1  // never the router's
	}
	t.s.IPv4, t.s.IPv6 = staticAddresses(kind, sub)
	t.s.Static = t.s.IPv4.IsValid() || t.s.IPv6.IsValid()
	t.s.Subscribed = sub.Flows
	t.s.Routes = framedRoutes(kind, sub)
	t.s.Decided, t.s.Subscription = subscribed(sub), sub.Digest()
	newQoS(t.s, network)
	if why := t.tooManyRoutes(); why != "" {
		t.refuseRoutes("too many framed routes", why, request)
		return
	}
	want := configuration.Want{TAC: t.s.AMF.TAC, Type: kind, IPv4: t.s.IPv4, IPv6: t.s.IPv6, Routes: t.s.Routes, Lot: t.lot()}
	unit, err := t.in.Config.Select(network, want, t.in.Live) // step 8
	none := (*configuration.Unavailable)(nil)
	if errors.As(err, &none) && t.noneFor(none.Reason) {
		t.refuseRoutes("no UPF takes framed routes", err.Error(), request)
		return
	}
	if none != nil && none.Reason == configuration.Overloaded {
		t.leaveOut(err.Error(), request)
		return
	}
	if err != nil {
		f := refused(http.StatusInternalServerError, "INSUFFICIENT_RESOURCES_SLICE_DNN", request, n1.CauseInsufficientResources)
		f.Detail = err.Error()
		if none != nil && none.Reason == configuration.NoneNear { // which is counted as that
			t.reply(f)
			t.gone(none.Reason.String())
			return
		}
		t.refuseCreate(f)
		return
	}
	t.s.Unit = record.Unit{NodeID: unit.NodeID, Address: unit.Address.Addr()}
	t.s.Procedure.PTI, t.s.Procedure.Message = request.PTI, t.create.N1
	if network.Policy {
		t.next(establishPolicy)
		return
	}
	t.created()
	t.open()
}

// created: step 5. The record is written before that is answered.
func (t *turn) created() {
	t.create = nil
	t.reply(Created{Ref: t.s.Ref()})
}

// open charging, where something is charged, and then the N4 session.
func (t *turn) open() {
	if t.measure(); t.s.Usage != nil {
		t.next(establishCharging)
		return
	}
	t.next(establishUnit)
}

// allowed by Slice and subscription, in the subscription's order where it has one.
func allowed(slice, subscribed []n1.SessionType) []n1.SessionType {
	if len(subscribed) == 0 {
		return slice
	}
	var both []n1.SessionType
	for _, kind := range subscribed {
		if slices.Contains(slice, kind) {
			both = append(both, kind)
		}
	}
	return both
}

// staticAddresses of the subscription, as far as the session's type has them.
func staticAddresses(kind n1.SessionType, sub Subscription) (v4 netip.Addr, v6 netip.Prefix) {
	if configuration.HasIPv4(kind) {
		v4 = sub.IPv4
	}
	if configuration.HasIPv6(kind) {
		v6 = sub.IPv6
	}
	return v4, v6
}

// sessionType chooses by TS 23.501 5.8.2.2.1; 0 with the cause of the reject where there is none.
func sessionType(asked n1.SessionType, allowed []n1.SessionType) (n1.SessionType, n1.Cause) {
	has := func(kind n1.SessionType) bool { return slices.Contains(allowed, kind) }
	v4, v6 := has(n1.IPv4) || has(n1.IPv4v6), has(n1.IPv6) || has(n1.IPv4v6)
	switch {
	case len(allowed) == 0:
		return 0, n1.CauseServiceOptionNotSubscribed
	case asked == 0:
		return allowed[0], 0
	case asked == n1.Ethernet && has(n1.Ethernet):
		return n1.Ethernet, 0
	case asked == n1.IPv4v6 && has(n1.IPv4v6), asked == n1.IPv4 && v4, asked == n1.IPv6 && v6:
		return asked, 0
	case asked == n1.IPv4v6 && v4:
		return n1.IPv4, 0 // the accept says CauseIPv4Only
	case asked == n1.IPv4v6 && v6:
		return n1.IPv6, 0
	case asked == n1.IPv6 && v4:
		return 0, n1.CauseIPv4Only
	case asked == n1.IPv4 && v6:
		return 0, n1.CauseIPv6Only
	}
	return 0, onlyOf(allowed)
}

// Step 7. Nothing is kept before the PCF has answered: an association that it has made for a holder that has died then nobody knows, and it ends with the UE's next one
// (TS 29.512 4.2.2.2).

func askPolicy(t *turn) {
	t.out.Lazy = t.create != nil // else it is a record of a program that kept one before
	t.do(AskPolicy{Operation: CreatePolicy, Session: t.s.Clone()})
}

func takePolicy(t *turn, e Event) {
	p, ok := e.(Policy)
	if !ok {
		return
	}
	switch p.Outcome {
	case Done:
	case Refused: // the PCF has decided
		t.refusePolicy(http.StatusForbidden, "REQUEST_REJECTED", "policy refused", n1.CauseRejectedUnspecified)
		return
	default: // it may have an association that nobody knows, as above
		t.refusePolicy(http.StatusGatewayTimeout, "PEER_NOT_RESPONDING", "no answer of the PCF", n1.CauseNetworkFailure)
		return
	}
	if t.create != nil {
		t.created()
	}
	t.s.Policy = p.URI
	t.s.Decided = and(t.s.Decided, p.Decided)
	if p.Flows != nil {
		t.s.Subscribed = p.Flows
	}
	if p.Ends {
		t.rejectEstablishment("policy refused", n1.CauseRejectedUnspecified)
		return
	}
	t.failed(t.rule(p.Ruling)...)
	if network := t.network(); network != nil { // else the next step says so
		newQoS(t.s, network)
	}
	t.open()
}

// refusePolicy: why is what is counted.
func (t *turn) refusePolicy(status int, cause, why string, told n1.Cause) {
	if t.create == nil {
		t.rejectEstablishment(why, told)
		return
	}
	request, _ := readEstablishment(*t.create) // it was read before
	f := refused(status, cause, request, told)
	f.Detail = why
	t.reply(f)
	t.gone(why)
}

// Step 10.

func askEstablishment(t *turn) {
	network := t.network()
	if network == nil {
		t.rejectEstablishment("the data network is gone", n1.CauseMissingOrUnknownDNNInSlice)
		return
	}
	ies, err := n4.Establishment(t.s, network.SettingsAt(t.s.Unit.NodeID))
	if err != nil {
		t.rejectEstablishment(err.Error(), n1.CauseNetworkFailure)
		return
	}
	// The unit chooses all that it gives, so that a session which nobody will know takes nothing from another.
	t.out.Ahead = !t.s.Static && len(t.s.Routes) == 0
	t.do(AskUnit{Operation: Establish, Unit: t.s.Unit, CPSEID: t.s.CPSEID, IEs: ies})
}

func takeEstablishment(t *turn, e Event) {
	u, ok := e.(Unit)
	if !ok {
		return
	}
	switch u.Outcome {
	case Done:
		if err := n4.Established(t.s, u.Established); err != nil {
			t.rejectEstablishment(err.Error(), n1.CauseNetworkFailure)
			return
		}
		t.measures()
		if !t.s.Static && t.s.Type != n1.Ethernet {
			t.happened(TriggerAddress)
		}
		t.next(establishTransfer)
	case Refused:
		t.rejectEstablishment("the UPF refused", n1.CauseInsufficientResources)
	default:
		t.rejectEstablishment("no answer of the UPF", n1.CauseNetworkFailure)
	}
}

// addressTaken: what the event has brought is another session's. An address of the subscription cannot be had; a unit chooses another one.
func (t *turn) addressTaken(e Event) {
	u, ok := e.(Unit)
	static4, static6 := t.s.IPv4, t.s.IPv6
	switch {
	case t.create != nil: // nobody has heard of it
		request, _ := readEstablishment(*t.create)
		f := refused(http.StatusInternalServerError, "INSUFFICIENT_RESOURCES_SLICE_DNN", request, n1.CauseInsufficientResources)
		f.Detail = "the subscriber's static address is another session's"
		if p, is := e.(Policy); is {
			left := t.s.Clone()
			left.Policy = p.URI
			t.do(AskPolicy{Operation: DeletePolicy, Session: left})
		}
		t.refuseCreate(f)
	case ok && Kind(t.s.Procedure.Kind) == Establishment && n4.Established(t.s, u.Established) == nil:
		t.s.IPv4, t.s.IPv6, t.s.Uplink = static4, static6, record.Tunnel{}
		t.s.Procedure.Cause++
		t.next(establishRemains)
	default:
		t.out.Refused = "the address is another session's"
	}
}

// takeChosen: what the unit chose is given back.
func takeChosen(t *turn, e Event) {
	u, ok := e.(Unit)
	switch {
	case !ok:
	case u.Outcome != Done && u.Outcome != Refused:
		t.rejectEstablishment("no answer of the UPF", n1.CauseNetworkFailure)
	case t.s.Procedure.Cause >= establishAgain:
		t.rejectEstablishment("every address that the UPF chose is another session's", n1.CauseInsufficientResources)
	default:
		t.s.UPSEID = 0
		t.s.Usage.Number()
		t.next(establishUnit)
	}
}

// Step 11.

func askAccept(t *turn) {
	t.dropUnknown()
	accept, err := t.accept()
	if err != nil {
		t.rejectEstablishment(err.Error(), n1.CauseNetworkFailure)
		return
	}
	setup, err := t.setupRequest()
	if err != nil {
		t.rejectEstablishment(err.Error(), n1.CauseNetworkFailure)
		return
	}
	t.transfer(AskTransfer{N1: accept, N2: setup, N2Type: n2.InfoSetupRequest})
}

// dropUnknown: flows that the Slice has lost since step 4 are nobody's. The unit hears of it with the access network's tunnel.
func (t *turn) dropUnknown() {
	network := t.network()
	if network == nil || !slices.ContainsFunc(t.s.Flows[1:], func(f record.Flow) bool { return !f.Refused && network.Flow(f.Name) == nil }) {
		return
	}
	t.change(func(s *record.Session) {
		for n := 1; n < len(s.Flows); n++ {
			if network.Flow(s.Flows[n].Name) == nil {
				s.Flows[n].Refused = true
			}
		}
	})
}

func takeAccepted(t *turn, e Event) {
	x, ok := e.(Transferred)
	if !ok {
		return
	}
	if x.Outcome == Refused || x.Outcome == NotSent { // nobody has the accept
		t.over("the AMF did not take it: " + x.Cause)
		t.end(endWithNotice, 0)
		return
	}
	wait := accessTime
	if x.Outcome == Unknown { // it may be done: the access network will say so, or be silent
		wait = t.unheardAccept()
	}
	t.over("")
	t.due(dueAccess, wait)
	t.register(false)
	t.watch()
	t.out.Soon = x.Outcome == Done // the access network's tunnel
}

// unheardAccept keeps the accept of which nobody knows whether the AMF has taken it, for it was asked by a pod that has died since, say, and returns when it is to be
// transferred again: what the UE's access network has answered comes sooner, from another of its pods.
func (t *turn) unheardAccept() time.Duration {
	accept, err := t.accept()
	if err != nil || t.s.Answered == nil {
		return accessTime
	}
	t.s.Answered = &record.Answered{Digest: t.s.Answered.Digest, Answer: accept, At: t.in.Now.UnixMilli()}
	return acceptAgain
}

// acceptUnheard says whether the accept is to be transferred again: to an AMF that brings it once (TS 29.518 5.2.2.3.1), since it knows whether there is a tunnel.
func (t *turn) acceptUnheard() bool {
	a := t.s.Answered
	return t.s.Phase == record.Establishing && a != nil && a.Answer != nil && t.in.Now.UnixMilli()-a.At < accessTime.Milliseconds()
}

// acceptHeard: it need not be kept.
func (t *turn) acceptHeard() {
	if a := t.s.Answered; t.s.Phase == record.Establishing && a != nil && a.Answer != nil {
		t.s.Answered = &record.Answered{Digest: a.Digest}
	}
}

func askAcceptAgain(t *turn) {
	setup, err := t.setupRequest()
	switch {
	case err != nil:
		t.over(err.Error())
		t.due(dueAccess, accessTime)
		return
	case !t.acceptUnheard(): // the holder before has died, and it is too late
		t.over("no answer of the AMF")
		t.due(dueAccess, accessTime)
		return
	}
	t.transfer(AskTransfer{N1: t.s.Answered.Answer, N2: setup, N2Type: n2.InfoSetupRequest})
}

func takeAcceptAgain(t *turn, e Event) {
	x, ok := e.(Transferred)
	switch {
	case !ok:
	case x.Outcome == Done:
		t.acceptHeard()
		t.due(dueAccess, accessTime)
		t.over("")
	case x.Outcome == Refused && !x.Later:
		t.over("the AMF did not take it: " + x.Cause)
		t.end(endWithNotice, 0)
	default:
		t.due(dueAccess, acceptAgain)
		t.over("no answer of the AMF")
	}
}

// register the session with the UDM, or that it has gone.
func (t *turn) register(gone bool) {
	if !t.s.Emergency {
		t.do(TellRegistration{SUPI: t.s.SUPI, DNN: t.s.DNN, PLMN: t.s.PLMN, ID: t.s.ID, SST: t.s.SST, SD: t.s.SD, Gone: gone})
	}
}

// rejectEstablishment undoes what was done since step 5, and tells the UE.
func (t *turn) rejectEstablishment(why string, told n1.Cause) {
	pti := t.s.Procedure.PTI
	t.over(why)
	reject := n1.EstablishmentReject{SessionID: t.s.ID, PTI: pti, Cause: told, BackOff: backOffOf(told)}
	t.endTelling(reject.Encode())
}
