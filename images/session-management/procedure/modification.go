package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// PDU session modification (TS 23.502 4.3.3.2, TS 24.501 6.3.2, 6.4.2):
//
//	1a    the UE asks                                    modifyByUE (request.go)
//	1b,e  the PCF, or the Slice, has changed             policyChanged, settingsChanged
//	2     the PCF is asked for what the UE asks for      modifyPolicy (request.go)
//	2a    N4: uplink packets of new flows are taken      modifyUnit
//	3     command to UE and access network               modifyTransfer, or in the answer to the UE's request
//	7     the access network's answer                    accessModified
//	11    the UE's answer                                modificationComplete; the command again: commandSilent
//	8,12  N4: downlink packets go the new way, and
//	      what nobody uses any more is taken away        modifyCommit
//
// Between steps 3 and 12 the session is at rest, with its difference in Wanted: UEs may take 80 s. What the Slice changes meanwhile is
// found when all have answered (Behind). A UE that is idle hears when its user plane is up next; the PCF has it paged.
//
// Where the UE says no, or nothing, unit and access network go back to what was: modifyBackUnit, modifyBackAccess.
const (
	modifyUnit       uint8 = 1
	modifyTransfer   uint8 = 2
	modifyCommit     uint8 = 3
	modifyBackUnit   uint8 = 4
	modifyBackAccess uint8 = 5
	modifyPolicy     uint8 = 6 // before modifyUnit
)

var modification = map[uint8]step{
	modifyUnit:       {ask: askComing, take: takeComing},
	modifyTransfer:   {ask: askCommand, take: takeCommanded},
	modifyCommit:     {ask: askCommit, take: takeCommit},
	modifyBackUnit:   {ask: askBackUnit, take: takeBackUnit},
	modifyBackAccess: {ask: askBackAccess, take: takeBackAccess},
	modifyPolicy:     {ask: askResource, take: takeResource},
}

// settingsChanged: step 1e. DNS servers, MTU and P-CSCFs are told to UEs that ask; nothing ends for them.
func (t *turn) settingsChanged() {
	network := t.network()
	if network == nil || t.s.Phase == record.Releasing {
		return
	}
	if t.lags(network) {
		t.s.Behind = true
		t.shown() // it has the next change tried, too
	}
	t.catchUp()
}

// lags says whether there is something to tell UE and access network, now or when they have answered, either way, what they are being told.
func (t *turn) lags(network *configuration.DataNetwork) bool {
	will := t.s.Clone()
	if will.Wanted != nil {
		become(will, will.Wanted, network)
	}
	return difference(will, network) != nil || difference(t.s.Clone(), network) != nil
}

// catchUp tells UE and access network what they have not heard, when nothing else is under way with them.
func (t *turn) catchUp() {
	if t.s == nil || t.uncommitted || t.s.Procedure != nil || t.s.Phase != record.Active && t.s.Phase != record.Idle {
		return
	}
	if w := t.s.Wanted; w != nil {
		if !w.UE && !w.Access {
			t.commit()
		}
		return
	}
	if slices.ContainsFunc(t.s.Flows, func(f record.Flow) bool { return f.Coming }) { // of a program of before, where a unit did not take them back
		t.remakeWithout()
		t.s.Behind = true
		t.begin(Connection, connectUnit)
		return
	}
	if t.tellWay() || t.reroute(byItself, nil) {
		return
	}
	network := t.network()
	if !t.s.Behind || t.s.Silent || t.s.Phase != record.Active || t.s.Command != nil || t.s.Handover != nil || network == nil {
		return
	}
	if rest := t.rest(); rest > 0 {
		t.due(dueBehind, rest)
		return
	}
	t.s.Behind = false
	if w := difference(t.s, network); w != nil {
		t.modify(w, 0, nil)
	}
}

// rest is how long the next command has to wait: an AMF that says the UE's last answer again would answer it, too, since neither has a PTI, and
// so would an access network that was told another tunnel.
func (t *turn) rest() time.Duration {
	if since := t.sinceTold(); since < behindTime {
		return behindTime - since
	}
	t.s.ToldAccess = max(t.s.ToldAccess, 0)
	for _, p := range t.s.History {
		if since := time.Duration(t.in.Now.UnixMilli()-p.At) * time.Millisecond; (Kind(p.Kind) == Modification || Kind(p.Kind) == Rerouting) && since < behindTime {
			return behindTime - since
		}
	}
	return 0
}

