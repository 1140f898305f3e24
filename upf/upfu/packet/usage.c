// Volumes (TS 29.244 5.2.2): octets and packets of the user's IP packets that are forwarded, counted
// in the direction's line of the URR's slot, which upf-c reads; and what happens at the thresholds
// and quotas that upf-c has armed (struct upf_urr_meter).
//
// The way of a packet compares its counter with look_at alone, the value at which there may be
// something to do; urr_look() then thinks and sets both directions' look_at anew. A volume of both
// directions together is split in two halves, so that it cannot be reached unseen.
//
// The control thread arms (meter_write() in meter.c): it writes the meter between changes of
// its generation and then sets look_at to 0. The worker writes look_at and then looks at the
// generation again; so either it sees the new arming, or the control thread's 0 stays. Thresholds
// can wait until the meter is whole (shm.h). Quotas cannot: they first shrink and then grow, and
// are read so that all three are of one of these phases, in which they let through no more than the
// old ones or the new ones.
#include "packet/usage.h"

#include "packet/events.h"
#include "packet/message.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// In the meter's flags, above which stands the generation that they are of.
#define FIRED_TOTAL 0x01u
#define FIRED_UL 0x02u
#define FIRED_DL 0x04u
#define FIRED_QUOTA 0x08u
#define FIRED_BITS 8u

struct volumes {
	uint64_t ul, dl, total;
};

struct arming { // one reading of a meter
	struct volumes threshold, quota;
	uint32_t generation;
	uint32_t fired; // FIRED_*
};

static struct volumes
urr_volumes(const struct worker *w, uint32_t slot)
{
	struct volumes v = {
		.ul = shm_urr(&w->slots, slot, UPF_UL)->bytes,
		.dl = shm_urr(&w->slots, slot, UPF_DL)->bytes,
	};

	v.total = v.ul + v.dl;
	return v;
}

static struct volumes
volumes_read(const uint64_t *total, const uint64_t *ul, const uint64_t *dl)
{
	return (struct volumes){
		.ul = __atomic_load_n(ul, __ATOMIC_RELAXED),
		.dl = __atomic_load_n(dl, __ATOMIC_RELAXED),
		.total = __atomic_load_n(total, __ATOMIC_RELAXED),
	};
}

