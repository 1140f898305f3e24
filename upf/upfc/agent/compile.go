package agent

import (
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// put is a session ready to be sent.
type put struct {
	index    uint32
	group    uint16
	rules    bool // false: upf-u has its rules
	compiled compile.Session
	blob     []byte

	in   compile.Input // what it is compiled of
	node string
}

// newPut is compiled again and again: what it asks of the agent and its room are as good for the next session.
func newPut(a *Agent) *put {
	p := &put{}
	p.in = compile.Input{
		Applications: func(id string) *rules.ApplicationPFDs { return a.applications.Get(p.node, id) },
		Predefined:   func(name string) *rules.Predefined { return a.predefined[name] },
		Local:        a.own(),
	}
	return p
}

// done gives it to the next session. Nobody has anything of it any more.
func (a *Agent) done(p *put) {
	if cap(p.blob)+p.compiled.Size() <= 16*1024 {
		a.puts.Put(p)
	}
}

func (p *put) size() int {
	if !p.rules {
		return dataplane.StateSize(p.blob)
	}
	return dataplane.PutSize(&p.compiled, p.blob)
}

func (p *put) add(t *dataplane.Batch) {
	if !p.rules {
		t.State(p.index, p.blob)
		return
	}
	t.PutSession(p.index, p.group, &p.compiled, p.blob)
}

func encodeOf(a *Agent, s *leases.Session) (*put, error) { return encode(a, s.Index, &s.Session) }

// encode makes it ready. Whoever does not call done with it, lets go of it.
func encode(a *Agent, index uint32, st *state.Session) (*put, error) {
	p := a.puts.Get().(*put)
	p.index, p.rules, p.node = index, true, st.Node
	in := &p.in
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = st.Rules, st.QERSlots, st.GBRSlots, st.Meters
	in.Network, in.Bridge = a.networks().Finder(), a.isBridge()
	err := p.compiled.Compile(in)
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = nil, nil, nil, nil
	if err != nil {
		return nil, err
	}
	p.compiled.NAT = a.blockOf(st)
	p.group, p.blob = a.groups.number(st.Node, st.Rules.NetworkInstance()), state.AppendSession(p.blob[:0], st)
	if p.size() > dataplane.MaxPutSize {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "the session does not fit one transaction with upf-u"}
	}
	return p, nil
}

// own are the UPF's GTP-U addresses.
func (a *Agent) own() (own compile.Local) {
	own.N3.V4, own.N3.V6 = a.cfg.N3.First()
	own.N9.V4, own.N9.V6 = a.cfg.N9.First()
	return own
}

// compileInto adds to a transaction what makes upf-u's session st, whose encoding it returns.
func (a *Agent) compileInto(t *dataplane.Batch, index uint32, st *state.Session) (blob []byte, err error) {
	p, err := encode(a, index, st)
	if err != nil {
		return nil, err
	}
	p.add(t)
	return p.blob, nil
}
