package uenas

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/free5gc/nas/security"
)

// Security header types (TS 24.501 9.3.1).
const (
	Plain                uint8 = 0
	Integrity            uint8 = 1
	IntegrityCiphered    uint8 = 2
	IntegrityNew         uint8 = 3 // security mode command
	IntegrityCipheredNew uint8 = 4 // security mode complete
)

// Errors of Unprotect.
var (
	ErrTooShort = errors.New("NAS message too short")
	ErrMAC      = errors.New("NAS message authentication code does not match")
	ErrReplay   = errors.New("NAS COUNT repeated: message replayed")
)

const headerLen = 7 // EPD, security header type, MAC (4), sequence number

// End says which end of the NAS connection a Context stands at.
type End uint8

// The two ends.
const (
	UE      End = iota // sends uplink
	Network            // sends downlink
)

// Context is one 5G NAS security context (TS 33.501 6.4) with its pair of NAS COUNTs. It belongs to
// one goroutine.
type Context struct {
	KSI                  uint8
	KAMF                 [32]byte
	Integrity, Ciphering uint8 // NIA and NEA number
	KInt, KEnc           [16]byte

	end    End
	send   uint32 // COUNT of the next message sent
	expect uint32 // lowest COUNT acceptable from the peer
}

// NewContext starts a context with both COUNTs at zero.
func NewContext(end End, ksi uint8, kamf [32]byte, integrity, ciphering uint8, kInt, kEnc [16]byte) *Context {
	return &Context{KSI: ksi, KAMF: kamf, Integrity: integrity, Ciphering: ciphering, KInt: kInt, KEnc: kEnc, end: end}
}

// SendCount is the COUNT that the next protected message will carry (K_gNB is derived from it).
func (c *Context) SendCount() uint32 { return c.send }

func (c *Context) directions() (out, in uint8) {
	if c.end == UE {
		return security.DirectionUplink, security.DirectionDownlink
	}
	return security.DirectionDownlink, security.DirectionUplink
}

// Protect wraps a plain message in a security header of the given type, and takes the next COUNT.
func (c *Context) Protect(header uint8, plain []byte) ([]byte, error) {
	out, _ := c.directions()
	body := append([]byte{byte(c.send)}, plain...)
	if header == IntegrityCiphered || header == IntegrityCipheredNew {
		if err := security.NASEncrypt(c.Ciphering, c.KEnc, c.send, security.Bearer3GPP, out, body[1:]); err != nil {
			return nil, err
		}
	}
	mac, err := security.NASMacCalculate(c.Integrity, c.KInt, c.send, security.Bearer3GPP, out, body)
	if err != nil {
		return nil, err
	}
	c.send = (c.send + 1) & 0xFFFFFF // a COUNT has 24 bits
	msg := append([]byte{epd5GMM, header}, mac...)
	return append(msg, body...), nil
}

// CipherContainer ciphers the value of a NAS message container with the COUNT of the message that
// will carry it, which must be the next one sent (TS 24.501 4.4.6).
func (c *Context) CipherContainer(value []byte) error {
	out, _ := c.directions()
	return security.NASEncrypt(c.Ciphering, c.KEnc, c.send, security.Bearer3GPP, out, value)
}

// Unprotect checks and opens a security protected message. The COUNT moves on only when the MAC
// matches.
func (c *Context) Unprotect(msg []byte) ([]byte, error) {
	if len(msg) < headerLen+3 {
		return nil, ErrTooShort
	}
	_, in := c.directions()
	// TS 33.501 6.4.3.1: the overflow part is estimated from the sequence number received.
	count := c.expect&^0xFF | uint32(msg[6])
	if count < c.expect {
		count += 0x100
	}
	mac, err := security.NASMacCalculate(c.Integrity, c.KInt, count, security.Bearer3GPP, in, msg[6:])
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(mac, msg[2:6]) != 1 {
		if c.replayed(msg, in) {
			return nil, ErrReplay
		}
		return nil, ErrMAC
	}
	plain := append([]byte(nil), msg[headerLen:]...)
	if h := msg[1] & 0xF; h == IntegrityCiphered || h == IntegrityCipheredNew {
		if err := security.NASEncrypt(c.Ciphering, c.KEnc, count, security.Bearer3GPP, in, plain); err != nil {
			return nil, err
		}
	}
	c.expect = (count + 1) & 0xFFFFFF
	return plain, nil
}

// replayed tells a repeated message from a forged one, for the error only: its MAC matches with the
// COUNT before the overflow step.
func (c *Context) replayed(msg []byte, in uint8) bool {
	old := c.expect&^0xFF | uint32(msg[6])
	mac, err := security.NASMacCalculate(c.Integrity, c.KInt, old, security.Bearer3GPP, in, msg[6:])
	return err == nil && old < c.expect && subtle.ConstantTimeCompare(mac, msg[2:6]) == 1
}

// HeaderType returns the security header type of a 5GMM message; 5GSM messages have none.
func HeaderType(msg []byte) (uint8, error) {
	if len(msg) < 3 {
		return 0, ErrTooShort
	}
	if msg[0] != epd5GMM {
		return 0, fmt.Errorf("extended protocol discriminator %#02x is not 5GMM", msg[0])
	}
	return msg[1] & 0xF, nil
}

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
