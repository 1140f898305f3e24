// Volume counters and times of URRs: what counts in them, and what is reached. See usage.c.
#ifndef UPFU_USAGE_H
#define UPFU_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"
#include "upf_abi.h"

// A packet that was counted by its PDR does not leave: the URRs that measure after QoS enforcement
// take it back.
void urr_take_back(
	struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets);
// One that had not left yet does now.
void urr_count_late(
	struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets);
// Looks whether thresholds of the slot are reached, packet or not.
void urr_look(struct worker *w, uint32_t session, uint32_t slot);
// A quota of the slot is used up.
bool urr_is_exhausted(const struct worker *w, uint32_t slot);

static inline void
urr_times(struct worker *w, uint32_t slot)
{
	struct upf_urr_times *times = &w->slots.times[slot];
	uint32_t now = shm_ms(&w->slots, w->now);
	uint32_t gap, inactivity = __atomic_load_n(&times->inactivity_ms, __ATOMIC_RELAXED);

	if (times->first_ms == 0) {
		__atomic_store_n(&times->last_ms, now, __ATOMIC_RELAXED);
		__atomic_store_n(&times->first_ms, now, __ATOMIC_RELAXED);
		return;
	}
	gap = now - times->last_ms;
	if (inactivity != 0 && gap > inactivity)
		gap = inactivity;
	__atomic_store_n(&times->active_ms, times->active_ms + gap, __ATOMIC_RELAXED);
	__atomic_store_n(&times->last_ms, now, __ATOMIC_RELAXED);
}

static inline bool
urr_is_to_look(const struct upf_urr_counter *c, uint16_t octets)
{
	return c->bytes + octets >= __atomic_load_n(&c->look_at, __ATOMIC_RELAXED);
}

static inline void
urr_add(struct upf_urr_counter *c, uint16_t octets)
{
	shm_add(&c->bytes, octets);
	shm_add(&c->packets, 1);
}

// The URRs of a PDR as a list; in inlined[] when they are in the PDR.
static inline const struct pdr_urr *
urr_list_of(const struct pkt *p, struct pdr_urr inlined[PDR_INLINE_URRS])
{
	const struct pdr *pdr = p->pdr;

	if ((pdr->urr_flags & PDR_URR_LIST) != 0)
		return part_at(p->part, pdr_more(p->part, pdr)->urr);
	for (unsigned i = 0; i < PDR_INLINE_URRS; i++)
		inlined[i] = (struct pdr_urr){
			.slot = shm_slot(pdr->urr_at[i]), .flags = pdr_urr_flags(pdr, i)};
	return inlined;
}

#endif
