package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// UEs that move between access networks, and QoS that changes: what UE, access network and unit then have of a session's flows.

// mobile is what a UE and its access network have beside the tunnel: flows by QFI.
type mobile struct {
	rules, flows map[uint8]bool
	// there is what another access network has, to which the UE is on its way.
	there map[uint8]bool
	// wayThere is what that one was told last of where it is to send packets.
	wayThere n2.TunnelPair
	// freed: there, or where the UE is, the session's resources were let go of since it began to move.
	freed bool
	// offered is where the access network that was asked last is to send packets.
	offered record.Tunnel
	// arriving is the tunnel in the target of a handover.
	arriving record.Tunnel
	// deaf: till then the UE hears no command; its access network does.
	deaf time.Time
	// command is the last that the UE had, and rejects what it thought of it: it does of the same one again.
	command string
	rejects bool
	// refused is the AMBR in the last command that had one, where the UE has rejected that; nil: it has taken it. keeps: it has rejected the last command of
	// the network's own, which has all that is to change.
	refused []byte
	keeps   bool
}

// setUp is the access network's part of a set-up.
func (m *mobile) setUp(b []byte) {
	t, err := n2.Decode(n2.InfoSetupRequest, b)
	if err != nil {
		return
	}
	m.flows, m.there, m.offered = map[uint8]bool{}, nil, t.(*n2.SetupRequest).Uplink
	for _, f := range t.(*n2.SetupRequest).Flows {
		m.flows[f.QFI] = true
	}
}

// accepted is the UE's part.
func (m *mobile) accepted(accept []byte) {
	n := int(accept[5])<<8 | int(accept[6])
	m.rules, m.command, m.refused, m.keeps = map[uint8]bool{}, "", nil, false
	m.takeRules(accept[7 : 7+n])
}

// deafen one of the UEs, in some worlds, for longer than T3591 is begun anew (TS 24.501 6.3.2.5).
func (w *world) deafen(seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 6)) // of its own: other worlds go on as they did
	if w.real || chance.IntN(6) != 0 {
		return
	}
	u := w.ues[chance.IntN(len(w.ues))]
	w.After(time.Duration(chance.Int64N(int64(unkind))), func() {
		w.Note("%s is deaf", u.supi)
		u.deaf = w.Now.Add(2 * time.Minute)
	})
}

// shows: a UE that has been deaf hears again, and is heard of.
func (u *ue) shows() {
	rec := u.w.truth(record.Key(u.supi, sessionID))
	if rec == nil || !rec.Silent || u.ref != rec.Ref() || u.request != nil || u.w.Now.Before(u.deaf) {
		return
	}
	u.w.Ended[aSilentUE]++
	u.update("location", procedure.Update{AMF: record.AMF{InstanceID: "amf"}}, func(procedure.Updated) {})
}

// takeRules as a UE does. A rule has its flow's number.
func (m *mobile) takeRules(b []byte) {
	for len(b) > 3 {
		switch n1.Operation(b[3] >> 5) {
		case n1.CreateRule:
			m.rules[b[0]] = true
		case n1.DeleteRule:
			delete(m.rules, b[0])
		}
		b = b[3+(int(b[1])<<8|int(b[2])):]
	}
}

// takeCommand takes the rules in a modification command (TS 24.501 8.3.9), and the AMBR, or rejects them.
func (m *mobile) takeCommand(b []byte) {
	if m.command = string(b); b[2] == 0 {
		m.keeps = m.rejects
	}
	for b = b[4:]; len(b) > 0; {
		n := 1
		switch iei := b[0]; {
		case iei >= 0x80:
		case iei == 0x59:
			n = 2
		case iei >= 0x70:
			n = 3 + int(b[1])<<8 + int(b[2])
			if iei == 0x7a && !m.rejects {
				m.takeRules(b[3:n])
			}
		default:
			n = 2 + int(b[1])
			if iei == 0x2a {
				m.refused = nil
			}
			if iei == 0x2a && m.rejects {
				m.refused = b[2:n]
			}
		}
		b = b[n:]
	}
}

// modified takes a transfer of a modification; false: it is none.
func (u *ue) modified(a procedure.AskTransfer, back func(procedure.Event)) bool {
	command := len(a.N1) > 3 && n1.MessageType(a.N1[3]) == n1.ModificationCommandType
	if !command && a.N2Type != n2.InfoModifyRequest {
		return false
	}
	if u.teid == 0 && a.SkipIdle {
		back(procedure.Transferred{Outcome: procedure.Done, Cause: "N1_MSG_NOT_TRANSFERRED"})
		return true
	}
	back(procedure.Transferred{Outcome: procedure.Done})
	u.told(a.N1, a.N2, a.N2Type)
	return true
}

