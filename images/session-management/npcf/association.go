package npcf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const serviceName = "npcf-smpolicycontrol"

// Client calls PCFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

// PCF says which one: all zero means any.
type PCF struct {
	InstanceID, Set string
}

func (p PCF) service() sbi.Service {
	return sbi.Service{Type: "PCF", Name: serviceName, Instance: p.InstanceID, Set: p.Set}
}

// DefaultQoS is that of the default QoS flow (SubscribedDefaultQos, TS 29.571 5.5.4.2). Priority 0: that of the 5QI.
type DefaultQoS struct {
	FiveQI   uint8       `json:"5qi"`
	ARP      ts29571.ARP `json:"arp"`
	Priority uint8       `json:"priorityLevel,omitempty"`
}

// Session is what a PCF is told of a new PDU session (SmPolicyContextData, TS 29.512 5.6.2.3).
type Session struct {
	SUPI, GPSI, PEI string
	SessionID       uint8
	// Type is IPV4, IPV6 or IPV4V6.
	Type   string
	DNN    string
	SNSSAI ts29571.SNSSAI
	// NotificationURI is called back with /update and /terminate behind it.
	NotificationURI string
	Access, RAT     string
	ServingNetwork  ts29571.PLMN
	Location        *ts29571.Location
	TimeZone        string
	IPv4            netip.Addr
	IPv6            netip.Prefix
	AMBR            *ts29571.AMBR
	QoS             *DefaultQoS
	// ChargingCharacteristics of the subscription; Online and Offline charging by default.
	ChargingCharacteristics string
	Online, Offline         bool
	// ReflectiveQoS: the UE knows it. PacketFilters: how many it has room for, 0 where it does not say.
	ReflectiveQoS     bool
	PacketFilters     uint16
	SMFInstanceID     string
	SupportedFeatures string
}

type contextData struct {
	SUPI              string            `json:"supi"`
	GPSI              string            `json:"gpsi,omitempty"`
	PEI               string            `json:"pei,omitempty"`
	SessionID         uint8             `json:"pduSessionId"`
	Type              string            `json:"pduSessionType"`
	DNN               string            `json:"dnn"`
	SNSSAI            ts29571.SNSSAI    `json:"sliceInfo"`
	NotificationURI   string            `json:"notificationUri"`
	Access            string            `json:"accessType,omitempty"`
	RAT               string            `json:"ratType,omitempty"`
	ServingNetwork    *ts29571.PLMN     `json:"servingNetwork,omitempty"`
	Location          *ts29571.Location `json:"userLocationInfo,omitempty"`
	TimeZone          string            `json:"ueTimeZone,omitempty"`
	IPv4              netip.Addr        `json:"ipv4Address,omitzero"`
	IPv6              netip.Prefix      `json:"ipv6AddressPrefix,omitzero"`
	AMBR              *ts29571.AMBR     `json:"subsSessAmbr,omitempty"`
	QoS               *DefaultQoS       `json:"subsDefQos,omitempty"`
	Charging          string            `json:"chargingcharacteristics,omitempty"`
	Online            bool              `json:"online,omitempty"`
	Offline           bool              `json:"offline,omitempty"`
	ReflectiveQoS     bool              `json:"refQosIndication,omitempty"`
	PacketFilters     uint16            `json:"numOfPackFilter,omitempty"`
	SMFInstanceID     string            `json:"smfId,omitempty"`
	SupportedFeatures string            `json:"suppFeat,omitempty"`
}

func plmn(p ts29571.PLMN) *ts29571.PLMN {
	if p.MCC == "" {
		return nil
	}
	return &p
}

// Association is what a PCF has made of a session: its resource, and the first decision.
type Association struct {
	// URI is that of the resource, for the operations on it.
	URI string
	// PCF that answered.
	PCF      PCF
	Decision Decision
}

