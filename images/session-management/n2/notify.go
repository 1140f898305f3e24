package n2

import (
	"github.com/free5gc/ngap/ngapType"
)

// Notify is the PDU Session Resource Notify Transfer of TS 38.413 9.3.4.5, gNB to SMF: what became of QoS flows.
type Notify struct {
	// Flows whose guaranteed bit rates are not kept, or are again (QoS Flow Notify List).
	Flows []FlowNotice
	// Released are the flows that the gNB has released.
	Released []FlowCause
	Usage    *SecondaryRATUsage
}

// FlowNotice says whether the guaranteed bit rates of a flow are kept (notification control, TS 23.501 5.7.2.4).
type FlowNotice struct {
	QFI       uint8
	Fulfilled bool
}

// ngapType has the extension without its number.
type notify struct {
	Flows        *ngapType.QosFlowNotifyList    `aper:"optional"`
	Released     *ngapType.QosFlowListWithCause `aper:"optional"`
	IEExtensions *extensions                    `aper:"optional"`
}

const (
	flowsNotified = "QoS Flow Notify List"
	flowsReleased = "QoS Flow Released List"
)

// InfoType is PDU_RES_NTY.
func (*Notify) InfoType() InfoType { return InfoNotify }

// Encode writes the transfer.
func (t *Notify) Encode() ([]byte, error) {
	var c check
	out := notify{
		Released:     c.putFlowCauses(flowsReleased, t.Released),
		IEExtensions: c.putExtensions(extended{usage: t.Usage}),
	}
	if len(t.Flows) > 0 {
		c.count(flowsNotified, len(t.Flows), maxFlows)
		out.Flows = &ngapType.QosFlowNotifyList{}
		for _, f := range t.Flows {
			item := ngapType.QosFlowNotifyItem{QosFlowIdentifier: c.putQFI(flowsNotified, f.QFI)}
			item.NotificationCause.Value = either(f.Fulfilled,
				ngapType.NotificationCausePresentFulfilled, ngapType.NotificationCausePresentNotFulfilled)
			out.Flows.List = append(out.Flows.List, item)
		}
	}
	return c.encode(t, &out)
}

func (t *Notify) read(c *check, b []byte) {
	var in notify
	if !c.decode(b, &in) {
		return
	}
	if in.Flows != nil {
		c.count(flowsNotified, len(in.Flows.List), maxFlows)
		for n := range in.Flows.List {
			f := &in.Flows.List[n]
			cause := c.enumerated(flowsNotified, f.NotificationCause.Value, 1)
			t.Flows = append(t.Flows, FlowNotice{
				QFI: c.qfi(flowsNotified, f.QosFlowIdentifier), Fulfilled: cause == ngapType.NotificationCausePresentFulfilled,
			})
		}
	}
	t.Released = c.flowCauses(flowsReleased, in.Released)
	t.Usage = c.extensions(in.IEExtensions).usage
}
