package fakeamf

import (
	"testing"

	"github.com/free5gc/nas/security"

	"core5g.dev/core5g/e2e/ran/uenas"
)

// decipher opens the value of a NAS message container in place.
func decipher(t testing.TB, c *uenas.Context, count uint32, value []byte) {
	if err := security.NASEncrypt(c.Ciphering, c.KEnc, count, security.Bearer3GPP, security.DirectionUplink, value); err != nil {
		t.Error(err)
	}
}
