package gnb

// The gNB has one goroutine that dials the AMF, does NG Setup and then reads N2 until the association
// ends, and one for each association more (associations.go); sends may come from any goroutine. The table of connections
// is guarded by mu, which is never held while a UE is called or a message is sent.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// ErrNoN2 is the answer to a UE while the gNB has no AMF.
var ErrNoN2 = errors.New("the gNB has no N2 association")

// Streams of TS 38.412 7: one for procedures without a UE, one for those with.
const (
	streamCommon = 0
	streamUE     = 1
)

// N3 is what the gNB needs of its GTP-U endpoint.
type N3 interface {
	Open(t *gtpu.Tunnel)
	Replace(old, t *gtpu.Tunnel)
	Remove(t *gtpu.Tunnel)
}

// GNB is one simulated gNB.
type GNB struct {
	cfg  Config
	dial n2.Dialer
	n3   N3
	n3IP [4]byte
	log  *slog.Logger

	mu          sync.Mutex
	n2          n2.Conn // by which it says what concerns no UE; nil unless NG Setup is done
	ways        map[n2.Conn]*association
	alone       chan struct{}   // closed when there is no association any more
	givenUp     map[string]bool // addresses that the AMF has taken back
	beside      sync.WaitGroup  // of associations more
	connections map[int64]*Connection
	nextRANID   int64
	ues         map[UE]struct{}
	behaviour   Behaviour
	overload    overload

	dead    chan struct{} // closed by Revive; nil while the gNB lives
	corpses []n2.Conn     // the associations of a gNB that died silently
	area    *Area         // nil without neighbours
	unheard atomic.Uint64 // downlink packets for UEs that have left without a word
	status  Status
}

// Status is what the gNB says about itself.
type Status struct {
	Name      string    `json:"name"`
	ID        uint32    `json:"id"`
	State     string    `json:"state"` // "connecting", "connected", "dead"
	AMF       string    `json:"amf,omitempty"`
	AMFName   string    `json:"amf_name,omitempty"`
	Slices    []string  `json:"slices"`
	AMFSlices []string  `json:"amf_slices,omitempty"`
	NGSetups  int       `json:"ng_setups"`
	Since     time.Time `json:"since,omitzero"`
	LastError string    `json:"last_error,omitempty"`
	Connected int       `json:"connected_ues"`
	// Associations of the NG interface.
	Associations []AssociationStatus `json:"associations,omitempty"`
	// Overload is the share of connections, in percent, that the AMF has the gNB refuse.
	Overload int `json:"overload,omitempty"`
	// Unheard are downlink packets for UEs that have left without a word.
	Unheard   uint64    `json:"downlink_unheard,omitempty"`
	Behaviour Behaviour `json:"behaviour,omitzero"`
}

// New makes a gNB that is not running yet. n3IP is the address given to the core for N3.
func New(cfg Config, dial n2.Dialer, n3 N3, n3IP [4]byte, log *slog.Logger) *GNB {
	cfg.defaults()
	g := &GNB{
		cfg: cfg, dial: dial, n3: n3, n3IP: n3IP, log: log,
		connections: map[int64]*Connection{}, ues: map[UE]struct{}{}, nextRANID: 1, givenUp: map[string]bool{},
	}
	g.status = Status{Name: cfg.Name, ID: cfg.ID, State: "connecting"}
	for _, s := range cfg.Slices {
		g.status.Slices = append(g.status.Slices, s.String())
	}
	return g
}

// Status returns a copy of the state.
func (g *GNB) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.status
	s.Connected, s.Unheard, s.Behaviour, s.Associations = len(g.connections), g.unheard.Load(), g.behaviour, g.associations()
	return s
}

// Add puts a UE into the cell.
func (g *GNB) Add(ue UE) {
	g.mu.Lock()
	g.ues[ue] = struct{}{}
	up := g.n2 != nil
	g.mu.Unlock()
	if up {
		ue.CellUp(g)
	}
}

