package procedure

import (
	"slices"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
)

// What QoS a session is to have (TS 23.501 5.7), by the Slice and by what subscription and PCF decide otherwise; the difference to what it
// has; and how that difference is said to the UE (QoS rules and flow descriptions, TS 24.501 9.11.4.12, 9.11.4.13) and to the access network.

// The default QoS rule's precedence, and its identifier: the other rules are numbered as their flows, which are from 2 on.
const (
	defaultPrecedence = 255
	defaultRule       = 1
	firstFlow         = 2
	lastFlow          = 63
)

// mostChanges are told at a time: a command has to fit into a record.
const mostChanges = 8

// defaults are AMBR and default flow as they are to be.
func defaults(network *configuration.DataNetwork, d record.Decided) (record.AMBR, record.Flow) {
	ambr, first := network.AMBR, network.DefaultFlow(1)
	if d.AMBR != (record.AMBR{}) {
		ambr = d.AMBR
	}
	if d.FiveQI != 0 {
		first.FiveQI = d.FiveQI
	}
	if d.Priority != 0 {
		first.Priority, first.MayPreempt, first.Preemptable = d.Priority, d.MayPreempt, d.Preemptable
	}
	if d.Ruled {
		first.Closed = d.Closed
		if d.Charge != (record.Charge{}) {
			first.Charge = d.Charge
		}
	}
	return ambr, first
}

// and adds what somebody decides later; what that leaves open stays.
func and(d, later record.Decided) record.Decided {
	if later.AMBR != (record.AMBR{}) {
		d.AMBR = later.AMBR
	}
	if later.FiveQI != 0 {
		d.FiveQI = later.FiveQI
	}
	if later.Priority != 0 {
		d.Priority, d.MayPreempt, d.Preemptable = later.Priority, later.MayPreempt, later.Preemptable
	}
	if later.Ruled {
		d.Ruled, d.Closed, d.Charge = true, later.Closed, later.Charge
	}
	return d
}

// newQoS of a session that has none.
func newQoS(s *record.Session, network *configuration.DataNetwork) {
	var first record.Flow
	s.AMBR, first = defaults(network, s.Decided)
	s.Flows = []record.Flow{first}
	for n, f := range network.FlowsOf(s.Type, s.Subscribed) {
		s.Flows = append(s.Flows, n4.Versioned(network.Record(f, uint8(n)+firstFlow), network.Settings()))
	}
}

// ueHas says whether the UE has a flow's rule.
func ueHas(f record.Flow) bool { return !f.Default && (f.Known || !f.Refused && !f.Coming) }

// plain is a flow without what became of it.
func plain(f record.Flow) record.Flow {
	f.Refused, f.Known, f.Coming = false, false, false
	return f
}

func indexOf(flows []record.Flow, qfi uint8) int {
	return slices.IndexFunc(flows, func(f record.Flow) bool { return f.QFI == qfi })
}

func named(flows []record.Flow, name string) int {
	return slices.IndexFunc(flows, func(f record.Flow) bool { return f.Name == name })
}

func qfisOf(failed []n2.FlowCause) (qfis []byte) {
	for _, f := range failed {
		qfis = append(qfis, f.QFI)
	}
	return qfis
}

// lose flows that an access network has not: the UE is told to forget them.
func lose(s *record.Session, qfis []byte) {
	for n := range s.Flows {
		f := &s.Flows[n]
		if n == 0 || !slices.Contains(qfis, f.QFI) || f.Default {
			continue
		}
		if s.Wanted != nil && indexOf(s.Wanted.Flows, f.QFI) >= 0 {
			s.Wanted.Refused = with(s.Wanted.Refused, f.QFI)
		}
		if f.Coming || f.Refused {
			continue
		}
		f.Refused, f.Known, s.Behind = true, true, true
	}
}

// missing are the QFIs of a session's flows that are not in a list of what an access network has.
func missing(s *record.Session, has []byte) (qfis []byte) {
	for _, f := range s.Flows {
		if !f.Refused && !f.Default && !slices.Contains(has, f.QFI) {
			qfis = append(qfis, f.QFI)
		}
	}
	return qfis
}

