// A UE's packets, up and down, belong to one worker: its home worker, by a hash of the UE IP address.
// So token buckets, counters and downlink buffers have one writer, without a lock.
//
// A NIC that can hash the user's address (inside GTP-U) brings packets home by itself. Where none
// does, the worker that received a packet parses it and passes it on through the home worker's ring;
// what parsing found travels in the packet buffer's private area. ARP is heard by all: each worker
// has neighbours of its own, and only one of them receives the answer.
#ifndef UPFU_HANDOFF_H
#define UPFU_HANDOFF_H

#include <stdint.h>

#include "upf_abi.h"

struct worker;
struct burst;
struct rte_mbuf;

// Passes on what is at home elsewhere; the burst keeps the rest.
void handoff_burst(struct worker *w, struct burst *b);
// Lets the other workers hear an ARP frame. It stays the caller's.
void handoff_arp(struct worker *w, enum upf_port port, struct rte_mbuf *m);
// Fills the burst with parsed packets from other workers. ARP frames are heard on the way; the return
// value counts them, too.
unsigned handoff_take(struct worker *w, struct burst *b);

#endif
