package procedure

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// A story is a session as it was, what happens to it, and, in testdata, what came of each: the message chart of a procedure.
type story struct {
	name string
	// from is the session at the beginning, the state of no session where it is nil.
	from func(*teller) State
	// with changes the configuration before anything happens.
	with func([]configuration.Slice)
	acts []act
}

// act is something that happens. then changes the configuration afterwards.
type act struct {
	name  string
	event Event
	// first changes the configuration before it.
	first func([]configuration.Slice)
	// gone and drains are units that go, or begin to, before it.
	gone, drains string
	// later is how much time has gone since the act before, waited for how long the event has waited behind others.
	later, waited time.Duration
}

var update = flag.Bool("update", false, "write what came of the stories anew: read it before it is accepted")

// tell stories, and compare what came of them with testdata/<name>.txt.
func tell(t *testing.T, name string, stories []story) {
	t.Helper()
	var out strings.Builder
	for _, s := range stories {
		fmt.Fprintf(&out, "# %s\n", s.name)
		tr := newTeller(t)
		if s.with != nil {
			tr.configure(s.with)
		}
		st := State{}
		if s.from != nil {
			st = s.from(tr)
		}
		for _, a := range s.acts {
			if a.gone != "" || a.drains != "" {
				tr.gone, tr.draining = append(tr.gone, a.gone), append(tr.draining, a.drains)
				tr.configure(func([]configuration.Slice) {})
			}
			if a.first != nil {
				tr.configure(a.first)
			}
			tr.now, tr.waited = tr.now.Add(a.later), a.waited
			if a.event == (Event)(Resumed{}) { // it does not know who has asked
				st.Asker, st.Create = 0, nil
			}
			st = tr.tell(&out, a.name, st, a.event)
		}
		out.WriteByte('\n')
	}
	file := "testdata/" + name + ".txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// teller leads sessions through events.
type teller struct {
	t      *testing.T
	now    time.Time
	slices []configuration.Slice
	config *configuration.Snapshot
	seid   uint64
	// gone and draining units.
	gone, draining []string
	// waited is for how long the event did.
	waited time.Duration
	// live is what is known of the units.
	live map[string]configuration.Live
	// random fills with octets in order where it is nil.
	random func([]byte)
}

// A unit, one that is a branch, and one that is as the first.
const unitID, edgeID, otherID = "upf-0", "edge-0", "upf-1"

var (
	gnb      = record.Tunnel{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")}
	otherGNB = record.Tunnel{TEID: 0x200, IPv4: netip.MustParseAddr("172.30.3.101")}
	forward  = record.Tunnel{TEID: 0x300, IPv4: netip.MustParseAddr("172.30.3.101")}
	relay    = record.Tunnel{TEID: 0x77, IPv4: netip.MustParseAddr("172.30.3.16")}
)

func newTeller(t *testing.T) *teller {
	tr := &teller{t: t, now: time.Unix(1_800_000_000, 0), seid: record.SEID(1, 1)}
	sip := []n1.Filter{{Direction: n1.Bidirectional, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17, RemotePorts: n1.PortRange{First: 5060, Last: 5061}}}
	tr.slices = []configuration.Slice{{Name: "internet", SST: 1, DataNetworks: []configuration.DataNetwork{{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4, n1.IPv6, n1.IPv4v6}, AMBR: record.AMBR{Uplink: 100e6, Downlink: 200e6}, FiveQI: 9,
		ARP: configuration.ARP{Priority: configuration.DefaultPriority}, MTU: 1400, DNS: []netip.Addr{netip.MustParseAddr("9.9.9.9")},
		Flows: []configuration.Flow{
			{
				Name: "voice", FiveQI: 1, ARP: configuration.ARP{Priority: 2}, Precedence: 10, Filters: sip,
				GBR: record.AMBR{Uplink: 64e3, Downlink: 64e3}, MBR: record.AMBR{Uplink: 128e3, Downlink: 128e3},
			},
			{Name: "game", FiveQI: 7, ARP: configuration.ARP{Priority: 9}, Precedence: 20, OnRequest: true, Filters: gameFilters()},
		},
		Units: []configuration.Serving{{NodeID: unitID, Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/16"), netip.MustParsePrefix("2001:db8::/48")}}},
	}}}}
	tr.configure(func([]configuration.Slice) {})
	return tr
}

func gameFilters() []n1.Filter {
	return []n1.Filter{{Direction: n1.Bidirectional, Remote: netip.MustParsePrefix("198.51.100.7/32"), Protocol: -1}}
}

// configure changes the Slices.
func (tr *teller) configure(change func([]configuration.Slice)) {
	tr.t.Helper()
	next := slices.Clone(tr.slices)
	for n := range next {
		next[n].DataNetworks = slices.Clone(next[n].DataNetworks)
		for m := range next[n].DataNetworks {
			next[n].DataNetworks[m].Flows = slices.Clone(next[n].DataNetworks[m].Flows)
			for f := range next[n].DataNetworks[m].Flows {
				next[n].DataNetworks[m].Flows[f].Filters = slices.Clone(next[n].DataNetworks[m].Flows[f].Filters)
			}
		}
	}
	change(next)
	tr.slices = next
	list := slices.Clone(next)
	var units []configuration.Unit
	for n, node := range []string{unitID, edgeID, otherID} {
		if !slices.Contains(tr.gone, node) {
			u := configuration.Unit{NodeID: node, Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 96, 7, 8 + byte(n)}), 8805)}
			if slices.Contains(tr.draining, node) {
				u.State = configuration.Draining
			}
			units = append(units, u)
		}
	}
	config, err := configuration.New(list, units)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.config = config
}

