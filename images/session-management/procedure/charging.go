package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Charging (TS 32.255 5.2.2, TS 32.290 5.3.2). What the unit has measured is in the record before the unit hears so, and stays there until the
// CHF has said that it has it: first as Used, then, in a request, as Sent. A request whose answer is not known is sent again as it was, with
// its number; a CHF that does not know the session any more is told all of it anew.
//
//	initial      between policy and N4 (TS 23.502 4.3.2.2.1)           establishCharging
//	usage        a threshold, a quota's end, its time is over          report, chargeTime
//	             the CHF wants it                                      chargingChanged
//	 1  the unit is asked what it has measured, where it has not said  chargeQuery
//	 2  report, and new quotas                                         chargeReport
//	 3  the unit hears of quotas                                       chargeUnit
//	end          behind N4 and policy (TS 23.502 4.3.4.2)              endCharging (release.go)
//
// A unit stops a rating group's packets where its quota ends by itself (n4/urr.go), so that nothing has to be done for that in time.
const (
	chargeQuery  uint8 = 1
	chargeReport uint8 = 2
	chargeUnit   uint8 = 3
)

var charging = map[uint8]step{
	chargeQuery:  {ask: askQuery, take: takeQuery},
	chargeReport: {ask: askCharging, take: takeCharging},
	chargeUnit:   {ask: askQuota, take: takeQuota},
}

// Why usage is reported (TS 32.291 6.1.6.3.6). The bits are in records.
const (
	WhyVolume    uint32 = 1 << 0 // VOLUME_LIMIT of what needs no quota
	WhyTime      uint32 = 1 << 1 // TIME_LIMIT
	WhyThreshold uint32 = 1 << 2 // QUOTA_THRESHOLD
	WhyExhausted uint32 = 1 << 3 // QUOTA_EXHAUSTED
	WhyHolding   uint32 = 1 << 4 // QHT
	WhyValidity  uint32 = 1 << 5 // VALIDITY_TIME
	WhyForced    uint32 = 1 << 6 // FORCED_REAUTHORISATION
	WhyNew       uint32 = 1 << 7 // the group has no quota yet
	WhyFinal     uint32 = 1 << 8 // FINAL
	// WhyAsks, of what is Sent: a quota is asked for.
	WhyAsks uint32 = 1 << 9

	whyQuota = WhyThreshold | WhyExhausted | WhyHolding | WhyValidity | WhyForced | WhyNew
	whyQuery = WhyValidity | WhyForced
)

// chargeRest is how long a CHF that does not answer is left alone.
const chargeRest = 30 * time.Second

// ---- what is measured -----------------------------------------------------------------------------------------

// measure what the session's flows need: a rating group for each that is charged.
func (t *turn) measure() {
	s := t.s
	needed := map[record.Charge]bool{}
	for _, f := range s.Flows {
		if c := f.Charge; !f.Refused && c.Charged() {
			needed[record.Charge{RatingGroup: c.RatingGroup, Online: c.Online}] = true
		}
	}
	if len(needed) == 0 && s.Usage == nil {
		return
	}
	if s.Usage == nil {
		s.Usage = &record.Usage{}
	}
	u := s.Usage
	for _, f := range s.Flows {
		if c := f.Charge; !f.Refused && c.Charged() && u.Group(c) == nil {
			u.Groups = append(u.Groups, record.Group{RatingGroup: c.RatingGroup, Online: c.Online, Gone: true})
		}
	}
	for n := range u.Groups {
		g := &u.Groups[n]
		is := needed[record.Charge{RatingGroup: g.RatingGroup, Online: g.Online}]
		switch {
		case is && g.Gone && g.Has:
			g.Gone, g.Renew = false, true
		case is && g.Gone:
			u.Numbered++
			g.URR, g.Gone, g.Seen, g.Missed = u.Numbered, false, 0, 0
			if g.Online {
				g.Why |= WhyNew
			}
		case !is:
			g.Gone = true
		}
	}
	t.forgetGroups()
}

// forgetGroups that neither the unit nor the CHF has to hear of.
func (t *turn) forgetGroups() {
	t.s.Usage.Groups = slices.DeleteFunc(t.s.Usage.Groups, func(g record.Group) bool {
		return g.Gone && !g.Has && g.Used == (record.Units{}) && g.Sent == (record.Units{})
	})
}

