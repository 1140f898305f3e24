package n2

import "github.com/free5gc/ngap/ngapType"

// These transfers say a cause and nothing else that an SMF acts on. ASN.1 knows two forms of them, with Criticality
// Diagnostics, which are passed over, and without.

// SetupUnsuccessful is the PDU Session Resource Setup Unsuccessful Transfer of TS 38.413 9.3.4.16, gNB to SMF.
type SetupUnsuccessful struct{ Cause Cause }

// ReleaseCommand is the PDU Session Resource Release Command Transfer of TS 38.413 9.3.4.12, SMF to gNB.
type ReleaseCommand struct{ Cause Cause }

// InfoType is PDU_RES_SETUP_FAIL.
func (*SetupUnsuccessful) InfoType() InfoType { return InfoSetupUnsuccessful }

// InfoType is PDU_RES_REL_CMD.
func (*ReleaseCommand) InfoType() InfoType { return InfoReleaseCommand }

// Encode writes the transfer.
func (t *SetupUnsuccessful) Encode() ([]byte, error) { return encodeDiagnosed(t, t.Cause) }

// Encode writes the transfer.
func (t *ReleaseCommand) Encode() ([]byte, error) { return encodeCause(t, t.Cause) }

func (t *SetupUnsuccessful) read(c *check, b []byte) { t.Cause = c.diagnosed(b) }
func (t *ReleaseCommand) read(c *check, b []byte)    { t.Cause = c.causeAlone(b) }

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
