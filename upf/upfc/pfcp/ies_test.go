package pfcp

import (
	"bytes"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
)

// IEs that are appended are those of go-pfcp.
func TestIEsAreGoPFCPs(t *testing.T) {
	want, err := marshal(1, nil, 0, []*ie.IE{ie.NewCause(ie.CauseRequestAccepted), ie.NewPDRID(0x102), ie.NewURRID(0x1020304), ie.NewApplicationID("video"),
		ie.NewCreatedPDR(ie.NewPDRID(7), ie.NewApplicationDetectionInformation(ie.NewApplicationID("a"))), ie.NewVendorSpecificIE(0x8001, 5, []byte{9})})
	if err != nil {
		t.Fatal(err)
	}
	var got IEs
	got.Octets(ie.Cause, ie.CauseRequestAccepted)
	got.Uint16(ie.PDRID, 0x102)
	got.Uint32(ie.URRID, 0x1020304)
	got.Text(ie.ApplicationID, "video")
	outer := got.Begin(ie.CreatedPDR)
	got.Uint16(ie.PDRID, 7)
	inner := got.Begin(ie.ApplicationDetectionInformation)
	got.Text(ie.ApplicationID, "a")
	got.End(inner)
	got.End(outer)
	if err := got.Add(ie.NewVendorSpecificIE(0x8001, 5, []byte{9})); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want[8:]) {
		t.Errorf("% x\nwant % x", []byte(got), want[8:])
	}
	before := len(got)
	if err := got.Add(ie.NewPDRID(1), nil); err == nil || len(got) != before {
		t.Errorf("an IE that go-pfcp could not build: %v, %d octets more", err, len(got)-before)
	}
}