// Remove takes a UE out of the cell.
func (g *GNB) Remove(ue UE) {
	g.mu.Lock()
	delete(g.ues, ue)
	g.mu.Unlock()
}

// Run keeps the gNB connected until ctx ends.
func (g *GNB) Run(ctx context.Context) {
	defer g.beside.Wait()
	backoff := g.cfg.MinBackoff
	for {
		for _, address := range g.cfg.AMF {
			g.live(ctx)
			began := time.Now()
			err := g.session(ctx, address)
			if ctx.Err() != nil {
				return
			}
			g.log.Warn("N2 lost", "amf", address, "err", err)
			g.setError(err)
			if time.Since(began) > backoff { // it has served, or has been waited for as long
				backoff = g.cfg.MinBackoff
			}
		}
		wait := backoff + rand.N(backoff/4+1) // many gNBs shall not return at once
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		backoff = min(2*backoff, g.cfg.MaxBackoff)
	}
}

func (g *GNB) setError(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.LastError = err.Error()
}

// session is one N2 association from dialing to its end.
func (g *GNB) session(ctx context.Context, address string) error {
	conn, err := g.dial(ctx, address)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()

	retained, early, err := g.setup(conn, address)
	if err != nil {
		return fmt.Errorf("NG Setup: %w", err)
	}
	g.log.Info("N2 up", "amf", address, "ues_retained", retained)
	if !retained {
		g.endOrphans()
	}
	for _, ue := range g.allUEs() {
		ue.CellUp(g)
	}
	for _, m := range early {
		g.handle(ctx, conn, m)
	}
	err = g.read(ctx, conn)
	_ = conn.Close()
	if g.lost(ctx, conn) { // it goes on by others
		g.log.Info("N2 goes on by another association", "amf", address, "err", err)
		select {
		case <-g.isAlone():
		case <-ctx.Done():
		}
	}
	g.down()
	return err
}

// mostEarly is how much may come before the answer to NG Setup.
const mostEarly = 1024

// setup does NG Setup (TS 38.413 8.7.1), and says whether the AMF has retained the UEs of before. Only within a stream SCTP keeps the order: what the AMF has sent
// behind its answer, on the streams of UEs, may be here earlier, and is for later.
func (g *GNB) setup(conn n2.Conn, address string) (retained bool, early []any, err error) {
	g.mu.Lock()
	retain := g.cfg.OnLoss == Retain && len(g.connections) > 0
	g.mu.Unlock()
	req, err := g.setupRequest(retain)
	if err != nil {
		return false, nil, err
	}
	if err := conn.Send(streamCommon, req); err != nil {
		return false, nil, err
	}
	timeout := time.AfterFunc(g.cfg.SetupTimeout, func() { conn.Close() })
	defer timeout.Stop()
	for {
		b, err := conn.Recv()
		if err != nil {
			return false, nil, fmt.Errorf("no answer: %w", err)
		}
		m, err := n2.Decode(b)
		if err != nil {
			return false, nil, err
		}
		switch m := m.(type) {
		case *ngapType.NGSetupResponse:
			retained, err := g.connected(conn, address, m)
			return retain && retained, early, err
		case *ngapType.NGSetupFailure:
			return false, nil, fmt.Errorf("refused: %s", n2.CauseText(n2.Find[ngapType.Cause](m.ProtocolIEs.List)))
		}
		if early = append(early, m); len(early) > mostEarly {
			return false, nil, fmt.Errorf("no answer, but %d other messages", len(early))
		}
	}
}

// connected: the AMF has answered, and says whether it has retained UEs.
func (g *GNB) connected(conn n2.Conn, address string, m *ngapType.NGSetupResponse) (retained bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead != nil {
		return false, ErrDead
	}
	g.n2, g.overload, g.status.Overload = conn, overload{}, 0
	clear(g.givenUp)
	g.ways, g.alone = map[n2.Conn]*association{conn: {address: address, weight: evenWeight}}, make(chan struct{})
	g.status.State, g.status.AMF, g.status.Since = "connected", address, time.Now()
	g.status.NGSetups++
	g.status.LastError = ""
	g.status.AMFName, g.status.AMFSlices = readSetupResponse(m)
	return n2.Find[ngapType.UERetentionInformation](m.ProtocolIEs.List) != nil, nil
}

