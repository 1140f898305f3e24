package n2

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/ngap/ngapType"
)

// Where ngapType knows the extension of a transfer but not its number, or has the extension's type wrong, the transfer
// is written and read with these instead. Every extension that an SMF acts on has a field; others are passed over.
type extensions struct {
	List []extension `aper:"sizeLB:1,sizeUB:65535"`
}

// extension is ProtocolExtensionField of TS 38.413 9.4.8; the codec goes by the names of its fields.
type extension struct {
	Id             ngapType.ProtocolExtensionID
	Criticality    ngapType.Criticality
	ExtensionValue extensionValue `aper:"openType,referenceFieldName:Id"`
}

// Numbers of extensions (TS 38.413 9.4.7), as in the tags below.
const (
	idUsage              = 144
	idRateDownlink       = 151
	idAdditionalPairs    = 154
	idAdditionalDownlink = 155
	idSecurityResult     = 156
	idUplinkForwarding   = 164
)

type extensionValue struct {
	Present            int
	Usage              *usageInformation                             `aper:"valueExt,referenceFieldValue:144"`
	RateDownlink       *ngapType.MaximumIntegrityProtectedDataRate   `aper:"referenceFieldValue:151"`
	AdditionalPairs    *ngapType.UPTransportLayerInformationPairList `aper:"referenceFieldValue:154"`
	AdditionalDownlink *ngapType.QosFlowPerTNLInformationList        `aper:"referenceFieldValue:155"`
	SecurityResult     *ngapType.SecurityResult                      `aper:"valueExt,referenceFieldValue:156"`
	UplinkForwarding   *ngapType.UPTransportLayerInformation         `aper:"referenceFieldValue:164,valueLB:0,valueUB:1"`
}

// Positions of the fields.
const (
	presentUsage = 1 + iota
	presentRateDownlink
	presentAdditionalPairs
	presentAdditionalDownlink
	presentSecurityResult
	presentUplinkForwarding
)

// The names of IEs that only come as extensions.
const (
	usageName           = "Secondary RAT Usage Information"
	rateDownlinkName    = "Maximum Integrity Protected Data Rate Downlink"
	uplinkForwarding    = "UL Forwarding UP TNL Information"
	additionalPairsName = "Additional NG-U UP TNL Information"
)

// extended are the extensions that a transfer has.
type extended struct {
	usage    *SecondaryRATUsage
	rate     IntegrityRate
	pairs    []TunnelPair
	downlink []FlowTunnel
	security *SecurityResult
	// forwarding of the uplink
	forwarding *record.Tunnel
}

func (c *check) extensions(in *extensions) extended {
	var out extended
	if in == nil {
		return out
	}
	for n := range in.List {
		v := &in.List[n].ExtensionValue
		switch {
		case v.Usage != nil:
			usage := c.usage(v.Usage)
			out.usage = &usage
		case v.RateDownlink != nil:
			out.rate = c.integrityRate(rateDownlinkName, v.RateDownlink)
		case v.AdditionalPairs != nil:
			out.pairs = c.pairs(additionalPairsName, v.AdditionalPairs)
		case v.AdditionalDownlink != nil:
			out.downlink = c.flowTunnels(additionalDownlink, v.AdditionalDownlink)
		case v.SecurityResult != nil:
			out.security = c.result(v.SecurityResult)
		case v.UplinkForwarding != nil:
			out.forwarding = c.optionalTunnel(uplinkForwarding, v.UplinkForwarding)
		}
	}
	return out
}

// putExtensions writes the extensions; who does not know them may ignore them, but for the uplink's forwarding.
func (c *check) putExtensions(in extended) *extensions {
	var out extensions
	add := func(id int64, v extensionValue) *extension {
		e := extension{ExtensionValue: v}
		e.Id.Value, e.Criticality.Value = id, ngapType.CriticalityPresentIgnore
		out.List = append(out.List, e)
		return &out.List[len(out.List)-1]
	}
	if in.usage != nil {
		add(idUsage, extensionValue{Present: presentUsage, Usage: c.putUsage(in.usage)})
	}
	if in.rate != RateNotSaid {
		add(idRateDownlink, extensionValue{Present: presentRateDownlink, RateDownlink: c.putIntegrityRate(rateDownlinkName, in.rate)})
	}
	if len(in.pairs) > 0 {
		add(idAdditionalPairs, extensionValue{Present: presentAdditionalPairs, AdditionalPairs: c.putPairs(additionalPairsName, in.pairs)})
	}
	if len(in.downlink) > 0 {
		add(idAdditionalDownlink, extensionValue{
			Present: presentAdditionalDownlink, AdditionalDownlink: c.putFlowTunnels(additionalDownlink, in.downlink),
		})
	}
	if in.security != nil {
		add(idSecurityResult, extensionValue{Present: presentSecurityResult, SecurityResult: c.putResult(in.security)})
	}
	if in.forwarding != nil {
		add(idUplinkForwarding, extensionValue{
			Present: presentUplinkForwarding, UplinkForwarding: c.putOptionalTunnel(uplinkForwarding, in.forwarding),
		}).Criticality.Value = ngapType.CriticalityPresentReject
	}
	if len(out.List) == 0 {
		return nil
	}
	return &out
}
