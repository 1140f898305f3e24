package n2

// Session is a PDU session and a transfer, which SMF and NG-RAN node read (TS 38.413 9.3.4); here it stays octets.
type Session struct {
	ID       uint8
	Transfer []byte
}

// SessionSetup is a PDU session whose resources are set up.
type SessionSetup struct {
	ID uint8
	// NAS for the UE, nil where there is none. A Handover Request has none.
	NAS    []byte
	SNSSAI SNSSAI
	// Transfer is a Setup Request Transfer.
	Transfer []byte
}

// SessionModify is a PDU session that is modified.
type SessionModify struct {
	ID       uint8
	NAS      []byte
	Transfer []byte
	// SNSSAI where it is said (Release 16).
	SNSSAI *SNSSAI
}

// PDUSessionResourceSetupRequest, AMF to NG-RAN (TS 38.413 9.2.1.1).
type PDUSessionResourceSetupRequest struct {
	UE             UEIDs
	PagingPriority uint16
	NAS            []byte
	// Sessions are 1 to 256.
	Sessions []SessionSetup
	AMBR     *AggregateBitRate
}

// PDUSessionResourceSetupResponse, NG-RAN to AMF (TS 38.413 9.2.1.2).
type PDUSessionResourceSetupResponse struct {
	UE               UEIDs
	Sessions, Failed []Session
	Diagnostics      *CriticalityDiagnostics
}

// PDUSessionResourceReleaseCommand, AMF to NG-RAN (TS 38.413 9.2.1.3).
type PDUSessionResourceReleaseCommand struct {
	UE             UEIDs
	PagingPriority uint16
	NAS            []byte
	Sessions       []Session
}

// PDUSessionResourceReleaseResponse, NG-RAN to AMF (TS 38.413 9.2.1.4).
type PDUSessionResourceReleaseResponse struct {
	UE          UEIDs
	Sessions    []Session
	Location    *UserLocation
	Diagnostics *CriticalityDiagnostics
}

// PDUSessionResourceModifyRequest, AMF to NG-RAN (TS 38.413 9.2.1.5).
type PDUSessionResourceModifyRequest struct {
	UE             UEIDs
	PagingPriority uint16
	Sessions       []SessionModify
}

// PDUSessionResourceModifyResponse, NG-RAN to AMF (TS 38.413 9.2.1.6).
type PDUSessionResourceModifyResponse struct {
	UE               UEIDs
	Sessions, Failed []Session
	Location         *UserLocation
	Diagnostics      *CriticalityDiagnostics
}

// PDUSessionResourceNotify, NG-RAN to AMF (TS 38.413 9.2.1.7).
type PDUSessionResourceNotify struct {
	UE UEIDs
	// Sessions have Notify Transfers, Released ones Notify Released Transfers.
	Sessions, Released []Session
	Location           *UserLocation
}

// PDUSessionResourceModifyIndication, NG-RAN to AMF (TS 38.413 9.2.1.8).
type PDUSessionResourceModifyIndication struct {
	UE       UEIDs
	Sessions []Session
	Location *UserLocation
}

// PDUSessionResourceModifyConfirm, AMF to NG-RAN (TS 38.413 9.2.1.9).
type PDUSessionResourceModifyConfirm struct {
	UE               UEIDs
	Sessions, Failed []Session
	Diagnostics      *CriticalityDiagnostics
}

// SecondaryRATDataUsageReport, NG-RAN to AMF (TS 38.413 9.2.14.1).
type SecondaryRATDataUsageReport struct {
	UE       UEIDs
	Sessions []Session
	// Handover: it was sent because of one (Handover Flag).
	Handover bool
	Location *UserLocation
}

// mostSessions is maxnoofPDUSessions.
const mostSessions = 256

func codeSessionID(c *coder, v *uint8) { number(c, v, 0, 255) }

func codeSessionIDs(c *coder, v *[]uint8) {
	list(c, v, 1, mostSessions, func(c *coder, v *uint8) { wrapped(c, v, codeSessionID) })
}

func codeSessions(c *coder, v *[]Session) { list(c, v, 1, mostSessions, codeSession) }

func codeSession(c *coder, v *Session) {
	s := c.sequence()
	codeSessionID(c, &v.ID)
	octetString(c, &v.Transfer)
	c.finish(s)
}

