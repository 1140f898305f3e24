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

// announceEvery is how often gNBs are looked at.
const announceEvery = 2 * time.Second

// mostAnnounceWait is how long a gNB is left alone that never answers.
const mostAnnounceWait = 10 * time.Minute

// announcement is an update that a gNB was sent and has not answered.
type announcement struct {
	told  uint32
	wait  time.Duration
	again time.Time
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
			r.said[a], g = x, x
		}
		switch x := told[g.Root()]; {
		case r.settingUp[a] > 0: // it hears of the AMF by the answer, whatever it was told before, and of what has changed since with the next look
		case x.by == a && x.others: // by which it was told something while this one was not in sight
			r.forgetTold(at, g)
		case x.by == a:
			r.announceTo(at, g)
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
	is.Told, is.Reduction = 0, record.UnsureReduction
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

// announceTo a gNB. Before it may have heard another thing, its record says that nobody knows what it has heard.
func (r *Runner) announceTo(at record.Attachment, g *record.GNB) {
	m, told := procedure.Announce(r.w.Settings(), g)
	now, x := r.w.Now(), r.announced[associationOf(&at)]
	if m == nil || now.Before(x.again) {
		return
	}
	wait := min(max(2*x.wait, procedure.AnnounceAgain), mostAnnounceWait)
	r.announced[associationOf(&at)] = announcement{told: told, wait: wait, again: now.Add(wait)}
	if g.Told != 0 {
		unsure := *g
		unsure.Told = 0
		r.rememberGNB(at, &unsure)
	}
	r.effects(nil, []procedure.Effect{procedure.Send{To: at, Message: m}})
	if _, answered := m.(*n2.AMFConfigurationUpdate); !answered { // of the AMF's status a gNB is told, and says nothing (TS 38.413 8.7.6)
		heard := *g
		heard.Told = told
		r.rememberGNB(at, &heard)
		delete(r.announced, associationOf(&at))
	}
}

// announcedTo: a gNB has answered, or said something else meanwhile. What has changed since it hears with the next look. An answer to what the holder before
// has sent says nothing: nobody knows which it was.
func (r *Runner) announcedTo(at record.Attachment, out *procedure.GNBOutput) {
	a := associationOf(&at)
	x, is := r.announced[a]
	switch {
	case !is || out.GNB == nil:
	case out.SetUp:
		delete(r.announced, a)
	case out.Taken:
		delete(r.announced, a)
		g := *out.GNB // others read it
		g.Told = x.told
		out.GNB = &g
	case out.Wait > 0:
		x.again = r.w.Now().Add(max(x.wait, out.Wait))
		r.announced[a] = x
	}
}
