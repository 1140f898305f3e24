package agent

import (
	"errors"
	"iter"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// store holds all sessions at rest: one entry of 16 octets each in a table by upf-u's index, and the
// session's blob, the very octets that upf-u keeps too, in the slab. Neither has a pointer in it. A
// session that is worked on is decoded; whoever does so holds a lease (lock), and the decoded
// one lives as long as anybody holds one. A change counts once save has stored its encoding.
//
// The UP SEID is the index + 1 below a generation, so that finding a session is looking at its entry.
// The generation is random: neither a SEID of an earlier session nor one of an earlier upf-c fits.
type store struct {
	mu      sync.Mutex
	entries []entry
	indexes slots
	leased  map[uint32]*session
	blobs   slab
	tunnels tunnels
	named   named
	peers   map[peerOf]int // tunnels
	nodes   []string       // Node IDs of CP functions, by their number
	numbers map[string]uint16
	count   int
	known   *state.Strings
	// The memory of the upf-us to which meters are attached, by life.
	life  uint8
	lives map[uint8]*dataplane.Shm
	// META in the file.
	metaUnit   uint32
	metaLength int
	ended      ended
	random     func() uint64
}

type entry struct {
	generation uint32 // 0: no session
	blob       uint32 // unit in the slab
	length     uint32 // of the blob, 0: not stored yet
	node       uint16
	life       uint8 // of the upf-u whose counters its meters refer to
}

// peerOf is a GTP-U peer as one CP function's sessions use it.
type peerOf struct {
	addr netip.Addr
	node uint16
	core bool // on N9
}

func newStore(random func() uint64) *store {
	return &store{
		random: random,
		leased: map[uint32]*session{}, numbers: map[string]uint16{}, known: state.NewStrings(),
		lives: map[uint8]*dataplane.Shm{}, peers: map[peerOf]int{},
	}
}

func seidOf(index, generation uint32) uint64 { return uint64(generation)<<32 | uint64(index+1) }

// resize makes room for as many sessions as upf-u can hold.
func (st *store) resize(sessions uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.indexes.resize(sessions)
	if int(sessions) > cap(st.entries) { // pages that no session uses are never touched
		st.entries = append(make([]entry, 0, sessions), st.entries...)
	}
}

// begin makes a new life of upf-u's memory that to which sessions are attached from now on.
func (st *store) begin(shm *dataplane.Shm, bootID uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.life++
	st.lives[st.life] = shm
	st.blobs.kept.begin(st.life, bootID)
}

// lifeOf is the life of upf-u to whose memory a session's meters are attached.
func (st *store) lifeOf(index uint32) uint8 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.entries[index].life
}

// settle forgets the memory of earlier lives, once all sessions are attached to the present one.
func (st *store) settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for life := range st.lives {
		if life != st.life {
			delete(st.lives, life)
		}
	}
}

// register makes a new session known and leases it, locked. It gets the index that it is to have, if that is free.
func (st *store) register(a *Agent, wanted ...uint32) (*session, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if most := a.cfg.Limits.Sessions; most != 0 && st.count >= int(most) {
		return nil, false
	}
	for _, index := range wanted {
		if st.indexes.claim(index) {
			return st.registerLocked(a, index), true
		}
	}
	index, ok := st.indexes.take()
	if !ok {
		return nil, false
	}
	return st.registerLocked(a, index), true
}

func (st *store) registerLocked(a *Agent, index uint32) *session {
	e := st.entry(index)
	*e = entry{generation: uint32(st.random()) | 1, life: st.life}
	s := &session{agent: a, index: index, refs: 1, loaded: true, shm: st.lives[st.life]}
	s.UPSEID = seidOf(index, e.generation)
	s.mu.Lock()
	st.leased[index] = s
	st.count++
	return s
}

func (st *store) entry(index uint32) *entry {
	for int(index) >= len(st.entries) { // within its capacity
		st.entries = append(st.entries, entry{})
	}
	return &st.entries[index]
}

// adopt makes a session known that was kept, without decoding it for longer than this. Its meters are
// attached to the memory of a life.
func (st *store) adopt(index uint32, s *state.Session, blob []byte, life uint8) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if uint32(s.UPSEID) != index+1 || s.UPSEID>>32 == 0 {
		return errDuplicate("SEID")
	}
	if !st.indexes.claim(index) {
		return errDuplicate("index")
	}
	unit, err := st.blobs.put(blob)
	if err != nil {
		st.indexes.give(index)
		return err
	}
	*st.entry(index) = entry{
		generation: uint32(s.UPSEID >> 32), blob: unit, length: uint32(len(blob)),
		node: st.numberLocked(s.Node), life: life,
	}
	st.blobs.kept.session(index, unit, uint32(len(blob)), life)
	for f, core := range peers(s.Rules) {
		st.addTunnel(f, index, peerOf{f.Addr, st.entries[index].node, core})
	}
	st.named.add(s, index)
	st.count++
	return nil
}

