// Package loopback finds ports of this host for what tests start.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

// Port of all addresses of this host, TCP and UDP, that nobody listens at, for a program that is started after.
//
// It is below those that the kernel gives whoever asks for any (net.ipv4.ip_local_port_range): a port of these, closed to be opened
// again, may be somebody else's by then, since tests of other packages and their connections take many a second.
func Port(t testing.TB) int {
	t.Helper()
	const least = 10_000
	most := 32_767
	var low, high int
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if n, _ := fmt.Sscan(string(b), &low, &high); n == 2 && low > least+1000 {
			most = low - 1
		}
	}
	for range 1000 {
		port := least + rand.IntN(most-least)
		address := fmt.Sprintf(":%d", port)
		stream, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		_ = stream.Close()
		datagrams, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		_ = datagrams.Close()
		return port
	}
	t.Fatal("no port is free")
	return 0
}
