package n4

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// A session of type Ethernet (TS 23.501 5.6.10.2, TS 29.244 5.13) has no address in its rules: downlink frames are the session's by the bridge that
// the network instance is, and by the MAC addresses that the unit has seen behind the UE. Those the unit reports, by a URR that measures nothing.

// urrMACs is the URR that reports them: URRs of rating groups are numbered from 1.
const urrMACs uint32 = 1 << 30

// silentMAC is how long an address may say nothing before it counts as gone.
const silentMAC = 300 * time.Second

const (
	pdnEthernet      = 5
	wholeSession     = 0x01 // ETHI
	measureEvents    = 1
	reportMACs       = 0x08 // MACAR, in octet 6
	tagPriority      = 0x01
	tagDropEligible  = 0x02
	tagID            = 0x04
	macSource        = 0x01
	macDestination   = 0x02
	tagDropEligibleV = 0x08 // in octet 6
)

// pdnTypes by PDU session types (TS 29.244 8.2.79).
var pdnTypes = map[n1.SessionType]uint8{n1.IPv4: pdnIPv4, n1.IPv6: pdnIPv6, n1.IPv4v6: pdnIPv4v6, n1.Ethernet: pdnEthernet}

func macURR() *ie.IE {
	return ie.NewCreateURR(ie.NewURRID(urrMACs), ie.NewMeasurementMethod(measureEvents, 0, 0), ie.NewReportingTriggers(0, reportMACs), ie.NewEthernetInactivityTimer(silentMAC))
}

// framesOf are the filters of a direction as octets, "" where there are none. One that any frame matches makes all others needless, and is alone.
func framesOf(filters []n1.Filter, direction n1.Direction) string {
	var out []n1.Filter
	for _, f := range filters {
		if f.Direction&direction == 0 {
			continue
		}
		if !f.OfIP() && f.Frame == (n1.Frame{}) {
			return string(n1.EncodeFilters([]n1.Filter{n1.Any(0)}))
		}
		out = append(out, f)
	}
	return string(n1.EncodeFilters(out))
}

// frames reads what framesOf has written; none of a rule that all frames are of.
func (p pdrRule) frameFilters() []n1.Filter {
	list, err := n1.DecodeFilters([]byte(p.frames)) // framesOf has written it
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(f n1.Filter) bool { return !f.OfIP() && f.Frame == (n1.Frame{}) })
}

// packetFilter is an Ethernet Packet Filter (TS 29.244 7.5.2.2-3), for frames of one direction.
func packetFilter(f n1.Filter, uplink bool) *ie.IE {
	source, destination := f.Frame.Remote, f.Frame.Local
	if uplink {
		source, destination = destination, source
	}
	var ies []*ie.IE
	mac := []byte{0}
	for _, a := range []struct {
		flag byte
		mac  n1.MAC
	}{{macSource, source}, {macDestination, destination}} {
		if a.mac != (n1.MAC{}) {
			mac[0] |= a.flag
			mac = append(mac, a.mac[:]...)
		}
	}
	if mac[0] != 0 {
		ies = append(ies, ie.New(ie.MACAddress, mac))
	}
	if f.Frame.EtherType != 0 {
		ies = append(ies, ie.New(ie.Ethertype, binary.BigEndian.AppendUint16(nil, f.Frame.EtherType)))
	}
	for _, t := range []struct {
		kind     uint16
		id       uint16
		priority n1.Priority
	}{{ie.CTAG, f.Frame.CVLAN, f.Frame.CPriority}, {ie.STAG, f.Frame.SVLAN, f.Frame.SPriority}} {
		if t.id != 0 || t.priority != 0 {
			ies = append(ies, ie.New(t.kind, tag(t.id, t.priority)))
		}
	}
	if f.OfIP() {
		ies = append(ies, ie.NewSDFFilter(SDF(f), "", "", "", 0))
	}
	return ie.NewEthernetPacketFilter(ies...)
}

// tag is a C-TAG or S-TAG (TS 29.244 8.2.94, 8.2.95): the upper four bits of the VID stand before DEI and PCP.
func tag(id uint16, priority n1.Priority) []byte {
	out := []byte{0, byte(id>>8) << 4, byte(id)}
	if id != 0 {
		out[0] |= tagID
	}
	if priority != 0 {
		pcp, dei := priority.PCP()
		out[0] |= tagPriority | tagDropEligible
		out[1] |= pcp
		if dei {
			out[1] |= tagDropEligibleV
		}
	}
	return out
}

// FrameText is a filter of an Ethernet session for people.
func FrameText(f n1.Filter) string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if f.Frame.Remote != (n1.MAC{}) {
		say("remote MAC %s", f.Frame.Remote)
	}
	if f.Frame.Local != (n1.MAC{}) {
		say("local MAC %s", f.Frame.Local)
	}
	for _, t := range []struct {
		name     string
		id       uint16
		priority n1.Priority
	}{{"VLAN", f.Frame.CVLAN, f.Frame.CPriority}, {"service VLAN", f.Frame.SVLAN, f.Frame.SPriority}} {
		if t.id != 0 {
			say("%s %d", t.name, t.id)
		}
		if t.priority != 0 {
			pcp, dei := t.priority.PCP()
			say("%s PCP %d DEI %v", t.name, pcp, dei)
		}
	}
	if f.Frame.EtherType != 0 {
		say("EtherType %#04x", f.Frame.EtherType)
	}
	if f.OfIP() {
		say("%s", SDF(f))
	}
	if len(out) == 0 {
		return "any frame"
	}
	return strings.Join(out, ", ")
}

// MACsText are the addresses behind the UE, as far as the record has them; nil: there are none.
func MACsText(s *record.Session) (out []string) {
	if s.Ethernet != nil {
		for _, m := range s.Ethernet.MACs {
			out = append(out, m.String())
		}
	}
	return out
}