// sinceTold is how long ago the access network was told something by the way, or has answered that.
func (t *turn) sinceTold() time.Duration {
	at := t.s.ToldAccess
	return time.Duration(t.in.Now.UnixMilli()-max(at, -at)) * time.Millisecond
}

// restOf a procedure that came to nothing.
func (t *turn) restOf(kind Kind, d time.Duration) time.Duration {
	for _, p := range t.s.History {
		if since := time.Duration(t.in.Now.UnixMilli()-p.At) * time.Millisecond; Kind(p.Kind) == kind && p.Result != 0 && since < d {
			return d - since
		}
	}
	return 0
}

// modify begins; message is the UE's request, and pti its.
func (t *turn) modify(w *record.Wanted, pti uint8, message []byte) {
	t.s.Wanted = w
	t.s.Procedure = &record.Procedure{Kind: uint8(Modification), Began: t.in.Now.UnixMilli(), PTI: pti, Message: message}
	t.next(modifyUnit)
}

// Step 2a.

func askComing(t *turn) {
	t.change(func(s *record.Session) { come(s, s.Wanted) })
	t.tell(false, (*turn).coming)
}

func takeComing(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.coming(u)
	}
}

func (t *turn) coming(u Unit) {
	if u.Outcome == Done {
		t.next(modifyTransfer)
		return
	}
	request := t.s.Procedure
	if u.Outcome == Refused && u.Cause != ie.CauseSessionContextNotFound {
		t.refuseRules(t.s.Wanted.Flows)
	}
	t.s.Wanted = nil
	t.change(notCome)
	if u.Outcome == Refused && u.Cause != ie.CauseSessionContextNotFound {
		switch told := t.s.Told; {
		case told.Flows != nil: // what it was to take back before
			t.remakeWithout()
		case !told.All: // it has what it had
			t.s.Told = nil
		}
	}
	t.over("the UPF did not take it")
	if request.PTI != 0 {
		t.rejectModification(request, n1.CauseInsufficientResources)
	} else {
		t.s.Behind = true
	}
	if u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound {
		t.restoreLost()
		return
	}
	t.catchUp()
}

// rejectModification: TS 24.501 6.4.2.4.
func (t *turn) rejectModification(request *record.Procedure, cause n1.Cause) {
	m := n1.ModificationReject{SessionID: t.s.ID, PTI: request.PTI, Cause: cause}
	if cause == n1.CauseInsufficientResources {
		m.BackOff = networkBackOff
	}
	t.answered(request.Message, m.Encode())
	t.reply(Updated{N1: m.Encode()})
}

// Step 3.

func (t *turn) command(network *configuration.DataNetwork) []byte {
	p := t.s.Procedure
	c := n1.ModificationCommand{SessionID: t.s.ID, PTI: p.PTI}
	tellUE(t.s, t.s.Wanted, network, &c)
	if m, err := n1.Decode(p.Message); err == nil {
		if request, ok := m.(*n1.ModificationRequest); ok {
			answerOptions(t.s, network, request, &c)
		}
	}
	return c.Encode()
}

func askCommand(t *turn) {
	network := t.network()
	if network == nil { // End follows
		t.back("the data network is gone")
		return
	}
	w, p := t.s.Wanted, t.s.Procedure
	a := AskTransfer{SkipIdle: true}
	p.Attempts++
	if c := t.s.Command; c != nil { // a new holder says again what may have been said
		a.N1 = c.Message
	} else {
		t.s.Behind = current(w, network) || t.s.Behind
		a.N1 = t.command(network)
	}
	w.UE, w.Access = false, false
	if r := forAccess(t.s, w); r != nil && t.s.Phase == record.Active {
		b, err := r.Encode()
		if err != nil {
			t.back(err.Error())
			return
		}
		w.Access, a.N2, a.N2Type = true, b, n2.InfoModifyRequest
	}
	if w.UE = p.PTI != 0 || !onlyHeader(a.N1); !w.UE { // nothing that UEs hear of: an ARP
		a.N1 = nil
	}
	t.s.Command = nil
	if a.N1 != nil {
		t.s.Command = &record.Command{Message: a.N1, PTI: p.PTI, Attempts: 1, Began: p.Began}
	}
	switch {
	case t.asker == 0 && a.N1 == nil && a.N2 == nil:
		t.await()
		return
	case t.asker == 0:
		t.transfer(a)
		return
	}
	t.await()
	t.reply(Updated{N1: a.N1, N2: a.N2, N2Type: a.N2Type})
}

