package pfcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Message is one received PFCP message.
type Message struct {
	Type     uint8
	HasSEID  bool
	SEID     uint64
	Sequence uint32
	Elements Elements
	From     netip.AddrPort
	Received time.Time
	answer   *Answer // room for it; nil: there is none
}

// Missing refuses a message that lacks a mandatory IE.
func (m *Message) Missing(ieType uint16) error { return Missing(ieType, TypeName(m.Type)) }

// NodeID is the sender's, which the message must have.
func (m *Message) NodeID() (string, error) {
	e := m.Elements.First(ie.NodeID)
	if e == nil {
		return "", m.Missing(ie.NodeID)
	}
	return e.NodeID()
}

// Cause is an answer's; 0 when there is none.
func (m *Message) Cause() uint8 {
	if e := m.Elements.First(ie.Cause); e != nil {
		if c, err := e.Uint8(); err == nil {
			return c
		}
	}
	return 0
}

// Answer begins the answer to a request.
func (m *Message) Answer() *Answer {
	if m.answer == nil {
		return &Answer{}
	}
	m.answer.Reset()
	return m.answer
}

// Digest tells requests with the same sequence number apart (FNV-1a over the IEs). It is the same in
// the next process, too.
func (m *Message) Digest() uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, e := range m.Elements {
		h = (h ^ uint64(e.Type)) * 0x100000001b3
		for _, o := range e.Value {
			h = (h ^ uint64(o)) * 0x100000001b3
		}
	}
	return h
}

const pfcpVersion = 1

var errVersion = errors.New("PFCP version is not 1")

// parseHeader reads the header (TS 29.244 7.2.2) and returns the IEs' octets. What follows the
// message in the datagram is ignored.
func parseHeader(b []byte) (*Message, []byte, error) {
	m := &Message{}
	payload, err := m.parseHeader(b)
	if err != nil && !errors.Is(err, errVersion) {
		m = nil
	}
	return m, payload, err
}

func (m *Message) parseHeader(b []byte) (payload []byte, err error) {
	if len(b) < 8 {
		return nil, errors.New("shorter than a PFCP header")
	}
	m.Type, m.HasSEID = b[1], b[0]&0x01 != 0
	if b[0]>>5 != pfcpVersion {
		// The sequence number's place is known even so, and the answer needs it.
		m.Sequence = uint32(b[4])<<16 | uint32(b[5])<<8 | uint32(b[6])
		return nil, errVersion
	}
	end := 4 + int(binary.BigEndian.Uint16(b[2:]))
	at := 4
	if m.HasSEID {
		at += 8
	}
	if end > len(b) || at+4 > end {
		return nil, fmt.Errorf("length %d does not fit a datagram of %d octets", end-4, len(b))
	}
	if m.HasSEID {
		m.SEID = binary.BigEndian.Uint64(b[4:])
	}
	m.Sequence = uint32(b[at])<<16 | uint32(b[at+1])<<8 | uint32(b[at+2])
	return b[at+4 : end], nil
}

// Parse reads a whole message from a copy of b.
func Parse(b []byte) (*Message, error) {
	m, payload, err := parseHeader(append([]byte(nil), b...))
	if err != nil {
		return nil, err
	}
	m.Elements, err = ParseElements(payload)
	return m, err
}

// headerMax is the size of the header of a session's message.
const headerMax = 16

// header is a message's, in room (TS 29.244 7.2.2). seid is nil for a node-related one.
func header(room *[headerMax]byte, msgType uint8, seid *uint64, sequence uint32, ies int) ([]byte, error) {
	if ies > 0xffff-12 {
		return nil, fmt.Errorf("%d octets of IEs do not fit one message", ies)
	}
	flags, n := byte(pfcpVersion<<5), 8
	if seid != nil {
		flags, n = flags|0x01, headerMax
	}
	b := room[:n]
	b[0], b[1] = flags, msgType
	binary.BigEndian.PutUint16(b[2:], uint16(n+ies-4))
	if seid != nil {
		binary.BigEndian.PutUint64(b[4:], *seid)
	}
	binary.BigEndian.PutUint32(b[n-4:], sequence<<8)
	return b, nil
}

// marshal builds a message. seid is nil for a node-related one.
func marshal(msgType uint8, seid *uint64, sequence uint32, ies []*ie.IE) ([]byte, error) {
	var b IEs
	if err := b.Add(ies...); err != nil {
		return nil, err
	}
	var room [headerMax]byte
	head, err := header(&room, msgType, seid, sequence, len(b))
	if err != nil {
		return nil, err
	}
	return append(head[:len(head):len(head)], b...), nil
}

// isRequest tells requests from answers by the message type (TS 29.244 table 7.3-1).
func isRequest(t uint8) bool {
	switch t {
	case message.MsgTypeHeartbeatRequest, message.MsgTypePFDManagementRequest,
		message.MsgTypeAssociationSetupRequest, message.MsgTypeAssociationUpdateRequest,
		message.MsgTypeAssociationReleaseRequest, message.MsgTypeNodeReportRequest,
		message.MsgTypeSessionSetDeletionRequest, message.MsgTypeSessionEstablishmentRequest,
		message.MsgTypeSessionModificationRequest, message.MsgTypeSessionDeletionRequest,
		message.MsgTypeSessionReportRequest:
		return true
	}
	return false
}

var typeNames = [256]string{
	message.MsgTypeHeartbeatRequest:             "heartbeat_request",
	message.MsgTypeHeartbeatResponse:            "heartbeat_response",
	message.MsgTypePFDManagementRequest:         "pfd_management_request",
	message.MsgTypePFDManagementResponse:        "pfd_management_response",
	message.MsgTypeAssociationSetupRequest:      "association_setup_request",
	message.MsgTypeAssociationSetupResponse:     "association_setup_response",
	message.MsgTypeAssociationUpdateRequest:     "association_update_request",
	message.MsgTypeAssociationUpdateResponse:    "association_update_response",
	message.MsgTypeAssociationReleaseRequest:    "association_release_request",
	message.MsgTypeAssociationReleaseResponse:   "association_release_response",
	message.MsgTypeVersionNotSupportedResponse:  "version_not_supported_response",
	message.MsgTypeNodeReportRequest:            "node_report_request",
	message.MsgTypeNodeReportResponse:           "node_report_response",
	message.MsgTypeSessionSetDeletionRequest:    "session_set_deletion_request",
	message.MsgTypeSessionSetDeletionResponse:   "session_set_deletion_response",
	message.MsgTypeSessionEstablishmentRequest:  "session_establishment_request",
	message.MsgTypeSessionEstablishmentResponse: "session_establishment_response",
	message.MsgTypeSessionModificationRequest:   "session_modification_request",
	message.MsgTypeSessionModificationResponse:  "session_modification_response",
	message.MsgTypeSessionDeletionRequest:       "session_deletion_request",
	message.MsgTypeSessionDeletionResponse:      "session_deletion_response",
	message.MsgTypeSessionReportRequest:         "session_report_request",
	message.MsgTypeSessionReportResponse:        "session_report_response",
}

// TypeName is the message type in words, as metrics and logs have it.
func TypeName(t uint8) string {
	if n := typeNames[t]; n != "" {
		return n
	}
	return "other"
}
