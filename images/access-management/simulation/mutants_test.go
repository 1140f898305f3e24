package simulation

import (
	"flag"
	"testing"

	"core5g.dev/core5g/images/worlds"
)

var (
	mutants = flag.Bool("mutants", false, "show that deliberate faults are found")
	mutant  = flag.String("mutant", "", "only those whose name has this in it")
)

type mutation worlds.Mutation

// mutations that the worlds must find.
var mutations = []mutation{
	{"effects are done before the record is written", "runner/ue.go",
		"		u.writing = true\n		r.associated(is.record", "		u.writing = true\n		r.effects(u, then)\n		then = nil\n		r.associated(is.record", 200, "", ""},
	{"a message is done with before what came of it is written", "runner/ue.go",
		"		r.effects(u, out.Effects)\n		r.finishLater(u, q)\n	case u.staysHere", "		r.finish(q)\n		r.effects(u, out.Effects)\n	case u.staysHere", 400, "", ""},
	{"a message that waits to be written is done with", "runner/ue.go", "		u.together = append(u.together, q)\n", "		u.together = append(u.together, queued{})\n		r.finish(q)\n", 400, "", "who has not heard says it again; the runner's TestOrderOfARegistration sees it"},
	{"what waits to be written is not", "runner/ue.go", "		waits := !r.stopped && !u.dead && len(u.together) > 0", "		waits := false", 200, "", ""},
	{"what waits to be written is, while something is asked for its UE", "runner/ue.go", "		if waits && u.asked > 0 {", "		if false {", 400, "", "the UE says it again after T3580; the runner's TestAUEThatIsHasty sees it"},
	{"what has come of a loss is never written", "runner/ue.go", "		if u.behindLoss = false; u.asked == 0 {", "		if u.behindLoss = false; false {", 400, "", "it is written 20 s later with its association's note; the runner's TestAnAssociationMore sees it"},
	{"the note of an association goes before what has come of its end is written", "runner/losses.go", "		r.writeLosses(func() {", "		func(f func()) { f() }(func() {", 400, "", "nearly all is written long before; the runner's TestANoteGoesBehindWhatIsWritten sees it"},
	{"a UE that nobody knows yet is begun with again under another AMF UE NGAP ID", "procedure/initial.go", "	if at.AMF == 0 {", "	if true {", 400, "", ""},
	{"an answer to the challenge of a holder before is a wrong one", "procedure/authentication.go", "	if !t.live.challenged {", "	if true {", 400, "", ""},
	{"the first message of a UE that nobody knows yet is not kept", "runner/ue.go", "	if q.keep == nil || u.key", "	if true || u.key", 400, "", "the UE says it again after T3510; the runner's TestAHolderThatDies sees it"},
	{"it is kept when the store knows the UE", "runner/ue.go", "	if first := u.first; first != nil {", "	if first := u.first; false {", 400, "", "the next holder finds the UE in the store; the runner's TestOrderOfARegistration sees it"},
	{"times that wait to be written are forgotten", "runner/ue.go", "		u.owe(out.Due)\n		r.effects(", "		r.effects(", 400, "", ""},
	{"the lease is not looked at before an effect", "runner/ue.go", "		if !r.may() {\n			return\n		}\n		switch e := e.(type) {", "		switch e := e.(type) {", 200, "speaks for", ""},
	{"a write of unknown outcome is taken for a failure", "runner/runner.go",
		"		sessionstore.ErrNotFound, sessionstore.ErrFenced,", "		sessionstore.ErrUnknown, sessionstore.ErrNotFound, sessionstore.ErrFenced,", 400, "", ""},
	{"a write of unknown outcome is taken for a success", "runner/stored.go", "			case err == nil || lasting(err):", "			case err == nil || lasting(err) || err.Error() != \"\":\n				err = nil", 200, "", ""},
	{"intents are not resumed", "runner/start.go", "			for _, key := range keys {", "			for _, key := range keys[:0] {", 400, "", ""},
	{"who takes a UE over does not go on with it", "runner/ue.go", "	case unfinished(u.state.Record) && u.stored.revision.Writer != r.writer:", "	case false:", 200, "", ""},
	{"a time is not delivered", "runner/start.go", "	u.queue = append(u.queue, queued{Event: procedure.Due{Name: name}})", "	_ = procedure.Due{}", 200, "", ""},
	{"a message is never done with", "runner/runner.go", "	if q.done != nil && !r.stopped {", "	if q.done != nil && r.stopped {", 20, "", ""},
	{"an association that ends is not seen", "runner/n2.go", "		r.once(func() { r.lose(association{terminator, f.Association}, f.Why) })", "", 200, "go to", ""},
	{"associations that ended meanwhile are not seen", "runner/losses.go", "				r.lookAt(a)\n			}\n		}\n		if next", "				_ = a\n			}\n		}\n		if next", 400, "", "each is seen when the UE is loaded, or its terminator lists its own"},
	{"the AMF UE NGAP ID is no index", "runner/stored.go", "		if i := attachmentIndex(a.AMF); !slices.Contains(out, i) {", "		if i := attachmentIndex(a.AMF); false && !slices.Contains(out, i) {", 20, "is not found by", ""},
	{"a UE of another shard is taken for ours", "runner/ue.go", "	if has.record.Shard != r.shard {", "	if false {", 200, "", ""},
	{"another shard goes on with a UE that it gave up", "runner/takeover.go", "		r.forget(u, err)\n		if err == nil {\n			r.counts.GivenUp++", "		if err == nil {\n			r.counts.GivenUp++", 200, "", ""},
	{"names are used again", "runner/numbers.go", "uint32(r.numbers.attachments.next())", "uint32(r.numbers.attachments.next()/2)", 50, "", ""},
	{"names are used again after lost writes", "runner/start.go", "skipOf(r.lease.Epoch), skipOf(r.lease.Epoch)", "0, 0", 400, "", ""},
	{"downlink COUNTs begin where they were reserved last", "procedure/protection.go", "		t.live.next = t.s.Security.Reserved\n	}\n	if t.s.Coming", "		t.live.next = t.s.Security.Reserved - record.Block\n	}\n	if t.s.Coming", 200, "", ""},
	{"an uplink COUNT is taken twice", "procedure/protection.go", "			t.s.Security.Uplink = count + 1", "			t.s.Security.Uplink = count", 50, "can be taken again", ""},
	{"after lost writes nobody is authenticated anew", "procedure/handle.go", "		t.s.Prove, t.s.Coming, t.s.Known = true, nil, false", "		t.s.Coming = nil", 400, "", ""},
	{"the SMF is not told of a user plane that is down", "procedure/connection.go", "		if s := &t.s.Sessions[n]; s.Up || s.Silent {\n			t.deactivate(s)\n		}\n	}\n	t.ended", "		_ = n\n	}\n	t.ended", 100, "", ""},
	{"the old connection is left alone", "procedure/connection.go", "	default:\n		t.leave(old, ngapcause.ReleasedByDetectedMobility)", "	default:\n		_ = old", 200, "", ""},
	{"who takes a UE over does not say that it has arrived", "procedure/handle.go", "	t.arrivedAgain()\n", "", 200, "go to", "few workers die in that moment; procedure's TestHandover sees it"},
	{"an SMF that has not answered is not asked again", "procedure/ending.go", "x.Session.Context == s.Context && (saidReleased(e) ||", "x.Session.Context == s.Context && (true ||", 200, "nobody has the SMF's", ""},
	{"who watches a UE is lost where another shard takes it over", "procedure/authentication.go", "		is.Coming, is.Remnant = nil, false\n", "		is.Coming, is.Remnant, is.Watches = nil, false, nil\n", 50, "nobody has ended it", ""},
	{"gNBs are not looked at again", "runner/announce.go", "	r.w.After(announceEvery, r.announceOn)\n", "", 400, "", ""},
	{"a gNB is taken to have heard what it was sent", "runner/announce.go", "	unsure.Told, unsure.Asked = 0, now", "	unsure.Told, unsure.Asked = told, now", 400, "knows the AMF as", ""},
	{"what a gNB hears in a moment is not in doubt before", "runner/announce.go", "	r.asked(at, is, record.UnsureReduction)\n	r.effects", "	r.effects", 200, "and its record says", ""},
	{"what a gNB was asked by another association is not in doubt where one joins", "procedure/gnb.go", "	is.Reduction, is.Told, is.Offered = record.UnsureReduction, 0, 0 //", "	is.Reduction, is.Offered = 0, 0 //", 20, "", ""},
	{"nobody looks at what gNBs were asked", "runner/announce.go", "			r.overloadTo(at)\n", "			if r.overload.Reduction > 0 {\n				r.overloadTo(at)\n			}\n", 100, "for ever", ""},
	{"another update is sent while a gNB has an offer to answer", "runner/announce.go", "	case underWay(g.Offering, now), m == nil", "	case m == nil", 150, "and is sent another one", ""},
	{"an offer does not wait for the second answer", "runner/announce.go", "	if g.Offering = 0; !is || !x.second {\n		g.Asked = 0\n	}\n", "	g.Offering, g.Asked = 0, 0\n", 150, "", "a holder has to die between an update and its answer, and the gNB to take its time with the second; the runner's TestTerminatorsAreOffered sees it"},
	{"what a gNB could not make of an offer is not remembered", "procedure/offer.go", "[]n2.Address{r.Address}, true)", "[]n2.Address{r.Address}, false)", 150, "cannot connect to", ""},
	{"an offer is taken for heard when it is sent", "procedure/offer.go", "	is.Offered, is.Offering, is.Ends = 0, now, o.ends", "	is.Offered, is.Offering, is.Ends = o.digest, now, o.ends", 150, "was not told of", ""},
	{"a UE that is leaving registers", "procedure/protection.go", "	return t.s.Phase == record.Leaving\n}", "	return false\n}", 200, "keeps", ""},
	{"a UE keeps a name that is not its", "procedure/registration.go", " || said != t.s.TMSI {", " {", 200, "it has the 5G-TMSI", ""},
	{"the UE that has not answered has the new name alone", "procedure/registration.go", "		t.s.OldTMSI = t.s.TMSI\n	}\n	t.s.TMSI", "		t.s.OldTMSI = 0\n	}\n	t.s.TMSI", 400, "", ""},
	{"who registers for mobility does not hear of its sessions", "procedure/registration.go", "	if !initially(m.RegistrationType) { //", "	if !first { //", 200, "", ""},
	{"what was handed over is not handed over again", "terminator/workers.go", "		for _, m := range s.list {\n			t.deliver(m)\n		}\n	}\n	t.assign()", "		for _, m := range s.list {\n			if !m.again {\n				t.deliver(m)\n			}\n		}\n	}\n	t.assign()", 100, "", ""},
	{"a shard is given up while what is written is not said", "runner/runner.go", "	if r.closed() && r.writing == 0 {", "	if r.closed() {", 100, "", "a UE waits for a second; the runner's TestAHolderThatLeaves sees it"},
	{"a terminator sends for who holds the shard no more", "terminator/workers.go", "	if !t.holder(id, f.Shard, f.Epoch) {\n		t.notSent", "	if false {\n		t.notSent", 400, "", "the lease is looked at before"},
}

func all() (out []worlds.Mutation) {
	for _, m := range mutations {
		out = append(out, worlds.Mutation(m))
	}
	return out
}

// Each mutation changes something that is there.
func TestMutationsApply(t *testing.T) { worlds.Apply(t, all()) }

// Each fault is found.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("it builds a program for each: make mutants")
	}
	worlds.Find(t, all(), *mutant)
}
