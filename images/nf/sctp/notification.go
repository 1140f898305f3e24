package sctp

import "encoding/binary"

// SCTPNotificationType tells notifications apart (RFC 6458 6.1).
type SCTPNotificationType int

// Types of notifications, numbered as linux/sctp.h does.
const (
	SCTP_SN_TYPE_BASE = SCTPNotificationType(iota + (1 << 15))
	SCTP_ASSOC_CHANGE
	SCTP_PEER_ADDR_CHANGE
	SCTP_SEND_FAILED
	SCTP_REMOTE_ERROR
	SCTP_SHUTDOWN_EVENT
	SCTP_PARTIAL_DELIVERY_EVENT
	SCTP_ADAPTATION_INDICATION
	SCTP_AUTHENTICATION_INDICATION
	SCTP_SENDER_DRY_EVENT
)

// SCTPState is what an SCTP_ASSOC_CHANGE notification reports (RFC 6458 6.1.1).
type SCTPState uint16

// States of an association, numbered as linux/sctp.h does.
const (
	SCTP_COMM_UP = SCTPState(iota)
	SCTP_COMM_LOST
	SCTP_RESTART
	SCTP_SHUTDOWN_COMP
	SCTP_CANT_STR_ASSOC
)

// Notification is an event of the association, read in place of a message.
type Notification interface {
	Type() SCTPNotificationType
	Flags() uint16
	Length() uint32
}

// SCTPAssocChangeEvent reports that an association came up or ended (RFC 6458 6.1.1).
type SCTPAssocChangeEvent struct {
	flags           uint16
	length          uint32
	state           SCTPState
	errorCause      uint16
	outboundStreams uint16
	inboundStreams  uint16
	assocID         SCTPAssocID
	info            []byte
}

func (e *SCTPAssocChangeEvent) Type() SCTPNotificationType { return SCTP_ASSOC_CHANGE }
func (e *SCTPAssocChangeEvent) Flags() uint16              { return e.flags }
func (e *SCTPAssocChangeEvent) Length() uint32             { return e.length }
func (e *SCTPAssocChangeEvent) State() SCTPState           { return e.state }
func (e *SCTPAssocChangeEvent) Error() uint16              { return e.errorCause }
func (e *SCTPAssocChangeEvent) OutboundStreams() uint16    { return e.outboundStreams }
func (e *SCTPAssocChangeEvent) InboundStreams() uint16     { return e.inboundStreams }
func (e *SCTPAssocChangeEvent) AssocID() SCTPAssocID       { return e.assocID }
func (e *SCTPAssocChangeEvent) Info() []byte               { return e.info }

// SCTPShutdownEvent reports that the peer shuts the association down (RFC 6458 6.1.5).
type SCTPShutdownEvent struct {
	flags   uint16
	length  uint32
	assocID SCTPAssocID
}

func (e *SCTPShutdownEvent) Type() SCTPNotificationType { return SCTP_SHUTDOWN_EVENT }
func (e *SCTPShutdownEvent) Flags() uint16              { return e.flags }
func (e *SCTPShutdownEvent) Length() uint32             { return e.length }
func (e *SCTPShutdownEvent) AssocID() SCTPAssocID       { return e.assocID }

// OtherEvent is a notification whose body nobody here looks at.
type OtherEvent struct {
	kind   SCTPNotificationType
	flags  uint16
	length uint32
}

func (e *OtherEvent) Type() SCTPNotificationType { return e.kind }
func (e *OtherEvent) Flags() uint16              { return e.flags }
func (e *OtherEvent) Length() uint32             { return e.length }

const (
	shutdownEventLength    = 12
	assocChangeEventLength = 20
)

func newShutdownEvent() *SCTPShutdownEvent {
	return &SCTPShutdownEvent{length: shutdownEventLength}
}

func newAssocChangeEvent(state SCTPState) *SCTPAssocChangeEvent {
	return &SCTPAssocChangeEvent{length: assocChangeEventLength, state: state}
}

// parseNotification reads a notification as the kernel lays it out, in host byte order. A notification
// cut off before the end of its fixed part gives nil.
func parseNotification(b []byte) Notification {
	if len(b) < 8 {
		return nil
	}
	host := binary.NativeEndian
	kind := SCTPNotificationType(host.Uint16(b))
	flags, length := host.Uint16(b[2:]), host.Uint32(b[4:])
	switch kind {
	case SCTP_ASSOC_CHANGE:
		if len(b) < assocChangeEventLength {
			return nil
		}
		return &SCTPAssocChangeEvent{
			flags: flags, length: length,
			state: SCTPState(host.Uint16(b[8:])), errorCause: host.Uint16(b[10:]),
			outboundStreams: host.Uint16(b[12:]), inboundStreams: host.Uint16(b[14:]),
			assocID: SCTPAssocID(host.Uint32(b[16:])), info: append([]byte(nil), b[20:]...),
		}
	case SCTP_SHUTDOWN_EVENT:
		if len(b) < shutdownEventLength {
			return nil
		}
		return &SCTPShutdownEvent{flags: flags, length: length, assocID: SCTPAssocID(host.Uint32(b[8:]))}
	}
	return &OtherEvent{kind: kind, flags: flags, length: length}
}
