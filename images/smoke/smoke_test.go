package smoke

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

var ofFree5GC = []string{"AMF", "SMF", "PCF", "CHF"}

var all = append([]string{"AUSF", "UDM", "UDR", "NSSF"}, ofFree5GC...)

func TestCore(t *testing.T) {
	needBinaries(t)
	t.Setenv("SCTP_TRANSPORT", "udp")
	upf := startUPF(t)
	udr := startRelay(t, addresses[core.Name+"-udr"]+":8000", addresses[core.Name+"-udm"]+":8000")
	c := startCore(t)
	c.awaitRegistered(time.Minute, all...)

	t.Run("the SMF associates with the UPF and keeps in touch", func(t *testing.T) {
		await(t, time.Minute, func(context.Context) error {
			if upf.count(message.MsgTypeAssociationSetupRequest) == 0 {
				return fmt.Errorf("no association setup")
			}
			if upf.count(message.MsgTypeHeartbeatRequest) < 2 {
				return fmt.Errorf("%d heartbeats", upf.count(message.MsgTypeHeartbeatRequest))
			}
			return nil
		})
	})

	ran := startRAN(t)
	t.Run("a UE gets a PDU session, releases it and leaves", func(t *testing.T) {
		ran.attach(t)
		if got := ran.ue.Status().Address; got == "" || !netip.MustParsePrefix("10.45.0.0/16").Contains(netip.MustParseAddr(got)) {
			t.Errorf("the UE's address is %q", got)
		}
		if s := ran.ue.Status().Sessions; len(s) != 1 || s[0].MTU != 1400 { // whatever the Slice says (specs.NotToldProblem)
			t.Errorf("want free5GC's own link MTU in one session, got %+v", s)
		}
		if got := upf.sessionCount(); got != 1 {
			t.Errorf("the UPF has %d sessions, want 1", got)
		}
		ran.leave(t)
		if _, err := os.Stat(filepath.Join(c.tmp("chf"), testSUPI+".cdr")); err != nil {
			t.Errorf("the CHF writes charging data elsewhere: %v", err)
		}
		await(t, time.Minute, func(context.Context) error {
			if n := upf.sessionCount(); n != 0 {
				return fmt.Errorf("the UPF still has %d sessions", n)
			}
			return nil
		})
	})

	t.Run("the NRF is killed", func(t *testing.T) {
		c.end("nrf", syscall.SIGKILL)
		c.start("nrf")
		c.awaitRegistered(time.Minute, all...)
	})

	t.Run("the database loses everything", func(t *testing.T) {
		c.end("database", syscall.SIGKILL)
		c.start("database")
		c.awaitRegistered(time.Minute, all...)
	})

	t.Run("a registered UE gets another PDU session when PCF and SMF have lost everything", func(t *testing.T) {
		ran.attach(t)
		for _, nf := range []string{"pcf", "smf"} {
			c.end(nf, syscall.SIGKILL)
			c.start(nf)
		}
		c.awaitListening(time.Minute, "pcf", "smf")
		c.awaitRegistered(time.Minute, all...)
		ran.establish(t, 2)
		// The SMF does not know the first session any more; deregistration ends both.
		ran.deregister(t)
	})

	t.Run("a UE that registered while the UDR was away from a new PCF gets a PDU session", func(t *testing.T) {
		c.end("pcf", syscall.SIGKILL)
		c.start("pcf")
		c.awaitListening(time.Minute, "pcf")
		c.awaitRegistered(time.Minute, all...)
		udr.stop()
		ran.register(t)
		udr.start(t)
		ran.establish(t, 1)
		ran.leave(t)
	})

	t.Run("each function is killed and comes back once", func(t *testing.T) {
		for _, nf := range []string{"pcf", "chf", "smf", "amf"} {
			c.end(nf, syscall.SIGKILL)
			c.start(nf)
		}
		// Each opens its port when it is registered.
		c.awaitListening(time.Minute, "pcf", "chf", "smf", "amf")
		c.awaitRegistered(time.Minute, all...)
		await(t, time.Minute, func(context.Context) error {
			if s := ran.gnb.Status(); s.NGSetups < 2 || s.State != "connected" {
				return fmt.Errorf("the gNB has not noticed: %+v", s)
			}
			return nil
		})
	})

	t.Run("a UE gets a PDU session after all that", func(t *testing.T) {
		ran.attach(t)
		ran.leave(t)
	})

	t.Run("functions that are told to end leave the NRF soon", func(t *testing.T) {
		for _, nf := range []string{"smf", "amf", "pcf", "chf"} {
			if took := c.end(nf, syscall.SIGTERM); took > 20*time.Second {
				t.Errorf("%s took %v to end", nf, took)
			}
		}
		for _, nfType := range ofFree5GC {
			profiles, err := c.nrf.Discover(t.Context(), nfType)
			if err != nil || len(profiles) != 0 {
				t.Errorf("%s: %d profiles are left, %v", nfType, len(profiles), err)
			}
		}
		if took := c.end("nrf", syscall.SIGTERM); took > 10*time.Second {
			t.Errorf("the NRF took %v to end", took)
		}
	})
}

