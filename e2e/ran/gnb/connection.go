package gnb

import (
	"sync"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
)

// Connection is one UE-associated logical NG connection with its tunnels.
type Connection struct {
	gnb   *GNB
	ue    UE
	ranID int64

	mu      sync.Mutex
	amfID   int64 // -1 until the AMF has answered
	tunnels map[uint8]*gtpu.Tunnel
	ended   bool
}

func (c *Connection) amf() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.amfID
}

func (c *Connection) setAMF(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.amfID = id
}

// Send carries an uplink NAS PDU.
func (c *Connection) Send(nas []byte) error {
	m := &ngapType.UplinkNASTransport{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Reject, &ngapType.NASPDU{Value: nas})
	n2.Add(ies, n2.Ignore, c.gnb.location())
	b, err := n2.Initiating(n2.Ignore, m)
	return c.gnb.send(streamUE, b, err)
}

// RequestRelease asks the AMF to release the connection for user inactivity (TS 38.413 8.3.2): the
// AN release of TS 23.502 4.2.6.
func (c *Connection) RequestRelease() error {
	return c.requestRelease(ngapType.CauseRadioNetworkPresentUserInactivity)
}

// LoseRadio asks for the release because the UE is out of reach.
func (c *Connection) LoseRadio() error {
	return c.requestRelease(ngapType.CauseRadioNetworkPresentRadioConnectionWithUeLost)
}

func (c *Connection) requestRelease(cause aper.Enumerated) error {
	m := &ngapType.UEContextReleaseRequest{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	if psis := c.sessions(); len(psis) > 0 {
		list := &ngapType.PDUSessionResourceListCxtRelReq{}
		for _, psi := range psis {
			list.List = append(list.List, ngapType.PDUSessionResourceItemCxtRelReq{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}})
		}
		n2.Add(ies, n2.Reject, list)
	}
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(cause))
	b, err := n2.Initiating(n2.Ignore, m)
	return c.gnb.send(streamUE, b, err)
}

func (c *Connection) sessions() []uint8 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []uint8
	for psi := range c.tunnels {
		out = append(out, psi)
	}
	return out
}

// open makes the session's tunnel, in place of an earlier one.
func (c *Connection) open(psi uint8, t *gtpu.Tunnel) {
	c.mu.Lock()
	old := c.tunnels[psi]
	c.tunnels[psi] = t
	c.mu.Unlock()
	if old != nil {
		c.gnb.n3.Remove(old)
	}
	c.gnb.n3.Open(t)
	c.ue.SessionUp(c, psi, t)
}

// replace changes the far end of a session's tunnel.
func (c *Connection) replace(psi uint8, change func(t *gtpu.Tunnel)) bool {
	c.mu.Lock()
	old := c.tunnels[psi]
	if old == nil {
		c.mu.Unlock()
		return false
	}
	t := &gtpu.Tunnel{LocalTEID: old.LocalTEID, PeerTEID: old.PeerTEID, Peer: old.Peer, QFI: old.QFI, Deliver: old.Deliver, Lost: old.Lost}
	change(t)
	c.tunnels[psi] = t
	c.mu.Unlock()
	c.gnb.n3.Replace(old, t)
	c.ue.SessionUp(c, psi, t)
	return true
}

func (c *Connection) closeSession(psi uint8) bool {
	c.mu.Lock()
	t := c.tunnels[psi]
	delete(c.tunnels, psi)
	c.mu.Unlock()
	if t == nil {
		return false
	}
	c.gnb.n3.Remove(t)
	c.ue.SessionDown(c, psi)
	return true
}

// end closes every tunnel and tells the UE, once.
func (c *Connection) end(cause string) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	c.mu.Unlock()
	for _, psi := range c.sessions() {
		c.closeSession(psi)
	}
	c.ue.Released(c, cause)
}
