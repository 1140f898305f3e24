package npcf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/ts29571"
)

// Decision is SmPolicyDecision (TS 29.512 5.6.2.4). Maps are by identifier; one whose value is nil was removed, which
// only a decision that changes another has. What is not said is zero.
type Decision struct {
	SessionRules map[string]*SessionRule
	Rules        map[string]*Rule
	QoS          map[string]*QoS
	Charging     map[string]*Charging
	Traffic      map[string]*Traffic
	Usage        map[string]*Usage
	Conditions   map[string]*Condition
	// Triggers are what the PCF wants to hear of; said and empty: of nothing any more.
	Triggers     []Trigger
	TriggersSaid bool
	// Revalidation is when to ask again, zero: never.
	Revalidation time.Time
	// Online and Offline are the charging of rules that say nothing else.
	Online, Offline bool
	// PrimaryCHF and SecondaryCHF are the addresses of the CHFs to ask, "" for any.
	PrimaryCHF, SecondaryCHF string
	// ReflectiveTimer is how long a UE keeps derived rules.
	ReflectiveTimer time.Duration
	// ReleaseCause: the session is to end, with that cause.
	ReleaseCause string
	Features     string
	// Invalid is what could not be read.
	Invalid []Invalid
	// Raw is the JSON that all this was read from.
	Raw json.RawMessage
}

// Invalid is an entry that could not be read, which counts as absent.
type Invalid struct {
	// Member is the map, such as pccRules, and ID the entry there.
	Member, ID string
	Reason     string
}

// SessionRule is TS 29.512 5.6.2.7.
type SessionRule struct {
	ID   string
	AMBR *ts29571.AMBR
	// Default is the QoS of the default flow, nil where the rule does not say; its rates are 0 where they are not said.
	Default   *QoS
	Usage     string // a key of Decision.Usage
	Condition string // a key of Decision.Conditions
}

// Rule is a PCC rule (TS 29.512 5.6.2.6). Its lists are keys of the Decision's maps.
type Rule struct {
	ID    string
	Flows []Flow
	// Application names traffic that the UPF detects, where there are no flows.
	Application string
	// Precedence: the lowest is looked at first.
	Precedence uint32
	QoS        []string
	Traffic    []string
	Charging   []string
	Usage      []string
	Condition  string
}

// QoS is QosData (TS 29.512 5.6.2.8), or the authorized default QoS (5.6.2.34). Rates are in bit/s, 0 where not said.
type QoS struct {
	ID                             string
	FiveQI                         uint8
	ARP                            *ts29571.ARP
	MBRUplink, MBRDownlink         uint64
	GBRUplink, GBRDownlink         uint64
	Priority                       uint8 // 0: that of the 5QI
	Averaging                      time.Duration
	MaxBurst                       uint32 // octets
	Reflective                     bool
	NotificationControl            bool
	DefaultFlow                    bool // the rule's packets are of the default flow
	SharingUplink, SharingDownlink string
}

// Charging is ChargingData (TS 29.512 5.6.2.11).
type Charging struct {
	ID              string
	Online, Offline *bool // nil: as the Decision says
	RatingGroup     uint32
	Service         uint32
	// Method is DURATION, VOLUME, DURATION_VOLUME or EVENT; Level SER_ID_LEVEL, RAT_GR_LEVEL or SPON_CON_LEVEL.
	Method, Level string
	// Handling: packets wait for the first quota otherwise (sdfHandl: they pass).
	Handling bool
}

// Traffic is TrafficControlData (TS 29.512 5.6.2.10).
type Traffic struct {
	ID string
	// Status is ENABLED, DISABLED, ENABLED-UPLINK, ENABLED-DOWNLINK, REMOVED; "" means the first.
	Status string
	// Redirect is where traffic is redirected to, "" for nowhere.
	Redirect string
	// DNAIs of the places where the traffic is to leave (routeToLocs).
	DNAIs []string
}

// Usage is UsageMonitoringData (TS 29.512 5.6.2.12): thresholds in octets and seconds, 0 for none.
type Usage struct {
	ID                       string
	Volume, Uplink, Downlink uint64
	Seconds                  uint32
}

// Condition is ConditionData (TS 29.512 5.6.2.9): when a rule is in force; zero: no limit.
type Condition struct {
	ID       string
	From, To time.Time
}

