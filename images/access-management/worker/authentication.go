package worker

import (
	"context"
	"encoding/json"
	"errors"

	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/sbi"
)

// challenged is what names an authentication to Confirm: who began it may have ended, and its shard with it, before the UE answers.
type challenged struct {
	Method   nausf.Method
	Resource sbi.Bound
}

var errChallenge = errors.New("a challenge that cannot be")

// challenge: TS 29.509 5.2.2.2.
func (s *Shard) challenge(ctx context.Context, e procedure.AskChallenge) procedure.Event {
	request := &nausf.Request{Identity: e.SUCI, Serving: plmnOf(e.PLMN)}
	if request.Identity == "" {
		request.Identity = e.SUPI
	}
	if len(e.AUTS) == 14 && len(e.RAND) == 16 {
		request.Resync = &nausf.Resync{RAND: [16]byte(e.RAND), AUTS: [14]byte(e.AUTS)}
	}
	out := procedure.Challenge{Number: e.Number}
	c, err := s.pod.AUSF.Authenticate(ctx, request)
	if out.Outcome, out.Cause = outcome(err); err != nil {
		s.complain("the AUSF has no challenge", err)
		return out
	}
	name, err := json.Marshal(challenged{c.Method, c.Resource})
	if err != nil {
		return procedure.Challenge{Number: e.Number, Outcome: procedure.Unknown}
	}
	out.Context = string(name)
	if c.Method == nausf.FiveGAKA {
		out.RAND, out.AUTN, out.HXRES = c.RAND[:], c.AUTN[:], c.HXRESStar[:]
	} else {
		out.EAP = c.EAP
	}
	return out
}

// confirm: TS 29.509 5.2.2.2, the UE's answer.
func (s *Shard) confirm(ctx context.Context, e procedure.AskConfirm) procedure.Event {
	out := procedure.Confirmed{Number: e.Number}
	var name challenged
	result, err := (*nausf.Result)(nil), json.Unmarshal([]byte(e.Context), &name)
	c := &nausf.Challenge{Method: name.Method, Resource: name.Resource}
	switch {
	case err != nil:
	case name.Method == nausf.EAPAKAPrime:
		result, err = s.pod.AUSF.EAP(ctx, c, e.EAP)
	case len(e.Response) == 16:
		result, err = s.pod.AUSF.Confirm(ctx, c, (*[16]byte)(e.Response))
	default:
		err = errChallenge
	}
	if out.Outcome, out.Cause = outcome(err); err != nil {
		s.complain("the AUSF confirms nothing", err)
		return out
	}
	out.Success, out.More, out.SUPI, out.EAP = result.Success, result.Ongoing, result.SUPI, result.EAP
	if result.Success {
		out.KSEAF = result.KSEAF[:]
	}
	return out
}