// onlyHeader: the command says nothing.
func onlyHeader(command []byte) bool { return len(command) == 4 }

func takeCommanded(t *turn, e Event) {
	x, ok := e.(Transferred)
	if !ok {
		return
	}
	if unheard := x.Outcome == Refused || x.Outcome == NotSent || x.Skipped; unheard && t.s.Procedure.Attempts <= 1 { // else the holder before may have said it
		t.s.Behind = true
		t.s.Command, t.s.Wanted.UE, t.s.Wanted.Access = nil, false, false // they have not heard of it
		t.back("the AMF did not take it: " + x.Cause)
		return
	}
	t.await()
}

// await the answers of UE and access network.
func (t *turn) await() {
	p := t.s.Procedure
	t.s.Procedure = nil // it ends with the commit
	if t.s.Wanted.Access {
		t.due(dueAccess, accessTime)
		if r := forAccess(t.s, t.s.Wanted); r != nil {
			t.accessTold(tellsOf(r)) // whatever it was not told of these before
		}
	}
	if t.s.Command != nil {
		if p.PTI != 0 {
			t.answered(p.Message, nil) // by the command, and from its end on by what it was
		}
		t.due(dueCommand, t.commandTime())
	}
	t.catchUp() // where nobody has to answer
}

// tellAccessAgain: the UE is at another access network, which has not seen step 3, and has taken flows that the session may have lost
// meanwhile. Its answer is awaited as the other's was.
func (t *turn) tellAccessAgain(taken []byte) {
	s := t.s
	r := &n2.ModifyRequest{}
	if w := s.Wanted; w != nil {
		if again := forAccess(s, w); again != nil {
			// What it has not brought along it is asked for again: what it says of that counts, and till then it may have it.
			w.Refused = slices.DeleteFunc(w.Refused, func(qfi byte) bool {
				return slices.ContainsFunc(again.Flows, func(f n2.QoSFlow) bool { return f.QFI == qfi })
			})
			r, w.Access = again, true
			t.due(dueAccess, accessTime)
		} else if w.Access { // it has what is wanted, and nothing to answer
			w.Access = false
			t.due(dueAccess, 0)
		}
	}
	for _, qfi := range taken {
		if qfi == theAMBR {
			continue
		}
		again := slices.ContainsFunc(r.Flows, func(f n2.QoSFlow) bool { return f.QFI == qfi })
		if n := indexOf(s.Flows, qfi); !again && (n < 0 || s.Flows[n].Refused) {
			r.Released = append(r.Released, n2.FlowCause{QFI: qfi, Cause: ngapcause.ReleasedBy5GC})
		}
	}
	if r.AMBR == nil && len(r.Flows)+len(r.Released) == 0 {
		return
	}
	if b, err := r.Encode(); err == nil {
		tells := tellsOf(r)
		for _, qfi := range tells {
			s.Untold = with(s.Untold, qfi)
		}
		t.due(dueUntold, untoldTime)
		t.transfer(AskTransfer{N2: b, N2Type: n2.InfoModifyRequest, SkipIdle: true, Unawaited: true, Tells: tells})
		if s.Wanted == nil { // else it is the answer to that
			s.ToldAccess = t.in.Now.UnixMilli()
		}
	}
}

// tellsOf are the QFIs of what a request says, 0 for the AMBR.
func tellsOf(r *n2.ModifyRequest) []byte {
	qfis := qfisOf(r.Released)
	for _, f := range r.Flows {
		qfis = append(qfis, f.QFI)
	}
	if r.AMBR != nil {
		qfis = append(qfis, theAMBR)
	}
	return qfis
}

// untoldTime is what the AMF has to take what an access network is told by the way, before that is told again.
const untoldTime = 5 * time.Second

