package simulation

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/access-management/security"
)

// others is an AMF of another set, with gNBs of its own (TS 23.502 4.2.2.2.2 steps 4, 5, 10 and 14d). UEs go there and come back: of each that goes it asks for the
// context, by the UE's request, and where it gets none the UE begins anew. It tells what it has taken, or does not; so does the UDM.
type others struct {
	w     *world
	made  uint32
	stays []*stay
}

// stay of a UE with that AMF.
type stay struct {
	u *ue
	// before is the 5G-GUTI by which it came, guti the one that it was given.
	before, guti n1.GUTI
	// nas is the AMF's end of the UE's security context.
	nas nasContext
	// refs are the SM contexts that it has taken.
	refs [mostSessions + 1]string
	// here: that AMF has the UE.
	here bool
	// let go: ours has said that it has, then.
	let time.Time
}

// Set and pointer of the other AMF.
const otherSet, otherPointer = 2, 5

// abroad are UEs that are with the other AMF, or go there; false: this one is here, and does what others do.
func (u *ue) abroad() bool {
	w := u.w
	switch {
	case w.others == nil || u.twin || u.emergency || u.stranger():
		return false
	case u.away == nil:
		if u.nas == nil || u.guti.TMSI == 0 || u.guti.Set != amfSet || !w.also.chance(8) {
			return false
		}
		u.goes(w.also.chance(4))
	case u.away.here && w.also.chance(4):
		u.comesBack(w.also.chance(4))
	}
	return true
}

func mobilityOr(initial bool) n1.RegistrationType {
	if initial {
		return n1.InitialRegistration
	}
	return n1.MobilityRegistration
}

// goes to the other AMF.
func (u *ue) goes(initial bool) {
	s := &stay{u: u, before: u.guti}
	u.w.Note("%s goes to another AMF, initial %v", u.name, initial)
	u.loseRadio()
	m := &n1.RegistrationRequest{RegistrationType: mobilityOr(initial), KeySet: u.keySet(), Identity: u.guti, Security: ability}
	nas := u.nas.protect(u.plain(m), n1.IntegrityProtected)
	u.away = s
	u.w.others.stays = append(u.w.others.stays, s)
	u.w.Soon(time.Millisecond, 50*time.Millisecond, func() { u.w.others.comes(s, nas, initial) })
}

// comesBack by what it has of the other AMF.
func (u *ue) comesBack(initial bool) {
	u.w.Note("%s comes back from another AMF, initial %v", u.name, initial)
	u.away = nil
	u.gnb = u.w.gnbs[u.w.also.IntN(len(u.w.gnbs))]
	u.register(mobilityOr(initial))
}

// toTemporary brings a request to the shard of a 5G-TMSI. It may be lost.
func (w *world) toTemporary(tmsi uint32, e procedure.Event) {
	w.toShard(record.ShardOfTMSI(tmsi), func(to *runner.Runner) { to.DeliverTo(tmsi, e) })
}

// comes: steps 4 and 5.
func (o *others) comes(s *stay, nas []byte, initial bool) {
	w := o.w
	if w.also.chance(6) { // somebody else, who says that he is it
		forged := bytes.Clone(nas)
		forged[3] ^= 1
		w.toTemporary(s.before.TMSI, procedure.Lend{NAS: forged, From: w.expect(2*time.Second, func(body any) {
			if _, is := body.(procedure.Lent); is {
				w.Fail("%s is given to who has not shown to be it", s.u.name)
			}
		})})
	}
	w.toTemporary(s.before.TMSI, procedure.Lend{NAS: nas, From: w.expect(2*time.Second, func(body any) {
		w.Note("%s: another AMF is given it: %T", s.u.name, body)
		var rec *record.UE
		switch b := body.(type) {
		case procedure.Lent:
			if rec = b.UE; rec.SUPI != s.u.supi {
				w.Fail("%s is given for %s", rec.SUPI, s.u.supi)
			}
		case procedure.Failed:
			if b.Status/100 == 4 && !s.u.mayLose() {
				w.Fail("%s goes to another AMF, which is not given it: %+v", s.u.name, b)
			}
		default: // it may have been given
			o.finds(s)
		}
		w.Soon(10*time.Millisecond, 300*time.Millisecond, func() { o.decides(s, rec, initial) })
	})})
}

// finds: an SMF finds out in its time that nobody has what no AMF can know.
func (o *others) finds(s *stay) {
	o.w.After(30*time.Second, func() {
		for _, c := range slices.Clone(o.w.smf.contexts) {
			rec := o.w.records[record.Key(c.supi)]
			if c.supi == s.u.supi && c.amf == nil && (rec == nil || rec.Session(c.id) == nil || rec.Session(c.id).Context != c.ref) {
				o.w.smf.remove(c)
			}
		}
	})
}

