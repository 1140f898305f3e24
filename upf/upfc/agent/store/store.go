package store

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

// Store holds all sessions at rest: one entry of 16 octets each in a table by upf-u's index, and the
// session's blob, the very octets that upf-u keeps too, in the slab. Neither has a pointer in it. A
// session that is worked on is decoded; whoever does so holds a lease, and the decoded
// one lives as long as anybody holds one. A change counts once Save has stored its encoding.
//
// The UP SEID is the index + 1 below a generation, so that finding a session is looking at its entry.
// The generation is random: neither a SEID of an earlier session nor one of an earlier upf-c fits.
type Store[S Leased] struct {
	mu      sync.Mutex
	entries []entry
	indexes Slots
	leased  map[uint32]S
	begun   func() S // a lease of nothing
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
	mirror     Mirror // nil: there is none
}

type entry struct {
	generation uint32 // 0: no session
	blob       uint32 // unit in the slab
	length     uint32 // of the blob, 0: not stored yet
	node       uint16
	life       uint8 // of the upf-u whose counters its meters refer to
}

// Lease is a session while somebody works on it. Its state is what upf-u keeps for us; its maps are replaced, never
// written to, once a transaction has carried them.
type Lease struct {
	state.Session
	Mu    sync.Mutex // held by whoever works on it
	Index uint32     // upf-u's name for it
	refs  int        // leases; under the store's lock
	// Shared: another lease overlapped with this one, so that parts of the state may be held by others.
	Shared bool
	Loaded bool // Session is what the store has
	Gone   bool
	Shm    *dataplane.Shm // to which the meters are attached
}

func (l *Lease) base() *Lease { return l }

// Leased is a pointer to a struct that embeds a Lease.
type Leased interface {
	comparable
	base() *Lease
}

// peerOf is a GTP-U peer as one CP function's sessions use it.
type peerOf struct {
	addr netip.Addr
	node uint16
	core bool // on N9
}

// New makes an empty store. begun makes what is leased, random its generations.
func New[S Leased](random func() uint64, begun func() S) *Store[S] {
	return &Store[S]{
		random: random, begun: begun,
		leased: map[uint32]S{}, numbers: map[string]uint16{}, known: state.NewStrings(),
		lives: map[uint8]*dataplane.Shm{}, peers: map[peerOf]int{},
	}
}

func seidOf(index, generation uint32) uint64 { return uint64(generation)<<32 | uint64(index+1) }

// Resize makes room for as many sessions as upf-u can hold.
func (st *Store[S]) Resize(sessions uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.indexes.Resize(sessions)
	if int(sessions) > cap(st.entries) { // pages that no session uses are never touched
		st.entries = append(make([]entry, 0, sessions), st.entries...)
	}
}

// Begin makes a new life of upf-u's memory that to which sessions are attached from now on.
func (st *Store[S]) Begin(shm *dataplane.Shm, bootID uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.life++
	st.lives[st.life] = shm
	st.blobs.kept.begin(st.life, bootID)
	if st.mirror != nil {
		st.mirror.Life(st.life, bootID, shm)
	}
}

// GenerationOf is the upper half of the UP SEID of the session that has an index, 0: there is none.
func (st *Store[S]) GenerationOf(index uint32) uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	if int(index) >= len(st.entries) {
		return 0
	}
	return st.entries[index].generation
}

// LifeOf is the life of upf-u to whose memory a session's meters are attached.
func (st *Store[S]) LifeOf(index uint32) uint8 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.entries[index].life
}

// Settle forgets the memory of earlier lives, once all sessions are attached to the present one.
func (st *Store[S]) Settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for life := range st.lives {
		if life != st.life {
			delete(st.lives, life)
		}
	}
}