func (g *GNB) read(ctx context.Context, conn n2.Conn) error {
	for {
		b, err := conn.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the AMF ended the association")
		}
		if err != nil {
			return err
		}
		if !g.has(conn) {
			continue // the dead take nothing
		}
		m, err := n2.Decode(b)
		if err != nil {
			g.log.Warn("NGAP message refused", "err", err, "octets", len(b))
			continue
		}
		g.handle(ctx, conn, m)
	}
}

// down tells the UEs that N2 is lost. Unless the gNB releases them then, their connections stay, and with them their tunnels: the UPF still
// holds the sessions, so that user data flow on without an AMF (TS 23.501 5.21.2). They end when N2 is
// back, because no AMF knows them any more.
func (g *GNB) down() {
	g.mu.Lock()
	g.n2 = nil
	if g.dead == nil {
		g.status.State = "connecting"
	}
	g.status.Since = time.Now()
	g.mu.Unlock()
	for _, ue := range g.allUEs() {
		ue.CellDown(g)
	}
	if g.cfg.OnLoss == Release {
		g.endOrphans()
	}
}

// endOrphans ends the connections of the association before.
func (g *GNB) endOrphans() {
	g.mu.Lock()
	gone := make([]*Connection, 0, len(g.connections))
	for _, c := range g.connections {
		gone = append(gone, c)
	}
	clear(g.connections)
	g.mu.Unlock()
	for _, c := range gone {
		c.end("N2 was lost")
	}
}

func (g *GNB) allUEs() []UE {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]UE, 0, len(g.ues))
	for ue := range g.ues {
		out = append(out, ue)
	}
	return out
}

// send by an association, or by another where that has ended.
func (g *GNB) send(conn n2.Conn, stream uint16, b []byte, err error) error {
	if err != nil {
		return fmt.Errorf("NGAP encoding: %w", err)
	}
	g.mu.Lock()
	if g.ways[conn] == nil {
		conn = g.n2
	}
	g.mu.Unlock()
	if conn == nil {
		return ErrNoN2
	}
	return conn.Send(stream, b)
}

// Establishment causes of a connection (TS 38.413 9.3.1.111).
const (
	CauseMTAccess     = ngapType.RRCEstablishmentCausePresentMtAccess
	CauseMOSignalling = ngapType.RRCEstablishmentCausePresentMoSignalling
	CauseMOData       = ngapType.RRCEstablishmentCausePresentMoData
)

// Connect opens a connection for a UE and sends its initial NAS message. tmsi may be nil.
func (g *GNB) Connect(ue UE, nas []byte, cause uint8, tmsi *uenas.TMSI) (*Connection, error) {
	g.mu.Lock()
	if g.n2 == nil {
		g.mu.Unlock()
		return nil, ErrNoN2
	}
	if g.overload.refuses(cause) {
		g.mu.Unlock()
		return nil, ErrOverload
	}
	c := g.addConnection(ue, -1)
	c.follow(g.choose())
	g.mu.Unlock()

	b, err := g.initialUEMessage(c.ranID, nas, cause, tmsi)
	if err := c.say(b, err); err != nil {
		g.forget(c)
		return nil, err
	}
	return c, nil
}

func (g *GNB) forget(c *Connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.connections[c.ranID] == c {
		delete(g.connections, c.ranID)
	}
}

func (g *GNB) byRANID(id int64) *Connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.connections[id]
}

func (g *GNB) byAMFID(id int64) *Connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.connections {
		if c.amf() == id {
			return c
		}
	}
	return nil
}
