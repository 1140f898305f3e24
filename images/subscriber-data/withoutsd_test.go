package subscriberdata

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// S-NSSAIs without SD, the commonest real ones: each function answers for them, and an SST is not taken for another one's, whose hexadecimal digits
// are its decimal ones.
func TestSlicesWithoutSD(t *testing.T) {
	bare := func(name string, sst int32, dnn v1alpha1.DNN) *v1alpha1.Slice {
		s := makeSlice(name, "", v1alpha1.DataNetwork{DNN: dnn, UEPools: []v1alpha1.CIDR{"10.60.0.0/16"}})
		s.Spec.SNSSAI.SST = sst
		return s
	}
	objects := append(defaultObjects(), bare("first", 1, "first"), bare("early", 16, "early"), bare("late", 22, "late"))
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Core5G:
			o.Spec.ControlPlane = v1alpha1.ControlPlaneCore5G
			o.Spec.SliceCatalogue = append(o.Spec.SliceCatalogue, v1alpha1.SNSSAI{SST: 1}, v1alpha1.SNSSAI{SST: 16}, v1alpha1.SNSSAI{SST: 22})
		case *v1alpha1.Subscriber:
			if o.Spec.SUPI == supiOne {
				o.Spec.Slices = []v1alpha1.SubscribedSlice{{Name: "first"}, {Name: "early"}, {Name: "late"}}
			}
		}
	}
	c := startCore(t, objects...)
	get := func(path string, into any) {
		t.Helper()
		r := c.do("GET", path, "")
		if r.status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, r.status, r.body)
		}
		r.into(t, into)
	}
	t.Run("the UDM names them to the AMF", func(t *testing.T) {
		var nssai struct{ SingleNssais, DefaultSingleNssais []map[string]any }
		get("/nudm-sdm/v2/"+supiOne+"/nssai", &nssai)
		var got []map[string]any
		for _, s := range append(nssai.DefaultSingleNssais, nssai.SingleNssais...) {
			if !slices.ContainsFunc(got, func(x map[string]any) bool { return cmp.Equal(x, s) }) {
				got = append(got, s)
			}
		}
		if diff := cmp.Diff([]map[string]any{{"sst": 1.0}, {"sst": 16.0}, {"sst": 22.0}}, got); diff != "" {
			t.Errorf("slices (-want +got):\n%s", diff)
		}
	})
	t.Run("and what is chosen by", func(t *testing.T) {
		var selection struct {
			SubscribedSnssaiInfos map[string]struct{ DNNInfos []struct{ DNN string } }
		}
		get("/nudm-sdm/v2/"+supiOne+"/smf-select-data", &selection)
		got := map[string]string{}
		for key, info := range selection.SubscribedSnssaiInfos {
			got[key] = info.DNNInfos[0].DNN
		}
		// 01, 10 and 16 are hexadecimal keys of free5GC's; 16 is the decimal one of another S-NSSAI, and that counts.
		if diff := cmp.Diff(map[string]string{"1": "first", "01": "first", "16": "early", "10": "early", "22": "late"}, got); diff != "" {
			t.Errorf("by key (-want +got):\n%s", diff)
		}
	})
	for sst, dnn := range map[string]string{"1": "first", "16": "early", "22": "late"} {
		snssai := `{"sst":` + sst + `}`
		t.Run("the SMF has its data of SST "+sst, func(t *testing.T) {
			var data []struct {
				SingleNssai       map[string]any
				DNNConfigurations map[string]any
			}
			get("/nudm-sdm/v2/"+supiOne+"/sm-data"+query("single-nssai", snssai, "dnn", dnn), &data)
			if len(data) != 1 || len(data[0].SingleNssai) != 1 || data[0].DNNConfigurations[dnn] == nil {
				t.Errorf("%+v, want the one S-NSSAI %s with DNN %s", data, snssai, dnn)
			}
		})
		t.Run("the PCF has its policy of SST "+sst, func(t *testing.T) {
			var data struct {
				SmPolicySnssaiData map[string]struct{ SmPolicyDnnData map[string]any }
			}
			get("/nudr-dr/v2/policy-data/ues/"+supiOne+"/sm-data"+query("snssai", snssai, "dnn", dnn), &data)
			if x, ok := data.SmPolicySnssaiData[sst]; !ok || !slices.Equal(slices.Collect(maps.Keys(x.SmPolicyDnnData)), []string{dnn}) {
				t.Errorf("%+v, want %s of SST %s", data, dnn, sst)
			}
		})
		t.Run("the NSSF serves SST "+sst, func(t *testing.T) {
			var out struct{ NSIInformation struct{ NSIID string } }
			get("/nnssf-nsselection/v2/network-slice-information"+query("nf-type", "AMF", "nf-id", "0b1c2d3e-0000-4000-8000-000000000001", "slice-info-request-for-pdu-session",
				`{"sNssai":`+snssai+`,"roamingIndication":"NON_ROAMING"}`, "tai", `{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}`), &out)
			if out.NSIInformation.NSIID != dnn { // the Slice's name
				t.Errorf("Slice %q, want %q", out.NSIInformation.NSIID, dnn)
			}
		})
	}
}
