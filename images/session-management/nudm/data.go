package nudm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	sdm  = "nudm-sdm"
	uecm = "nudm-uecm"
)

// Client calls UDMs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

func service(name string) sbi.Service { return sbi.Service{Type: "UDM", Name: name} }

// Services are what no PDU session is established without.
func Services() []sbi.Service { return []sbi.Service{service(sdm), service(uecm)} }

// Data is what a subscription says of one DNN of a slice (DnnConfiguration, TS 29.503 6.1.6.2.9). What it does not say
// is zero.
type Data struct {
	SNSSAI ts29571.SNSSAI
	// DNN of the configuration: the one that was asked for, or * where the subscription has it for all.
	DNN string
	// Types are IPV4, IPV6, IPV4V6, UNSTRUCTURED, ETHERNET; the default is one of those allowed.
	DefaultType  string
	AllowedTypes []string
	// SSC modes are 1 to 3.
	DefaultSSC  uint8
	AllowedSSCs []uint8
	// FiveQI, ARP and Priority (0: that of the 5QI) are of the default QoS flow; FiveQI 0: the subscription has none.
	FiveQI   uint8
	ARP      ts29571.ARP
	Priority uint8
	// AMBR of the session, nil where the subscription has none.
	AMBR *ts29571.AMBR
	// IPv4 and IPv6 are static addresses, invalid where there is none; IPv6 is the prefix, /64 where no length is said.
	IPv4 netip.Addr
	IPv6 netip.Prefix
	// Routes are the networks behind the UE (framed routes, TS 23.501 5.6.14), each once and in their order.
	Routes []netip.Prefix
	// Integrity and Confidentiality of the user plane are REQUIRED, PREFERRED, NOT_NEEDED, or "" where nothing is said.
	Integrity, Confidentiality string
	// ChargingCharacteristics are four hexadecimal digits.
	ChargingCharacteristics string
	// AlwaysOn: each session to the DNN is.
	AlwaysOn bool
	// Flows are names of QoS flows of the Slice that the subscriber is given. Only core5g's own UDM knows them.
	Flows []string
}

// Allows reports whether the subscription has the PDU session type.
func (d *Data) Allows(kind string) bool {
	for _, k := range d.AllowedTypes {
		if k == kind {
			return true
		}
	}
	return d.DefaultType == kind
}

// Data gives what the subscription says of a DNN of a slice. A *sbi.Refused with 404 is a UE without it.
func (c *Client) Data(ctx context.Context, supi string, snssai ts29571.SNSSAI, dnn string, serving ts29571.PLMN) (*Data, error) {
	const operation = "GetSmData"
	slice, err := json.Marshal(snssai)
	if err != nil {
		return nil, &sbi.NotSent{Operation: operation, Err: err}
	}
	query := url.Values{"single-nssai": {string(slice)}, "dnn": {dnn}}
	if serving.MCC != "" {
		plmn, err := json.Marshal(serving)
		if err != nil {
			return nil, &sbi.NotSent{Operation: operation, Err: err}
		}
		query.Set("plmn-id", string(plmn))
	}
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodGet, Service: service(sdm), Repeatable: true, Query: query,
		Path: SubscriberPath(supi) + "/sm-data",
	})
	if err != nil {
		return nil, err
	}
	out, err := decodeData(reply.Message.JSON, snssai, dnn)
	if errors.Is(err, errNotSubscribed) {
		return nil, &sbi.Refused{Operation: operation, Status: http.StatusNotFound, Cause: "DATA_NOT_FOUND", Detail: err.Error()}
	}
	if err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

var errNotSubscribed = errors.New("the subscription has no such slice and DNN")

type sliceJSON struct {
	SNSSAI ts29571.SNSSAI             `json:"singleNssai"`
	DNNs   map[string]json.RawMessage `json:"dnnConfigurations"`
}

