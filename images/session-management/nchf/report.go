package nchf

import (
	"net/netip"
	"time"

	"core5g.dev/core5g/images/nf/ts29571"
)

// Report is ChargingDataRequest (TS 32.291 6.1.6.2.1.1). What is not known is zero.
type Report struct {
	SUPI, GPSI, PEI string
	// SMFName is our NF instance identifier, by which the CHF tells consumers apart.
	SMFName string
	// Time is when the report was made, Sequence its number: 0 of Create, one more each time. Again: it was sent before.
	Time     time.Time
	Sequence uint32
	Again    bool
	// NotifyURI is called back, of Create.
	NotifyURI  string
	ChargingID uint32
	Session    Session
	// Usage by rating group.
	Usage []Usage
	// Triggers of the report as a whole.
	Triggers []Trigger
}

// Session is PDUSessionInformation (TS 32.291 6.1.6.2.2.9), with where the UE is.
type Session struct {
	ID                      uint8
	SNSSAI                  ts29571.SNSSAI
	DNN                     string
	Type                    string // IPV4, IPV6, IPV4V6
	RAT                     string
	ServingNetwork          ts29571.PLMN
	HomeNetwork             ts29571.PLMN
	AMFID                   string
	ChargingCharacteristics string
	Location                *ts29571.Location
	TimeZone                string
	IPv4                    netip.Addr
	IPv6                    netip.Prefix
	AMBR                    *ts29571.AMBR
	FiveQI                  uint8
	ARP                     *ts29571.ARP
	Start, Stop             time.Time
}

// Trigger is why something is reported (TS 32.291 6.1.6.3.6), such as VOLUME_LIMIT, FINAL.
type Trigger struct {
	Type string `json:"triggerType"`
	// Category is IMMEDIATE_REPORT or DEFERRED_REPORT.
	Category string `json:"triggerCategory"`
	// Limits are what a CHF sets with its own triggers, octets and seconds.
	Time   uint32 `json:"timeLimit,omitempty"`
	Volume uint64 `json:"volumeLimit64,omitempty"`
}

// Units are octets and seconds; Total is of both directions.
type Units struct {
	Seconds  uint32 `json:"time,omitempty"`
	Total    uint64 `json:"totalVolume,omitempty"`
	Uplink   uint64 `json:"uplinkVolume,omitempty"`
	Downlink uint64 `json:"downlinkVolume,omitempty"`
}

// Usage is of one rating group (MultipleUnitUsage, TS 32.291 6.1.6.2.1.5).
type Usage struct {
	RatingGroup uint32
	// Request is what quota is asked for: nil asks for none, zero units leave the amount to the CHF.
	Request *Units
	Used    []Used
	UPFID   string
}

// Used is UsedUnitContainer (TS 32.291 6.1.6.2.1.10). free5GC's CHF reads volumes of 31 bits, and refuses a report with
// more: close containers before 2 GiB.
type Used struct {
	Units Units
	// Online: of a granted quota (ONLINE_CHARGING), else OFFLINE_CHARGING.
	Online   bool
	Triggers []Trigger
	// At is when the container was closed; First and Last are of the packets in it.
	At, First, Last time.Time
	// Sequence of containers in the session.
	Sequence uint32
}

type object = map[string]any

// set writes a member that is not zero.
func set[T comparable](o object, name string, v T) {
	var zero T
	if v != zero {
		o[name] = v
	}
}

func setTime(o object, name string, t time.Time) {
	if !t.IsZero() {
		o[name] = t.UTC().Format(time.RFC3339Nano)
	}
}

func (r *Report) content() object {
	o := object{
		"nfConsumerIdentification": object{"nFName": r.SMFName, "nodeFunctionality": "SMF"},
		"invocationSequenceNumber": r.Sequence, "invocationTimeStamp": r.Time.UTC().Format(time.RFC3339Nano),
		"pDUSessionChargingInformation": r.session(),
	}
	set(o, "subscriberIdentifier", r.SUPI)
	set(o, "retransmissionIndicator", r.Again)
	set(o, "notifyUri", r.NotifyURI)
	set(o, "chargingId", r.ChargingID)
	var usage []object
	for _, u := range r.Usage {
		usage = append(usage, u.content())
	}
	if usage != nil {
		o["multipleUnitUsage"] = usage
	}
	if len(r.Triggers) > 0 {
		o["triggers"] = r.Triggers
	}
	return o
}

func (r *Report) session() object {
	s := r.Session
	session := object{"pduSessionID": s.ID, "dnnId": s.DNN, "networkSlicingInfo": object{"sNSSAI": s.SNSSAI}}
	set(session, "pduType", s.Type)
	set(session, "sscMode", "SSC_MODE_1")
	set(session, "ratType", s.RAT)
	set(session, "chargingCharacteristics", s.ChargingCharacteristics)
	set(session, "servingCNPlmnId", s.ServingNetwork)
	set(session, "hPlmnId", s.HomeNetwork)
	setTime(session, "startTime", s.Start)
	setTime(session, "stopTime", s.Stop)
	if s.AMFID != "" {
		session["servingNetworkFunctionID"] = object{
			"servingNetworkFunctionInformation": object{"nFName": s.AMFID, "nodeFunctionality": "AMF"},
		}
	}
	address := object{}
	if s.IPv4.IsValid() {
		address["pduIPv4Address"] = s.IPv4
	}
	if s.IPv6.IsValid() {
		address["pduIPv6AddresswithPrefix"], address["pduAddressprefixlength"] = s.IPv6.String(), s.IPv6.Bits()
	}
	if len(address) > 0 {
		session["pduAddress"] = address
	}
	if s.AMBR != nil {
		session["authorizedSessionAMBR"] = s.AMBR
	}
	if s.FiveQI != 0 {
		quality := object{"5qi": s.FiveQI}
		if s.ARP != nil {
			quality["arp"] = s.ARP
		}
		session["authorizedQoSInformation"] = quality
	}
	user := object{}
	set(user, "servedGPSI", r.GPSI)
	set(user, "servedPEI", r.PEI)
	out := object{"pduSessionInformation": session}
	set(out, "chargingId", r.ChargingID)
	set(out, "uetimeZone", s.TimeZone)
	if len(user) > 0 {
		out["userInformation"] = user
	}
	if s.Location != nil {
		out["userLocationinfo"] = s.Location
	}
	return out
}

func (u Usage) content() object {
	o := object{"ratingGroup": u.RatingGroup}
	set(o, "uPFID", u.UPFID)
	if u.Request != nil {
		o["requestedUnit"] = u.Request
	}
	var used []object
	for _, c := range u.Used {
		container := object{"localSequenceNumber": c.Sequence, "quotaManagementIndicator": "OFFLINE_CHARGING"}
		if c.Online {
			container["quotaManagementIndicator"] = "ONLINE_CHARGING"
		}
		set(container, "time", c.Units.Seconds)
		set(container, "totalVolume", c.Units.Total)
		set(container, "uplinkVolume", c.Units.Uplink)
		set(container, "downlinkVolume", c.Units.Downlink)
		setTime(container, "triggerTimestamp", c.At)
		if len(c.Triggers) > 0 {
			container["triggers"] = c.Triggers
		}
		packets := object{}
		setTime(packets, "timeofFirstUsage", c.First)
		setTime(packets, "timeofLastUsage", c.Last)
		if len(packets) > 0 {
			container["pDUContainerInformation"] = packets
		}
		used = append(used, container)
	}
	if used != nil {
		o["usedUnitContainer"] = used
	}
	return o
}
