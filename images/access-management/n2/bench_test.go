package n2

import (
	"bytes"
	"testing"

	"github.com/free5gc/ngap"
)

// common are the six messages of which a registration with a session has most.
func common() []sample {
	nas := bytes.Repeat([]byte{0x7e}, 40)
	return []sample{
		{"InitialUEMessage", &InitialUEMessage{RAN: 1, NAS: nas, Location: nrLocation(), Establishment: ForSignalling, STMSI: &FiveGSTMSI{Set: 1, TMSI: 7}, ContextRequest: true}, ""},
		{"DownlinkNASTransport", &DownlinkNASTransport{UE: ue1, NAS: nas}, ""},
		{"UplinkNASTransport", &UplinkNASTransport{UE: ue1, NAS: nas, Location: nrLocation()}, ""},
		{"InitialContextSetupRequest", &InitialContextSetupRequest{
			UE: ue1, GUAMI: guami(), Allowed: someSlices(), Security: capabilities(), Key: key(), Mobility: restrictions(), MaskedIMEISV: 1 << 63, NAS: nas,
		}, ""},
		{"InitialContextSetupResponse", &InitialContextSetupResponse{UE: ue1}, ""},
		{"PDUSessionResourceSetupRequest", &PDUSessionResourceSetupRequest{
			UE: ue1, Sessions: []SessionSetup{{ID: 1, NAS: nas, SNSSAI: someSlices()[1], Transfer: nas}}, AMBR: &AggregateBitRate{Uplink: 1e9, Downlink: 1e9},
		}, ""},
	}
}

func BenchmarkRead(b *testing.B) {
	for _, s := range common() {
		octets, err := Write(s.message)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, fault := Read(octets); fault != nil {
					b.Fatal(fault)
				}
			}
		})
		b.Run(s.name+"/free5GC", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ngap.Decoder(octets); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, s := range common() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			var octets []byte
			for b.Loop() {
				var err error
				if octets, err = Append(octets[:0], s.message); err != nil {
					b.Fatal(err)
				}
			}
		})
		octets, err := Write(s.message)
		if err != nil {
			b.Fatal(err)
		}
		pdu, err := ngap.Decoder(octets)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.name+"/free5GC", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ngap.Encoder(*pdu); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPeek(b *testing.B) {
	octets, err := Write(common()[2].message)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Peek(octets); err != nil {
			b.Fatal(err)
		}
	}
}