// difference between what a session has and what it is to have; nil: none. More than can be told at once leaves it Behind.
func difference(s *record.Session, network *configuration.DataNetwork) *record.Wanted {
	w := &record.Wanted{}
	ambr, first := defaults(network, s.Decided)
	if ambr != s.AMBR || doubtful(s, theAMBR) {
		w.AMBR = ambr
	}
	first.QFI = s.Flows[0].QFI
	if first != plain(s.Flows[0]) || doubtful(s, first.QFI) {
		w.Flows = append(w.Flows, first)
	}
	full := func() bool { return len(w.Flows)+len(w.Gone) >= mostChanges }
	list := network.FlowsOf(s.Type, s.Subscribed)
	for n := 1; n < len(s.Flows); n++ {
		f := s.Flows[n]
		configured := slices.ContainsFunc(list, func(c *configuration.Flow) bool { return c.Name == f.Name })
		switch {
		case configured && (!f.Refused || !f.Known || changed(f, network)):
		case full():
			s.Behind = true
		case ueHas(f) || !f.Refused:
			w.Gone = append(w.Gone, f.QFI)
		default: // nobody has it
			s.Flows = slices.Delete(s.Flows, n, n+1)
			n--
		}
	}
	for _, c := range list {
		n := named(s.Flows, c.Name)
		switch {
		case n >= 0 && !changed(s.Flows[n], network) && (s.Flows[n].Refused || !doubtful(s, s.Flows[n].QFI)):
		case full():
			s.Behind = true
		case n >= 0:
			w.Flows = append(w.Flows, n4.Versioned(network.Record(c, s.Flows[n].QFI), network.Settings()))
		default:
			if qfi := freeQFI(s, w); qfi != 0 {
				w.Flows = append(w.Flows, n4.Versioned(network.Record(c, qfi), network.Settings()))
			}
		}
	}
	if w.AMBR == (record.AMBR{}) && len(w.Flows)+len(w.Gone) == 0 {
		return nil
	}
	return w
}

// changed says whether the Slice has a flow otherwise than the session.
func changed(f record.Flow, network *configuration.DataNetwork) bool {
	c := network.Flow(f.Name)
	return c == nil || n4.Versioned(network.Record(c, f.QFI), network.Settings()) != plain(f)
}

// freeQFI is one that no flow of the session has, 0 where there is none.
func freeQFI(s *record.Session, w *record.Wanted) uint8 {
	for qfi := uint8(firstFlow); qfi <= lastFlow; qfi++ {
		if indexOf(s.Flows, qfi) < 0 && indexOf(w.Flows, qfi) < 0 {
			return qfi
		}
	}
	return 0
}

// description of a flow for a UE.
func description(f record.Flow, operation n1.Operation) n1.Flow {
	return n1.Flow{
		QFI: f.QFI, Operation: operation, FiveQI: f.FiveQI, GFBRUplink: f.GFBRUplink, GFBRDownlink: f.GFBRDownlink,
		MFBRUplink: f.MFBRUplink, MFBRDownlink: f.MFBRDownlink,
	}
}

// qosOf a session as its UE is told when it is accepted: the default rule, and one for each further flow.
func qosOf(s *record.Session, network *configuration.DataNetwork) (rules []n1.Rule, flows []n1.Flow) {
	for n, f := range s.Flows {
		if f.Refused || f.Default {
			continue
		}
		flows = append(flows, description(f, n1.CreateFlow))
		if n == 0 {
			rules = append(rules, n1.Rule{
				ID: defaultRule, Operation: n1.CreateRule, Default: true, Filters: []n1.Filter{n1.Any(1)}, Precedence: defaultPrecedence, QFI: f.QFI,
			})
			continue
		}
		if configured := network.Flow(f.Name); configured != nil {
			rules = append(rules, configured.Rule(f.QFI, f.QFI, s.Type))
		}
	}
	return rules, flows
}

// tellUE puts the difference into a command.
func tellUE(s *record.Session, w *record.Wanted, network *configuration.DataNetwork, c *n1.ModificationCommand) {
	if w.AMBR != (record.AMBR{}) {
		ambr := n1.AMBR(w.AMBR)
		c.AMBR = &ambr
	}
	for _, f := range w.Flows {
		if f.Default {
			continue // its packets are of the default flow, as far as the UE can tell
		}
		n := indexOf(s.Flows, f.QFI)
		has := n >= 0 && ueHas(s.Flows[n]) && !s.Flows[n].Coming // a rule that is made anew replaces one of that name (TS 24.501 6.3.2.4)
		switch {
		case !has:
			c.Flows = append(c.Flows, description(f, n1.CreateFlow))
		case description(f, 0) != description(s.Flows[n], 0) || doubtful(s, f.QFI):
			c.Flows = append(c.Flows, description(f, n1.ModifyFlow))
		}
		configured := network.Flow(f.Name)
		if n == 0 || configured == nil || has && s.Flows[n].Filters == f.Filters && !doubtful(s, f.QFI) {
			continue
		}
		r := configured.Rule(f.QFI, f.QFI, s.Type)
		if has {
			r.Operation = n1.ReplaceFilters
		}
		c.Rules = append(c.Rules, r)
	}
	for _, qfi := range w.Gone {
		if n := indexOf(s.Flows, qfi); n > 0 && ueHas(s.Flows[n]) {
			c.Rules = append(c.Rules, n1.Rule{ID: qfi, Operation: n1.DeleteRule})
			c.Flows = append(c.Flows, n1.Flow{QFI: qfi, Operation: n1.DeleteFlow})
		}
	}
}

