package integration

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// Rules of upf-c's configuration are activated by name, and packets go by them: both ways, dropped where the gate is closed, and by none
// where none is active.
func TestIntegrationPredefinedRules(t *testing.T) {
	r := newRigWith(t, `gtpu: {echo: {interval: 0s}}
predefinedRules:
- {name: dn, filters: [permit out ip from `+dnAddr+` to assigned]}
- {name: barred, filters: [permit out 1 from any to assigned], gate: closed}`)
	r.smf.Associate()
	ue := ie.NewUEIPAddress(2, fakesmf.Phone.Addr, "", 0, 0)
	pdr := func(id uint16, pdi *ie.IE, more ...*ie.IE) *ie.IE {
		return ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(9), ie.NewFARID(uint32(id)), pdi, ie.NewActivatePredefinedRules("dn")}, more...)...)
	}
	seid := r.smf.Established(7,
		pdr(1, ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(1, 1, net.ParseIP(n3Addr).To4(), nil, 0), ue), ie.NewOuterHeaderRemoval(0, 0)),
		pdr(2, ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ue)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, gnbTEID, gnbAddr, "", 0, 0, 0))))
	seq := uint16(0)
	send := func() {
		t.Helper()
		seq++
		if err := r.uplink(1, fakesmf.Phone.Addr, seq); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(when string) {
		t.Helper()
		send()
		if p, ok := r.receive(time.Minute); !ok || p.teid != gnbTEID || p.seq != seq {
			t.Errorf("%s: received %+v (%t), want the answer to ping %d", when, p, ok, seq)
		}
	}
	dropped := func(when, reason string) {
		t.Helper()
		before := r.drops(reason)
		send()
		r.await(time.Minute, when+": "+reason+" counts", func() bool { return r.drops(reason) == before+1 })
	}
	change := func(ies ...*ie.IE) {
		t.Helper()
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdatePDR(append([]*ie.IE{ie.NewPDRID(1)}, ies...)...)).Cause, ie.CauseRequestAccepted)
	}
	answered("the rule is active")
	change(ie.NewDeactivatePredefinedRules("dn"), ie.NewActivatePredefinedRules("barred"))
	dropped("a closed one is", "far_drop")
	change(ie.NewDeactivatePredefinedRules("barred"))
	dropped("none is", "no_pdr")
	change(ie.NewActivatePredefinedRules("dn"))
	answered("the first is again")
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the rule is in the next upf-u", func() bool {
		send()
		p, ok := r.receive(time.Second)
		return ok && p.typ == 255 && p.seq == seq
	})
}
