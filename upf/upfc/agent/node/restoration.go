package node

// While sessions that a CP function restores (TS 23.527 4.3, RESTI) are not back, whatever is chosen for a new session may
// be theirs. The UPF has forgotten who there was, so CP functions say so (package extension): who has restored, and who
// else may have to. From the first such word on nothing is chosen for new sessions until all who were named have said
// that they are done, or RestorationWait has passed since our Recovery Time Stamp. CP functions that say nothing of the
// kind are not waited for.

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

// restoration says for whom new sessions wait.
type restoration struct {
	mu    sync.Mutex
	until time.Time
	nodes map[string]bool // by Node ID: true until it has restored its sessions
	// heard: a CP function has associated, in this life.
	heard bool
}

// ErrRestoring is temporary, so it is no lack of resources.
var ErrRestoring = &pfcp.Reject{Cause: ie.CausePFCPEntityInCongestion, Detail: "sessions from before are being restored: nothing is chosen for new ones until then"}

// begin is a new life, or goes on with an earlier one's, in which a CP function was heard.
func (r *restoration) begin(until time.Time, nodes []state.Restorer, heard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until, r.nodes, r.heard = until, map[string]bool{}, heard
	for _, n := range nodes {
		r.nodes[n.Node] = n.Waits
	}
}

// waits says whether somebody has sessions to restore.
func (r *restoration) waits(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until) && r.someLocked()
}

// silent says whether a tunnel that there is not may yet be restored: while somebody restores sessions, and before anybody has come who
// could. An Error Indication would end such a session at its access network (TS 23.527 5.3).
func (r *restoration) silent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until) && (!r.heard || r.someLocked())
}

// hears: a CP function associates.
func (r *restoration) hears() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = true
}

func (r *restoration) someLocked() bool {
	for _, waits := range r.nodes {
		if waits {
			return true
		}
	}
	return false
}

// list is for META.
func (r *restoration) list() (out []state.Restorer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(r.nodes)) {
		out = append(out, state.Restorer{Node: n, Waits: r.nodes[n]})
	}
	return out
}

// restorersMax bounds how many CP functions are known by name alone.
const restorersMax = 1024

// saw notes what a CP function says of itself and of others; true when that was news. It is done only when it knows in
// which life of ours; and who was done stays so, whatever comes late.
func (r *restoration) saw(node string, s *extension.State, recovery uint32, now time.Time) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !now.Before(r.until) {
		return false
	}
	waits := !s.Done || s.Recovery != recovery
	if was, known := r.nodes[node]; !known || was && !waits {
		r.nodes[node], news = waits, true
	}
	for _, other := range s.Nodes {
		if _, known := r.nodes[other]; !known && len(r.nodes) < restorersMax {
			r.nodes[other], news = true, true
		}
	}
	return news
}

// done waits no longer for a CP function.
func (r *restoration) done(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes[node] {
		r.nodes[node] = false
	}
}

// Restoring says whether nothing is chosen for new sessions: some CP function has sessions to restore (ErrRestoring).
func (n *Node) Restoring() bool { return n.restoration.waits(n.o.Machine.Now()) }

// Silent says whether upf-u is to answer nobody that there is no such tunnel.
func (n *Node) Silent() bool { return n.restoration.silent(n.o.Machine.Now()) }

// sawRestoration notes what an Association Setup or Update Request says of the restoration.
func (n *Node) sawRestoration(m *pfcp.Message, node string) error {
	n.restoration.hears()
	e := extension.Find(m.Elements, extension.Restoration)
	if e == nil {
		return nil
	}
	s, err := extension.ReadState(e)
	if err != nil {
		return err
	}
	if n.restoration.saw(node, &s, binary.BigEndian.Uint32(n.recoveryIE().Payload), n.o.Machine.Now()) {
		n.o.Persist()
		n.o.Log.Info("a CP function tells of sessions that it had", "node", node, "restored", s.Done, "restorers", n.restoration.list())
	}
	return nil
}
