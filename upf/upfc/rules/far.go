package rules

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// FAR is a Forwarding Action Rule, TS 29.244 tables 7.5.2.3-1 and 7.5.4.3-1.
type FAR struct {
	ID     uint32
	Action uint8 // of Apply Action
	Forwarding
	NetworkInstance string
	Redirect        string // the URL of Redirect Information; empty when there is none
	HasBAR          bool
	BAR             uint8
	HasEndpoint     bool
	Endpoint        uint8 // Linked Traffic Endpoint: where the other direction comes in
	Duplicates      []Forwarding
}

// Forwarding is what Forwarding Parameters and Duplicating Parameters have in common.
type Forwarding struct {
	Destination uint8
	Outer       Outer
	HasToS      bool
	ToS         uint8 // Transport Level Marking
	ToSMask     uint8
}

// Outer is an Outer Header Creation (TS 29.244 8.2.56).
type Outer struct {
	Kind uint8 // abi.Ohc…; OhcNone when there is none
	Addr netip.Addr
	TEID uint32
	Port uint16
}

// Tunnel is the peer's F-TEID; invalid unless the header is GTP-U's.
func (o *Outer) Tunnel() FTEID {
	if o.Kind == abi.OhcGtpu4 || o.Kind == abi.OhcGtpu6 {
		return FTEID{Addr: o.Addr, TEID: o.TEID}
	}
	return FTEID{}
}

// Apply Action (TS 29.244 8.2.26), first octet. The other actions are refused: doing something else
// silently would be worse.
const (
	Drop      uint8 = 0x01
	Forward   uint8 = 0x02
	Buffer    uint8 = 0x04
	Notify    uint8 = 0x08 // NOCP
	Duplicate uint8 = 0x10

	unsupportedActions = 0x20 | 0x40 | 0x80 // IPMA, IPMD, DFRT
	// Second octet, since Release 16: EDRT, BDPN, DDPN, FSSM, MBSU
	unsupportedActions2 = 0x01 | 0x02 | 0x04 | 0x08 | 0x10
)

// maxDuplicates bounds the destinations of one FAR's copies.
const maxDuplicates = 8

var (
	unsupportedInFAR        = []uint16{ie.RedundantTransmissionForwardingParameters, mbsMulticastParameters, addMBSUnicast}
	unsupportedInForwarding = []uint16{ie.HeaderEnrichment, ie.Proxying, ipAndPortReplacement}
)

func (p *planner) far(r *FAR, group pfcp.Elements, create bool) error {
	ref := named{farKind, r.ID}
	if e := group.First(ie.ApplyAction); e != nil {
		if err := r.applyAction(e, ref); err != nil {
			return err
		}
	} else if create {
		return pfcp.Missing(ie.ApplyAction, "Create FAR")
	}
	if e := group.First(ie.BARID); e.Removes(create) {
		r.HasBAR, r.BAR = false, 0
	} else if e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.HasBAR, r.BAR = true, v
	}

	parameters := ie.ForwardingParameters
	if !create {
		parameters = ie.UpdateForwardingParameters
	}
	if e := group.First(parameters); e != nil {
		inner, err := e.GroupIn(&p.inner)
		if err != nil {
			return err
		}
		if err := p.forwardingParameters(r, inner, create, ref); err != nil {
			return err
		}
	} else if create && r.Action&Forward != 0 {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: parameters, Rule: ref.ref(), Detail: "FORW without Forwarding Parameters"}
	}
	if err := p.duplicatingParameters(r, group, create, ref); err != nil {
		return err
	}
	return unsupported(group, unsupportedInFAR, ref)
}

func (r *FAR) applyAction(e *pfcp.Element, ref named) error {
	v, err := e.Uint8() // one octet before Release 16, two since
	if err != nil {
		return err
	}
	if v&unsupportedActions != 0 {
		return refuse(ref, ie.ApplyAction, "apply action %#x is not supported", v)
	}
	if len(e.Value) > 1 && e.Value[1]&unsupportedActions2 != 0 {
		return refuse(ref, ie.ApplyAction, "apply action %#x in the second octet is not supported", e.Value[1])
	}
	switch v & (Drop | Forward | Buffer) {
	case Drop, Forward, Buffer:
	default:
		return pfcp.Incorrect(ie.ApplyAction, "apply action %#x: exactly one of DROP, FORW and BUFF is needed", v)
	}
	if v&Notify != 0 && v&Buffer == 0 {
		return pfcp.Incorrect(ie.ApplyAction, "apply action %#x: NOCP needs BUFF", v)
	}
	r.Action = v & (Drop | Forward | Buffer | Notify | Duplicate)
	return nil
}