// codeReleasedSessions are those whose transfer came with Release 15.4, as an extension.
func codeReleasedSessions(c *coder, v *[]Session) {
	list(c, v, 1, mostSessions, func(c *coder, v *Session) {
		there := v.Transfer != nil
		s := c.sequenceExt(there)
		codeSessionID(c, &v.ID)
		c.finish(s, extension{ieReleaseResponseTransfer, Ignore, there, func() { octetString(c, &v.Transfer) }})
	})
}

func codeSessionSetups(c *coder, v *[]SessionSetup) {
	list(c, v, 1, mostSessions, func(c *coder, v *SessionSetup) {
		s := c.sequence(v.NAS != nil)
		codeSessionID(c, &v.ID)
		if s.has(0) {
			octetString(c, &v.NAS)
		}
		codeSNSSAI(c, &v.SNSSAI)
		octetString(c, &v.Transfer)
		c.finish(s)
	})
}

// codeHandoverSetups have no NAS.
func codeHandoverSetups(c *coder, v *[]SessionSetup) {
	list(c, v, 1, mostSessions, func(c *coder, v *SessionSetup) {
		if c.writing && v.NAS != nil {
			c.fail("session %d has NAS, which a handover does not carry", v.ID)
		}
		s := c.sequence()
		codeSessionID(c, &v.ID)
		codeSNSSAI(c, &v.SNSSAI)
		octetString(c, &v.Transfer)
		c.finish(s)
	})
}

func codeSessionModifies(c *coder, v *[]SessionModify) {
	list(c, v, 1, mostSessions, func(c *coder, v *SessionModify) {
		s := c.sequenceExt(v.SNSSAI != nil, v.NAS != nil)
		codeSessionID(c, &v.ID)
		if s.has(0) {
			octetString(c, &v.NAS)
		}
		octetString(c, &v.Transfer)
		c.finish(s, extension{ieSNSSAI, Reject, v.SNSSAI != nil, func() { pointerTo(c, &v.SNSSAI, codeSNSSAI) }})
	})
}

func (m *PDUSessionResourceSetupRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieRANPagingPriority, Ignore, &m.PagingPriority, codeRANPagingPriority)
	optionalOctets(x, ieNASPDU, Reject, &m.NAS)
	mandatory(x, ieSessionsSetUpSUReq, Reject, &m.Sessions, codeSessionSetups)
	optional(x, ieUEAggregateMaximumBitRate, Ignore, &m.AMBR, codeAMBR)
}

func (m *PDUSessionResourceSetupResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optionalList(x, ieSessionsSetUpSURes, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToSetUpSURes, Ignore, &m.Failed, codeSessions)
	x.diagnostics(&m.Diagnostics)
}

func (m *PDUSessionResourceReleaseCommand) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieRANPagingPriority, Ignore, &m.PagingPriority, codeRANPagingPriority)
	optionalOctets(x, ieNASPDU, Ignore, &m.NAS)
	mandatory(x, ieSessionsToReleaseRelCmd, Reject, &m.Sessions, codeSessions)
}

func (m *PDUSessionResourceReleaseResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	mandatory(x, ieSessionsReleasedRelRes, Ignore, &m.Sessions, codeSessions)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	x.diagnostics(&m.Diagnostics)
}

func (m *PDUSessionResourceModifyRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieRANPagingPriority, Ignore, &m.PagingPriority, codeRANPagingPriority)
	mandatory(x, ieSessionsModifyReq, Reject, &m.Sessions, codeSessionModifies)
}

func (m *PDUSessionResourceModifyResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optionalList(x, ieSessionsModifyRes, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToModifyRes, Ignore, &m.Failed, codeSessions)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	x.diagnostics(&m.Diagnostics)
}

func (m *PDUSessionResourceNotify) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalList(x, ieSessionsNotify, Reject, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsReleasedNot, Ignore, &m.Released, codeSessions)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}

func (m *PDUSessionResourceModifyIndication) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieSessionsModifyInd, Reject, &m.Sessions, codeSessions)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}

func (m *PDUSessionResourceModifyConfirm) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optionalList(x, ieSessionsModifyCfm, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToModifyCfm, Ignore, &m.Failed, codeSessions)
	x.diagnostics(&m.Diagnostics)
}

func (m *SecondaryRATDataUsageReport) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	mandatory(x, ieSessionsSecondaryRATUsage, Ignore, &m.Sessions, codeSessions)
	optionalValue(x, ieHandoverFlag, Ignore, &m.Handover, flag)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}
