package udm

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/complaints"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const sdmService = "nudm-sdm"

// subscriptionsOfOne limits the subscriptions to one subscriber's data: an AMF has one, an SMF one for each of up to 15 PDU sessions
// (TS 24.007 11.2.3.1b), and those that nobody remembers are there until they expire.
const subscriptionsOfOne = 32

// Directory is what the UDM asks about subscribers.
type Directory interface {
	Subscriber(ctx context.Context, supi string) (subscription.Subscriber, error)
	// Confirmed is the same, but that there is none is certain.
	Confirmed(ctx context.Context, supi string) (subscription.Subscriber, error)
	Slices(ctx context.Context) ([]subscription.Slice, error)
}

// UDM is the unified data management function.
type UDM struct {
	// Withdraws: the AMF of a UE whose subscriber is deleted or barred is told to deregister it. To be set before the UDM serves.
	Withdraws bool

	// Tells says whether this replica is the one that tells of changes, nil: it is alone. To be set before the UDM serves.
	Tells func() bool

	directory     Directory
	registrations registrations
	notifier      *notifier
	subscriptions *records.Subscriptions
	log           *slog.Logger
	complaints    complaints.Complaints

	// seen counts what Changed was told.
	seen    atomic.Uint64
	changes sync.Mutex
	// pending are SUPIs whose data may have changed, "" for all of them; young and old those that are looked at again later.
	pending, young, old map[string]bool
	checking, waiting   bool
	// underWay are notifications by whom they are for, with the SUPI where it is to be looked again afterwards.
	underWay map[string]string
	// orphans are records that had no subscriber when it was tidied last.
	orphans map[string]bool
}

func (u *UDM) tells() bool { return u.Tells == nil || u.Tells() }

// New returns a UDM that tells the registry who is registered. It calls AMFs with the transport. What it must remember is in the
// records.
func New(directory Directory, kept *records.Records, callbacks http.RoundTripper, log *slog.Logger, reg prometheus.Registerer) *UDM {
	u := &UDM{
		directory: directory, registrations: registrations{kept}, subscriptions: records.NewSubscriptions(kept, "sdm", subscriptionsOfOne), log: log,
		pending: make(map[string]bool), young: make(map[string]bool), underWay: make(map[string]string),
	}
	u.notifier = newNotifier(callbacks, log, reg)
	reg.MustRegister(registeredUEs{u})
	return u
}

// Register adds the UDM's operations.
func (u *UDM) Register(r *sbi.Router) {
	for _, base := range []string{"/nudm-sdm/v1/{supi}", "/nudm-sdm/v2/{supi}"} {
		r.Handle(sdmService, "GetDataSets", "GET "+base, u.dataSets)
		r.Handle(sdmService, "GetNSSAI", "GET "+base+"/nssai", u.nssai)
		r.Handle(sdmService, "GetAmData", "GET "+base+"/am-data", u.amData)
		r.Handle(sdmService, "GetSmfSelData", "GET "+base+"/smf-select-data", u.smfSelectData)
		r.Handle(sdmService, "GetSmData", "GET "+base+"/sm-data", u.smData)
		r.Handle(sdmService, "GetUeCtxInSmfData", "GET "+base+"/ue-context-in-smf-data", u.ueContextInSMFData)
		r.Handle(sdmService, "Subscribe", "POST "+base+"/sdm-subscriptions", u.subscribe)
		r.Handle(sdmService, "Unsubscribe", "DELETE "+base+"/sdm-subscriptions/{subscriptionId}", u.unsubscribe)
	}
	u.registerUECM(r)
}

// asked resolves the {supi} of the path, and reads the plmn-id of the query. A subscription is the same in every PLMN.
func (u *UDM) asked(r *http.Request) (subscription.Subscriber, error) {
	if _, _, err := sbi.Query[subscription.PLMN](r, "plmn-id"); err != nil {
		return subscription.Subscriber{}, err
	}
	s, err := u.subscriber(r)
	if err == nil && s.Barred {
		return s, sbi.DataNotFound("the subscriber is barred").About("supi", s.SUPI)
	}
	return s, err
}

// subscriber resolves the {supi} of the path.
func (u *UDM) subscriber(r *http.Request) (subscription.Subscriber, error) {
	return lookUp(r.Context(), u.directory, r.PathValue("supi"))
}

func lookUp(ctx context.Context, d Directory, supi string) (subscription.Subscriber, error) {
	s, err := d.Confirmed(ctx, supi)
	if errors.Is(err, subscription.ErrUnknownSubscriber) {
		return s, sbi.UserNotFound(supi)
	}
	return s, err
}