type errDuplicate string

func (e errDuplicate) Error() string { return "its " + string(e) + " is taken or out of range" }

func (st *store) numberLocked(node string) uint16 {
	n, ok := st.numbers[node]
	if !ok {
		// Who comes last shares a number: whoever looks for a CP function's sessions asks each of them, too.
		n = uint16(min(len(st.nodes), math.MaxUint16))
		if len(st.nodes) <= math.MaxUint16 {
			st.nodes = append(st.nodes, node)
		}
		st.numbers[node] = n
	}
	return n
}

// peers are the tunnels that a set of rules sends into, and whether they lead towards the core (N9).
func peers(set *rules.Set) iter.Seq2[rules.FTEID, bool] {
	return func(yield func(rules.FTEID, bool) bool) {
		if set == nil {
			return
		}
		for _, r := range set.FARs {
			if t := r.Outer.Tunnel(); t.IsValid() && !yield(t, r.Destination == rules.Core) {
				return
			}
		}
	}
}

// save stores what a leased session has become. before is what it was, of which the rules are nil or as stored.
func (st *store) save(s *session, before *state.Session, blob []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	e := &st.entries[s.index]
	unit, err := st.blobs.put(blob)
	if err != nil { // it stays decoded, and so in memory
		s.refs++
		return
	}
	st.blobs.kept.session(s.index, unit, uint32(len(blob)), st.life)
	if e.length != 0 {
		st.blobs.drop(e.blob, int(e.length))
	}
	was, old := e.node, before.Rules
	if stored := e.length != 0; !stored || before.CPSEID != s.CPSEID || before.Node != s.Node {
		if stored {
			st.named.remove(before, s.index)
		}
		st.named.add(&s.Session, s.index)
	}
	e.blob, e.length, e.node, e.life = unit, uint32(len(blob)), st.numberLocked(s.Node), st.life
	if old != s.Rules || was != e.node {
		for f, core := range peers(s.Rules) {
			st.addTunnel(f, s.index, peerOf{f.Addr, e.node, core})
		}
		for f, core := range peers(old) {
			st.removeTunnel(f, s.index, peerOf{f.Addr, was, core})
		}
	}
}

// forget makes a session unknown; its index stays taken until free. The caller holds its lease.
func (st *store) forget(s *session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.gone = true
	e := &st.entries[s.index]
	st.blobs.kept.noSession(s.index)
	if e.length != 0 {
		st.blobs.drop(e.blob, int(e.length))
	}
	if e.length != 0 {
		for f, core := range peers(s.Rules) {
			st.removeTunnel(f, s.index, peerOf{f.Addr, e.node, core})
		}
		st.named.remove(&s.Session, s.index)
	}
	*e = entry{}
	delete(st.leased, s.index)
	st.count--
}

// free makes an index free for another session.
func (st *store) free(index uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.indexes.give(index)
}

// lease is a session, not locked yet; nil when there is none with this index and, unless 0,
// generation.
func (st *store) lease(a *Agent, index, generation uint32) *session {
	st.mu.Lock()
	defer st.mu.Unlock()
	if int(index) >= len(st.entries) || st.entries[index].generation == 0 ||
		(generation != 0 && st.entries[index].generation != generation) {
		return nil
	}
	s := st.leased[index]
	if s == nil {
		s = &session{agent: a, index: index}
		st.leased[index] = s
	} else {
		s.shared = true
	}
	s.refs++
	return s
}

func (st *store) unlease(s *session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.refs--; s.refs == 0 && st.leased[s.index] == s {
		delete(st.leased, s.index)
	}
}

// leaseOver is lease with the maps of a state that nobody needs any more, for whoever goes through all
// sessions.
func (st *store) leaseOver(a *Agent, index uint32, old *state.Session) *session {
	s := st.lease(a, index, 0)
	if s == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if !s.shared {
		s.Session, *old = *old, state.Session{}
	}
	return s
}

// leftover is the state of a session whose last lease has just ended, for leaseOver.
func (st *store) leftover(s *session, old *state.Session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.refs == 0 && !s.shared && s.loaded {
		*old = s.Session
		s.Session = state.Session{}
	}
}

// load decodes a session that rests. The caller has locked it.
func (st *store) load(s *session) error {
	st.mu.Lock()
	e := st.entries[s.index]
	var blob []byte
	if e.length != 0 {
		blob = st.blobs.cell(e.blob, int(e.length)) // only the lease's holder writes there
	}
	s.shm = st.lives[e.life]
	st.mu.Unlock()
	if blob == nil {
		return errors.New("it was never stored")
	}
	if err := state.DecodeSession(blob, &s.Session, st.known); err != nil {
		return err
	}
	s.loaded = true
	return nil
}

