package n1

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"time"
)

// AMBR of a session, bit/s.
type AMBR struct{ Uplink, Downlink uint64 }

func (a AMBR) encode() []byte {
	down, up := encodeRate(a.Downlink), encodeRate(a.Uplink)
	return append(down[:], up[:]...)
}

// EstablishmentAccept of TS 24.501 8.3.2.
type EstablishmentAccept struct {
	SessionID, PTI uint8
	Type           SessionType
	SSCMode        uint8
	Rules          []Rule
	Flows          []Flow
	AMBR           AMBR
	// Cause is CauseIPv4Only or CauseIPv6Only where the UE asked for both and gets one; else 0.
	Cause Cause
	// IPv4 and InterfaceID are what the session's type has: the UE makes its link-local address of the latter.
	IPv4        netip.Addr
	InterfaceID [8]byte
	// SST and SD (nil: none) are the session's slice.
	SST uint8
	SD  *[3]byte
	// AlwaysOn answers a UE that asked for it: nil where it did not.
	AlwaysOn *bool
	DNN      string
	Options  Options
}

// Encode returns the message.
func (m *EstablishmentAccept) Encode() []byte {
	b := []byte{discriminator5GSM, m.SessionID, m.PTI, byte(EstablishmentAcceptType), m.SSCMode<<4 | byte(m.Type)}
	rules := encodeRules(m.Rules)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(rules))), rules...)
	b = append(append(b, 6), m.AMBR.encode()...)
	if m.Cause != 0 {
		b = append(b, ieiCause, byte(m.Cause))
	}
	address := []byte{byte(m.Type)}
	if m.Type == IPv6 || m.Type == IPv4v6 {
		address = append(address, m.InterfaceID[:]...)
	}
	if m.Type == IPv4 || m.Type == IPv4v6 {
		address = append(address, m.IPv4.AsSlice()...)
	}
	if len(address) > 1 {
		b = appendTLV(b, ieiPDUAddress, address)
	}
	slice := []byte{m.SST}
	if m.SD != nil {
		slice = append(slice, m.SD[:]...)
	}
	b = appendTLV(b, ieiSNSSAI, slice)
	b = appendAlwaysOn(b, m.AlwaysOn)
	if len(m.Flows) > 0 {
		b = appendTLVE(b, ieiFlows, encodeFlows(m.Flows))
	}
	b = appendOptions(b, m.Options)
	if m.DNN != "" {
		b = appendTLV(b, ieiDNN, encodeDNN(m.DNN))
	}
	return b
}

// EstablishmentReject of TS 24.501 8.3.3.
type EstablishmentReject struct {
	SessionID, PTI uint8
	Cause          Cause
	// BackOff is how long the UE shall wait (T3396), 0: not told.
	BackOff time.Duration
	// AllowedSSCModes 1 to 3, with CauseUnsupportedSSCMode.
	AllowedSSCModes []uint8
	Options         Options
}

// Encode returns the message.
func (m *EstablishmentReject) Encode() []byte {
	b := []byte{discriminator5GSM, m.SessionID, m.PTI, byte(EstablishmentRejectType), byte(m.Cause)}
	b = appendBackOff(b, m.BackOff)
	if len(m.AllowedSSCModes) > 0 {
		allowed := byte(ieiAllowedSSC)
		for _, mode := range m.AllowedSSCModes {
			allowed |= 1 << (mode - 1)
		}
		b = append(b, allowed)
	}
	return appendOptions(b, m.Options)
}

// ModificationCommand of TS 24.501 8.3.9.
type ModificationCommand struct {
	SessionID, PTI uint8
	Cause          Cause // 0: none
	AMBR           *AMBR
	AlwaysOn       *bool
	Rules          []Rule
	Flows          []Flow
	Options        Options
}

