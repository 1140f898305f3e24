package main

import (
	"encoding/binary"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// template is a request that is built once; what differs between sessions is written at the marks.
type template struct {
	octets                      []byte
	cpSEID, ue, ueAgain, teid   int
	peerTEID                    int
	sessionRelated, establishes bool
}

type builder struct {
	b []byte
	t *template
}

// group appends an IE whose value f appends.
func (w *builder) group(ieType uint16, f func()) {
	at := len(w.b)
	w.b = append(w.b, byte(ieType>>8), byte(ieType), 0, 0)
	f()
	binary.BigEndian.PutUint16(w.b[at+2:], uint16(len(w.b)-at-4))
}

func (w *builder) octets(ieType uint16, v ...byte) {
	w.group(ieType, func() { w.b = append(w.b, v...) })
}

func (w *builder) u32(ieType uint16, v uint32) {
	w.group(ieType, func() { w.b = binary.BigEndian.AppendUint32(w.b, v) })
}

// mark appends n octets to be written later.
func (w *builder) mark(n int) int {
	at := len(w.b)
	w.b = append(w.b, make([]byte, n)...)
	return at
}

func (w *builder) header(msgType uint8) {
	w.b = append(w.b, 0x21, msgType, 0, 0)
	w.mark(12) // SEID, sequence number
}

func (w *builder) finish() *template {
	binary.BigEndian.PutUint16(w.b[2:], uint16(len(w.b)-4))
	w.t.octets, w.t.sessionRelated = w.b, true
	return w.t
}

var (
	cpAddr = netip.MustParseAddr("127.0.0.2")
	n3Addr = netip.MustParseAddr("172.30.3.16")
	gnb    = netip.MustParseAddr("172.30.3.100")
)

// establishment is the session of NEC's measurement: 2 PDR, 2 FAR, 2 QER, 2 URR.
func establishment() *template {
	w := &builder{t: &template{establishes: true}}
	w.header(message.MsgTypeSessionEstablishmentRequest)
	w.group(ie.NodeID, func() { w.b = append(append(w.b, 0), cpAddr.AsSlice()...) })
	w.group(ie.FSEID, func() {
		w.b = append(w.b, 2)
		w.t.cpSEID = w.mark(8)
		w.b = append(w.b, cpAddr.AsSlice()...)
	})
	w.octets(ie.PDNType, 1)
	rest := func() {
		for _, r := range []struct {
			ieType uint16
			ids    []uint32
		}{{ie.QERID, []uint32{1, 2}}, {ie.URRID, []uint32{1, 2}}} {
			for _, id := range r.ids {
				w.u32(r.ieType, id)
			}
		}
	}
	w.group(ie.CreatePDR, func() {
		w.octets(ie.PDRID, 0, 1)
		w.u32(ie.Precedence, 255)
		w.group(ie.PDI, func() {
			w.octets(ie.SourceInterface, ie.SrcInterfaceAccess)
			w.group(ie.FTEID, func() {
				w.b = append(w.b, 1)
				w.t.teid = w.mark(4)
				w.b = append(w.b, n3Addr.AsSlice()...)
			})
			w.octets(ie.NetworkInstance, []byte("internet")...)
			w.group(ie.UEIPAddress, func() { w.b = append(w.b, 2); w.t.ue = w.mark(4) })
		})
		w.octets(ie.OuterHeaderRemoval, 0)
		w.u32(ie.FARID, 1)
		rest()
	})
	w.group(ie.CreatePDR, func() {
		w.octets(ie.PDRID, 0, 2)
		w.u32(ie.Precedence, 255)
		w.group(ie.PDI, func() {
			w.octets(ie.SourceInterface, ie.SrcInterfaceCore)
			w.octets(ie.NetworkInstance, []byte("internet")...)
			w.group(ie.UEIPAddress, func() { w.b = append(w.b, 6); w.t.ueAgain = w.mark(4) })
		})
		w.u32(ie.FARID, 2)
		rest()
	})
	w.group(ie.CreateFAR, func() {
		w.u32(ie.FARID, 1)
		w.octets(ie.ApplyAction, 2)
		w.group(ie.ForwardingParameters, func() {
			w.octets(ie.DestinationInterface, ie.DstInterfaceCore)
			w.octets(ie.NetworkInstance, []byte("internet")...)
		})
	})
	w.group(ie.CreateFAR, func() {
		w.u32(ie.FARID, 2)
		w.octets(ie.ApplyAction, 2)
		w.group(ie.ForwardingParameters, func() {
			w.octets(ie.DestinationInterface, ie.DstInterfaceAccess)
			w.outerHeader()
		})
	})
	for id, qfi := range []byte{0, 9} { // the session's AMBR, a flow's MBR
		w.group(ie.CreateQER, func() {
			w.u32(ie.QERID, uint32(id+1))
			w.octets(ie.GateStatus, 0)
			w.octets(ie.MBR, 0, 0, 0x0f, 0x42, 0x40, 0, 0, 0x1e, 0x84, 0x80) // 1 and 2 Gbit/s
			if qfi != 0 {
				w.octets(ie.QFI, qfi)
			}
		})
	}
	for id := range uint32(2) {
		w.group(ie.CreateURR, func() {
			w.u32(ie.URRID, id+1)
			w.octets(ie.MeasurementMethod, 2)
			w.octets(ie.ReportingTriggers, 2, 0, 0) // volume threshold
			w.group(ie.VolumeThreshold, func() { w.b = binary.BigEndian.AppendUint64(append(w.b, 1), 1<<50) })
		})
	}
	return w.finish()
}

// outerHeader is Outer Header Creation GTP-U/UDP/IPv4 to the gNB.
func (w *builder) outerHeader() {
	w.group(ie.OuterHeaderCreation, func() {
		w.b = append(w.b, 1, 0)
		w.t.peerTEID = w.mark(4)
		w.b = append(w.b, gnb.AsSlice()...)
	})
}

// modification moves the downlink to another tunnel, as a handover does.
func modification() *template {
	w := &builder{t: &template{}}
	w.header(message.MsgTypeSessionModificationRequest)
	w.group(ie.UpdateFAR, func() {
		w.u32(ie.FARID, 2)
		w.octets(ie.ApplyAction, 2)
		w.group(ie.UpdateForwardingParameters, func() {
			w.octets(ie.DestinationInterface, ie.DstInterfaceAccess)
			w.outerHeader()
		})
	})
	return w.finish()
}

func deletion() *template {
	w := &builder{t: &template{}}
	w.header(message.MsgTypeSessionDeletionRequest)
	return w.finish()
}

// ueAddr is the UE IP address of session n.
func ueAddr(n uint32) uint32 { return 10<<24 + 1 + n }

// write fills the template in for session n; upSEID is the UPF's, peer the gNB's TEID.
func (t *template) write(to []byte, n, sequence uint32, upSEID uint64, peer uint32) []byte {
	to = append(to[:0], t.octets...)
	binary.BigEndian.PutUint64(to[4:], upSEID)
	binary.BigEndian.PutUint32(to[12:], sequence<<8)
	if t.establishes {
		binary.BigEndian.PutUint64(to[t.cpSEID:], uint64(n)+1)
		binary.BigEndian.PutUint32(to[t.ue:], ueAddr(n))
		binary.BigEndian.PutUint32(to[t.ueAgain:], ueAddr(n))
		binary.BigEndian.PutUint32(to[t.teid:], n+1)
	}
	if t.peerTEID != 0 {
		binary.BigEndian.PutUint32(to[t.peerTEID:], peer)
	}
	return to
}
