// What of a worker waits for its rate: shaper.h.
#ifndef UPFU_SHAPER_STATE_H
#define UPFU_SHAPER_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

#define SHAPER_SLOTS 4096u // a power of two

struct shaper_slot {
	struct rte_mbuf *first, *last; // linked by mbuf->next
};

struct shaper {
	uint64_t longest; // wait, in units of the QERs' clocks; 0: no packet waits
	uint32_t packets; // that wait
	uint32_t packets_max, session_packets_max;
	bool changed;             // packets, since shaper_show_waiting()
	unsigned shift;           // TSC >> shift is a slot's number
	uint64_t hand;            // while packets wait: number of the first slot that may have some
	uint16_t *of_session;     // packets, by session
	struct shaper_slot *slot; // [SHAPER_SLOTS], by number modulo that
};

#endif
