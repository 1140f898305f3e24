package procedure

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// What concerns a gNB rather than a UE (TS 38.413 8.7): NG Setup, its configuration, resets, what it tells other gNBs.
//
//	8.7.1  NG Setup                       setup: refused where no PLMN, tracking area, or slice is in common
//	8.7.2  RAN Configuration Update       reconfigure; the first of an association: Join
//	8.7.3  AMF Configuration Update       Announce: the Settings are others than it has heard of; NewOffer: so are the terminators
//	8.7.4  NG Reset                       reset: all UEs of the association, or those that are named, are lost
//	8.8    RAN Configuration Transfer     relayed to the gNB that it names
//
// A gNB says who it is once an association. What it said is kept by the association's terminator. It may have several for one NG interface (TS 38.412 7), which
// NG Setup on one of them sets up, and the others join: UEs are the interface's, and go on by any of them.

// GNBOutput is what becomes of a gNB by a message.
type GNBOutput struct {
	// GNB as it is then; nil: it has not been set up.
	GNB *record.GNB
	// Answer on the association, nil for none.
	Answer n2.Message
	// Lost: all UEs of the association are lost. Reset are those of them that are, where it is not all.
	Lost  bool
	Reset []n2.UEConnection
	// SetUp: the gNB has set itself up. UEs that wait for it since another association was lost are kept, where GNB.Retains, or lost.
	SetUp bool
	// Taken: it has taken the AMF Configuration Update that it was sent. Refused, it is not sent it again for that long.
	Taken bool
	Wait  time.Duration
	// Firm: of one that it refuses, it has not said when to come again. Made are associations that it says it has made since it was told to, Failed those that it could
	// not.
	Firm   bool
	Made   []n2.Address
	Failed []n2.RefusedAssociation
	// Configured: it has said what it is, by NG Setup or RAN Configuration Update.
	Configured bool
	// Remove are associations of its interface that are to be ended.
	Remove []n2.AssociationPair
	// Relay is for the gNB Target.
	Relay  n2.Message
	Target string
	// Refused says why it was not for this gNB; "" otherwise.
	Refused string
}

// HandleGNB says what becomes of a gNB by a message that concerns no UE. g is what it was, on that association; nil: it has not been set up.
// kept: where it says that it has kept its UEs, they are kept here.
func HandleGNB(s *Settings, g *record.GNB, kept bool, m n2.Message) GNBOutput {
	if m, is := m.(*n2.NGSetupRequest); is {
		return setup(s, g, kept, m)
	}
	if g != nil && g.Doubtful { // it has heard its NG Setup Response
		heard := *g
		heard.Doubtful = false
		g = &heard
	}
	if m, is := m.(*n2.NGReset); is {
		return reset(g, m)
	}
	if g == nil { // TS 38.413 8.7.1.1: it is the first procedure
		return GNBOutput{Refused: "NG Setup comes first", Answer: incompatible(m)}
	}
	switch m := m.(type) {
	case *n2.RANConfigurationUpdate:
		return reconfigure(s, g, m)
	case *n2.UplinkRANConfigurationTransfer:
		return relay(g, m)
	case *n2.AMFConfigurationUpdateAcknowledge:
		return GNBOutput{GNB: g, Taken: true, Made: m.Made, Failed: m.Refused}
	case *n2.AMFConfigurationUpdateFailure:
		return GNBOutput{GNB: g, Wait: waits[m.Wait], Firm: m.Wait == n2.WaitNotSaid, Refused: "the gNB refuses an AMF Configuration Update: " + m.Cause.String()}
	case *n2.ErrorIndication, *n2.NGResetAcknowledge:
		return GNBOutput{GNB: g}
	}
	return GNBOutput{GNB: g, Refused: "no message of a gNB", Answer: incompatible(m)}
}

// incompatible answers a logical error (TS 38.413 10.4); nil: a response is for nobody, and an Error Indication is not answered (10.5).
func incompatible(m n2.Message) n2.Message {
	if m.Kind().Outcome != n2.Initiating {
		return nil
	}
	switch m.(type) {
	case *n2.ErrorIndication:
		return nil
	case *n2.RANConfigurationUpdate:
		return &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MessageNotCompatibleWithReceiver}
	}
	return n2.NewErrorIndication(m, ngapcause.MessageNotCompatibleWithReceiver)
}

func cause(c n2.Cause) *n2.Cause { return &c }

