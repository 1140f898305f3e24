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