// measured is what the unit measures, as it was last told.
func measured(u *record.Usage) *record.Usage {
	if u == nil {
		return nil
	}
	out := &record.Usage{}
	for _, g := range u.Groups {
		if g.Has {
			g.Gone = false
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

// metered says whether the unit has measured what nobody else knows.
func metered(u *record.Usage) bool {
	return u != nil && slices.ContainsFunc(u.Groups, func(g record.Group) bool { return g.Has })
}

// metering are the URRs that the unit has.
func (t *turn) metering() (urrs []uint32) {
	for _, g := range t.s.Usage.Groups {
		if g.Has {
			urrs = append(urrs, g.URR)
		}
	}
	return urrs
}

// unmeasured says whether the unit is to measure otherwise. Told twice, it would grant a quota twice.
func unmeasured(u *record.Usage) bool {
	return u != nil && slices.ContainsFunc(u.Groups, func(g record.Group) bool { return g.Has && (g.Gone || g.Renew) || !g.Has && !g.Gone })
}

// measures: the unit has heard what it is to measure.
func (t *turn) measures() {
	if t.s.Usage == nil {
		return
	}
	for n := range t.s.Usage.Groups {
		g := &t.s.Usage.Groups[n]
		if g.Gone && g.Has && g.Used != (record.Units{}) {
			g.Why |= WhyFinal
		}
		g.Has, g.Renew = !g.Gone, false
	}
	t.forgetGroups()
}

// count what was measured, once.
func (t *turn) count(list []Measured) {
	if t.s == nil {
		return
	}
	t.heardMACs(list)
	if t.s.Usage == nil {
		return
	}
	for _, m := range list {
		for n := range t.s.Usage.Groups {
			g := &t.s.Usage.Groups[n]
			if !g.Of(m.URR, m.Sequence) {
				continue
			}
			g.Used.Add(m.Used)
			g.Why |= m.Why
			if g.Quota != nil {
				g.Quota.Spend(m.Used)
			}
			if !g.Online || g.Free { // its thresholds are no quota's
				g.Why &^= whyQuota
				if m.Why&(WhyThreshold) != 0 {
					g.Why |= WhyVolume
				}
			}
		}
	}
}

// ---- when something is said -----------------------------------------------------------------------------------

// charges says whether there is something to tell the CHF, or to ask of it.
func (t *turn) charges() bool {
	u := t.s.Usage
	if u == nil || u.Rests {
		return false
	}
	return u.Open != 0 || slices.ContainsFunc(u.Groups, func(g record.Group) bool { return g.Why != 0 || !g.Gone && t.s.Charging == "" })
}

// charge begins, with a question to the unit where it has not said by itself.
func (t *turn) charge() {
	if t.s.UPSEID != 0 && t.s.Told == nil && len(t.queried()) > 0 {
		t.begin(Charging, chargeQuery)
		return
	}
	t.begin(Charging, chargeReport)
}

// chargeTime: a quota's time is over, or the CHF has been left alone for long enough.
func (t *turn) chargeTime() {
	u := t.s.Usage
	if u == nil || t.s.Phase == record.Releasing && t.s.Command != nil { // the CHF is asked when the UE has heard
		return
	}
	rested := u.Rests
	u.Rests = false
	if t.s.Phase == record.Releasing { // all that is left of the session is what the CHF has not heard
		t.s.Procedure = &record.Procedure{Kind: uint8(Ending), Began: t.in.Now.UnixMilli(), PTI: uint8(endSilently)}
		t.next(endCharging)
		return
	}
	for n := range u.Groups {
		g := &u.Groups[n]
		switch {
		case g.Gone:
		case g.Quota != nil && g.Quota.Until != 0 && g.Quota.Until <= t.in.Now.Unix():
			g.Quota.Until = 0
			g.Why |= WhyValidity
		case rested && n4.Blocked(g):
			g.Why |= WhyNew
		}
	}
	t.validity()
}

// validity of quotas: the first that ends.
func (t *turn) validity() {
	var first int64
	for _, g := range t.s.Usage.Groups {
		if q := g.Quota; !g.Gone && q != nil && q.Until != 0 && (first == 0 || q.Until < first) {
			first = q.Until
		}
	}
	if first != 0 {
		t.due(dueCharge, max(time.Unix(first, 0).Sub(t.in.Now), time.Second))
	}
}

// chargingChanged: TS 32.290 5.3.2.5.
func (t *turn) chargingChanged(c ChargingChanged) {
	u := t.s.Usage
	if t.s.Phase == record.Releasing || u == nil {
		t.reply(Failed{Status: 404, Cause: "CONTEXT_NOT_FOUND", Detail: "nothing is charged for such a session"})
		return
	}
	t.reply(Accepted{})
	if c.Abort {
		t.endByNetwork(n1.CauseRegularDeactivation)
		return
	}
	u.Rests = false
	for n := range u.Groups {
		if g := &u.Groups[n]; !g.Gone && (c.RatingGroups == nil || slices.Contains(c.RatingGroups, g.RatingGroup)) {
			g.Why |= WhyForced
		}
	}
}

// ---- step 1 ---------------------------------------------------------------------------------------------------

func (t *turn) queried() (urrs []uint32) {
	for _, g := range t.s.Usage.Groups {
		if g.Has && g.Why&whyQuery != 0 {
			urrs = append(urrs, g.URR)
		}
	}
	return urrs
}

func askQuery(t *turn) {
	t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: n4.Query(t.queried())})
}

// takeQuery: what the unit has measured is counted already (Handle). One that does not answer says it another time.
func takeQuery(t *turn, e Event) {
	if _, ok := e.(Unit); ok {
		t.next(chargeReport)
	}
}

// ---- step 2 ---------------------------------------------------------------------------------------------------

// ask the CHF, in whichever procedure.
func (t *turn) askCHF(ending bool) {
	u := t.s.Usage
	again := u.Open != 0
	if !again {
		operation := UpdateCharging
		switch {
		case t.s.Charging == "":
			operation, u.Sequence = CreateCharging, 0
		case ending:
			operation = ReleaseCharging
		}
		u.Open, u.At = uint8(operation), t.in.Now.UnixMilli()
		for n := range u.Groups {
			send(u, &u.Groups[n], ending)
		}
	}
	t.do(AskCharging{Operation: ChargingOperation(u.Open), Session: t.s.Clone(), Again: again})
}

// send what a group has used, where something makes it due.
func send(u *record.Usage, g *record.Group, ending bool) {
	if g.Why == 0 && !ending {
		return
	}
	asks := !ending && !g.Gone && g.Online && !g.Free && g.Why&whyQuota != 0
	if q := g.Quota; q != nil && q.Final && g.Why&WhyExhausted != 0 && g.Why&WhyForced == 0 { // TS 32.290 5.4.3: that was the last
		asks, g.Quota, g.Denied, g.Renew = false, nil, true, true
	}
	g.Sent.Add(g.Used)
	if g.Sent != (record.Units{}) {
		u.Container++
	}
	g.Used, g.SentWhy, g.Why = record.Units{}, g.SentWhy|g.Why, 0
	if ending {
		g.SentWhy |= WhyFinal
	}
	if asks {
		g.SentWhy |= WhyAsks
	}
}

// progress of what the CHF is told.
type progress uint8

const (
	heardIt  progress = iota // nothing is left to say
	goesOn                   // it is to be asked again
	refusing                 // it does not want to hear of the session
	silentOn                 // nobody knows whether it has heard
)

// takeCHF takes an answer.
func (t *turn) takeCHF(c Charged) progress {
	u := t.s.Usage
	operation := ChargingOperation(u.Open)
	switch {
	case c.Outcome == Done:
		u.Open, u.Rests = 0, false
		u.Sequence++
		switch operation {
		case CreateCharging:
			t.s.Charging = c.URI
		case ReleaseCharging:
			t.s.Charging = ""
		}
		t.granted(c.Grants, operation)
	case c.Outcome == Refused && operation != CreateCharging: // it does not know the session: another instance, or its memory is gone
		t.s.Charging, u.Open, u.Sequence = "", 0, 0
		return goesOn
	case c.Outcome == Refused:
		return refusing
	default:
		return silentOn
	}
	if t.charges() {
		return goesOn
	}
	return heardIt
}

// granted quotas, and what was sent is heard. A CHF that does not speak of a group when it is opened is asked again (free5GC's does so
// never); otherwise there is nothing for it.
func (t *turn) granted(grants []Grant, operation ChargingOperation) {
	u := t.s.Usage
	for n := range u.Groups {
		g := &u.Groups[n]
		asked := g.SentWhy&WhyAsks != 0
		g.Sent, g.SentWhy = record.Units{}, 0
		at := slices.IndexFunc(grants, func(x Grant) bool { return x.RatingGroup == g.RatingGroup })
		switch {
		case !g.Online || g.Gone || operation == ReleaseCharging:
		case at < 0 && asked && operation == CreateCharging:
			g.Why |= WhyNew
		case at < 0 && !asked:
		case at < 0 || grants[at].Denied:
			g.Quota, g.Denied, g.Free, g.Renew = nil, true, false, true
		case grants[at].Free:
			g.Denied, g.Free, g.Renew = false, true, true
		default:
			q := grants[at].Quota
			if q.Until != 0 {
				q.Until += t.in.Now.Unix()
			}
			g.Quota, g.Denied, g.Free, g.Renew = &q, false, false, true
		}
	}
	t.forgetGroups()
	t.validity()
}

// rest: the CHF is left alone for a while. What needs a quota goes on with what it has.
func (t *turn) chargeRests() {
	t.s.Usage.Rests = true
	t.due(dueCharge, chargeRest)
}

func askCharging(t *turn) { t.askCHF(false) }

func takeCharging(t *turn, e Event) {
	c, ok := e.(Charged)
	if !ok {
		return
	}
	why := ""
	switch t.takeCHF(c) {
	case goesOn:
		t.next(chargeReport)
		return
	case refusing:
		for n := range t.s.Usage.Groups {
			if g := &t.s.Usage.Groups[n]; g.Online && !g.Gone {
				g.Quota, g.Denied, g.Renew = nil, true, true
			}
		}
		t.chargeRests()
		why = "the CHF refused"
	case silentOn:
		t.chargeRests()
		why = "no answer of the CHF"
	}
	switch {
	case c.Ends:
		t.over(why)
		t.endByNetwork(n1.CauseRegularDeactivation)
	case unmeasured(t.s.Usage):
		t.s.Procedure.Message = []byte(why)
		t.next(chargeUnit)
	default:
		t.over(why)
	}
}

// ---- step 3 ---------------------------------------------------------------------------------------------------

func askQuota(t *turn) {
	t.change(func(*record.Session) {})
	t.tell(false, (*turn).quotaTold)
}

func takeQuota(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.quotaTold(u)
	}
}

