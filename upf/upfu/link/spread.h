// How a NIC spreads what it receives over the queues, one a worker. Best by the address of the UE, with the hash
// that a session's home follows from (home.h): the source inside the tunnel where packets come from gNBs, the
// destination where they come from a data network. Then both directions of a UE come in at its home, and nothing is
// handed off. NICs that cannot, or will not, keep the hash over outer addresses that they were started with, or none;
// the hand-off does the rest (handoff.h).
#ifndef UPFU_SPREAD_H
#define UPFU_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#include "process/config.h"
#include "upf_abi.h"

// What the frames of a device carry.
enum spread_side {
	SPREAD_AS_IT_IS, // several UEs behind one address, or no IP: nothing to gain by addresses
	SPREAD_TUNNELS,
	SPREAD_NETWORK,
};

// Of a device and all interfaces that have VLANs of it: one that translates addresses has those of many UEs behind
// one, and a bridge has MAC addresses. Kernel interfaces are the kernel's to spread.
enum spread_side spread_side_of(const struct config *config, enum upf_port device);

// Asks the NIC behind a port that was started, by flow rules. What it is left with is returned; refused says in one
// line what it would not do, and why: empty where it does all.
enum upf_spread spread_by_ue(uint16_t ethdev, unsigned workers, enum spread_side side, bool outer6,
	char *refused, size_t refused_size);

// Its name, as metrics and logs have it.
const char *spread_name(enum upf_spread spread);

#endif
