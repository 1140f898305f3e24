package configuration

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
)

// The words below are those of the custom resources: a file and a Slice say the same thing in the same way.

// ParseType reads IPv4, IPv6, IPv4v6 or Ethernet.
func ParseType(word string) (n1.SessionType, error) {
	return oneOf("PDU session type", word, map[string]n1.SessionType{"IPv4": n1.IPv4, "IPv6": n1.IPv6, "IPv4v6": n1.IPv4v6, "Ethernet": n1.Ethernet})
}

// ParseAlwaysOn reads Never, Requested or Always.
func ParseAlwaysOn(word string) (AlwaysOn, error) {
	return oneOf("alwaysOn", word, map[string]AlwaysOn{"Never": AlwaysOnNever, "Requested": AlwaysOnRequested, "Always": AlwaysOnAlways})
}

// ParseCharging reads None, Offline or Online.
func ParseCharging(word string) (Charging, error) {
	return oneOf("charging", word, map[string]Charging{"None": ChargingNone, "Offline": ChargingOffline, "Online": ChargingOnline})
}

// ParsePoolRouting reads AllUnits, which is true, or PerUnit.
func ParsePoolRouting(word string) (bool, error) {
	return oneOf("poolRouting", word, map[string]bool{"AllUnits": true, "PerUnit": false})
}

// ParseDirection reads Uplink, Downlink or Bidirectional.
func ParseDirection(word string) (n1.Direction, error) {
	return oneOf("direction", word, map[string]n1.Direction{"Uplink": n1.Uplink, "Downlink": n1.Downlink, "Bidirectional": n1.Bidirectional})
}

// ParseState reads InService, Draining or Locked.
func ParseState(word string) (State, error) {
	return oneOf("state", word, map[string]State{"InService": InService, "Draining": Draining, "Locked": Locked})
}

// ParsePolicy reads PCF, which is true, or Slice.
func ParsePolicy(word string) (bool, error) {
	return oneOf("policy", word, map[string]bool{"PCF": true, "Slice": false})
}

// ParseGiven says of a flow whether only subscriptions that name it have it: Always is false, ToSubscribers true.
func ParseGiven(word string) (bool, error) {
	return oneOf("given", word, map[string]bool{"Always": false, "ToSubscribers": true})
}

// MayPreempt reads MayPreempt, which is true, or NotPreempt.
func MayPreempt(word string) (bool, error) {
	return oneOf("preemptionCapability", word, map[string]bool{"MayPreempt": true, "NotPreempt": false})
}

// Preemptable reads Preemptable, which is true, or NotPreemptable.
func Preemptable(word string) (bool, error) {
	return oneOf("preemptionVulnerability", word, map[string]bool{"Preemptable": true, "NotPreemptable": false})
}

func oneOf[T any](what, word string, words map[string]T) (T, error) {
	v, ok := words[word]
	if !ok {
		known := make([]string, 0, len(words))
		for w := range words {
			known = append(known, w)
		}
		slices.Sort(known)
		return v, fmt.Errorf("%s %.40q: write one of %s", what, word, strings.Join(known, ", "))
	}
	return v, nil
}

var units = map[string]uint64{"bps": 1, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}

// ParseRate reads a bit rate of TS 29.571 5.5.2, a number, a space and a unit, as bit/s. "" is 0.
func ParseRate(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(text, " ")
	factor, known := units[unit]
	whole, fraction, isFraction := strings.Cut(number, ".")
	refused := fmt.Errorf("%.40q is no bit rate: write a number, a space and one of bps, Kbps, Mbps, Gbps, Tbps, for example \"100 Mbps\"", text)
	n, err := digits(whole)
	if !known || err != nil || isFraction && (fraction == "" || len(fraction) > 12) {
		return 0, refused
	}
	if n > math.MaxUint64/factor/2 {
		return 0, refused
	}
	rate := n * factor
	for _, r := range fraction {
		if r < '0' || r > '9' {
			return 0, refused
		}
		factor /= 10
		rate += uint64(r-'0') * factor
	}
	return rate, nil
}