// decides whether it takes the UE, of which it was given that; nil: nothing.
func (o *others) decides(s *stay, rec *record.UE, initial bool) {
	w, u := o.w, s.u
	if rec != nil && w.also.chance(6) {
		w.Note("%s: it is refused there", u.name)
		o.says(s, procedure.LeftFor{}, 3)
		u.away = nil
		u.register(n1.MobilityRegistration)
		return
	}
	said := procedure.LeftFor{Taken: true, PolicyMoved: w.also.chance(2)}
	has := map[uint8]*session{}
	if rec != nil {
		for _, x := range rec.Sessions {
			c, is := w.smf.of(x.Context), u.sessions[x.ID]
			if initial || c == nil || is == nil || !is.active || is.ending || x.Emergency || w.also.chance(4) {
				said.Release = append(said.Release, x.ID)
				continue
			}
			s.refs[x.ID], has[x.ID] = x.Context, is
			c.amf, c.tunnel, c.pending = s, nil, nil
		}
	}
	o.takes(s)
	u.sessions, u.state, u.excused, u.allowed, u.area, u.spoke = has, registered, false, nil, nil, w.Now
	w.Note("%s is with another AMF, with %d sessions", u.name, len(has))
	why := procedure.Moved
	if initial {
		why = procedure.Elsewhere
	}
	o.w.udm.moved(s, why)
	switch {
	case rec == nil:
	case w.also.chance(8): // it does not
		o.finds(s)
	default:
		w.Soon(time.Millisecond, 2*time.Second, func() { o.says(s, said, 3) })
	}
}

// takes the UE: it has another key, and another name.
func (o *others) takes(s *stay) {
	key := make([]byte, 32)
	for n := range key {
		key[n] = byte(o.w.also.Uint32())
	}
	for _, x := range o.stays {
		if x.u == s.u {
			x.here = false
		}
	}
	o.made++
	s.here = true
	s.guti = n1.GUTI{PLMN: n1.PLMN(plmn), Region: amfRegion, Set: otherSet, Pointer: otherPointer, TMSI: 0x05000000 + o.made}
	s.nas = nasContext{key: key, algs: n1.Algorithms{Integrity: o.w.settings.Integrity[0], Ciphering: o.w.settings.Ciphering[0]}}
	its := s.nas
	s.u.nas, s.u.coming, s.u.guti, s.u.as = &its, nil, s.guti, s.u.supi
}

// says what has become of the UE: step 10. Not of one that has gone back.
func (o *others) says(s *stay, e procedure.LeftFor, left int) {
	if left == 0 || e.Taken && (!s.here || s.u.away != s) {
		o.finds(s)
		return
	}
	e.From = o.w.expect(2*time.Second, func(body any) {
		o.w.Note("%s: the AMF hears that another has it, %v: %T", s.u.name, e.Taken, body)
		f, failed := body.(procedure.Failed)
		switch {
		case body == nil, failed && f.Status/100 == 5:
			o.w.After(time.Second, func() { o.says(s, e, left-1) })
		case !failed && e.Taken:
			s.let = o.w.Now
		}
	})
	o.w.toTemporary(s.before.TMSI, e)
}

// moved: another AMF has a UE, as the UDM has heard, and says (step 14d).
func (f *udm) moved(s *stay, why procedure.Ending) {
	sub := f.of(s.u.supi)
	sub.elsewhere, sub.recorded, sub.moved = s, false, f.w.Now
	f.w.Soon(time.Millisecond, 200*time.Millisecond, func() { f.tellMoved(s, why, 12) })
}

func (f *udm) tellMoved(s *stay, why procedure.Ending, left int) {
	if f.of(s.u.supi).elsewhere != s || left == 0 {
		return
	}
	from := f.w.expect(1500*time.Millisecond, func(body any) {
		if b, failed := body.(procedure.Failed); body == nil || failed && b.Status != 404 {
			f.w.After(time.Second, func() { f.tellMoved(s, why, left-1) })
		}
	})
	f.w.toAMF(s.u.supi, procedure.End{From: from, Why: why})
}

