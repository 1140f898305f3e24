// Packets cut to a size (RFC 791 3.2, RFC 8200 4.5). Fragments are copies in buffers of their own,
// each in one piece.
#ifndef UPFU_FRAGMENT_H
#define UPFU_FRAGMENT_H

#include <stdint.h>

#include <rte_mbuf.h>

struct worker;

#define FRAGMENTS_MAX 32u // of one packet: 10,240 octets in pieces of 400

// Cuts the IPv4 or IPv6 packet that m is into fragments of at most mtu octets. m stays the caller's.
// Returns how many there are; 0: no buffers, or it cannot be cut. IPv6: the Fragment header comes right
// behind the IPv6 header, so there must be no extension header that routers look at.
unsigned fragment(
	struct worker *w, struct rte_mbuf *m, uint16_t mtu, struct rte_mbuf *out[FRAGMENTS_MAX]);

#endif
