package configuration

import (
	"fmt"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"

	"sigs.k8s.io/yaml"
)

// The file says what a Core5G says, in its words, where there is no Kubernetes:
//
//	plmns: [{mcc: "208", mnc: "93"}]
//	tacs: ["000001"]
//	sliceCatalogue: [{sst: 1, sd: "010203"}]
//	amf:
//	  name: AMF
//	  region: 202
//	  set: 1016
//	  pointer: 0
//	  capacity: 255
//	  integrity: [NIA2, NIA1, NIA3]
//	  ciphering: [NEA2, NEA1, NEA3]
//	  periodicRegistration: 1h
//	  backoff: 30s
//	  imsVoice: false
//	  emergency: {snssai: {sst: 1}, dnn: sos, unauthenticated: true}
//	  networkName: {full: Network of the North, short: North, timeZone: "+01:00"}
type (
	file struct {
		PLMNs     []filePLMN  `json:"plmns"`
		TACs      []string    `json:"tacs"`
		Catalogue []fileSlice `json:"sliceCatalogue"`
		AMF       fileAMF     `json:"amf"`
	}
	filePLMN struct {
		MCC string `json:"mcc"`
		MNC string `json:"mnc"`
	}
	fileSlice struct {
		SST int    `json:"sst"`
		SD  string `json:"sd"`
	}
	fileAMF struct {
		Name        string          `json:"name"`
		Region      *int            `json:"region"`
		Set         *int            `json:"set"`
		Pointer     *int            `json:"pointer"`
		Capacity    *int            `json:"capacity"`
		Integrity   []string        `json:"integrity"`
		Ciphering   []string        `json:"ciphering"`
		Periodic    string          `json:"periodicRegistration"`
		Backoff     string          `json:"backoff"`
		IMSVoice    bool            `json:"imsVoice"`
		NetworkName fileNetworkName `json:"networkName"`
		Emergency   *fileEmergency  `json:"emergency"`
	}
	fileEmergency struct {
		SNSSAI          fileSlice `json:"snssai"`
		DNN             string    `json:"dnn"`
		Unauthenticated bool      `json:"unauthenticated"`
	}
	fileNetworkName struct {
		Full     string `json:"full"`
		Short    string `json:"short"`
		TimeZone string `json:"timeZone"`
	}
)

// Parse reads Settings from YAML; see above for its form. An error says what to write instead, and what is not known is one.
func Parse(text []byte) (*procedure.Settings, error) {
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	n, err := f.network()
	if err != nil {
		return nil, err
	}
	return n.Settings()
}

func (f *file) network() (n Network, err error) {
	a := &f.AMF
	n = Network{
		Name: a.Name, Region: or(a.Region, DefaultRegion), Set: or(a.Set, DefaultSet), Pointer: or(a.Pointer, DefaultPointer), Capacity: or(a.Capacity, DefaultCapacity),
		FullName: a.NetworkName.Full, ShortName: a.NetworkName.Short, Voice: a.IMSVoice,
	}
	if n.PLMNs, err = each(f.PLMNs, func(p filePLMN) (string, error) { return ParsePLMN(p.MCC, p.MNC) }); err != nil {
		return n, err
	}
	if n.TACs, err = each(f.TACs, ParseTAC); err != nil {
		return n, err
	}
	if n.Catalogue, err = each(f.Catalogue, func(s fileSlice) (record.Slice, error) { return ParseSNSSAI(s.SST, s.SD) }); err != nil {
		return n, fmt.Errorf("sliceCatalogue: %w", err)
	}
	if n.Integrity, err = each(a.Integrity, ParseIntegrity); err != nil {
		return n, fmt.Errorf("integrity: %w", err)
	}
	if n.Ciphering, err = each(a.Ciphering, ParseCiphering); err != nil {
		return n, fmt.Errorf("ciphering: %w", err)
	}
	if n.Periodic, err = duration("periodicRegistration", a.Periodic); err != nil {
		return n, err
	}
	if n.Backoff, err = duration("backoff", a.Backoff); err != nil {
		return n, err
	}
	if e := a.Emergency; e != nil {
		n.Emergency = &procedure.Emergency{DNN: e.DNN, Unauthenticated: e.Unauthenticated}
		if n.Emergency.Slice, err = ParseSNSSAI(e.SNSSAI.SST, e.SNSSAI.SD); err != nil {
			return n, fmt.Errorf("emergency: %w", err)
		}
	}
	n.Zone, err = ParseZone(a.NetworkName.TimeZone)
	return n, err
}

func duration(what, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s %.40q: write a time, for example 30s or 1h", what, text)
	}
	return d, nil
}

// each of a list, until one cannot be read.
func each[From, To any](list []From, read func(From) (To, error)) ([]To, error) {
	var out []To
	for _, from := range list {
		to, err := read(from)
		if err != nil {
			return nil, err
		}
		out = append(out, to)
	}
	return out, nil
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}
