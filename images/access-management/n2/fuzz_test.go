package n2

import (
	"bytes"
	"testing"

	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzRead: no octets make Read panic, or take much more room than they have. What was read and can be written, is read
// again as it was; what is answered to the rest can be written and read.
func FuzzRead(f *testing.F) {
	const long = 500
	for _, s := range samples() {
		if b, err := Write(s.message); err == nil && len(b) < long {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		given := bytes.Clone(b)
		m, fault := Read(b)
		if !bytes.Equal(given, b) {
			t.Error("what was read has changed")
		}
		if m == nil && (fault == nil || !fault.Terminated) {
			t.Fatalf("neither message nor fault: %v", fault)
		}
		if fault != nil {
			_ = fault.Error()
			readable(t, fault.Answer())
		}
		if m == nil {
			return
		}
		UEAssociated(m)
		readable(t, NewErrorIndication(m, ngapcause.UnknownLocalUEID))
		once, err := Write(m)
		if err != nil {
			// An IE to be ignored was missing, or not understood.
			return
		}
		again, fault := Read(once)
		if fault != nil {
			t.Fatalf("%x: %v", once, fault)
		}
		if diff := cmp.Diff(m, again, equal, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%x (-first +second):\n%s", once, diff)
		}
		if twice, err := Write(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x, then %x, %v", once, twice, err)
		}
	})
}

// FuzzPeek: what Peek says of a message is what the message says.
func FuzzPeek(f *testing.F) {
	for _, s := range samples() {
		if b, err := Write(s.message); err == nil && len(b) < 200 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Peek(b)
		m, _ := Read(b)
		if m == nil {
			return
		}
		if err != nil || h.Kind != m.Kind() {
			t.Fatalf("%v, %v, %s", h, err, m.Kind())
		}
		if h.UEAssociated() != UEAssociated(m) {
			t.Errorf("%s is UE-associated: %t", m.Kind(), UEAssociated(m))
		}
		amf, ran := Names(m)
		if h.AMF != nil && amf != nil && *h.AMF != *amf {
			t.Errorf("AMF UE NGAP ID %d, %d", *h.AMF, *amf)
		}
		if h.RAN != nil && ran != nil && *h.RAN != *ran {
			t.Errorf("RAN UE NGAP ID %d, %d", *h.RAN, *ran)
		}
	})
}
