package n2

import (
	"encoding/hex"
	"testing"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

func TestMessagesByTypeAlone(t *testing.T) {
	req := &ngapType.InitialUEMessage{}
	ies := &req.ProtocolIEs.List
	Add(ies, Reject, &ngapType.RANUENGAPID{Value: 7})
	Add(ies, Reject, &ngapType.NASPDU{Value: aper.OctetString{0x7e, 0, 0x41}})
	Add(ies, Ignore, &ngapType.RRCEstablishmentCause{Value: ngapType.RRCEstablishmentCausePresentMoSignalling})
	b, err := Initiating(Ignore, req)
	if err != nil {
		t.Fatal(err)
	}
	// TS 38.413: initiating message, procedure 15, criticality ignore; three IEs: 85, 38, 90.
	if want := "000f4016000003" + "0055000200" + "07" + "00260004037e0041" + "005a400118"; hex.EncodeToString(b) != want {
		t.Errorf("got  %x\nwant %s", b, want)
	}
	m, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := m.(*ngapType.InitialUEMessage)
	if !ok {
		t.Fatalf("decoded a %T", m)
	}
	if id := Find[ngapType.RANUENGAPID](got.ProtocolIEs.List); id == nil || id.Value != 7 {
		t.Errorf("RAN UE NGAP ID = %v", id)
	}
	if Find[ngapType.FiveGSTMSI](got.ProtocolIEs.List) != nil {
		t.Error("found an IE that is not there")
	}
}

func TestAddRefusesForeignIE(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an IE that the message cannot hold was added")
		}
	}()
	Add(&(&ngapType.NGSetupRequest{}).ProtocolIEs.List, Reject, &ngapType.NASPDU{})
}

func FuzzDecode(f *testing.F) {
	b, _ := hex.DecodeString("000f4016000003005500020007002600040 37e0041005a400118")
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = Decode(b)
		_ = Unmarshal(b, &ngapType.PDUSessionResourceSetupRequestTransfer{})
	})
}
