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

func codeTraceID(c *coder, v *TraceID) { c.fixed(v[:]) }

func codeTraceActivation(c *coder, v *TraceActivation) {
	s := c.sequence()
	codeTraceID(c, &v.ID)
	set(c, &v.Interfaces, uint8(c.bitString(uint64(v.Interfaces), 8)))
	enumerated(c, &v.Depth, 0, 6, 6)
	codeAddress(c, &v.Collector)
	c.finish(s)
}

func (m *TraceStart) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieTraceActivation, Ignore, &m.Trace, codeTraceActivation)
}

func (m *TraceFailureIndication) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieNGRANTraceID, Ignore, &m.Trace, codeTraceID)
	x.cause(&m.Cause)
}

func (m *DeactivateTrace) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieNGRANTraceID, Ignore, &m.Trace, codeTraceID)
}

func (m *CellTrafficTrace) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieNGRANTraceID, Ignore, &m.Trace, codeTraceID)
	mandatory(x, ieNGRANCGI, Ignore, &m.Cell, codeCell)
	mandatory(x, ieTraceCollector, Ignore, &m.Collector, codeAddress)
}

func (m *UERadioCapabilityInfoIndication) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieUERadioCapability, Ignore, &m.Radio, octetString)
	optional(x, ieUERadioCapabilityForPaging, Ignore, &m.Paging, codePagingCapability)
	optionalOctets(x, ieUERadioCapabilityEUTRA, Ignore, &m.EUTRA)
}

func (m *UERadioCapabilityCheckRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalOctets(x, ieUERadioCapability, Ignore, &m.Radio)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *UERadioCapabilityCheckResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	mandatory(x, ieIMSVoiceSupport, Reject, &m.Voice, codeVoiceSupport)
	x.diagnostics(&m.Diagnostics)
}

// codeVoiceSupport is supported, then not supported.
func codeVoiceSupport(c *coder, v *bool) {
	not := uint8(1)
	if *v {
		not = 0
	}
	enumerated(c, &not, 0, 2, 2)
	set(c, v, not == 0)
}