// asked for a UE that has come back.
func (o *others) asked(e procedure.AskOther) procedure.Event {
	out := procedure.Other{Number: e.Number, Outcome: procedure.Refused}
	n := slices.IndexFunc(o.all(), func(s *stay) bool { return s.here && s.guti == e.GUTI })
	if n < 0 || !o.stays[n].shown(e.NAS) || o.w.also.chance(15) {
		return out
	}
	s := o.stays[n]
	out.Outcome, out.SUPI, out.PEI = procedure.Done, s.u.supi, "imei-"+s.u.imei
	for id, ref := range s.refs {
		if c := o.w.smf.of(ref); c != nil && c.amf == s {
			out.Sessions = append(out.Sessions, record.Session{ID: uint8(id), Slice: broadband, DNN: "internet", SMF: "smf", Context: ref})
		}
	}
	return out
}

func (o *others) all() []*stay {
	if o == nil {
		return nil
	}
	return o.stays
}

// shown says whether a request is the UE's.
func (s *stay) shown(nas []byte) bool {
	e, err := n1.ReadEnvelope(nas)
	if err != nil {
		return false
	}
	for high := range uint32(4) {
		mac, err := security.MAC(s.nas.algs.Integrity, s.nas.derived(security.NASIntegrity), high<<8|uint32(e.Sequence), n1.Uplink, nas[n1.MACFrom:])
		if err == nil && mac == e.MAC {
			return true
		}
	}
	return false
}

// told whether our AMF has the UE now.
func (o *others) told(e procedure.TellOther) {
	for _, s := range o.all() {
		if s.guti == e.GUTI {
			o.w.Note("%s: another AMF hears that ours has it: %v", s.u.name, e.Taken)
			if e.Taken {
				o.ends(s)
			}
		}
	}
}

// ends: the UE is not there any more. What of its sessions nobody has asked for is released in a while.
func (o *others) ends(s *stay) {
	s.here = false
	o.w.After(20*time.Second, func() {
		for _, c := range slices.Clone(o.w.smf.contexts) {
			if c.amf == s && !s.here {
				o.w.smf.remove(c)
			}
		}
	})
}

// has says whether the other AMF has an SM context, of a UE that is there.
func (o *others) has(c *smContext) bool { return c.amf != nil && c.amf.here && c.amf.u.away == c.amf }

// let go: those that are with the other AMF, which ours knows for that long.
func (o *others) let(since time.Duration) (out []*stay) {
	for _, s := range o.all() {
		if s.here && s.u.away == s && !s.let.IsZero() && o.w.Now.Sub(s.let) >= since && !s.u.mayLose() {
			out = append(out, s)
		}
	}
	return out
}

// written: what ours has let go of it does not serve.
func (o *others) written(is *record.UE) {
	for _, s := range o.let(0) {
		if s.u.supi == is.SUPI && is.Phase == record.Registered {
			o.w.Fail("another AMF has %s, and so has ours", is.SUPI)
		}
	}
}

// paged: nobody is who is with the other AMF, when all has arrived that was on its way.
func (o *others) paged(tmsi uint32) {
	for _, s := range o.let(time.Second) {
		if s.before.TMSI == tmsi {
			o.w.Fail("%s is paged, and is with another AMF", s.u.name)
		}
	}
}

// disturbed: ours asks for what the other AMF has.
func (o *others) disturbed(c *smContext, e procedure.AskSession) {
	o.w.Note("the SMF is asked for %s of another AMF's", c.ref)
	if !o.has(c) || c.amf.u.mayLose() {
		return
	}
	if e.Operation == procedure.ReleaseSession || slices.Contains(o.let(5*time.Second), c.amf) {
		o.w.Fail("another AMF has %s of %s, session %d, and ours asks the SMF for operation %d %s", c.ref, c.supi, c.id, e.Operation, e.Connection)
	}
}

// agreeAway: exactly one AMF has a UE. Where a store has forgotten that another one has it nobody says that again: it is idle here, until it has not been heard of
// for too long.
func (u *ue) agreeAway(rec *record.UE, s *subscriber) error {
	switch {
	case !u.away.here:
		return fmt.Errorf("it is on its way to another AMF")
	case rec != nil && (u.w.forgotten.IsZero() || rec.Phase != record.Registered || rec.Procedure != nil || rec.N2 != nil):
		return fmt.Errorf("two AMFs have it: phase %d, procedure %+v, ending %v", rec.Phase, rec.Procedure, rec.Ending)
	case s.recorded || s.elsewhere != u.away:
		return fmt.Errorf("it is with another AMF, and the UDM has it recorded %v", s.recorded)
	}
	for id := range u.away.refs {
		c, x := u.w.smf.of(u.away.refs[id]), u.sessions[uint8(id)]
		if (c != nil && c.amf == u.away) != (x != nil) {
			return fmt.Errorf("session %d: it has %+v, another AMF %+v", id, x, c)
		}
	}
	return nil
}
