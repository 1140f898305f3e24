// Package nat gives sessions blocks of ports of public addresses, for NAT44 of a network instance (RFC 6888). What upf-u
// does with them stands in upfu/packet/nat.h.
//
// A UE has the block that its address leads to, where that is free, else the next one: whoever comes back has mostly the same. One that
// was given back is given to somebody else when it has rested (RFC 6888 REQ-8), or when there is no other.
package nat
