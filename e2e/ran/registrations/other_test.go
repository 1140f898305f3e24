package registrations

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Another AMF asks any worker for a UE by its 5G-GUTI, takes it, and its PDU session goes on.
func TestAnotherAMFTakesAUE(t *testing.T) {
	s := begin(t)
	s.startWorker()
	p := s.attach(1)
	p.idle()
	rec := s.kept(1)
	guami := uint32(s.settings.Region)<<16 | uint32(s.settings.Set)<<6 | uint32(s.settings.Pointer)
	path := fmt.Sprintf("/namf-comm/v1/ue-contexts/5g-guti-20893%06x%08x", guami, rec.TMSI)
	for _, w := range s.living() { // one of them has the UE
		text, _ := s.ask(w, http.MethodPost, path+"/transfer", `{"reason":"MOBI_REG_UE_VALIDATED","accessType":"3GPP_ACCESS"}`, http.StatusOK)
		if !strings.Contains(text, `"supi":"`+supi(1)+`"`) || !strings.Contains(text, `"dnn":"internet"`) || !strings.Contains(text, "KPRIMEAMF") {
			t.Errorf("the UE is %s", text)
		}
	}
	s.ask(s.living()[0], http.MethodPost, path+"/transfer", `{"reason":"MOBI_REG","accessType":"3GPP_ACCESS"}`, http.StatusForbidden)
	s.ask(s.living()[1], http.MethodPost, path+"/transfer-update", `{"transferStatus":"TRANSFERRED","pcfReselectedInd":true}`, http.StatusOK)
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil })
	if n := len(s.upfu.Sessions()); n != 1 {
		t.Errorf("upf-u has %d sessions", n)
	}
	s.ask(s.living()[0], http.MethodPost, path+"/transfer", `{"reason":"MOBI_REG_UE_VALIDATED","accessType":"3GPP_ACCESS"}`, http.StatusNotFound)
}
