package reports

import (
	"errors"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// obey does what the answer to a Session Report Request asks for (TS 29.244 7.5.9): Update BAR, and
// DROBU among its flags. The caller has locked the session.
func (r *Reports) obey(s *leases.Session, answer *pfcp.Message) {
	next, rulesChanged := s.Session, false
	for _, e := range answer.Elements.All(ie.UpdateBARWithinSessionReportResponse) {
		bar, err := s.Rules.UpdateInReportResponse(&e)
		if err != nil || bar == nil {
			r.o.Log.Warn("Update BAR in a Session Report Response is not carried out", "seid", pfcp.Hex(s.UPSEID), "err", err)
			continue
		}
		if !rulesChanged {
			next.Rules, rulesChanged = s.Rules.Clone(), true
		}
		next.Rules.BARs.Put(bar.ID, bar)
	}
	t := dataplane.NewBatch()
	if e := answer.Elements.First(ie.PFCPSRRspFlags); e != nil && len(e.Value) > 0 && e.Value[0]&srrspDROBU != 0 {
		t.DropBuffered(s.Index)
	}
	if rulesChanged {
		blob, err := r.o.Compile(t, s.Index, &next)
		if err != nil {
			r.o.Log.Error("session cannot be stored", "seid", pfcp.Hex(s.UPSEID), "err", err)
			return
		}
		defer s.Become(&next, blob) // when upf-u was lost, the replay brings it
	}
	conn := r.o.Link.Current()
	if t.Records() == 0 || conn == nil {
		return
	}
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		r.o.Log.Error("what a Session Report Response asks for is refused", "seid", pfcp.Hex(s.UPSEID), "err", err)
	}
}

// srrspDROBU is a bit of PFCPSRRsp-Flags (TS 29.244 8.2.32).
const srrspDROBU = 0x01
