// Packets that wait because their FAR says BUFF: downlink for an idle UE (TS 23.501 5.8.3.2), and
// either direction while a tunnel on N9 moves.
//
// A session has a queue for each direction, so that neither holds up or displaces the other. A queue
// belongs to the session's home worker; nobody else touches it. While a queue is not empty, every
// later packet of its session and direction joins its end, so that order holds; when the rules change
// (a command says so) or a packet finds a FAR that forwards, the queue goes on the release list and
// its packets take the normal way again from PDR matching, their QERs being done. That is a round,
// of a burst a poll, and the queues on the list take turns. What meets a FAR that buffers is put back:
// behind what was put back before in this round, in front of what is still to be taken out, which is
// in front of what has come since. So the queue is in order of arrival at any time. A queue remembers
// the incarnation of its session: packets of one that went away are dropped.
//
// The BAR of a FAR (TS 29.244 7.5.2.6) bounds how many packets wait by it and how long, and how long
// the Downlink Data event waits; where it does not say how long, the configuration does. The event is
// about downlink packets alone (TS 29.244 8.2.26). It is raised once for each BAR, and once for FARs
// without one, for as long as packets may wait: whoever sends after that wants the UE to be paged
// again. A packet that left because its FAR forwards ends that time, too. When upf-c has gone and its
// successor knows all sessions, the queues of which the former was told go through a round that tells
// of them anew, for it may not have got the report through. What was raised while there was none is
// still in the ring of events and reaches the successor.
//
// Packets and octets are bounded, of a queue and of the worker; octets are those of the users'
// packets. What a full buffer drops is the packet that comes or, oldest first, those of its queue.
#ifndef UPFU_BUFFER_H
#define UPFU_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "upf_abi.h"

struct worker;
struct pkt;
struct burst;

#define BUFFER_BARS (UPF_SESSION_BARS + 1u) // and one for FARs without a BAR

struct buffer_queue {
	uint32_t session;
	uint32_t incarnation;
	enum upf_direction direction;
	uint32_t n;
	uint64_t octets;
	uint32_t kept;                  // how many were put back in this round: they stand first
	uint32_t release;               // how many, behind them, are still to be taken out
	uint32_t opened;                // which opening or passing of a queue this is, of all
	uint32_t told;                  // to which upf-c the last event was raised, 0: none was
	uint16_t held[BUFFER_BARS];     // packets by BAR
	uint64_t again[BUFFER_BARS];    // by BAR: TSC before which no event is raised any more
	uint64_t due;                   // TSC before which no packet of it has waited too long
	bool releasing;                 // on the release list
	struct rte_mbuf *first, *last;  // linked by mbuf->next
	struct rte_mbuf *kept_last;     // NULL: none was put back
	struct buffer_queue *next;      // in the free list or the release list
	struct buffer_queue *same_hash; // in the index
	struct buffer_queue *before, *after; // in the circle of open queues
};

struct buffer_notice { // a Downlink Data event that waits (Downlink Data Notification Delay)
	struct buffer_notice *next;
	uint64_t due; // TSC
	uint32_t opened;
	uint32_t bar;
	struct upf_ev_dl_data event;
};

struct buffer_bounds {
	uint32_t packets, session_packets; // of the worker; of a session in one direction
	uint64_t octets, session_octets;
	uint64_t duration; // TSC cycles that a packet waits whose BAR does not say how long
	bool drop_oldest;  // when there is no room; else the newest
};

struct buffer_store {
	uint32_t queues; // open: 0 spares the look into the index
	uint32_t packets;
	bool changed; // packets or octets, since buffer_show_waiting
	uint64_t octets;
	struct buffer_bounds bounds;
	uint32_t opened;
	uint32_t index_mask;
	struct buffer_queue **index; // by session and direction
	struct buffer_queue *all;
	struct buffer_queue *free;
	struct buffer_queue *open; // somewhere in the circle
	struct buffer_queue *release_first, *release_last;
	struct buffer_notice *notices; // that wait
	struct buffer_notice *notice_all, *notice_free;
};

int buffer_init(struct buffer_store *store, const struct buffer_bounds *bounds);
void buffer_free(struct buffer_store *store);

// Does the session have packets waiting in p's direction? Then p must join them.
bool buffer_is_waiting(const struct buffer_store *store, const struct pkt *p);
// Takes p for later. notify: raise the Downlink Data event for the first downlink packet. Returns a
// verdict.
int buffer_hold(struct worker *w, struct pkt *p, bool notify);
// A packet that waited goes on.
void buffer_passed(struct worker *w, const struct pkt *p);
// The session's rules changed or went.
void buffer_rules_changed(struct worker *w, uint32_t session);
// Drops what waits of the session.
void buffer_forget(struct worker *w, uint32_t session);
// Fills the burst with packets that go on, up to its size.
void buffer_take(struct worker *w, struct burst *b);
// Events whose delay is over or that are to be raised anew, packets that waited too long.
void buffer_tick(struct worker *w);
// Tells the statistics how much waits now.
void buffer_show_waiting(struct worker *w);

#endif
