package uenas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
)

// What the network says about a PDU session, as a UE reads it, and what a UE asks for. The elements that both
// directions share (QoS rules, QoS flow descriptions, protocol configuration options) are read and written by the
// codec of the network's side; headers, and what only the network sends, are read here.

// SessionRequest is what a PDU SESSION ESTABLISHMENT REQUEST asks for (TS 24.501 8.3.1).
type SessionRequest struct {
	Type     n1.SessionType // 0: IPv4
	AlwaysOn bool
	// PCSCF asks for P-CSCF addresses of the session's IP versions.
	PCSCF bool
	// MaxFilters that the UE supports, 17 to 1024; 0 leaves it out and means 16.
	MaxFilters uint16
}

// v4 and v6 say which versions of IP the request is for.
func (r SessionRequest) v4() bool { return r.Type == 0 || r.Type == n1.IPv4 || r.Type == n1.IPv4v6 }
func (r SessionRequest) v6() bool { return r.Type == n1.IPv6 || r.Type == n1.IPv4v6 }

// options are the containers asked for (TS 24.008 10.5.6.3): IP address by NAS signalling, DNS servers, the IPv4
// link MTU; of Ethernet that of a frame's payload. The MTU of IPv6 comes by Router Advertisement.
func (r SessionRequest) options() []byte {
	b := []byte{0x80} // PPP for use with IP PDU session type
	add := func(id uint16) { b = append(binary.BigEndian.AppendUint16(b, id), 0) }
	if r.v4() {
		const addressByNAS = 0x000A
		add(addressByNAS)
		add(n1.OptionDNSv4)
	}
	if r.v6() {
		add(n1.OptionDNSv6)
	}
	if r.PCSCF && r.v4() {
		add(n1.OptionPCSCFv4)
	}
	if r.PCSCF && r.v6() {
		add(n1.OptionPCSCFv6)
	}
	if r.v4() {
		add(n1.OptionMTUv4)
	}
	if r.Type == n1.Ethernet {
		add(n1.OptionMTUEthernet)
	}
	return b
}

// SessionEstablishment encodes PDU SESSION ESTABLISHMENT REQUEST for SSC mode 1 (8.3.1).
func SessionEstablishment(psi, pti uint8, r SessionRequest) []byte {
	const sscMode1 = 1
	kind := r.Type
	if kind == 0 {
		kind = n1.IPv4
	}
	b := append(gsm(psi, pti, uint8(n1.EstablishmentRequestType)), 0xFF, 0xFF) // full data rate, both ways
	b = append(b, 0x90|byte(kind), 0xA0|sscMode1)
	if r.MaxFilters > 16 {
		b = append(b, 0x55, byte(r.MaxFilters>>3), byte(r.MaxFilters<<5))
	}
	if r.AlwaysOn {
		b = append(b, 0xB1)
	}
	return tlvE(b, 0x7B, r.options())
}

// ModificationRequest is what a PDU SESSION MODIFICATION REQUEST asks for (8.3.7).
type ModificationRequest struct {
	Rules    []n1.Rule
	Flows    []n1.Flow
	AlwaysOn bool
}

// SessionModification encodes PDU SESSION MODIFICATION REQUEST (8.3.7). Its rules and flow descriptions have the
// form of those in a PDU SESSION MODIFICATION COMMAND.
func SessionModification(psi, pti uint8, r ModificationRequest) []byte {
	command := n1.ModificationCommand{SessionID: psi, PTI: pti, Rules: r.Rules, Flows: r.Flows}
	b := gsm(psi, pti, uint8(n1.ModificationRequestType))
	if r.AlwaysOn {
		b = append(b, 0xB1)
	}
	return append(b, command.Encode()[4:]...)
}

// SessionModificationReject refuses a PDU SESSION MODIFICATION COMMAND (8.3.11).
func SessionModificationReject(psi, pti uint8, cause n1.Cause) []byte {
	return append(gsm(psi, pti, uint8(n1.ModificationCommandRejectType)), byte(cause))
}

