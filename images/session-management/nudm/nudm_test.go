package nudm

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriber-data/udm"
)

const manifests = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  controlPlane: Core5G
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - {dnn: internet, uePools: [10.45.0.0/16], fiveQI: 7, ambr: {uplink: 1 Mbps, downlink: 2 Gbps}, arp: {priorityLevel: 3, preemptionCapability: MayPreempt, preemptionVulnerability: Preemptable}}
  - {dnn: six, uePools: ["2001:db8::/48"]}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices:
  - name: internet
    addresses: [{dnn: internet, ipv4: 10.99.0.9}]
    flows: [voice]
`

const supi = "imsi-208930000000001"

var (
	home  = ts29571.PLMN{MCC: "208", MNC: "93"}
	slice = ts29571.SNSSAI{SST: 1, SD: "010203"}
)

// start is a client of core5g's own UDM, with one subscriber.
func start(t *testing.T) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subscribers.yaml")
	if err := os.WriteFile(path, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := subscription.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	router := sbi.NewRouter(log, registry)
	udm.New(subscription.NewDirectory(file), records.InMemory(), sbitest.Transport(t), log, registry).Register(router)
	return client(t, router)
}

func client(t *testing.T, h http.Handler) *Client {
	t.Helper()
	return NewClient(sbitest.Client(t, "UDM", sbitest.Serve(t, h)))
}

func refused(t *testing.T, err error, status int, cause string) {
	t.Helper()
	var r *sbi.Refused
	if !errors.As(err, &r) || r.Status != status || r.Cause != cause {
		t.Errorf("%v, want %d %s", err, status, cause)
	}
}

func TestDataOfOurUDM(t *testing.T) {
	c := start(t)
	got, err := c.Data(t.Context(), supi, slice, "internet", home)
	want := &Data{
		SNSSAI: slice, DNN: "internet", DefaultType: "IPV4", AllowedTypes: []string{"IPV4"}, DefaultSSC: 1, AllowedSSCs: []uint8{1},
		FiveQI: 7, ARP: ts29571.ARP{Priority: 3, MayPreempt: true, Preemptable: true}, AMBR: &ts29571.AMBR{Uplink: 1e6, Downlink: 2e9},
		IPv4: netip.MustParseAddr("10.99.0.9"), Flows: []string{"voice"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := c.Data(t.Context(), supi, slice, "six", home); err != nil || !got.Allows("IPV6") || got.Allows("IPV4") {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = c.Data(t.Context(), supi, slice, "elsewhere", home)
	refused(t, err, 404, "DATA_NOT_FOUND")
	_, err = c.Data(t.Context(), supi, ts29571.SNSSAI{SST: 9}, "internet", home)
	refused(t, err, 404, "DATA_NOT_FOUND")
	_, err = c.Data(t.Context(), "imsi-208930000000009", slice, "internet", home)
	refused(t, err, 404, "USER_NOT_FOUND")
}

func TestSubscriptionsAtOurUDM(t *testing.T) {
	c := start(t)
	uri, now, err := c.Subscribe(t.Context(), Subscription{
		SUPI: supi, SMFInstanceID: "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f", CallbackURI: "http://smf:8000/x", SNSSAI: slice, DNN: "internet",
		Expires: time.Now().Add(time.Hour),
	})
	if err != nil || !strings.Contains(uri, "/nudm-sdm/v2/"+supi+"/sdm-subscriptions/") {
		t.Fatalf("%q, %v", uri, err)
	}
	asked, err := c.Data(t.Context(), supi, slice, "internet", home)
	if diff := cmp.Diff(asked, now, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" || err != nil {
		t.Errorf("%v, with the answer came otherwise than when it is asked for (-asked +came):\n%s", err, diff)
	}
	for range 2 { // again, it has ended
		if err := c.Unsubscribe(t.Context(), uri); err != nil {
			t.Error(err)
		}
	}
	_, now, err = c.Subscribe(t.Context(), Subscription{SUPI: supi, SMFInstanceID: "x", CallbackURI: "http://smf:8000/y", SNSSAI: slice, DNN: "elsewhere"})
	if now != nil || err != nil {
		t.Errorf("of a DNN that there is not: %+v, %v", now, err)
	}
	_, _, err = c.Subscribe(t.Context(), Subscription{SUPI: supi, SMFInstanceID: "x", CallbackURI: "nowhere"})
	refused(t, err, 400, "MANDATORY_IE_INCORRECT")
}

// What a UDM is told of a subscription, and what is made of its answers (TS 29.503 5.2.2.3, 6.1.6.2.3).
func TestSubscribing(t *testing.T) {
	subscription := Subscription{
		SUPI: supi, SMFInstanceID: "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f", CallbackURI: "http://smf:8000/x", SNSSAI: slice, DNN: "internet", Expires: time.Unix(1_800_000_000, 0).UTC(),
	}
	const content = `{"nfInstanceId":"4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f","callbackReference":"http://smf:8000/x",` +
		`"monitoredResourceUris":["/nudm-sdm/v2/imsi-208930000000001/sm-data"],"singleNssai":{"sst":1,"sd":"010203"},"dnn":"internet","expires":"2027-01-15T08:00:00Z","immediateReport":true,"supportedFeatures":"2"}`
	const at = "http://udm:8000/nudm-sdm/v2/imsi-208930000000001/sdm-subscriptions/7"
	data := &Data{SNSSAI: slice, DNN: "internet", DefaultType: "IPV4", AllowedTypes: []string{}, DefaultSSC: 1, AllowedSSCs: []uint8{}}
	const ofData = `[{"singleNssai":{"sst":1,"sd":"010203"},"dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4"},"sscModes":{"defaultSscMode":"SSC_MODE_1"}}}}]`
	var unknown *sbi.Unknown
	var refusal *sbi.Refused
	for sentence, c := range map[string]struct {
		status         int
		location, body string
		wantURI        string
		wantNow        *Data
		wantAs         any
	}{
		"it does":                                     {201, at, `{}`, at, nil, nil},
		"it does, and says nothing":                   {201, at, ``, at, nil, nil},
		"it does, and says what there is":             {201, at, `{"report":{"smData":` + ofData + `}}`, at, data, nil},
		"what there is, as of Release 17":             {201, at, `{"report":{"smData":{"individualSmSubsData":` + ofData + `}}}`, at, data, nil},
		"it says what there is of others":             {201, at, `{"report":{"amData":{}}}`, at, nil, nil},
		"it says that there is nothing":               {201, at, `{"report":{"smData":[]}}`, at, nil, nil},
		"it says null":                                {201, at, `{"report":{"smData":null}}`, at, nil, nil},
		"it says what cannot be read":                 {201, at, `{"report":{"smData":7}}`, at, nil, nil},
		"it does, and what it answers cannot be read": {201, at, `{"report":7}`, at, nil, nil},
		"it does, and does not say where":             {201, "", `{}`, "", nil, &unknown},
		"it knows no such subscriber":                 {404, "", `{"cause":"USER_NOT_FOUND"}`, "", nil, &refusal},
		"it does no such thing":                       {501, "", `{"cause":"UNSUPPORTED_RESOURCE_URI"}`, "", nil, &refusal},
	} {
		t.Run(sentence, func(t *testing.T) {
			cl := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, err := io.ReadAll(r.Body)
				if diff := cmp.Diff(content, string(raw)); diff != "" || err != nil || r.URL.Path != "/nudm-sdm/v2/imsi-208930000000001/sdm-subscriptions" {
					t.Errorf("%s, %v (-want +got):\n%s", r.URL.Path, err, diff)
				}
				if c.location != "" {
					w.Header().Set("Location", c.location)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			uri, now, err := cl.Subscribe(t.Context(), subscription)
			if diff := cmp.Diff(c.wantNow, now, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what there is (-want +got):\n%s", diff)
			}
			if uri != c.wantURI || (c.wantAs == nil) != (err == nil) || c.wantAs != nil && !errors.As(err, c.wantAs) {
				t.Errorf("%q, %v", uri, err)
			}
		})
	}
}

func TestRegistrationsAtOurUDM(t *testing.T) {
	c := start(t)
	r := Registration{SMFInstanceID: "a", SessionID: 5, SNSSAI: slice, DNN: "internet", PLMN: home, Time: time.Now()}
	for range 2 {
		if err := c.Register(t.Context(), supi, r); err != nil {
			t.Fatal(err)
		}
	}
	// Another SMF's registration is not ours to end, and ours may have ended.
	for _, instance := range []string{"b", "a", "a"} {
		if err := c.Deregister(t.Context(), supi, 5, instance); err != nil {
			t.Error(err)
		}
	}
	refused(t, c.Register(t.Context(), "imsi-208930000000009", r), 404, "USER_NOT_FOUND")
	r.SessionID = 0
	var bad *sbi.Refused
	if err := c.Register(t.Context(), supi, r); !errors.As(err, &bad) || bad.Status != 400 {
		t.Errorf("%v", err)
	}
}

func TestDataOfOtherUDMs(t *testing.T) {
	v6 := netip.MustParsePrefix("2001:db8:0:1::/64")
	rest := `"pduSessionTypes":{"defaultSessionType":"IPV4V6","allowedSessionTypes":["IPV4"]},"sscModes":{"defaultSscMode":"SSC_MODE_1","allowedSscModes":["SSC_MODE_2","SSC_MODE_9"]}`
	config := func(more string) string { return `{` + rest + more + `}` }
	base := Data{SNSSAI: slice, DNN: "internet", DefaultType: "IPV4V6", AllowedTypes: []string{"IPV4"}, DefaultSSC: 1, AllowedSSCs: []uint8{2}}
	with := func(change func(*Data)) *Data {
		d := base
		change(&d)
		return &d
	}
	in := func(config string) string {
		return `[{"singleNssai":{"sst":2},"dnnConfigurations":{}},{"singleNssai":{"sst":1,"sd":"010203"},"dnnConfigurations":{"Internet":` + config + `}}]`
	}
	for sentence, c := range map[string]struct {
		in        string
		want      *Data
		wantError string
	}{
		"as little as there can be": {in: in(config("")), want: with(func(d *Data) { d.DNN = "Internet" })},
		"in the form of release 17": {in: `{"individualSmSubsData":` + in(config("")) + `}`, want: with(func(d *Data) { d.DNN = "Internet" })},
		"for all DNNs":              {in: strings.Replace(in(config("")), "Internet", "*", 1), want: with(func(d *Data) { d.DNN = "*" })},
		"all there is": {
			in: in(config(`,"5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8,"preemptCap":"NOT_PREEMPT","preemptVuln":"PREEMPTABLE"},"priorityLevel":70},
				"sessionAmbr":{"uplink":"1 Gbps","downlink":"1.5 Gbps"},"staticIpAddress":[{"ipv4Addr":"10.1.2.3"},{"ipv6Prefix":"2001:db8:0:1::/64"}],
				"upSecurity":{"upIntegr":"REQUIRED","upConfid":"PREFERRED"},"3gppChargingCharacteristics":"0800","alwaysOnInd":true`)),
			want: with(func(d *Data) {
				d.DNN, d.FiveQI, d.Priority, d.ARP = "Internet", 9, 70, ts29571.ARP{Priority: 8, Preemptable: true}
				d.AMBR, d.IPv4, d.IPv6 = &ts29571.AMBR{Uplink: 1e9, Downlink: 15e8}, netip.MustParseAddr("10.1.2.3"), v6
				d.Integrity, d.Confidentiality, d.ChargingCharacteristics, d.AlwaysOn = "REQUIRED", "PREFERRED", "0800", true
			}),
		},
		"a static IPv6 address is its prefix": {
			in: in(config(`,"staticIpAddress":[{"ipv6Addr":"2001:db8:0:1::7"}]`)), want: with(func(d *Data) { d.DNN, d.IPv6 = "Internet", v6 }),
		},
		"networks behind the UE, each once and in their order": {
			in: in(config(`,"ipv6FrameRouteList":[{"ipv6Prefix":"2001:db8:7::/48"}],"ipv4FrameRouteList":[{"ipv4Mask":"192.168.8.0/24"},{"ipv4Mask":"192.168.7.0/24"},{"ipv4Mask":"192.168.8.0/24"},{}]`)),
			want: with(func(d *Data) {
				d.DNN, d.Routes = "Internet", []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("192.168.8.0/24"), netip.MustParsePrefix("2001:db8:7::/48")}
			}),
		},
		"a network that is none":      {in: in(config(`,"ipv4FrameRouteList":[{"ipv4Mask":"192.168.7.0"}]`)), wantError: "ipv4Mask"},
		"a network with host bits":    {in: in(config(`,"ipv4FrameRouteList":[{"ipv4Mask":"192.168.7.1/24"}]`)), wantError: "behind its length"},
		"a network of the other kind": {in: in(config(`,"ipv6FrameRouteList":[{"ipv6Prefix":"192.168.7.0/24"}]`)), wantError: "ipv6Prefix"},
		"another slice":               {in: `[{"singleNssai":{"sst":1},"dnnConfigurations":{"internet":{}}}]`, wantError: "DATA_NOT_FOUND"},
		"nothing":                     {in: `[]`, wantError: "DATA_NOT_FOUND"},
		"an address that is none":     {in: in(config(`,"staticIpAddress":[{"ipv4Addr":"10.1.2"}]`)), wantError: "staticIpAddress"},
		"an IPv6 address as IPv4":     {in: in(config(`,"staticIpAddress":[{"ipv4Addr":"::1"}]`)), wantError: "is no IPv4 address"},
		"an IPv4 prefix as IPv6":      {in: in(config(`,"staticIpAddress":[{"ipv6Prefix":"10.0.0.0/8"}]`)), wantError: "is no IPv6 prefix"},
		"an AMBR that is none":        {in: in(config(`,"sessionAmbr":{"uplink":"fast","downlink":"1 bps"}`)), wantError: "no bit rate"},
		"a 5QI that is none":          {in: in(config(`,"5gQosProfile":{"5qi":256}`)), wantError: "5qi"},
		"an answer of another shape":  {in: `"no"`, wantError: "cannot unmarshal"},
	} {
		t.Run(sentence, func(t *testing.T) {
			cl := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if q.Get("single-nssai") != `{"sst":1,"sd":"010203"}` || q.Get("dnn") != "internet" || q.Get("plmn-id") != `{"mcc":"208","mnc":"93"}` {
					t.Errorf("query %v", q)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.in))
			}))
			got, err := cl.Data(t.Context(), supi, slice, "internet", home)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Errorf("%+v, %v, want %q", got, err, c.wantError)
				}
				return
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzData(f *testing.F) {
	f.Add([]byte(`[{"singleNssai":{"sst":1,"sd":"010203"},"dnnConfigurations":{"internet":{"staticIpAddress":[{"ipv6Addr":"::1"},{"ipv4Addr":"1.2.3.4"}],"5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8}}}}}]`))
	f.Add([]byte(`{"individualSmSubsData":[{"singleNssai":{"sst":1,"sd":"010203"},"dnnConfigurations":{"*":{"sessionAmbr":{"uplink":"1 bps","downlink":"1 bps"}}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := decodeData(raw, slice, "internet")
		if err != nil {
			return
		}
		if d.SNSSAI != slice || d.DNN != "*" && !strings.EqualFold(d.DNN, "internet") || d.DefaultSSC > 3 || d.IPv4.IsValid() && !d.IPv4.Is4() || d.IPv6.IsValid() && d.IPv6 != d.IPv6.Masked() {
			t.Errorf("%+v", d)
		}
	})
}
