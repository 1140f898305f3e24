package runner

import (
	"cmp"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// gNBs hear what changes of the AMF (TS 38.413 8.7.3). What one has heard is in its record, which its terminator keeps, and is looked at again and again: an
// update that was lost, because the shard has moved just then, or the connection to the terminator, is repeated by whoever has the shard then. The shard that
// does all that concerns the gNB tells it, since that one hears the answer, and only it writes the record. Of an interface with several associations one is told
// (ngInterface). With the same look they hear how much of what comes is too much for that shard, which has an even share of all strangers.
//
// Of N2 terminators that come and go a gNB hears in an update of its own (procedure.Offer). An answer does not say which update it is to, so that an offer waits until
// whatever else the gNB was sent is answered, or has not been for a while, and everything waits as long for an offer, by whichever holder.

// announceEvery is how often gNBs are looked at.
const announceEvery = 2 * time.Second

// mostAnnounceWait is how long a gNB is left alone that never answers.
const mostAnnounceWait = 10 * time.Minute

// announcement is an update that a gNB was sent and has not answered. offer is what it was offered; nil: it was something else. second: it may have another one to
// answer, of the holder before.
type announcement struct {
	told   uint32
	offer  *procedure.Offer
	second bool
	wait   time.Duration
	again  time.Time
}

func (r *Runner) announceOn() {
	if r.stopped {
		return
	}
	r.overload.Look(r.came, r.tooMany)
	r.came, r.tooMany = 0, 0
	r.announce()
	r.w.After(announceEvery, r.announceOn)
}

// announce to all gNBs that have heard of others. Those that are not there are looked at when they are back.
func (r *Runner) announce() {
	announced, said := r.announced, r.said
	r.announced, r.said = map[association]announcement{}, map[association]*record.GNB{}
	list := r.w.GNBs()
	told := interfaces(list)
	for _, g := range list {
		if cmp.Or(g.Lead, 1) != r.shard {
			continue
		}
		at := record.Attachment{Terminator: g.Terminator, Association: g.Association}
		a := associationOf(&at)
		if x, is := announced[a]; is {
			r.announced[a] = x
		}
		if x := said[a]; x != nil {
			is := *x // others read it
			is.Peer, is.Here = g.Peer, g.Here
			r.said[a], g = &is, &is
		}
		switch x := told[g.Root()]; {
		case r.settingUp[a] > 0: // it hears of the AMF by the answer, whatever it was told before, and of what has changed since with the next look
		case x.by == a && x.others: // by which it was told something while this one was not in sight
			r.forgetTold(at, g)
		case x.by == a:
			r.announceTo(at, g, list)
			r.overloadTo(at)
		case x.vague:
			r.forgetTold(at, g)
		}
	}
}

// ngInterface is one of a gNB, with the association by which the gNB is told what concerns it: that on which the interface was set up, or else one that was told
// before. So the record of that one says what the gNB was told last. Nobody knows it (vague) of one that has joined, until it is its turn. Where others have it, too,
// since they had their turn when this one was not in sight, it forgets it, then they do, and the gNB is told once more.
type ngInterface struct {
	by            association
	vague, others bool
}

func vague(g *record.GNB) bool { return g.Told == 0 && g.Reduction == record.UnsureReduction }

func interfaces(list []*record.GNB) map[uint64]ngInterface {
	best := map[uint64]*record.GNB{}
	rank := func(g *record.GNB) int {
		switch {
		case g.Interface == 0:
			return 2
		case !vague(g):
			return 1
		}
		return 0
	}
	for _, g := range list {
		if b := best[g.Root()]; b == nil || rank(g) > rank(b) {
			best[g.Root()] = g
		}
	}
	out := map[uint64]ngInterface{}
	for _, g := range list {
		b, x := best[g.Root()], out[g.Root()]
		x.by, x.vague, x.others = association{b.Terminator, b.Association}, vague(b), x.others || g != b && !vague(g)
		out[g.Root()] = x
	}
	return out
}

// forgetTold what a gNB was told by an association.
func (r *Runner) forgetTold(at record.Attachment, g *record.GNB) {
	if vague(g) {
		return
	}
	is := *g // others read it
	is.Told, is.Reduction, is.Offered = 0, record.UnsureReduction, 0
	delete(r.announced, associationOf(&at))
	r.rememberGNB(at, &is)
}

// overloadTo tells a gNB what share of its UEs to refuse (TS 38.413 8.7.7, 8.7.8), where its terminator says that it was asked for another one. The gNB says nothing
// to that. What it was told is noted behind it on the same connection. That may be lost in between, with the holder: before, its record says that nobody knows.
func (r *Runner) overloadTo(at record.Attachment) {
	noted, is := r.w.GNB(at.Terminator, at.Association), r.gnb(at)
	if noted == nil || noted.Reduction == r.overload.Reduction {
		return
	}
	r.asked(at, is, record.UnsureReduction)
	r.effects(nil, []procedure.Effect{procedure.Send{To: at, Message: r.overload.Request()}})
	r.asked(at, is, r.overload.Reduction)
}

// asked notes what a gNB was asked last.
func (r *Runner) asked(at record.Attachment, g *record.GNB, reduction uint8) {
	is := *g // others read it
	is.Reduction = reduction
	r.rememberGNB(at, &is)
}

// unanswered says whether a gNB says nothing to a message that it is to have heard.
func unanswered(e procedure.Send) bool {
	switch e.Message.(type) {
	case *n2.OverloadStart, *n2.OverloadStop, *n2.AMFStatusIndication:
		return true
	}
	return false
}

// unheard: a gNB that takes nothing for the moment has not heard what it was asked, or told of the AMF's status. It hears it with a look.
func (r *Runner) unheard(e procedure.Send) {
	g := r.gnb(e.To)
	if g == nil || !unanswered(e) {
		return
	}
	if !isStatus(e) {
		r.asked(e.To, g, record.UnsureReduction)
		return
	}
	unsure := *g // others read it
	unsure.Told = 0
	r.rememberGNB(e.To, &unsure)
}

// doubt whether gNBs of a terminator have heard what they were told a moment ago: that they have not may have been lost with the connection to it.
func (r *Runner) doubt(terminator string) {
	list := r.sends.takeAll(terminator, unanswered)
	for _, status := range []bool{false, true} { // what they were asked first: no record says meanwhile that they have heard that
		for _, e := range list {
			if isStatus(e) == status {
				r.unheard(e)
			}
		}
	}
}

func isStatus(e procedure.Send) bool {
	_, is := e.Message.(*n2.AMFStatusIndication)
	return is
}

// announceTo a gNB, which is one of that list. Before it may have heard another thing, its record says that nobody knows what it has heard.
func (r *Runner) announceTo(at record.Attachment, g *record.GNB, list []*record.GNB) {
	now, x := r.w.Now(), r.announced[associationOf(&at)]
	if now.Before(x.again) {
		return
	}
	m, told := procedure.Announce(r.w.Settings(), g)
	unsure := *g // others read it
	unsure.Told, unsure.Asked = 0, now.UnixMilli()
	var offer *procedure.Offer
	switch {
	case underWay(g.Offering, now), m == nil && underWay(g.Asked, now): // by the holder before
		return
	case m == nil:
		if offer = r.offerTo(g, list); offer == nil {
			return
		}
		if offer.Message == nil {
			r.rememberGNB(at, offer.Noted(g))
			return
		}
		m, unsure = offer.Message, *offer.Sent(g, now.UnixMilli())
	}
	_, answered := m.(*n2.AMFConfigurationUpdate)
	if !answered { // of the AMF's status a gNB is told, and says nothing (TS 38.413 8.7.6)
		unsure.Asked = g.Asked
	}
	wait := min(max(2*x.wait, procedure.AnnounceAgain), mostAnnounceWait)
	r.announced[associationOf(&at)] = announcement{told: told, offer: offer, second: underWay(g.Asked, now), wait: wait, again: now.Add(wait)}
	r.rememberGNB(at, &unsure)
	r.effects(nil, []procedure.Effect{procedure.Send{To: at, Message: m}})
	if !answered {
		heard := unsure
		heard.Told = told
		r.rememberGNB(at, &heard)
		delete(r.announced, associationOf(&at))
	}
}

// underWay says whether what was sent at that time may be answered still.
func underWay(sent int64, now time.Time) bool {
	return sent != 0 && now.Sub(time.UnixMilli(sent)) < procedure.AnnounceAgain
}

// offerTo a gNB what its interface lacks of the terminators; nil: there is nothing to tell of.
func (r *Runner) offerTo(g *record.GNB, list []*record.GNB) *procedure.Offer {
	if len(r.w.Settings().Terminators) == 0 {
		return nil
	}
	var all []*record.GNB
	for _, x := range list {
		switch {
		case x.Terminator == g.Terminator && x.Association == g.Association:
			all = append(all, g)
		case x.Root() == g.Root():
			all = append(all, x)
		}
	}
	return procedure.NewOffer(r.w.Settings(), g, all)
}

// announcedTo: a gNB has answered, or said something else meanwhile. What has changed since it hears with the next look. An answer to what the holder before
// has sent does not say what it has heard: nobody knows which it was. What it has made of terminators it says in any case.
func (r *Runner) announcedTo(at record.Attachment, out *procedure.GNBOutput) {
	a := associationOf(&at)
	x, is := r.announced[a]
	switch {
	case out.GNB == nil:
		return
	case out.SetUp:
		delete(r.announced, a)
		return
	case !out.Taken && out.Wait == 0:
		return
	}
	g := *procedure.Connected(out.GNB, out.Made, out.Failed) // others read it
	if g.Offering = 0; !is || !x.second {
		g.Asked = 0
	}
	switch {
	case !is:
	case out.Taken && x.offer != nil:
		g = *x.offer.Taken(&g)
	case out.Taken:
		g.Told = x.told
	case x.offer != nil && out.Firm:
		g = *x.offer.Refused(&g)
	default:
		x.again = r.w.Now().Add(max(x.wait, out.Wait))
		r.announced[a] = x
		is = false
	}
	if is {
		delete(r.announced, a)
	}
	out.GNB = &g
	for _, f := range out.Failed {
		r.log.Warn("a gNB cannot connect to an N2 terminator that it was told of", "gnb", g.Key(), "terminator", f.Address.String(), "why", f.Cause.String())
	}
}