func (tr *teller) handle(st State, e Event) Output {
	var was []byte
	if st.Record != nil {
		was, _ = st.Record.Encode()
	}
	random := tr.random
	if random == nil {
		random = func(b []byte) {
			for n := range b {
				b[n] = byte(n)
			}
		}
	}
	out := Handle(Input{
		Now: tr.now, Came: tr.now.Add(-tr.waited), Config: tr.config, Live: tr.live, Fresh: func() uint64 { tr.seid++; return tr.seid },
		Random: random,
	}, st, e)
	if st.Record != nil {
		if is, _ := st.Record.Encode(); string(is) != string(was) {
			tr.t.Errorf("Handle has changed the record that it was given, by %T", e)
		}
	}
	if out.State.Record != nil {
		b, err := out.State.Record.Encode()
		if err != nil {
			tr.t.Errorf("the record after %T: %v", e, err)
		}
		again, err := record.Decode(b) // what another pod would have
		if err != nil {
			tr.t.Errorf("the record after %T: %v", e, err)
		} else {
			out.State.Record = again
		}
	}
	return out
}

// tell one event, and write what came of it.
func (tr *teller) tell(w *strings.Builder, name string, st State, e Event) State {
	out := tr.handle(st, e)
	fmt.Fprintf(w, "%s\n", name)
	line := func(format string, a ...any) { fmt.Fprintf(w, "    "+format+"\n", a...) }
	if out.Refused != "" {
		line("refused: %s", out.Refused)
	}
	for _, e := range out.Effects {
		line("%s", effectWords(e))
	}
	var over []string
	for _, name := range slices.Sorted(maps.Keys(out.Due)) {
		if at := out.Due[name]; at.IsZero() {
			over = append(over, name)
		} else {
			line("due %s: in %s", name, at.Sub(tr.now))
		}
	}
	if len(over) > 0 {
		line("not due any more: %s", strings.Join(over, ", "))
	}
	for _, r := range out.Ended {
		line("ended %s %s%s", r.Kind, r.Cause, map[bool]string{true: ": " + r.SUPI + ": " + r.Why}[r.Why != ""])
	}
	line("%s", sessionWords(out))
	return out.State
}