// ran is a gNB with one UE, and an N3 that leads nowhere.
type ran struct {
	gnb *gnb.GNB
	ue  *ue.UE
}

func startRAN(t *testing.T) *ran {
	t.Helper()
	k, err := usim.ParseKey128(testK)
	if err != nil {
		t.Fatal(err)
	}
	opc, err := usim.ParseKey128(testOPc)
	if err != nil {
		t.Fatal(err)
	}
	null, err := usim.ParseHomeNetworkKey(usim.NullScheme, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("RAN_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	snssai := uenas.SNSSAI{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}
	n3 := new(deadN3)
	r := new(ran)
	r.gnb = gnb.New(gnb.Config{
		Name: "gnb", ID: 1, MCC: "208", MNC: "93", TAC: [3]byte{0, 0, 1}, Slices: []uenas.SNSSAI{snssai},
		AMF: []string{core.Name + "-amf:38412"}, MaxBackoff: time.Second,
	}, n2.DialSCTP, n3, [4]byte{172, 30, 3, 100}, log)
	r.ue = ue.New(ue.Config{
		SUPI: testSUPI, MCC: "208", MNC: "93", K: k, OPc: opc, IMEISV: "4370816125816151", HomeKey: null, Routing: "0",
		Requested: []uenas.SNSSAI{snssai},
		Sessions:  []ue.SessionConfig{{PSI: 1, Slice: snssai, DNN: "internet"}},
	}, r.gnb, n3, log)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { r.gnb.Run(ctx) })
	wg.Go(func() { r.ue.Run(ctx) })
	r.gnb.Add(r.ue)
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return r
}

func (r *ran) attach(t *testing.T) {
	t.Helper()
	r.register(t)
	r.establish(t, 1)
}

func (r *ran) register(t *testing.T) {
	t.Helper()
	await(t, time.Minute, func(context.Context) error {
		if s := r.gnb.Status(); s.State != "connected" {
			return fmt.Errorf("the gNB is %+v", s)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.ue.Register(ctx); err != nil {
		t.Fatalf("register: %v", err)
	}
}

func (r *ran) establish(t *testing.T, psi uint8) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.ue.Establish(ctx, ue.SessionConfig{
		PSI: psi, Slice: uenas.SNSSAI{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}, DNN: "internet",
	}); err != nil {
		t.Fatalf("PDU session: %v", err)
	}
}

func (r *ran) leave(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.ue.Release(ctx, 1); err != nil {
		t.Fatalf("release: %v", err)
	}
	r.deregister(t)
}

func (r *ran) deregister(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.ue.Deregister(ctx, false); err != nil {
		t.Fatalf("deregister: %v", err)
	}
}

// deadN3 gives out TEIDs, and loses user packets.
type deadN3 struct {
	mu   sync.Mutex
	next uint32
}

func (n *deadN3) Open(t *gtpu.Tunnel) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	t.LocalTEID = n.next
}

func (n *deadN3) Replace(old, t *gtpu.Tunnel)            { t.LocalTEID = old.LocalTEID }
func (n *deadN3) Remove(*gtpu.Tunnel)                    {}
func (n *deadN3) Send(*gtpu.Tunnel, uint8, []byte) error { return nil }
