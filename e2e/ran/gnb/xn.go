package gnb

// Xn handover (TS 23.502 4.9.1.2, TS 38.413 8.4.4): the gNBs agree between themselves, the UE moves, and the target asks
// the core to switch the downlink. Xn itself is a function call here.

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
)

const pathSwitch = "path switch"

// HandOverXn moves a connected UE to target. It returns when the core has switched the path and the source has nothing
// left to forward.
func (c *Connection) HandOverXn(ctx context.Context, target *GNB, o HandoverOptions) (HandoverResult, error) {
	began := time.Now()
	res := HandoverResult{Kind: "xn", From: c.gnb.cfg.Name, To: target.cfg.Name, Sessions: Identities{}, Forwarding: "direct"}
	switch {
	case target == c.gnb:
		return res, errSameGNB
	case target.Behaviour().RefuseHandover:
		return res, fmt.Errorf("%s refuses handovers", target.cfg.Name)
	case c.amf() < 0:
		return res, fmt.Errorf("the AMF has not answered the UE yet")
	}
	n, err := target.newConnection(c.ue, c.amf())
	if err != nil {
		return res, fmt.Errorf("%s: %w", target.cfg.Name, err)
	}
	ways, err := c.moveTo(n, o, &res)
	if err != nil {
		n.leave()
		return res, err
	}
	if err := n.switchPath(ctx, res.Left); err != nil {
		c.leave()
		n.gnb.forget(n)
		n.end("path switch failed")
		return res, err
	}
	res.Completed = milliseconds(began)
	res.settle(ctx, ways, n, c.gnb.cfg.ReleaseAfter)
	c.leave()
	return res, nil
}

// moveTo opens the sessions at the target, turns the source's downlink there, and moves the UE.
func (c *Connection) moveTo(n *Connection, o HandoverOptions, res *HandoverResult) ([]*forwarding, error) {
	if o.NoForwarding {
		res.Forwarding = "none"
	} else if _, able := c.gnb.n3.(Forwarder); !able {
		return nil, ErrNoForwarding
	}
	behaviour := n.gnb.Behaviour()
	var ways []*forwarding
	for _, psi := range c.sessions() {
		r := c.resource(psi)
		if r == nil {
			continue
		}
		if slices.Contains(o.Leave, psi) || behaviour.refusesSession(psi) || !slices.Contains(n.gnb.cfg.Slices, r.slice) {
			res.Left = append(res.Left, psi)
			continue
		}
		p, ok := n.prepare(psi, r.template(), !o.NoForwarding)
		if !ok {
			res.Left = append(res.Left, psi)
			continue
		}
		res.Sessions = append(res.Sessions, psi)
		peer, teid := netip.AddrPort{}, uint32(0)
		if p.way != nil {
			peer, teid = n.gnb.n3Address(), p.way.LocalTEID
		}
		f, err := c.forward(psi, peer, teid)
		if err != nil {
			return nil, err
		}
		ways = append(ways, f)
	}
	if len(res.Sessions) == 0 {
		// TS 38.413 8.4.4: a request names at least one session to be switched.
		return nil, fmt.Errorf("%s takes none of the UE's sessions", n.gnb.cfg.Name)
	}
	n.arrive(c)
	return ways, nil
}

// switchPath asks the core to send downlink packets to this gNB (8.4.4).
func (c *Connection) switchPath(ctx context.Context, left []uint8) error {
	answer, err := c.await(pathSwitch)
	if err != nil {
		return err
	}
	defer c.forgo(pathSwitch)
	b, err := c.pathSwitchRequest(left)
	if err := c.say(b, err); err != nil {
		return err
	}
	got, err := receive(ctx, answer)
	if err != nil {
		return fmt.Errorf("path switch: %w", err)
	}
	m, ok := got.(*ngapType.PathSwitchRequestAcknowledge)
	if !ok {
		return fmt.Errorf("path switch refused by a %T", got)
	}
	return c.switched(m)
}