// all are the indexes of the sessions, those of one CP function when node is not empty. Sessions
// that come and go meanwhile may be among them or not.
func (st *store) all(node string) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		st.mu.Lock()
		number, known := st.numbers[node]
		n := len(st.entries)
		st.mu.Unlock()
		if node != "" && !known {
			return
		}
		var found [256]uint32
		for first := 0; first < n; first += len(found) {
			k := 0
			st.mu.Lock()
			for i := first; i < min(first+len(found), n); i++ {
				if e := &st.entries[i]; e.generation != 0 && (node == "" || e.node == number) {
					found[k] = uint32(i)
					k++
				}
			}
			st.mu.Unlock()
			for _, index := range found[:k] {
				if !yield(index) {
					return
				}
			}
		}
	}
}

func (st *store) sessions() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.count
}

// perNode counts the sessions of each CP function.
func (st *store) perNode() map[string]int {
	st.mu.Lock()
	defer st.mu.Unlock()
	counts := make([]int, len(st.nodes))
	for i := range st.entries {
		if e := &st.entries[i]; e.generation != 0 && e.length != 0 {
			counts[e.node]++
		}
	}
	out := map[string]int{}
	for n, c := range counts {
		out[st.nodes[n]] = c
	}
	return out
}

// reset forgets all, and makes room for as many sessions as upf-u can hold. Nobody holds a lease.
func (st *store) reset(sessions uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs.close()
	known := st.known
	fresh := newStore(st.random)
	st.entries, st.indexes, st.leased, st.blobs, st.tunnels, st.named = fresh.entries, fresh.indexes, fresh.leased, fresh.blobs, fresh.tunnels, fresh.named
	st.peers, st.nodes, st.numbers, st.count, st.known = fresh.peers, fresh.nodes, fresh.numbers, 0, known
	st.life, st.lives, st.metaUnit, st.metaLength, st.ended = 0, fresh.lives, 0, 0, ended{}
	st.indexes.resize(sessions)
	st.entries = make([]entry, 0, sessions) // pages that no session uses are never touched
}

// goOn makes the lives of upf-u that an earlier upf-c knew ours.
func (st *store) goOn(old *left, memory func(life uint8) *dataplane.Shm) {
	used := map[uint8]bool{}
	for _, w := range old.table {
		if w != 0 {
			used[word(w).life()] = true
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.life, st.lives = uint8(old.header.life), map[uint8]*dataplane.Shm{}
	if k := st.blobs.kept; k != nil {
		k.header.boots, k.header.life = old.header.boots, old.header.life
	}
	for life := range used {
		st.lives[life] = memory(life)
	}
}

// commit gives the file its name.
func (st *store) commit() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.blobs.kept.commit()
}

// keep has everything written to a file from now on; nil: to none. The store is empty. When there is no more
// room in it, the rest is in memory alone.
func (st *store) keep(k *kept) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs = slab{kept: k}
}

// keepMeta stores META in the file.
func (st *store) keepMeta(blob []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.blobs.kept == nil || len(blob) > slabChunk { // upf-u would not take it either
		return
	}
	unit, err := st.blobs.put(blob)
	if err != nil {
		return
	}
	st.blobs.kept.meta(unit, uint32(len(blob)))
	if st.metaLength != 0 {
		st.blobs.drop(st.metaUnit, st.metaLength)
	}
	st.metaUnit, st.metaLength = unit, len(blob)
}

// noRoom says why some of the store is not in its file, once.
func (st *store) noRoom() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	k := st.blobs.kept
	if k == nil {
		return nil
	}
	err := k.full
	k.full = nil
	return err
}

// stamp notes in the file that upf-c lives.
func (st *store) stamp(now time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs.kept.stamp(now)
}

func (st *store) addTunnel(f rules.FTEID, index uint32, p peerOf) {
	st.tunnels.add(f, index)
	st.peers[p]++
}

func (st *store) removeTunnel(f rules.FTEID, index uint32, p peerOf) {
	st.tunnels.remove(f, index)
	if st.peers[p]--; st.peers[p] == 0 {
		delete(st.peers, p)
	}
}

// peerTunnels counts the tunnels into which sessions send, by peer.
func (st *store) peerTunnels() map[netip.Addr]int {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make(map[netip.Addr]int, len(st.peers))
	for p, n := range st.peers {
		out[p.addr] += n
	}
	return out
}

// corePeers are the peers on N9.
func (st *store) corePeers() map[netip.Addr]bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := map[netip.Addr]bool{}
	for p := range st.peers {
		if p.core {
			out[p.addr] = true
		}
	}
	return out
}

// sendsTo says whether sessions of a CP function send to one of the peers.
func (st *store) sendsTo(node string, peers []netip.Addr) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	number, known := st.numbers[node]
	return known && slices.ContainsFunc(peers, func(p netip.Addr) bool {
		return st.peers[peerOf{p, number, false}]+st.peers[peerOf{p, number, true}] > 0
	})
}

// users are the sessions that may send into a peer's tunnel.
func (st *store) users(f rules.FTEID) []uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.tunnels.find(f)
}
