package nrf

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"core5g.dev/core5g/images/nf/ts29571"
)

// profile is NFProfile of TS 29.510 6.1.6.2.2, as far as it is used.
type profile struct {
	NFInstanceID   string           `json:"nfInstanceId"`
	NFType         string           `json:"nfType"`
	NFStatus       string           `json:"nfStatus"`
	HeartBeatTimer int              `json:"heartBeatTimer"`
	PLMNList       []ts29571.PLMN   `json:"plmnList,omitempty"`
	IPv4Addresses  []string         `json:"ipv4Addresses"`
	Capacity       int              `json:"capacity"`
	Priority       *int             `json:"priority,omitempty"`
	Load           int              `json:"load,omitempty"`
	SNSSAIs        []ts29571.SNSSAI `json:"sNssais,omitempty"`
	NFSetIDs       []string         `json:"nfSetIdList,omitempty"`
	SMFInfo        *smfInfo         `json:"smfInfo,omitempty"`
	AMFInfo        *amfInfo         `json:"amfInfo,omitempty"`
	RecoveryTime   string           `json:"recoveryTime"`
	NFServices     []nfService      `json:"nfServices"`
}

type nfService struct {
	ServiceInstanceID string      `json:"serviceInstanceId"`
	ServiceName       string      `json:"serviceName"`
	Versions          []version   `json:"versions"`
	Scheme            string      `json:"scheme"`
	NFServiceStatus   string      `json:"nfServiceStatus"`
	APIPrefix         string      `json:"apiPrefix"`
	IPEndPoints       []ipEndPort `json:"ipEndPoints"`
}

type version struct {
	APIVersionInURI string `json:"apiVersionInUri"`
	APIFullVersion  string `json:"apiFullVersion"`
}

type ipEndPort struct {
	IPv4Address string `json:"ipv4Address"`
	Transport   string `json:"transport"`
	Port        int    `json:"port"`
}

// amfInfo is AmfInfo of TS 29.510 6.1.6.2.11.
type amfInfo struct {
	Region     string          `json:"amfRegionId"`
	Set        string          `json:"amfSetId"`
	GUAMIs     []ts29571.GUAMI `json:"guamiList"`
	TAIs       []ts29571.TAI   `json:"taiList,omitempty"`
	ForFailed  []ts29571.GUAMI `json:"backupInfoAmfFailure,omitempty"`
	ForRemoved []ts29571.GUAMI `json:"backupInfoAmfRemoval,omitempty"`
}

// smfInfo is SmfInfo of TS 29.510 6.1.6.2.12.
type smfInfo struct {
	Slices   []smfSlice `json:"sNssaiSmfInfoList"`
	Accesses []string   `json:"accessType,omitempty"`
}

type smfSlice struct {
	SNSSAI ts29571.SNSSAI `json:"sNssai"`
	DNNs   []smfDNN       `json:"dnnSmfInfoList"`
}

type smfDNN struct {
	DNN string `json:"dnn"`
}

// Function is one network function to register: where its Service is, and what it offers.
type Function struct {
	// Type is the NF type, such as AUSF.
	Type string
	// URI is the base URI of the function's Service, such as http://core5g-ausf:8000.
	URI string
	// Services maps service names to the versions in their URI.
	Services map[string][]string

	// ID is the NF instance identifier, a UUID; "" derives it from Type and URI.
	ID string
	// Sets are the NF sets that it is of (TS 29.571 NfSetId), beside those that an AMF's GUAMIs name.
	Sets []string
	// Priority among functions of the type, the lowest first, nil: it has none. Capacity relative to others, 0 means 100.
	Priority *int
	Capacity int
	// Recovery is when it last lost what it knew; zero means when the Registrar was made.
	Recovery time.Time
	// Offers is asked for what changes at run time, before each registration and each heart-beat. nil: there is nothing.
	Offers func() Offers
	// Stays is asked at the end: another process goes on with the same instance, so that the profile is left. nil: none does.
	Stays func() bool
}

// Offers is what of a profile changes at run time.
type Offers struct {
	// Load in percent.
	Load int
	// Slices that an SMF serves, with their DNNs, or an AMF, without.
	Slices []Slice
	// AMF is what an AMF says of itself, nil of the others.
	AMF *AMF
}

// AMF is what an AMF says of itself (TS 29.510 6.1.6.2.11).
type AMF struct {
	// Region is two hexadecimal digits, Set three, of which the first is 0 to 3 (TS 29.571 5.4.2).
	Region, Set string
	// GUAMIs that it serves, one at least, and the tracking areas.
	GUAMIs []ts29571.GUAMI
	TAIs   []ts29571.TAI
	// ForFailed and ForRemoved are GUAMIs of others of the set that it takes over when these fail, or are taken away.
	ForFailed, ForRemoved []ts29571.GUAMI
}

