package agent

// Sessions that a CP function restores after this UPF has lost them (TS 23.527 4.3, RESTI). It gives the F-TEIDs and UE
// addresses that were chosen here for them, and those are chosen here again: a TEID has its session's index in it, which
// the session gets once more, and addresses are noted as taken out of their pools.
//
// While some of them are not back, whatever is chosen for a new session may be theirs. The UPF has forgotten who there
// was, so CP functions say so (package extension): who has restored, and who else may have to. From the first such word
// on nothing is chosen for new sessions until all who were named have said that they are done, or RestorationWait has
// passed since our Recovery Time Stamp. CP functions that say nothing of the kind are not waited for.

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
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

// errRestoring is temporary, so it is no lack of resources.
var errRestoring = &pfcp.Reject{Cause: ie.CausePFCPEntityInCongestion, Detail: "sessions from before are being restored: nothing is chosen for new ones until then"}

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

// sawRestoration notes what an Association Setup or Update Request says of the restoration.
func (a *Agent) sawRestoration(m *pfcp.Message, node string) error {
	a.restoration.hears()
	e := extension.Find(m.Elements, extension.Restoration)
	if e == nil {
		return nil
	}
	s, err := extension.ReadState(e)
	if err != nil {
		return err
	}
	if a.restoration.saw(node, &s, binary.BigEndian.Uint32(a.recoveryIE().Payload), a.world.Now()) {
		a.persistMeta()
		a.log.Info("a CP function tells of sessions that it had", "node", node, "restored", s.Done, "restorers", a.restoration.list())
	}
	return nil
}

// restores says whether a Session Establishment Request is to restore a session (RESTI).
func restores(m *pfcp.Message) bool {
	e := m.Elements.First(ie.PFCPSEReqFlags)
	return e != nil && len(e.Value) > 0 && e.Value[0]&resti != 0
}

// resti is a bit of PFCPSEReq-Flags (TS 29.244 8.2.127): Restoration Indication.
const resti = 0x01

// isNew says that a session is being established.
func (s *session) isNew() bool { return len(s.Rules.PDRs) == 0 }

// planRestored plans a session that is restored, and says which index its F-TEIDs have. What was chosen for it is given; one that is there may get
// more.
func (a *Agent) planRestored(s *session, m *pfcp.Message) (c *rules.Change, index []uint32, err error) {
	kept := a.policyOf(s)
	defer a.forgo(kept)
	p := kept.Policy
	if s.isNew() {
		had := &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Detail: "a session that is restored has its F-TEIDs and UE addresses: give those"}
		p.ChooseFTEID = func(bool, bool, bool) (rules.FTEID, rules.FTEID, error) { return rules.FTEID{}, rules.FTEID{}, had }
		p.ChooseUE = func(*rules.Set, []string, []string, bool) (netip.Prefix, error) { return netip.Prefix{}, had }
	}
	if c, err = rules.Plan(rules.NewSet(), m.Elements, p); err != nil {
		a.trim(s, s.Rules, s.Rules)
		return nil, nil, err
	}
	index = []uint32{}
	mark := func(m *rules.Match) {
		for _, f := range []rules.FTEID{m.FTEID, m.FTEID6} {
			if f.IsValid() && f.TEID&chosenTEID != 0 {
				m.Chosen = true
				index = append(index, f.TEID&(1<<chosenIndexBits-1))
			}
		}
		m.UEChosen = m.UEChosen || a.inPool(m.UEAddress) || m.UEPrefix.IsValid() && a.inPool(m.UEPrefix.Addr()) || isChosen(s.Rules, m)
	}
	for _, r := range c.Next.PDRs.All() {
		mark(&r.PDI.Match)
	}
	for _, e := range c.Next.Endpoints.All() {
		mark(&e.Match)
	}
	return c, index, nil
}

// isChosen says whether the UPF has chosen what a PDR or Traffic Endpoint of a session matches before.
func isChosen(before *rules.Set, m *rules.Match) bool {
	return m.UEAddress.IsValid() && chosenUE(before, netip.PrefixFrom(m.UEAddress, 32)) || m.UEPrefix.IsValid() && chosenUE(before, m.UEPrefix)
}

// inPool says whether the UPF chooses such an address.
func (a *Agent) inPool(addr netip.Addr) bool {
	return addr.IsValid() && slices.ContainsFunc(a.cfg.UEPools, func(p config.Pool) bool { return p.Range.Contains(addr) })
}