// forAccess is the difference as an access network is told it; nil where that is nothing.
func forAccess(s *record.Session, w *record.Wanted) *n2.ModifyRequest {
	r := &n2.ModifyRequest{}
	if w.AMBR != (record.AMBR{}) && w.AMBR != s.AMBR {
		ambr := w.AMBR
		r.AMBR = &ambr
	}
	for _, f := range w.Flows {
		n := indexOf(s.Flows, f.QFI)
		if !f.Default && (n < 0 || s.Flows[n].Refused || s.Flows[n].Coming || !sameQoS(f, s.Flows[n])) {
			r.Flows = append(r.Flows, n2.QoSFlow{Flow: f})
		}
	}
	for _, qfi := range w.Gone {
		if n := indexOf(s.Flows, qfi); n > 0 && !s.Flows[n].Refused && !s.Flows[n].Default {
			r.Released = append(r.Released, n2.FlowCause{QFI: qfi, Cause: ngapcause.ReleasedBy5GC})
		}
	}
	if r.AMBR == nil && len(r.Flows)+len(r.Released) == 0 {
		return nil
	}
	return r
}

// sameQoS: an access network knows nothing of filters, gates and charging.
func sameQoS(a, b record.Flow) bool {
	a.Closed, a.Charge, b.Closed, b.Charge = 0, record.Charge{}, 0, record.Charge{}
	return sameBeyondFilters(a, b)
}

// backForAccess undoes forAccess; nil where there is nothing to undo.
func backForAccess(s *record.Session, w *record.Wanted) *n2.ModifyRequest {
	was := forAccess(s, w)
	if was == nil {
		was = &n2.ModifyRequest{}
	}
	r := &n2.ModifyRequest{}
	for _, qfi := range w.Gone { // what the UE may have forgotten is not taken back, whether or not the access network has heard
		if n := indexOf(s.Flows, qfi); w.Access && n > 0 && doubted(s.Flows[n]) {
			r.Released = append(r.Released, n2.FlowCause{QFI: qfi, Cause: ngapcause.ReleasedBy5GC})
		}
	}
	if was.AMBR != nil {
		ambr := s.AMBR
		r.AMBR = &ambr
	}
	for _, f := range was.Flows {
		n := indexOf(s.Flows, f.QFI)
		switch {
		case slices.Contains(w.Refused, f.QFI):
		case n < 0 || s.Flows[n].Refused || s.Flows[n].Coming:
			r.Released = append(r.Released, n2.FlowCause{QFI: f.QFI, Cause: ngapcause.ReleasedBy5GC})
		default:
			r.Flows = append(r.Flows, n2.QoSFlow{Flow: s.Flows[n]})
		}
	}
	for _, f := range was.Released {
		r.Flows = append(r.Flows, n2.QoSFlow{Flow: s.Flows[indexOf(s.Flows, f.QFI)]})
	}
	if r.AMBR == nil && len(r.Flows)+len(r.Released) == 0 {
		return nil
	}
	return r
}

// become makes the session what was wanted. A flow that the access network has not taken stays as it was: one that is new is forgotten again.
func become(s *record.Session, w *record.Wanted, network *configuration.DataNetwork) {
	if w.AMBR != (record.AMBR{}) {
		s.AMBR = w.AMBR
	}
	s.Doubtful = slices.DeleteFunc(s.Doubtful, func(qfi byte) bool {
		return qfi == theAMBR && w.AMBR != (record.AMBR{}) || indexOf(w.Flows, qfi) >= 0 || slices.Contains(w.Gone, qfi)
	})
	for _, f := range w.Flows {
		n := indexOf(s.Flows, f.QFI)
		refused := slices.Contains(w.Refused, f.QFI)
		switch {
		case refused && n > 0 && s.Flows[n].Coming, refused && n < 0:
			f.Refused, f.Known, s.Behind = true, true, true
		case refused: // TS 38.413 8.2.3.2: the flow stays as it was; the UE has heard otherwise, of rates that it does not act on
			continue
		}
		if f.Name != "" && !f.Refused && (network == nil || network.Flow(f.Name) == nil) { // it has gone meanwhile, and its filters with it
			s.Behind = true
			if n >= 0 && !s.Flows[n].Coming && !s.Flows[n].Refused {
				continue
			}
			f.Directions, f.Filters = n4.NoDirection, 0
		}
		if n < 0 {
			s.Flows = append(s.Flows, f)
		} else {
			s.Flows[n] = f
		}
	}
	for _, qfi := range w.Gone {
		n := indexOf(s.Flows, qfi)
		if n <= 0 {
			continue
		}
		configured := network != nil && slices.ContainsFunc(network.FlowsOf(s.Type, s.Subscribed), func(c *configuration.Flow) bool { return c.Name == s.Flows[n].Name })
		switch {
		case configured && (w.GivenBack || s.Flows[n].Refused):
			s.Flows[n].Refused, s.Flows[n].Known = true, false // not again, until the Slice has it otherwise
			continue
		case configured: // it was gone, and is there again
			s.Behind = true
		}
		s.Flows = slices.Delete(s.Flows, n, n+1)
	}
	notCome(s) // what the UE was not told of after all
}

