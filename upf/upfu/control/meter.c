#include "control/meter.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "control/rule_base.h"
#include "process/shm.h"
#include "rules/qer_clock.h"
#include "rules/session.h"

// ---- meters --------------------------------------------------------------------------------------

// From here on `generation` says how far the writing is, to whoever reads what is written from here
// on.
static void
meter_goes_on(struct upf_urr_meter *meter, uint32_t generation)
{
	// Release: what was written before is seen by whoever sees this.
	__atomic_store_n(&meter->generation, generation, __ATOMIC_RELEASE);
	// Release: pairs with the fence of quotas_read(); what is written behind is seen by nobody
	// who does not see this.
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

// The worker may need the quotas at any moment of this. While they shrink, what passes is within
// the old ones, while they grow within the new ones; so a control thread that loses its CPU here
// opens nothing.
static void
write_quotas(struct upf_urr_meter *meter, const struct upf_urr_arm *arm, uint32_t generation)
{
	uint64_t *quota[] = {&meter->quota_total, &meter->quota_ul, &meter->quota_dl};
	const uint64_t next[] = {arm->quota_total, arm->quota_ul, arm->quota_dl};

	for (unsigned i = 0; i < 3; i++) {
		if (generation == 0 || next[i] < *quota[i]) // never armed: no limits yet
			__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);
	}
	meter_goes_on(meter, generation + METER_GROWS);
	for (unsigned i = 0; i < 3; i++)
		__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);
}

void
meter_write(struct rule_base *base, const struct upf_urr_arm *arm, uint64_t look_at)
{
	const struct shm_slots *slots = &base->shm->slots;
	struct upf_urr_meter *meter = &slots->meter[arm->slot];
	uint32_t generation = meter->generation;

	meter_goes_on(meter, generation + METER_SHRINKS);
	__atomic_store_n(&meter->total, arm->total, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->ul, arm->ul, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->dl, arm->dl, __ATOMIC_RELAXED);
	write_quotas(meter, arm, generation);
	__atomic_store_n(&meter->session, arm->session, __ATOMIC_RELAXED);
	__atomic_store_n(
		&slots->times[arm->slot].inactivity_ms, arm->inactivity_ms, __ATOMIC_RELAXED);
	// Release: pairs with the acquire-load in arming_read(). 0 means never armed.
	generation += METER_STEP;
	__atomic_store_n(
		&meter->generation, generation != 0 ? generation : METER_STEP, __ATOMIC_RELEASE);
	// Sequentially consistent: pairs with the fence of urr_look().
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned dir = 0; dir < 2; dir++)
		__atomic_store_n(
			&shm_urr(slots, arm->slot, dir)->look_at, look_at, __ATOMIC_RELAXED);
}

// Volumes that a worker may have counted without looking, while the meter was written: a burst.
#define UNSEEN UINT64_C(1048576)

static bool
is_near(uint64_t volume, uint64_t at)
{
	return at != UINT64_MAX && volume + UNSEEN >= at;
}

bool
meter_is_near(const struct rule_base *base, const struct upf_urr_arm *arm)
{
	const struct shm_slots *slots = &base->shm->slots;
	uint64_t ul = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_UL)->bytes, __ATOMIC_RELAXED);
	uint64_t dl = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_DL)->bytes, __ATOMIC_RELAXED);

	return is_near(ul + dl, arm->total) || is_near(ul, arm->ul) || is_near(dl, arm->dl) ||
		is_near(ul + dl, arm->quota_total) || is_near(ul, arm->quota_ul) ||
		is_near(dl, arm->quota_dl);
}

// ---- token buckets -------------------------------------------------------------------------------

static void
clocks_add(struct clocks *c, uint32_t slot, unsigned direction, uint64_t cost)
{
	if (cost == 0)
		return;
	if (c->n == c->size) {
		uint32_t size = c->size != 0 ? c->size * 2 : 16;
		struct clock *clock = realloc(c->clock, size * sizeof(*clock));

		if (clock == NULL)
			return; // the bucket keeps its debt
		c->clock = clock;
		c->size = size;
	}
	c->clock[c->n++] = (struct clock){cost, slot, direction};
}

void
clocks_of(struct clocks *c, const struct part *part)
{
	for (unsigned i = 0; i < part->n_pdr; i++) {
		const struct pdr *pdr = &part->pdr[i];
		const struct pdr_qer *qer = NULL;

		if (pdr->more != 0 && pdr_more(part, pdr)->qer != 0)
			qer = part_at(part, pdr_more(part, pdr)->qer);
		for (unsigned q = 0; q < pdr->n_qer; q++) {
			if (qer == NULL) {
				clocks_add(
					c, shm_slot(pdr->qer_at[q]), pdr->direction, pdr->cost[q]);
				continue;
			}
			clocks_add(c, qer[q].slot, pdr->direction, qer[q].cost);
			clocks_add(c, qer[q].gbr_slot, pdr->direction, qer[q].gbr_cost);
		}
	}
}

static int
compare_clocks(const void *a, const void *b)
{
	const struct clock *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	return (x->cost > y->cost) - (x->cost < y->cost);
}

void
clocks_subtract(struct clocks *now, struct clocks *old)
{
	uint32_t kept = 0;

	if (old->n == 0)
		return;
	qsort(old->clock, old->n, sizeof(*old->clock), compare_clocks);
	for (uint32_t i = 0; i < now->n; i++) {
		if (bsearch(&now->clock[i], old->clock, old->n, sizeof(*old->clock),
			    compare_clocks) == NULL)
			now->clock[kept++] = now->clock[i];
	}
	now->n = kept;
}

void
clocks_start(struct rule_base *base, const struct clocks *clocks)
{
	uint64_t present = rte_rdtsc() << QER_FRACTION;

	for (uint32_t i = 0; i < clocks->n; i++) {
		const struct clock *c = &clocks->clock[i];

		__atomic_store_n(qer_tat(&base->shm->slots, c->slot, c->direction), present,
			__ATOMIC_RELAXED);
	}
}
