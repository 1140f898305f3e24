package gnb

import (
	"crypto/rand"
	"sync"
)

// Area is the gNBs of one process that UEs may move between. It stands for the radio and for what RRC carries: a
// handover's container holds a token by which the target finds the UE.
type Area struct {
	mu    sync.Mutex
	gnbs  map[uint32]*GNB
	moves map[string]*move
}

// move is a handover by N2 that is under way.
type move struct {
	source *Connection
	target *Connection // nil until the target has admitted it
}

// NewArea makes neighbours of gNBs with different IDs, before they run.
func NewArea(gnbs ...*GNB) *Area {
	a := &Area{gnbs: map[uint32]*GNB{}, moves: map[string]*move{}}
	for _, g := range gnbs {
		a.gnbs[g.cfg.ID] = g
		g.area = a
	}
	return a
}

// begin opens a move and gives its token.
func (a *Area) begin(source *Connection) (token string, m *move) {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	m = &move{source: source}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moves[string(b)] = m
	return string(b), m
}

func (a *Area) end(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.moves, token)
}

// moving finds a move by its token; nil for one that has not begun here.
func (a *Area) moving(token string) *move {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.moves[token]
}

// admitted takes the target's connection.
func (a *Area) admitted(m *move, target *Connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.target = target
}

func (a *Area) target(m *move) *Connection {
	a.mu.Lock()
	defer a.mu.Unlock()
	return m.target
}