func (c *Connection) pathSwitchRequest(left []uint8) ([]byte, error) {
	m := &ngapType.PathSwitchRequest{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()}) // the Source AMF UE NGAP ID
	n2.Add(ies, n2.Ignore, c.gnb.location())
	n2.Add(ies, n2.Ignore, securityCapabilities())
	list := &ngapType.PDUSessionResourceToBeSwitchedDLList{}
	for _, psi := range c.sessions() {
		r := c.resource(psi)
		t := ngapType.PathSwitchRequestTransfer{DLNGUUPTNLInformation: c.gnb.tunnelInformation(r.tunnel.LocalTEID)}
		for _, q := range r.qfis() {
			t.QosFlowAcceptedList.List = append(t.QosFlowAcceptedList.List, ngapType.QosFlowAcceptedItem{QosFlowIdentifier: qosFlowID(q)})
		}
		x, err := n2.Marshal(t)
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, ngapType.PDUSessionResourceToBeSwitchedDLItem{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PathSwitchRequestTransfer: x})
	}
	n2.Add(ies, n2.Reject, list)
	if len(left) > 0 {
		failed := &ngapType.PDUSessionResourceFailedToSetupListPSReq{}
		for _, psi := range left {
			x, err := n2.Marshal(ngapType.PathSwitchRequestSetupFailedTransfer{Cause: *n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable)})
			if err != nil {
				return nil, err
			}
			failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToSetupItemPSReq{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PathSwitchRequestSetupFailedTransfer: x})
		}
		n2.Add(ies, n2.Ignore, failed)
	}
	return n2.Initiating(n2.Reject, m)
}

// securityCapabilities are those of uenas.SecurityCapability, in NGAP's form: without the null algorithms.
func securityCapabilities() *ngapType.UESecurityCapabilities {
	bits := func(b byte) aper.BitString { return aper.BitString{Bytes: []byte{b, 0}, BitLength: 16} }
	return &ngapType.UESecurityCapabilities{
		NRencryptionAlgorithms:             ngapType.NRencryptionAlgorithms{Value: bits(0xE0)},
		NRintegrityProtectionAlgorithms:    ngapType.NRintegrityProtectionAlgorithms{Value: bits(0xE0)},
		EUTRAencryptionAlgorithms:          ngapType.EUTRAencryptionAlgorithms{Value: bits(0)},
		EUTRAintegrityProtectionAlgorithms: ngapType.EUTRAintegrityProtectionAlgorithms{Value: bits(0)},
	}
}

// switched takes PATH SWITCH REQUEST ACKNOWLEDGE: new uplink tunnels, and sessions that the core releases.
func (c *Connection) switched(m *ngapType.PathSwitchRequestAcknowledge) error {
	l := m.ProtocolIEs.List
	if id := n2.Find[ngapType.AMFUENGAPID](l); id != nil {
		c.setAMF(id.Value)
	}
	if list := n2.Find[ngapType.PDUSessionResourceSwitchedList](l); list != nil {
		for _, s := range list.List {
			var t ngapType.PathSwitchRequestAcknowledgeTransfer
			if err := n2.Unmarshal(s.PathSwitchRequestAcknowledgeTransfer, &t); err != nil {
				return fmt.Errorf("path switch: session %d: %w", s.PDUSessionID.Value, err)
			}
			if teid, peer, ok := readTunnel(t.ULNGUUPTNLInformation); ok {
				c.change(uint8(s.PDUSessionID.Value), func(_ *resource, t *gtpu.Tunnel) { t.PeerTEID, t.Peer = teid, peer })
			}
		}
	}
	if list := n2.Find[ngapType.PDUSessionResourceReleasedListPSAck](l); list != nil {
		for _, s := range list.List {
			c.closeSession(uint8(s.PDUSessionID.Value))
		}
	}
	return nil
}