// MakeAMF is an AMF with the region and the set of its first GUAMI.
func MakeAMF(guamis []ts29571.GUAMI, tais []ts29571.TAI) (*AMF, error) {
	if len(guamis) == 0 {
		return nil, errors.New("an AMF has a GUAMI at least")
	}
	region, set, _, ok := guamis[0].Parts()
	if !ok {
		return nil, fmt.Errorf("%q is no AMF identifier: write six hexadecimal digits", guamis[0].AMFID)
	}
	return &AMF{Region: fmt.Sprintf("%02x", region), Set: fmt.Sprintf("%03x", set), GUAMIs: guamis, TAIs: tais}, nil
}

// Slice is an S-NSSAI with the DNNs that are served in it.
type Slice struct {
	SNSSAI ts29571.SNSSAI
	DNNs   []string
}

// instanceNamespace makes NF instance identifiers stable: they follow from where the function is reached
// and what it is, so that a restart replaces its profile instead of adding one.
var instanceNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("subscriber-data.core5g.dev"))

// InstanceID is the NF instance identifier of the function.
func (f Function) InstanceID() string {
	if f.ID != "" {
		return f.ID
	}
	// The same function over https takes the place of its profile over http.
	uri := f.URI
	if rest, secure := strings.CutPrefix(uri, "https://"); secure {
		uri = "http://" + rest
	}
	return uuid.NewSHA1(instanceNamespace, []byte(f.Type+" "+uri)).String()
}

func (f Function) recovery(started time.Time) time.Time {
	if f.Recovery.IsZero() {
		return started.UTC()
	}
	return f.Recovery.UTC()
}

// offer writes what changes at run time, in an order that does not.
func (p *profile) offer(o Offers) {
	p.Load = min(max(o.Load, 0), 100)
	switch {
	case p.NFType == "SMF":
		p.offerSessions(o)
	case o.AMF != nil:
		a := o.AMF
		p.AMFInfo = &amfInfo{a.Region, a.Set, a.GUAMIs, a.TAIs, a.ForFailed, a.ForRemoved}
		for _, g := range a.GUAMIs {
			if set := g.Set(); !slices.Contains(p.NFSetIDs, set) {
				p.NFSetIDs = append(slices.Clip(p.NFSetIDs), set)
			}
		}
		for _, s := range o.Slices {
			p.SNSSAIs = append(p.SNSSAIs, s.SNSSAI)
		}
		p.sortSlices()
	}
}

func (p *profile) sortSlices() {
	slices.SortFunc(p.SNSSAIs, func(a, b ts29571.SNSSAI) int { return strings.Compare(a.Hex(), b.Hex()) })
}

func (p *profile) offerSessions(o Offers) {
	p.SMFInfo = &smfInfo{Slices: []smfSlice{}, Accesses: []string{"3GPP_ACCESS"}}
	for _, s := range o.Slices {
		slice := smfSlice{SNSSAI: s.SNSSAI, DNNs: []smfDNN{}}
		for _, dnn := range slices.Sorted(slices.Values(s.DNNs)) {
			slice.DNNs = append(slice.DNNs, smfDNN{dnn})
		}
		p.SMFInfo.Slices = append(p.SMFInfo.Slices, slice)
		p.SNSSAIs = append(p.SNSSAIs, s.SNSSAI)
	}
	slices.SortFunc(p.SMFInfo.Slices, func(a, b smfSlice) int { return strings.Compare(a.SNSSAI.Hex(), b.SNSSAI.Hex()) })
	p.sortSlices()
}

func (f Function) profile(plmns []ts29571.PLMN, started time.Time, heartBeat time.Duration) (profile, error) {
	u, err := url.Parse(f.URI)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return profile{}, fmt.Errorf("%s: %q is not the URI of a Service: write http://host:port or https://host:port", f.Type, f.URI)
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return profile{}, fmt.Errorf("%s: %q has no valid port", f.Type, f.URI)
		}
	}
	p := profile{
		NFInstanceID:   f.InstanceID(),
		NFType:         f.Type,
		NFStatus:       "REGISTERED",
		HeartBeatTimer: int(heartBeat / time.Second),
		PLMNList:       plmns,
		// A Service name, as free5GC's own functions register: an fqdn would be taken for a whole URI.
		IPv4Addresses: []string{u.Hostname()},
		Capacity:      cmp.Or(f.Capacity, 100),
		Priority:      f.Priority,
		NFSetIDs:      f.Sets,
		RecoveryTime:  f.recovery(started).Format(time.RFC3339),
	}
	if f.Offers != nil {
		p.offer(f.Offers())
	}
	for _, name := range sortedKeys(f.Services) {
		s := nfService{
			ServiceInstanceID: name,
			ServiceName:       name,
			Scheme:            u.Scheme,
			NFServiceStatus:   "REGISTERED",
			APIPrefix:         f.URI,
			IPEndPoints:       []ipEndPort{{IPv4Address: u.Hostname(), Transport: "TCP", Port: port}},
		}
		for _, v := range f.Services[name] {
			s.Versions = append(s.Versions, version{APIVersionInURI: v, APIFullVersion: v[1:] + ".0.0"})
		}
		p.NFServices = append(p.NFServices, s)
	}
	return p, nil
}