// told of a modification, the access network first.
func (u *ue) told(command, modify []byte, kind n2.InfoType) {
	commands := len(command) > 3 && n1.MessageType(command[3]) == n1.ModificationCommandType
	if commands {
		// An answer that waits in the AMF for this long, or is not taken there, is none to the command of before any more, which has come again or is another
		// now, whether or not it reaches the UE.
		answers := func(r *request) bool { return r.name == "modification complete" || r.name == "command reject" }
		u.next = slices.DeleteFunc(u.next, answers)
		if u.request != nil && answers(u.request) {
			u.request.done, u.request = true, nil
		}
	}
	if command != nil && u.w.faults && u.w.Chance(15) {
		u.proceed()
		return // the radio link fails: T3591
	}
	if kind == n2.InfoModifyRequest && u.teid != 0 {
		u.accessTold(modify)
	}
	if !commands || u.w.Now.Before(u.deaf) {
		return
	}
	pti := command[2]
	if again := string(command) == u.command; u.w.faults && (again && u.rejects || !again && u.w.Chance(10)) {
		u.rejects = true
		u.takeCommand(command)
		u.update("command reject", procedure.Update{N1: []byte{0x2e, sessionID, pti, byte(n1.ModificationCommandRejectType), 31}}, func(procedure.Updated) {})
		return
	}
	u.rejects = false
	u.takeCommand(command)
	u.update("modification complete", procedure.Update{N1: []byte{0x2e, sessionID, pti, byte(n1.ModificationCompleteType)}}, func(procedure.Updated) {})
}

func (u *ue) accessTold(modify []byte) {
	t, err := n2.Decode(n2.InfoModifyRequest, modify)
	if err != nil {
		u.w.Fail("a modify request cannot be read: %v", err)
		return
	}
	u.w.Note("%s: the access network has %v and is told %s", u.supi, u.flows, says(t.(*n2.ModifyRequest)))
	u.otherWay(t.(*n2.ModifyRequest))
	if m := t.(*n2.ModifyRequest); len(m.Flows) == 0 && len(m.Released) == 0 && m.AMBR == nil {
		return // nobody waits for an answer
	}
	var answer n2.ModifyResponse // one to each request (TS 38.413 8.2.3), which the AMF passes on in turn
	for _, f := range t.(*n2.ModifyRequest).Flows {
		if !u.flows[f.QFI] && !u.there[f.QFI] && u.w.faults && u.w.Chance(6) {
			answer.Failed = append(answer.Failed, n2.FlowCause{QFI: f.QFI, Cause: ngapcause.RadioResourcesNotAvailable})
			continue
		}
		u.flows[f.QFI] = true
		if u.there != nil {
			u.there[f.QFI] = true
		}
		answer.Flows = append(answer.Flows, f.QFI)
	}
	for _, f := range t.(*n2.ModifyRequest).Released {
		delete(u.flows, f.QFI)
		delete(u.there, f.QFI)
	}
	u.update("modified", procedure.Update{N2: u.encoded(&answer), N2Type: n2.InfoModifyResponse}, func(procedure.Updated) {})
}

func (u *ue) encoded(t n2.Transfer) []byte {
	b, err := t.Encode()
	if err != nil {
		u.w.Fail("a transfer of the access network: %v", err)
	}
	return b
}

// moves does one of what a connected UE can do; false: not now.
func (u *ue) moves() bool {
	if u.w.real { // what moves is told to the model of a unit alone
		return false
	}
	switch u.w.Rand.IntN(8) {
	case 0:
		u.switchPath()
	case 1:
		u.handOver()
	case 2:
		u.askFor()
	case 3:
		u.loseFlow()
	default:
		return false
	}
	return true
}

// somewhere is another access network's tunnel.
func (u *ue) somewhere() record.Tunnel {
	u.teids++
	return record.Tunnel{TEID: u.teids, IPv4: gnb}
}

// taken are the flows that another access network takes: the default flow always.
func (u *ue) taken() map[uint8]bool {
	out := maps.Clone(u.flows)
	for _, qfi := range slices.Sorted(maps.Keys(u.flows)) {
		if qfi != 1 && u.w.Chance(6) {
			delete(out, qfi)
		}
	}
	return out
}

