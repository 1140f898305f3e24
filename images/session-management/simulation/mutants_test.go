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
	{"effects are done before the record is written", "runner/runner.go",
		"	s.writing = true\n", "	s.writing = true\n	r.effects(s, out.Effects)\n	out.Effects = nil\n", 200, "", ""},
	{"the lease is not looked at before an effect", "runner/runner.go", "		if !r.w.May() {", "		if false {", 200, "speaks for", ""},
	{"the lease is not looked at when a unit is restored", "runner/units.go", "	case !r.w.May():", "	case false:", 400, "speaks for", ""},
	{"intents are not resumed", "runner/start.go", "			for _, key := range keys {", "			for _, key := range keys[:0] {", 200, "", ""},
	{"a resumed session does not go on", "runner/runner.go", "	if s.busy || rec.Told != nil {", "	if rec.Told != nil {", 200, "", ""},
	{"a write of unknown outcome is taken for a failure", "runner/runner.go",
		"		sessionstore.ErrNotFound, sessionstore.ErrFenced,", "		sessionstore.ErrUnknown, sessionstore.ErrNotFound, sessionstore.ErrFenced,", 200, "", ""},
	{"a write of unknown outcome is taken for a success", "runner/runner.go",
		"	case err == nil:\n		r.unname(", "	case err == nil, errors.Is(err, sessionstore.ErrUnknown):\n		r.unname(", 200, "", ""},
	{"an answer to what was asked before is taken", "runner/runner.go", "s.asked != asked || !s.busy || s.writing", "!s.busy || s.writing", 400, "", "answers of one kind say the same"},
	{"what a unit answers before the intent is written is thrown away", "runner/runner.go", "		s.answer = e\n", "", 400, "", ""},
	{"a unit that does not list its sessions is asked ahead", "runner/runner.go", "	return u != nil && u.lists\n", "	return u != nil\n", 400, "", "such a unit may keep what nobody knows; the runner's TestAUnitIsAskedAhead sees it"},
	{"a request reaches the next session of its UE", "runner/runner.go", "return q.of == 0 || s.state", "return true || s.state", 400, "", "it is rare: the runner's TestTheNextSessionOfTheName shows it"},
	{"a request is carried out although who asked has given up", "runner/runner.go", "from != 0 && !r.w.Waiting(from)", "from == 1<<63", 3000, "", ""},
	{"the numbers of a store that has forgotten are called good too soon", "runner/units.go",
		"				r.kept.Slices = map[string]uint64{}\n			}\n			r.reserve()\n",
		"				r.kept.Slices = map[string]uint64{}\n				r.kept.Generation = r.lease.Generation\n				r.keepShard(r.reserve)\n			} else {\n				r.reserve()\n			}\n", 400, "second time", ""},
	{"numbers are used again", "runner/numbers.go", "	n.blocks[0][0]++", "	if n.blocks[0][0]%3 == 0 {\n		n.blocks[0][0]++\n	} else {\n		n.blocks[0][0]--\n	}", 50, "second time", ""},
	{"numbers are used again by who takes over", "runner/numbers.go", "	first, end := max(first, n.floor), first+size", "	first, end := max(0, n.floor), first+size", 400, "", ""},
	{"numbers are used again after the store has forgotten", "runner/units.go", "r.numbers.floor = floorOf(r.lease.Epoch)", "r.numbers.floor = 0", 400, "second time", ""},
	{"two procedures of a session at a time", "runner/runner.go", "		if s.busy { // answers", "		if false { // answers", 200, "", ""},
	{"what is not known of a unit is no intent", "runner/stored.go", " || is.record.Told != nil", "", 400, "", "the record has a time at which the unit is asked again"},
	{"a unit that did not answer is not asked again", "runner/units.go", "	r.settle(\"\")\n", "", 400, "", "the record has a time at which the unit is asked again"},
	{"a unit's restart is not looked for", "runner/units.go", "	if was == want && !u.lost {", "	if was.Stamp != 0 {", 100, "", ""},
	{"a unit's restart is forgotten with its pod", "runner/units.go",
		"	u.checking, u.again, u.lost = true, false, false\n", "	u.checking, u.again, u.lost = true, false, false\n	r.kept.Units[nodeID] = want\n	r.keepShard(func() {})\n", 400, "", ""},
	{"a restart while sessions are restored is not seen", "runner/units.go", "		case u.again:\n			r.check(nodeID)\n", "", 400, "", ""},
	{"idle sessions are not restored", "runner/walk.go", "			w.idle = append(w.idle, key)\n", "", 100, "", ""},
	{"sessions are not restored while the store is away", "runner/walk.go", "				w.keys = append(w.keys, key)\n", "", 1000, "", "four UEs are too few for one to be left out"},
	{"what a unit has and nobody knows stays there", "runner/units.go",
		"	for len(listed) > 0 {", "	for false {", 400, "nobody else has", ""},
	{"the lost writes of the store are not made good", "runner/units.go", "		lost := was.Generation != \"\" && was.Generation != want.Generation", "		lost := false", 1000, "", ""},
	{"the UP SEID is forgotten", "n4/messages.go", "	*s = out\n	return nil\n}\n\nfunc chosen", "	up := s.UPSEID\n	*s = out\n	s.UPSEID = up\n	return nil\n}\n\nfunc chosen", 50, "", ""},
	{"a time is not delivered", "runner/start.go", "	s.queue = append(s.queue, queued{Event: procedure.Due{Name: d.Name}})", "	_ = procedure.Due{}\n	return", 400, "", ""},
	{"a time is never seen as delivered", "runner/runner.go", "			out.Due = map[string]time.Time{d.Name: {}}", "			out.Due = nil", 400, "", "who takes over sees it"},
	{"another shard's session is taken for ours", "runner/runner.go", "	if record.ShardOf(rec.CPSEID) != r.shard {", "	if false {", 200, "", ""},
	{"the SEID is no index", "runner/stored.go", "		if id != 0 {", "		if id == 0 {", 20, "not found by its SEID", ""},
	{"a UE's address is no index", "runner/stored.go", "	if s.IPv4.IsValid() {", "	if false {", 1000, "'s and ", ""},
	{"an address that is another's is asked for again", "procedure/establishment.go", "		t.next(establishRemains)", "		t.next(establishUnit)", 1000, "", ""},
	{"an access network that is not reached is not told to let go", "procedure/connection.go",
		"	t.transfer(AskTransfer{N2: b, N2Type: n2.InfoReleaseCommand, SkipIdle: true})", "	_ = b\n	t.due(dueLetGo, 0)\n	t.over(\"\")", 400, "the access network's", ""},
	{"a unit's session is not in its group", "runner/stored.go", "		out = append(out, UnitGroup(shard, node))", "		_ = UnitGroup(shard, node)", 20, "is not in", ""},
	{"what is behind a UE is not kept", "procedure/ethernet.go", "		t.s.Ethernet.Seen(m.Detected, m.Removed)\n", "", 400, "what is behind the UE", ""},
	{"what is behind a UE is not read from a report", "pfcp/usage.go", "				err = macsOf(&list[i], &u.Detected)", "				err = macsOf(&list[i], &u.Removed)", 400, "what is behind the UE", ""},
	{"a handover that is over is none that has been", "procedure/handover.go", "s.Handover, s.Handed = nil, true", "s.Handover = nil", 400, "knows of no handover", ""},
	{"a session is answered for that the store cannot look for", "runner/runner.go",
		"			case errors.Is(err, sessionstore.ErrNotFound): // confirmed", "			case err != nil: // confirmed", 200, "", ""},
	{"a connected UE that has not answered is told nothing", "procedure/modification.go",
		"	t.s.Behind, t.s.Silent = true, t.s.Phase == record.Active\n	t.change(func(s *record.Session) { doubt(s, s.Wanted) })\n",
		"	if t.s.Phase == record.Idle {\n		t.s.Behind = true\n		t.change(func(s *record.Session) { doubt(s, s.Wanted) })\n	}\n", 400, "the Slice", ""},
	{"a queue is turned round", "runner/runner.go", "		q := s.queue[n]\n		s.queue = append(s.queue[:n:n], s.queue[n+1:]...)",
		"		if !s.busy {\n			n = len(s.queue) - 1\n		}\n		q := s.queue[n]\n		s.queue = append(s.queue[:n:n], s.queue[n+1:]...)", 1000, "", "an AMF asks for one thing of a session at a time"},
	{"a changed rule is forgotten where the unit did not answer", "procedure/rules.go",
		"		t.s.Told.Unsure, t.s.Told.All = t.s.Told.Unsure || structural(t.s), true\n", "		t.s.Told = nil\n", 200, "", ""},
	{"the AMF is not told of a session's end", "procedure/release.go", "	t.do(AskStatus{URI: t.s.AMF.StatusURI, Cause: statusReleased})", "	t.reply(Ended{})\n	t.forget(\"\")", 100, "neither wanted it nor was told", ""},
	{"a session that ends stays in its unit", "procedure/release.go", "	t.do(AskUnit{Operation: Delete, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID})",
		"	t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID})", 50, "has ended", ""},
	{"a restored session has new addresses", "procedure/restoration.go", "	ies, err := n4.Establishment(t.s, network.SettingsAt(t.s.Unit.NodeID))",
		"	other := *t.s\n	other.Uplink = record.Tunnel{}\n	ies, err := n4.Establishment(&other, network.SettingsAt(t.s.Unit.NodeID))", 100, "", ""},
	{"a branch that is left is not deleted", "procedure/rerouting.go", "	if t.s.Left.NodeID == \"\" {\n		t.s.Left = nil", "	if true {\n		t.s.Left = nil", 400, "has left", ""},
	{"what an access network is told by the way is told once", "procedure/modification.go", "		t.tellAccessAgain(qfis)\n", "", 400, "the access network has", ""},
	{"usage is acknowledged before it is committed", "procedure/connection.go", "	t.count(r.Usage)\n", "	t.count(r.Usage)\n	t.out.Lazy = len(r.Usage) > 0\n", 1000, "", ""},
	{"a policy association is forgotten", "procedure/release.go", "	if t.s.Policy != \"\" {\n		t.next(endPolicy)", "	if false {\n		t.next(endPolicy)", 100, "no session has", ""},
	{"a charging session is forgotten", "procedure/release.go", "	if t.uncharged() {\n		t.next(endCharging)", "	if t.unpaid() {\n		t.next(endCharging)", 200, "nobody has told the CHF", ""},
	{"a usage report is counted twice", "procedure/charging.go", "!g.Of(m.URR, m.Sequence)", "g.Of(m.URR, m.Sequence) && false", 100, "", ""},
	{"a usage report that was overtaken is not counted", "record/usage.go", "		return g.See(sequence)", "		return sequence >= g.Seen && g.See(sequence)", 400, "", ""},
	{"the access network is not told of another way", "procedure/rerouting.go", "	stays := moved(s) && s.Branch != nil", "	stays := true", 200, "", ""},
	{"a session stays at a unit that was taken away", "runner/departing.go", "		return procedure.UnitGone{NodeID: node}", "		return nil", 400, "", ""},
	{"a PCF that knows no association is not told of one anew", "procedure/policy.go", "		c.Anew = true\n		t.next(t.s.Procedure.Step)", "		c.Due, c.Failed = 0, nil\n		t.over(\"\")", 1000, "", "an association of a PCF that died is nobody's to ask for"},
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
