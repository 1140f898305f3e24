// Neighbours on an interface: IPv4 address → MAC address by ARP (RFC 826), IPv6 address → MAC address
// by Neighbour Discovery (RFC 4861; its packets are nd.c's). Both live in the same kind of table and
// by the same timers.
//
// Each worker has its own tables, so that nothing is shared; all of them hear every answer
// (handoff.h). A packet for an unresolved neighbour waits in the entry (a few do, so that
// the first ping of a conversation is not lost) while requests are repeated; then the neighbour
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

#define NEIGH_ENTRIES 1024u // a power of two
#define NEIGH_PROBES 8u     // places where an address may stand
#define NEIGH_HELD 8u       // packets that wait for an answer

enum neigh_state {
	NEIGH_FREE,
	NEIGH_ASKING, // never resolved yet; packets wait
	NEIGH_GOOD,
	NEIGH_STALE, // resolved, being asked again
	NEIGH_DEAD,  // did not answer; packets are dropped until due
};

struct neigh {
	rte_be32_t addr; // IPv4; in a table of IPv6 neighbours: a hash of addr6
	uint8_t state;   // enum neigh_state
	uint8_t tries;
	struct rte_ether_addr mac;
	uint8_t used; // since it was last confirmed
	uint8_t held_n;
	uint16_t reserved;
	uint64_t due; // TSC at which the timer acts
	struct rte_mbuf *held[NEIGH_HELD];
	upf_addr addr6;
};

struct neigh_table {
	struct neigh entry[NEIGH_ENTRIES];
};

// Sends an IPv4 packet with an Ethernet header whose destination is still open. Takes the mbuf.
// pdr: whose packet it is, departure.h.
void neigh_send(struct worker *w, enum upf_port port, struct rte_mbuf *m, rte_be32_t next_hop,
	const struct pdr *pdr);
// The same for an IPv6 packet.
void neigh_send6(struct worker *w, enum upf_port port, struct rte_mbuf *m, const uint8_t *next_hop,
	const struct pdr *pdr);
// nd.c heard that addr has this MAC address. add: also when nobody asked; override: also when another
// one is known.
void neigh_hear6(struct worker *w, enum upf_port port, const uint8_t *addr,
	const struct rte_ether_addr *mac, bool add, bool override);
// nd.c heard that addr is there, without its MAC address.
void neigh_confirm6(struct worker *w, enum upf_port port, const uint8_t *addr);
// A frame of ethertype ARP. Returns a stage verdict (worker.h).
int neigh_input(struct worker *w, enum upf_port port, struct rte_mbuf *m);
// A valid frame of ARP or Neighbour Discovery that another worker received: only learn from it. It
// stays the caller's.
void neigh_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m);
// Memory for IPv6 neighbours of a port that has such addresses. -1: out of memory.
int neigh_init6(struct worker *w, enum upf_port port);
// Timers of all entries: repeats, ageing, giving up.
void neigh_tick(struct worker *w, enum upf_port port);
// Says "I am here" for the first own addresses (RFC 5227 announcement, RFC 4861 7.2.6 unsolicited
// Neighbour Advertisement): after a restart the interface may have another MAC address.
void neigh_announce(struct worker *w, enum upf_port port);
void neigh_free(struct worker *w, enum upf_port port);

#endif
