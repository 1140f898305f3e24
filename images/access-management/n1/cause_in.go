package n1

import "encoding/binary"

// CauseIn is the 5GMM cause that a plain message says, without reading the rest of it; false: it says none.
func CauseIn(plain []byte) (Cause, bool) {
	t, ok := TypeOf(plain)
	if !ok {
		return 0, false
	}
	rest := plain[headerLength:]
	switch t {
	case RegistrationRejectType, ServiceRejectType, AuthenticationFailureType, SecurityModeRejectType, StatusType: // their first element
		return causeAt(rest, 0)
	case DeregistrationRequestToUEType:
		if len(rest) > 1 && rest[1] == byte(ieiCause) {
			return causeAt(rest, 2)
		}
	case DLNASTransportType:
		return causeBehindPayload(rest)
	}
	return 0, false
}

// causeBehindPayload of a DL NAS Transport (TS 24.501 8.2.11): elements that may stand before it have an octet, or a length.
func causeBehindPayload(rest []byte) (Cause, bool) {
	if len(rest) < 3 {
		return 0, false
	}
	n := 3 + int(binary.BigEndian.Uint16(rest[1:]))
	if n > len(rest) {
		return 0, false
	}
	for rest = rest[n:]; len(rest) > 1; {
		n := 2
		switch rest[0] {
		case byte(ieiCause):
			return causeAt(rest, 1)
		case byte(ieiPDUSession):
		default:
			n += int(rest[1])
		}
		rest = rest[min(n, len(rest)):]
	}
	return 0, false
}

func causeAt(b []byte, n int) (Cause, bool) {
	if n >= len(b) {
		return 0, false
	}
	return Cause(b[n]), true
}

// Goes says whether there is a message of that type in a direction.
func (t MessageType) Goes(d Direction) bool {
	k := kindOf(t)
	return d == Uplink && k.up || d == Downlink && k.down
}
