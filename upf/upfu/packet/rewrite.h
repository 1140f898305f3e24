#ifndef UPFU_REWRITE_H
#define UPFU_REWRITE_H

struct pkt;
struct worker;

// The user's packet at p->ip out by p->pdr, its TTL and the counters being done: outer headers
// off and on, cut where it must be, to the neighbour. A stage verdict.
int rewrite_packet(struct worker *w, struct pkt *p);

// The frame of an Ethernet PDU session into its PDR's tunnel. A verdict.
int rewrite_frame(struct worker *w, struct pkt *p);

#endif