// setup: TS 38.413 8.7.1. A gNB that sets itself up anew has no UEs, unless it says that it has kept them, and they are kept here: it hears which. One that
// hears that they are not is told of the AMF once more, since it answers that (Announce): where the association ends before it has heard either, it comes again
// with the UEs that are lost already.
func setup(s *Settings, g *record.GNB, kept bool, m *n2.NGSetupRequest) GNBOutput {
	if m.Node.Kind != n2.GNB {
		return GNBOutput{Lost: g != nil, Answer: &n2.NGSetupFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait60s}, Refused: "no gNB: no other access is served"}
	}
	if why, told := s.refuses(m.TAs); why != "" {
		return GNBOutput{Lost: g != nil, Answer: &n2.NGSetupFailure{Cause: told, Wait: n2.Wait10s}, Refused: why}
	}
	is := &record.GNB{
		PLMN: plmnText(m.Node.PLMN), ID: m.Node.ID, Bits: m.Node.Bits, Name: nameOf(m.Name, m.Extended), Areas: areasOf(m.TAs), DRX: drxFrames(m.DRX),
		Retains: m.Retention && kept, Told: s.announced(),
	}
	if m.Retention && !kept {
		is.Doubtful, is.Told = true, 0
	}
	if g != nil {
		is.Interface = g.Interface
	}
	if g != nil && g.Reduction != 0 { // it has forgotten that, but for what is on its way
		is.Reduction = record.UnsureReduction
	}
	answer := &n2.NGSetupResponse{Name: s.Name, Capacity: s.Capacity, Retention: is.Retains}
	answer.GUAMIs, answer.PLMNs = s.served()
	return GNBOutput{GNB: is, Answer: answer, Lost: !is.Retains, SetUp: true, Configured: true}
}

func nameOf(name string, e *n2.ExtendedName) string {
	switch {
	case e != nil && e.UTF8 != "":
		return e.UTF8
	case e != nil && e.Visible != "":
		return e.Visible
	}
	return name
}

// refuses a gNB that has no PLMN, no tracking area of it, or no slice there that is served.
func (s *Settings) refuses(list []n2.SupportedTA) (why string, told n2.Cause) {
	why, told = "none of its PLMNs is served", ngapcause.UnknownPLMN
	for _, ta := range list {
		for _, b := range ta.PLMNs {
			p := s.plmn(plmnText(b.PLMN))
			switch {
			case p == nil:
			case !p.serves(uint32(ta.TAC)):
				if told == ngapcause.UnknownPLMN {
					why, told = "none of its tracking areas is served", ngapcause.MiscUnspecified
				}
			case !slices.ContainsFunc(b.Slices, func(x n2.SNSSAI) bool { return has(p.Slices, sliceOf(x)) }):
				why, told = "none of its slices is served", ngapcause.SliceNotSupported
			default:
				return "", 0
			}
		}
	}
	return why, told
}

// served GUAMIs and PLMNs with their slices. A PLMN without is not served: there is no message that says so (TS 38.413 9.2.6.2).
func (s *Settings) served() (guamis []n2.ServedGUAMI, plmns []n2.PLMNSlices) {
	for _, p := range s.PLMNs {
		if len(p.Slices) == 0 {
			continue
		}
		guamis = append(guamis, n2.ServedGUAMI{GUAMI: s.guami(p.PLMN)})
		plmns = append(plmns, n2.PLMNSlices{PLMN: plmnOf(p.PLMN), Slices: snssais(p.Slices)})
	}
	return guamis, plmns
}

func areasOf(list []n2.SupportedTA) []record.Tracking {
	var out []record.Tracking
	for _, ta := range list {
		a := record.Tracking{TAC: uint32(ta.TAC)}
		for _, b := range ta.PLMNs {
			a.Broadcast = append(a.Broadcast, record.Broadcast{PLMN: plmnText(b.PLMN), Slices: slicesOf(b.Slices)})
		}
		out = append(out, a)
	}
	return out
}

func drxFrames(d n2.PagingDRX) uint16 {
	if d == n2.DRXNotSaid {
		return 0
	}
	return 32 << (d - n2.DRX32)
}

// reconfigure: TS 38.413 8.7.2. What is not said stays.
func reconfigure(s *Settings, g *record.GNB, m *n2.RANConfigurationUpdate) GNBOutput {
	if m.TAs != nil {
		if why, told := s.refuses(m.TAs); why != "" {
			return GNBOutput{GNB: g, Answer: &n2.RANConfigurationUpdateFailure{Cause: told, Wait: n2.Wait10s}, Refused: why}
		}
	}
	is := *g
	if name := nameOf(m.Name, m.Extended); name != "" {
		is.Name = name
	}
	if m.TAs != nil {
		is.Areas = areasOf(m.TAs)
	}
	if m.DRX != n2.DRXNotSaid {
		is.DRX = drxFrames(m.DRX)
	}
	if m.Node != nil && m.Node.Kind == n2.GNB {
		is.PLMN, is.ID, is.Bits = plmnText(m.Node.PLMN), m.Node.ID, m.Node.Bits
	}
	return GNBOutput{GNB: &is, Answer: &n2.RANConfigurationUpdateAcknowledge{}, Configured: true, Remove: m.Remove}
}