func (t *turn) quotaTold(u Unit) {
	why := string(t.s.Procedure.Message)
	switch {
	case u.Outcome == Done:
		t.over(why)
		t.catchUp()
	case u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound:
		t.over("the UPF has lost the session")
		t.restoreLost()
	case u.Outcome == Refused: // what it has stays as it is: what is counted already, is
		t.over("the UPF refused")
		t.endByNetwork(n1.CauseReactivationRequested)
	default:
		t.over("no answer of the UPF")
	}
}

// ---- the initial request, and the last ------------------------------------------------------------------------

func askOpening(t *turn) { t.askCHF(false) }

// takeOpening: without an answer a session that needs quotas is none (TS 32.255 5.2.2.2.2); what is only counted is reported later.
func takeOpening(t *turn, e Event) {
	c, ok := e.(Charged)
	if !ok {
		return
	}
	online := slices.ContainsFunc(t.s.Usage.Groups, func(g record.Group) bool { return g.Online })
	is := t.takeCHF(c)
	switch {
	case is == goesOn:
		t.next(establishCharging)
		return
	case c.Ends, is == refusing && online:
		t.s.Charging, t.s.Usage = "", nil // nothing was used
		t.rejectEstablishment("the CHF refused", n1.CauseAuthenticationFailed)
		return
	case is == silentOn && online:
		t.s.Usage = nil
		t.rejectEstablishment("no answer of the CHF", n1.CauseNetworkFailure)
		return
	case is == refusing, is == silentOn:
		t.chargeRests()
	}
	t.next(establishUnit)
}

