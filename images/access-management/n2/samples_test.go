package n2

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"

	"core5g.dev/core5g/images/ngapcause"
)

// sample is a message by what it shows.
type sample struct {
	name    string
	message Message
	// unlike: free5GC's codec does not read it as TS 38.413 has it; why.
	unlike string
}

func at[T any](v T) *T { return &v }

var (
	plmn2 = PLMN{0x99, 0xf9, 0x07} // 999-70
	plmn3 = PLMN{0x13, 0x00, 0x14} // 310-410
	ue    = UEIDs{AMF: 1<<40 - 1, RAN: 1<<32 - 1}
	ue1   = UEIDs{AMF: 1, RAN: 2}
)

func ipv4(s string) Address { return Address{IPv4: netip.MustParseAddr(s)} }

func ipv6(s string) Address { return Address{IPv6: netip.MustParseAddr(s)} }

func dual(a, b string) Address {
	return Address{IPv4: netip.MustParseAddr(a), IPv6: netip.MustParseAddr(b)}
}

func tai() TAI { return TAI{PLMN: plmn2, TAC: 1} }

func guami() GUAMI { return GUAMI{PLMN: plmn2, Region: 2, Set: 1, Pointer: 3} }

func nrCell() Cell { return Cell{Radio: NR, PLMN: plmn2, ID: 0x000000010} }

func eutraCell() Cell { return Cell{Radio: EUTRA, PLMN: plmn3, ID: 1<<28 - 1} }

func nrLocation() UserLocation {
	return UserLocation{Kind: LocationNR, Cell: nrCell(), TAI: tai(), Time: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}
}

func eutraLocation() UserLocation {
	return UserLocation{Kind: LocationEUTRA, Cell: eutraCell(), TAI: TAI{PLMN: plmn3, TAC: 1<<24 - 1}}
}

func someSlices() []SNSSAI {
	return []SNSSAI{{SST: 1}, {SST: 1, SD: 0x010203, HasSD: true}, {SST: 255, HasSD: true}}
}

func gnb(bits uint8) RANNode {
	return RANNode{Kind: GNB, PLMN: plmn2, ID: uint32(1<<bits - 1), Bits: bits}
}

func nodes() []RANNode {
	return []RANNode{
		gnb(22), gnb(23), gnb(24), gnb(31), gnb(32),
		{Kind: MacroNgENB, PLMN: plmn2, ID: 0xfffff, Bits: 20}, {Kind: ShortMacroNgENB, PLMN: plmn3, ID: 1, Bits: 18},
		{Kind: LongMacroNgENB, PLMN: plmn2, ID: 0x1ffffe, Bits: 21}, {Kind: N3IWF, PLMN: plmn3, ID: 0xabcd, Bits: 16},
	}
}

func supported() []SupportedTA {
	return []SupportedTA{
		{TAC: 1, PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: someSlices()}, {PLMN: plmn3, Slices: someSlices()[:1]}}},
		{TAC: 0xabcdef, PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: someSlices()[1:]}}},
	}
}

func diagnostics() *CriticalityDiagnostics {
	return &CriticalityDiagnostics{
		Procedure: at(ProcedureNGSetup), Triggering: at(Unsuccessful), Criticality: at(Notify),
		IEs: []IEDiagnostics{{Criticality: Reject, ID: ieNASPDU, Error: Missing}, {Criticality: Notify, ID: 65535, Error: NotUnderstood}},
	}
}

func sessions() []Session {
	return []Session{{ID: 1, Transfer: []byte{1, 2, 3}}, {ID: 255, Transfer: bytes.Repeat([]byte{0xa5}, 200)}}
}

func setups() []SessionSetup {
	return []SessionSetup{
		{ID: 1, NAS: []byte{0x7e, 0}, SNSSAI: someSlices()[0], Transfer: []byte{1, 2, 3}}, {ID: 2, SNSSAI: someSlices()[1], Transfer: []byte{4}},
	}
}

func handoverSetups() []SessionSetup {
	out := setups()
	out[0].NAS = nil
	return out
}

func visited() []VisitedCell {
	return []VisitedCell{{Cell: nrCell(), Stay: at(uint16(4095))}, {Cell: eutraCell()}}
}