type decisionJSON struct {
	SessionRules map[string]json.RawMessage `json:"sessRules"`
	Rules        map[string]json.RawMessage `json:"pccRules"`
	QoS          map[string]json.RawMessage `json:"qosDecs"`
	Charging     map[string]json.RawMessage `json:"chgDecs"`
	Traffic      map[string]json.RawMessage `json:"traffContDecs"`
	Usage        map[string]json.RawMessage `json:"umDecs"`
	Conditions   map[string]json.RawMessage `json:"conds"`
	Triggers     *[]Trigger                 `json:"policyCtrlReqTriggers"`
	Revalidation *time.Time                 `json:"revalidationTime"`
	Online       bool                       `json:"online"`
	Offline      bool                       `json:"offline"`
	ChargingInfo struct {
		Primary   string `json:"primaryChfAddress"`
		Secondary string `json:"secondaryChfAddress"`
	} `json:"chargingInfo"`
	ReflectiveTimer uint32 `json:"reflectiveQoSTimer"`
	ReleaseCause    string `json:"relCause"`
	Features        string `json:"suppFeat"`
}

// DecodeDecision reads a decision. Entries that cannot be read are in Invalid.
func DecodeDecision(raw []byte) (Decision, error) {
	if raw = bytes.TrimSpace(raw); !bytes.HasPrefix(raw, []byte("{")) {
		return Decision{}, errors.New("a decision is an object")
	}
	var in decisionJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return Decision{}, fmt.Errorf("the decision cannot be read: %w", err)
	}
	d := Decision{
		Online: in.Online, Offline: in.Offline, PrimaryCHF: in.ChargingInfo.Primary, SecondaryCHF: in.ChargingInfo.Secondary,
		ReflectiveTimer: time.Duration(in.ReflectiveTimer) * time.Second, ReleaseCause: in.ReleaseCause, Features: in.Features,
		Raw: append(json.RawMessage(nil), raw...),
	}
	if in.Triggers != nil {
		d.Triggers, d.TriggersSaid = *in.Triggers, true
	}
	if in.Revalidation != nil {
		d.Revalidation = *in.Revalidation
	}
	d.SessionRules = entries(&d, "sessRules", in.SessionRules, readSessionRule)
	d.Rules = entries(&d, "pccRules", in.Rules, readRule)
	d.QoS = entries(&d, "qosDecs", in.QoS, readQoS)
	d.Charging = entries(&d, "chgDecs", in.Charging, readCharging)
	d.Traffic = entries(&d, "traffContDecs", in.Traffic, readTraffic)
	d.Usage = entries(&d, "umDecs", in.Usage, readUsage)
	d.Conditions = entries(&d, "conds", in.Conditions, readCondition)
	return d, nil
}

// entries reads the values of a map one by one, in the order of their keys.
func entries[T any](d *Decision, member string, in map[string]json.RawMessage, read func(id string, raw []byte) (*T, error)) map[string]*T {
	if in == nil {
		return nil
	}
	out := make(map[string]*T, len(in))
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if raw := in[id]; string(raw) == "null" {
			out[id] = nil
			continue
		}
		v, err := read(id, in[id])
		if err != nil {
			d.Invalid = append(d.Invalid, Invalid{member, id, err.Error()})
			continue
		}
		out[id] = v
	}
	return out
}

// Merge gives the decision that the change makes of this one.
func (d Decision) Merge(change Decision) (Decision, error) {
	if len(change.Raw) == 0 {
		return d, nil
	}
	var old, patch any
	if len(d.Raw) > 0 {
		if err := json.Unmarshal(d.Raw, &old); err != nil {
			return Decision{}, err
		}
	}
	if err := json.Unmarshal(change.Raw, &patch); err != nil {
		return Decision{}, err
	}
	raw, err := json.Marshal(mergePatch(old, patch))
	if err != nil {
		return Decision{}, err
	}
	return DecodeDecision(raw)
}

// mergePatch is RFC 7396 2.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		maps.Copy(out, t)
	}
	for name, v := range p {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], v)
		}
	}
	return out
}

