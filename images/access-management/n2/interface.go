package n2

import "unicode/utf8"

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

// ExtendedName is a name in the two alphabets that there are, each "" where it is not there.
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
	// ENDC is an EN-DC SON Configuration Transfer (TS 36.413), Intersystem an Inter-system SON Configuration Transfer.
	ENDC, Intersystem []byte
}

func codeTimeToWait(c *coder, v *TimeToWait) { enumerated(c, v, Wait1s, 6, 6) }

// codeExtendedName has two optional fields: VisibleString and UTF8String of 1 to 150 characters, both of which may become longer.
func codeExtendedName(c *coder, v *ExtendedName) {
	s := c.sequence(v.Visible != "", v.UTF8 != "")
	if s.has(0) {
		set(c, &v.Visible, c.visible(v.Visible))
	}
	if s.has(1) {
		codeUTF8Name(c, &v.UTF8)
	}
	c.finish(s)
}

// codeUTF8Name: the length of a UTF8String is not that of its characters, so that its bounds are not seen (X.691 30.6).
func codeUTF8Name(c *coder, v *string) {
	const most = 150
	if c.writing && (!utf8.ValidString(*v) || utf8.RuneCountInString(*v) > most) {
		c.fail("a name in UTF-8 of 1 to %d characters", most)
	}
	read := c.octets([]byte(*v))
	if !utf8.Valid(read) {
		c.strange = true
		return
	}
	set(c, v, string(read))
}

func (m *NGSetupRequest) ies(x *exchange) {
	mandatory(x, ieGlobalRANNodeID, Reject, &m.Node, codeRANNode)
	optionalValue(x, ieRANNodeName, Ignore, &m.Name, printableString)
	mandatory(x, ieSupportedTA, Reject, &m.TAs, codeSupportedTAs)
	mandatory(x, ieDefaultPagingDRX, Ignore, &m.DRX, codePagingDRX)
	optionalValue(x, ieUERetention, Ignore, &m.Retention, flag)
	optional(x, ieExtendedRANNodeName, Ignore, &m.Extended, codeExtendedName)
}

func codeCapacity(c *coder, v *uint8) { number(c, v, 0, 255) }

func (m *NGSetupResponse) ies(x *exchange) {
	mandatory(x, ieAMFName, Reject, &m.Name, printableString)
	mandatory(x, ieServedGUAMI, Reject, &m.GUAMIs, codeServedGUAMIs)
	mandatory(x, ieRelativeAMFCapacity, Ignore, &m.Capacity, codeCapacity)
	mandatory(x, iePLMNSupport, Reject, &m.PLMNs, codePLMNSupport)
	x.diagnostics(&m.Diagnostics)
	optionalValue(x, ieUERetention, Ignore, &m.Retention, flag)
	optional(x, ieExtendedAMFName, Ignore, &m.Extended, codeExtendedName)
}

func (x *exchange) failure(cause *Cause, wait *TimeToWait, diagnostics **CriticalityDiagnostics) {
	x.cause(cause)
	optionalValue(x, ieTimeToWait, Ignore, wait, codeTimeToWait)
	x.diagnostics(diagnostics)
}

func (m *NGSetupFailure) ies(x *exchange) { x.failure(&m.Cause, &m.Wait, &m.Diagnostics) }

// mostAssociations is maxnoofTNLAssociations.
const mostAssociations = 32

// codeAssociationAddress is a CP Transport Layer Information, whose other alternative has a port.
func codeAssociationAddress(c *coder, v *Address) {
	const alternatives = 2
	if c.choice(0, alternatives) == 0 {
		codeAddress(c, v)
	}
}

func codeAssociationPairs(c *coder, v *[]AssociationPair) {
	list(c, v, 1, mostAssociations, func(c *coder, v *AssociationPair) {
		s := c.sequenceOfToday(v.AMF != nil)
		s.extensions = c.boolean(false)
		codeAssociationAddress(c, &v.RAN)
		if s.has(0) {
			pointerTo(c, &v.AMF, codeAssociationAddress)
		}
		c.finish(s)
	})
}

