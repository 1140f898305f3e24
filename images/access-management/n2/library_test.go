package n2

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/free5gc/aper/logger"
	"github.com/free5gc/ngap"
	"github.com/sirupsen/logrus"
)

// free5GC's codec is written after the same specification by others: what both read and write alike is likely right. Where
// they differ, the sample says why, and the test sees to it that it is so.
func TestLikeFree5GC(t *testing.T) {
	logger.AperLog.Logger.SetLevel(logrus.PanicLevel)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			b, err := Write(s.message)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := again(b)
			switch alike := err == nil && bytes.Equal(b, theirs); {
			case alike && s.unlike != "":
				t.Errorf("free5GC's codec reads and writes it alike; said was: %s", s.unlike)
			case !alike && s.unlike == "":
				t.Errorf("%v\nours   %x\ntheirs %x", err, b, theirs)
			}
		})
	}
}

// again is what free5GC's codec makes of the octets.
func again(b []byte) (out []byte, err error) {
	guard(&err, func() error {
		pdu, err := ngap.Decoder(b)
		if err != nil {
			return err
		}
		out, err = ngap.Encoder(*pdu)
		return err
	})
	return out, err
}

// guard turns a panic of free5GC's codec into an error.
func guard(err *error, do func() error) {
	defer func() {
		if r := recover(); r != nil {
			*err = fmt.Errorf("panic: %v", r)
		}
	}()
	*err = do()
}