// switchPath is Xn handover.
func (u *ue) switchPath() {
	to, has, uplink := u.somewhere(), u.taken(), u.uplink // which the source has told
	u.moving("path switch", has, procedure.Update{ToBeSwitched: true, AMF: u.roams(), N2Type: n2.InfoPathSwitchRequest, N2: u.encoded(&n2.PathSwitchRequest{
		Downlink: to, Flows: slices.Sorted(maps.Keys(has)),
	})}, func(a procedure.Updated) {
		if a.N2Type == n2.InfoPathSwitchAcknowledge && u.arrives(to, has, uplink) {
			if t, err := n2.Decode(a.N2Type, a.N2); err != nil {
				u.w.Fail("a path switch's answer cannot be read: %v", err)
			} else if other := t.(*n2.PathSwitchAcknowledge).Uplink; other != nil {
				u.uplink = *other
			}
		}
	})
}

// handOver is N2 handover: three requests of the AMF, one after the other.
func (u *ue) handOver() {
	to := u.somewhere()
	direct, forwards := u.w.Chance(2), u.w.Chance(2)
	u.mobility("handover required", procedure.Update{
		Handover: procedure.HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: u.encoded(&n2.HandoverRequired{DirectPath: direct}),
	}, func(a procedure.Updated) {
		if a.N2Type != n2.InfoSetupRequest {
			return
		}
		target := mobile{}
		target.setUp(a.N2)
		if u.w.faults && u.w.Chance(5) {
			u.mobility("no room in the target", procedure.Update{
				Handover: procedure.HandoverPrepared, N2Type: n2.InfoHandoverResourceAllocationUnsuccessful,
				N2: u.encoded(&n2.HandoverResourceAllocationUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable}),
			}, func(procedure.Updated) {})
			return
		}
		m := &n2.HandoverAcknowledge{Downlink: to}
		for _, qfi := range slices.Sorted(maps.Keys(target.flows)) {
			if qfi != 1 && u.w.Chance(6) {
				delete(target.flows, qfi)
				continue
			}
			m.Flows = append(m.Flows, n2.ForwardedFlow{QFI: qfi, Forwarding: forwards})
		}
		if forwards {
			end := u.somewhere()
			m.Forwarding = &end
		}
		u.mobility("target ready", procedure.Update{Handover: procedure.HandoverPrepared, N2Type: n2.InfoHandoverAcknowledge, N2: u.encoded(m)}, func(a procedure.Updated) {
			if a.N2Type != n2.InfoHandoverCommand || u.w.Chance(4) {
				u.mobility("handover cancelled", procedure.Update{Handover: procedure.HandoverCancelled}, func(procedure.Updated) {})
				return
			}
			u.arriving = to
			u.moving("handover completed", target.flows, procedure.Update{Handover: procedure.HandoverCompleted, AMF: u.roams()}, func(procedure.Updated) {
				u.arrives(to, target.flows, target.offered)
			})
		})
	})
}

// mobility asks for something; where it is refused, the AMF takes the UE's connection down.
func (u *ue) mobility(name string, what procedure.Update, answered func(procedure.Updated)) {
	u.moving(name, nil, what, answered)
}

// moving likewise, when the UE has arrived where there are these flows: what the SMF transfers from now on goes there.
func (u *ue) moving(name string, there map[uint8]bool, what procedure.Update, answered func(procedure.Updated)) {
	ref, begun := u.ref, false
	u.ask(&request{name: name, make: func(t procedure.Token) (string, uint64, procedure.Event) {
		what.From, u.there, u.freed, begun = t, there, begun && u.freed, true
		return "", record.ParseRef(ref), what
	}, answered: func(body any) {
		u.there = nil
		switch b := body.(type) {
		case procedure.Updated:
			answered(b)
		case procedure.Failed:
			u.w.Note("%s: %s failed: %d %s %s", u.supi, name, b.Status, b.Cause, b.Detail)
			if rec := u.w.records[record.Key(u.supi, sessionID)]; what.Handover == procedure.HandoverCompleted && b.Status == 403 && rec != nil && rec.Ref() == ref && rec.Phase == record.Active && rec.Downlink == u.arriving {
				u.w.Fail("%s: the SMF has the UE where it was handed over to, and knows of no handover", u.supi)
			}
			if u.ref == ref && b.Status != 404 {
				u.deactivate()
			}
		}
	}})
}

