package n2

// ReleaseResponse is the PDU Session Resource Release Response Transfer of TS 38.413 9.3.4.21, gNB to SMF.
type ReleaseResponse struct {
	Usage *SecondaryRATUsage
}

// ngapType has the extension without its number.
type releaseResponse struct {
	IEExtensions *extensions `aper:"optional"`
}

// InfoType is PDU_RES_REL_RSP.
func (*ReleaseResponse) InfoType() InfoType { return InfoReleaseResponse }

// Encode writes the transfer.
func (t *ReleaseResponse) Encode() ([]byte, error) {
	var c check
	return c.encode(t, &releaseResponse{IEExtensions: c.putExtensions(extended{usage: t.Usage})})
}

func (t *ReleaseResponse) read(c *check, b []byte) {
	var in releaseResponse
	if c.decode(b, &in) {
		t.Usage = c.extensions(in.IEExtensions).usage
	}
}