// SessionMessage is a 5GSM message of the network: what is not in it is zero or nil.
type SessionMessage struct {
	n1.Header
	Cause   n1.Cause
	BackOff time.Duration // T3396 or the like, 0 for none; Never for "deactivated"

	// Of a PDU SESSION ESTABLISHMENT ACCEPT.
	SessionType n1.SessionType
	SSCMode     uint8
	IPv4        netip.Addr
	InterfaceID *[8]byte
	// HasAddress: there is a PDU address, whatever is in it.
	HasAddress bool
	DNN        string

	AMBR     *n1.AMBR
	AlwaysOn *bool
	Rules    []n1.Rule
	Flows    []n1.Flow
	Options  n1.Options
	// QoSFault is what is wrong with the rules or flow descriptions, nil for nothing; they are empty then.
	QoSFault *n1.Fault
}

// Never is a back-off timer that does not end (TS 24.008 10.5.7.4a: deactivated).
const Never = time.Duration(1<<63 - 1)

var errNotGSM = errors.New("no 5GSM message")

// DecodeSessionMessage reads a 5GSM message of the network. It trusts no length.
func DecodeSessionMessage(b []byte) (*SessionMessage, error) {
	if len(b) < 4 || b[0] != epd5GSM {
		return nil, errNotGSM
	}
	m := &SessionMessage{Header: n1.Header{SessionID: b[1], PTI: b[2], Type: n1.MessageType(b[3])}}
	rest := b[4:]
	var rules []byte
	switch m.Type {
	case n1.EstablishmentAcceptType:
		var err error
		if rules, rest, err = m.mandatory(rest); err != nil {
			return nil, err
		}
	case n1.EstablishmentRejectType, n1.ModificationRejectType, n1.ReleaseRejectType, n1.ReleaseCommandType, n1.StatusType:
		if len(rest) < 1 {
			return nil, fmt.Errorf("5GSM message %#02x without its cause", uint8(m.Type))
		}
		m.Cause, rest = n1.Cause(rest[0]), rest[1:]
	case n1.ModificationCommandType:
	default:
		return nil, fmt.Errorf("5GSM message type %#02x is none that the network sends", uint8(m.Type))
	}
	m.optional(rest, rules)
	return m, nil
}

// mandatory reads the selected type and SSC mode, the authorized QoS rules and the session AMBR (8.3.2).
func (m *SessionMessage) mandatory(b []byte) (rules, rest []byte, err error) {
	short := func() ([]byte, []byte, error) {
		return nil, nil, errors.New("PDU session establishment accept cut in its mandatory part")
	}
	if len(b) < 3 {
		return short()
	}
	m.SessionType, m.SSCMode = n1.SessionType(b[0]&7), b[0]>>4&7
	n := int(binary.BigEndian.Uint16(b[1:]))
	if len(b) < 3+n+1 {
		return short()
	}
	rules, b = b[3:3+n], b[3+n:]
	n = int(b[0])
	if n < 6 || len(b) < 1+n {
		return short()
	}
	m.AMBR = ambr(b[1:])
	return rules, b[1+n:], nil
}

// optional reads the optional elements, whose identifiers mean the same in all messages.
func (m *SessionMessage) optional(b, rules []byte) {
	var flows, options []byte
	for len(b) > 0 {
		iei, content, next, ok := element(b)
		if !ok {
			break
		}
		b = next
		switch {
		case iei == 0x59 && len(content) == 1:
			m.Cause = n1.Cause(content[0])
		case iei == 0x29:
			m.address(content)
		case iei == 0x2A && len(content) >= 6:
			m.AMBR = ambr(content)
		case iei == 0x80:
			yes := content[0]&1 != 0
			m.AlwaysOn = &yes
		case iei == 0x37 && len(content) == 1:
			m.BackOff = timer3(content[0])
		case iei == 0x25:
			m.DNN = decodeDNN(content)
		case iei == 0x7A && rules == nil:
			rules = content
		case iei == 0x79:
			flows = content
		case iei == 0x7B:
			options = content
		}
	}
	m.shared(rules, flows, options)
}

