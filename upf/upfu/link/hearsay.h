// What one worker hears of neighbours: ARP and Neighbour Discovery reach one of them, and each has
// neighbours of its own. A copy of the frame goes through their hand-off rings.
#ifndef UPFU_HEARSAY_H
#define UPFU_HEARSAY_H

#include "upf_abi.h"

struct rte_mbuf;
struct worker;

// Lets the other workers hear a valid frame. It stays the caller's.
void hearsay_pass(struct worker *w, enum upf_port port, const struct rte_mbuf *m);

#endif