func inactive() *InactiveAssistance {
	return &InactiveAssistance{
		IdentityIndex: 1023, DRX: DRX256, PeriodicTimer: 0x26, MICO: true, TAIs: []TAI{tai(), {PLMN: plmn3, TAC: 7}},
		Expected: &ExpectedBehaviour{HandoverInterval: 7, Mobility: 2, Trajectory: visited()},
	}
}

func activity() *InactiveAssistance {
	out := inactive()
	out.Expected.Activity = &ExpectedActivity{Active: 181, Idle: 30, Source: 2}
	return out
}

func restrictions() *MobilityRestrictions {
	return &MobilityRestrictions{
		Serving: plmn2, Equivalent: []PLMN{plmn3, plmn2}, RATs: []RATRestriction{{PLMN: plmn2, RATs: 0x80}},
		Forbidden: []ForbiddenArea{{PLMN: plmn2, TACs: []TAC{1, 2, 3}}},
		Service:   []ServiceArea{{PLMN: plmn2, Allowed: []TAC{1}, NotAllowed: []TAC{2, 3}}, {PLMN: plmn3, NotAllowed: []TAC{9}}},
	}
}

func lastEUTRAN() *MobilityRestrictions {
	out := restrictions()
	out.LastEUTRAN = at(plmn3)
	return out
}

func trace() *TraceActivation {
	return &TraceActivation{ID: TraceID{1, 2, 3, 4, 5, 6, 7, 8}, Interfaces: 0x80, Depth: 5, Collector: ipv4("192.0.2.7")}
}

func request() *LocationRequest {
	return &LocationRequest{Event: LocationStopPresence, Cancel: 64, Areas: []AreaOfInterest{
		{Reference: 1, TAIs: []TAI{tai()}, Cells: []Cell{nrCell(), eutraCell()}, Nodes: nodes()}, {Reference: 64, TAIs: []TAI{tai()}},
	}}
}

func capabilities() SecurityCapabilities {
	return SecurityCapabilities{NREncryption: 0xe000, NRIntegrity: 0xc000, EUTRAEncryption: 0x8000, EUTRAIntegrity: 1}
}

func key() SecurityKey { return SecurityKey{0: 1, 31: 0xff} }

func connections() []UEConnection {
	return []UEConnection{{AMF: 1, HasAMF: true}, {RAN: 2, HasRAN: true}, {AMF: 1 << 39, RAN: 1 << 31, HasAMF: true, HasRAN: true}, {}}
}

// Why free5GC's codec does not do as TS 38.413 and X.691 say.
const (
	later     = "of a release that it does not know"
	longLists = "it reads the length of a list of up to 65536 as one octet"
	lastPiece = "it leaves out the last, empty fragment"
	cellWords = "it reads a cell in an extension without the bounds of the choice"
)

