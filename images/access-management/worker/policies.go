package worker

import (
	"context"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// policy: TS 29.507 4.2. An association that the PCF has lost is made anew.
func (s *Shard) policy(ctx context.Context, e procedure.AskPolicy) procedure.Event {
	out := procedure.Policy{Number: e.Number}
	pcf, ue := s.pod.PCF, e.UE
	if pcf == nil {
		out.Outcome = procedure.Unsent
		return out
	}
	at := sbi.Bound{URI: ue.Policy}
	var decision npcf.Decision
	var err error
	switch e.Operation {
	case procedure.DeletePolicy:
		err = pcf.Delete(ctx, at)
	case procedure.UpdatePolicy:
		decision, at, err = pcf.Update(ctx, at, policyChange(ue))
		if !npcf.Gone(err) {
			break
		}
		fallthrough
	case procedure.CreatePolicy:
		at, decision, err = pcf.Create(ctx, s.policyUE(ue))
	}
	if out.Outcome, _ = outcome(err); err != nil {
		s.complain("the PCF has decided nothing", err, "supi", ue.SUPI)
		return out
	}
	out.URI, out.RFSP = at.URI, decision.RFSP
	if decision.AMBR != nil {
		out.Uplink, out.Downlink = uint64(decision.AMBR.Uplink), uint64(decision.AMBR.Downlink)
	}
	return out
}

func allowed(ue *record.UE) (out []ts29571.SNSSAI) {
	for _, a := range ue.Allowed {
		out = append(out, snssai(a))
	}
	return out
}

func (s *Shard) policyUE(ue *record.UE) *npcf.UE {
	serving, name := plmnOf(ue.Place.PLMN), guami(s.Settings())
	return &npcf.UE{
		NotificationURI: namf.PolicyURI(s.pod.URI, refOf(ue.SUPI)), SUPI: ue.SUPI, GPSI: ue.GPSI, PEI: ue.PEI, Access: access3GPP, RAT: radio,
		Location: locationOf(ue.Place), TimeZone: timeZone(s.Settings()), Serving: &serving, GUAMI: &name, RFSP: ue.RFSP, AMBR: ambr(ue.Uplink, ue.Downlink),
		Allowed: allowed(ue), Features: "0",
	}
}

// policyChange is what may have changed of a UE that registers again. What is said has its trigger (TS 29.507 5.6.2.4).
func policyChange(ue *record.UE) *npcf.Change {
	out := &npcf.Change{
		Triggers: []npcf.Trigger{npcf.LocationChange, npcf.AllowedNSSAIChange}, RFSP: ue.RFSP, AMBR: ambr(ue.Uplink, ue.Downlink),
		Location: locationOf(ue.Place), Allowed: allowed(ue),
	}
	if out.AMBR != nil {
		out.Triggers = append(out.Triggers, npcf.AMBRChange)
	}
	if out.RFSP != 0 {
		out.Triggers = append(out.Triggers, npcf.RFSPChange)
	}
	return out
}
