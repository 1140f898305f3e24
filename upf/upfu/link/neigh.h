// Neighbours on an interface: IPv4 address → MAC address by ARP (RFC 826), IPv6 address → MAC address
// by Neighbour Discovery (RFC 4861). Both live in the same kind of table and by the same timers. What
// is asked and said is in neigh_message.h, what is heard in arp.h and nd.h.
//
// Each worker has its own tables, so that nothing is shared; all of them hear every answer
// (hearsay.h). A packet for an unresolved neighbour waits in the entry, as many as come in the
// meantime of a burst (NEIGH_HELD), while requests are repeated; then the neighbour
// counts as dead for a second. A resolved entry in use is asked again before it is too old, and
// keeps serving while the answer is on its way.
#ifndef UPFU_NEIGH_H
#define UPFU_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "upf_abi.h"

struct pdr;
struct worker;

// Sends an IPv4 packet with an Ethernet header whose destination is still open. Takes the mbuf.
// pdr: whose packet it is, departure.h.
void neigh_send(struct worker *w, enum upf_port port, struct rte_mbuf *m, rte_be32_t next_hop,
	const struct pdr *pdr);
// The same for an IPv6 packet.
void neigh_send6(struct worker *w, enum upf_port port, struct rte_mbuf *m, const uint8_t *next_hop,
	const struct pdr *pdr);
// IPv4: who says so has this MAC address; add: also when nobody asked.
void neigh_hear4(struct worker *w, enum upf_port port, rte_be32_t addr,
	const struct rte_ether_addr *mac, bool add);
// IPv6: addr has this MAC address. add: also when nobody asked; override: also when another
// one is known.
void neigh_hear6(struct worker *w, enum upf_port port, const uint8_t *addr,
	const struct rte_ether_addr *mac, bool add, bool override);
// IPv6: addr is there, without its MAC address.
void neigh_confirm6(struct worker *w, enum upf_port port, const uint8_t *addr);
// Who is there does not answer: it may be another one by now, at the same address. Everybody on the link is asked, and
// the MAC address that is known serves until somebody answers, or nobody does (RFC 4861 7.3.3, RFC 1122 2.3.2.1).
void neigh_doubt4(struct worker *w, enum upf_port port, rte_be32_t addr);
void neigh_doubt6(struct worker *w, enum upf_port port, const uint8_t *addr);
// The MAC address of a neighbour that is known; NULL: it is not.
const struct rte_ether_addr *neigh_mac4(struct worker *w, enum upf_port port, rte_be32_t addr);
const struct rte_ether_addr *neigh_mac6(struct worker *w, enum upf_port port, const uint8_t *addr);
// Memory for the neighbours of a port. -1: out of memory.
int neigh_init(struct worker *w, enum upf_port port);
// Timers of all entries: repeats, ageing, giving up.
void neigh_tick(struct worker *w, enum upf_port port);
void neigh_free(struct worker *w, enum upf_port port);

#endif