// Create makes a policy association (TS 29.512 4.2.2). There is no way to ask a PCF whether it made one that nobody
// knows of; a second Create for the same session takes the place of the first.
func (c *Client) Create(ctx context.Context, p PCF, s *Session) (*Association, error) {
	const operation = "SmPolicyCreate"
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: p.service(), Path: "/npcf-smpolicycontrol/v1/sm-policies",
		JSON: contextData{
			SUPI: s.SUPI, GPSI: s.GPSI, PEI: s.PEI, SessionID: s.SessionID, Type: s.Type, DNN: s.DNN, SNSSAI: s.SNSSAI,
			NotificationURI: s.NotificationURI, Access: s.Access, RAT: s.RAT, ServingNetwork: plmn(s.ServingNetwork),
			Location: s.Location, TimeZone: s.TimeZone, IPv4: s.IPv4, IPv6: s.IPv6, AMBR: s.AMBR, QoS: s.QoS,
			Charging: s.ChargingCharacteristics, Online: s.Online, Offline: s.Offline, ReflectiveQoS: s.ReflectiveQoS,
			PacketFilters: s.PacketFilters, SMFInstanceID: s.SMFInstanceID, SupportedFeatures: s.SupportedFeatures,
		},
	})
	if err != nil {
		return nil, err
	}
	out := &Association{URI: reply.Location(), PCF: PCF{reply.Endpoint.Instance, reply.Endpoint.Set}}
	if out.URI == "" {
		return nil, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	if out.Decision, err = DecodeDecision(reply.Message.JSON); err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

// Trigger is a reason to ask the PCF (PolicyControlRequestTrigger, TS 29.512 5.6.3.6), such as SAREA_CH.
type Trigger string

// RuleReport says what has become of rules (TS 29.512 5.6.2.15).
type RuleReport struct {
	Rules []string `json:"pccRuleIds"`
	// Status is ACTIVE or INACTIVE.
	Status string `json:"ruleStatus"`
	// Failure such as RES_ALLO_FAIL, "" of an active rule.
	Failure string `json:"failureCode,omitempty"`
}

// SessionRuleReport says what has become of session rules (TS 29.512 5.6.2.37).
type SessionRuleReport struct {
	Rules   []string `json:"ruleIds"`
	Status  string   `json:"ruleStatus"`
	Failure string   `json:"sessRuleFailureCode,omitempty"`
}

// UsageReport is usage of a monitoring key in octets and seconds (AccuUsageReport, TS 29.512 5.6.2.18).
type UsageReport struct {
	Key      string `json:"refUmIds"`
	Volume   uint64 `json:"volUsage,omitempty"`
	Uplink   uint64 `json:"volUsageUplink,omitempty"`
	Downlink uint64 `json:"volUsageDownlink,omitempty"`
	Seconds  uint32 `json:"timeUsage,omitempty"`
}

// Event is what has happened to a session (SmPolicyUpdateContextData, TS 29.512 5.6.2.19); what has not is zero.
type Event struct {
	Triggers       []Trigger           `json:"repPolicyCtrlReqTriggers,omitempty"`
	Access         string              `json:"accessType,omitempty"`
	RAT            string              `json:"ratType,omitempty"`
	ServingNetwork *ts29571.PLMN       `json:"servingNetwork,omitempty"`
	Location       *ts29571.Location   `json:"userLocationInfo,omitempty"`
	TimeZone       string              `json:"ueTimeZone,omitempty"`
	IPv4           netip.Addr          `json:"ipv4Address,omitzero"`
	ReleasedIPv4   netip.Addr          `json:"relIpv4Address,omitzero"`
	IPv6           netip.Prefix        `json:"ipv6AddressPrefix,omitzero"`
	ReleasedIPv6   netip.Prefix        `json:"relIpv6AddressPrefix,omitzero"`
	AMBR           *ts29571.AMBR       `json:"subsSessAmbr,omitempty"`
	QoS            *DefaultQoS         `json:"subsDefQos,omitempty"`
	Usage          []UsageReport       `json:"accuUsageReports,omitempty"`
	Rules          []RuleReport        `json:"ruleReports,omitempty"`
	SessionRules   []SessionRuleReport `json:"sessRuleReports,omitempty"`
	// Resource is what a UE asks for by itself (UeInitiatedResourceRequest, 5.6.2.29).
	Resource *ResourceRequest `json:"ueInitResReq,omitempty"`
}

// ResourceRequest is a UE's wish for a flow of its own.
type ResourceRequest struct {
	Rule string `json:"pccRuleId,omitempty"`
	// Operation such as CREATE_PCC_RULE, DELETE_PCC_RULE, MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS.
	Operation  string           `json:"ruleOp"`
	Precedence *uint8           `json:"precedence,omitempty"`
	Filters    []ResourceFilter `json:"packFiltInfo"`
	QoS        *RequestedQoS    `json:"reqQos,omitempty"`
}

// ResourceFilter is PacketFilterInfo (TS 29.512 5.6.2.30).
type ResourceFilter struct {
	ID          string `json:"packFiltId,omitempty"`
	Description string `json:"packFiltCont,omitempty"` // permit out ip from ... to ...
	TOS         string `json:"tosTrafficClass,omitempty"`
	SPI         string `json:"spi,omitempty"`
	FlowLabel   string `json:"flowLabel,omitempty"`
	Direction   string `json:"flowDirection,omitempty"` // DOWNLINK, UPLINK, BIDIRECTIONAL
}

// RequestedQoS is TS 29.512 5.6.2.31.
type RequestedQoS struct {
	FiveQI   uint8           `json:"5qi"`
	Uplink   ts29571.BitRate `json:"gbrUl,omitzero"`
	Downlink ts29571.BitRate `json:"gbrDl,omitzero"`
}

// Update tells the PCF what has happened (TS 29.512 4.2.4). What it decides is only what changes.
func (c *Client) Update(ctx context.Context, p PCF, uri string, e *Event) (Decision, error) {
	const operation = "SmPolicyUpdate"
	reply, err := c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodPost, Service: p.service(), URI: uri + "/update", JSON: e})
	if err != nil {
		return Decision{}, err
	}
	if reply.Status == http.StatusNoContent || len(reply.Message.JSON) == 0 {
		return Decision{}, nil
	}
	d, err := DecodeDecision(reply.Message.JSON)
	if err != nil {
		return Decision{}, &sbi.Unknown{Operation: operation, Err: err}
	}
	return d, nil
}

