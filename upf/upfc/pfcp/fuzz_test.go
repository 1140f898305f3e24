package pfcp

import (
	"net/netip"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
)

// FuzzNames reads names and addresses, which peers encode in more than one way.
func FuzzNames(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := Name(b); len(n) > len(b) {
			t.Errorf("%d octets make a name of %d", len(b), len(n))
		}
		e := Element{Type: ie.NodeID, Value: b}
		if node, err := e.NodeID(); err == nil && (node == "" || len(node) > 255) {
			t.Errorf("Node ID %q", node)
		}
	})
}

func FuzzFSEID(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		e := Element{Type: ie.FSEID, Value: b}
		_, v4, v6, err := e.FSEID()
		if err != nil {
			return
		}
		if (v4 != netip.Addr{}) != (b[0]&2 != 0) || (v6 != netip.Addr{}) != (b[0]&1 != 0) {
			t.Errorf("flags %#x, addresses %v and %v", b[0], v4, v6)
		}
	})
}
