package compile

import (
	"errors"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

func TestNetworks(t *testing.T) {
	s := makeSession().uplink(1, 1).downlink(2, 2)
	s.in.Rules.PDRs.Get(2).PDI.NetworkInstance = "ims"
	if c := s.compile(t); c.Network != 0 || c.FARs[0].Network != 0 {
		t.Errorf("networks %d and %d of a upf-u that has one", c.Network, c.FARs[0].Network)
	}
	s.in.Network = networks.List{"internet", "ims"}.Find
	if c := s.compile(t); c.Network != 1 || c.FARs[0].Network != 1 || c.FARs[1].Network != 0 {
		t.Errorf("networks %d of the UE, %d and %d of the FARs, want 1, 1 and that of no N6", c.Network, c.FARs[0].Network, c.FARs[1].Network)
	}
	s.in.Rules.FARs.Get(1).NetworkInstance = "internet"
	if c := s.compile(t); c.Network != 1 || c.FARs[0].Network != 0 {
		t.Errorf("networks %d of the UE, %d of the FAR, want 1 and 0", c.Network, c.FARs[0].Network)
	}
	// Another upf-u, which lacks one of them.
	s.in.Network = networks.List{"internet"}.Find
	var r *pfcp.Reject
	if err := (&Session{}).Compile(&s.in); !errors.As(err, &r) || r.Offending != ie.NetworkInstance {
		t.Errorf("%v, want a refusal of the Network Instance", err)
	}
	s.in.Rules.PDRs.Get(2).PDI.NetworkInstance = "internet"
	s.in.Rules.FARs.Get(1).NetworkInstance = "ims"
	if err := (&Session{}).Compile(&s.in); !errors.As(err, &r) || r.Rule == nil || *r.Rule != (pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: 1}) {
		t.Errorf("%v, want a refusal of FAR 1", err)
	}
	s.in.Rules.PDRs.Delete(2)
	s.in.Rules.FARs.Get(1).Outer = rules.Outer{Kind: 1, Addr: addr("172.30.9.1"), TEID: 9}
	if c := s.compile(t); c.Network != 0 || c.FARs[0].Network != 0 {
		t.Errorf("networks %d and %d of a session without N6", c.Network, c.FARs[0].Network)
	}
}
