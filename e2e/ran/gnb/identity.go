package gnb

import (
	"encoding/binary"
	"net/netip"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

// The gNB's names for itself and its cell, and the NGAP form of names that both sides use.

const gnbIDBits = 24

func (g *GNB) plmn() ngapType.PLMNIdentity {
	return ngapType.PLMNIdentity{Value: usim.EncodePLMN(g.cfg.MCC, g.cfg.MNC)}
}

func (g *GNB) tai() ngapType.TAI {
	return ngapType.TAI{PLMNIdentity: g.plmn(), TAC: ngapType.TAC{Value: g.cfg.TAC[:]}}
}

// cell is the name of a gNB's only cell, number 1.
func (g *GNB) cell(id uint32) ngapType.NRCGI {
	cell := uint64(id)<<(36-gnbIDBits) | 1
	b := binary.BigEndian.AppendUint64(nil, cell<<(64-36))
	return ngapType.NRCGI{PLMNIdentity: g.plmn(), NRCellIdentity: ngapType.NRCellIdentity{Value: aper.BitString{Bytes: b[:5], BitLength: 36}}}
}

func (g *GNB) cellOf(id uint32) ngapType.NGRANCGI {
	cell := g.cell(id)
	return ngapType.NGRANCGI{Present: ngapType.NGRANCGIPresentNRCGI, NRCGI: &cell}
}

// globalID is a gNB's name in this network.
func (g *GNB) globalID(id uint32) ngapType.GlobalRANNodeID {
	return ngapType.GlobalRANNodeID{
		Present: ngapType.GlobalRANNodeIDPresentGlobalGNBID,
		GlobalGNBID: &ngapType.GlobalGNBID{PLMNIdentity: g.plmn(), GNBID: ngapType.GNBID{
			Present: ngapType.GNBIDPresentGNBID,
			GNBID:   &aper.BitString{Bytes: []byte{byte(id >> 16), byte(id >> 8), byte(id)}, BitLength: gnbIDBits},
		}},
	}
}

// location is the UE's place.
func (g *GNB) location() *ngapType.UserLocationInformation {
	return &ngapType.UserLocationInformation{
		Present: ngapType.UserLocationInformationPresentUserLocationInformationNR,
		UserLocationInformationNR: &ngapType.UserLocationInformationNR{
			NRCGI: g.cell(g.cfg.ID),
			TAI:   g.tai(),
		},
	}
}

func ngapSNSSAI(s uenas.SNSSAI) ngapType.SNSSAI {
	out := ngapType.SNSSAI{SST: ngapType.SST{Value: []byte{s.SST}}}
	if s.HasSD {
		out.SD = &ngapType.SD{Value: append([]byte(nil), s.SD[:]...)}
	}
	return out
}

func readSNSSAI(s ngapType.SNSSAI) uenas.SNSSAI {
	var out uenas.SNSSAI
	if len(s.SST.Value) == 1 {
		out.SST = s.SST.Value[0]
	}
	if s.SD != nil && len(s.SD.Value) == 3 {
		out.HasSD = true
		copy(out.SD[:], s.SD.Value)
	}
	return out
}

func ngapTMSI(t uenas.TMSI) *ngapType.FiveGSTMSI {
	return &ngapType.FiveGSTMSI{
		AMFSetID:   ngapType.AMFSetID{Value: aper.BitString{Bytes: []byte{byte(t.AMFSetID >> 2), byte(t.AMFSetID << 6)}, BitLength: 10}},
		AMFPointer: ngapType.AMFPointer{Value: aper.BitString{Bytes: []byte{t.AMFPointer << 2}, BitLength: 6}},
		FiveGTMSI:  ngapType.FiveGTMSI{Value: append([]byte(nil), t.TMSI[:]...)},
	}
}

func readTMSI(t *ngapType.FiveGSTMSI) (uenas.TMSI, bool) {
	var out uenas.TMSI
	set, ptr := t.AMFSetID.Value.Bytes, t.AMFPointer.Value.Bytes
	if len(set) < 2 || len(ptr) < 1 || len(t.FiveGTMSI.Value) != 4 {
		return out, false
	}
	out.AMFSetID = uint16(set[0])<<2 | uint16(set[1]>>6)
	out.AMFPointer = ptr[0] >> 2
	copy(out.TMSI[:], t.FiveGTMSI.Value)
	return out, true
}

// tunnelInformation is the gNB's end of a tunnel.
func (g *GNB) tunnelInformation(teid uint32) ngapType.UPTransportLayerInformation {
	return ngapType.UPTransportLayerInformation{
		Present: ngapType.UPTransportLayerInformationPresentGTPTunnel,
		GTPTunnel: &ngapType.GTPTunnel{
			TransportLayerAddress: ngapType.TransportLayerAddress{Value: aper.BitString{Bytes: append([]byte(nil), g.n3IP[:]...), BitLength: 32}},
			GTPTEID:               ngapType.GTPTEID{Value: binary.BigEndian.AppendUint32(nil, teid)},
		},
	}
}

// readTunnel reads the UPF's end; false when it is not a GTP tunnel over IPv4.
func readTunnel(i *ngapType.UPTransportLayerInformation) (teid uint32, peer netip.AddrPort, ok bool) {
	if i == nil || i.GTPTunnel == nil {
		return 0, peer, false
	}
	a, id := i.GTPTunnel.TransportLayerAddress.Value, i.GTPTunnel.GTPTEID.Value
	// 160 bits would be IPv4 followed by IPv6 (TS 38.414 5.1).
	if len(a.Bytes) < 4 || a.BitLength != 32 && a.BitLength != 160 || len(id) != 4 {
		return 0, peer, false
	}
	ip := netip.AddrFrom4([4]byte(a.Bytes[:4]))
	return binary.BigEndian.Uint32(id), netip.AddrPortFrom(ip, gtpu.Port), true
}

// setupRequest encodes NG SETUP REQUEST (TS 38.413 9.2.6.1).
func (g *GNB) setupRequest(retain bool) ([]byte, error) {
	m := &ngapType.NGSetupRequest{}
	ies := &m.ProtocolIEs.List
	name := g.globalID(g.cfg.ID)
	n2.Add(ies, n2.Reject, &name)
	n2.Add(ies, n2.Ignore, &ngapType.RANNodeName{Value: g.cfg.Name})
	plmn := ngapType.BroadcastPLMNItem{PLMNIdentity: g.plmn()}
	for _, s := range g.cfg.Slices {
		plmn.TAISliceSupportList.List = append(plmn.TAISliceSupportList.List, ngapType.SliceSupportItem{SNSSAI: ngapSNSSAI(s)})
	}
	ta := ngapType.SupportedTAItem{TAC: ngapType.TAC{Value: g.cfg.TAC[:]}}
	ta.BroadcastPLMNList.List = append(ta.BroadcastPLMNList.List, plmn)
	n2.Add(ies, n2.Reject, &ngapType.SupportedTAList{List: []ngapType.SupportedTAItem{ta}})
	n2.Add(ies, n2.Ignore, &ngapType.PagingDRX{Value: ngapType.PagingDRXPresentV128})
	if retain {
		n2.Add(ies, n2.Ignore, &ngapType.UERetentionInformation{Value: ngapType.UERetentionInformationPresentUesRetained})
	}
	return n2.Initiating(n2.Reject, m)
}

func readSetupResponse(m *ngapType.NGSetupResponse) (name string, slices []string) {
	if n := n2.Find[ngapType.AMFName](m.ProtocolIEs.List); n != nil {
		name = n.Value
	}
	if plmns := n2.Find[ngapType.PLMNSupportList](m.ProtocolIEs.List); plmns != nil {
		for _, p := range plmns.List {
			for _, s := range p.SliceSupportList.List {
				slices = append(slices, readSNSSAI(s.SNSSAI).String())
			}
		}
	}
	return name, slices
}

func (g *GNB) initialUEMessage(ranID int64, nas []byte, cause uint8, tmsi *uenas.TMSI) ([]byte, error) {
	m := &ngapType.InitialUEMessage{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: ranID})
	n2.Add(ies, n2.Reject, &ngapType.NASPDU{Value: nas})
	n2.Add(ies, n2.Reject, g.location())
	n2.Add(ies, n2.Ignore, &ngapType.RRCEstablishmentCause{Value: aper.Enumerated(cause)})
	if tmsi != nil {
		n2.Add(ies, n2.Reject, ngapTMSI(*tmsi))
	}
	n2.Add(ies, n2.Ignore, &ngapType.UEContextRequest{Value: ngapType.UEContextRequestPresentRequested})
	return n2.Initiating(n2.Ignore, m)
}
