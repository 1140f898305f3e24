package security

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Key is one of 256 bits: K_SEAF, K_AMF, K_gNB, NH. The zero value is none.
type Key [32]byte

// NASKey is one of 128 bits: K_NASenc, K_NASint.
type NASKey [16]byte

const redacted = "[redacted]"

// Format prints no key.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue is no key.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is no key.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format prints no key.
func (NASKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue is no key.
func (NASKey) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is no key.
func (NASKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// The FC of derivations (TS 33.501 Annex A).
const (
	fcAMF       = 0x6d
	fcAlgorithm = 0x69
	fcGNB       = 0x6e
	fcNH        = 0x6f
	fcGNBStar   = 0x70
	fcAMFPrime  = 0x72
)

// AlgorithmType distinguishes what a key is for (TS 33.501 A.8).
type AlgorithmType byte

// The algorithm types.
const (
	NASCiphering AlgorithmType = 1
	NASIntegrity AlgorithmType = 2
	RRCCiphering AlgorithmType = 3
	RRCIntegrity AlgorithmType = 4
	UPCiphering  AlgorithmType = 5
	UPIntegrity  AlgorithmType = 6
)

// AccessType distinguishes accesses (TS 33.501 A.9). Its values are those of n1.Access.
type AccessType byte

// The access types.
const (
	Access3GPP    AccessType = 1
	AccessNon3GPP AccessType = 2
)

// derive is the key derivation function of TS 33.220 B.2: HMAC-SHA-256 over FC and parameters with their lengths.
func derive(key []byte, fc byte, parameters ...[]byte) (out Key) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte{fc})
	for _, p := range parameters {
		h.Write(p)
		h.Write([]byte{byte(len(p) >> 8), byte(len(p))})
	}
	h.Sum(out[:0])
	return out
}

func count32(count uint32) []byte { return binary.BigEndian.AppendUint32(nil, count) }

// AMFKey is K_AMF of K_SEAF (TS 33.501 A.7). supi is as in TS 29.571: "imsi-208930000000003", "nai-user@example.com".
func AMFKey(seaf Key, supi string, abba []byte) Key {
	_, identity, is := strings.Cut(supi, "-") // the derivation takes the IMSI's digits, and the network access identifier
	if !is {
		identity = supi
	}
	return derive(seaf[:], fcAMF, []byte(identity), abba)
}

// AlgorithmKey is a key of K_AMF for NAS, or of K_gNB for RRC and user plane (TS 33.501 A.8).
func AlgorithmKey(key Key, t AlgorithmType, algorithm uint8) NASKey {
	k := derive(key[:], fcAlgorithm, []byte{byte(t)}, []byte{algorithm})
	return NASKey(k[16:])
}

// GNBKey is K_gNB (or K_N3IWF) of K_AMF (TS 33.501 A.9): uplink is the COUNT of the message by which the UE came, or
// 0xffffffff in a handover in which K_AMF changes (6.9.2.3.3).
func GNBKey(amf Key, uplink uint32, access AccessType) Key {
	return derive(amf[:], fcGNB, count32(uplink), []byte{byte(access)})
}

// NextHop is NH (TS 33.501 A.10). last is K_gNB for the first, else the last NH.
func NextHop(amf, last Key) Key { return derive(amf[:], fcNH, last[:]) }

// GNBStarKey is K_NG-RAN* (TS 33.501 A.11) of K_gNB or NH, for a target cell: pci its physical identity, arfcn the
// frequency of its downlink, 24 bits.
func GNBStarKey(key Key, pci uint16, arfcn uint32) Key {
	return derive(key[:], fcGNBStar, binary.BigEndian.AppendUint16(nil, pci), []byte{byte(arfcn >> 16), byte(arfcn >> 8), byte(arfcn)})
}

// AMFPrimeKey is K_AMF' when K_AMF changes without AKA (TS 33.501 A.13): of the uplink COUNT of the Registration Request in
// a mobility registration, of the downlink COUNT in a handover.
func AMFPrimeKey(amf Key, direction Direction, count uint32) Key {
	return derive(amf[:], fcAMFPrime, []byte{byte(direction)}, count32(count))
}