func (m *RANConfigurationUpdate) ies(x *exchange) {
	optionalValue(x, ieRANNodeName, Ignore, &m.Name, printableString)
	optionalList(x, ieSupportedTA, Reject, &m.TAs, codeSupportedTAs)
	optionalValue(x, ieDefaultPagingDRX, Ignore, &m.DRX, codePagingDRX)
	optional(x, ieGlobalRANNodeID, Ignore, &m.Node, codeRANNode)
	optionalList(x, ieNGRANTNLAssociationToRemove, Reject, &m.Remove, codeAssociationPairs)
	optional(x, ieExtendedRANNodeName, Ignore, &m.Extended, codeExtendedName)
}

func (m *RANConfigurationUpdateAcknowledge) ies(x *exchange) { x.diagnostics(&m.Diagnostics) }

func (m *RANConfigurationUpdateFailure) ies(x *exchange) {
	x.failure(&m.Cause, &m.Wait, &m.Diagnostics)
}

func codeAssociationUse(c *coder, v *AssociationUse) { enumerated(c, v, UseForUE, 3, 3) }

func codeAddedAssociations(c *coder, v *[]Association) {
	list(c, v, 1, mostAssociations, func(c *coder, v *Association) {
		if c.writing && v.Weight == nil {
			c.fail("an association that is added has a weight")
			return
		}
		s := c.sequence(v.Use != UseNotSaid)
		codeAssociationAddress(c, &v.Address)
		if s.has(0) {
			codeAssociationUse(c, &v.Use)
		}
		pointerTo(c, &v.Weight, codeCapacity)
		c.finish(s)
	})
}

func codeUpdatedAssociations(c *coder, v *[]Association) {
	list(c, v, 1, mostAssociations, func(c *coder, v *Association) {
		s := c.sequence(v.Use != UseNotSaid, v.Weight != nil)
		codeAssociationAddress(c, &v.Address)
		if s.has(0) {
			codeAssociationUse(c, &v.Use)
		}
		if s.has(1) {
			pointerTo(c, &v.Weight, codeCapacity)
		}
		c.finish(s)
	})
}

func codeAssociationAddresses(c *coder, v *[]Address) {
	list(c, v, 1, mostAssociations, func(c *coder, v *Address) { wrapped(c, v, codeAssociationAddress) })
}

func (m *AMFConfigurationUpdate) ies(x *exchange) {
	optionalValue(x, ieAMFName, Reject, &m.Name, printableString)
	optionalList(x, ieServedGUAMI, Reject, &m.GUAMIs, codeServedGUAMIs)
	optional(x, ieRelativeAMFCapacity, Ignore, &m.Capacity, codeCapacity)
	optionalList(x, iePLMNSupport, Reject, &m.PLMNs, codePLMNSupport)
	optionalList(x, ieAMFTNLAssociationToAdd, Ignore, &m.Add, codeAddedAssociations)
	optionalList(x, ieAMFTNLAssociationToRemove, Ignore, &m.Remove, codeAssociationAddresses)
	optionalList(x, ieAMFTNLAssociationToUpdate, Ignore, &m.Update, codeUpdatedAssociations)
	optional(x, ieExtendedAMFName, Ignore, &m.Extended, codeExtendedName)
}

func codeRefusedAssociations(c *coder, v *[]RefusedAssociation) {
	list(c, v, 1, mostAssociations, func(c *coder, v *RefusedAssociation) {
		s := c.sequence()
		codeAssociationAddress(c, &v.Address)
		codeCause(c, &v.Cause)
		c.finish(s)
	})
}

func (m *AMFConfigurationUpdateAcknowledge) ies(x *exchange) {
	optionalList(x, ieAMFTNLAssociationSetup, Ignore, &m.Made, codeAssociationAddresses)
	optionalList(x, ieAMFTNLAssociationFailedToSetUp, Ignore, &m.Refused, codeRefusedAssociations)
	x.diagnostics(&m.Diagnostics)
}

func (m *AMFConfigurationUpdateFailure) ies(x *exchange) {
	x.failure(&m.Cause, &m.Wait, &m.Diagnostics)
}

