package upf

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"core5g.dev/core5g/operators/specs"
)

func TestScrapeTopology(t *testing.T) {
	answer := `{"cells":1,"threads":[{"role":"worker 0","cpu":1,"cell":0}],"ports":[],"memory":[]}`
	status := http.StatusOK
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/topology" {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", specs.PortMetrics))
	if err != nil {
		t.Skipf("somebody has the port of the metrics: %v", err)
	}
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "upf-0"}, Status: corev1.PodStatus{PodIP: "127.0.0.1"}}
	top, err := ScrapeTopology(t.Context(), pod)
	if err != nil || top.Home() != 0 || top.Threads[0].CPU != 1 {
		t.Errorf("%+v, %v", top, err)
	}
	answer = `{}`
	if _, err := ScrapeTopology(t.Context(), pod); err == nil || !strings.Contains(err.Error(), "names no CPU") {
		t.Errorf("of an empty answer: %v", err)
	}
	status = http.StatusServiceUnavailable
	if _, err := ScrapeTopology(t.Context(), pod); err == nil || !strings.Contains(err.Error(), "does not tell /topology: 503") {
		t.Errorf("of an upf-c without upf-u: %v", err)
	}
	if _, err := ScrapeTopology(t.Context(), &corev1.Pod{}); err == nil {
		t.Error("a pod without an address told where it is")
	}
}
