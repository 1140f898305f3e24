package gnb

// What the gNB begins by itself about a session's resources: PDU Session Resource Notify (TS 38.413 8.2.4) and Modify
// Indication (8.2.5).

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
)

// Errors of what the gNB begins.
var (
	ErrNoResource = errors.New("the gNB holds no resources of this session")
	ErrNoFlow     = errors.New("the gNB holds no such QoS flow")
)

// Notification is what Notify tells of a session.
type Notification struct {
	// Fulfilled and NotFulfilled are flows whose guaranteed bit rate is kept again, or not any more.
	Fulfilled    Identities `json:"fulfilled,omitempty"`
	NotFulfilled Identities `json:"not_fulfilled,omitempty"`
	// Released are flows that the gNB gives up; Session gives up the whole session's resources.
	Released Identities `json:"released,omitempty"`
	Session  bool       `json:"session,omitempty"`
}

// Notify tells the core what has become of a session's flows. The core does not answer.
func (c *Connection) Notify(psi uint8, n Notification) error {
	r := c.resource(psi)
	if r == nil {
		return ErrNoResource
	}
	for _, qfi := range slices.Concat(n.Fulfilled, n.NotFulfilled, n.Released) {
		if _, there := r.flows[qfi]; !there {
			return fmt.Errorf("%w: %d", ErrNoFlow, qfi)
		}
	}
	m := &ngapType.PDUSessionResourceNotify{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	id := ngapType.PDUSessionID{Value: int64(psi)}
	if n.Session {
		x, err := n2.Marshal(ngapType.PDUSessionResourceNotifyReleasedTransfer{Cause: *n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable)})
		if err != nil {
			return err
		}
		n2.Add(ies, n2.Ignore, &ngapType.PDUSessionResourceReleasedListNot{List: []ngapType.PDUSessionResourceReleasedItemNot{{PDUSessionID: id, PDUSessionResourceNotifyReleasedTransfer: x}}})
	} else {
		x, err := n2.Marshal(n.transfer())
		if err != nil {
			return err
		}
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceNotifyList{List: []ngapType.PDUSessionResourceNotifyItem{{PDUSessionID: id, PDUSessionResourceNotifyTransfer: x}}})
	}
	n2.Add(ies, n2.Ignore, c.gnb.location())
	b, err := n2.Initiating(n2.Ignore, m)
	if err := c.say(b, err); err != nil {
		return err
	}
	if n.Session {
		c.closeSession(psi)
		return nil
	}
	c.change(psi, func(r *resource, t *gtpu.Tunnel) {
		for _, qfi := range n.Released {
			delete(r.flows, qfi)
		}
		if _, there := r.flows[t.QFI]; !there {
			t.QFI = r.first()
		}
	})
	return nil
}

func (n Notification) transfer() ngapType.PDUSessionResourceNotifyTransfer {
	t := ngapType.PDUSessionResourceNotifyTransfer{
		QosFlowReleasedList: refusedFlows(n.Released, ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable),
	}
	list := &ngapType.QosFlowNotifyList{}
	add := func(qfis Identities, cause aper.Enumerated) {
		for _, q := range qfis {
			list.List = append(list.List, ngapType.QosFlowNotifyItem{QosFlowIdentifier: qosFlowID(q), NotificationCause: ngapType.NotificationCause{Value: cause}})
		}
	}
	add(n.Fulfilled, ngapType.NotificationCausePresentFulfilled)
	add(n.NotFulfilled, ngapType.NotificationCausePresentNotFulfilled)
	if len(list.List) > 0 {
		t.QosFlowNotifyList = list
	}
	return t
}

const modifyIndication = "PDU session resource modify indication"

// MoveTunnel gives a session's downlink another TEID, tells the core by a Modify Indication, and waits for the confirm.
// The old TEID goes on being served until then.
func (c *Connection) MoveTunnel(ctx context.Context, psi uint8) error {
	r := c.resource(psi)
	if r == nil {
		return ErrNoResource
	}
	answer, err := c.await(modifyIndication)
	if err != nil {
		return err
	}
	defer c.forgo(modifyIndication)
	old := r.tunnel
	t := old.Successor()
	c.gnb.n3.Open(t)
	transfer := ngapType.PDUSessionResourceModifyIndicationTransfer{DLQosFlowPerTNLInformation: ngapType.QosFlowPerTNLInformation{
		UPTransportLayerInformation: c.gnb.tunnelInformation(t.LocalTEID), AssociatedQosFlowList: associatedFlows(r.qfis()),
	}}
	confirm, err := c.indicate(ctx, psi, transfer, answer)
	if err == nil {
		err = c.moved(psi, t, confirm)
	}
	if err != nil {
		c.gnb.n3.Remove(t)
		return err
	}
	c.gnb.n3.Remove(old)
	return nil
}

func (c *Connection) indicate(ctx context.Context, psi uint8, transfer ngapType.PDUSessionResourceModifyIndicationTransfer, answer <-chan any) (*ngapType.PDUSessionResourceModifyConfirm, error) {
	x, err := n2.Marshal(transfer)
	if err != nil {
		return nil, err
	}
	m := &ngapType.PDUSessionResourceModifyIndication{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceModifyListModInd{List: []ngapType.PDUSessionResourceModifyItemModInd{{
		PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionResourceModifyIndicationTransfer: x,
	}}})
	b, err := n2.Initiating(n2.Reject, m)
	if err := c.say(b, err); err != nil {
		return nil, err
	}
	got, err := receive(ctx, answer)
	if err != nil {
		return nil, err
	}
	confirm, ok := got.(*ngapType.PDUSessionResourceModifyConfirm)
	if !ok {
		return nil, fmt.Errorf("answered by a %T", got)
	}
	return confirm, nil
}

// moved puts the new tunnel in place as the confirm says (9.3.4.6).
func (c *Connection) moved(psi uint8, t *gtpu.Tunnel, confirm *ngapType.PDUSessionResourceModifyConfirm) error {
	l := n2.Find[ngapType.PDUSessionResourceModifyListModCfm](confirm.ProtocolIEs.List)
	if l == nil || len(l.List) == 0 {
		return errors.New("the core did not confirm the session's new tunnel")
	}
	var x ngapType.PDUSessionResourceModifyConfirmTransfer
	if err := n2.Unmarshal(l.List[0].PDUSessionResourceModifyConfirmTransfer, &x); err != nil {
		return err
	}
	if teid, peer, ok := readTunnel(&x.ULNGUUPTNLInformation); ok {
		t.PeerTEID, t.Peer = teid, peer
	}
	c.mu.Lock()
	r := c.resources[psi]
	if r == nil {
		c.mu.Unlock()
		return ErrNoResource
	}
	next := *r
	next.tunnel = t
	c.resources[psi] = &next
	c.mu.Unlock()
	c.ue.SessionUp(c, psi, t)
	return nil
}
