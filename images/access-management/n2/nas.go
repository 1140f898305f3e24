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
