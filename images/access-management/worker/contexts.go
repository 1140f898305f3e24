package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
	"core5g.dev/core5g/images/nf/ts29571"
)

// UEs that come from other AMFs, and go to them (procedure/other.go).

var _ namf.Contexts = requests{}

const namedByGUTI = "5g-guti-"

// gutiName is a 5G-GUTI in a path (TS 29.518 6.1.3.2.2).
func gutiName(g n1.GUTI) string {
	return fmt.Sprintf("%s%s%s%08x", namedByGUTI, g.PLMN.Digits(), amfID(g.Region, g.Set, g.Pointer), g.TMSI)
}

func amfID(region uint8, set uint16, pointer uint8) string {
	return fmt.Sprintf("%06x", uint32(region)<<16|uint32(set&0x3ff)<<6|uint32(pointer&0x3f))
}

// temporaryOf is the 5G-TMSI of a 5G-GUTI in a path, where that is this set's; 0: it is not, or none.
func temporaryOf(name string, s *procedure.Settings) uint32 {
	const amf, tmsi = 6, 8
	digits, is := strings.CutPrefix(name, namedByGUTI)
	if !is || s == nil || len(digits) < 5+amf+tmsi || len(digits) > 6+amf+tmsi {
		return 0
	}
	id, err := strconv.ParseUint(digits[len(digits)-amf-tmsi:len(digits)-tmsi], 16, 32)
	n, failed := strconv.ParseUint(digits[len(digits)-tmsi:], 16, 32)
	if err != nil || failed != nil || uint8(id>>16) != s.Region || uint16(id>>6&0x3ff) != s.Set {
		return 0
	}
	return uint32(n)
}

// askNamed asks a UE by its SUPI, or by its 5G-GUTI.
func (r requests) askNamed(ctx context.Context, ue string, event func(procedure.Token) procedure.Event) (any, error) {
	if !strings.HasPrefix(ue, namedByGUTI) {
		return r.ask(ctx, ue, event)
	}
	tmsi := temporaryOf(ue, r.pod.Settings())
	if n := record.ShardOfTMSI(tmsi); n == 0 || n > r.pod.Shards {
		return nil, errNoUE
	}
	s := r.pod.shard(record.ShardOfTMSI(tmsi))
	if s == nil {
		return nil, r.pod.movesTo(ctx, record.ShardOfTMSI(tmsi))
	}
	body, err := r.askShard(ctx, s, func(t procedure.Token) { s.runner.DeliverTo(tmsi, event(t)) })
	if to, is := body.(moved); is {
		knownAs(ctx, to.supi)
		return r.ask(ctx, to.supi, event)
	}
	return body, err
}

// TransferContext implements namf.Contexts: steps 4 and 5 of TS 23.502 4.2.2.2.2.
func (r requests) TransferContext(ctx context.Context, ue string, t *namf.TransferContext) (*namf.TransferredContext, error) {
	proven := t.Reason == "MOBI_REG_UE_VALIDATED"
	if !proven && len(t.Registration) == 0 {
		return nil, &namf.Refused{Cause: namf.IntegrityCheckFailed, Detail: "regRequest: write the UE's request, by which it shows who it is"}
	}
	body, err := r.askNamed(ctx, ue, func(token procedure.Token) procedure.Event {
		e := procedure.Lend{From: token}
		if !proven {
			e.NAS = t.Registration
		}
		return e
	})
	if err != nil {
		return nil, err
	}
	lent, ok := body.(procedure.Lent)
	if !ok {
		return nil, unexpected(body)
	}
	return &namf.TransferredContext{UE: contextOf(lent.UE)}, nil
}

// contextOf a UE for another AMF. The key is one that leads back to none of ours (TS 33.501 6.9.3), and COUNTs begin anew with it.
func contextOf(u *record.UE) namf.UEContext {
	out := namf.UEContext{SUPI: u.SUPI, PEI: u.PEI, UsedRFSP: u.RFSP, AMBR: ambr(u.Uplink, u.Downlink), PolicyURI: u.Policy}
	if u.GPSI != "" {
		out.GPSIs = []string{u.GPSI}
	}
	if x := u.Security; x != nil {
		key := security.AMFPrimeKey(security.Key(x.Key), n1.Uplink, max(x.Uplink, 1)-1)
		out.Security = &namf.Security{KSI: x.Identifier, KAMF: key[:], Derived: true, ChangeWanted: true}
		var none uint32
		out.Mobility = []namf.Mobility{{
			Access: access3GPP, Integrity: fmt.Sprintf("NIA%d", x.Integrity), Ciphering: fmt.Sprintf("NEA%d", x.Ciphering), Downlink: &none, Uplink: &none, Capability: u.Ability,
		}}
		for _, s := range u.Allowed {
			out.Mobility[0].Allowed = append(out.Mobility[0].Allowed, snssai(s))
		}
	}
	for _, s := range u.Sessions {
		if s.Context == "" {
			continue
		}
		uri, _ := record.UnmarkContext(s.Context)
		slice := snssai(s.Slice)
		out.Sessions = append(out.Sessions, namf.Session{SessionID: s.ID, Ref: uri, SNSSAI: &slice, DNN: s.DNN, Access: access3GPP, SMFInstanceID: s.SMF})
	}
	return out
}

