package n2

// TraceID is an NG-RAN Trace ID: PLMN, QMC or trace ID, and recording session reference (TS 38.413 9.3.1.14).
type TraceID [8]byte

// TraceActivation of TS 38.413 9.3.1.14.
type TraceActivation struct {
	ID TraceID
	// Interfaces is a bit string: 0x80 NG-C, 0x40 Xn-C, 0x20 Uu, 0x10 F1-C, 0x08 E1.
	Interfaces uint8
	// Depth is 0 to 5: minimum, medium, maximum, and these without the vendor's extensions.
	Depth uint8
	// Collector is where the trace goes.
	Collector Address
}

// TraceStart, AMF to NG-RAN (TS 38.413 9.2.10.1).
type TraceStart struct {
	UE    UEIDs
	Trace TraceActivation
}

// TraceFailureIndication, NG-RAN to AMF (TS 38.413 9.2.10.2).
type TraceFailureIndication struct {
	UE    UEIDs
	Trace TraceID
	Cause Cause
}

// DeactivateTrace, AMF to NG-RAN (TS 38.413 9.2.10.3).
type DeactivateTrace struct {
	UE    UEIDs
	Trace TraceID
}

// CellTrafficTrace, NG-RAN to AMF (TS 38.413 9.2.10.4).
type CellTrafficTrace struct {
	UE        UEIDs
	Trace     TraceID
	Cell      Cell
	Collector Address
}

// UERadioCapabilityInfoIndication, NG-RAN to AMF (TS 38.413 9.2.13.1).
type UERadioCapabilityInfoIndication struct {
	UE UEIDs
	// Radio is a UE Radio Capability of RRC, EUTRA the same in the format of TS 36.331 (Release 16).
	Radio  []byte
	Paging *PagingCapability
	EUTRA  []byte
}

// UERadioCapabilityCheckRequest, AMF to NG-RAN (TS 38.413 9.2.13.2).
type UERadioCapabilityCheckRequest struct {
	UE           UEIDs
	Radio        []byte
	CapabilityID []byte
}

// UERadioCapabilityCheckResponse, NG-RAN to AMF (TS 38.413 9.2.13.3).
type UERadioCapabilityCheckResponse struct {
	UE UEIDs
	// Voice: IMS voice is supported.
	Voice       bool
	Diagnostics *CriticalityDiagnostics
}