// accessTold: the AMF has taken it.
func (t *turn) accessTold(qfis []byte) {
	was := len(t.s.Untold)
	t.s.Untold = slices.DeleteFunc(t.s.Untold, func(qfi byte) bool { return slices.Contains(qfis, qfi) })
	if was > 0 && len(t.s.Untold) == 0 {
		t.otherAccess()
	}
}

// otherAccess: what the access network of before was not told concerns nobody any more.
func (t *turn) otherAccess() {
	if t.s.Untold != nil {
		t.s.Untold = nil
		t.due(dueUntold, 0)
	}
}

// tellUntold: the AMF was not reached, or who told it has died. The access network is told what holds now of that.
func (t *turn) tellUntold() {
	qfis := t.s.Untold
	t.s.Untold = nil
	if t.s.Phase == record.Active && len(qfis) > 0 {
		t.tellAccessAgain(qfis)
	}
}

// arrived is what an access network says that it has taken, and what it may have been told to keep since.
func (t *turn) arrived(taken []byte) []byte {
	taken = slices.Clone(taken)
	for _, f := range t.s.Flows {
		if f.Refused && t.rest() > 0 {
			taken = with(taken, f.QFI)
		}
	}
	return taken
}

// Step 7.

func (t *turn) accessModified(m *n2.ModifyResponse) {
	w, late := t.s.Wanted, t.answersBefore(m)
	t.answerAccess()
	if w == nil { // of before: what it has taken late, it need not keep, and what it has not taken back, the session has no more
		failed := slices.DeleteFunc(qfisOf(m.Failed), func(qfi byte) bool {
			n := indexOf(t.s.Flows, qfi)
			return n <= 0 || t.s.Flows[n].Refused
		})
		if len(failed) > 0 && t.s.Phase == record.Active {
			t.change(func(s *record.Session) { lose(s, failed) })
			t.tellAccessAgain(append(failed, m.Flows...))
			t.begin(Connection, connectUnit)
			return
		}
		t.tellAccessAgain(m.Flows)
		t.notTakenAgain(m)
		return
	}
	switch {
	case late:
		return
	case !about(m, forAccess(t.s, w)):
		t.accessSaysElse(m)
		return
	}
	waited := w.Access
	w.Access = false
	// What it says last counts, also where it was told twice and its first answer was taken for the second one's.
	w.Refused = slices.DeleteFunc(w.Refused, func(qfi byte) bool { return slices.Contains(m.Flows, qfi) })
	for _, f := range m.Failed {
		w.Refused = with(w.Refused, f.QFI)
	}
	if !waited {
		return
	}
	if len(t.unasked(m)) > 0 { // this answers what was asked before
		w.Access = true
		return
	}
	t.due(dueAccess, 0)
	if m.Downlink != nil && t.s.Phase == record.Active && *m.Downlink != t.s.Downlink {
		t.change(func(s *record.Session) { s.Downlink = *m.Downlink })
		t.begin(Connection, connectUnit) // and commit then
		return
	}
	t.catchUp()
}

// unasked are flows that the access network is to have, and that nobody knows whether it was asked for; an answer that names one shows that it was. One
// that names none of them counts for nothing until the AMF has taken the request (tellUntold).
func (t *turn) unasked(m *n2.ModifyResponse) (qfis []byte) {
	r := forAccess(t.s, t.s.Wanted)
	if r == nil {
		return nil
	}
	for _, f := range r.Flows {
		if q := f.QFI; slices.Contains(t.s.Untold, q) && !slices.Contains(m.Flows, q) && !slices.Contains(qfisOf(m.Failed), q) {
			qfis = append(qfis, q)
		}
	}
	return qfis
}

// accessSaysElse than it is asked: it answers late what it was told before. What it has taken then, and nobody has any more, it need not keep; what it
// has not taken, and is to have, the session has no more.
func (t *turn) accessSaysElse(m *n2.ModifyResponse) {
	s, w := t.s, t.s.Wanted
	taken := slices.DeleteFunc(slices.Clone(m.Flows), func(qfi byte) bool {
		n := indexOf(s.Flows, qfi)
		return n >= 0 && !s.Flows[n].Refused || indexOf(w.Flows, qfi) >= 0 // of a refused one that goes it is told nothing else
	})
	failed := slices.DeleteFunc(qfisOf(m.Failed), func(qfi byte) bool {
		n := indexOf(s.Flows, qfi)
		return n < 1 || s.Flows[n].Refused || indexOf(w.Flows, qfi) >= 0
	})
	if s.Phase != record.Active || len(taken)+len(failed) == 0 {
		return
	}
	if len(failed) > 0 {
		t.change(func(s *record.Session) { lose(s, failed) })
	}
	t.tellAccessAgain(append(taken, failed...))
	if len(failed) > 0 {
		t.begin(Connection, connectUnit)
	}
}

