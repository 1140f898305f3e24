// Volumes (TS 29.244 5.2.2): octets and packets of the user's IP packets that are forwarded, counted
// in the direction's line of the URR's slot, which upf-c reads; and what happens at the thresholds
// and quotas that upf-c has armed (struct upf_urr_meter).
//
// The way of a packet compares its counter with look_at alone, the value at which there may be
// something to do; urr_look() then thinks and sets both directions' look_at anew. A volume of both
// directions together is split in two halves, so that it cannot be reached unseen.
//
// The control thread arms (write_meter() in transaction.c): it writes the meter between changes of
// its generation and then sets look_at to 0. The worker writes look_at and then looks at the
// generation again; so either it sees the new arming, or the control thread's 0 stays. Thresholds
// can wait until the meter is whole (shm.h). Quotas cannot: they first shrink and then grow, and
// are read so that all three are of one of these phases, in which they let through no more than the
// old ones or the new ones.
#include "packet/stages.h"

#include "process/shm.h"

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

static bool
urr_is_exhausted(const struct worker *w, uint32_t slot)
{
	struct volumes now = urr_volumes(w, slot);
	struct volumes quota = quotas_read(&w->slots.meter[slot]);

	return is_exhausted(&quota, &now);
}

static void
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

// A packet whose quota is used up takes the way of the FAR for quota action (TS 29.244 5.2.2.2).
static int
quota_action(struct pkt *p, const struct pdr_urr *urr)
{
	if (urr->quota_pdr == 0)
		return UPF_DROP_QUOTA_EXHAUSTED;
	p->pdr = part_at(p->part, urr->quota_pdr);
	return PKT_NEXT;
}

static inline bool
is_to_look(const struct upf_urr_counter *c, uint16_t octets)
{
	return c->bytes + octets >= __atomic_load_n(&c->look_at, __ATOMIC_RELAXED);
}

static inline void
add(struct upf_urr_counter *c, uint16_t octets)
{
	shm_add(&c->bytes, octets);
	shm_add(&c->packets, 1);
}

// Counts the packet in those URRs of the list that measure before QoS enforcement or in those that
// do not, or in none when the quota of one of them is used up: then *stopped, and the verdict says
// what becomes of the packet.
static int
count_list(struct worker *w, struct pkt *p, const struct pdr_urr *urr, unsigned n, uint8_t before,
	bool *stopped)
{
	unsigned direction = p->pdr->direction;
	uint32_t look = 0, mine = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((urr[i].flags & UPF_URR_BEFORE_QOS) != before)
			continue;
		mine |= 1u << i;
		if (!is_to_look(shm_urr(&w->slots, urr[i].slot, direction), p->ip_len))
			continue;
		look |= 1u << i;
		if (urr_is_exhausted(w, urr[i].slot)) {
			*stopped = true;
			return quota_action(p, &urr[i]);
		}
	}
	for (unsigned i = 0; i < n; i++) {
		if ((mine >> i & 1) == 0)
			continue;
		add(shm_urr(&w->slots, urr[i].slot, direction), p->ip_len);
		if ((urr[i].flags & UPF_URR_TIMED) != 0)
			urr_times(w, urr[i].slot);
		if ((look >> i & 1) != 0)
			urr_look(w, p->part->session, urr[i].slot);
	}
	return PKT_NEXT;
}

// The URRs of a PDR as a list; in inlined[] when they are in the PDR.
static const struct pdr_urr *
list_of(const struct pkt *p, struct pdr_urr inlined[PDR_INLINE_URRS])
{
	const struct pdr *pdr = p->pdr;

	if (pdr->more != 0 && pdr_more(p->part, pdr)->urr != 0)
		return part_at(p->part, pdr_more(p->part, pdr)->urr);
	for (unsigned i = 0; i < PDR_INLINE_URRS; i++)
		inlined[i] = (struct pdr_urr){.slot = shm_slot(pdr->urr_at[i])};
	return inlined;
}

int
urr_before_qos(struct worker *w, struct pkt *p)
{
	struct pdr_urr inlined[PDR_INLINE_URRS];
	bool stopped = false;

	return count_list(w, p, list_of(p, inlined), p->pdr->n_urr, UPF_URR_BEFORE_QOS, &stopped);
}

static __attribute__((noinline)) int
urr_think(struct worker *w, struct pkt *p)
{
	struct pdr_urr inlined[PDR_INLINE_URRS];
	bool stopped = false;
	int verdict = count_list(w, p, list_of(p, inlined), p->pdr->n_urr, 0, &stopped);

	// The FAR for quota action has not been asked yet.
	return stopped && verdict == PKT_NEXT ? far_apply(w, p) : verdict;
}

void
urr_take_back(struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets)
{
	const struct pkt p = {.part = part, .pdr = pdr};
	struct pdr_urr inlined[PDR_INLINE_URRS];
	const struct pdr_urr *urr = list_of(&p, inlined);

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
	const struct pdr_urr *urr = list_of(&p, inlined);

	for (unsigned i = 0; i < pdr->n_urr; i++) {
		struct upf_urr_counter *c = shm_urr(&w->slots, urr[i].slot, pdr->direction);

		if ((urr[i].flags & UPF_URR_BEFORE_QOS) != 0)
			continue;
		add(c, octets);
		if (is_to_look(c, 0))
			urr_look(w, part->session, urr[i].slot);
	}
}

static int
urr_count(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	struct upf_urr_counter *c[PDR_INLINE_URRS] = {0};
	bool think = pdr->n_urr > PDR_INLINE_URRS || pdr->urr_flags != 0;

	for (unsigned i = 0; i < pdr->n_urr && !think; i++) {
		c[i] = shm_at(&w->slots, pdr->urr_at[i]);
		think = is_to_look(c[i], p->ip_len);
	}
	if (unlikely(think))
		return urr_think(w, p);
	for (unsigned i = 0; i < pdr->n_urr; i++)
		add(c[i], p->ip_len);
	return PKT_NEXT;
}

void
urr_burst(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, urr_count);
}
