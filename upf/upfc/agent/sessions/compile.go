package sessions

import (
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// Put is a session ready to be sent.
type Put struct {
	index    uint32
	group    uint16
	rules    bool // false: upf-u has its rules
	compiled compile.Session
	Blob     []byte // its encoding

	in   compile.Input // what it is compiled of
	node string
}

// newPut is compiled again and again: what it asks and its room are as good for the next session.
func newPut(ss *Sessions) *Put {
	p := &Put{}
	p.in = compile.Input{
		Applications: func(id string) *rules.ApplicationPFDs { return ss.o.Applications.Get(p.node, id) },
		Predefined:   func(name string) *rules.Predefined { return ss.o.Predefined[name] },
		Local:        ss.own,
	}
	return p
}

// done gives it to the next session. Nobody has anything of it any more.
func (ss *Sessions) done(p *Put) {
	if cap(p.Blob)+p.compiled.Size() <= 16*1024 {
		ss.puts.Put(p)
	}
}

// Size is what it takes of a transaction.
func (p *Put) Size() int {
	if !p.rules {
		return dataplane.StateSize(p.Blob)
	}
	return dataplane.PutSize(&p.compiled, p.Blob)
}

// Add adds it to one.
func (p *Put) Add(t *dataplane.Batch) {
	if !p.rules {
		t.State(p.index, p.Blob)
		return
	}
	t.PutSession(p.index, p.group, &p.compiled, p.Blob)
}

// encode makes it ready. Whoever does not call done with it, lets go of it.
func (ss *Sessions) encode(index uint32, st *state.Session) (*Put, error) {
	p := ss.puts.Get().(*Put)
	p.index, p.rules, p.node = index, true, st.Node
	in := &p.in
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = st.Rules, st.QERSlots, st.GBRSlots, st.Meters
	in.Network, in.Bridge = ss.Networks().Finder(), ss.isBridge()
	err := p.compiled.Compile(in)
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = nil, nil, nil, nil
	if err != nil {
		return nil, err
	}
	p.compiled.NAT = ss.blockOf(st)
	p.group, p.Blob = ss.groups.number(st.Node, st.Rules.NetworkInstance()), state.AppendSession(p.Blob[:0], st)
	if p.Size() > dataplane.MaxPutSize {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "the session does not fit one transaction with upf-u"}
	}
	return p, nil
}

// Own are a UPF's GTP-U addresses.
func Own(cfg *config.Config) (own compile.Local) {
	own.N3.V4, own.N3.V6 = cfg.N3.First()
	own.N9.V4, own.N9.V6 = cfg.N9.First()
	return own
}

// CompileInto adds to a transaction what makes upf-u's session st, whose encoding it returns.
func (ss *Sessions) CompileInto(t *dataplane.Batch, index uint32, st *state.Session) (blob []byte, err error) {
	p, err := ss.encode(index, st)
	if err != nil {
		return nil, err
	}
	p.Add(t)
	return p.Blob, nil
}

// Encode makes a session ready that somebody has locked.
func (ss *Sessions) Encode(s *leases.Session) (*Put, error) { return ss.encode(s.Index, &s.Session) }

// EncodeState makes ready what upf-u lacks of a session whose rules it has.
func (ss *Sessions) EncodeState(s *leases.Session) *Put {
	p := ss.puts.Get().(*Put)
	p.index, p.rules, p.Blob = s.Index, false, state.AppendSession(p.Blob[:0], &s.Session)
	return p
}

// EncodeRules makes a session ready that upf-u is not to keep for us.
func (ss *Sessions) EncodeRules(index uint32, s *state.Session) (*Put, error) {
	p, err := ss.encode(index, s)
	if err != nil {
		return nil, err
	}
	p.Blob = nil
	return p, nil
}
