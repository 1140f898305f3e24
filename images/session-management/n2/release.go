package n2

import "github.com/free5gc/ngap/ngapType"

// ReleaseResponse is the PDU Session Resource Release Response Transfer of TS 38.413 9.3.4.21, gNB to SMF.
type ReleaseResponse struct{}

// InfoType is PDU_RES_REL_RSP.
func (*ReleaseResponse) InfoType() InfoType { return InfoReleaseResponse }

// Encode writes the transfer.
func (t *ReleaseResponse) Encode() ([]byte, error) {
	var c check
	return c.encode(t, &ngapType.PDUSessionResourceReleaseResponseTransfer{})
}

func (t *ReleaseResponse) read(c *check, b []byte) {
	var in ngapType.PDUSessionResourceReleaseResponseTransfer
	c.decode(b, &in)
}