// Encode returns the message.
func (m *ModificationCommand) Encode() []byte {
	b := []byte{discriminator5GSM, m.SessionID, m.PTI, byte(ModificationCommandType)}
	if m.Cause != 0 {
		b = append(b, ieiCause, byte(m.Cause))
	}
	if m.AMBR != nil {
		b = appendTLV(b, ieiAMBR, m.AMBR.encode())
	}
	b = appendAlwaysOn(b, m.AlwaysOn)
	if len(m.Rules) > 0 {
		b = appendTLVE(b, ieiRules, encodeRules(m.Rules))
	}
	if len(m.Flows) > 0 {
		b = appendTLVE(b, ieiFlows, encodeFlows(m.Flows))
	}
	return appendOptions(b, m.Options)
}

// ModificationReject of TS 24.501 8.3.8.
type ModificationReject struct {
	SessionID, PTI uint8
	Cause          Cause
	BackOff        time.Duration
	Options        Options
}

// Encode returns the message.
func (m *ModificationReject) Encode() []byte {
	b := []byte{discriminator5GSM, m.SessionID, m.PTI, byte(ModificationRejectType), byte(m.Cause)}
	return appendOptions(appendBackOff(b, m.BackOff), m.Options)
}

// ReleaseCommand of TS 24.501 8.3.14. A PTI of 0 is a release that the network begins.
type ReleaseCommand struct {
	SessionID, PTI uint8
	Cause          Cause
	BackOff        time.Duration
	Options        Options
}

// Encode returns the message.
func (m *ReleaseCommand) Encode() []byte {
	b := []byte{discriminator5GSM, m.SessionID, m.PTI, byte(ReleaseCommandType), byte(m.Cause)}
	return appendOptions(appendBackOff(b, m.BackOff), m.Options)
}

// ReleaseReject of TS 24.501 8.3.13.
type ReleaseReject struct {
	SessionID, PTI uint8
	Cause          Cause
	Options        Options
}

// Encode returns the message.
func (m *ReleaseReject) Encode() []byte {
	return appendOptions([]byte{discriminator5GSM, m.SessionID, m.PTI, byte(ReleaseRejectType), byte(m.Cause)}, m.Options)
}

// Encode returns the message.
func (m *Status) Encode() []byte {
	return []byte{discriminator5GSM, m.SessionID, m.PTI, byte(StatusType), byte(m.Cause)}
}

// ---- elements --------------------------------------------------------------------------------------------

func appendTLV(b []byte, iei byte, content []byte) []byte {
	return append(append(b, iei, byte(len(content))), content...)
}

func appendTLVE(b []byte, iei byte, content []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(b, iei), uint16(len(content))), content...)
}

func appendOptions(b []byte, o Options) []byte {
	if len(o) == 0 {
		return b
	}
	return appendTLVE(b, ieiOptions, o.encode())
}

func appendAlwaysOn(b []byte, is *bool) []byte {
	switch {
	case is == nil:
		return b
	case *is:
		return append(b, ieiAlwaysOn|1)
	}
	return append(b, ieiAlwaysOn)
}

// timerUnits of GPRS timer 3 (TS 24.008 10.5.7.4a), the shortest first.
var timerUnits = []struct {
	unit time.Duration
	code byte
}{
	{2 * time.Second, 3}, {30 * time.Second, 4}, {time.Minute, 5}, {10 * time.Minute, 0},
	{time.Hour, 1}, {10 * time.Hour, 2}, {320 * time.Hour, 6},
}

// encodeTimer says a duration in the shortest unit in which five bits hold it, rounded up.
func encodeTimer(d time.Duration) byte {
	for _, u := range timerUnits {
		if n := (d + u.unit - 1) / u.unit; n <= 31 {
			return u.code<<5 | byte(n)
		}
	}
	return 6<<5 | 31
}

func appendBackOff(b []byte, d time.Duration) []byte {
	if d <= 0 {
		return b
	}
	return append(b, ieiBackOff, 1, encodeTimer(d))
}

// encodeDNN writes labels (TS 23.003 9.1).
func encodeDNN(dnn string) []byte {
	var b []byte
	for label := range strings.SplitSeq(dnn, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return b
}