// Register makes a new session known and leases it, locked. It gets the index that it is to have, if that is free.
// most bounds how many sessions there are, 0: as many as upf-u can hold.
func (st *Store[S]) Register(most uint32, wanted ...uint32) (S, bool) {
	var none S
	st.mu.Lock()
	defer st.mu.Unlock()
	if most != 0 && st.count >= int(most) {
		return none, false
	}
	for _, index := range wanted {
		if st.indexes.Claim(index) {
			return st.registerLocked(index), true
		}
	}
	index, ok := st.indexes.Take()
	if !ok {
		return none, false
	}
	return st.registerLocked(index), true
}

func (st *Store[S]) registerLocked(index uint32) S {
	e := st.entry(index)
	*e = entry{generation: uint32(st.random()) | 1, life: st.life}
	leased := st.begun()
	l := leased.base()
	l.Index, l.refs, l.Loaded, l.Shm = index, 1, true, st.lives[st.life]
	l.UPSEID = seidOf(index, e.generation)
	l.Mu.Lock()
	st.leased[index] = leased
	st.count++
	return leased
}

func (st *Store[S]) entry(index uint32) *entry {
	for int(index) >= len(st.entries) { // within its capacity
		st.entries = append(st.entries, entry{})
	}
	return &st.entries[index]
}

// Adopt makes a session known that was kept, without decoding it for longer than this. Its meters are
// attached to the memory of a life.
func (st *Store[S]) Adopt(index uint32, s *state.Session, blob []byte, life uint8) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if uint32(s.UPSEID) != index+1 || s.UPSEID>>32 == 0 {
		return ErrDuplicate("SEID")
	}
	if !st.indexes.Claim(index) {
		return ErrDuplicate("index")
	}
	unit, err := st.blobs.put(blob)
	if err != nil {
		st.indexes.Give(index)
		return err
	}
	*st.entry(index) = entry{
		generation: uint32(s.UPSEID >> 32), blob: unit, length: uint32(len(blob)),
		node: st.numberLocked(s.Node), life: life,
	}
	st.blobs.kept.session(index, unit, uint32(len(blob)), life)
	st.mirrorSession(index, life, blob)
	for f, core := range Peers(s.Rules) {
		st.addTunnel(f, index, peerOf{f.Addr, st.entries[index].node, core})
	}
	st.named.add(s, index)
	st.count++
	return nil
}

// ErrDuplicate says what of a session is taken.
type ErrDuplicate string

func (e ErrDuplicate) Error() string { return "its " + string(e) + " is taken or out of range" }

