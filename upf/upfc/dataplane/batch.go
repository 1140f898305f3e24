package dataplane

import (
	"sync"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/compile"
)

const (
	headSize   = int(unsafe.Sizeof(abi.Msg{}))
	recordSize = int(unsafe.Sizeof(abi.Record{}))
)

// Batch is one transaction under construction: upf-u applies all of its records or none.
type Batch struct {
	b      []byte
	n      uint32
	answer chan error
}

// batches are reused: Transact takes them back.
var batches = sync.Pool{New: func() any {
	return &Batch{b: make([]byte, headSize, 2048), answer: make(chan error, 1)}
}}

// NewBatch is an empty transaction. It is Transact's from the moment it is handed over.
func NewBatch() *Batch {
	t := batches.Get().(*Batch)
	t.b, t.n = t.b[:headSize], 0
	return t
}

// reuse takes back a batch that has been answered. Big ones are seldom needed again.
func (t *Batch) reuse() {
	if cap(t.b) <= 16*1024 {
		batches.Put(t)
	}
}

// Records counts what was added.
func (t *Batch) Records() int { return int(t.n) }

// Size is the datagram's length so far.
func (t *Batch) Size() int { return len(t.b) }

// PutSize is what PutSession would add.
func PutSize(s *compile.Session, blob []byte) int {
	return pad8(int(unsafe.Sizeof(abi.SessionPut{})) + s.Size() + len(blob))
}

// StateSize is what State would add.
func StateSize(blob []byte) int { return pad8(int(unsafe.Sizeof(abi.SessionRef{})) + len(blob)) }

// MaxPutSize bounds PutSize: a session that is bigger does not fit a transaction.
const MaxPutSize = abi.MsgMax - 4096 // room for the records that accompany it

func pad8(n int) int { return (n + 7) &^ 7 }

// add appends a record: head, which begins with a struct upf_record, then parts, then padding.
func add[T any](t *Batch, head T, recType uint16, parts ...[]byte) {
	at := len(t.b)
	t.b = append(t.b, abi.Bytes([]T{head})...)
	for _, p := range parts {
		t.b = append(t.b, p...)
	}
	for len(t.b)%8 != 0 {
		t.b = append(t.b, 0)
	}
	rec := abi.Record{Type: recType, Length: uint32(len(t.b) - at)}
	copy(t.b[at:], abi.Bytes([]abi.Record{rec}))
	t.n++
}

// PutSession installs a session's rules, or replaces them whole. Its drops are counted under the group.
func (t *Batch) PutSession(index uint32, group uint16, s *compile.Session, blob []byte) {
	add(t, abi.SessionPut{
		Session: index, Group: group, Network: s.Network, BlobLen: uint32(len(blob)),
		NPdr: uint16(len(s.PDRs)), NFar: uint16(len(s.FARs)), NQer: uint16(len(s.QERs)),
		NUrr: uint16(len(s.URRs)), NBar: uint16(len(s.BARs)), NSdf: uint16(len(s.SDFs)),
		NSdf6: uint16(len(s.SDF6s)), NRoute: uint16(len(s.Routes)), NApplication: uint16(len(s.Applications)), TextLen: uint16(len(s.Text)),
		NatAddrBe: abi.AddrBe(s.NAT.Addr), NatPort: s.NAT.Port,
		NEthernet: uint16(len(s.EthernetFilters)), Flags: sessionFlags(s),
	}, abi.RecSessionPut, abi.Bytes(s.PDRs), abi.Bytes(s.FARs), abi.Bytes(s.QERs), abi.Bytes(s.URRs),
		abi.Bytes(s.BARs), abi.Bytes(s.SDFs), abi.Bytes(s.SDF6s), abi.Bytes(s.Routes), abi.Bytes(s.EthernetFilters), abi.Bytes(s.Applications), []byte(s.Text), blob)
}

func sessionFlags(s *compile.Session) uint16 {
	if s.Ethernet {
		return abi.SessionEthernet
	}
	return 0
}

// Domain is a domain name of an application.
type Domain struct {
	Application uint64
	Name        string
	Flags       uint8 // abi.Domain…
}

// Domains replaces the domains of all applications.
func (t *Batch) Domains(list []Domain) {
	entries, text := make([]abi.Domain, 0, len(list)), []byte(nil)
	for _, d := range list {
		entries = append(entries, abi.Domain{Application: d.Application, TextFirst: uint32(len(text)), TextLen: uint8(len(d.Name)), Flags: d.Flags})
		text = append(text, d.Name...)
	}
	add(t, abi.Domains{N: uint32(len(list)), TextLen: uint32(len(text))}, abi.RecDomains, abi.Bytes(entries), text)
}

// DeleteSession removes a session.
func (t *Batch) DeleteSession(index uint32) {
	add(t, abi.SessionRef{Session: index}, abi.RecSessionDel)
}

// State replaces a session's blob.
func (t *Batch) State(index uint32, blob []byte) {
	add(t, abi.SessionRef{Session: index, BlobLen: uint32(len(blob))}, abi.RecSessionState, blob)
}

// Meta replaces the blob that belongs to no session. restoring: CP functions restore sessions, and nobody is told that there is
// no such tunnel.
func (t *Batch) Meta(blob []byte, restoring bool) {
	ref := abi.SessionRef{BlobLen: uint32(len(blob))}
	if restoring {
		ref.Session = abi.MetaRestoring
	}
	add(t, ref, abi.RecMeta, blob)
}

// Station tells of one that the upf-u before knew of a session. Its type is not what upf-u tells of one by.
func (t *Batch) Station(s abi.EvMac) { add(t, s, abi.RecStation) }

// DropBuffered forgets the downlink packets of a session that wait.
func (t *Batch) DropBuffered(index uint32) {
	add(t, abi.SessionRef{Session: index}, abi.RecDropBuffered)
}

// Arm asks for an event when a usage counter reaches a volume.
func (t *Batch) Arm(a abi.UrrArm) { add(t, a, abi.RecUrrArm) }

// EndMarker sends one to a tunnel (TS 29.281 7.3.2), behind the session's packets.
func (t *Batch) EndMarker(index uint32, m abi.EndMarker) {
	m.Session = index
	add(t, m, abi.RecEndMarker)
}

// finish writes the head and returns the datagram.
func (t *Batch) finish(op uint16, seq uint32) []byte {
	h := abi.Msg{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: op, Seq: seq, Length: uint32(len(t.b)), Records: t.n}
	copy(t.b, abi.Bytes([]abi.Msg{h}))
	return t.b
}

// EachRecord walks the records of a datagram's body, checking that each lies within it. It is used
// on what upf-u sends, and by the stand-in for upf-u on what upf-c sends.
func EachRecord(body []byte, f func(recType uint16, record []byte) error) error {
	for len(body) > 0 {
		r, err := abi.Read[abi.Record](body)
		if err != nil {
			return err
		}
		if int(r.Length) < recordSize || int(r.Length) > len(body) || r.Length%8 != 0 {
			return errRecordLength
		}
		if err := f(r.Type, body[:r.Length]); err != nil {
			return err
		}
		body = body[r.Length:]
	}
	return nil
}

// Echo sends a GTP-U Echo Request.
func (t *Batch) Echo(e abi.Echo) { add(t, e, abi.RecEcho) }
