package n2

// EstablishmentCause of an RRC connection (TS 38.413 9.3.1.111).
type EstablishmentCause uint8

// The causes.
const (
	ForEmergency EstablishmentCause = iota
	ForHighPriorityAccess
	ForTerminatedAccess
	ForSignalling
	ForData
	ForVoiceCall
	ForVideoCall
	ForSMS
	ForMPS
	ForMCS
	ForNotAvailable
	ForExceptionData
)

// InitialUEMessage, NG-RAN to AMF (TS 38.413 9.2.5.1).
type InitialUEMessage struct {
	RAN      RANUEID
	NAS      []byte
	Location UserLocation
	// Establishment is as the UE said it, of a later release too.
	Establishment EstablishmentCause
	STMSI         *FiveGSTMSI
	// AMFSet is that of the AMF which a reroute asked for.
	AMFSet *uint16
	// ContextRequest: the NG-RAN node asks for an Initial Context Setup.
	ContextRequest bool
	Allowed        []SNSSAI
	// Reroute is Source to Target AMF Information Reroute (TS 38.413 9.3.3.27) as octets.
	Reroute      []byte
	SelectedPLMN *PLMN
}

// DownlinkNASTransport, AMF to NG-RAN (TS 38.413 9.2.5.2).
type DownlinkNASTransport struct {
	UE     UEIDs
	OldAMF string
	// PagingPriority of the NG-RAN node's own paging, 1 to 256; 0 is not said.
	PagingPriority uint16
	NAS            []byte
	Mobility       *MobilityRestrictions
	// RFSP is the Index to RAT/Frequency Selection Priority, 1 to 256; 0 is not said.
	RFSP    uint16
	AMBR    *AggregateBitRate
	Allowed []SNSSAI
	// Radio is the UE Radio Capability, CapabilityRequest asks for it.
	Radio             []byte
	CapabilityRequest bool
	CapabilityID      []byte
}

// UplinkNASTransport, NG-RAN to AMF (TS 38.413 9.2.5.3).
type UplinkNASTransport struct {
	UE       UEIDs
	NAS      []byte
	Location UserLocation
}

// NASNonDeliveryIndication, NG-RAN to AMF (TS 38.413 9.2.5.4).
type NASNonDeliveryIndication struct {
	UE    UEIDs
	NAS   []byte
	Cause Cause
}

// RerouteNASRequest, AMF to NG-RAN (TS 38.413 9.2.5.5).
type RerouteNASRequest struct {
	RAN RANUEID
	AMF *AMFUEID
	// Message is the Initial UE Message, as it was received.
	Message []byte
	AMFSet  uint16
	Allowed []SNSSAI
	Reroute []byte
}

// codeEstablishmentCause gives a cause of a later release by its number.
func codeEstablishmentCause(c *coder, v *EstablishmentCause) {
	set(c, v, EstablishmentCause(min(c.enumeration(uint64(*v), 10), 255)))
}

func (m *InitialUEMessage) ies(x *exchange) {
	mandatory(x, ieRANUEID, Reject, &m.RAN, codeRANUEID)
	mandatory(x, ieNASPDU, Reject, &m.NAS, octetString)
	mandatory(x, ieUserLocation, Reject, &m.Location, codeUserLocation)
	mandatory(x, ieRRCEstablishmentCause, Ignore, &m.Establishment, codeEstablishmentCause)
	optional(x, ieFiveGSTMSI, Reject, &m.STMSI, codeFiveGSTMSI)
	optional(x, ieAMFSetID, Ignore, &m.AMFSet, codeAMFSet)
	optionalValue(x, ieUEContextRequest, Ignore, &m.ContextRequest, flag)
	optionalList(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	opaque(x, ieReroute, Ignore, optionally, &m.Reroute)
	optional(x, ieSelectedPLMN, Ignore, &m.SelectedPLMN, codePLMN)
}

func (m *DownlinkNASTransport) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieOldAMF, Reject, &m.OldAMF, printableString)
	optionalValue(x, ieRANPagingPriority, Ignore, &m.PagingPriority, codeRANPagingPriority)
	mandatory(x, ieNASPDU, Reject, &m.NAS, octetString)
	optional(x, ieMobilityRestrictionList, Ignore, &m.Mobility, codeMobilityRestrictions)
	optionalValue(x, ieIndexToRFSP, Ignore, &m.RFSP, codeRFSP)
	optional(x, ieUEAggregateMaximumBitRate, Ignore, &m.AMBR, codeAMBR)
	optionalList(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	optionalOctets(x, ieUERadioCapability, Ignore, &m.Radio)
	optionalValue(x, ieUECapabilityInfoRequest, Ignore, &m.CapabilityRequest, flag)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *UplinkNASTransport) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieNASPDU, Reject, &m.NAS, octetString)
	mandatory(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}

func (m *NASNonDeliveryIndication) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieNASPDU, Ignore, &m.NAS, octetString)
	x.cause(&m.Cause)
}

func (m *RerouteNASRequest) ies(x *exchange) {
	mandatory(x, ieRANUEID, Reject, &m.RAN, codeRANUEID)
	optional(x, ieAMFUEID, Ignore, &m.AMF, codeAMFUEID)
	mandatory(x, ieNGAPMessage, Reject, &m.Message, octetString)
	mandatory(x, ieAMFSetID, Reject, &m.AMFSet, codeAMFSet)
	optionalList(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	opaque(x, ieReroute, Ignore, optionally, &m.Reroute)
}
