package loopback

import (
	"fmt"
	"net"
	"testing"
)

func TestPortIsFreeAndNobodyIsGivenIt(t *testing.T) {
	for range 20 {
		port := Port(t)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		any, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if given := any.Addr().(*net.TCPAddr).Port; given <= port {
			t.Errorf("the kernel gives %d, Port %d", given, port)
		}
		_, _ = l.Close(), any.Close()
	}
}
