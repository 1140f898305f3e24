package accessmanagement

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddressesOfTerminators(t *testing.T) {
	hosts := map[string][]string{"a": {"10.0.0.2", "10.0.0.1"}, "b": {"2001:db8::1", "10.0.0.2"}, "10.0.0.9": {"10.0.0.9"}}
	var away error
	x := newTerminators(Config{Terminators: []string{"a:1", "b:1", "gone:1", "10.0.0.9:2"}}, nil)
	x.lookUp = func(_ context.Context, host string) ([]string, error) {
		if away != nil && host == "b" {
			return nil, away
		}
		if found := hosts[host]; found != nil {
			return found, nil
		}
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}
	got, err := x.Addresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.9:2", "[2001:db8::1]:1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if x.hosts["[2001:db8::1]:1"] != "b" || x.hosts["10.0.0.1:1"] != "a" {
		t.Errorf("hosts %v", x.hosts)
	}
	away = &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	if got, err := x.Addresses(t.Context()); !errors.Is(err, away) {
		t.Errorf("a name server that is away: %v, %v", got, err)
	}
}
