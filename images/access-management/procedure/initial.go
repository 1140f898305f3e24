package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// A UE's first message on a connection (TS 24.501 5.3.1, TS 23.502 4.2.2.2.2 step 1, 4.2.3.2 step 2). It is a Registration Request, a Service Request, or a
// Deregistration Request. Whoever it says to be is believed when it is protected by the context of that one; otherwise nothing that is kept
// is touched:
//
//	Registration Request     handled as a stranger's: identified, authenticated, and who it turns out to be takes over what is kept (Named)
//	Service Request          refused with cause 9, and the UE registers
//	Deregistration Request   of no consequence
func (t *turn) initial(e Initial) {
	m, plain, protected := t.readInitial(e.Message.NAS)
	known := t.s != nil
	switch m := m.(type) {
	case *n1.RegistrationRequest:
		if known && (!protected || t.outgrows(m)) {
			t.out.Stranger = true
			return
		}
		if known && t.s.Phase == record.Leaving { // it is on its way out, and comes in again when it is out
			t.out.Later = true
			return
		}
		if !known {
			t.s = &record.UE{Shard: t.in.Shard, Phase: record.Deregistered}
		}
		t.abandon()
		t.attach(e)
		t.s.N2.Secured = protected && !t.mustProve()
		t.live.nas, t.live.challenged = slices.Clone(e.Message.NAS), e.At.AMF != 0
		t.register(m, plain, protected, e.Storm)
	case *n1.ServiceRequest:
		if !known || !protected || t.s.Phase == record.Deregistered {
			t.turnAway(e, &n1.ServiceReject{Cause: n1.CauseIdentityCannotBeDerived})
			return
		}
		if t.s.Phase == record.Leaving {
			t.comeToLeave(e)
			return
		}
		t.abandon()
		t.attach(e)
		t.s.N2.Secured = !t.mustProve()
		t.serve(m, e.Message.ContextRequest, e.Storm)
	case *n1.DeregistrationRequestFromUE:
		if !known || !protected {
			t.turnAway(e, nil)
			return
		}
		t.abandon()
		t.attach(e)
		t.s.N2.Secured = !t.mustProve()
		t.deregisteredByUE(m)
	case nil:
		t.turnAway(e, nil)
	default: // TS 24.501 7.4
		t.turnAway(e, &n1.Status{Cause: n1.CauseMessageTypeNotCompatible})
	}
}

// comeToLeave: a UE that is to be deregistered has come, and is told. One for which nothing can be ciphered hears that it is not registered, and does what it
// would have to.
func (t *turn) comeToLeave(e Initial) {
	if t.mustProve() {
		t.turnAway(e, &n1.ServiceReject{Cause: n1.CauseImplicitlyDeregistered})
		t.paged()
		t.deregistrationAccepted()
		return
	}
	t.attach(e)
	t.s.N2.Secured = true
	t.deregisterReached()
}

// abandon what is under way, since the UE has begun anew: what it has not answered, and what it waited for, is of before (TS 24.501 5.5.1.2.8 d, e, f).
func (t *turn) abandon() {
	if t.s.Procedure != nil && t.doing() != Deregistration {
		t.drop("the UE has begun anew")
	}
	t.dropCommand()
	if t.s.Handover != nil {
		t.handoverOver("the UE has begun anew")
	}
	t.paged()
}

// connectionOf a first message, with its AMF UE NGAP ID: a new one, unless its access network may have been told one.
func (t *turn) connectionOf(e Initial) record.Attachment {
	at := e.At
	at.RAN = uint32(e.Message.RAN)
	if at.AMF == 0 {
		at.AMF = t.in.Attachment()
	}
	return at
}

// turnAway a UE of which nothing is kept, or that has not shown to be the one that is: it is told, and let go of.
func (t *turn) turnAway(e Initial, m n1.Message) {
	at := t.connectionOf(e)
	if m != nil {
		if b, err := n1.Encode(m); err == nil {
			t.says(n1.Downlink, b)
			t.do(Send{To: at, Message: &n2.DownlinkNASTransport{UE: ids(&at), NAS: b}})
		}
	}
	t.do(Send{To: at, Message: releaseCommand(&at, ngapcause.NormalRelease)})
	t.out.Refused = "the UE has shown no context that is kept"
}