// arrives where there is that tunnel and those flows; false: the session's resources were let go of there meanwhile.
func (u *ue) arrives(at record.Tunnel, flows map[uint8]bool, uplink record.Tunnel) bool {
	if u.freed {
		return false
	}
	if u.wayThere.Downlink == at {
		uplink = u.wayThere.Uplink
	}
	u.teid, u.flows, u.uplink = at.TEID, flows, uplink
	return true
}

// askFor is a UE's request: it gives back what it has, or asks for DNS servers.
func (u *ue) askFor() {
	u.pti = u.pti%254 + 1
	b := []byte{0x2e, sessionID, u.pti, byte(n1.ModificationRequestType)}
	if qfis := slices.Sorted(maps.Keys(u.rules)); len(qfis) > 1 && u.w.Chance(2) {
		b = append(b, 0x7a, 0, 4, qfis[1], 0, 1, 0x40)
	} else {
		b = append(b, 0x7b, 0, 4, 0x80, 0, 0x0d, 0)
	}
	u.update("modification request", procedure.Update{N1: b}, func(a procedure.Updated) { u.told(a.N1, a.N2, a.N2Type) })
}

// loseFlow: the access network has no room any more.
func (u *ue) loseFlow() {
	qfis := slices.Sorted(maps.Keys(u.flows))
	if len(qfis) < 2 {
		return
	}
	delete(u.flows, qfis[1])
	u.w.Note("%s: the access network has flow %d no more", u.supi, qfis[1])
	u.update("notify", procedure.Update{N2Type: n2.InfoNotify, N2: u.encoded(&n2.Notify{
		Released: []n2.FlowCause{{QFI: qfis[1], Cause: ngapcause.RadioResourcesNotAvailable}},
	})}, func(procedure.Updated) {})
}

// settings change now and then: the AMBR, and flows that come and go and have other filters.
func (w *world) settings() {
	if w.real || !w.faults {
		return
	}
	w.Soon(time.Second, 10*time.Second, w.settings)
	network := *w.config.Named(slice, dnn)
	network.AMBR.Downlink = 1e9 + uint64(w.Rand.IntN(3))*1e8
	network.Flows = nil
	for n := range 3 {
		if w.Chance(2) {
			network.Flows = append(network.Flows, configuration.Flow{
				Name: fmt.Sprint("flow-", n), FiveQI: 7, ARP: configuration.ARP{Priority: 5}, Precedence: uint8(n + 1),
				Filters: []n1.Filter{{Direction: n1.Direction(1 + w.Rand.IntN(3)), Remote: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(w.Rand.IntN(4))}), 32), Protocol: -1}},
			})
		}
	}
	w.rearrange()
	if err := w.configure(network); err != nil {
		w.Fail("the configuration: %v", err)
		return
	}
	w.Note("the Slice has %d flows", len(network.Flows))
	w.tellSettings()
}

// tellSettings to whoever lives. Who takes a shard over finds out by itself.
func (w *world) tellSettings() {
	for _, p := range w.pods {
		p.In(p.Life, func() {
			for _, name := range w.shardNames() {
				if h := p.held[name]; h != nil && h.runner != nil {
					h.runner.Configured()
				}
			}
		})
	}
}

// ruleBook are the rules of a unit's session, by type and number.
type ruleBook map[uint16]map[uint32]bool

var ruleKinds = []struct{ create, update, remove uint16 }{
	{ie.CreatePDR, ie.UpdatePDR, ie.RemovePDR}, {ie.CreateFAR, ie.UpdateFAR, ie.RemoveFAR}, {ie.CreateQER, ie.UpdateQER, ie.RemoveQER},
}

// apply all of a request, or nothing (TS 29.244 7.5.4): what is there cannot be made, and what is not cannot be changed.
func (r ruleBook) apply(ies []*ie.IE) (ruleBook, bool) {
	next := ruleBook{}
	for _, k := range ruleKinds {
		next[k.create] = map[uint32]bool{}
		maps.Copy(next[k.create], r[k.create])
	}
	for _, e := range ies {
		for _, k := range ruleKinds {
			if e.Type != k.create && e.Type != k.update && e.Type != k.remove {
				continue
			}
			id := ruleID(e)
			if next[k.create][id] == (e.Type == k.create) {
				return nil, false
			}
			next[k.create][id] = e.Type != k.remove
			if e.Type == k.remove {
				delete(next[k.create], id)
			}
		}
	}
	return next, true
}

func ruleID(e *ie.IE) uint32 {
	if id, err := e.PDRID(); err == nil {
		return uint32(id)
	}
	if id, err := e.FARID(); err == nil {
		return id
	}
	id, _ := e.QERID()
	return id
}

