// Package security is the AMF's part of 5GS security (TS 33.501 6.2 to 6.9, Annexes A and D; TS 24.501 4.4): security contexts
// of a UE, the keys that are derived, which messages are protected how, and which may come without protection. It does no
// I/O and decides no procedure.
//
// A Context is plain data, so that it can be kept in a record. Two rules hold whoever keeps it:
//
//   - What must not run backwards, downlink: Protect takes COUNTs from a block of 16 that the record has reserved. When
//     Context.Downlink.Reserved has changed, the record is committed before the octets leave. What is left of a block is not
//     in the record, so who reads the record goes on behind the block: COUNTs are skipped, none is used twice.
//   - Uplink: what Contexts.Receive has taken is committed before it has an effect. Uplink.Next is what the next message may
//     have at least, so the last message again is refused (TS 33.501 6.4.3.1); NH and NCC likewise before use.
//
// Only 8 bits of a COUNT travel. When COUNTs were skipped, what goes out until the UE shows that it hears (Context.Heard) stays
// below 256, those that were skipped counted: Protect refuses more with ErrProveAnew, and AKA gives a new context. So it does
// after the store has lost writes (Context.Distrust).
//
// No key leaves by a log: Key and NASKey print, and go to JSON and text, as "[redacted]"; CBOR keeps them.
//
//	keys.go        derivations
//	algorithms.go  NIA, NEA, and their choice
//	snow3g.go      SNOW 3G, of NIA1 and NEA1
//	count.go       NAS COUNTs
//	context.go     a security context: protecting and opening messages, the NH chain
//	contexts.go    those of a UE: from authentication to security mode control; which messages need protection
package security
