package simulation

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
)

// Types of the 5GSM messages that matter here (TS 24.501 9.7).
const (
	smEstablish, smAccept                     = 0xc1, 0xc2
	smReleaseRequest, smCommand, smReleaseEnd = 0xd1, 0xd3, 0xd4
)

func sm(id, kind uint8) []byte { return []byte{0x2e, id, 1, kind} }

type smf struct {
	w        *world
	away     time.Time
	made     int
	contexts []*smContext // in the order in which they were made
	// waiting are contexts whose packets wait although an access network has a tunnel for them, and since when the AMF says that it has them brought; zero: it
	// has not said so yet.
	waiting map[string]time.Time
	// astray are contexts whose packets go where the UE is not, although an access network has a tunnel for them, and since when.
	astray map[string]time.Time
}

// smContext of a PDU session.
type smContext struct {
	ref, supi string
	id        uint8
	// tunnel of the access network; nil: the user plane is down. pending is that of a handover's target.
	tunnel, pending []byte
	// arrived is when the UE had last, by a handover; handed: nothing was said of the tunnel since one was prepared.
	arrived time.Time
	handed  bool
	// ending: the UE was told that it ends. ups is how often the user plane came up.
	ending bool
	ups    int
	// amf is the stay in which another AMF has it; nil: it is ours.
	amf *stay
}

func newSMF(w *world) *smf {
	return &smf{w: w, waiting: map[string]time.Time{}, astray: map[string]time.Time{}}
}

func (f *smf) of(ref string) *smContext {
	n := slices.IndexFunc(f.contexts, func(c *smContext) bool { return c.ref == ref })
	if n < 0 {
		return nil
	}
	return f.contexts[n]
}

func (f *smf) remove(c *smContext) {
	f.contexts = slices.DeleteFunc(f.contexts, func(x *smContext) bool { return x == c })
}

func (f *smf) asked(e procedure.AskSession) procedure.Event {
	out := procedure.SessionAnswer{Number: e.Number, Outcome: procedure.Done}
	f.w.Note("%s session %d: the SMF is asked, operation %d %s %s %s end %v", e.SUPI, e.Session.ID, e.Operation, e.Connection, e.Handover, e.N2Type, e.End)
	if e.Operation == procedure.CreateSession {
		f.w.inEmergencyAlone(e)
		for _, c := range slices.Clone(f.contexts) { // TS 29.502 5.2.2.2.1: one that there is already is another's
			if c.supi == e.SUPI && c.id == e.Session.ID {
				f.remove(c)
			}
		}
		f.made++
		c := &smContext{ref: fmt.Sprint("smf/", f.made), supi: e.SUPI, id: e.Session.ID}
		f.contexts = append(f.contexts, c)
		out.Context, out.SMF = c.ref, "smf"
		f.w.Soon(time.Millisecond, 20*time.Millisecond, func() { f.accept(c, 6) })
		return out
	}
	c := f.of(e.Session.Context)
	if c == nil {
		return procedure.SessionAnswer{Number: e.Number, Outcome: procedure.Refused, Status: 404, Cause: "CONTEXT_NOT_FOUND"}
	}
	switch {
	case e.Session.Moved:
		c.amf = nil
	case c.amf != nil:
		f.w.others.disturbed(c, e)
		return out
	}
	if e.Operation == procedure.ReleaseSession {
		f.remove(c)
		return out
	}
	f.update(c, e, &out)
	return out
}

