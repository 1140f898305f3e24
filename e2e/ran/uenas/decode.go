package uenas

import (
	"fmt"

	"github.com/free5gc/nas"
)

// Decode reads one plain 5GMM or 5GSM message. The decoder is not ours and its input comes from the
// wire: a panic in it becomes an error.
func Decode(plain []byte) (m *nas.Message, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("NAS decoder: %v", r)
		}
	}()
	if len(plain) < 3 {
		return nil, ErrTooShort
	}
	m = nas.NewMessage()
	b := append([]byte(nil), plain...)
	if err := m.PlainNasDecode(&b); err != nil {
		return nil, err
	}
	return m, nil
}