// element takes the first optional element apart (TS 24.007 11.2.4).
func element(b []byte) (iei byte, content, rest []byte, ok bool) {
	iei = b[0]
	switch {
	case iei >= 0x80: // one octet in all
		return iei & 0xF0, []byte{iei & 0x0F}, b[1:], true
	case iei == 0x59 || iei == 0x56: // TV of two octets: cause, RQ timer
		if len(b) < 2 {
			return 0, nil, nil, false
		}
		return iei, b[1:2], b[2:], true
	case iei >= 0x70: // TLV-E
		if len(b) < 3 || len(b)-3 < int(binary.BigEndian.Uint16(b[1:])) {
			return 0, nil, nil, false
		}
		end := 3 + int(binary.BigEndian.Uint16(b[1:]))
		return iei, b[3:end], b[end:], true
	default:
		if len(b) < 2 || len(b)-2 < int(b[1]) {
			return 0, nil, nil, false
		}
		end := 2 + int(b[1])
		return iei, b[2:end], b[end:], true
	}
}

// shared reads what UEs send in the same form: as if a UE had asked for it.
func (m *SessionMessage) shared(rules, flows, options []byte) {
	read := func(iei byte, content []byte) (*n1.ModificationRequest, *n1.Fault) {
		got, err := n1.Decode(tlvE(gsm(1, 1, uint8(n1.ModificationRequestType)), iei, content))
		if err != nil {
			var fault *n1.Fault
			if !errors.As(err, &fault) {
				fault = &n1.Fault{Cause: n1.CauseProtocolErrorUnspecified, Reason: err.Error()}
			}
			return &n1.ModificationRequest{}, fault
		}
		request, ok := got.(*n1.ModificationRequest)
		if !ok {
			return &n1.ModificationRequest{}, nil
		}
		return request, nil
	}
	r, ruleFault := read(0x7A, rules)
	f, flowFault := read(0x79, flows)
	o, _ := read(0x7B, options)
	m.Rules, m.Flows, m.Options = r.Rules, f.Flows, o.Options
	if m.QoSFault = ruleFault; ruleFault == nil {
		m.QoSFault = flowFault
	}
}

// address reads the PDU address (9.11.4.10): an interface identifier for IPv6, an address for IPv4, in this order.
func (m *SessionMessage) address(b []byte) {
	m.HasAddress = true
	if len(b) < 1 {
		return
	}
	kind, b := n1.SessionType(b[0]&7), b[1:]
	if (kind == n1.IPv6 || kind == n1.IPv4v6) && len(b) >= 8 {
		id := [8]byte(b[:8])
		m.InterfaceID, b = &id, b[8:]
	}
	if (kind == n1.IPv4 || kind == n1.IPv4v6) && len(b) >= 4 {
		m.IPv4 = netip.AddrFrom4([4]byte(b[:4]))
	}
}

// ambr reads a session AMBR (9.11.4.14): downlink, then uplink.
func ambr(b []byte) *n1.AMBR {
	return &n1.AMBR{Downlink: bitRate([3]byte(b[:3])), Uplink: bitRate([3]byte(b[3:6]))}
}

// bitRate is in bit/s: a unit, powers of four of 1, 1000, 1000², … kbit/s, and sixteen bits.
func bitRate(b [3]byte) uint64 {
	unit := uint64(1000)
	n := min(max(b[0], 1), 25)
	for range (n - 1) / 5 {
		unit *= 1000
	}
	unit <<= 2 * ((n - 1) % 5)
	v := uint64(b[1])<<8 | uint64(b[2])
	if v != 0 && unit > ^uint64(0)/v {
		return ^uint64(0)
	}
	return v * unit
}

// timer3 reads a GPRS timer 3 (TS 24.008 10.5.7.4a).
func timer3(b byte) time.Duration {
	units := [8]time.Duration{10 * time.Minute, time.Hour, 10 * time.Hour, 2 * time.Second, 30 * time.Second, time.Minute, 320 * time.Hour, Never}
	if u := units[b>>5]; u != Never {
		return u * time.Duration(b&0x1F)
	}
	return Never
}

// decodeDNN reads labels with their lengths (TS 23.003 9.1).
func decodeDNN(b []byte) string {
	var out []byte
	for len(b) > 0 && int(b[0]) < len(b) {
		if len(out) > 0 {
			out = append(out, '.')
		}
		out = append(out, b[1:1+int(b[0])]...)
		b = b[1+int(b[0]):]
	}
	return string(out)
}