// uncharged says whether there is something that the CHF has not heard of a session that ends.
func (t *turn) uncharged() bool {
	return t.s.Charging != "" || t.s.Usage != nil && t.s.Usage.Open != 0 || t.unpaid()
}

// mostClosings bounds how often the CHF is asked to take a session's end.
const mostClosings = 6

func askClosing(t *turn) {
	if t.s.Usage == nil {
		t.s.Usage = &record.Usage{}
	}
	t.s.Procedure.Attempts++
	t.askCHF(true)
}

func takeClosing(t *turn, e Event) {
	c, ok := e.(Charged)
	if !ok {
		return
	}
	switch is := t.takeCHF(c); {
	case (is == heardIt || is == goesOn) && !t.uncharged(), is == refusing && !t.unpaid():
		t.s.Charging, t.s.Usage = "", nil
	case (is == heardIt || is == goesOn) && t.s.Procedure.Attempts < mostClosings:
		askClosing(t)
		return
	default: // the record stays until it has heard, or its name is needed (forget, another)
		t.s.Usage.Rests = true
	}
	t.told()
}

// unpaid says whether usage is left.
func (t *turn) unpaid() bool {
	u := t.s.Usage
	return u != nil && slices.ContainsFunc(u.Groups, func(g record.Group) bool { return g.Used != (record.Units{}) || g.Sent != (record.Units{}) })
}

// lingers: what is left of a session that has ended is what the CHF has not heard.
func (t *turn) lingers() {
	s := t.s
	s.Phase, s.UPSEID, s.Downlink, s.Command, s.Told, s.Wanted = record.Releasing, 0, record.Tunnel{}, nil, nil, nil
	s.Usage.Rests = true
	t.over("the CHF has not heard of all that was used")
	t.due(dueCharge, chargeRest)
}