// notTakenAgain: flows that the access network was to have back, when UE or AMF had said no, and has no room for any more.
func (t *turn) notTakenAgain(m *n2.ModifyResponse) {
	failed := slices.DeleteFunc(qfisOf(m.Failed), func(qfi byte) bool {
		n := indexOf(t.s.Flows, qfi)
		return n < 1 || t.s.Flows[n].Refused
	})
	if t.s.Phase != record.Active || len(failed) == 0 {
		return
	}
	t.change(func(s *record.Session) { lose(s, failed) })
	t.begin(Connection, connectUnit)
}

// about says whether an answer can be to that request: it names no flows but the request's (TS 38.413 8.2.3.2). Answers have no other mark.
func about(m *n2.ModifyResponse, r *n2.ModifyRequest) bool {
	asks := func(qfi uint8) bool {
		return r != nil && slices.ContainsFunc(r.Flows, func(f n2.QoSFlow) bool { return f.QFI == qfi })
	}
	for _, qfi := range append(slices.Clone(m.Flows), qfisOf(m.Failed)...) {
		if !asks(qfi) {
			return false
		}
	}
	return true
}

// answersBefore says whether an answer is to what was told by the way (tellAccessAgain), or may be that one said again: nothing was asked for then, and
// it names no flows. Without such a one out, a gNB that names none although it was asked to add some counts as one that has added them.
func (t *turn) answersBefore(m *n2.ModifyResponse) bool {
	switch {
	case len(m.Flows)+len(m.Failed) > 0:
		return false
	case t.s.ToldAccess > 0:
		t.s.ToldAccess = -t.in.Now.UnixMilli()
		return true
	}
	return t.sinceTold() < behindTime
}

// answerAccess says that what an access network had to say was heard.
func (t *turn) answerAccess() { t.reply(Updated{}) }

// accessUnmodified: it has taken nothing, and given the UE no command (TS 38.413 8.2.3.3).
func (t *turn) accessUnmodified() {
	w := t.s.Wanted
	t.answerAccess()
	if w == nil || !w.Access {
		return
	}
	t.due(dueAccess, 0)
	w.Access = false
	for _, f := range w.Flows {
		w.Refused = append(w.Refused, f.QFI)
	}
	if w.UE {
		w.UE = false // there is nothing to take back there either
		t.abort("the access network refused")
		return
	}
	t.catchUp()
}

// Step 11.

func (t *turn) modificationComplete(m *n1.ModificationComplete) {
	if !t.answers(m.Header) {
		return
	}
	if c := t.s.Command; c.PTI != 0 && t.s.Answered != nil {
		t.s.Answered.Answer = c.Message
	}
	t.s.Command = nil
	t.due(dueCommand, 0)
	t.s.Wanted.UE = false
	if t.s.Wanted.Access {
		t.due(dueAccess, accessTime)
	}
	t.reply(Updated{})
	t.catchUp()
}

// commandRejected: TS 24.501 6.3.2.4.
func (t *turn) commandRejected(m *n1.ModificationCommandReject) {
	if !t.answers(m.Header) {
		return
	}
	if m.Cause == n1.CauseInvalidPDUSessionIdentity { // 6.3.2.4: the UE has no such session
		t.reply(Updated{})
		t.end(endWithNotice, 0)
		return
	}
	t.reply(Updated{})
	t.abort("the UE refused")
}

