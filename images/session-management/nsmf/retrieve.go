package nsmf

import (
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Retrieve is SmContextRetrieveData (TS 29.502 6.1.6.2.27).
type Retrieve struct {
	// Kind is EPS_PDN_CONNECTION, SM_CONTEXT or AF_COORDINATION_INFO; "" means the first.
	Kind           string
	ServingNetwork ts29571.PLMN
	// NotToTransfer are EPS bearer identities that the target does not want.
	NotToTransfer []int
}

// Retrieved is the answer to a Retrieve (SmContextRetrievedData, TS 29.502 6.1.6.2.28; SmContext, 6.1.6.2.39).
type Retrieved struct {
	// EPSConnection is the UE EPS PDN connection, "" where there is none: the session cannot move to EPS.
	EPSConnection string
	// Context is what Kind SM_CONTEXT asks for, nil for the others.
	Context *Context
}

// Context is a PDU session as another SMF is told of it.
type Context struct {
	SessionID uint8           `json:"pduSessionId"`
	DNN       string          `json:"dnn"`
	SNSSAI    ts29571.SNSSAI  `json:"sNssai"`
	Type      string          `json:"pduSessionType"` // IPV4, IPV6, IPV4V6
	GPSI      string          `json:"gpsi,omitempty"`
	PCFID     string          `json:"pcfId,omitempty"`
	AMBR      ts29571.AMBR    `json:"sessionAmbr"`
	Flows     []RetrievedFlow `json:"qosFlowsList"`
	IPv4      string          `json:"ueIpv4Address,omitempty"`
	IPv6      string          `json:"ueIpv6Prefix,omitempty"`
	AlwaysOn  bool            `json:"alwaysOnGranted,omitempty"`
}

// RetrievedFlow is QosFlowSetupItem (TS 29.502 6.1.6.2.21) as far as another SMF needs it.
type RetrievedFlow struct {
	QFI uint8 `json:"qfi"`
	// Rules are the UE's QoS rules of the flow as in NAS, in base64.
	Rules   []byte            `json:"qosRules"`
	Profile *RetrievedProfile `json:"qosFlowProfile,omitempty"`
}

// RetrievedProfile is QosFlowProfile (TS 29.502 6.1.6.2.23).
type RetrievedProfile struct {
	FiveQI uint8        `json:"5qi"`
	ARP    *ts29571.ARP `json:"arp,omitempty"`
}

type retrievedData struct {
	EPSConnection string   `json:"ueEpsPdnConnection"`
	Context       *Context `json:"smContext,omitempty"`
}

// readRetrieve reads the content, which may be absent.
func readRetrieve(req *http.Request) (*Retrieve, error) {
	if req.ContentLength == 0 {
		return &Retrieve{}, nil
	}
	content, err := sbi.ReadContent(req)
	if err != nil {
		return nil, err
	}
	r := &reader{content: content}
	var out Retrieve
	var serving network
	optional(r, "smContextType", &out.Kind)
	optional(r, "servingNetwork", &serving)
	optional(r, "notToTransferEbiList", &out.NotToTransfer)
	out.ServingNetwork = serving.plmn
	if r.err != nil {
		return nil, r.err
	}
	return &out, nil
}