// End is what a PCF is told of a session's end (SmPolicyDeleteData, TS 29.512 5.6.2.16).
type End struct {
	Location       *ts29571.Location `json:"userLocationInfo,omitempty"`
	TimeZone       string            `json:"ueTimeZone,omitempty"`
	ServingNetwork *ts29571.PLMN     `json:"servingNetwork,omitempty"`
	Usage          []UsageReport     `json:"accuUsageReports,omitempty"`
	// Cause such as PS_TO_CS_HO or RULE_ERROR, "" for an ordinary end.
	Cause string    `json:"pduSessRelCause,omitempty"`
	At    time.Time `json:"userLocationInfoTime,omitzero"`
}

// Delete ends an association (TS 29.512 4.2.5). One that is not there any more has ended.
func (c *Client) Delete(ctx context.Context, p PCF, uri string, e *End) error {
	_, err := c.sbi.Do(ctx, sbi.Call{
		Operation: "SmPolicyDelete", Method: http.MethodPost, Service: p.service(), URI: uri + "/delete", JSON: e, Repeatable: true,
	})
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// Read gives the whole of what is decided now (TS 29.512 5.3.3.3.1), to one that has only heard of changes.
func (c *Client) Read(ctx context.Context, p PCF, uri string) (Decision, error) {
	const operation = "SmPolicyRead"
	reply, err := c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodGet, Service: p.service(), URI: uri, Repeatable: true})
	if err != nil {
		return Decision{}, err
	}
	var control struct {
		Policy json.RawMessage `json:"policy"`
	}
	if err := reply.Into(&control); err != nil {
		return Decision{}, &sbi.Unknown{Operation: operation, Err: err}
	}
	d, err := DecodeDecision(control.Policy)
	if err != nil {
		return Decision{}, &sbi.Unknown{Operation: operation, Err: err}
	}
	return d, nil
}
