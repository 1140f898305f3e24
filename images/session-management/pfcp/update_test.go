package pfcp

import (
	"errors"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// What is asked of a unit beside its sessions.
func TestUpdate(t *testing.T) {
	own := ie.NewVendorSpecificIE(0x8001, 32473, []byte{1, 2, 3})
	for name, c := range map[string]struct {
		say  func(r *rig, m *wire.Message)
		want func(error) bool
	}{
		"answered": {func(r *rig, m *wire.Message) {
			r.answer(m, upf, accepted, ie.NewVendorSpecificIE(0x8002, 32473, []byte{4}))
		}, func(err error) bool { return err == nil }},
		"refused": {func(r *rig, m *wire.Message) { r.answer(m, upf, cause(ie.CauseServiceNotSupported)) }, func(err error) bool {
			var refused *RefusedError
			return errors.As(err, &refused)
		}},
		"silence":  {func(r *rig, _ *wire.Message) { r.pass(3 * time.Second) }, isNoAnswer},
		"the end":  {func(r *rig, _ *wire.Message) { r.Close() }, isNoAnswer},
		"no unit":  {nil, isNotSent},
		"no cause": {func(r *rig, m *wire.Message) { r.answer(m, upf) }, isNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			var list wire.Elements
			var err error
			n := 0
			done := func(l wire.Elements, e error) { list, err = l, e; n++ }
			if c.say == nil {
				r.Update("upf-9", nil, done)
				if n != 0 {
					t.Error("done before Update has returned")
				}
				r.pass(0)
			} else {
				r.Update("upf-0", []*ie.IE{own}, done)
				m := r.wants(update)
				if e := m.Elements.First(0x8001); e == nil || e.Enterprise != 32473 || len(e.Value) != 3 {
					t.Errorf("asked %+v", m.Elements)
				}
				c.say(r, m)
			}
			if n != 1 || !c.want(err) {
				t.Errorf("%d outcomes, %v", n, err)
			}
			if name == "answered" && list.First(0x8002) == nil {
				t.Errorf("answer %+v", list)
			}
		})
	}
	r := newRig(t, func(c *Config) { c.Association = func(unit string) []*ie.IE { return []*ie.IE{own} } })
	r.add(Unit{NodeID: "upf-0", Address: unitAddr, Associated: true})
	m := r.wants(update)
	r.answer(m, upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	if m.Elements.First(0x8001) == nil || r.wants(setup).Elements.First(0x8001) == nil {
		t.Error("the association is met without its further IEs")
	}
}