func readSessionRule(id string, raw []byte) (*SessionRule, error) {
	var in struct {
		AMBR      *ts29571.AMBR   `json:"authSessAmbr"`
		Default   json.RawMessage `json:"authDefQos"`
		Usage     string          `json:"refUmData"`
		Condition string          `json:"refCondData"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := &SessionRule{ID: id, AMBR: in.AMBR, Usage: in.Usage, Condition: in.Condition}
	if len(in.Default) > 0 && string(in.Default) != "null" {
		var err error
		if out.Default, err = readQoS("", in.Default); err != nil {
			return nil, fmt.Errorf("authDefQos: %w", err)
		}
	}
	return out, nil
}

func readRule(id string, raw []byte) (*Rule, error) {
	var in struct {
		Flows       []flowJSON `json:"flowInfos"`
		Application string     `json:"appId"`
		Precedence  uint32     `json:"precedence"`
		QoS         []string   `json:"refQosData"`
		Traffic     []string   `json:"refTcData"`
		Charging    []string   `json:"refChgData"`
		Usage       []string   `json:"refUmData"`
		Condition   string     `json:"refCondData"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := &Rule{
		ID: id, Application: in.Application, Precedence: in.Precedence, QoS: in.QoS, Traffic: in.Traffic, Charging: in.Charging,
		Usage: in.Usage, Condition: in.Condition,
	}
	for n, f := range in.Flows {
		flow, err := f.read()
		if err != nil {
			return nil, fmt.Errorf("flowInfos[%d]: %w", n, err)
		}
		out.Flows = append(out.Flows, flow)
	}
	return out, nil
}

func readQoS(id string, raw []byte) (*QoS, error) {
	var in struct {
		FiveQI      uint8        `json:"5qi"`
		ARP         *ts29571.ARP `json:"arp"`
		MBRUplink   rate         `json:"maxbrUl"`
		MBRDownlink rate         `json:"maxbrDl"`
		GBRUplink   rate         `json:"gbrUl"`
		GBRDownlink rate         `json:"gbrDl"`
		Priority    uint8        `json:"priorityLevel"`
		Averaging   uint32       `json:"averWindow"`
		Burst       uint32       `json:"maxDataBurstVol"`
		ExtBurst    uint32       `json:"extMaxDataBurstVol"`
		Reflective  bool         `json:"reflectiveQos"`
		Notify      bool         `json:"qnc"`
		DefaultFlow bool         `json:"defQosFlowIndication"`
		SharingUp   string       `json:"sharingKeyUl"`
		SharingDown string       `json:"sharingKeyDl"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return &QoS{
		ID: id, FiveQI: in.FiveQI, ARP: in.ARP, MBRUplink: uint64(in.MBRUplink), MBRDownlink: uint64(in.MBRDownlink),
		GBRUplink: uint64(in.GBRUplink), GBRDownlink: uint64(in.GBRDownlink), Priority: in.Priority,
		Averaging: time.Duration(in.Averaging) * time.Millisecond, MaxBurst: max(in.Burst, in.ExtBurst), Reflective: in.Reflective,
		NotificationControl: in.Notify, DefaultFlow: in.DefaultFlow, SharingUplink: in.SharingUp, SharingDownlink: in.SharingDown,
	}, nil
}

// rate is a bit rate; free5GC's PCF writes "" where there is none.
type rate uint64

func (r *rate) UnmarshalJSON(raw []byte) error {
	if string(raw) == `""` || string(raw) == "null" {
		*r = 0
		return nil
	}
	var b ts29571.BitRate
	err := b.UnmarshalJSON(raw)
	*r = rate(b)
	return err
}

func readCharging(id string, raw []byte) (*Charging, error) {
	var in struct {
		Online      *bool  `json:"online"`
		Offline     *bool  `json:"offline"`
		RatingGroup uint32 `json:"ratingGroup"`
		Service     uint32 `json:"serviceId"`
		Method      string `json:"meteringMethod"`
		Level       string `json:"reportingLevel"`
		Handling    bool   `json:"sdfHandl"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return &Charging{
		ID: id, Online: in.Online, Offline: in.Offline, RatingGroup: in.RatingGroup, Service: in.Service, Method: in.Method,
		Level: in.Level, Handling: in.Handling,
	}, nil
}

func readTraffic(id string, raw []byte) (*Traffic, error) {
	var in struct {
		Status   string `json:"flowStatus"`
		Redirect *struct {
			Enabled bool   `json:"redirectEnabled"`
			Address string `json:"redirectServerAddress"`
		} `json:"redirectInfo"`
		Routes []*struct {
			DNAI string `json:"dnai"`
		} `json:"routeToLocs"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := &Traffic{ID: id, Status: in.Status}
	if in.Redirect != nil && in.Redirect.Enabled {
		out.Redirect = in.Redirect.Address
	}
	for _, r := range in.Routes {
		if r != nil && r.DNAI != "" {
			out.DNAIs = append(out.DNAIs, r.DNAI)
		}
	}
	return out, nil
}

func readUsage(id string, raw []byte) (*Usage, error) {
	var in struct {
		Volume   uint64 `json:"volumeThreshold"`
		Uplink   uint64 `json:"volumeThresholdUplink"`
		Downlink uint64 `json:"volumeThresholdDownlink"`
		Seconds  uint32 `json:"timeThreshold"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return &Usage{id, in.Volume, in.Uplink, in.Downlink, in.Seconds}, nil
}

func readCondition(id string, raw []byte) (*Condition, error) {
	var in struct {
		From *time.Time `json:"activationTime"`
		To   *time.Time `json:"deactivationTime"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := &Condition{ID: id}
	if in.From != nil {
		out.From = *in.From
	}
	if in.To != nil {
		out.To = *in.To
	}
	return out, nil
}
