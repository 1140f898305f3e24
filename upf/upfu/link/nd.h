// Neighbour Discovery (RFC 4861) on the UPF's links: what is heard.
#ifndef UPFU_ND_H
#define UPFU_ND_H

#include <stdint.h>

#include "upf_abi.h"

struct ipv6_header;
struct rte_mbuf;
struct worker;

// A Neighbour Solicitation or Advertisement with a valid checksum, length octets at icmp. Returns a
// stage verdict.
int nd_input(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct ipv6_header *ip,
	const uint8_t *icmp, uint16_t length);
// The same that another worker received: only learn.
void nd_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m);

#endif