// decodeData reads SmSubsData (TS 29.503 6.1.6.2.79) or the list of SessionManagementSubscriptionData that it was
// before, and takes the configuration of the slice and the DNN.
func decodeData(raw []byte, snssai ts29571.SNSSAI, dnn string) (*Data, error) {
	var list []json.RawMessage
	raw = bytes.TrimSpace(raw)
	if bytes.HasPrefix(raw, []byte("{")) {
		var outer struct {
			Individual []json.RawMessage `json:"individualSmSubsData"`
		}
		if err := json.Unmarshal(raw, &outer); err != nil {
			return nil, err
		}
		list = outer.Individual
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for _, item := range list {
		var slice sliceJSON
		if err := json.Unmarshal(item, &slice); err != nil {
			return nil, err
		}
		if slice.SNSSAI != snssai {
			continue
		}
		for name, config := range slice.DNNs {
			if strings.EqualFold(name, dnn) { // TS 23.003 9.1: a DNN is a name as those of DNS
				return decodeDNN(config, snssai, name)
			}
		}
		if config := slice.DNNs["*"]; config != nil {
			return decodeDNN(config, snssai, "*")
		}
	}
	return nil, errNotSubscribed
}

type dnnJSON struct {
	Types *struct {
		Default string   `json:"defaultSessionType"`
		Allowed []string `json:"allowedSessionTypes"`
	} `json:"pduSessionTypes"`
	SSC *struct {
		Default string   `json:"defaultSscMode"`
		Allowed []string `json:"allowedSscModes"`
	} `json:"sscModes"`
	QoS *struct {
		FiveQI   uint8           `json:"5qi"`
		ARP      json.RawMessage `json:"arp"`
		Priority uint8           `json:"priorityLevel"`
	} `json:"5gQosProfile"`
	AMBR   *ts29571.AMBR `json:"sessionAmbr"`
	Static []struct {
		IPv4   string `json:"ipv4Addr"`
		IPv6   string `json:"ipv6Addr"`
		Prefix string `json:"ipv6Prefix"`
	} `json:"staticIpAddress"`
	Routes4  []frameRouteJSON `json:"ipv4FrameRouteList"`
	Routes6  []frameRouteJSON `json:"ipv6FrameRouteList"`
	Security *struct {
		Integrity       string `json:"upIntegr"`
		Confidentiality string `json:"upConfid"`
	} `json:"upSecurity"`
	Charging string `json:"3gppChargingCharacteristics"`
	AlwaysOn bool   `json:"alwaysOnInd"`
	// Vendor is of core5g's own UDM (TS 29.500 6.6.3), under the number for documentation (RFC 5612).
	Vendor struct {
		Flows []string `json:"flows"`
	} `json:"vendorSpecific-032473"`
}

// frameRouteJSON is FrameRouteInfo of TS 29.503.
type frameRouteJSON struct {
	IPv4 string `json:"ipv4Mask"`
	IPv6 string `json:"ipv6Prefix"`
}

func decodeDNN(raw []byte, snssai ts29571.SNSSAI, dnn string) (*Data, error) {
	var in dnnJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("the configuration of DNN %.100q: %w", dnn, err)
	}
	out := &Data{SNSSAI: snssai, DNN: dnn, AMBR: in.AMBR, ChargingCharacteristics: in.Charging, AlwaysOn: in.AlwaysOn, Flows: in.Vendor.Flows}
	if in.Types != nil {
		out.DefaultType, out.AllowedTypes = in.Types.Default, in.Types.Allowed
	}
	if in.SSC != nil {
		out.DefaultSSC = sscMode(in.SSC.Default)
		for _, m := range in.SSC.Allowed {
			if n := sscMode(m); n != 0 {
				out.AllowedSSCs = append(out.AllowedSSCs, n)
			}
		}
	}
	if in.QoS != nil {
		out.FiveQI, out.Priority = in.QoS.FiveQI, in.QoS.Priority
		if len(in.QoS.ARP) > 0 {
			if err := out.ARP.UnmarshalJSON(in.QoS.ARP); err != nil {
				return nil, err
			}
		}
	}
	if in.Security != nil {
		out.Integrity, out.Confidentiality = in.Security.Integrity, in.Security.Confidentiality
	}
	for _, a := range in.Static {
		if err := out.addStatic(a.IPv4, a.IPv6, a.Prefix); err != nil {
			return nil, fmt.Errorf("staticIpAddress of DNN %.100q: %w", dnn, err)
		}
	}
	for _, list := range [][]frameRouteJSON{in.Routes4, in.Routes6} {
		for _, r := range list {
			if err := out.addRoute(r.IPv4, false); err != nil {
				return nil, fmt.Errorf("ipv4Mask of DNN %.100q: %w", dnn, err)
			}
			if err := out.addRoute(r.IPv6, true); err != nil {
				return nil, fmt.Errorf("ipv6Prefix of DNN %.100q: %w", dnn, err)
			}
		}
	}
	slices.SortFunc(out.Routes, netip.Prefix.Compare)
	out.Routes = slices.Compact(out.Routes)
	return out, nil
}

// addRoute takes a network behind the UE, "" for none.
func (d *Data) addRoute(text string, v6 bool) error {
	if text == "" {
		return nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return err
	case p.Addr().Is6() != v6 || p.Addr().Is4In6():
		return fmt.Errorf("%s is of the other IP version", p)
	case p != p.Masked():
		return fmt.Errorf("%s has bits behind its length", p)
	}
	d.Routes = append(d.Routes, p)
	return nil
}

// sscMode reads SSC_MODE_1 to SSC_MODE_3; 0 is none of them.
func sscMode(text string) uint8 {
	if len(text) == len("SSC_MODE_1") && strings.HasPrefix(text, "SSC_MODE_") && text[9] >= '1' && text[9] <= '3' {
		return text[9] - '0'
	}
	return 0
}

// addStatic takes an IpAddress (TS 29.503 6.1.6.2.13).
func (d *Data) addStatic(v4, v6, prefix string) (err error) {
	if v4 != "" {
		if d.IPv4, err = netip.ParseAddr(v4); err == nil && !d.IPv4.Is4() {
			err = fmt.Errorf("%s is no IPv4 address", d.IPv4)
		}
	}
	switch {
	case err != nil:
	case prefix != "":
		if d.IPv6, err = netip.ParsePrefix(prefix); err == nil && !d.IPv6.Addr().Is6() {
			err = fmt.Errorf("%s is no IPv6 prefix", d.IPv6)
		}
	case v6 != "":
		var a netip.Addr
		if a, err = netip.ParseAddr(v6); err == nil && !a.Is6() {
			err = fmt.Errorf("%s is no IPv6 address", a)
		}
		d.IPv6 = netip.PrefixFrom(a, 64)
	}
	d.IPv6 = d.IPv6.Masked()
	return err
}