func (f *smf) update(c *smContext, e procedure.AskSession, out *procedure.SessionAnswer) {
	c.handed = e.Handover == "PREPARED" || c.handed && e.Handover != "" && e.Handover != "COMPLETED"
	switch {
	case e.End:
		f.remove(c)
		out.N1, out.N2, out.N2Type = sm(c.id, smCommand), []byte("release"), "PDU_RES_REL_CMD"
	case len(e.N1) == 4 && e.N1[3] == smReleaseRequest:
		c.ending = true
		out.N1 = sm(c.id, smCommand)
		if c.tunnel != nil {
			c.tunnel = nil
			out.N2, out.N2Type = []byte("release"), "PDU_RES_REL_CMD"
		}
		f.w.After(20*time.Second, func() { f.end(c) })
	case len(e.N1) == 4 && e.N1[3] == smReleaseEnd:
		f.w.Soon(time.Millisecond, 5*time.Millisecond, func() { f.end(c) })
	case e.Connection == "ACTIVATING":
		out.N2, out.N2Type = []byte(c.ref), "PDU_RES_SETUP_REQ"
	case e.Connection == "DEACTIVATED", e.NotSwitched:
		c.tunnel = nil
	case e.Switched:
		c.tunnel = e.N2
		out.N2, out.N2Type = []byte("switched"), "PATH_SWITCH_REQ_ACK"
	case e.Handover == "PREPARING":
		c.pending, c.arrived = nil, time.Time{}
		out.N2, out.N2Type = []byte(c.ref), "PDU_RES_SETUP_REQ"
	case e.Handover == "PREPARED" && e.N2Type == "HANDOVER_REQ_ACK":
		c.pending = e.N2
		out.N2, out.N2Type = []byte{byte(len(f.contexts)) % 2 << 6}, "HANDOVER_CMD" // whether the source is to forward
	case e.Handover == "COMPLETED" && c.pending != nil:
		c.tunnel, c.pending, c.arrived = c.pending, nil, f.w.Now
	case e.Handover == "COMPLETED" && f.w.Now.Sub(c.arrived) > 5*time.Second: // it knows of none
		out.Outcome, out.Status, out.Cause = procedure.Refused, 403, "REQUEST_REJECTED"
	case e.Handover == "COMPLETED":
	case e.Handover != "":
		c.pending = nil
	case e.N2Type == "PDU_RES_SETUP_RSP":
		c.tunnel = e.N2
		c.ups++
	case e.N2Type == "PDU_RES_SETUP_FAIL", e.N2Type == "PDU_RES_REL_RSP":
		c.tunnel = nil
	}
}

// end a context, and tell the AMF until it has heard.
func (f *smf) end(c *smContext) {
	if f.of(c.ref) != c {
		return
	}
	f.remove(c)
	if c.amf == nil {
		f.tellEnd(c, 10)
	}
}

func (f *smf) tellEnd(c *smContext, left int) {
	heard := f.w.toAMF(c.supi, procedure.SessionEnded{Session: c.id, Context: c.ref})
	if !heard && left > 0 {
		f.w.After(time.Second, func() { f.tellEnd(c, left-1) })
	}
}

// accept brings a new session to its UE.
func (f *smf) accept(c *smContext, left int) {
	if f.of(c.ref) != c {
		return
	}
	f.transfer(c, sm(c.id, smAccept), left, f.accept)
}

// data has come for a session whose user plane is down.
func (f *smf) data(c *smContext, left int) {
	if f.of(c.ref) == c && c.tunnel == nil && !c.ending && c.amf == nil {
		f.transfer(c, nil, left, f.data)
	}
}

// watch, when all is well, that packets are not kept back whose access network has a tunnel that the SMF has not heard of, and that none go to an access network that
// the UE has left by a handover: not all of these say so.
func (f *smf) watch() {
	f.w.After(2*time.Second, f.watch)
	for _, c := range f.contexts {
		switch since := f.astray[c.ref]; {
		case c.tunnel == nil || c.ending || c.amf != nil || !c.handed || f.there(c) || !f.connected(c):
			delete(f.astray, c.ref)
		case since.IsZero():
			f.astray[c.ref] = f.w.Now
		case f.w.Now.Sub(since) > 12*time.Second:
			f.w.Fail("packets for %s, session %d, go to %s, and it is elsewhere", c.supi, c.id, c.tunnel)
		}
		since, waits := f.waiting[c.ref]
		switch {
		case c.tunnel != nil || c.ending || c.amf != nil || !f.connected(c):
			delete(f.waiting, c.ref)
		case !waits:
			f.waiting[c.ref] = time.Time{}
			f.data(c, 3)
		case !since.IsZero() && f.w.Now.Sub(since) > 12*time.Second:
			f.w.Fail("packets for %s, session %d, are kept back, and its access network has a tunnel", c.supi, c.id)
		}
	}
}

