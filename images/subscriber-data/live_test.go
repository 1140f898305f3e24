package subscriberdata

import (
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
	"core5g.dev/core5g/operators/api/v1alpha1"

	corev1 "k8s.io/api/core/v1"
)

func name(n string) types.NamespacedName { return types.NamespacedName{Namespace: namespace, Name: n} }

func (c *testCore) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestASubscriberIsLiveAtOnce(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	const supi = "imsi-208930000000099"
	if _, r := c.authenticate(supi, ""); r.status != http.StatusNotFound {
		t.Fatalf("before: status %d", r.status)
	}
	subscriber := makeSubscriber(supi, v1alpha1.SubscribedSlice{Name: "internet"})
	c.must(c.objects.Create(t.Context(), subscriber))
	if _, r := c.authenticate(supi, ""); r.status != http.StatusInternalServerError || r.cause(t) != "AV_GENERATION_PROBLEM" {
		t.Errorf("without its Secret: status %d: %s", r.status, r.body)
	}
	c.must(c.objects.Create(t.Context(), makeSecret("keys-208930000000099", map[string]string{"k": testK, "opc": testOPc})))
	ch, r := c.authenticate(supi, "")
	if r.status != http.StatusCreated {
		t.Fatalf("added: status %d: %s", r.status, r.body)
	}
	if _, _, _, err := usimOf(t, testK, testOPc).Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Errorf("the USIM says: %v", err)
	}
	c.must(c.objects.Delete(t.Context(), subscriber))
	for _, path := range []string{"/nudm-sdm/v2/" + supi + "/am-data", "/nudr-dr/v2/policy-data/ues/" + supi + "/am-data"} {
		if r := c.do("GET", path, ""); r.status != http.StatusNotFound || r.cause(t) != "USER_NOT_FOUND" {
			t.Errorf("removed: %s: status %d", path, r.status)
		}
	}
	if _, r := c.authenticate(supi, ""); r.status != http.StatusNotFound {
		t.Errorf("removed: status %d", r.status)
	}
}

func TestAChangedKeyIsInForceAtOnce(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	old, changed := usimOf(t, testK, testOPc), usimOf(t, "0396eb317b6d1c36f19c1c84cd6ffd16", "53c15671c60a4b731c55b4a441c0bde2")
	ch, _ := c.authenticate(supiOne, "")
	if _, _, _, err := old.Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	c.must(c.objects.Get(t.Context(), name("keys-208930000000001"), &secret))
	secret.Data = map[string][]byte{"k": []byte("0396eb317b6d1c36f19c1c84cd6ffd16"), "opc": []byte("53c15671c60a4b731c55b4a441c0bde2")}
	c.must(c.objects.Update(t.Context(), &secret))
	ch, _ = c.authenticate(supiOne, "")
	if _, _, _, err := old.Challenge(ch.rand, ch.autn, testSNN); !errors.Is(err, akatest.ErrMAC) {
		t.Errorf("the USIM with the old key says: %v, want %v", err, akatest.ErrMAC)
	}
	if _, _, _, err := changed.Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Errorf("the USIM with the new key says: %v", err)
	}
}

func TestASliceIsLiveAtOnce(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	smData := "/nudm-sdm/v1/" + supiTwo + "/sm-data" + query("dnn", "internet", "single-nssai", `{"sst":1,"sd":"ABCDEF"}`)
	session := "/nnssf-nsselection/v2/network-slice-information" + query("nf-type", "AMF", "nf-id", "x",
		"slice-info-request-for-pdu-session", `{"sNssai":{"sst":1,"sd":"abcdef"},"roamingIndication":"NON_ROAMING"}`,
		"tai", `{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}`)

	if r := c.do("GET", smData, ""); r.status != http.StatusNotFound {
		t.Fatalf("before the subscription: status %d", r.status)
	}
	var subscriber v1alpha1.Subscriber
	c.must(c.objects.Get(t.Context(), name("ue-208930000000002"), &subscriber))
	subscriber.Spec.Slices = append(subscriber.Spec.Slices, v1alpha1.SubscribedSlice{Name: "iot"})
	c.must(c.objects.Update(t.Context(), &subscriber))
	if r := c.do("GET", smData, ""); r.status != http.StatusOK {
		t.Errorf("subscribed: status %d", r.status)
	}
	if r := c.do("GET", session, ""); r.status != http.StatusOK {
		t.Errorf("NSSF: status %d", r.status)
	}

	var slice v1alpha1.Slice
	c.must(c.objects.Get(t.Context(), name("iot"), &slice))
	slice.Spec.DataNetworks[0].AMBR.Downlink = "3 Mbps"
	c.must(c.objects.Update(t.Context(), &slice))
	var data []struct {
		DNNConfigurations map[string]struct{ SessionAMBR v1alpha1.AMBR }
	}
	c.do("GET", smData, "").into(t, &data)
	if got := data[0].DNNConfigurations["internet"].SessionAMBR.Downlink; got != "3 Mbps" {
		t.Errorf("session AMBR %q after the change", got)
	}

	// A finalizer keeps the object; for us it is gone.
	slice.Finalizers = []string{"core5g.dev/slice"}
	c.must(c.objects.Update(t.Context(), &slice))
	c.must(c.objects.Delete(t.Context(), &slice))
	if r := c.do("GET", smData, ""); r.status != http.StatusNotFound {
		t.Errorf("deleted: status %d", r.status)
	}
	if r := c.do("GET", session, ""); r.status != http.StatusForbidden {
		t.Errorf("deleted, NSSF: status %d", r.status)
	}
	if r := c.do("GET", "/nudm-sdm/v2/"+supiTwo+"/nssai", ""); r.status != http.StatusOK {
		t.Errorf("the other slice went with it: status %d", r.status)
	}
}

func TestObjectsOfAnotherCoreAreNotServed(t *testing.T) {
	const supi = "imsi-208930000000077"
	subscriber := makeSubscriber(supi, v1alpha1.SubscribedSlice{Name: "internet"})
	subscriber.Spec.CoreRef.Name = "other"
	slice := makeSlice("theirs", "ABCDEF", v1alpha1.DataNetwork{DNN: "theirs"})
	slice.Spec.CoreRef.Name = "other"
	c := startCore(t, append(defaultObjects(), subscriber, slice)...)
	if r := c.do("GET", "/nudm-sdm/v2/"+supi+"/am-data", ""); r.status != http.StatusNotFound {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

func TestTheOlderOfTwoSubscribersHasTheSUPI(t *testing.T) {
	younger := makeSubscriber(supiOne, v1alpha1.SubscribedSlice{Name: "internet"})
	younger.Name = "a-copy"
	younger.CreationTimestamp = metav1.Now()
	c := startCore(t, append(defaultObjects(), younger)...)
	var data struct{ GPSIs []string }
	c.do("GET", "/nudm-sdm/v2/"+supiOne+"/am-data", "").into(t, &data)
	if len(data.GPSIs) != 1 {
		t.Error("the younger Subscriber was served")
	}
}