// digits alone: strconv would take a sign.
func digits(text string) (uint64, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

// protocols that have a name here; others have their number.
var protocols = map[string]int{"": -1, "ANY": -1, "ICMP": 1, "TCP": 6, "UDP": 17, "ESP": 50, "ICMPV6": 58, "SCTP": 132}

// ParseProtocol reads a name or a number of IANA's; "" is any, -1.
func ParseProtocol(text string) (int, error) {
	if n, ok := protocols[strings.ToUpper(text)]; ok {
		return n, nil
	}
	n, err := digits(text)
	if err != nil || n > 255 {
		return 0, fmt.Errorf("protocol %.40q: write TCP, UDP, ICMP, ICMPv6, SCTP, ESP, or a number from 0 to 255", text)
	}
	return int(n), nil
}

// ParsePorts reads 80 or 5060-5061; "" is any.
func ParsePorts(text string) (n1.PortRange, error) {
	if text == "" {
		return n1.PortRange{}, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, errA := digits(first)
	b, errB := digits(last)
	if errA != nil || errB != nil || a > b || b > math.MaxUint16 || b == 0 {
		return n1.PortRange{}, fmt.Errorf("ports %.40q: write one, for example 80, or a range, for example 5060-5061, up to 65535", text)
	}
	return n1.PortRange{First: uint16(a), Last: uint16(b)}, nil
}

// ParseMAC reads six octets in hexadecimal, with colons; "" is none.
func ParseMAC(text string) (out n1.MAC, err error) {
	if text == "" {
		return out, nil
	}
	address, err := net.ParseMAC(text)
	if err != nil || len(address) != len(out) || !strings.Contains(text, ":") || n1.MAC(address) == out {
		return out, fmt.Errorf("MAC address %.40q: write six octets in hexadecimal, for example 02:00:00:00:00:01", text)
	}
	return n1.MAC(address), nil
}

// ParseEtherType reads 0x and four hexadecimal digits; "" is none.
func ParseEtherType(text string) (uint16, error) {
	if text == "" {
		return 0, nil
	}
	rest, is := strings.CutPrefix(text, "0x")
	n, err := hexadecimal(rest, 4)
	if err != nil || !is || n < leastEtherType {
		return 0, fmt.Errorf("etherType %.40q: write 0x and four hexadecimal digits in quotes, \"0x0600\" at least, for example \"0x88b8\"", text)
	}
	return uint16(n), nil
}

// leastEtherType: what is less is a frame's length (IEEE 802.3 3.2.6).
const leastEtherType = 0x0600

// MakeFrame makes of a filter what it says of frames.
func MakeFrame(remote, local string, vlan, serviceVLAN int32, etherType string) (out n1.Frame, err error) {
	if out.Remote, err = ParseMAC(remote); err != nil {
		return out, err
	}
	if out.Local, err = ParseMAC(local); err != nil {
		return out, err
	}
	for _, v := range []struct {
		field string
		id    int32
		to    *uint16
	}{{"vlan", vlan, &out.CVLAN}, {"serviceVLAN", serviceVLAN, &out.SVLAN}} {
		if v.id < 0 || v.id > 4094 {
			return out, fmt.Errorf("%s %d: write 1 to 4094", v.field, v.id)
		}
		*v.to = uint16(v.id)
	}
	out.EtherType, err = ParseEtherType(etherType)
	return out, err
}

// ParseSD reads six hexadecimal digits; "" and ffffff are none.
func ParseSD(text string) (*[3]byte, error) {
	if text == "" {
		return nil, nil
	}
	n, err := hexadecimal(text, 6)
	if err != nil {
		return nil, fmt.Errorf("sd %.40q: write six hexadecimal digits in quotes, for example \"010203\"", text)
	}
	sd := &[3]byte{byte(n >> 16), byte(n >> 8), byte(n)}
	if !isSD(sd) {
		return nil, nil
	}
	return sd, nil
}

// ParseTAC reads six hexadecimal digits.
func ParseTAC(text string) (uint32, error) {
	n, err := hexadecimal(text, 6)
	if err != nil {
		return 0, fmt.Errorf("tac %.40q: write six hexadecimal digits in quotes, for example \"000001\"", text)
	}
	return uint32(n), nil
}

func hexadecimal(text string, length int) (uint64, error) {
	if len(text) != length || strings.Trim(text, "0123456789abcdefABCDEF") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 16, 64)
}