// connected says whether an access network has resources of a session, whichever the SMF has heard of.
func (f *smf) connected(c *smContext) bool {
	for _, g := range f.w.gnbs {
		for _, x := range g.conns {
			if x.ue.as == c.supi && x.set && !x.gone && !x.coming && x.sessions[c.id] != nil {
				return true
			}
		}
	}
	return false
}

// letGo of a tunnel that is not heard of, as the SMF's procedure does (connection.go), and ask for another.
func (f *smf) letGo(c *smContext) {
	if f.of(c.ref) != c || c.tunnel != nil || c.ending || c.amf != nil {
		return
	}
	from := f.w.expect(10*time.Second, func(any) {})
	f.w.toAMF(c.supi, procedure.Transfer{From: from, Session: c.id, N2: []byte("release"), N2Type: "PDU_RES_REL_CMD", SkipIdle: true})
	f.w.After(2*time.Second, func() { f.data(c, 3) })
}

// probe all contexts, when all is well: packets come for each. Either its UE is reached, or the AMF says that there is no such session, as it does of one
// whose end the SMF did not hear of.
func (f *smf) probe() {
	for _, c := range slices.Clone(f.contexts) {
		if f.w.others.has(c) {
			continue
		}
		if f.w.orphaned(c) {
			f.w.Fail("nobody has the SMF's %s of %s, session %d, any more, and the SMF was not told", c.ref, c.supi, c.id)
		}
		if c.tunnel != nil && f.carried(c) { // they are with it now
			continue
		}
		was := c.ups
		c.tunnel = nil // the access network says so: a GTP-U Error Indication
		f.data(c, 3)
		f.w.After(30*time.Second, func() {
			if f.of(c.ref) == c && c.tunnel == nil && c.ups == was && (f.w.vanished == nil || f.w.vanished.as != c.supi) && f.w.comes(c.supi) {
				f.w.Fail("packets for %s, session %d, do not reach it", c.supi, c.id)
			}
		})
	}
}

// there says whether the tunnel of a session is one of a connection that there is.
func (f *smf) there(c *smContext) bool {
	for _, g := range f.w.gnbs {
		for _, x := range g.conns {
			if bytes.HasPrefix(c.tunnel, fmt.Appendf(nil, "%s/%d/", g.name(), x.ran)) {
				return true
			}
		}
	}
	return false
}

// carried says whether an access network has the tunnel of a session.
func (f *smf) carried(c *smContext) bool {
	for _, g := range f.w.gnbs {
		for _, x := range g.conns {
			if t := x.sessions[c.id]; t != nil && string(t) == string(c.tunnel) {
				return true
			}
		}
	}
	return false
}

func (f *smf) transfer(c *smContext, nas []byte, left int, again func(*smContext, int)) {
	later := func() {
		if left > 0 {
			f.w.After(time.Second, func() { again(c, left-1) })
		} else if nas != nil {
			f.end(c)
		}
	}
	from := f.w.expect(10*time.Second, func(body any) {
		f.w.Note("%s session %d: the AMF answers a transfer: %+v", c.supi, c.id, body)
		switch b := body.(type) {
		case procedure.Transferred:
			if nas == nil && !b.Paging { // otherwise T3591 is of the UE's; here the UE asks again
				if since, waits := f.waiting[c.ref]; waits && since.IsZero() {
					f.waiting[c.ref] = f.w.Now
				}
				f.w.After(5*time.Second, func() { f.letGo(c) })
			}
		case procedure.Failed:
			if b.Status == 404 {
				f.remove(c)
				return
			}
			later()
		default:
			later()
		}
	})
	f.w.toAMF(c.supi, procedure.Transfer{
		From: from, Session: c.id, N1: nas, Kind: 1, N2: []byte(c.ref), N2Type: "PDU_RES_SETUP_REQ", Failure: fmt.Sprint("smf/failure/", c.ref),
	})
}
