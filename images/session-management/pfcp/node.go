package pfcp

import (
	"encoding/binary"
	"net/netip"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// Bits of the Node Report Type (TS 29.244 8.2.69).
const (
	nodeUPFR, nodeUPRR = 0x01, 0x02
)

// Peer is a Remote GTP-U Peer (TS 29.244 8.2.70): a gNB, or another UPF.
type Peer struct {
	IPv4, IPv6 netip.Addr
	// Interface is the Destination Interface towards it, with HasInterface, and Instance its network instance, "" for none.
	HasInterface bool
	Interface    uint8
	Instance     string
}

// nodeReport reads a Node Report Request and hands it on.
func (e *Endpoint) nodeReport(m *wire.Message, r *received) error {
	u, err := e.sender(m)
	if err != nil {
		return err
	}
	report, err := readNodeReport(m)
	if err != nil {
		return err
	}
	if err := e.handOn(m, r); err != nil {
		return err
	}
	report.Token, report.Unit = r.token, u.NodeID
	e.tell(report)
	return nil
}

func readNodeReport(m *wire.Message) (NodeReport, error) {
	var out NodeReport
	kind := m.Elements.First(ie.NodeReportType)
	if kind == nil {
		return out, wire.Missing(ie.NodeReportType, wire.TypeName(m.Type))
	}
	bits, err := kind.Uint8()
	if err != nil {
		return out, err
	}
	for _, part := range []struct {
		bit   uint8
		group uint16
		to    *[]Peer
	}{{nodeUPFR, ie.UserPlanePathFailureReport, &out.Failed}, {nodeUPRR, ie.UserPlanePathRecoveryReport, &out.Recovered}} {
		if bits&part.bit == 0 {
			continue
		}
		groups := m.Elements.All(part.group)
		if len(groups) == 0 {
			return out, &wire.Reject{Cause: ie.CauseConditionalIEMissing, Offending: part.group, Detail: "a Node Report lacks what its type announces"}
		}
		for _, g := range groups {
			peers, err := peersIn(&g)
			if err != nil {
				return out, err
			}
			*part.to = append(*part.to, peers...)
		}
	}
	return out, nil
}

func peersIn(g *wire.Element) ([]Peer, error) {
	list, err := g.Group()
	if err != nil {
		return nil, err
	}
	var out []Peer
	for _, p := range list.All(ie.RemoteGTPUPeer) {
		peer, err := peerOf(&p)
		if err != nil {
			return nil, err
		}
		out = append(out, peer)
	}
	if len(out) == 0 {
		return nil, wire.Missing(ie.RemoteGTPUPeer, "a User Plane Path Report")
	}
	return out, nil
}

func peerOf(p *wire.Element) (Peer, error) {
	var out Peer
	short := &wire.Reject{Cause: ie.CauseInvalidLength, Offending: p.Type, Detail: "Remote GTP-U Peer is cut short"}
	if len(p.Value) < 1 {
		return out, short
	}
	flags := p.Value[0] // V6, V4, DI, NI from bit 1
	if flags&0x03 == 0 {
		return out, wire.Incorrect(p.Type, "a Remote GTP-U Peer without an address")
	}
	var b []byte
	var err error
	out.IPv4, out.IPv6, b, err = addresses(p.Value[1:], flags&0x02 != 0, flags&0x01 != 0, short)
	if err != nil {
		return out, err
	}
	part := func() ([]byte, error) { // a length, and so many octets
		if len(b) < 2 {
			return nil, short
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b)-2 < n {
			return nil, short
		}
		v := b[2 : 2+n]
		b = b[2+n:]
		return v, nil
	}
	if flags&0x04 != 0 {
		v, err := part()
		if err != nil || len(v) < 1 {
			return out, short
		}
		out.HasInterface, out.Interface = true, v[0]&0x0f
	}
	if flags&0x08 != 0 {
		v, err := part()
		if err != nil {
			return out, err
		}
		out.Instance = wire.Name(v)
	}
	return out, nil
}
