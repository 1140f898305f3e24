// What of a worker waits in downlink buffers: buffer.h.
#ifndef UPFU_BUFFER_STATE_H
#define UPFU_BUFFER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "upf_abi.h"

struct rte_mbuf;

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

#endif