func (m *AMFStatusIndication) ies(x *exchange) {
	mandatory(x, ieUnavailableGUAMI, Reject, &m.GUAMIs, codeUnavailableGUAMIs)
}

// The alternatives of a Reset Type.
const resetAll, resetPart, resetAlternatives = 0, 1, 3

func codeResetType(c *coder, v *[]UEConnection) {
	index := resetAll
	if len(*v) > 0 {
		index = resetPart
	}
	switch c.choice(index, resetAlternatives) {
	case resetAll:
		var all bool
		flag(c, &all)
	case resetPart:
		codeUEConnections(c, v)
	}
}

func (m *NGReset) ies(x *exchange) {
	x.cause(&m.Cause)
	mandatory(x, ieResetType, Reject, &m.Connections, codeResetType)
}

func (m *NGResetAcknowledge) ies(x *exchange) {
	optionalList(x, ieUEAssociatedConnections, Ignore, &m.Connections, codeUEConnections)
	x.diagnostics(&m.Diagnostics)
}

func (m *ErrorIndication) ies(x *exchange) {
	optional(x, ieAMFUEID, Ignore, &m.AMF, codeAMFUEID)
	optional(x, ieRANUEID, Ignore, &m.RAN, codeRANUEID)
	optional(x, ieCause, Ignore, &m.Cause, codeCause)
	x.diagnostics(&m.Diagnostics)
	optional(x, ieFiveGSTMSI, Ignore, &m.STMSI, codeFiveGSTMSI)
}

// codeOverloadAction is an Overload Response.
func codeOverloadAction(c *coder, v *OverloadAction) {
	const alternatives = 2
	if c.choice(0, alternatives) == 0 {
		enumerated(c, v, OverloadRejectData, 4, 4)
	}
}

func codeReduction(c *coder, v *uint8) { number(c, v, 1, 99) }

func codeSliceOverloads(c *coder, v *[]SliceOverload) { list(c, v, 1, mostSlices, codeSliceOverload) }

func codeSliceOverload(c *coder, v *SliceOverload) {
	s := c.sequence(v.Action != OverloadNotSaid, v.Reduction != 0)
	list(c, &v.Slices, 1, mostSlices, codeWrappedSNSSAI)
	if s.has(0) {
		codeOverloadAction(c, &v.Action)
	}
	if s.has(1) {
		codeReduction(c, &v.Reduction)
	}
	c.finish(s)
}

func (m *OverloadStart) ies(x *exchange) {
	optionalValue(x, ieAMFOverloadResponse, Reject, &m.Action, codeOverloadAction)
	optionalValue(x, ieAMFTrafficLoadReduction, Ignore, &m.Reduction, codeReduction)
	optionalList(x, ieOverloadStartNSSAI, Ignore, &m.Slices, codeSliceOverloads)
}

func (m *OverloadStop) ies(*exchange) {}

func (m *UplinkRANConfigurationTransfer) ies(x *exchange) {
	m.code(x, ieSONConfigurationTransferUL, ieENDCSONConfigurationTransferUL, ieIntersystemSONConfigurationUL)
}

func (m *DownlinkRANConfigurationTransfer) ies(x *exchange) {
	m.code(x, ieSONConfigurationTransferDL, ieENDCSONConfigurationTransferDL, ieIntersystemSONConfigurationDL)
}

func (t *ConfigurationTransfer) code(x *exchange, son, endc, intersystem IE) {
	opaque(x, son, Ignore, optionally, &t.SON)
	if x.mode == reading && t.SON != nil {
		t.Target = sonTarget(t.SON)
	}
	optionalOctets(x, endc, Ignore, &t.ENDC)
	opaque(x, intersystem, Ignore, optionally, &t.Intersystem)
}

// sonTarget reads who a SON Configuration Transfer is for, which stands at its beginning; nil where that is not known.
func sonTarget(b []byte) *HandoverTarget {
	c := coder{b: b}
	var out HandoverTarget
	// Of the fields that follow, the last is optional.
	c.sequence(false)
	codeTargetNode(&c, &out)
	if c.err != nil || c.strange {
		return nil
	}
	return &out
}
