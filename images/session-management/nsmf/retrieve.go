package nsmf

import (
	"encoding/json"
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

func (r *Retrieved) fields(f *sbi.Fields) {
	sbi.Required(f, "ueEpsPdnConnection", &r.EPSConnection)
	sbi.Member(f, "smContext", &r.Context)
}

// ReadRetrieved reads the content of the answer.
func ReadRetrieved(m sbi.Message) (*Retrieved, error) {
	var r Retrieved
	return &r, readAnswer(m, r.fields)
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
	var out Retrieve
	f := sbi.Reading(content, sbi.Message{})
	if out.fields(f); f.Err() != nil {
		return nil, f.Err()
	}
	return &out, nil
}

// Write is what an AMF sends.
func (r *Retrieve) Write() (json.RawMessage, []sbi.Part, error) {
	f := sbi.Writing()
	r.fields(f)
	return f.Written()
}

func (r *Retrieve) fields(f *sbi.Fields) {
	serving := network{plmn: r.ServingNetwork}
	sbi.Member(f, "smContextType", &r.Kind)
	sbi.Member(f, "servingNetwork", &serving)
	sbi.Member(f, "notToTransferEbiList", &r.NotToTransfer)
	r.ServingNetwork = serving.plmn
}
