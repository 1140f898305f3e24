// Package security is the AMF's part of 5GS security (TS 33.501 6.2 to 6.9, Annexes A and D; TS 24.501 4.4): the keys that are derived, the choice of
// algorithms, and how a message is protected with a COUNT and opened. It does no I/O, keeps nothing, and decides no procedure: which context and which COUNT
// a message has, and which may come without protection, is package procedure's (protection.go), and package record keeps it.
//
// No key leaves by a log: Key and NASKey print, and go to JSON and text, as "[redacted]"; CBOR keeps them.
//
//	keys.go        derivations
//	algorithms.go  NIA, NEA, and their choice
//	snow3g.go      SNOW 3G, of NIA1 and NEA1
//	nas.go         protecting and opening messages
package security
