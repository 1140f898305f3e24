// Neighbour Discovery (RFC 4861) on the UPF's links, and the router's part of it towards UEs: inside
// the tunnel the UPF is the UE's only neighbour (TS 29.061 11.2.1.3).
#ifndef UPFU_ND_H
#define UPFU_ND_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "upf_abi.h"

struct worker;
struct pkt;
struct ipv6_header;

enum icmp6_type { // RFC 4443, RFC 4861
	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_ECHO_REQUEST = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_ROUTER_SOLICITATION = 133,
	ICMP6_ROUTER_ADVERTISEMENT = 134,
	ICMP6_NEIGHBOUR_SOLICITATION = 135,
	ICMP6_NEIGHBOUR_ADVERTISEMENT = 136,
};

static inline bool
nd_is_message(uint8_t type)
{
	return type >= ICMP6_ROUTER_SOLICITATION && type <= ICMP6_NEIGHBOUR_ADVERTISEMENT;
}

// Asks for the MAC address of addr: all that share its solicited-node group, or `to` alone.
void nd_solicit(
	struct worker *w, enum upf_port port, const uint8_t *addr, const struct rte_ether_addr *to);
// Unsolicited advertisements for the first own addresses.
void nd_announce(struct worker *w, enum upf_port port, unsigned max);
// A Neighbour Solicitation or Advertisement with a valid checksum, length octets at icmp. Returns a
// stage verdict.
int nd_input(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct ipv6_header *ip,
	const uint8_t *icmp, uint16_t length);
// The same that another worker received: only learn.
void nd_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m);

// An IPv6 packet of a UE (p->ip, p->ip_len, p->part) that is of the link: its source is link-local or
// unspecified, or its destination is not unicast. Returns a stage verdict.
int nd_from_ue(struct worker *w, struct pkt *p);

#endif
