// What leaves one worker for another: outboxes and rings. What goes through them is handoff.h's and hearsay.h's.
//
// Between any two workers there is a ring for each direction: one writes it, one reads it, so no line of it is
// written by two. Packets wait in an outbox by destination and are put into the rings at the end
// of the poll, or when there is a burst of them; then one fence stands for all, and who sleeps is woken.
// All rings together have room for an eighth of the packet buffers (or two bursts each, where that is
// more); what a ring does not take is dropped.
#ifndef UPFU_OUTBOX_H
#define UPFU_OUTBOX_H

#include <stdint.h>

struct config;
struct rte_mbuf;
struct worker;

// Rings and outboxes. Returns 0, or -1 without memory; outbox_free() takes what there is.
int outbox_init(struct worker *w, const struct config *config);
void outbox_free(struct worker *w);

// A frame for another worker, with its private area filled.
void outbox_put(struct worker *w, unsigned to, struct rte_mbuf *m);
// At the end of a poll: puts what waits into the rings, and wakes whom it is for.
void outbox_pass(struct worker *w);

// How many packets were ever put into rings, by all workers (modulo 2^32 each).
uint64_t outbox_count(struct worker *const *workers, unsigned n);

#endif