// current: what the UE is about to hear is what the Slice has now. Flows that it has lost meanwhile are not told, and true says so: what the
// unit has of them goes with the commit.
func current(w *record.Wanted, network *configuration.DataNetwork) (lost bool) {
	n := len(w.Flows)
	w.Flows = slices.DeleteFunc(w.Flows, func(f record.Flow) bool { return f.Name != "" && network.Flow(f.Name) == nil })
	for i := range w.Flows {
		w.Flows[i] = n4.Versioned(w.Flows[i], network.Settings())
	}
	return len(w.Flows) < n
}

// come has the unit take uplink packets of flows that the UE is about to hear of.
func come(s *record.Session, w *record.Wanted) {
	for _, f := range w.Flows {
		n := indexOf(s.Flows, f.QFI)
		f.Coming = true
		switch {
		case n < 0:
			s.Flows = append(s.Flows, f)
		case s.Flows[n].Refused:
			f.Known = s.Flows[n].Known
			s.Flows[n] = f
		}
	}
}

// notCome takes them back.
func notCome(s *record.Session) {
	s.Flows = slices.DeleteFunc(s.Flows, func(f record.Flow) bool { return f.Coming && !f.Known })
	for n := range s.Flows {
		if s.Flows[n].Coming {
			s.Flows[n].Coming, s.Flows[n].Refused = false, true
		}
	}
}

// doubt what a UE has that may have heard of a change. It is told either way when it is back, or shows itself. Flows that come or go nobody else has:
// they are as no Slice has them.
func doubt(s *record.Session, w *record.Wanted) {
	if w.AMBR != (record.AMBR{}) {
		s.Doubtful = with(s.Doubtful, theAMBR)
	}
	for _, f := range s.Flows {
		n := indexOf(w.Flows, f.QFI)
		if n >= 0 && !f.Coming && !f.Refused && (f.Filters != w.Flows[n].Filters || description(f, 0) != description(w.Flows[n], 0)) {
			s.Doubtful = with(s.Doubtful, f.QFI)
		}
	}
	for n := range s.Flows {
		f := &s.Flows[n]
		comes := f.Coming && indexOf(w.Flows, f.QFI) >= 0
		goes := n > 0 && slices.Contains(w.Gone, f.QFI) && ueHas(*f)
		if f.Default || !comes && !goes {
			continue
		}
		f.Known, f.Filters = true, 0
		f.Refused = goes
	}
}

// theAMBR among Doubtful: no flow has that QFI.
const theAMBR = 0

func doubtful(s *record.Session, qfi byte) bool { return slices.Contains(s.Doubtful, qfi) }

func doubted(f record.Flow) bool { return f.Refused && f.Known && f.Filters == 0 }

// currentFilters: all rules are told anew, with the filters that the Slice has now. The UE hears of them later.
func (t *turn) currentFilters(network *configuration.DataNetwork) {
	for n := 1; n < len(t.s.Flows); n++ {
		f := &t.s.Flows[n]
		switch c := network.Flow(f.Name); {
		case f.Refused:
		case c == nil: // without rules; UE and access network have it still
			f.Directions, f.Filters, t.s.Behind = n4.NoDirection, 0, true
		default:
			now := n4.Versioned(*f, network.Settings())
			if now != *f { // also where the Slice has filters again that it had before
				f.Directions, t.s.Behind = now.Directions, true
			}
		}
	}
}

// otherFilters: likewise, of a unit that does not have the session yet. Who has it has those of before.
func (t *turn) otherFilters(network *configuration.DataNetwork) {
	flows := slices.Clone(t.s.Flows)
	t.currentFilters(network)
	if slices.Equal(flows, t.s.Flows) {
		return
	}
	if t.s.Told == nil {
		t.s.Told = told(t.s)
	}
	if t.s.Told.Flows == nil {
		t.s.Told.Flows = flows
	}
}
