// Which URRs a packet counts in (TS 29.244 5.2.2), and what becomes of one whose quota is used up. The
// counters are usage.c's.
#include "packet/urr.h"

#include "packet/far.h"
#include "packet/packet.h"
#include "packet/stages.h"
#include "packet/usage.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// A packet whose quota is used up takes the way of the FAR for quota action (TS 29.244 5.2.2.2).
static int
quota_action(struct pkt *p, const struct pdr_urr *urr)
{
	if (urr->quota_pdr == 0)
		return UPF_DROP_QUOTA_EXHAUSTED;
	p->pdr = part_at(p->part, urr->quota_pdr);
	return PKT_NEXT;
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
		if (!urr_is_to_look(shm_urr(&w->slots, urr[i].slot, direction), p->ip_len))
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
		urr_add(shm_urr(&w->slots, urr[i].slot, direction), p->ip_len);
		if ((urr[i].flags & UPF_URR_TIMED) != 0)
			urr_times(w, urr[i].slot);
		if ((look >> i & 1) != 0)
			urr_look(w, p->part->session, urr[i].slot);
	}
	return PKT_NEXT;
}

// The URRs of a PDR that measure before QoS enforcement, or those that do not, whatever they have to say.
static __attribute__((noinline)) int
urr_think(struct worker *w, struct pkt *p, uint8_t before)
{
	struct pdr_urr inlined[PDR_INLINE_URRS];
	bool stopped = false;
	int verdict = count_list(w, p, urr_list_of(p, inlined), p->pdr->n_urr, before, &stopped);

	// Behind QoS enforcement the FAR for quota action has not been asked yet.
	return stopped && before == 0 && verdict == PKT_NEXT ? far_apply(w, p) : verdict;
}

// The same of URRs in the PDR, which mostly have nothing to say.
static inline __attribute__((always_inline)) int
count_inlined(struct worker *w, struct pkt *p, uint8_t before)
{
	const struct pdr *pdr = p->pdr;
	struct upf_urr_counter *c[PDR_INLINE_URRS] = {0};

	for (unsigned i = 0; i < pdr->n_urr; i++) {
		if ((pdr_urr_flags(pdr, i) & UPF_URR_BEFORE_QOS) != before)
			continue;
		c[i] = shm_at(&w->slots, pdr->urr_at[i]);
		if (unlikely(urr_is_to_look(c[i], p->ip_len)))
			return urr_think(w, p, before);
	}
	for (unsigned i = 0; i < pdr->n_urr; i++) {
		if (c[i] == NULL)
			continue;
		urr_add(c[i], p->ip_len);
		if ((pdr_urr_flags(pdr, i) & UPF_URR_TIMED) != 0)
			urr_times(w, shm_slot(pdr->urr_at[i]));
	}
	return PKT_NEXT;
}

int
urr_before_qos(struct worker *w, struct pkt *p)
{
	return (p->pdr->urr_flags & PDR_URR_LIST) != 0 ? urr_think(w, p, UPF_URR_BEFORE_QOS)
						       : count_inlined(w, p, UPF_URR_BEFORE_QOS);
}

// Of URRs of which some have flags, or something to say.
static __attribute__((noinline)) int
urr_count_any(struct worker *w, struct pkt *p)
{
	return (p->pdr->urr_flags & PDR_URR_LIST) != 0 ? urr_think(w, p, 0)
						       : count_inlined(w, p, 0);
}

static inline __attribute__((always_inline)) int
urr_count(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	struct upf_urr_counter *c[PDR_INLINE_URRS] = {0};
	bool any = pdr->urr_flags != 0;

	for (unsigned i = 0; i < pdr->n_urr && !any; i++) {
		c[i] = shm_at(&w->slots, pdr->urr_at[i]);
		any = urr_is_to_look(c[i], p->ip_len);
	}
	if (unlikely(any))
		return urr_count_any(w, p);
	for (unsigned i = 0; i < pdr->n_urr; i++)
		urr_add(c[i], p->ip_len);
	return PKT_NEXT;
}

int
urr_apply(struct worker *w, struct pkt *p)
{
	return urr_count(w, p);
}

void
urr_burst(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, urr_count);
}
