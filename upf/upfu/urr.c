// Volume counters (TS 29.244 5.2.2): octets and packets of the user's IP packets that are forwarded,
// counted in the direction's line of the URR's slot, which upf-c reads. When an armed volume is
// reached the control thread is told once.
//
// upf-c's threshold arrives through the control thread, which writes fire_at; the worker takes it
// back with compare-and-swap, so that arming and firing never lose each other.
#include "stages.h"

#include "shm.h"

// Tells the control thread once that *fire_at was reached. Returns whether it did.
// 0 (a slot never armed) and UINT64_MAX are unarmed.
static bool
urr_fire(struct worker *w, const struct pkt *p, uint32_t slot, uint64_t *fire_at, uint64_t volume)
{
	struct event event = {.urr = {
				      .rec = {.type = UPF_REC_EV_URR, .length = sizeof(event.urr)},
				      .session = p->session,
				      .slot = slot,
			      }};
	// Acquire/release: pairs with the control thread's stores in apply_arm().
	uint64_t armed = __atomic_load_n(fire_at, __ATOMIC_ACQUIRE), taken = UINT64_MAX;

	if (armed == 0 || volume < armed ||
		!__atomic_compare_exchange_n(
			fire_at, &armed, UINT64_MAX, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (worker_raise(w, &event))
		return true;
	// The ring is full: armed again, unless anew meanwhile, so that the next packet tries again.
	__atomic_compare_exchange_n(
		fire_at, &taken, armed, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return false;
}

static inline void
urr_add(struct worker *w, const struct pkt *p, uint32_t slot)
{
	struct upf_urr_counter *mine = &w->urr[slot].dir[p->pdr->direction];
	uint64_t bytes = mine->bytes + p->ip_len;
	uint64_t total_at;

	shm_add(&mine->bytes, p->ip_len);
	shm_add(&mine->packets, 1);
	__atomic_store_n(&mine->last_tsc, w->now, __ATOMIC_RELAXED);
	if (unlikely(mine->first_tsc == 0))
		__atomic_store_n(&mine->first_tsc, w->now, __ATOMIC_RELAXED);
	if (unlikely(bytes >= mine->fire_at))
		urr_fire(w, p, slot, &mine->fire_at, bytes);
	total_at = __atomic_load_n(&mine->fire_at_total, __ATOMIC_RELAXED);
	if (total_at != 0 && total_at != UINT64_MAX) {
		struct upf_urr_counter *other = &w->urr[slot].dir[!p->pdr->direction];
		uint64_t total = bytes + __atomic_load_n(&other->bytes, __ATOMIC_RELAXED);

		if (unlikely(total >= total_at) &&
			urr_fire(w, p, slot, &mine->fire_at_total, total))
			__atomic_store_n(&other->fire_at_total, UINT64_MAX, __ATOMIC_RELAXED);
	}
}

void
urr_burst(struct worker *w, struct burst *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		const struct pkt *p = b->live[i];

		for (unsigned u = 0; u < p->pdr->n_urr; u++)
			urr_add(w, p, p->pdr->urr[u]);
	}
}
