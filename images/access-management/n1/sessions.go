package n1

import "encoding/binary"

// Sessions is a set of PDU session identities, 1 to 15: identity n is bit n (TS 24.501 9.11.3.13, .42, .44, .57).
type Sessions uint16

// Of returns the set of some identities; others than 1 to 15 are left out.
func Of(ids ...uint8) (s Sessions) {
	for _, id := range ids {
		if id >= 1 && id <= 15 {
			s |= 1 << id
		}
	}
	return s
}

// Has says whether an identity is in the set.
func (s Sessions) Has(id uint8) bool { return id >= 1 && id <= 15 && s>>id&1 != 0 }

// IDs are those in the set, lowest first.
func (s Sessions) IDs() (ids []uint8) {
	for id := uint8(1); id <= 15; id++ {
		if s.Has(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Sessions) read(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	*s = Sessions(binary.LittleEndian.Uint16(b)) &^ 1 // identity 0 is spare
	return true
}

func (s *Sessions) write(b []byte) []byte { return binary.LittleEndian.AppendUint16(b, uint16(*s&^1)) }

// SessionCause is why a PDU session's user plane is not up (TS 24.501 9.11.3.43).
type SessionCause struct {
	ID    uint8
	Cause Cause
}

// SessionCauses is a list of them.
type SessionCauses []SessionCause

func (l *SessionCauses) read(b []byte) bool {
	if len(b) < 2 || len(b)%2 != 0 || len(b) > 512 {
		return false
	}
	*l = make(SessionCauses, len(b)/2)
	for i := range *l {
		(*l)[i] = SessionCause{ID: b[2*i], Cause: Cause(b[2*i+1])}
	}
	return true
}

func (l *SessionCauses) write(b []byte) []byte {
	for _, c := range *l {
		b = append(b, c.ID, byte(c.Cause))
	}
	return b
}

func (l *SessionCauses) check() error { return atMost(len(*l), 256) }

// EPSBearers is a set of EPS bearer identities, 1 to 15, as Sessions is (TS 24.501 9.11.3.23A).
type EPSBearers = Sessions