// Join: an association more for an interface that is there begins with a RAN Configuration Update that names the gNB (TS 38.412 7, TS 38.413 8.7.2.2). of is what
// it is by another association; nil: none is known. UEs stay where they are.
func Join(s *Settings, of *record.GNB, m *n2.RANConfigurationUpdate) GNBOutput {
	if of == nil { // or another terminator has not said it yet
		return GNBOutput{
			Refused: "it has no other association: NG Setup comes first",
			Answer:  &n2.RANConfigurationUpdateFailure{Cause: ngapcause.MessageNotCompatibleWithReceiver, Wait: n2.Wait1s},
		}
	}
	is := *of
	is.Interface, is.Doubtful = of.Root(), false
	is.Reduction, is.Told, is.Offered = record.UnsureReduction, 0, 0 // it hears that by another one, as long as there is that
	is.Asked, is.Offering = 0, 0
	out := reconfigure(s, &is, m)
	if !out.Configured {
		out.GNB = nil
	}
	return out
}

// reset: TS 38.413 8.7.4.2.1. The acknowledgement does not wait for the UEs: what is kept of the connections is not used any more.
func reset(g *record.GNB, m *n2.NGReset) GNBOutput {
	return GNBOutput{GNB: g, Lost: m.Connections == nil, Reset: m.Connections, Answer: &n2.NGResetAcknowledge{Connections: m.Connections}}
}

func relay(g *record.GNB, m *n2.UplinkRANConfigurationTransfer) GNBOutput {
	if m.Target == nil || m.Target.Node.Kind != n2.GNB {
		return GNBOutput{GNB: g, Refused: "it names no gNB"}
	}
	node := m.Target.Node
	return GNBOutput{
		GNB: g, Target: record.GNBName(plmnText(node.PLMN), node.ID, node.Bits),
		Relay: &n2.DownlinkRANConfigurationTransfer{ConfigurationTransfer: m.ConfigurationTransfer},
	}
}

// announced is a digest of what gNBs hear of the AMF, never 0.
func (s *Settings) announced() uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, s.Name, "\x00", s.Capacity, s.Removed)
	guamis, plmns := s.served()
	fmt.Fprint(h, guamis, plmns)
	return h.Sum32() | 1
}

// Announce is what a gNB is to hear, and the digest of it (record.GNB.Told), where the Settings are others than it has heard of (TS 38.413 8.7.3, 8.7.6); nil:
// they are not. It is all of it, whatever has changed: who tells it may be another than who has told it before.
func Announce(s *Settings, g *record.GNB) (n2.Message, uint32) {
	told := s.announced()
	if g.Told == told {
		return nil, told
	}
	if s.Removed {
		return leaving(s), told
	}
	out := &n2.AMFConfigurationUpdate{Name: s.Name, Capacity: &s.Capacity}
	out.GUAMIs, out.PLMNs = s.served()
	return out, told
}

// AnnounceAgain is how long a gNB may take to answer before it hears it again.
const AnnounceAgain = 10 * time.Second

// waits as they are said (TS 38.413 9.3.1.56).
var waits = map[n2.TimeToWait]time.Duration{
	n2.WaitNotSaid: 6 * AnnounceAgain, n2.Wait1s: time.Second, n2.Wait2s: 2 * time.Second, n2.Wait5s: 5 * time.Second, n2.Wait10s: 10 * time.Second,
	n2.Wait20s: 20 * time.Second, n2.Wait60s: time.Minute,
}

// leaving is what gNBs are told before the AMF goes (TS 38.413 8.7.6, planned removal): UEs are spread over other AMFs as they come.
func leaving(s *Settings) n2.Message {
	out := &n2.AMFStatusIndication{}
	for _, p := range s.PLMNs {
		out.GUAMIs = append(out.GUAMIs, n2.UnavailableGUAMI{GUAMI: s.guami(p.PLMN), Timer: true})
	}
	return out
}

// Between says whether an association is the one that a gNB names by its ends (TS 38.413 9.2.6.4): its own, and the AMF's where it says that. An address that was
// translated on the way is another one.
func Between(g *record.GNB, p n2.AssociationPair) bool {
	return ends(g.Peer, p.RAN) && (p.AMF == nil || ends(g.Here, *p.AMF))
}

// ends says whether one of an end's addresses, as SCTP has them (192.0.2.1/192.0.2.2:38412, [2001:db8::1]:38412), is that one.
func ends(at string, a n2.Address) bool {
	return slices.ContainsFunc(addressesOf(at), func(x netip.Addr) bool { return x == a.IPv4 || x == a.IPv6 })
}

func addressesOf(at string) (out []netip.Addr) {
	if n := strings.LastIndexByte(at, ':'); n >= 0 {
		at = at[:n]
	}
	for s := range strings.SplitSeq(at, "/") {
		if x, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
			out = append(out, x.Unmap())
		}
	}
	return out
}

// firstOf an end's addresses; none: it is not known.
func firstOf(at string) netip.Addr {
	if list := addressesOf(at); len(list) > 0 {
		return list[0]
	}
	return netip.Addr{}
}
