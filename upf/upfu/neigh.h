// Neighbours on an interface: IPv4 address → MAC address, by ARP (RFC 826).
//
// Each worker has its own table, so that nothing is shared; all of them hear every ARP frame
// (handoff.h). A packet for an unresolved neighbour waits in the entry (a few do, so that
// the first ping of a conversation is not lost) while requests are repeated; then the neighbour
// counts as dead for a second. A resolved entry in use is asked again before it is too old, and
// keeps serving while the answer is on its way.
#ifndef UPFU_NEIGH_H
#define UPFU_NEIGH_H

#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "upf_abi.h"

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
	rte_be32_t addr;
	uint8_t state; // enum neigh_state
	uint8_t tries;
	struct rte_ether_addr mac;
	uint8_t used; // since it was last confirmed
	uint8_t held_n;
	uint16_t reserved;
	uint64_t due; // TSC at which the timer acts
	struct rte_mbuf *held[NEIGH_HELD];
};

struct neigh_table {
	struct neigh entry[NEIGH_ENTRIES];
};

// Sends an IPv4 packet with an Ethernet header whose destination is still open. Takes the mbuf.
void neigh_send(struct worker *w, enum upf_port port, struct rte_mbuf *m, rte_be32_t next_hop);
// A frame of ethertype ARP. Returns a stage verdict (worker.h).
int neigh_input(struct worker *w, enum upf_port port, struct rte_mbuf *m);
// A valid ARP frame that another worker received: only learn from it. It stays the caller's.
void neigh_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m);
// Timers of all entries: repeats, ageing, giving up.
void neigh_tick(struct worker *w, enum upf_port port);
// Says "I am here" for the first own addresses (RFC 5227 announcement): after a restart the
// interface may have another MAC address.
void neigh_announce(struct worker *w, enum upf_port port);
void neigh_free(struct worker *w, enum upf_port port);

#endif
