// The neighbours that a worker knows on an interface: neigh.h.
#ifndef UPFU_NEIGH_TABLE_H
#define UPFU_NEIGH_TABLE_H

#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "upf_abi.h"

struct rte_mbuf;

#define NEIGH_ENTRIES 1024u // a power of two
#define NEIGH_PROBES 8u     // places where an address may stand
// Packets that wait for an answer: so many of a next hop, which is what comes while it is on its way; and a
// few in any case, however many wait for others (struct worker: held_max).
#define NEIGH_HELD 128u
#define NEIGH_HELD_SURE 8u

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
	uint16_t held_n;
	uint64_t due;                  // TSC at which the timer acts
	struct rte_mbuf *first, *last; // that wait, linked by mbuf->next
	upf_addr addr6;
};

struct neigh_table {
	struct neigh entry[NEIGH_ENTRIES];
};

#endif