// relayed adds what the unit has chosen for what the source of a handover forwards.
func (u *unit) relayed(s *unitSession, answer procedure.Unit) procedure.Unit {
	if !s.rules[ie.CreatePDR][3] {
		return answer
	}
	created := ie.NewCreatedPDR(ie.NewPDRID(3), ie.NewFTEID(1, 0x1000000+s.teid, u.address.AsSlice(), nil, 0))
	if answer.Established != nil {
		answer.Established.CreatedPDR = append(answer.Established.CreatedPDR, created)
		return answer
	}
	answer.Modified = &message.SessionModificationResponse{Cause: ie.NewCause(ie.CauseRequestAccepted), CreatedPDR: []*ie.IE{created}}
	return answer
}

// agreeOnFlows: UE, access network and unit have the flows of the record, and the record those of the Slice.
func (u *ue) agreeOnFlows(rec *record.Session, s *unitSession, fail func(string, ...any)) {
	if u.w.real {
		return
	}
	if rec.Wanted != nil || rec.Command != nil || rec.Handover != nil || rec.Behind && rec.Phase == record.Active {
		fail("%s: session %s is not at rest: %+v", u.supi, rec.Ref(), rec)
		return
	}
	ue, access, pdrs := map[uint8]bool{}, map[uint8]bool{}, map[uint32]bool{}
	for n, f := range rec.Flows {
		if f.Known || !f.Refused {
			ue[f.QFI] = true
		}
		if f.Refused {
			continue
		}
		access[f.QFI] = true
		if n == 0 {
			pdrs[1], pdrs[2] = true, true
			continue
		}
		if f.Directions&2 != 0 {
			pdrs[2*uint32(f.QFI)+1] = true
		}
		if f.Directions&1 != 0 {
			pdrs[2*uint32(f.QFI)+2] = true
		}
	}
	switch {
	case !maps.Equal(ue, u.rules) && !unanswered(rec):
		fail("%s: the UE has the rules %v, by the record %v: %+v", u.supi, u.rules, ue, rec)
	case rec.Phase == record.Active && !maps.Equal(access, u.flows):
		fail("%s: the access network has the flows %v, by the record %v: %+v", u.supi, u.flows, access, rec)
	case !maps.Equal(pdrs, s.rules[ie.CreatePDR]):
		fail("%s: the unit has the PDRs %v, by the record %v: %+v", u.supi, s.rules[ie.CreatePDR], pdrs, rec)
	}
	network := procedure.NetworkOf(rec, u.w.config)
	if rec.Behind { // it is told when it is back
		return
	}
	if rec.AMBR != network.AMBR && !u.refuses(network.AMBR) {
		fail("%s: the session has the AMBR %v, the Slice %v", u.supi, rec.AMBR, network.AMBR)
	}
	has, want := map[string]bool{}, map[string]bool{}
	for _, f := range network.FlowsOf(rec.Type, rec.Subscribed) {
		want[f.Name] = true
	}
	for _, f := range rec.Flows[1:] { // also one that nobody has, which the Slice has still: the access network has refused it, or the UE given it back
		has[f.Name] = want[f.Name] || !f.Refused || f.Known
	}
	maps.DeleteFunc(has, func(_ string, there bool) bool { return !there })
	if !maps.Equal(has, want) && !u.keeps {
		fail("%s: the session has the flows %v, the Slice and the PCF %v", u.supi, has, want)
	}
}

// refuses says whether the UE has rejected that AMBR: it keeps the one that it has.
func (u *ue) refuses(ambr record.AMBR) bool {
	alone := n1.ModificationCommand{AMBR: (*n1.AMBR)(&ambr)}
	return u.refused != nil && bytes.HasSuffix(alone.Encode(), u.refused)
}

// unanswered: a UE that is away has not answered a command, and whether it has heard it nobody knows (TS 24.501 6.3.2.6). It is told when it is back.
func unanswered(rec *record.Session) bool {
	for n := len(rec.History) - 1; n >= 0; n-- {
		if last := rec.History[n]; procedure.Kind(last.Kind) == procedure.Modification {
			return rec.Phase == record.Idle && rec.Behind && last.Result != 0
		}
	}
	return false
}

// says is a modify request in short.
func says(m *n2.ModifyRequest) string {
	out := ""
	for _, f := range m.Flows {
		out += fmt.Sprint(" +", f.QFI)
	}
	for _, f := range m.Released {
		out += fmt.Sprint(" -", f.QFI)
	}
	return out
}
