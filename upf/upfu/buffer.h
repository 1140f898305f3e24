// Downlink packets that wait for an idle UE (FAR BUFF, TS 23.501 5.8.3.2).
//
// A queue belongs to the worker that the session's packets come to; nobody else touches it. While a
// queue is not empty, every later packet of the session joins its end, so that order holds; when
// the rules change (a command says so) or a packet finds a FAR that forwards, the queue goes on the
// release list and its packets take the normal way again from PDR matching, their QERs being done.
// A queue remembers the incarnation of its session: packets of one that went away are dropped.
#ifndef UPFU_BUFFER_H
#define UPFU_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct worker;
struct pkt;
struct burst;

struct buffer_queue {
	uint32_t session;
	uint32_t incarnation;
	uint32_t n;
	uint32_t release;              // how many are still to be taken out in this round
	bool releasing;                // on the release list
	bool notified;                 // the Downlink Data event was raised
	struct rte_mbuf *first, *last; // linked by mbuf->next
	struct buffer_queue *next;     // in the free list or the release list
};

struct buffer_store {
	uint32_t queues; // in use: 0 spares the look into of[]
	uint32_t packets;
	uint32_t packets_max, session_max;
	uint32_t sessions;
	struct buffer_queue **of; // [session]
	struct buffer_queue *all;
	struct buffer_queue *free;
	struct buffer_queue *release_first, *release_last;
};

int buffer_init(
	struct buffer_store *store, uint32_t sessions, uint32_t packets_max, uint32_t session_max);
void buffer_free(struct buffer_store *store);

// Does the session have packets waiting? Then p must join them.
bool buffer_is_waiting(const struct buffer_store *store, const struct pkt *p);
// Takes p for later. notify: raise the Downlink Data event for the first. Returns a verdict.
int buffer_hold(struct worker *w, struct pkt *p, bool notify);
// The session's rules changed or went.
void buffer_rules_changed(struct worker *w, uint32_t session);
// Fills the burst with packets that go on, up to its size.
void buffer_take(struct worker *w, struct burst *b);

#endif
