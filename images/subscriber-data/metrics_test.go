package subscriberdata

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRegisteredUEsAreCountedBySlice(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	expect := func(step string, lines ...string) {
		t.Helper()
		want := "# HELP core5g_registered_ues UEs for which an AMF has registered, by each S-NSSAI that their subscription had then. Of several replicas one says so.\n" +
			"# TYPE core5g_registered_ues gauge\n" + strings.Join(lines, "\n") + "\n"
		if err := testutil.GatherAndCompare(c.registry, strings.NewReader(want), "core5g_registered_ues"); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	register := func(supi, access string) {
		t.Helper()
		if r := c.do("PUT", "/nudm-uecm/v1/"+supi+"/registrations/"+access, amfRegistration("a", "http://amf/", guamiOne)); r.status >= http.StatusMultipleChoices {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
	}
	expect("nobody", `core5g_registered_ues{snssai="1-010203"} 0`, `core5g_registered_ues{snssai="1-990099"} 0`, `core5g_registered_ues{snssai="1-abcdef"} 0`)
	register(supiOne, "amf-3gpp-access")
	register(supiOne, "amf-non-3gpp-access")
	register(supiThree, "amf-3gpp-access")
	register(supiThree, "amf-3gpp-access")
	expect("two UEs, one over both accesses", `core5g_registered_ues{snssai="1-010203"} 2`, `core5g_registered_ues{snssai="1-990099"} 0`, `core5g_registered_ues{snssai="1-abcdef"} 1`)
	if r := c.do("PATCH", "/nudm-uecm/v1/"+supiThree+"/registrations/amf-3gpp-access", `{"guami":`+guamiOne+`,"purgeFlag":true}`); r.status != http.StatusNoContent {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	expect("one has gone", `core5g_registered_ues{snssai="1-010203"} 1`, `core5g_registered_ues{snssai="1-990099"} 0`, `core5g_registered_ues{snssai="1-abcdef"} 1`)
}

func TestAuthenticationResultsBeginAtZero(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	if n, err := testutil.GatherAndCount(c.registry, "core5g_authentications_total"); err != nil || n != 10 {
		t.Errorf("%d results, %v", n, err)
	}
}