// False while the control thread writes it.
static bool
arming_read(const struct upf_urr_meter *meter, struct arming *a)
{
	uint32_t flags = meter->flags;

	// Acquire: pairs with the control thread's release-store when the meter was whole.
	a->generation = __atomic_load_n(&meter->generation, __ATOMIC_ACQUIRE);
	if (a->generation == 0) // never armed
		a->threshold = a->quota = (struct volumes){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	else {
		a->threshold = volumes_read(&meter->total, &meter->ul, &meter->dl);
		a->quota = volumes_read(&meter->quota_total, &meter->quota_ul, &meter->quota_dl);
	}
	a->fired = flags >> FIRED_BITS == (a->generation & UINT32_MAX >> FIRED_BITS)
		? flags & ((1u << FIRED_BITS) - 1)
		: 0;
	// Acquire: the values were read before the generation is read again.
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return meter_is_whole(a->generation) &&
		__atomic_load_n(&meter->generation, __ATOMIC_RELAXED) == a->generation;
}

static bool
is_exhausted(const struct volumes *quota, const struct volumes *now)
{
	return now->total >= quota->total || now->ul >= quota->ul || now->dl >= quota->dl;
}

// What was reached since the last look.
static uint32_t
newly_reached(const struct arming *a, const struct volumes *now)
{
	uint32_t reached = 0;

	if (now->total >= a->threshold.total)
		reached |= FIRED_TOTAL;
	if (now->ul >= a->threshold.ul)
		reached |= FIRED_UL;
	if (now->dl >= a->threshold.dl)
		reached |= FIRED_DL;
	if (is_exhausted(&a->quota, now))
		reached |= FIRED_QUOTA;
	return reached & ~a->fired;
}

// The next value of bytes, a direction's counter, at which to look because of limits on it and on
// the total.
static uint64_t
next_look(uint64_t bytes, uint64_t own_limit, uint64_t total, uint64_t total_limit)
{
	uint64_t at = own_limit > bytes ? own_limit : UINT64_MAX;

	if (total_limit != UINT64_MAX && total_limit > total) {
		uint64_t half = (total_limit - total + 1) / 2;

		at = bytes + half < at ? bytes + half : at;
	}
	return at;
}

static void
set_look_at(struct worker *w, uint32_t slot, uint64_t ul, uint64_t dl)
{
	__atomic_store_n(&shm_urr(&w->slots, slot, UPF_UL)->look_at, ul, __ATOMIC_RELAXED);
	__atomic_store_n(&shm_urr(&w->slots, slot, UPF_DL)->look_at, dl, __ATOMIC_RELAXED);
}

static uint64_t
look_at(const struct arming *a, const struct volumes *now, uint64_t bytes, uint64_t threshold,
	uint64_t quota)
{
	uint64_t t = next_look(bytes, threshold, now->total, a->threshold.total);
	uint64_t q = next_look(bytes, quota, now->total, a->quota.total);

	return t < q ? t : q;
}

void
urr_look(struct worker *w, uint32_t session, uint32_t slot)
{
	struct upf_urr_meter *meter = &w->slots.meter[slot];
	struct volumes now = urr_volumes(w, slot);
	struct event event = {.urr = {
				      .rec = {.type = UPF_REC_EV_URR, .length = sizeof(event.urr)},
				      .session = session,
				      .slot = slot,
			      }};
	struct arming a;
	uint32_t reached;

	if (!arming_read(meter, &a)) {
		set_look_at(w, slot, 0, 0);
		return;
	}
	reached = newly_reached(&a, &now);
	if (reached != 0) {
		if (!worker_raise(w, &event)) { // the next packet tries again
			set_look_at(w, slot, 0, 0);
			return;
		}
		__atomic_store_n(&meter->flags, a.generation << FIRED_BITS | a.fired | reached,
			__ATOMIC_RELAXED);
	}
	if (is_exhausted(&a.quota, &now))
		set_look_at(w, slot, 0, 0); // every packet is to be stopped
	else
		set_look_at(w, slot, look_at(&a, &now, now.ul, a.threshold.ul, a.quota.ul),
			look_at(&a, &now, now.dl, a.threshold.dl, a.quota.dl));
	// Sequentially consistent: pairs with the fence of the control thread between the generation
	// and its 0 in look_at.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&meter->generation, __ATOMIC_RELAXED) != a.generation)
		set_look_at(w, slot, 0, 0);
}

// Does not wait for the control thread: only a step that it made meanwhile lets it read again.
static struct volumes
quotas_read(const struct upf_urr_meter *meter)
{
	struct volumes quota = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	uint32_t generation;

	do {
		// Acquire: pairs with meter_goes_on(); the phases before are done.
		generation = __atomic_load_n(&meter->generation, __ATOMIC_ACQUIRE);
		if (generation <= METER_SHRINKS) // never armed, or just now for the first time
			return quota;
		quota = volumes_read(&meter->quota_total, &meter->quota_ul, &meter->quota_dl);
		// Acquire: pairs with meter_goes_on(); nothing of a later phase was read unnoticed.
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&meter->generation, __ATOMIC_RELAXED) != generation);
	return quota;
}

bool
urr_is_exhausted(const struct worker *w, uint32_t slot)
{
	struct volumes now = urr_volumes(w, slot);
	struct volumes quota = quotas_read(&w->slots.meter[slot]);

	return is_exhausted(&quota, &now);
}

void
urr_take_back(struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets)
{
	const struct pkt p = {.part = part, .pdr = pdr};
	struct pdr_urr inlined[PDR_INLINE_URRS];
	const struct pdr_urr *urr = urr_list_of(&p, inlined);

	for (unsigned i = 0; i < pdr->n_urr; i++) {
		struct upf_urr_counter *c = shm_urr(&w->slots, urr[i].slot, pdr->direction);

		if ((urr[i].flags & UPF_URR_BEFORE_QOS) != 0)
			continue;
		shm_add(&c->bytes, 0 - (uint64_t)octets);
		shm_add(&c->packets, UINT64_MAX);
	}
}

void
urr_count_late(struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets)
{
	const struct pkt p = {.part = part, .pdr = pdr};
	struct pdr_urr inlined[PDR_INLINE_URRS];
	const struct pdr_urr *urr = urr_list_of(&p, inlined);

	for (unsigned i = 0; i < pdr->n_urr; i++) {
		struct upf_urr_counter *c = shm_urr(&w->slots, urr[i].slot, pdr->direction);

		if ((urr[i].flags & UPF_URR_BEFORE_QOS) != 0)
			continue;
		urr_add(c, octets);
		if (urr_is_to_look(c, 0))
			urr_look(w, part->session, urr[i].slot);
	}
}