// answers says whether a message of the UE's answers the modification command that is out. Otherwise the UE hears what
// TS 24.501 7.3.1 says, unless it says again what it has said.
func (t *turn) answers(h n1.Header) bool {
	c := t.s.Command
	switch {
	case c != nil && !c.Release && c.PTI == h.PTI && t.s.Wanted != nil:
		return true
	case h.PTI == 0, t.s.Answered != nil && len(t.s.Answered.Answer) > 2 && t.s.Answered.Answer[2] == h.PTI: // heard before
		t.reply(Updated{})
	default:
		t.status5GSM(h.PTI, n1.CausePTIMismatch)
	}
	return false
}

// abort: UE, or access network, have not taken it.
func (t *turn) abort(cause string) {
	began := t.in.Now.UnixMilli()
	if c := t.s.Command; c != nil {
		began = c.Began
	}
	t.s.Command = nil
	t.due(dueCommand, 0)
	t.due(dueAccess, 0)
	t.s.Procedure = &record.Procedure{Kind: uint8(Modification), Began: began}
	t.back(cause)
}

// Steps 8 and 12.

func (t *turn) commit() {
	began := t.in.Now.UnixMilli()
	t.s.Procedure = &record.Procedure{Kind: uint8(Modification), Began: began}
	w, network := t.s.Wanted, t.network()
	t.s.Wanted = nil
	t.change(func(s *record.Session) { become(s, w, network) })
	t.next(modifyCommit)
}

func askCommit(t *turn) { t.tell(false, (*turn).committed) }

func takeCommit(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.committed(u)
	}
}

func (t *turn) committed(u Unit) {
	switch {
	case u.Outcome == Done:
		t.over("")
		t.reply(Updated{})
		t.catchUp()
	case u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound:
		t.over("the UPF has lost the session")
		t.restoreLost()
	case u.Outcome == Refused: // UE and access network have what the unit has not
		t.over("the UPF refused")
		t.reply(Updated{})
		t.endByNetwork(n1.CauseReactivationRequested)
	default:
		t.over("no answer of the UPF")
		t.reply(Updated{})
	}
}

// back to what was.
func (t *turn) back(cause string) {
	t.s.Procedure.Message = []byte(cause)
	t.next(modifyBackUnit)
}

func askBackUnit(t *turn) {
	t.change(notCome)
	t.tell(false, (*turn).backUnit)
}

func takeBackUnit(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.backUnit(u)
	}
}

// backUnit: whatever the unit says, the access network goes back too; a unit that has not done it makes the session anew then.
func (t *turn) backUnit(u Unit) {
	if u.Outcome == Refused {
		t.remakeWithout()
	}
	t.next(modifyBackAccess)
}

func askBackAccess(t *turn) {
	w := t.s.Wanted
	if r := backForAccess(t.s, w); r != nil && w.UE && t.s.Phase == record.Active {
		if b, err := r.Encode(); err == nil {
			t.transfer(AskTransfer{N2: b, N2Type: n2.InfoModifyRequest})
			return
		}
	}
	t.backOver()
}

func takeBackAccess(t *turn, e Event) {
	x, ok := e.(Transferred)
	if !ok {
		return
	}
	if p := t.s.Procedure; (x.Outcome == NotSent || x.Outcome == Unknown) && p.Attempts < backAttempts {
		p.Attempts++
		askBackAccess(t)
		return
	}
	t.backOver()
}

// backAttempts bounds how often an AMF that does not answer is asked again to have the access network go back.
const backAttempts = 3

func (t *turn) backOver() {
	t.s.Wanted = nil
	t.over(string(t.s.Procedure.Message))
	t.reply(Updated{})
	t.catchUp() // in a while, where they have not heard of it
}

// commandUnanswered: T3591 has expired for the last time, and the procedure is aborted (TS 24.501 6.3.2.5, a). What has changed is not lost for the UE, nor
// what it may have heard of it: it is told either way when it is back, or, where it was connected all the time, when it shows itself.
func (t *turn) commandUnanswered() {
	t.s.Behind, t.s.Silent = true, t.s.Phase == record.Active
	t.change(func(s *record.Session) { doubt(s, s.Wanted) })
	t.abort("no answer of the UE")
}

// shown: the UE has sent something, or has come from elsewhere, so that a command may reach it.
func (t *turn) shown() { t.s.Silent = false }

// unitRest is how long a unit that did not answer is left alone, and behindTime a UE that has just answered.
const (
	unitRest   = 5 * time.Second
	behindTime = 5 * time.Second
)