// UpdateRegistration implements namf.Contexts: step 10.
func (r requests) UpdateRegistration(ctx context.Context, ue string, u *namf.RegistrationUpdate) error {
	_, err := r.askNamed(ctx, ue, func(t procedure.Token) procedure.Event {
		return procedure.LeftFor{From: t, Taken: u.Transferred, Release: u.Release, PolicyMoved: u.PolicyMoved}
	})
	return err
}

// CreateContext implements namf.Contexts. A UE that is handed over by a gNB of another AMF registers when it has come.
func (r requests) CreateContext(context.Context, string, *namf.CreateContext) (*namf.CreatedContext, error) {
	return nil, &namf.Refused{Cause: namf.HandoverFailure, Detail: "handover between AMFs is not served: the UE registers where it comes"}
}

// ReleaseContext implements namf.Contexts.
func (r requests) ReleaseContext(context.Context, string, *namf.ReleaseContext) error { return errNoUE }

// RelocateContext implements namf.Contexts.
func (r requests) RelocateContext(context.Context, string, *namf.CreateContext) (*namf.CreatedContext, error) {
	return nil, &namf.Refused{Cause: namf.NotImplemented, Detail: "relocation of UE contexts is not served"}
}

// CancelRelocation implements namf.Contexts.
func (r requests) CancelRelocation(context.Context, string, *namf.ReleaseContext) error {
	return errNoUE
}

// AssignEBI implements namf.Contexts: there is no EPS that a session could move to.
func (r requests) AssignEBI(context.Context, string, *namf.EBIs) (*namf.AssignedEBIs, error) {
	return nil, &namf.Refused{Cause: namf.EBIRejectedNoN26, Detail: "there is no EPS"}
}

// servedBy is the AMF that gave a 5G-GUTI.
func servedBy(g n1.GUTI) namf.AMF {
	return namf.AMF{GUAMI: &ts29571.GUAMI{PLMN: ts29571.PLMN{MCC: g.PLMN.MCC(), MNC: g.PLMN.MNC()}, AMFID: amfID(g.Region, g.Set, g.Pointer)}}
}

// other asks the AMF that gave a 5G-GUTI for its UE.
func (s *Shard) other(ctx context.Context, e procedure.AskOther) procedure.Event {
	reason := "MOBI_REG"
	if e.Initial {
		reason = "INIT_REG"
	}
	got, err := s.pod.Callbacks.TransferContext(ctx, servedBy(e.GUTI), gutiName(e.GUTI), &namf.TransferContext{Reason: reason, Access: access3GPP, Registration: e.NAS})
	out := procedure.Other{Number: e.Number}
	if out.Outcome, _ = outcome(err); err != nil {
		s.log.Info("another AMF does not give its UE", "guti", e.GUTI, "err", err)
		return out
	}
	u := got.UE
	out.SUPI, out.PEI = u.SUPI, u.PEI
	if u.Unauthenticated {
		out.SUPI = ""
	}
	if len(u.GPSIs) > 0 {
		out.GPSI = u.GPSIs[0]
	}
	for _, x := range u.Sessions {
		if x.SNSSAI == nil || x.DNN == "" || x.Access != "" && x.Access != access3GPP {
			continue
		}
		slice, ok := sliceOf(*x.SNSSAI)
		if !ok || !strings.HasPrefix(x.Ref, "http") {
			continue
		}
		out.Sessions = append(out.Sessions, record.Session{ID: x.SessionID, Slice: slice, DNN: x.DNN, SMF: x.SMFInstanceID, Context: record.MarkContext(x.Ref, s.mark())})
	}
	return out
}

// told: that AMF hears whether the UE is here now. Its policy association is not taken over.
func (s *Shard) told(ctx context.Context, e procedure.TellOther) {
	err := s.pod.Callbacks.UpdateRegistration(ctx, servedBy(e.GUTI), gutiName(e.GUTI), &namf.RegistrationUpdate{Transferred: e.Taken, PolicyMoved: e.Taken})
	if err != nil {
		s.log.Warn("another AMF has not heard what has become of its UE", "guti", e.GUTI, "taken", e.Taken, "err", err)
	}
}
