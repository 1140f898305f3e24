package dataplane_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/topology"
)

func dial(t *testing.T) (*fakeupfu.UPFU, *dataplane.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "upf.sock")
	u, err := fakeupfu.Start(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Kill)
	c, err := dataplane.Dial(context.Background(), socket, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Abandon)
	return u, c
}

// put is a session with one F-TEID.
func put(index, teid uint32) *dataplane.Batch {
	t := dataplane.NewBatch()
	t.PutSession(index, 0, &compile.Session{
		PDRs: []abi.Pdr{{PdrId: 1, Flags: abi.PdrTeid, N3Addr: abi.AddrOf(netip.MustParseAddr("10.0.0.1")), Teid: teid}},
		FARs: []abi.Far{{FarId: 1, Action: abi.FarDrop}},
	}, []byte("blob"))
	return t
}

// Transactions that travel together are answered each for itself: one that is refused names its own
// record and the holder, and takes no other with it.
func TestTransactionsOfAGroup(t *testing.T) {
	u, c := dial(t)
	if err := c.Transact(put(1000, 7)); err != nil {
		t.Fatal(err)
	}
	const n = 300
	results := make([]error, n)
	var all sync.WaitGroup
	for i := range uint32(n) {
		all.Go(func() {
			b := put(i, 100+i)
			if i%10 == 0 { // its second record is at fault
				b.PutSession(2000+i, 0, &compile.Session{
					PDRs: []abi.Pdr{{PdrId: 1, Flags: abi.PdrTeid, N3Addr: abi.AddrOf(netip.MustParseAddr("10.0.0.1")), Teid: 7}},
					FARs: []abi.Far{{FarId: 1, Action: abi.FarDrop}},
				}, nil)
			}
			results[i] = c.Transact(b)
		})
	}
	all.Wait()
	for i, err := range results {
		var r *dataplane.Refused
		switch {
		case i%10 != 0 && err != nil:
			t.Errorf("transaction %d: %v", i, err)
		case i%10 == 0 && !errors.As(err, &r):
			t.Errorf("transaction %d: %v, want a refusal", i, err)
		case i%10 == 0 && (r.Errno != syscall.EEXIST || r.Record != 1 || r.Refusal != abi.RefusedFteid || r.Holder != 1000):
			t.Errorf("transaction %d: %+v, want record 1 refused because of session 1000", i, *r)
		}
	}
	if got := len(u.Sessions()); got != 1+n-n/10 {
		t.Errorf("upf-u has %d sessions, want %d: a transaction happened by half", got, 1+n-n/10)
	}
}

// When upf-u dies, nobody is left waiting, and nobody comes to wait.
func TestLostConnectionEndsAllTransactions(t *testing.T) {
	u, c := dial(t)
	u.Silence(true)
	results := make(chan error)
	const n = 50
	for i := range uint32(n) {
		go func() { results <- c.Transact(put(i, 100+i)) }()
	}
	u.Kill()
	for range n {
		if err := <-results; !errors.Is(err, dataplane.ErrLost) {
			t.Errorf("%v, want that the connection is lost", err)
		}
	}
	<-c.Done()
	if err := c.Transact(put(1, 1)); !errors.Is(err, dataplane.ErrLost) {
		t.Errorf("afterwards: %v, want that the connection is lost", err)
	}
}

func TestTransactionThatDoesNotFitADatagram(t *testing.T) {
	_, c := dial(t)
	b := dataplane.NewBatch()
	b.State(1, make([]byte, abi.MsgMax))
	var r *dataplane.Refused
	if err := c.Transact(b); !errors.As(err, &r) || r.Errno != syscall.EMSGSIZE {
		t.Errorf("%v, want EMSGSIZE", err)
	}
}

func TestTopology(t *testing.T) {
	_, c := dial(t)
	top := c.Shm().Topology(nil)
	if top == nil || len(top.Threads) != 2 || len(top.Ports) != 2 || len(top.Memory) != 1 {
		t.Fatalf("%+v, want two threads, two ports and memory of one cell", top)
	}
	if p := top.Ports[1]; p.Interface != "n6" || p.Device != "0000:01:10.0" || *p.Cell != 0 || p.MAC != "02:00:00:00:00:01" {
		t.Errorf("%+v", p)
	}
	if verdict, why := top.Judge(1); verdict != topology.Misaligned || why != "not on numa1: n6 (0000:01:10.0) on numa0" {
		t.Errorf("%s: %s", verdict, why)
	}
}
