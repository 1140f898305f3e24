package sbi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRefusing(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration
		want  []string
	}{
		"no word of when":               {0, nil},
		"a time that is over":           {-time.Second, nil},
		"a whole second":                {time.Second, []string{"1"}},
		"seconds are rounded up":        {1001 * time.Millisecond, []string{"2"}},
		"no less than a second":         {time.Nanosecond, []string{"1"}},
		"as long as people go away for": {90 * time.Minute, []string{"5400"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Write(w, NewProblem(http.StatusServiceUnavailable, "NF_CONGESTION", "too many").About("ue", 1).Refusing(tt.after))
			if diff := cmp.Diff(tt.want, w.Header()["Retry-After"]); diff != "" {
				t.Errorf("Retry-After (-want +got):\n%s", diff)
			}
			const want = `{"title":"Service Unavailable","status":503,"detail":"too many","cause":"NF_CONGESTION"}`
			if got := w.Body.String(); got != want || w.Code != 503 || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d %s %s", w.Code, w.Header().Get("Content-Type"), got)
			}
		})
	}
}
