package front

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/loopback"
)

func TestFunctionGoesToTheLoopbackInterface(t *testing.T) {
	t.Setenv("POD_IP", "10.244.0.7")
	for binding, want := range map[string][2]string{
		"0.0.0.0":   {"0.0.0.0:8000", "127.0.0.1:8001"},
		"127.0.0.9": {"127.0.0.9:8000", "127.0.0.9:8001"},
		"POD_IP":    {"10.244.0.7:8000", "127.0.0.1:8001"},
	} {
		got := NewPlace("http", binding, 8000)
		if got.Public != want[0] || got.Private.Host != want[1] || net.JoinHostPort(got.PrivateHost, "8001") != want[1] {
			t.Errorf("%s: got %s and %s, want %v", binding, got.Public, got.Private, want)
		}
	}
}

// An open port means a working function: the front waits for it.
func TestOpensItsPortAfterTheFunction(t *testing.T) {
	function := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served")
	}))
	private := &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))}
	_ = function.Listener.Close()
	public := fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))
	f := New(Place{Public: public, Private: private}, Proxy(private, nil, nil))
	ended := make(chan error, 1)
	go func() { ended <- f.Run(t.Context(), "", "") }()

	time.Sleep(3 * pollInterval) // long enough for a front that does not wait
	if c, err := net.Dial("tcp", public); err == nil {
		_ = c.Close()
		t.Fatal("the front is open before the function")
	}
	var err error
	if function.Listener, err = net.Listen("tcp", private.Host); err != nil {
		t.Fatal(err)
	}
	function.Start()
	defer function.Close()
	deadline := time.Now().Add(time.Minute)
	for {
		response, err := http.Get("http://" + public)
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if string(body) != "served" {
				t.Errorf("got %q", body)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(pollInterval)
	}
}
