package n2

import (
	"math"

	"core5g.dev/core5g/images/ngapcause"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Cause of a transfer.
type Cause = ngapcause.Cause

// codecRoot is how many values the codec takes CauseRadioNetwork's root to have: the first two extensions, too. So it counts what follows from there.
const codecRoot = 47

func (c *check) cause(ie string, in *ngapType.Cause) Cause {
	var group ngapcause.Group
	var value, unspecified uint64
	missing := false
	switch in.Present {
	case ngapType.CausePresentRadioNetwork:
		if missing = in.RadioNetwork == nil; !missing {
			value = uint64(in.RadioNetwork.Value)
			if value >= codecRoot {
				value -= codecRoot - uint64(ngapcause.RadioNetwork.Root())
			}
		}
		group, unspecified = ngapcause.RadioNetwork, uint64(ngapcause.RadioUnspecified.Value())
	case ngapType.CausePresentTransport:
		if missing = in.Transport == nil; !missing {
			value = uint64(in.Transport.Value)
		}
		group, unspecified = ngapcause.Transport, uint64(ngapcause.TransportUnspecified.Value())
	case ngapType.CausePresentNas:
		if missing = in.Nas == nil; !missing {
			value = uint64(in.Nas.Value)
		}
		group, unspecified = ngapcause.NAS, uint64(ngapcause.NASUnspecified.Value())
	case ngapType.CausePresentProtocol:
		if missing = in.Protocol == nil; !missing {
			value = uint64(in.Protocol.Value)
		}
		group, unspecified = ngapcause.Protocol, uint64(ngapcause.ProtocolUnspecified.Value())
	case ngapType.CausePresentMisc:
		if missing = in.Misc == nil; !missing {
			value = uint64(in.Misc.Value)
		}
		group, unspecified = ngapcause.Misc, uint64(ngapcause.MiscUnspecified.Value())
	default:
		c.fail(ie, "no group of TS 38.413 9.3.1.2")
		return 0
	}
	if missing {
		c.fail(ie, "a %s cause without a value", group)
		return 0
	}
	// What no release can mean is still a cause, and what was refused is still refused.
	if value > math.MaxUint16 {
		value = unspecified
	}
	return ngapcause.Make(group, uint16(value))
}

func (c *check) putCause(ie string, in Cause) ngapType.Cause {
	value := aper.Enumerated(in.Value())
	switch in.Group() {
	case ngapcause.RadioNetwork:
		if root := aper.Enumerated(ngapcause.RadioNetwork.Root()); value >= root {
			value += codecRoot - root
		}
		return ngapType.Cause{Present: ngapType.CausePresentRadioNetwork, RadioNetwork: &ngapType.CauseRadioNetwork{Value: value}}
	case ngapcause.Transport:
		return ngapType.Cause{Present: ngapType.CausePresentTransport, Transport: &ngapType.CauseTransport{Value: value}}
	case ngapcause.NAS:
		return ngapType.Cause{Present: ngapType.CausePresentNas, Nas: &ngapType.CauseNas{Value: value}}
	case ngapcause.Protocol:
		return ngapType.Cause{Present: ngapType.CausePresentProtocol, Protocol: &ngapType.CauseProtocol{Value: value}}
	case ngapcause.Misc:
		return ngapType.Cause{Present: ngapType.CausePresentMisc, Misc: &ngapType.CauseMisc{Value: value}}
	}
	c.fail(ie, "%s is none of TS 38.413 9.3.1.2", in.Group())
	return ngapType.Cause{}
}