func (st *Store[S]) numberLocked(node string) uint16 {
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

// Peers are the tunnels that a set of rules sends into, and whether they lead towards the core (N9).
func Peers(set *rules.Set) iter.Seq2[rules.FTEID, bool] {
	return func(yield func(rules.FTEID, bool) bool) {
		if set == nil {
			return
		}
		for _, r := range set.FARs.All() {
			if t := r.Outer.Tunnel(); t.IsValid() && !yield(t, r.Destination == rules.Core) {
				return
			}
		}
	}
}

// Save stores what a leased session has become. before is what it was, of which the rules are nil or as stored.
func (st *Store[S]) Save(leased S, before *state.Session, blob []byte) {
	s := leased.base()
	st.mu.Lock()
	defer st.mu.Unlock()
	e := &st.entries[s.Index]
	unit, err := st.blobs.put(blob)
	if err != nil { // it stays decoded, and so in memory
		s.refs++
		return
	}
	st.blobs.kept.session(s.Index, unit, uint32(len(blob)), st.life)
	st.mirrorSession(s.Index, st.life, blob)
	if e.length != 0 {
		st.blobs.drop(e.blob, int(e.length))
	}
	was, old := e.node, before.Rules
	if stored := e.length != 0; !stored || before.CPSEID != s.CPSEID || before.Node != s.Node {
		if stored {
			st.named.remove(before, s.Index)
		}
		st.named.add(&s.Session, s.Index)
	}
	e.blob, e.length, e.node, e.life = unit, uint32(len(blob)), st.numberLocked(s.Node), st.life
	if old != s.Rules || was != e.node {
		for f, core := range Peers(s.Rules) {
			st.addTunnel(f, s.Index, peerOf{f.Addr, e.node, core})
		}
		for f, core := range Peers(old) {
			st.removeTunnel(f, s.Index, peerOf{f.Addr, was, core})
		}
	}
}

// Forget makes a session unknown; its index stays taken until free. The caller holds its lease.
func (st *Store[S]) Forget(leased S) {
	s := leased.base()
	st.mu.Lock()
	defer st.mu.Unlock()
	s.Gone = true
	e := &st.entries[s.Index]
	st.blobs.kept.noSession(s.Index)
	st.mirrorSession(s.Index, 0, nil)
	if e.length != 0 {
		st.blobs.drop(e.blob, int(e.length))
	}
	if e.length != 0 {
		for f, core := range Peers(s.Rules) {
			st.removeTunnel(f, s.Index, peerOf{f.Addr, e.node, core})
		}
		st.named.remove(&s.Session, s.Index)
	}
	*e = entry{}
	delete(st.leased, s.Index)
	st.count--
}

// Free makes an index free for another session.
func (st *Store[S]) Free(index uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.indexes.Give(index)
}

// Lease is a session, not locked yet; nil when there is none with this index and, unless 0,
// generation.
func (st *Store[S]) Lease(index, generation uint32) S {
	var none S
	st.mu.Lock()
	defer st.mu.Unlock()
	if int(index) >= len(st.entries) || st.entries[index].generation == 0 ||
		(generation != 0 && st.entries[index].generation != generation) {
		return none
	}
	leased := st.leased[index]
	if leased == none {
		leased = st.begun()
		leased.base().Index = index
		st.leased[index] = leased
	} else {
		leased.base().Shared = true
	}
	leased.base().refs++
	return leased
}

func (st *Store[S]) Unlease(leased S) {
	s := leased.base()
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.refs--; s.refs == 0 && st.leased[s.Index] == leased {
		delete(st.leased, s.Index)
	}
}

// LeaseOver is Lease with the maps of a state that nobody needs any more, for whoever goes through all
// Sessions.
func (st *Store[S]) LeaseOver(index uint32, old *state.Session) S {
	var none S
	leased := st.Lease(index, 0)
	if leased == none {
		return none
	}
	s := leased.base()
	st.mu.Lock()
	defer st.mu.Unlock()
	if !s.Shared {
		s.Session, *old = *old, state.Session{}
	}
	return leased
}

// Leftover is the state of a session whose last lease has just ended, for LeaseOver.
func (st *Store[S]) Leftover(leased S, old *state.Session) {
	s := leased.base()
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.refs == 0 && !s.Shared && s.Loaded {
		*old = s.Session
		s.Session = state.Session{}
	}
}

// Load decodes a session that rests. The caller has locked it.
func (st *Store[S]) Load(leased S) error {
	s := leased.base()
	st.mu.Lock()
	e := st.entries[s.Index]
	var blob []byte
	if e.length != 0 {
		blob = st.blobs.cell(e.blob, int(e.length)) // only the lease's holder writes there
	}
	s.Shm = st.lives[e.life]
	st.mu.Unlock()
	if blob == nil {
		return errors.New("it was never stored")
	}
	if err := state.DecodeSession(blob, &s.Session, st.known); err != nil {
		return err
	}
	s.Loaded = true
	return nil
}

// All are the indexes of the sessions, those of one CP function when node is not empty. Sessions
// that come and go meanwhile may be among them or not.
func (st *Store[S]) All(node string) iter.Seq[uint32] {
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

func (st *Store[S]) Sessions() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.count
}

// PerNode counts the sessions of each CP function.
func (st *Store[S]) PerNode() map[string]int {
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

// Reset forgets all, and makes room for as many sessions as upf-u can hold. Nobody holds a lease.
func (st *Store[S]) Reset(sessions uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs.close()
	known := st.known
	fresh := New(st.random, st.begun)
	st.entries, st.indexes, st.leased, st.blobs, st.tunnels, st.named = fresh.entries, fresh.indexes, fresh.leased, fresh.blobs, fresh.tunnels, fresh.named
	st.peers, st.nodes, st.numbers, st.count, st.known = fresh.peers, fresh.nodes, fresh.numbers, 0, known
	st.life, st.lives, st.metaUnit, st.metaLength, st.ended = 0, fresh.lives, 0, 0, ended{}
	st.indexes.Resize(sessions)
	st.entries = make([]entry, 0, sessions) // pages that no session uses are never touched
	if st.mirror != nil {
		st.mirror.Reset()
	}
}

// GoOn makes the lives of upf-u that an earlier upf-c knew ours.
func (st *Store[S]) GoOn(old *Left, memory func(life uint8) *dataplane.Shm) {
	used := map[uint8]bool{}
	for _, w := range old.Table {
		if w != 0 {
			used[Word(w).Life()] = true
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
		if st.mirror != nil {
			st.mirror.Life(life, old.Boot(life), st.lives[life])
		}
	}
}

// Commit gives the file its name.
func (st *Store[S]) Commit() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.blobs.kept.commit()
}

// Keep has everything written to a file from now on; nil: to none. The store is empty. When there is no more
// room in it, the rest is in memory alone.
func (st *Store[S]) Keep(k *File) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs = slab{kept: k}
}

// KeepMeta stores META in the file.
func (st *Store[S]) KeepMeta(blob []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.mirror != nil {
		st.mirror.Meta(blob)
	}
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

// NoRoom says why some of the store is not in its file, once.
func (st *Store[S]) NoRoom() error {
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

// Stamp notes in the file that upf-c lives.
func (st *Store[S]) Stamp(now time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blobs.kept.stamp(now)
}

func (st *Store[S]) addTunnel(f rules.FTEID, index uint32, p peerOf) {
	st.tunnels.add(f, index)
	st.peers[p]++
}

func (st *Store[S]) removeTunnel(f rules.FTEID, index uint32, p peerOf) {
	st.tunnels.remove(f, index)
	if st.peers[p]--; st.peers[p] == 0 {
		delete(st.peers, p)
	}
}

// PeerTunnels counts the tunnels into which sessions send, by peer.
func (st *Store[S]) PeerTunnels() map[netip.Addr]int {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make(map[netip.Addr]int, len(st.peers))
	for p, n := range st.peers {
		out[p.addr] += n
	}
	return out
}

// CorePeers are the peers on N9.
func (st *Store[S]) CorePeers() map[netip.Addr]bool {
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

// SendsTo says whether sessions of a CP function send to one of the peers.
func (st *Store[S]) SendsTo(node string, peers []netip.Addr) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	number, known := st.numbers[node]
	return known && slices.ContainsFunc(peers, func(p netip.Addr) bool {
		return st.peers[peerOf{p, number, false}]+st.peers[peerOf{p, number, true}] > 0
	})
}

// Users are the sessions that may send into a peer's tunnel.
func (st *Store[S]) Users(f rules.FTEID) []uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.tunnels.find(f)
}

// Page are so many indexes of a CP function's sessions, at most, from cursor on, and the cursor that follows; 0: no more.
func (st *Store[S]) Page(node string, cursor uint64, most int) (indexes []uint32, next uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	number, known := st.numbers[node]
	if !known {
		return nil, 0
	}
	for at := cursor; at < uint64(len(st.entries)); at++ {
		// One that is being established has no number yet.
		if e := &st.entries[at]; e.generation != 0 && (e.node == number || e.length == 0) {
			if len(indexes) == most {
				return indexes, at
			}
			indexes = append(indexes, uint32(at))
		}
	}
	return indexes, 0
}

// Known has the strings of all sessions, each once: for state.DecodeSession.
func (st *Store[S]) Known() *state.Strings { return st.known }