// nssai is Nssai of TS 29.503 6.1.6.2.2. singleNssais are the subscribed S-NSSAIs that are no default.
type nssai struct {
	DefaultSingleNssais []subscription.SNSSAI `json:"defaultSingleNssais"`
	SingleNssais        []subscription.SNSSAI `json:"singleNssais,omitempty"`
}

func subscribedNSSAI(s subscription.Subscriber) nssai {
	n := nssai{DefaultSingleNssais: []subscription.SNSSAI{}}
	for _, sl := range s.Slices {
		if sl.Default {
			n.DefaultSingleNssais = append(n.DefaultSingleNssais, sl.SNSSAI)
		} else {
			n.SingleNssais = append(n.SingleNssais, sl.SNSSAI)
		}
	}
	return n
}

func (u *UDM) nssai(r *http.Request) (sbi.Answer, error) {
	s, err := u.asked(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	if len(s.Slices) == 0 {
		return sbi.Answer{}, sbi.DataNotFound("none of the subscriber's slices exists")
	}
	return sbi.Answer{Status: http.StatusOK, Body: subscribedNSSAI(s)}, nil
}

// accessAndMobilityData is AccessAndMobilitySubscriptionData of TS 29.503 6.1.6.2.4.
type accessAndMobilityData struct {
	GPSIs            []string          `json:"gpsis,omitempty"`
	SubscribedUEAMBR subscription.AMBR `json:"subscribedUeAmbr"`
	NSSAI            nssai             `json:"nssai"`
}

func (u *UDM) amData(r *http.Request) (sbi.Answer, error) {
	s, err := u.asked(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: accessAndMobility(s)}, nil
}

func accessAndMobility(s subscription.Subscriber) accessAndMobilityData {
	data := accessAndMobilityData{SubscribedUEAMBR: s.AMBR, NSSAI: subscribedNSSAI(s)}
	if s.GPSI != "" {
		data.GPSIs = []string{s.GPSI}
	}
	return data
}

// smfSelectionData is SmfSelectionSubscriptionData of TS 29.503 6.1.6.2.6.
type smfSelectionData struct {
	SubscribedSnssaiInfos map[string]snssaiInfo `json:"subscribedSnssaiInfos"`
}

type snssaiInfo struct {
	DNNInfos []dnnInfo `json:"dnnInfos"`
}

type dnnInfo struct {
	DNN                 string `json:"dnn"`
	DefaultDNNIndicator bool   `json:"defaultDnnIndicator,omitempty"`
}

func (u *UDM) smfSelectData(r *http.Request) (sbi.Answer, error) {
	s, err := u.asked(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: smfSelection(s)}, nil
}

func smfSelection(s subscription.Subscriber) smfSelectionData {
	infos, forFree5GC := make(map[string]snssaiInfo), make(map[string]snssaiInfo)
	for _, sl := range s.Slices {
		info := snssaiInfo{DNNInfos: []dnnInfo{}}
		for i, dn := range sl.DataNetworks {
			info.DNNInfos = append(info.DNNInfos, dnnInfo{DNN: dn.DNN, DefaultDNNIndicator: i == 0})
		}
		// TS 29.571's key is 1-010203; AMF 1.4.5 looks for 01010203 and ignores the other.
		infos[sl.SNSSAI.String()] = info
		forFree5GC[sl.SNSSAI.Hex()] = info
	}
	for key, info := range forFree5GC {
		// Without SD, the hexadecimal digits of one SST can be the decimal ones of another: 22 is 16.
		if _, taken := infos[key]; !taken {
			infos[key] = info
		}
	}
	return smfSelectionData{SubscribedSnssaiInfos: infos}
}

// sessionManagementData is SessionManagementSubscriptionData of TS 29.503 6.1.6.2.8.
type sessionManagementData struct {
	SingleNssai       subscription.SNSSAI         `json:"singleNssai"`
	DNNConfigurations map[string]dnnConfiguration `json:"dnnConfigurations"`
}

// dnnConfiguration is DnnConfiguration of TS 29.503 6.1.6.2.9.
type dnnConfiguration struct {
	PDUSessionTypes struct {
		Default string   `json:"defaultSessionType"`
		Allowed []string `json:"allowedSessionTypes"`
	} `json:"pduSessionTypes"`
	SSCModes struct {
		Default string   `json:"defaultSscMode"`
		Allowed []string `json:"allowedSscModes"`
	} `json:"sscModes"`
	QoSProfile struct {
		FiveQI int32            `json:"5qi"`
		ARP    subscription.ARP `json:"arp"`
	} `json:"5gQosProfile"`
	SessionAMBR subscription.AMBR `json:"sessionAmbr"`
	// StaticIPAddress is of the subscriber alone (IpAddress of TS 29.503 6.1.6.2.13).
	StaticIPAddress []ipAddress `json:"staticIpAddress,omitempty"`
	// The networks behind the UE, too (FrameRouteInfo of TS 29.503).
	IPv4FrameRoutes []frameRoute `json:"ipv4FrameRouteList,omitempty"`
	IPv6FrameRoutes []frameRoute `json:"ipv6FrameRouteList,omitempty"`
	// Vendor is for core5g's own SMF (TS 29.500 6.6.3). The project has no number of its own: this is the one for
	// documentation (RFC 5612), as on N4.
	Vendor *vendorConfiguration `json:"vendorSpecific-032473,omitempty"`
}

type ipAddress struct {
	IPv4   string `json:"ipv4Addr,omitempty"`
	Prefix string `json:"ipv6Prefix,omitempty"`
}

type frameRoute struct {
	IPv4 string `json:"ipv4Mask,omitempty"`
	IPv6 string `json:"ipv6Prefix,omitempty"`
}

type vendorConfiguration struct {
	// Flows are names of QoS flows of the Slice that the subscriber is given.
	Flows []string `json:"flows"`
}

// typeEthernet is a PDU session type of TS 29.571 5.4.3.1: a data network that has it has no other.
const typeEthernet = "ETHERNET"

// configureOwn adds what is the subscriber's alone. A session of Ethernet has no IP address, and no routes to it.
func (c *dnnConfiguration) configureOwn(slice subscription.SubscribedSlice, dn subscription.DataNetwork) {
	if len(slice.Flows) > 0 {
		c.Vendor = &vendorConfiguration{Flows: slice.Flows}
	}
	if slices.Contains(dn.SessionTypes, typeEthernet) {
		return
	}
	dnn := dn.DNN
	if a := slice.Addresses[dnn]; a.IPv4 != "" {
		c.StaticIPAddress = append(c.StaticIPAddress, ipAddress{IPv4: a.IPv4})
	}
	if a := slice.Addresses[dnn]; a.IPv6Prefix != "" {
		c.StaticIPAddress = append(c.StaticIPAddress, ipAddress{Prefix: a.IPv6Prefix})
	}
	for _, p := range slice.Routes[dnn].IPv4 {
		c.IPv4FrameRoutes = append(c.IPv4FrameRoutes, frameRoute{IPv4: p})
	}
	for _, p := range slice.Routes[dnn].IPv6 {
		c.IPv6FrameRoutes = append(c.IPv6FrameRoutes, frameRoute{IPv6: p})
	}
}

func configure(slice subscription.SubscribedSlice, dn subscription.DataNetwork) dnnConfiguration {
	var c dnnConfiguration
	c.configureOwn(slice, dn)
	c.PDUSessionTypes.Default = dn.SessionTypes[0]
	c.PDUSessionTypes.Allowed = dn.SessionTypes
	c.SSCModes.Default = "SSC_MODE_1"
	c.SSCModes.Allowed = []string{"SSC_MODE_1"}
	c.QoSProfile.FiveQI = dn.FiveQI
	c.QoSProfile.ARP = dn.ARP
	c.SessionAMBR = dn.AMBR
	return c
}

func (u *UDM) smData(r *http.Request) (sbi.Answer, error) {
	s, err := u.asked(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	wanted, bySlice, err := sbi.Query[subscription.SNSSAI](r, "single-nssai")
	if err != nil {
		return sbi.Answer{}, err
	}
	var snssai *subscription.SNSSAI
	if bySlice {
		snssai = &wanted
	}
	data := sessionManagement(s, snssai, r.URL.Query().Get("dnn"))
	if len(data) == 0 {
		return sbi.Answer{}, sbi.DataNotFound("the subscriber has no such slice and DNN")
	}
	return sbi.Answer{Status: http.StatusOK, Body: data}, nil
}

// sessionManagement is of one slice or nil, of one DNN or "".
func sessionManagement(s subscription.Subscriber, snssai *subscription.SNSSAI, dnn string) []sessionManagementData {
	data := []sessionManagementData{}
	for _, sl := range s.Slices {
		if snssai != nil && sl.SNSSAI != *snssai {
			continue
		}
		d := sessionManagementData{SingleNssai: sl.SNSSAI, DNNConfigurations: make(map[string]dnnConfiguration)}
		for _, dn := range sl.DataNetworks {
			if dnn == "" || strings.EqualFold(dn.DNN, dnn) { // TS 23.003 9.1
				d.DNNConfigurations[dn.DNN] = configure(sl, dn)
			}
		}
		if len(d.DNNConfigurations) > 0 {
			data = append(data, d)
		}
	}
	return data
}

// ueContextInSMFData names the SMFs that hold PDU sessions of the UE (TS 29.503 6.1.6.2.16).
func (u *UDM) ueContextInSMFData(r *http.Request) (sbi.Answer, error) {
	s, err := u.subscriber(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	data, err := u.contextInSMF(r.Context(), s.SUPI)
	if err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: data}, nil
}

type contextInSMFData struct {
	PDUSessions map[string]pduSession `json:"pduSessions,omitempty"`
}

func (u *UDM) contextInSMF(ctx context.Context, supi string) (contextInSMFData, error) {
	sessions, err := u.registrations.sessions(ctx, supi)
	return contextInSMFData{sessions}, err
}

// subscriptionDataSets are SubscriptionDataSets of TS 29.503 6.1.6.2.15. Sets that are not served here are left out.
type subscriptionDataSets struct {
	AM       *accessAndMobilityData  `json:"amData,omitempty"`
	SMFSel   *smfSelectionData       `json:"smfSelData,omitempty"`
	Contexts *contextInSMFData       `json:"uecSmfData,omitempty"`
	SM       []sessionManagementData `json:"smData,omitempty"`
}

// dataSets are the sets that dataset-names asks for, in one answer (TS 29.503 5.2.2.2.9).
func (u *UDM) dataSets(r *http.Request) (sbi.Answer, error) {
	names, err := sbi.MandatoryQuery(r, "dataset-names")
	if err != nil {
		return sbi.Answer{}, err
	}
	s, err := u.asked(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	var sets subscriptionDataSets
	for name := range strings.SplitSeq(names, ",") {
		switch name {
		case "AM":
			data := accessAndMobility(s)
			sets.AM = &data
		case "SMF_SEL":
			data := smfSelection(s)
			sets.SMFSel = &data
		case "UEC_SMF":
			data, err := u.contextInSMF(r.Context(), s.SUPI)
			if err != nil {
				return sbi.Answer{}, err
			}
			sets.Contexts = &data
		}
	}
	return sbi.Answer{Status: http.StatusOK, Body: sets}, nil
}

// subscribe keeps a subscription to changes (TS 29.503 5.2.2.3.2). AMF 1.4.5 asks with an empty callbackReference and
// with null for the resources: there is nobody to notify.
func (u *UDM) subscribe(r *http.Request) (sbi.Answer, error) {
	seen := u.seen.Load()
	s, err := u.subscriber(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	content, err := sbi.ReadContent(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	wants, err := readSubscription(content)
	if err != nil {
		return sbi.Answer{}, err
	}
	wants.Seen = wants.digests(s)
	kept, err := json.Marshal(wants)
	if err != nil {
		return sbi.Answer{}, err
	}
	id, err := u.subscriptions.Add(r.Context(), s.SUPI, kept)
	if err != nil {
		return sbi.Answer{}, err
	}
	u.changedSince(seen, s.SUPI)
	body := make(map[string]any, len(content)+2)
	for name, value := range content {
		body[name] = value
	}
	body["subscriptionId"] = id
	if wants.features != nil {
		body["supportedFeatures"] = strconv.FormatUint(*wants.features&immediateReport, 16)
	}
	if wants.immediate {
		body["report"] = wants.report(s)
	}
	return sbi.Answer{
		Status:   http.StatusCreated,
		Location: sbi.BaseURI(r) + r.URL.Path + "/" + id,
		Body:     body,
	}, nil
}

// unsubscribe ends a subscription, once.
func (u *UDM) unsubscribe(r *http.Request) (sbi.Answer, error) {
	removed, err := u.subscriptions.Remove(r.Context(), r.PathValue("supi"), r.PathValue("subscriptionId"))
	if err != nil {
		return sbi.Answer{}, err
	}
	if removed {
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
	if _, err := u.subscriber(r); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{}, sbi.SubscriptionNotFound()
}
