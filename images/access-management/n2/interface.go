package n2

// NGSetupRequest, NG-RAN to AMF (TS 38.413 9.2.6.1).
type NGSetupRequest struct {
	Node RANNode
	// Name of the node, "" where it has none; 1 to 150 printable characters.
	Name string
	// TAs are 1 to 256.
	TAs []SupportedTA
	DRX PagingDRX
	// Retention: the node has kept UE contexts of before.
	Retention bool
	// Extended name, in letters of all languages.
	Extended *ExtendedName
}

// ExtendedName is a name in the two alphabets that there are (TS 38.413 9.3.1.193, 9.3.3.51), each "" where it is not there.
type ExtendedName struct{ Visible, UTF8 string }

// NGSetupResponse, AMF to NG-RAN (TS 38.413 9.2.6.2).
type NGSetupResponse struct {
	// Name is 1 to 150 printable characters.
	Name   string
	GUAMIs []ServedGUAMI
	// Capacity relative to the other AMFs of the set, 0 to 255.
	Capacity    uint8
	PLMNs       []PLMNSlices
	Diagnostics *CriticalityDiagnostics
	Retention   bool
	Extended    *ExtendedName
}

// TimeToWait is what passes before it is tried again (TS 38.413 9.3.1.56).
type TimeToWait uint8

// The times.
const (
	WaitNotSaid TimeToWait = iota
	Wait1s
	Wait2s
	Wait5s
	Wait10s
	Wait20s
	Wait60s
)

// NGSetupFailure, AMF to NG-RAN (TS 38.413 9.2.6.3).
type NGSetupFailure struct {
	Cause       Cause
	Wait        TimeToWait
	Diagnostics *CriticalityDiagnostics
}

// RANConfigurationUpdate, NG-RAN to AMF (TS 38.413 9.2.6.4); what is zero did not change.
type RANConfigurationUpdate struct {
	Name string
	TAs  []SupportedTA
	DRX  PagingDRX
	Node *RANNode
	// Remove are associations that the node gives up: its address, and the AMF's where it is said.
	Remove   []AssociationPair
	Extended *ExtendedName
}

// AssociationPair names an association by its ends.
type AssociationPair struct {
	RAN Address
	AMF *Address
}

// RANConfigurationUpdateAcknowledge, AMF to NG-RAN (TS 38.413 9.2.6.5).
type RANConfigurationUpdateAcknowledge struct{ Diagnostics *CriticalityDiagnostics }

// RANConfigurationUpdateFailure, AMF to NG-RAN (TS 38.413 9.2.6.6).
type RANConfigurationUpdateFailure struct {
	Cause       Cause
	Wait        TimeToWait
	Diagnostics *CriticalityDiagnostics
}

// AssociationUse is what an association is for (TNL Association Usage, TS 38.413 9.3.2.9).
type AssociationUse uint8

// The uses.
const (
	UseNotSaid AssociationUse = iota
	UseForUE
	UseForNonUE
	UseForBoth
)

// Association is an AMF's address that an NG-RAN node connects to.
type Association struct {
	Address Address
	Use     AssociationUse
	// Weight is 0 to 255; one that is added has one, of one that is updated it may not have changed.
	Weight *uint8
}

// AMFConfigurationUpdate, AMF to NG-RAN (TS 38.413 9.2.6.7); what is zero did not change.
type AMFConfigurationUpdate struct {
	Name     string
	GUAMIs   []ServedGUAMI
	Capacity *uint8
	PLMNs    []PLMNSlices
	// Add, Remove and Update are at most 32 each.
	Add      []Association
	Remove   []Address
	Update   []Association
	Extended *ExtendedName
}

// RefusedAssociation is one that an NG-RAN node could not make.
type RefusedAssociation struct {
	Address Address
	Cause   Cause
}

// AMFConfigurationUpdateAcknowledge, NG-RAN to AMF (TS 38.413 9.2.6.8).
type AMFConfigurationUpdateAcknowledge struct {
	Made        []Address
	Refused     []RefusedAssociation
	Diagnostics *CriticalityDiagnostics
}

// AMFConfigurationUpdateFailure, NG-RAN to AMF (TS 38.413 9.2.6.9).
type AMFConfigurationUpdateFailure struct {
	Cause       Cause
	Wait        TimeToWait
	Diagnostics *CriticalityDiagnostics
}

// AMFStatusIndication, AMF to NG-RAN (TS 38.413 9.2.6.10).
type AMFStatusIndication struct{ GUAMIs []UnavailableGUAMI }

// NGReset, both ways (TS 38.413 9.2.6.11).
type NGReset struct {
	Cause Cause
	// Connections that are reset, at most 65536; nil: the whole interface.
	Connections []UEConnection
}

// NGResetAcknowledge, both ways (TS 38.413 9.2.6.12).
type NGResetAcknowledge struct {
	Connections []UEConnection
	Diagnostics *CriticalityDiagnostics
}

// ErrorIndication, both ways (TS 38.413 9.2.6.13). It has a Cause, Diagnostics, or both.
type ErrorIndication struct {
	AMF         *AMFUEID
	RAN         *RANUEID
	Cause       *Cause
	Diagnostics *CriticalityDiagnostics
	STMSI       *FiveGSTMSI
}

// OverloadAction is what an NG-RAN node does while an AMF has too much (TS 38.413 9.3.1.105).
type OverloadAction uint8

// The actions.
const (
	OverloadNotSaid OverloadAction = iota
	// OverloadRejectData refuses RRC connections for data that are no emergency's.
	OverloadRejectData
	// OverloadRejectSignalling refuses those for signalling, too.
	OverloadRejectSignalling
	// OverloadEmergencyAndTerminated lets in emergencies and what was paged.
	OverloadEmergencyAndTerminated
	// OverloadPriorityAndTerminated lets in high priority and what was paged.
	OverloadPriorityAndTerminated
)

// OverloadStart, AMF to NG-RAN (TS 38.413 9.2.6.14).
type OverloadStart struct {
	Action OverloadAction
	// Reduction of the load in percent, 1 to 99; 0: all that the action names.
	Reduction uint8
	Slices    []SliceOverload
}

// SliceOverload is what holds of some slices.
type SliceOverload struct {
	Slices    []SNSSAI
	Action    OverloadAction
	Reduction uint8
}

// OverloadStop, AMF to NG-RAN (TS 38.413 9.2.6.15).
type OverloadStop struct{}

// UplinkRANConfigurationTransfer, NG-RAN to AMF (TS 38.413 9.2.7.1).
type UplinkRANConfigurationTransfer struct{ ConfigurationTransfer }

// DownlinkRANConfigurationTransfer, AMF to NG-RAN (TS 38.413 9.2.7.2).
type DownlinkRANConfigurationTransfer struct{ ConfigurationTransfer }

// ConfigurationTransfer is what an AMF passes from one NG-RAN node to another without a look.
type ConfigurationTransfer struct {
	// SON is a SON Configuration Transfer as it was read; Target is who it is for, and is read from it, never written.
	SON    []byte
	Target *HandoverTarget
	// ENDC is an EN-DC SON Configuration Transfer (TS 36.413), Intersystem one of TS 38.413 9.3.3.34.
	ENDC, Intersystem []byte
}