func (p *planner) forwardingParameters(r *FAR, group pfcp.Elements, create bool, ref named) error {
	before := r.Outer
	if e := group.First(ie.DestinationInterface); e == nil && create {
		return pfcp.Missing(ie.DestinationInterface, "Forwarding Parameters")
	}
	if err := r.read(group, create, false, ref); err != nil {
		return err
	}
	if e := group.First(ie.PFCPSMReqFlags); e != nil && len(e.Value) > 0 && e.Value[0]&smreqSNDEM != 0 {
		if t := before.Tunnel(); t.IsValid() && before != r.Outer {
			p.change.EndMarkers = append(p.change.EndMarkers, before)
		}
	}
	if e := group.First(ie.NetworkInstance); e.Removes(create) {
		r.NetworkInstance = ""
	} else if e != nil {
		n, err := p.networkInstance(e, ref)
		if err != nil {
			return err
		}
		r.NetworkInstance = n
	}
	if e := group.First(ie.RedirectInformation); e.Removes(create) {
		r.Redirect = ""
	} else if e != nil {
		url, err := parseRedirect(e.Value)
		if err == errShort {
			return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Rule: ref.ref(), Detail: "Redirect Information is cut short"}
		}
		if err != nil {
			return refuse(ref, e.Type, "Redirect Information: %v", err)
		}
		r.Redirect = url
	}
	if e := group.First(ie.TrafficEndpointID); e.Removes(create) { // Linked Traffic Endpoint ID
		r.HasEndpoint, r.Endpoint = false, 0
	} else if e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.HasEndpoint, r.Endpoint = true, v
	}
	if group.First(ie.ForwardingPolicy) != nil {
		return &pfcp.Reject{Cause: ie.CauseInvalidForwardingPolicy, Offending: ie.ForwardingPolicy, Rule: ref.ref(), Detail: "this UPF has no forwarding policies"}
	}
	return unsupported(group, unsupportedInForwarding, ref)
}

// read reads what Forwarding Parameters and Duplicating Parameters have in common.
func (f *Forwarding) read(group pfcp.Elements, create, duplicating bool, ref named) error {
	if e := group.First(ie.DestinationInterface); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		switch v &= 0x0f; {
		case v == Access || v == Core:
			f.Destination = v
		case v == N6LAN || v == LIFunction && duplicating:
			f.Destination = Core
		case v == CPFunction:
			return refuse(ref, ie.DestinationInterface, "destination interface CP-function: this UPF forwards no user packets to the CP function")
		default:
			return refuse(ref, ie.DestinationInterface, "destination interface %d is not supported here", v)
		}
	}
	if e := group.First(ie.TransportLevelMarking); e.Removes(create) {
		f.HasToS, f.ToS, f.ToSMask = false, 0, 0
	} else if e != nil {
		v, err := e.Uint16()
		if err != nil {
			return err
		}
		f.HasToS, f.ToS, f.ToSMask = true, uint8(v>>8), uint8(v)
	}
	if e := group.First(ie.OuterHeaderCreation); e.Removes(create) {
		f.Outer = Outer{}
	} else if e != nil {
		o, err := parseOuterHeader(e.Value)
		if err == errShort {
			return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Rule: ref.ref(), Detail: "Outer Header Creation is cut short"}
		}
		if err != nil {
			return refuse(ref, e.Type, "Outer Header Creation: %v", err)
		}
		f.Outer = o
	}
	return nil
}

// duplicatingParameters reads one group for each destination of the copies (TS 29.244 7.5.2.3-3,
// 7.5.4.3-3). One update of one destination changes it; any other number replaces them all.
func (p *planner) duplicatingParameters(r *FAR, group pfcp.Elements, create bool, ref named) error {
	parameters := ie.DuplicatingParameters
	if !create {
		parameters = ie.UpdateDuplicatingParameters
	}
	var list []Forwarding
	seen := 0
	for i := range group {
		e := &group[i]
		if e.Type != parameters {
			continue
		}
		if seen++; e.Removes(create) {
			continue
		}
		inner, err := e.GroupIn(&p.inner)
		if err != nil {
			return err
		}
		f := Forwarding{}
		if len(r.Duplicates) == 1 && len(group.All(parameters)) == 1 {
			f = r.Duplicates[0]
		} else if inner.First(ie.DestinationInterface) == nil {
			return pfcp.Missing(ie.DestinationInterface, "Duplicating Parameters")
		}
		if err := f.read(inner, create, true, ref); err != nil {
			return err
		}
		if inner.First(ie.ForwardingPolicy) != nil {
			return &pfcp.Reject{Cause: ie.CauseInvalidForwardingPolicy, Offending: ie.ForwardingPolicy, Rule: ref.ref(), Detail: "this UPF has no forwarding policies"}
		}
		list = append(list, f)
	}
	if len(list) > maxDuplicates {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: parameters, Rule: ref.ref(), Detail: "too many copies of one packet"}
	}
	if seen > 0 {
		r.Duplicates = list
	}
	if r.Action&Duplicate != 0 && len(r.Duplicates) == 0 {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: parameters, Rule: ref.ref(), Detail: "DUPL without Duplicating Parameters"}
	}
	return nil
}

