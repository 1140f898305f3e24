// Package n2 is the N2 interface (TS 38.412, 38.413): a transport of whole NGAP messages, carried by
// SCTP or, in tests, by memory; and a way to write and read NGAP messages by the Go types of their
// information elements alone.
package n2