// ---- how sessions come about --------------------------------------------------------------------------------

func request(pti uint8, octets ...byte) []byte {
	return append([]byte{0x2e, 1, pti, byte(n1.EstablishmentRequestType), 0xff, 0xff}, octets...)
}

func create(n1 []byte) Create {
	return Create{
		From: 1, SUPI: "imsi-208930000000001", ID: 1, DNN: "internet", SST: 1, PLMN: "20893", N1: n1,
		AMF: record.AMF{InstanceID: "amf-1", StatusURI: "http://amf-1/status", TAC: 1},
	}
}

// made is the answer of a unit to an establishment.
func made() Unit {
	return Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(9, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(
			ie.NewPDRID(1), ie.NewFTEID(1, 0x10, []byte{172, 30, 3, 16}, nil, 0), ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0),
		)},
	}}
}

func makes(t *testing.T, m n2.Transfer) []byte {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (tr *teller) lead(st State, events ...Event) State {
	for _, e := range events {
		out := tr.handle(st, e)
		if out.Refused != "" {
			tr.t.Fatalf("%T: %s", e, out.Refused)
		}
		st = out.State
	}
	return st
}

// establishing is a session whose accept is out.
func establishing(tr *teller) State {
	return tr.lead(State{}, create(request(5, 0x91)), Subscription{}, made(), Transferred{Outcome: Done})
}

func (tr *teller) ready() Update { return tr.readyWith(1, 2) }

// readyWith flows that it has.
func (tr *teller) readyWith(qfis ...uint8) Update {
	response := &n2.SetupResponse{Downlink: n2.FlowTunnel{Tunnel: gnb}}
	for _, qfi := range qfis {
		response.Downlink.Flows = append(response.Downlink.Flows, n2.AssociatedFlow{QFI: qfi})
	}
	return Update{From: 2, N2Type: n2.InfoSetupResponse, N2: makes(tr.t, response)}
}

func active(tr *teller) State {
	return tr.lead(establishing(tr), tr.ready(), Unit{Outcome: Done})
}

func idleUE(tr *teller) State {
	return tr.lead(active(tr), Update{From: 3, Connection: Deactivated}, Unit{Outcome: Done})
}

// ---- words --------------------------------------------------------------------------------------------------

func sessionWords(out Output) string {
	s := out.State.Record
	if s == nil {
		return "there is no session"
	}
	words := []string{map[record.Phase]string{
		record.Establishing: "establishing", record.Active: "active", record.Idle: "idle", record.Releasing: "releasing",
	}[s.Phase]}
	if out.Busy {
		words = append(words, fmt.Sprintf("in %s step %d", Kind(s.Procedure.Kind), s.Procedure.Step))
	}
	if out.Lazy {
		words = append(words, "lazy")
	}
	if out.Owed {
		words = append(words, "owed")
	}
	if (s.Downlink != record.Tunnel{}) {
		words = append(words, "down "+tunnelWords(s.Downlink))
	}
	for n, f := range s.Flows {
		if n == 0 && len(s.Flows) == 1 {
			continue
		}
		w := fmt.Sprintf("flow %d %s", f.QFI, f.Name)
		for _, x := range []struct {
			is   bool
			word string
		}{{f.Refused, " refused"}, {f.Known, " known"}, {f.Coming, " coming"}} {
			if x.is {
				w += x.word
			}
		}
		if n > 0 {
			words = append(words, w)
		}
	}
	if s.Told != nil {
		words = append(words, "unit untold")
		if s.Told.Unsure {
			words = append(words, "unsure")
		}
	}
	if w := s.Wanted; w != nil {
		words = append(words, fmt.Sprintf("waits for ue=%t access=%t", w.UE, w.Access))
	}
	if s.Command != nil {
		words = append(words, fmt.Sprintf("command sent %d times", s.Command.Attempts))
	}
	if h := s.Handover; h != nil {
		words = append(words, fmt.Sprintf("handover direct=%t buffering=%t arrived=%t", h.Direct, h.Buffering, h.Arrived))
	}
	if b := s.Branch; b != nil {
		words = append(words, "by "+b.NodeID+map[bool]string{true: " with breakouts"}[len(b.Breakouts) > 0])
	}
	if l := s.Left; l != nil && l.NodeID != "" {
		words = append(words, fmt.Sprintf("left %s known=%t", l.NodeID, l.Known))
	}
	if s.Unit.NodeID != unitID && s.Unit.NodeID != "" {
		words = append(words, "at "+s.Unit.NodeID)
	}
	if s.Behind {
		words = append(words, "behind")
	}
	if s.Silent {
		words = append(words, "the UE is silent")
	}
	if len(s.Routes) > 0 {
		words = append(words, fmt.Sprint("with ", s.Routes))
	}
	if e := s.Ethernet; e != nil {
		words = append(words, fmt.Sprint("MACs ", e.MACs, map[bool]string{true: " and more"}[e.More]))
	}
	if c := s.Control; c != nil {
		words = append(words, controlWords(c))
	}
	if s.Usage != nil {
		words = append(words, "usage"+usageWords(s))
	}
	return strings.Join(words, ", ")
}

func tunnelWords(t record.Tunnel) string {
	return fmt.Sprintf("%#x@%s", t.TEID, t.IPv4)
}

func effectWords(e Effect) string {
	switch e := e.(type) {
	case Reply:
		return fmt.Sprintf("reply to %d: %s", e.To, bodyWords(e.Body))
	case AskUnit:
		if e.Unit.NodeID != unitID {
			return "unit " + e.Unit.NodeID + ": " + unitWords(e)
		}
		return "unit: " + unitWords(e)
	case AskTransfer:
		out := "transfer"
		if e.SkipIdle {
			out += " skip-idle"
		}
		return out + carried(e.N1, e.N2, e.N2Type)
	case AskSubscription:
		return "subscription?"
	case AskPolicy:
		return policyWords(e)
	case AskCharging:
		return chargingWords(e)
	case TellUncharged:
		return "uncharged:" + usageWords(e.Session)
	case AskStatus:
		return fmt.Sprintf("status to %s: %s", e.URI, e.Cause)
	case TellRegistration:
		return fmt.Sprintf("registration: gone=%t", e.Gone)
	case TellSubscription:
		if e.Gone {
			return "unsubscribe"
		}
		return "subscribe until " + e.Until.UTC().Format(time.TimeOnly)
	}
	return fmt.Sprintf("%T", e)
}

func bodyWords(body any) string {
	switch b := body.(type) {
	case Created:
		return "created"
	case Updated:
		out := "updated"
		if b.Connection != "" {
			out += " " + string(b.Connection)
		}
		if b.Handover != "" {
			out += " handover " + string(b.Handover)
		}
		return out + carried(b.N1, b.N2, b.N2Type)
	case Failed:
		return fmt.Sprintf("failed %d %s%s%s", b.Status, b.Cause, carried(b.N1, b.N2, b.N2Type), map[bool]string{true: " (" + b.Detail + ")"}[b.Detail != ""])
	case Ended:
		return "ended"
	case Accepted:
		return "accepted" + failureWords(b.Failed)
	case Reported:
		return fmt.Sprintf("reported %d", b.Cause)
	}
	return fmt.Sprintf("%T", body)
}

func carried(nas, ngap []byte, kind n2.InfoType) string {
	out := ""
	if nas != nil {
		out += " [" + nasWords(nas) + "]"
	}
	if ngap != nil || kind != "" {
		out += " [" + ngapWords(kind, ngap) + "]"
	}
	return out
}

func unitWords(a AskUnit) string {
	out := map[UnitOperation]string{Establish: "establish", Modify: "modify", Delete: "delete"}[a.Operation]
	if a.Operation == Establish {
		pdrs := 0
		for _, e := range a.IEs {
			if e.Type == ie.CreatePDR {
				pdrs++
			}
		}
		out = fmt.Sprintf("%s %d pdrs", out, pdrs)
		for _, e := range a.IEs {
			if e.Type == ie.CreateURR {
				out += " " + ruleWords(e)
			}
		}
		return out
	}
	for _, e := range a.IEs {
		out += " " + ruleWords(e)
	}
	return out
}

func ruleWords(e *ie.IE) string {
	verb := map[uint16]string{
		ie.CreatePDR: "+pdr", ie.UpdatePDR: "~pdr", ie.RemovePDR: "-pdr", ie.CreateFAR: "+far", ie.UpdateFAR: "~far", ie.RemoveFAR: "-far",
		ie.CreateQER: "+qer", ie.UpdateQER: "~qer", ie.RemoveQER: "-qer", ie.CreateURR: "+urr", ie.UpdateURR: "~urr", ie.RemoveURR: "-urr", ie.QueryURR: "?urr",
	}[e.Type]
	out := verb
	switch e.Type {
	case ie.PFCPSMReqFlags:
		return "?urrs"
	case ie.CreateURR, ie.UpdateURR, ie.RemoveURR, ie.QueryURR:
		return out + urrWords(e)
	}
	if id, err := e.PDRID(); err == nil {
		out += fmt.Sprint(id)
	} else if id, err := e.FARID(); err == nil {
		out += fmt.Sprint(id)
	} else if id, err := e.QERID(); err == nil {
		out += fmt.Sprint(id)
		if g, err := e.GateStatus(); err == nil && g != 0 {
			out += fmt.Sprintf("(closed %04b)", g)
		}
	}
	if e.Type != ie.CreateFAR && e.Type != ie.UpdateFAR {
		return out
	}
	if b, err := e.ApplyAction(); err == nil {
		out += "=" + map[byte]string{1: "drop", 2: "forward", 4: "buffer", 12: "buffer+notify"}[b[0]]
	}
	group := e.ChildIEs
	for _, c := range group {
		if c.Type != ie.ForwardingParameters && c.Type != ie.UpdateForwardingParameters {
			continue
		}
		for _, p := range c.ChildIEs {
			switch p.Type {
			case ie.OuterHeaderCreation:
				if o, err := p.OuterHeaderCreation(); err == nil {
					out += fmt.Sprintf("(%#x@%s)", o.TEID, o.IPv4Address)
				}
			case ie.PFCPSMReqFlags:
				out += "+end-marker"
			}
		}
	}
	return out
}

var nasNames = map[n1.MessageType]string{
	n1.EstablishmentAcceptType: "accept", n1.EstablishmentRejectType: "establishment reject", n1.ModificationRejectType: "modification reject",
	n1.ModificationCommandType: "modification command", n1.ReleaseCommandType: "release command", n1.ReleaseRejectType: "release reject", n1.StatusType: "5gsm status",
}

func nasWords(b []byte) string {
	kind := n1.MessageType(b[3])
	out := fmt.Sprintf("%s pti %d", nasNames[kind], b[2])
	switch kind {
	case n1.EstablishmentAcceptType:
		out += fmt.Sprintf(" type %d", b[4]&7)
		n := int(b[5])<<8 | int(b[6])
		return out + " rules" + rulesWords(b[7:7+n]) + elementWords(b[7+n+7:])
	case n1.ModificationCommandType:
		return out + elementWords(b[4:])
	}
	return out + fmt.Sprintf(" cause %d", b[4]) + elementWords(b[5:])
}

// elementWords are those of optional elements of messages to UEs.
func elementWords(b []byte) (out string) {
	for len(b) > 0 {
		iei := b[0]
		if iei >= 0x80 {
			switch iei & 0xf0 {
			case 0x80:
				out += fmt.Sprintf(" always-on %d", iei&1)
			case 0xf0:
				out += fmt.Sprintf(" ssc modes %#x", iei&0x0f)
			}
			b = b[1:]
			continue
		}
		var content []byte
		switch {
		case iei == 0x59:
			content, b = b[1:2], b[2:]
		case iei >= 0x70:
			n := int(b[1])<<8 | int(b[2])
			content, b = b[3:3+n], b[3+n:]
		default:
			n := int(b[1])
			content, b = b[2:2+n], b[2+n:]
		}
		switch iei {
		case 0x59:
			out += fmt.Sprintf(" cause %d", content[0])
		case 0x29:
			out += fmt.Sprintf(" address %x", content)
		case 0x2a:
			out += fmt.Sprintf(" ambr %x", content)
		case 0x37:
			out += " back-off"
		case 0x79:
			out += " flows"
			for len(content) > 0 {
				out += fmt.Sprintf(" %s%d", []string{"?", "+", "-", "~"}[content[1]>>5], content[0])
				parameters := int(content[2] & 0x3f)
				for content = content[3:]; parameters > 0; parameters-- {
					content = content[2+int(content[1]):]
				}
			}
		case 0x7a:
			out += " rules" + rulesWords(content)
		case 0x7b:
			out += fmt.Sprintf(" options %x", content)
		}
	}
	return out
}

func rulesWords(b []byte) (out string) {
	for len(b) > 0 {
		n := int(b[1])<<8 | int(b[2])
		out += fmt.Sprintf(" %s%d", []string{"?", "+", "-", "add:", "replace:", "delete:", "~"}[b[3]>>5], b[0])
		b = b[3+n:]
	}
	return out
}

func ngapWords(kind n2.InfoType, b []byte) string {
	m, err := n2.Decode(kind, b)
	if err != nil {
		return fmt.Sprintf("%s that cannot be read: %v", kind, err)
	}
	out := string(kind)
	list := func(verb string, qfis []byte) {
		for _, q := range qfis {
			out += fmt.Sprintf(" %s%d", verb, q)
		}
	}
	switch m := m.(type) {
	case *n2.SetupRequest:
		for _, f := range m.Flows {
			out += fmt.Sprintf(" +%d", f.QFI)
		}
		out += " up " + tunnelWords(m.Uplink)
	case *n2.ModifyRequest:
		if m.AMBR != nil {
			out += fmt.Sprintf(" ambr %d/%d", m.AMBR.Uplink, m.AMBR.Downlink)
		}
		for _, up := range m.Uplink {
			out += " up " + tunnelWords(up.Uplink)
		}
		for _, f := range m.Flows {
			out += fmt.Sprintf(" ~%d(5qi %d)", f.QFI, f.FiveQI)
		}
		list("-", qfisOf(m.Released))
	case *n2.HandoverCommand:
		if m.Forwarding == nil {
			return out + " nothing forwarded"
		}
		out += " forward to " + tunnelWords(*m.Forwarding)
		list("", m.Flows)
	case *n2.ModifyConfirm:
		list("", m.Flows)
		list("not ", qfisOf(m.Failed))
	case *n2.ReleaseCommand:
		out += fmt.Sprintf(" (%s)", m.Cause)
	case *n2.PathSwitchAcknowledge:
		if m.Uplink != nil {
			out += " up " + tunnelWords(*m.Uplink)
		}
	case *n2.PathSwitchUnsuccessful:
		out += fmt.Sprintf(" (%s)", m.Cause)
	case *n2.HandoverPreparationUnsuccessful:
		out += fmt.Sprintf(" (%s)", m.Cause)
	case *n2.ModifyIndicationUnsuccessful:
		out += fmt.Sprintf(" (%s)", m.Cause)
	}
	return out
}

// relaying is the answer of a unit that takes what the source of a handover forwards.
func relaying() Unit {
	return Unit{Outcome: Done, Modified: &message.SessionModificationResponse{
		Cause:      ie.NewCause(ie.CauseRequestAccepted),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(3), ie.NewFTEID(1, relay.TEID, relay.IPv4.AsSlice(), nil, 0))},
	}}
}