// samples are of every message one with the least, and one with everything.
func samples() []sample {
	nas := []byte{0x7e, 0x00, 0x41}
	return []sample{
		{"set up by a gNB of 22 bits", &NGSetupRequest{Node: gnb(22), TAs: supported(), DRX: DRX128}, ""},
		{"set up with a name and contexts kept", &NGSetupRequest{Node: gnb(32), Name: "gNB 1", TAs: supported()[:1], DRX: DRX32, Retention: true}, ""},
		{"set up with the longest name", &NGSetupRequest{Node: nodes()[5], Name: strings.Repeat("x", 150), TAs: supported(), DRX: DRX64}, ""},
		{"set up with an extended name", &NGSetupRequest{Node: gnb(24), TAs: supported(), DRX: DRX256, Extended: &ExtendedName{Visible: "gNB_1", UTF8: "Gemüse"}}, later},
		{"set up", &NGSetupResponse{Name: "AMF", GUAMIs: []ServedGUAMI{{GUAMI: guami()}}, Capacity: 255, PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: someSlices()}}}, ""},
		{"set up with everything", &NGSetupResponse{
			Name: "AMF", GUAMIs: []ServedGUAMI{{GUAMI: guami(), Backup: "other.AMF"}, {GUAMI: GUAMI{PLMN: plmn3, Region: 255, Set: 1023, Pointer: 63}}},
			PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: someSlices()}, {PLMN: plmn3, Slices: someSlices()[:2]}}, Diagnostics: diagnostics(), Retention: true,
			Extended: &ExtendedName{UTF8: "AMF"},
		}, later},
		{"more slices than fit", &NGSetupResponse{Name: "AMF", GUAMIs: []ServedGUAMI{{GUAMI: guami()}}, PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: manySlices(1030)}}}, ""},
		{"not set up", &NGSetupFailure{Cause: ngapcause.UnknownPLMN}, ""},
		{"not set up, wait", &NGSetupFailure{Cause: ngapcause.ControlProcessingOverload, Wait: Wait60s, Diagnostics: diagnostics()}, ""},
		{"a RAN configuration update of nothing", &RANConfigurationUpdate{}, ""},
		{"a RAN configuration update", &RANConfigurationUpdate{Name: "gNB", TAs: supported(), DRX: DRX32, Node: at(gnb(25))}, ""},
		{"a RAN configuration update with associations", &RANConfigurationUpdate{
			Remove: []AssociationPair{{RAN: ipv4("192.0.2.1")}, {RAN: ipv6("2001:db8::1"), AMF: at(ipv4("192.0.2.2"))}}, Extended: &ExtendedName{Visible: "gNB"},
		}, later},
		{"a RAN configuration update acknowledged", &RANConfigurationUpdateAcknowledge{Diagnostics: diagnostics()}, ""},
		{"a RAN configuration update refused", &RANConfigurationUpdateFailure{Cause: ngapcause.UnknownPLMN, Wait: Wait1s, Diagnostics: diagnostics()}, ""},
		{"an AMF configuration update", &AMFConfigurationUpdate{
			Name: "AMF", GUAMIs: []ServedGUAMI{{GUAMI: guami()}}, Capacity: at(uint8(0)), PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: someSlices()}},
			Add:    []Association{{Address: ipv4("192.0.2.1"), Use: UseForBoth, Weight: at(uint8(1))}, {Address: dual("192.0.2.1", "2001:db8::1"), Weight: at(uint8(0))}},
			Remove: []Address{ipv6("2001:db8::1")}, Update: []Association{{Address: ipv4("192.0.2.1")}, {Address: ipv4("192.0.2.2"), Use: UseForUE, Weight: at(uint8(255))}},
		}, ""},
		{"an AMF configuration update of a name", &AMFConfigurationUpdate{Extended: &ExtendedName{Visible: "AMF"}}, later},
		{"an AMF configuration update acknowledged", &AMFConfigurationUpdateAcknowledge{
			Made: []Address{ipv4("192.0.2.1")}, Refused: []RefusedAssociation{{Address: ipv6("2001:db8::1"), Cause: ngapcause.TransportResourceUnavailable}}, Diagnostics: diagnostics(),
		}, ""},
		{"an AMF configuration update refused", &AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: Wait20s, Diagnostics: diagnostics()}, ""},
		{"an AMF that goes", &AMFStatusIndication{GUAMIs: []UnavailableGUAMI{{GUAMI: guami()}, {GUAMI: guami(), Timer: true, Backup: "AMF 2"}}}, ""},
		{"a reset of all", &NGReset{Cause: ngapcause.HardwareFailure}, ""},
		{"a reset of some", &NGReset{Cause: ngapcause.Intervention, Connections: connections()}, ""},
		{"a reset of more", &NGReset{Cause: ngapcause.Intervention, Connections: manyConnections(3000)}, longLists},
		{"a reset of very many", &NGReset{Cause: ngapcause.Intervention, Connections: manyConnections(20000)}, longLists},
		{"a reset acknowledged", &NGResetAcknowledge{Connections: connections(), Diagnostics: diagnostics()}, ""},
		{"an error", &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}, ""},
		{"an error of a UE", &ErrorIndication{AMF: at(ue.AMF), RAN: at(ue.RAN), Cause: at(ngapcause.UnknownLocalUEID), Diagnostics: diagnostics()}, ""},
		{"an error of a UE that has a name", &ErrorIndication{STMSI: &FiveGSTMSI{Set: 1023, Pointer: 63, TMSI: 1<<32 - 1}}, later},
		{"overload", &OverloadStart{}, ""},
		{"overload of everything", &OverloadStart{
			Action: OverloadPriorityAndTerminated, Reduction: 99,
			Slices: []SliceOverload{{Slices: someSlices(), Action: OverloadRejectData, Reduction: 1}, {Slices: someSlices()[:1]}},
		}, ""},
		{"no overload", &OverloadStop{}, ""},
		{"a configuration that goes up", &UplinkRANConfigurationTransfer{ConfigurationTransfer{ENDC: []byte{1, 2}}}, later},
		{"a configuration that goes up, and is for a gNB", &UplinkRANConfigurationTransfer{ConfigurationTransfer{
			SON: sonTransfer(), Target: &HandoverTarget{Node: RANNode{Kind: GNB, PLMN: plmn2, ID: 2, Bits: 24}, TAI: tai()},
		}}, ""},
		{"a configuration between systems", &UplinkRANConfigurationTransfer{ConfigurationTransfer{Intersystem: []byte{3}}}, later},
		{"a configuration that goes down, and is for a gNB", &DownlinkRANConfigurationTransfer{ConfigurationTransfer{
			SON: sonTransfer(), Target: &HandoverTarget{Node: RANNode{Kind: GNB, PLMN: plmn2, ID: 2, Bits: 24}, TAI: tai()},
		}}, ""},
		{"a configuration that goes down", &DownlinkRANConfigurationTransfer{ConfigurationTransfer{ENDC: []byte{1, 2}, Intersystem: []byte{3}}}, later},

		{"a UE that comes", &InitialUEMessage{RAN: 1, NAS: nas, Location: nrLocation(), Establishment: ForSignalling, ContextRequest: true}, ""},
		{"a UE that comes, with everything", &InitialUEMessage{
			RAN: ue.RAN, NAS: bytes.Repeat(nas, 100), Location: eutraLocation(), Establishment: ForMCS, STMSI: &FiveGSTMSI{Set: 1, Pointer: 2, TMSI: 3},
			AMFSet: at(uint16(1023)), ContextRequest: true, Allowed: someSlices(), SelectedPLMN: at(plmn3),
		}, ""},
		{"a UE that was rerouted", &InitialUEMessage{RAN: 1, NAS: nas, Location: nrLocation(), Establishment: ForExceptionData, Reroute: []byte{0x10}}, later},
		{"a UE behind an N3IWF", &InitialUEMessage{RAN: 1, NAS: nas, Location: UserLocation{Kind: LocationN3IWF, Address: ipv6("2001:db8::1"), Port: 500}, Establishment: ForData}, ""},
		{"a UE with a second cell", &InitialUEMessage{RAN: 1, NAS: nas, Location: secondCell(), Establishment: ForData}, cellWords},
		{"NAS downlink", &DownlinkNASTransport{UE: ue, NAS: nas}, ""},
		{"NAS downlink with everything", &DownlinkNASTransport{
			UE: ue1, OldAMF: "AMF", PagingPriority: 256, NAS: nas, Mobility: restrictions(), RFSP: 256, AMBR: &AggregateBitRate{Uplink: 0, Downlink: mostBitRate},
			Allowed: someSlices(),
		}, ""},
		{"NAS downlink with a PLMN to go back to", &DownlinkNASTransport{UE: ue, NAS: nas, Mobility: lastEUTRAN()}, later},
		{"NAS downlink that asks for the radio capability", &DownlinkNASTransport{UE: ue, NAS: nas, Radio: []byte{1}, CapabilityRequest: true, CapabilityID: []byte{2, 3}}, later},
		{"NAS uplink", &UplinkNASTransport{UE: ue1, NAS: nas, Location: nrLocation()}, ""},
		{"NAS that was not delivered", &NASNonDeliveryIndication{UE: ue1, NAS: nas, Cause: ngapcause.XnHandoverTriggered}, ""},
		{"another AMF set", &RerouteNASRequest{RAN: 1, Message: bytes.Repeat([]byte{1}, 20000), AMFSet: 5}, ""},
		{"another AMF set, with everything", &RerouteNASRequest{RAN: 1, AMF: at(AMFUEID(3)), Message: nas, AMFSet: 5, Allowed: someSlices(), Reroute: []byte{0x10}}, later},

		{"a context", &InitialContextSetupRequest{UE: ue, GUAMI: guami(), Allowed: someSlices(), Security: capabilities(), Key: key()}, ""},
		{"a context with sessions", &InitialContextSetupRequest{
			UE: ue1, OldAMF: "AMF", AMBR: &AggregateBitRate{Uplink: 1e9, Downlink: 2e9}, Inactive: inactive(), GUAMI: guami(), Sessions: setups(), Allowed: someSlices(),
			Security: capabilities(), Key: key(), Trace: trace(), Mobility: restrictions(), Radio: bytes.Repeat([]byte{7}, 300), RFSP: 1, MaskedIMEISV: 0x1234567890ffff12,
			NAS: nas, Emergency: &EmergencyFallback{Target: EmergencyTargetEPC}, InactiveReport: InactiveReportCancel,
			PagingRadio: &PagingCapability{NR: []byte{1}, EUTRA: []byte{2}}, VoiceFallback: VoiceFallbackNotPossible,
		}, ""},
		{"a context with what later releases have", &InitialContextSetupRequest{
			UE: ue1, Inactive: activity(), GUAMI: guami(), Allowed: someSlices(), Security: capabilities(), Key: key(), Location: request(), CapabilityID: []byte{1},
		}, "its expected periods have no bounds"},
		{"a context that is there", &InitialContextSetupResponse{UE: ue1}, ""},
		{"a context that is there, with sessions", &InitialContextSetupResponse{UE: ue1, Sessions: sessions(), Failed: sessions()[:1], Diagnostics: diagnostics()}, ""},
		{"a context that is not there", &InitialContextSetupFailure{UE: ue1, Failed: sessions(), Cause: ngapcause.AlgorithmsNotSupported, Diagnostics: diagnostics()}, ""},
		{"a release asked for", &UEContextReleaseRequest{UE: ue1, Sessions: []uint8{0, 5, 255}, Cause: ngapcause.UserInactivity}, ""},
		{"a release asked for, without sessions", &UEContextReleaseRequest{UE: ue1, Cause: ngapcause.RadioConnectionLost}, ""},
		{"a release of a pair", &UEContextReleaseCommand{AMF: 5, RAN: at(RANUEID(6)), Cause: ngapcause.Deregister}, ""},
		{"a release without the RAN's name", &UEContextReleaseCommand{AMF: 5, Cause: ngapcause.NormalRelease}, ""},
		{"a release done", &UEContextReleaseComplete{UE: ue1}, ""},
		{"a release done, with everything", &UEContextReleaseComplete{
			UE: ue1, Location: at(nrLocation()), Diagnostics: diagnostics(),
			Recommended: &RecommendedPaging{Cells: visited(), Nodes: []PagingTarget{{Node: gnb(22)}, {TAI: tai()}}},
			Sessions:    []Session{{ID: 1}, {ID: 2, Transfer: []byte{0}}},
		}, later},
		{"a context that changes in nothing", &UEContextModificationRequest{UE: ue1}, ""},
		{"a context that changes", &UEContextModificationRequest{
			UE: ue1, PagingPriority: 1, Key: at(key()), RFSP: 255, AMBR: &AggregateBitRate{Uplink: 1, Downlink: 255}, Security: at(capabilities()), Inactive: inactive(),
			Emergency: &EmergencyFallback{}, NewAMF: at(AMFUEID(77)), InactiveReport: InactiveReportSubsequent,
		}, ""},
		{"a context that goes to another AMF", &UEContextModificationRequest{UE: ue1, NewAMF: at(AMFUEID(77)), NewGUAMI: at(guami()), CapabilityID: []byte{1}}, later},
		{"a context that has changed", &UEContextModificationResponse{UE: ue1, State: at(RRCConnected), Location: at(nrLocation()), Diagnostics: diagnostics()}, ""},
		{"a context that has not changed", &UEContextModificationFailure{UE: ue1, Cause: ngapcause.SemanticError, Diagnostics: diagnostics()}, ""},
		{"a UE in RRC INACTIVE", &RRCInactiveTransitionReport{UE: ue1, State: RRCInactive, Location: nrLocation()}, ""},
		{"an association given up", &UETNLABindingReleaseRequest{UE: ue1}, ""},

		{"sessions set up", &PDUSessionResourceSetupRequest{UE: ue1, Sessions: setups()}, ""},
		{"sessions set up, with everything", &PDUSessionResourceSetupRequest{UE: ue1, PagingPriority: 9, NAS: nas, Sessions: setups(), AMBR: &AggregateBitRate{Uplink: 1, Downlink: 1 << 40}}, ""},
		{"sessions that are set up", &PDUSessionResourceSetupResponse{UE: ue1, Sessions: sessions(), Failed: sessions(), Diagnostics: diagnostics()}, ""},
		{"sessions released", &PDUSessionResourceReleaseCommand{UE: ue1, PagingPriority: 9, NAS: nas, Sessions: sessions()}, ""},
		{"sessions that are released", &PDUSessionResourceReleaseResponse{UE: ue1, Sessions: sessions(), Location: at(nrLocation()), Diagnostics: diagnostics()}, ""},
		{"sessions modified", &PDUSessionResourceModifyRequest{UE: ue1, PagingPriority: 9, Sessions: []SessionModify{{ID: 1, NAS: nas, Transfer: []byte{1}}, {ID: 2, Transfer: []byte{2}}}}, ""},
		{"sessions modified, with their slice", &PDUSessionResourceModifyRequest{UE: ue1, Sessions: []SessionModify{{ID: 1, Transfer: []byte{1}, SNSSAI: at(someSlices()[1])}}}, later},
		{"sessions that are modified", &PDUSessionResourceModifyResponse{UE: ue1, Sessions: sessions(), Failed: sessions(), Location: at(nrLocation()), Diagnostics: diagnostics()}, ""},
		{"sessions notified", &PDUSessionResourceNotify{UE: ue1, Sessions: sessions(), Released: sessions(), Location: at(nrLocation())}, ""},
		{"sessions' endpoints moved", &PDUSessionResourceModifyIndication{UE: ue1, Sessions: sessions()}, ""},
		{"sessions' endpoints moved, with a place", &PDUSessionResourceModifyIndication{UE: ue1, Sessions: sessions(), Location: at(nrLocation())}, later},
		{"sessions' endpoints that are moved", &PDUSessionResourceModifyConfirm{UE: ue1, Sessions: sessions(), Failed: sessions(), Diagnostics: diagnostics()}, ""},
		{"volumes of a second radio", &SecondaryRATDataUsageReport{UE: ue1, Sessions: sessions(), Handover: true}, later},
		{"volumes of a second radio, with a place", &SecondaryRATDataUsageReport{UE: ue1, Sessions: sessions(), Location: at(nrLocation())}, later},

		{"a handover", &HandoverRequired{
			UE: ue1, Cause: ngapcause.HandoverForRadioReason, Target: HandoverTarget{Node: gnb(22), TAI: tai()}, DirectPath: true, Sessions: sessions(), Container: []byte{1, 2},
		}, ""},
		{"a handover to EPS", &HandoverRequired{
			UE: ue1, Type: FiveGSToEPS, Cause: ngapcause.ReduceLoad, Target: HandoverTarget{Node: nodes()[5], TAI: TAI{PLMN: plmn3, TAC: 0xffff}, EPS: true}, Sessions: sessions(), Container: []byte{1},
		}, ""},
		{"a handover that goes on", &HandoverCommand{UE: ue1, Sessions: sessions(), ToRelease: sessions()[:1], Container: bytes.Repeat([]byte{3}, 40000), Diagnostics: diagnostics()}, ""},
		{"a handover to EPS that goes on", &HandoverCommand{UE: ue1, Type: FiveGSToEPS, NAS: []byte{9}, Container: []byte{1}}, ""},
		{"a handover that does not", &HandoverPreparationFailure{UE: ue1, Cause: ngapcause.UnknownTargetID, Diagnostics: diagnostics()}, ""},
		{"a handover that does not, and why", &HandoverPreparationFailure{UE: ue1, Cause: ngapcause.UnknownTargetID, Container: []byte{1}}, later},
		{"a handover that is asked for", &HandoverRequest{
			AMF: ue.AMF, Cause: ngapcause.HandoverForRadioReason, AMBR: AggregateBitRate{Uplink: 1, Downlink: 2}, Security: capabilities(),
			Next: SecurityContext{NCC: 7, NH: key()}, Sessions: handoverSetups(), Allowed: someSlices(), Container: []byte{1}, GUAMI: guami(),
		}, ""},
		{"a handover that is asked for, with everything", &HandoverRequest{
			AMF: ue.AMF, Cause: ngapcause.HandoverForRadioReason, AMBR: AggregateBitRate{Uplink: 1, Downlink: 2}, Inactive: inactive(), Security: capabilities(),
			Next: SecurityContext{NCC: 0, NH: key()}, NewContext: true, NASC: []byte{1, 2, 3}, Sessions: handoverSetups(), Allowed: someSlices(), Trace: trace(),
			MaskedIMEISV: 1 << 63, Container: []byte{1}, Mobility: restrictions(), Location: request(), InactiveReport: InactiveReportSingle, GUAMI: guami(),
			VoiceFallback: VoiceFallbackPossible,
		}, ""},
		{"a handover that is asked for, with a capability's name", &HandoverRequest{
			Allowed: someSlices(), Sessions: handoverSetups(), Container: []byte{1}, GUAMI: guami(), CapabilityID: []byte{1},
		}, later},
		{"a handover that has room", &HandoverRequestAcknowledge{UE: ue1, Sessions: sessions(), Failed: sessions(), Container: []byte{5}, Diagnostics: diagnostics()}, ""},
		{"a handover that has none", &HandoverFailure{AMF: 1, Cause: ngapcause.NoRadioResourcesInTarget, Diagnostics: diagnostics()}, ""},
		{"a handover that has none, and why", &HandoverFailure{AMF: 1, Cause: ngapcause.NoRadioResourcesInTarget, Container: []byte{1}}, later},
		{"a UE that has arrived", &HandoverNotify{UE: ue1, Location: nrLocation()}, ""},
		{"a path that is switched", &PathSwitchRequest{RAN: 1, SourceAMF: 2, Location: nrLocation(), Security: capabilities(), Sessions: sessions(), Failed: sessions()}, ""},
		{"a path of a UE that resumes", &PathSwitchRequest{RAN: 1, SourceAMF: 2, Location: nrLocation(), Security: capabilities(), Sessions: sessions(), Resume: at(ForData)}, later},
		{"a path that was switched", &PathSwitchRequestAcknowledge{UE: ue1, Next: SecurityContext{NCC: 1, NH: key()}, Sessions: sessions(), Allowed: someSlices()}, ""},
		{"a path that was switched, with everything", &PathSwitchRequestAcknowledge{
			UE: ue1, Security: at(capabilities()), Next: SecurityContext{NCC: 1, NH: key()}, NewContext: true, Sessions: sessions(), Released: sessions(), Allowed: someSlices(),
			Inactive: inactive(), InactiveReport: InactiveReportSingle, Diagnostics: diagnostics(),
		}, ""},
		{"a path that was switched, with voice elsewhere", &PathSwitchRequestAcknowledge{
			UE: ue1, Next: SecurityContext{NCC: 1, NH: key()}, Sessions: sessions(), Allowed: someSlices(), VoiceFallback: VoiceFallbackPossible,
		}, ""},
		{"a path that was switched, with a capability's name", &PathSwitchRequestAcknowledge{
			UE: ue1, Sessions: sessions(), Allowed: someSlices(), CapabilityID: []byte{1},
		}, later},
		{"a path that was not switched", &PathSwitchRequestFailure{UE: ue1, Released: sessions(), Diagnostics: diagnostics()}, ""},
		{"a handover cancelled", &HandoverCancel{UE: ue1, Cause: ngapcause.TNGRelocPrepExpiry}, ""},
		{"a handover that is cancelled", &HandoverCancelAcknowledge{UE: ue1, Diagnostics: diagnostics()}, ""},
		{"COUNTs up", &UplinkRANStatusTransfer{UE: ue1, Container: statusContainer()}, ""},
		{"COUNTs down", &DownlinkRANStatusTransfer{UE: ue1, Container: statusContainer()}, ""},

		{"paging", &Paging{Identity: FiveGSTMSI{Set: 1, Pointer: 2, TMSI: 3}, TAIs: []TAI{tai()}}, ""},
		{"paging with everything", &Paging{
			Identity: FiveGSTMSI{Set: 1, Pointer: 2, TMSI: 3}, DRX: DRX64, TAIs: []TAI{tai(), {PLMN: plmn3, TAC: 2}}, Priority: 8, Radio: &PagingCapability{EUTRA: []byte{1}},
			NonThreeGPP: true, Assistance: &PagingAssistance{Cells: visited(), Attempts: &PagingAttempts{Count: 1, Intended: 16, NextScope: 2}},
		}, ""},
		{"the second of two attempts", &Paging{TAIs: []TAI{tai()}, Assistance: &PagingAssistance{Attempts: &PagingAttempts{Count: 2, Intended: 2}}}, ""},

		{"radio capability", &UERadioCapabilityInfoIndication{UE: ue1, Radio: bytes.Repeat([]byte{1}, 16384), Paging: &PagingCapability{NR: []byte{1}}}, lastPiece},
		{"radio capability in another format", &UERadioCapabilityInfoIndication{UE: ue1, Radio: bytes.Repeat([]byte{1}, 70000), EUTRA: []byte{1}}, later},
		{"radio capability to check", &UERadioCapabilityCheckRequest{UE: ue1, Radio: []byte{1}}, ""},
		{"radio capability to check by its name", &UERadioCapabilityCheckRequest{UE: ue1, CapabilityID: []byte{1}}, later},
		{"voice", &UERadioCapabilityCheckResponse{UE: ue1, Voice: true}, ""},
		{"no voice", &UERadioCapabilityCheckResponse{UE: ue1, Diagnostics: diagnostics()}, ""},
		{"a place asked for", &LocationReportingControl{UE: ue1, Request: LocationRequest{Event: LocationDirect}}, ""},
		{"a place asked for, in areas", &LocationReportingControl{UE: ue1, Request: *request()}, ""},
		{"a place that is not known", &LocationReportingFailureIndication{UE: ue1, Cause: ngapcause.MultipleLocationReferences}, ""},
		{"a place", &LocationReport{UE: ue1, Location: nrLocation(), Request: LocationRequest{Event: LocationCellChange}}, ""},
		{"a place in areas", &LocationReport{
			UE: ue1, Location: eutraLocation(), Presence: []AreaPresence{{Reference: 1, Presence: PresenceOut}, {Reference: 64, Presence: PresenceUnknown}}, Request: *request(),
		}, ""},
		{"a trace", &TraceStart{UE: ue1, Trace: *trace()}, ""},
		{"a trace that is not taken", &TraceFailureIndication{UE: ue1, Trace: trace().ID, Cause: ngapcause.InterSystemHandoverTriggered}, ""},
		{"a trace that ends", &DeactivateTrace{UE: ue1, Trace: trace().ID}, ""},
		{"a trace of a cell", &CellTrafficTrace{UE: ue1, Trace: trace().ID, Cell: nrCell(), Collector: dual("192.0.2.1", "2001:db8::1")}, ""},
	}
}

func secondCell() UserLocation {
	out := nrLocation()
	out.PSCell = at(eutraCell())
	return out
}

func manySlices(n int) []SNSSAI {
	out := make([]SNSSAI, n)
	for i := range out {
		out[i] = SNSSAI{SST: 1, SD: uint32(i), HasSD: true}
	}
	return out
}

func manyConnections(n int) []UEConnection {
	out := make([]UEConnection, n)
	for i := range out {
		out[i] = UEConnection{AMF: AMFUEID(i), HasAMF: true}
	}
	return out
}

// statusContainer is one of a bearer with SNs of 12 bits.
func statusContainer() []byte { return octets("000000000500070000090007") }

// sonTransfer is a SON Configuration Transfer to gNB 2 from gNB 1, which have 24 bits.
func sonTransfer() []byte {
	return octets("0000 99f907 10 000002 00 99f907 000001 00 99f907 10 000001 00 99f907 000001 00")
}

// octets are those of hexadecimal digits, with blanks between fields.
func octets(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}
