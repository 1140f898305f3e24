package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"core5g.dev/core5g/images/nf/sbitls"

	"github.com/free5gc/openapi/models"
)

func octets(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Parts of an accept as SMF 1.2.4 makes it: up to the session AMBR, the elements between, and the last two.
const (
	acceptBegins   = "2e0100c211" + "0009010006313101010109" + "06" + "060001060001"
	acceptElements = "5932" + "2905010a2d0001" + "220401010203" + "8f" + "79000601200141" + "0109"
	optionsOf1400  = "7b000d" + "80" + "000d" + "04" + "08080808" + "0010" + "02" + "0578"
	dnnInternet    = "2509" + "08" + "696e7465726e6574"
)

func TestLinkMTUOfTheDNNIsTold(t *testing.T) {
	l := linkMTU{mtus: map[string]uint16{"internet": 1300, "ims.mnc093": 9000}}
	tests := []struct {
		name, message, want string
	}{
		{name: "an accept", message: acceptBegins + acceptElements + optionsOf1400 + dnnInternet,
			want: acceptBegins + acceptElements + "7b000d80000d0408080808001002" + "0514" + dnnInternet},
		{name: "a DNN of two labels", message: acceptBegins + optionsOf1400 + "250b" + "03696d73" + "066d6e63303933",
			want: acceptBegins + "7b000d80000d0408080808001002" + "2328" + "250b" + "03696d73" + "066d6e63303933"},
		{name: "a DNN without an MTU", message: acceptBegins + optionsOf1400 + "2504" + "03696d73"},
		{name: "no DNN", message: acceptBegins + optionsOf1400},
		{name: "a UE that did not ask", message: acceptBegins + acceptElements + "7b000880000d0408080808" + dnnInternet},
		{name: "a release command", message: "2e0100d324"},
		{name: "mobility management", message: "7e0042"},
		{name: "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.message
			}
			message := octets(t, tt.message)
			l.write(message)
			if got := hex.EncodeToString(message); got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func FuzzLinkMTU(f *testing.F) {
	whole, _ := hex.DecodeString(acceptBegins + acceptElements + optionsOf1400 + dnnInternet)
	for n := range whole {
		f.Add(whole[:n])
	}
	l := linkMTU{mtus: map[string]uint16{"internet": 1300, "": 1280}}
	f.Fuzz(func(t *testing.T, message []byte) {
		got := bytes.Clone(message)
		l.write(got)
		if len(got) != len(message) {
			t.Errorf("%d octets have become %d", len(message), len(got))
		}
	})
}

// What free5GC's own client sends arrives as it was, but for the link MTU and the second DNS server.
func TestOptionsOnTheWayToTheAMF(t *testing.T) {
	var n1, n2 []byte
	amf := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil || int64(len(content)) != r.ContentLength {
			t.Errorf("%d octets of %d, %v", len(content), r.ContentLength, err)
		}
		n1 = n1Message(r.Header.Get("Content-Type"), content)
		n2 = nil
		if bytes.Contains(content, []byte("the N2 information")) {
			n2 = []byte("the N2 information")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"cause": "N1_N2_TRANSFER_INITIATED"}`)
	}))
	amf.Config.Protocols = new(http.Protocols)
	amf.Config.Protocols.SetUnencryptedHTTP2(true)
	amf.Start()
	defer amf.Close()
	app := newApp(t)
	accept := acceptBegins + acceptElements + optionsOf1400 + dnnInternet
	second := map[string]netip.Addr{"internet": netip.MustParseAddr("8.8.4.4")}
	for _, tt := range []struct {
		name    string
		mtus    map[string]uint16
		servers map[string]netip.Addr
		want    string
	}{
		{name: "nothing to tell", want: accept},
		{name: "a link MTU", mtus: map[string]uint16{"internet": 1300},
			want: acceptBegins + acceptElements + "7b000d80000d04080808080010020514" + dnnInternet},
		{name: "a second DNS server", servers: second,
			want: acceptBegins + acceptElements + "7b001480000d0408080808000d04080804040010020578" + dnnInternet},
		{name: "both", mtus: map[string]uint16{"internet": 1300}, servers: second,
			want: acceptBegins + acceptElements + "7b001480000d0408080808000d04080804040010020514" + dnnInternet},
	} {
		t.Run(tt.name, func(t *testing.T) {
			callWith(t, repaired(sbitls.Unprotected(), tt.mtus, tt.servers))
			_, status, err := app.Consumer().N1N2MessageTransfer(t.Context(), "imsi-208930000000001", models.N1N2MessageTransferRequest{
				JsonData: &models.N1N2MessageTransferReqData{
					PduSessionId:       1,
					N1MessageContainer: &models.N1MessageContainer{N1MessageClass: "SM", N1MessageContent: &models.RefToBinaryData{ContentId: "GSM_NAS"}},
					N2InfoContainer: &models.N2InfoContainer{
						N2InformationClass: models.N2InformationClass_SM,
						SmInfo: &models.N2SmInformation{PduSessionId: 1, N2InfoContent: &models.N2InfoContent{
							NgapIeType: models.NgapIeType_PDU_RES_SETUP_REQ, NgapData: &models.RefToBinaryData{ContentId: "N2SmInformation"},
						}},
					},
				},
				BinaryDataN1Message:     octets(t, accept),
				BinaryDataN2Information: []byte("the N2 information"),
			}, amf.URL)
			if err != nil || status == nil || *status != http.StatusOK {
				t.Fatalf("status %v, %v", status, err)
			}
			if got := hex.EncodeToString(n1); got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
			if n2 == nil {
				t.Error("the N2 information has not arrived")
			}
		})
	}
}

func TestLinkMTUsOfTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "smfcfg.yaml")
	text := `configuration:
  snssaiInfos:
    - sNssai: {sst: 1}
      dnnInfos: [{dnn: internet, mtu: 1300}, {dnn: ims}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := linkMTUs(file)
	if err != nil || !maps.Equal(got, map[string]uint16{"internet": 1300}) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("configuration: {snssaiInfos: [{dnnInfos: [{dnn: a, mtu: 70000}]}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := linkMTUs(file); err == nil {
		t.Error("an MTU of 70000 was read")
	}
}
