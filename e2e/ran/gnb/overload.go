package gnb

import (
	"errors"

	"core5g.dev/core5g/e2e/ran/n2"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// ErrOverload is the answer to a UE that is to come later, because the AMF has too much to do: an RRC Reject.
var ErrOverload = errors.New("the gNB refuses the connection: the AMF has asked it to, for it has too much to do")

// overload is what an AMF has asked for (TS 38.413 8.7.7). Of the connections that it names a share is refused, evenly: of three in four each fourth gets through.
type overload struct {
	action    aper.Enumerated
	reduction uint // percent; 0: nothing is refused
	owed      uint // what is owed of the next refusal, in percent
}

// overloadStart: what the AMF names is refused, all of it where it names no share.
func (g *GNB) overloadStart(m *ngapType.OverloadStart) {
	o := overload{action: ngapType.OverloadActionPresentRejectRrcCrSignalling, reduction: 100}
	l := m.ProtocolIEs.List
	if r := n2.Find[ngapType.OverloadResponse](l); r != nil && r.OverloadAction != nil {
		o.action = r.OverloadAction.Value
	}
	if r := n2.Find[ngapType.TrafficLoadReductionIndication](l); r != nil {
		o.reduction = uint(r.Value)
	}
	g.overloadIs(o)
}

func (g *GNB) overloadIs(o overload) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.overload = o
	g.status.Overload = int(o.reduction)
}

// refuses says whether a connection for that cause is one of the share.
func (o *overload) refuses(cause uint8) bool {
	if o.reduction == 0 || !o.names(cause) {
		return false
	}
	if o.owed += o.reduction; o.owed < 100 {
		return false
	}
	o.owed -= 100
	return true
}

// names: TS 38.413 9.3.1.105. Emergencies, high priority and who was paged are let in whatever is asked.
func (o *overload) names(cause uint8) bool {
	switch aper.Enumerated(cause) {
	case CauseMOData:
		return true
	case CauseMOSignalling:
		return o.action != ngapType.OverloadActionPresentRejectNonEmergencyMoDt
	}
	return false
}
