package n2

import "github.com/free5gc/ngap/ngapType"

// These transfers say a cause and nothing else that an SMF acts on. ASN.1 knows two forms of them, with Criticality
// Diagnostics, which are passed over, and without; each form is written alike whatever the transfer.

// SetupUnsuccessful is the PDU Session Resource Setup Unsuccessful Transfer of TS 38.413
// 9.3.4.16, gNB to SMF.
type SetupUnsuccessful struct{ Cause Cause }

// ModifyUnsuccessful is the PDU Session Resource Modify Unsuccessful Transfer of TS 38.413
// 9.3.4.17, gNB to SMF.
type ModifyUnsuccessful struct{ Cause Cause }

// ModifyIndicationUnsuccessful is the PDU Session Resource Modify Indication Unsuccessful Transfer of TS 38.413
// 9.3.4.22, SMF to gNB.
type ModifyIndicationUnsuccessful struct{ Cause Cause }

// ReleaseCommand is the PDU Session Resource Release Command Transfer of TS 38.413
// 9.3.4.12, SMF to gNB.
type ReleaseCommand struct{ Cause Cause }

// NotifyReleased is the PDU Session Resource Notify Released Transfer of TS 38.413
// 9.3.4.13, gNB to SMF: it has released the session's resources.
type NotifyReleased struct{ Cause Cause }

// PathSwitchSetupFailed is the Path Switch Request Setup Failed Transfer of TS 38.413
// 9.3.4.15, gNB to SMF: the new gNB has not taken the session.
type PathSwitchSetupFailed struct{ Cause Cause }

// PathSwitchUnsuccessful is the Path Switch Request Unsuccessful Transfer of TS 38.413
// 9.3.4.20, SMF to gNB.
type PathSwitchUnsuccessful struct{ Cause Cause }

// HandoverPreparationUnsuccessful is the Handover Preparation Unsuccessful Transfer of TS 38.413
// 9.3.4.18, SMF to source gNB.
type HandoverPreparationUnsuccessful struct{ Cause Cause }

// HandoverResourceAllocationUnsuccessful is the Handover Resource Allocation Unsuccessful Transfer of TS 38.413
// 9.3.4.19, target gNB to SMF.
type HandoverResourceAllocationUnsuccessful struct{ Cause Cause }

// InfoType is PDU_RES_SETUP_FAIL.
func (*SetupUnsuccessful) InfoType() InfoType { return InfoSetupUnsuccessful }

// InfoType is PDU_RES_MOD_FAIL.
func (*ModifyUnsuccessful) InfoType() InfoType { return InfoModifyUnsuccessful }

// InfoType is PDU_RES_MOD_IND_FAIL.
func (*ModifyIndicationUnsuccessful) InfoType() InfoType { return InfoModifyIndicationUnsuccessful }

// InfoType is PDU_RES_REL_CMD.
func (*ReleaseCommand) InfoType() InfoType { return InfoReleaseCommand }

// InfoType is PDU_RES_NTY_REL.
func (*NotifyReleased) InfoType() InfoType { return InfoNotifyReleased }

// InfoType is PATH_SWITCH_SETUP_FAIL.
func (*PathSwitchSetupFailed) InfoType() InfoType { return InfoPathSwitchSetupFailed }

// InfoType is PATH_SWITCH_REQ_FAIL.
func (*PathSwitchUnsuccessful) InfoType() InfoType { return InfoPathSwitchUnsuccessful }

// InfoType is HANDOVER_PREP_FAIL.
func (*HandoverPreparationUnsuccessful) InfoType() InfoType {
	return InfoHandoverPreparationUnsuccessful
}

// InfoType is HANDOVER_RES_ALLOC_FAIL.
func (*HandoverResourceAllocationUnsuccessful) InfoType() InfoType {
	return InfoHandoverResourceAllocationUnsuccessful
}

// Encode writes the transfer.
func (t *SetupUnsuccessful) Encode() ([]byte, error) { return encodeDiagnosed(t, t.Cause) }

// Encode writes the transfer.
func (t *ModifyUnsuccessful) Encode() ([]byte, error) { return encodeDiagnosed(t, t.Cause) }

// Encode writes the transfer.
func (t *ModifyIndicationUnsuccessful) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *ReleaseCommand) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *NotifyReleased) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *PathSwitchSetupFailed) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *PathSwitchUnsuccessful) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *HandoverPreparationUnsuccessful) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

// Encode writes the transfer.
func (t *HandoverResourceAllocationUnsuccessful) Encode() ([]byte, error) {
	return encodeDiagnosed(t, t.Cause)
}

func (t *SetupUnsuccessful) read(c *check, b []byte)                      { t.Cause = c.diagnosed(b) }
func (t *ModifyUnsuccessful) read(c *check, b []byte)                     { t.Cause = c.diagnosed(b) }
func (t *ModifyIndicationUnsuccessful) read(c *check, b []byte)           { t.Cause = c.causeAlone(b) }
func (t *ReleaseCommand) read(c *check, b []byte)                         { t.Cause = c.causeAlone(b) }
func (t *NotifyReleased) read(c *check, b []byte)                         { t.Cause = c.causeAlone(b) }
func (t *PathSwitchSetupFailed) read(c *check, b []byte)                  { t.Cause = c.causeAlone(b) }
func (t *PathSwitchUnsuccessful) read(c *check, b []byte)                 { t.Cause = c.causeAlone(b) }
func (t *HandoverPreparationUnsuccessful) read(c *check, b []byte)        { t.Cause = c.causeAlone(b) }
func (t *HandoverResourceAllocationUnsuccessful) read(c *check, b []byte) { t.Cause = c.diagnosed(b) }

func encodeCause(t Transfer, cause Cause) ([]byte, error) {
	var c check
	return c.encode(t, &ngapType.PDUSessionResourceReleaseCommandTransfer{Cause: c.putCause("Cause", cause)})
}

func encodeDiagnosed(t Transfer, cause Cause) ([]byte, error) {
	var c check
	return c.encode(t, &ngapType.PDUSessionResourceSetupUnsuccessfulTransfer{Cause: c.putCause("Cause", cause)})
}

func (c *check) causeAlone(b []byte) Cause {
	var in ngapType.PDUSessionResourceReleaseCommandTransfer
	if !c.decode(b, &in) {
		return 0
	}
	return c.cause("Cause", &in.Cause)
}

func (c *check) diagnosed(b []byte) Cause {
	var in ngapType.PDUSessionResourceSetupUnsuccessfulTransfer
	if !c.decode(b, &in) {
		return 0
	}
	return c.cause("Cause", &in.Cause)
}
