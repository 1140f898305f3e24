// Package tun makes a PDU session usable by ordinary programs: a TUN interface with the UE's address,
// and routing so that what is bound to that address or interface goes through it; or the same in a
// network namespace of its own.
package tun
