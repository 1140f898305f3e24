package gnb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
)

// ErrEnded is the answer of a procedure whose connection has ended meanwhile.
var ErrEnded = errors.New("the UE's connection has ended")

// Connection is one UE-associated logical NG connection with its tunnels.
type Connection struct {
	gnb   *GNB
	ue    UE
	ranID int64

	mu        sync.Mutex
	way       n2.Conn // the association by which the UE is spoken of
	amfID     int64   // -1 until the AMF has answered
	resources map[uint8]*resource
	ended     bool
	deserted  atomic.Bool         // the UE has left without a word
	waiting   map[string]chan any // who waits for the AMF's answer, by the procedure's name
	done      chan struct{}       // closed when the connection has ended

	// Of a UE that came by handover.
	prepared        []prepared
	statusTransfers atomic.Uint64 // Downlink RAN Status Transfers
	forwards        []*gtpu.Tunnel
}

// ConnectionStatus is what the gNB knows of a UE.
type ConnectionStatus struct {
	GNB      string           `json:"gnb"`
	RANID    int64            `json:"ran_ue_ngap_id"`
	AMFID    int64            `json:"amf_ue_ngap_id"` // -1: the AMF has not answered
	Sessions []ResourceStatus `json:"sessions"`
	// StatusTransfers are Downlink RAN Status Transfers of the handover by which the UE came.
	StatusTransfers uint64 `json:"ran_status_transfers,omitempty"`
}

// Status returns a copy of the state.
func (c *Connection) Status() ConnectionStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := ConnectionStatus{GNB: c.gnb.cfg.Name, RANID: c.ranID, AMFID: c.amfID, Sessions: []ResourceStatus{}, StatusTransfers: c.statusTransfers.Load()}
	for _, psi := range slices.Sorted(maps.Keys(c.resources)) {
		s.Sessions = append(s.Sessions, c.resources[psi].status(psi))
	}
	return s
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

// follow the AMF: what the UE says goes by the association by which it was spoken of last (TS 23.501 5.21.1.3).
func (c *Connection) follow(conn n2.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.way = conn
}

// say a message of the UE's connection.
func (c *Connection) say(b []byte, err error) error {
	c.mu.Lock()
	way := c.way
	c.mu.Unlock()
	return c.gnb.send(way, streamUE, b, err)
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
	return c.say(b, err)
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
	return c.say(b, err)
}

func (c *Connection) sessions() []uint8 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.resources))
}

// open takes a session's resource with its tunnel, in place of an earlier one.
func (c *Connection) open(psi uint8, r *resource) {
	c.gnb.n3.Open(r.tunnel) // first: its TEID is written there
	c.mu.Lock()
	old := c.resources[psi]
	c.resources[psi] = r
	c.mu.Unlock()
	if old != nil {
		c.gnb.n3.Remove(old.tunnel)
	}
	c.ue.SessionUp(c, psi, r.tunnel)
}

// change edits a session's resource and puts a new tunnel in the place of the old one, under the same local TEID.
// change gets copies; false: there is no such session.
func (c *Connection) change(psi uint8, change func(r *resource, t *gtpu.Tunnel)) bool {
	c.mu.Lock()
	r := c.resources[psi]
	if r == nil {
		c.mu.Unlock()
		return false
	}
	old := r.tunnel
	t := old.Successor()
	next := *r
	next.flows = maps.Clone(r.flows)
	change(&next, t)
	next.tunnel = t
	c.resources[psi] = &next
	c.mu.Unlock()
	c.gnb.n3.Replace(old, t)
	c.ue.SessionUp(c, psi, t)
	return true
}

func (c *Connection) resource(psi uint8) *resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources[psi]
}

// Holds says whether the gNB has resources of a session.
func (c *Connection) Holds(psi uint8) bool { return c.resource(psi) != nil }

func (c *Connection) closeSession(psi uint8) bool {
	c.mu.Lock()
	r := c.resources[psi]
	delete(c.resources, psi)
	c.mu.Unlock()
	if r == nil {
		return false
	}
	if r.way == nil {
		c.gnb.n3.Remove(r.tunnel)
	} else {
		// TS 38.300 9.2.3.2: what is being forwarded goes on without the UE's context.
		go func() {
			timer := time.NewTimer(c.gnb.cfg.ReleaseAfter)
			defer timer.Stop()
			select {
			case <-r.way.ended:
			case <-timer.C:
			}
			c.gnb.n3.Remove(r.tunnel)
		}()
	}
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
	for _, w := range c.waiting {
		close(w)
	}
	clear(c.waiting)
	forwards := c.forwards
	c.mu.Unlock()
	for _, psi := range c.sessions() {
		c.closeSession(psi)
	}
	for _, t := range forwards {
		c.gnb.n3.Remove(t)
	}
	c.ue.Released(c, cause)
	close(c.done)
}

// await names an answer that somebody waits for. The channel is closed when the connection ends first.
func (c *Connection) await(name string) (answer <-chan any, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, ErrEnded
	}
	if c.waiting[name] != nil {
		return nil, fmt.Errorf("another %s is under way", name)
	}
	w := make(chan any, 1)
	c.waiting[name] = w
	return w, nil
}

// forgo ends the wait of await.
func (c *Connection) forgo(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, name)
}

// answered hands a message to who waits for it; false: nobody does.
func (c *Connection) answered(name string, m any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[name]
	if w == nil {
		return false
	}
	delete(c.waiting, name)
	w <- m
	return true
}

// receive waits for an answer.
func receive(ctx context.Context, answer <-chan any) (any, error) {
	select {
	case m, ok := <-answer:
		if !ok {
			return nil, ErrEnded
		}
		return m, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer from the AMF: %w", ctx.Err())
	}
}
