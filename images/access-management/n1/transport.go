package n1

import (
	"encoding/binary"
	"errors"
)

// PayloadType is a payload container type (TS 24.501 9.11.3.40).
type PayloadType uint8

// The payload container types.
const (
	PayloadN1SM      PayloadType = 1
	PayloadSMS       PayloadType = 2
	PayloadLPP       PayloadType = 3
	PayloadSOR       PayloadType = 4
	PayloadUEPolicy  PayloadType = 5
	PayloadUEUpdate  PayloadType = 6 // UE parameters update
	PayloadLocation  PayloadType = 7
	PayloadCIoT      PayloadType = 8
	PayloadServiceAA PayloadType = 9  // Release 17
	PayloadEvent     PayloadType = 10 // Release 17
	PayloadMultiple  PayloadType = 15
)

// RequestType of a PDU session (TS 24.501 9.11.3.47). 0: not told. A value that is not known is read as an initial request.
type RequestType uint8

// The request types.
const (
	RequestInitial           RequestType = 1
	RequestExisting          RequestType = 2
	RequestInitialEmergency  RequestType = 3
	RequestExistingEmergency RequestType = 4
	RequestModification      RequestType = 5
	RequestMultiAccess       RequestType = 6
)

// ULNASTransport of TS 24.501 8.2.10.
type ULNASTransport struct {
	PayloadType PayloadType
	// Payload is the container's content; of PayloadMultiple see Entries.
	Payload []byte
	// SessionID is 1 to 15, 0: not told, which with PayloadN1SM is a fault. So is OldSessionID.
	SessionID, OldSessionID uint8
	Request                 RequestType
	Slice                   *Slice
	DNN                     DNN
	AdditionalInformation   []byte
	// UpgradeAllowed: the network may make a multi-access session of it.
	UpgradeAllowed bool
	// ReleaseAssistance indication, as it is: 1 no more data, 2 one answer (TS 24.501 9.11.3.46A); 0: not told.
	ReleaseAssistance uint8
}

// Type of the message.
func (*ULNASTransport) Type() MessageType { return ULNASTransportType }

func (m *ULNASTransport) elements(c *codec) {
	nibble(c, &m.PayloadType)
	lve(c, (*payload)(&m.Payload))
	nonzero(c, ieiPDUSession, (*Octet)(&m.SessionID))
	nonzero(c, ieiOldPDUSession, (*Octet)(&m.OldSessionID))
	number(c, ieiRequestType, &m.Request)
	optional(c, ieiSNSSAI, &m.Slice)
	nonzero(c, ieiDNN, &m.DNN)
	octets(c, ieiAdditionalInformation, &m.AdditionalInformation, 1)
	flag(c, ieiMultiAccess, &m.UpgradeAllowed)
	number(c, ieiReleaseAssistance, &m.ReleaseAssistance)
	if c.writing {
		return
	}
	if m.Request &= 7; m.Request > RequestMultiAccess {
		m.Request = RequestInitial
	}
	if m.PayloadType == PayloadN1SM && m.SessionID == 0 {
		c.fail(CauseConditionalIE, "N1 SM information without a PDU session identity")
	}
}

// DLNASTransport of TS 24.501 8.2.11.
type DLNASTransport struct {
	PayloadType           PayloadType
	Payload               []byte
	SessionID             uint8
	AdditionalInformation []byte
	// Cause is why a payload was not forwarded.
	Cause   Cause
	BackOff *Timer3
}

// Type of the message.
func (*DLNASTransport) Type() MessageType { return DLNASTransportType }

func (m *DLNASTransport) elements(c *codec) {
	nibble(c, &m.PayloadType)
	lve(c, (*payload)(&m.Payload))
	nonzero(c, ieiPDUSession, (*Octet)(&m.SessionID))
	octets(c, ieiAdditionalInformation, &m.AdditionalInformation, 1)
	nonzero(c, ieiCause, &m.Cause)
	optional(c, ieiBackOff, &m.BackOff)
}

// payload is a container's content, of at least an octet.
type payload []byte

func (p *payload) read(b []byte) bool {
	*p = b
	return len(b) > 0
}

func (p *payload) write(b []byte) []byte { return append(b, *p...) }

func (p *payload) check() error {
	if len(*p) == 0 {
		return errors.New("a payload container needs a content")
	}
	return nil
}

// Entry is one of several payloads in a container of type PayloadMultiple (TS 24.501 9.11.3.39).
type Entry struct {
	PayloadType PayloadType
	Payload     []byte
	// Optional elements, as they are.
	Optional []EntryOption
}

// EntryOption is an optional element of an entry: its identifier, as in a transport message, and its content.
type EntryOption struct {
	IEI     byte
	Content []byte
}

// Entries reads the content of a container of type PayloadMultiple. false: it is wrong.
func Entries(b []byte) (entries []Entry, is bool) {
	if len(b) == 0 {
		return nil, false
	}
	n := int(b[0])
	b = b[1:]
	for range n {
		var content []byte
		if content, b, is = readLongLengthed(b); !is || len(content) < 1 {
			return nil, false
		}
		e := Entry{PayloadType: PayloadType(content[0] & 0xf)}
		options := int(content[0] >> 4)
		content = content[1:]
		for range options {
			if len(content) < 2 {
				return nil, false
			}
			o := EntryOption{IEI: content[0]}
			if o.Content, content, is = readLengthed(content[1:]); !is {
				return nil, false
			}
			e.Optional = append(e.Optional, o)
		}
		e.Payload = content
		entries = append(entries, e)
	}
	return entries, len(entries) > 0
}

// AppendEntries appends the content of a container of type PayloadMultiple.
func AppendEntries(b []byte, entries []Entry) ([]byte, error) {
	if len(entries) == 0 || len(entries) > 0xff {
		return b, errors.New("a container has 1 to 255 payloads")
	}
	out := append(b, byte(len(entries)))
	for _, e := range entries {
		at := len(out)
		out = append(out, 0, 0, byte(len(e.Optional))<<4|byte(e.PayloadType)&0xf)
		for _, o := range e.Optional {
			if len(e.Optional) > 15 || len(o.Content) > 0xff {
				return b, errors.New("a payload has at most 15 optional elements, of at most 255 octets")
			}
			out = append(append(out, o.IEI, byte(len(o.Content))), o.Content...)
		}
		out = append(out, e.Payload...)
		n := len(out) - at - 2
		if n > 0xffff {
			return b, errTooLong
		}
		binary.BigEndian.PutUint16(out[at:], uint16(n))
	}
	return out, nil
}
