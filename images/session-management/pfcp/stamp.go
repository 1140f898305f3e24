package pfcp

import (
	"encoding/binary"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// Stamp is a Recovery Time Stamp as it travels: seconds since 1900, which wrap in 2036 (TS 29.244 8.2.65). 0 is none.
type Stamp uint32

const since1900 = 2_208_988_800 // seconds from 1900 to 1970 (RFC 5905)

// StampOf makes one of a time.
func StampOf(t time.Time) Stamp { return Stamp(uint32(t.Unix() + since1900)) }

// Time is its time, of the era in which now lies.
func (s Stamp) Time(now time.Time) time.Time {
	return now.Truncate(time.Second).Add(time.Duration(int32(uint32(s)-uint32(StampOf(now)))) * time.Second)
}

// newer: a is later than b.
func newer(a, b Stamp) bool { return int32(a-b) > 0 }

func (s Stamp) element() *ie.IE {
	return ie.New(ie.RecoveryTimeStamp, binary.BigEndian.AppendUint32(nil, uint32(s)))
}

func stampIn(m *wire.Message) (Stamp, error) {
	e := m.Elements.First(ie.RecoveryTimeStamp)
	if e == nil {
		return 0, wire.Missing(ie.RecoveryTimeStamp, wire.TypeName(m.Type))
	}
	v, err := e.Uint32()
	return Stamp(v), err
}
