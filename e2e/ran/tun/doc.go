// Package tun makes a PDU session usable by ordinary programs: a TUN interface with the UE's address or
// addresses, and routing so that what is bound to one of them or to the interface goes through it; or the same
// in a network namespace of its own. (Where a host has no route for IPv6, Linux gives a program that is bound
// to nothing the address of some interface, which may be a UE's.)
package tun
