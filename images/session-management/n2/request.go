package n2

import "github.com/free5gc/ngap/ngapType"

// request is the ASN.1 of both transfers that are containers of IEs, Setup Request and Modify Request: no IE has two
// meanings. ngapType knows neither Security Indication in the one nor the downlink's data rate in either. The codec goes
// by the names and the order of the fields.
type request struct {
	ProtocolIEs struct {
		List []requestIE `aper:"sizeLB:0,sizeUB:65535"`
	}
}

type requestIE struct {
	Id          ngapType.ProtocolIEID
	Criticality ngapType.Criticality
	Value       requestValue `aper:"openType,referenceFieldName:Id"`
}

type requestValue struct {
	Present          int
	AMBR             *ngapType.PDUSessionAggregateMaximumBitRate `aper:"valueExt,referenceFieldValue:130"`
	Uplink           *ngapType.UPTransportLayerInformation       `aper:"referenceFieldValue:139,valueLB:0,valueUB:1"`
	UplinkModify     *ngapType.ULNGUUPTNLModifyList              `aper:"referenceFieldValue:140"`
	AdditionalUplink *ngapType.UPTransportLayerInformationList   `aper:"referenceFieldValue:126"`
	NoForwarding     *ngapType.DataForwardingNotPossible         `aper:"referenceFieldValue:127"`
	SessionType      *ngapType.PDUSessionType                    `aper:"referenceFieldValue:134"`
	Security         *securityIndication                         `aper:"valueExt,referenceFieldValue:138"`
	NetworkInstance  *ngapType.NetworkInstance                   `aper:"referenceFieldValue:129"`
	FlowsToSetUp     *ngapType.QosFlowSetupRequestList           `aper:"referenceFieldValue:136"`
	FlowsToModify    *ngapType.QosFlowAddOrModifyRequestList     `aper:"referenceFieldValue:135"`
	FlowsToRelease   *ngapType.QosFlowListWithCause              `aper:"referenceFieldValue:137"`
}

// Positions of the fields.
const (
	presentAMBR = 1 + iota
	presentUplink
	presentUplinkModify
	presentAdditionalUplink
	presentNoForwarding
	presentSessionType
	presentSecurity
	presentNetworkInstance
	presentFlowsToSetUp
	presentFlowsToModify
	presentFlowsToRelease
)

// add appends an IE that is rejected by who does not know it.
func (r *request) add(id int64, v requestValue) *requestIE {
	ie := requestIE{Value: v}
	ie.Id.Value, ie.Criticality.Value = id, ngapType.CriticalityPresentReject
	r.ProtocolIEs.List = append(r.ProtocolIEs.List, ie)
	return &r.ProtocolIEs.List[len(r.ProtocolIEs.List)-1]
}