// PFCPSMReq-Flags and PFCPSEReq-Flags.
const (
	smreqDROBU = 0x01
	smreqSNDEM = 0x02
	smreqQAURR = 0x04

	sereqSUMPC = 0x02 // of PFCPSEReq-Flags

	unsupportedSMReq = 0x08 | 0x10 | 0x20 // SUMPC, RUMUC, DETEID
)

// Outer Header Creation Description (TS 29.244 8.2.56), both octets. N19 and N6 Indications change
// nothing here.
const (
	ohcGTPU4 = 0x0100
	ohcGTPU6 = 0x0200
	ohcUDP4  = 0x0400
	ohcUDP6  = 0x0800
	ohcIP4   = 0x1000
	ohcIP6   = 0x2000
	ohcKinds = ohcGTPU4 | ohcGTPU6 | ohcUDP4 | ohcUDP6 | ohcIP4 | ohcIP6
)

type refusal string

func (r refusal) Error() string { return string(r) }

// parseOuterHeader reads the IE's value: description, TEID where it is GTP-U, IPv4 and IPv6 address,
// port where it is UDP. Where both versions are offered, IPv4 is taken.
func parseOuterHeader(b []byte) (o Outer, err error) {
	if len(b) < 2 {
		return o, errShort
	}
	d := binary.BigEndian.Uint16(b)
	b = b[2:]
	if d&0x04 != 0 {
		return o, refusal("Low Layer SSM and C-TEID are not supported")
	}
	if d & ^uint16(ohcKinds|0xff) != 0 {
		return o, refusal("C-TAG and S-TAG are not supported")
	}
	gtpu, udp, ip := d&(ohcGTPU4|ohcGTPU6) != 0, d&(ohcUDP4|ohcUDP6) != 0, d&(ohcIP4|ohcIP6) != 0
	if n := count(gtpu, udp, ip); n != 1 {
		return o, refusal("one of GTP-U, UDP and IP is needed")
	}
	if gtpu {
		if len(b) < 4 {
			return o, errShort
		}
		o.TEID, b = binary.BigEndian.Uint32(b), b[4:]
	}
	has4 := d&(ohcGTPU4|ohcUDP4|ohcIP4) != 0
	v4, v6, b, err := addresses(b, has4, d&(ohcGTPU6|ohcUDP6|ohcIP6) != 0)
	if err != nil {
		return o, err
	}
	if udp {
		if len(b) < 2 {
			return o, errShort
		}
		o.Port = binary.BigEndian.Uint16(b)
	}
	switch {
	case gtpu && has4:
		o.Kind = abi.OhcGtpu4
	case gtpu:
		o.Kind = abi.OhcGtpu6
	case udp && has4:
		o.Kind = abi.OhcUdp4
	case udp:
		o.Kind = abi.OhcUdp6
	case has4:
		o.Kind = abi.OhcIp4
	default:
		o.Kind = abi.OhcIp6
	}
	if o.Addr = v6; has4 {
		o.Addr = v4
	}
	if o.Addr.IsUnspecified() || o.Addr.IsMulticast() {
		return o, refusal(o.Addr.String() + " is nobody's address")
	}
	return o, nil
}

func count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// Redirect Address Types (TS 29.244 8.2.20).
const (
	redirectIPv4     = 0
	redirectIPv6     = 1
	redirectURL      = 2
	redirectSIP      = 3
	redirectIPv4IPv6 = 4
)

// maxURL bounds a redirect URL.
const maxURL = 1024

// parseRedirect reads a Redirect Information as the URL to which HTTP is redirected.
func parseRedirect(b []byte) (string, error) {
	if len(b) < 3 {
		return "", errShort
	}
	kind, n, b := b[0]&0x0f, int(binary.BigEndian.Uint16(b[1:])), b[3:]
	if len(b) < n {
		return "", errShort
	}
	text := string(b[:n])
	switch kind {
	case redirectURL:
		if text == "" || len(text) > maxURL {
			return "", refusal("a URL of 1 to 1024 octets is needed")
		}
		if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return "", refusal("the URL has characters that no URL has")
		}
		return text, nil
	case redirectIPv4, redirectIPv6, redirectIPv4IPv6:
		a, err := netip.ParseAddr(text)
		if err != nil {
			return "", refusal("the address cannot be read")
		}
		if a.Is6() {
			return "http://[" + a.String() + "]/", nil
		}
		return "http://" + a.String() + "/", nil
	case redirectSIP:
		return "", refusal("SIP URIs are not supported")
	}
	return "", refusal("this address type is not supported")
}
