// A session's packets, up and down, belong to one worker: its home worker, which the rules name. So
// token buckets, counters and downlink buffers have one writer, without a lock, and IPv4 and IPv6 of a
// UE meet there.
//
// The worker that received a packet parses it, finds its session, and passes it on through the home
// worker's ring, which takes its share of the packet buffers and no more (worker_life.c); what parsing found travels in the packet buffer's private area. The home worker looks
// for the session again: what the first one found it may hold no longer. What is heard of neighbours
// takes the same ring (hearsay.h).
#ifndef UPFU_HANDOFF_H
#define UPFU_HANDOFF_H

struct worker;
struct burst;

// Passes on what is at home elsewhere; the burst keeps the rest.
void handoff_burst(struct worker *w, struct burst *b);
// Fills the burst with parsed packets from other workers. ARP frames are heard on the way; the return
// value counts them, too.
unsigned handoff_take(struct worker *w, struct burst *b);

#endif
