package n2

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"core5g.dev/core5g/images/ngapcause"

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

// What free5GC's codec makes of octets that are no message: why it is not what reads here. Each has a fault by Read.
func TestUnlikeFree5GC(t *testing.T) {
	logger.AperLog.Logger.SetLevel(logrus.PanicLevel)
	setup := func(change func([]rawIE) []rawIE) []byte {
		h, ies := taken(t, setupRequest())
		return together(h, change(ies))
	}
	nas := func(change func([]rawIE) []rawIE) []byte {
		h, ies := taken(t, uplink())
		return together(h, change(ies))
	}
	for name, tc := range map[string]struct {
		octets []byte
		// wantRefused: it does not read them either.
		wantRefused bool
		// wantKiB is what it takes for it at least.
		wantKiB   uint64
		wantCause Cause
	}{
		"a mandatory IE is missing":     {octets: nas(without(ieNASPDU)), wantCause: ngapcause.AbstractSyntaxReject},
		"an IE twice":                   {octets: nas(twice(ieNASPDU)), wantCause: ngapcause.FalselyConstructed},
		"IEs in the wrong order":        {octets: nas(swapped(0, 1)), wantCause: ngapcause.FalselyConstructed},
		"octets behind a value":         {octets: nas(as(ieNASPDU, "01 7e 0000")), wantCause: ngapcause.TransferSyntax},
		"octets behind the message":     {octets: append(nas(all()), 1, 2, 3), wantCause: ngapcause.TransferSyntax},
		"a gNB ID of 37 bits":           {octets: setup(as(ieGlobalRANNodeID, "00 99f907 78 ffffffffff")), wantCause: ngapcause.TransferSyntax},
		"an IE to be rejected":          {octets: setup(with(none, Reject, "00")), wantCause: ngapcause.AbstractSyntaxReject},
		"a procedure to be rejected":    {octets: octets("00 ff 00 03 000000"), wantCause: ngapcause.AbstractSyntaxReject},
		"a TNGF: told apart from wrong": {octets: setup(as(ieGlobalRANNodeID, "c0 00f0 00 03 010203")), wantRefused: true, wantCause: ngapcause.AbstractSyntaxReject},
		"seven octets that take 4 MiB":  {octets: octets("00 15 00 03 00ffff"), wantRefused: true, wantKiB: 4000, wantCause: ngapcause.TransferSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var err error
			guard(&err, func() error {
				_, err := ngap.Decoder(tc.octets)
				return err
			})
			runtime.ReadMemStats(&after)
			if (err != nil) != tc.wantRefused {
				t.Errorf("free5GC's codec: %v", err)
			}
			if got := (after.TotalAlloc - before.TotalAlloc) >> 10; got < tc.wantKiB {
				t.Errorf("free5GC's codec took %d KiB, said was %d", got, tc.wantKiB)
			}
			if _, fault := Read(tc.octets); fault == nil || fault.Cause != tc.wantCause {
				t.Errorf("%v, want %s", fault, tc.wantCause)
			}
		})
	}
}
