package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
)

// Begins says whether an event comes from somebody who asks again.
func Begins(e Event) bool {
	switch e.(type) {
	case Initial, Transfer, End, PolicyChanged, Reach, Locate, Watch, Rewatch, Unwatch, Lend, LeftFor:
		return true
	}
	return false
}

// notNow is what those hear whose UE cannot be looked at.
func notNow(why string) Failed {
	return Failed{Status: http.StatusServiceUnavailable, Cause: "NF_CONGESTION", Detail: why, RetryAfter: 1}
}

// Decline an event whose UE cannot be looked at now, since the store does not answer: nothing is said that is not known. A UE is told to come later (cause
// 22, T3346): what is said without protection makes it wait longer than it is told (TS 24.501 5.5.1.2.5).
func Decline(in Input, e Event, why string) []Effect {
	if i, ok := e.(Initial); ok {
		t := &turn{in: in}
		var m n1.Message
		switch kind, _ := n1.TypeOf(unwrapped(i.Message.NAS)); kind {
		case n1.RegistrationRequestType:
			m = &n1.RegistrationReject{Cause: n1.CauseCongestion, T3346: timer2(t.backoff())}
		case n1.ServiceRequestType:
			m = &n1.ServiceReject{Cause: n1.CauseCongestion, T3346: timer2(t.backoff())}
		}
		t.turnAway(i, m)
		return t.out.Effects
	}
	if to := From(e); to != 0 {
		return []Effect{Reply{To: to, Body: notNow(why)}}
	}
	return nil
}

// unwrapped is what stands in an envelope that is not ciphered.
func unwrapped(nas []byte) []byte {
	if e, err := n1.ReadEnvelope(nas); err == nil {
		return e.Payload
	}
	return nas
}

// Unanswered are replies that say that what was asked for did not happen, to those whom the effects would have answered. A UE hears nothing, and says it again.
func Unanswered(effects []Effect) []Effect {
	var out []Effect
	for _, e := range effects {
		if r, ok := e.(Reply); ok {
			out = append(out, Reply{To: r.To, Body: notNow("the record was not written")})
		}
	}
	return out
}

// Associated says whether a UE is on an association, or was and has not been let go of: those of a group are visited when it ends.
func Associated(u *record.UE, terminator string, association uint64) bool {
	on := func(a record.Attachment) bool { return a.Terminator == terminator && a.Association == association }
	return u.N2 != nil && on(*u.N2) || slices.ContainsFunc(u.Left, on) || u.Handover != nil && on(u.Handover.Target)
}
