#include "packet/shaper.h"

#include <stdlib.h>
#include <string.h>

#include "packet/drop.h"
#include "packet/lookup.h"
#include "packet/packet.h"
#include "packet/shaper_state.h"
#include "packet/stages.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/qer_clock.h"
#include "rules/session.h"

int
shaper_init(struct shaper *shaper, const struct config *config, uint64_t tsc_hz)
{
	uint64_t cycles = tsc_hz / 1000 * config->qer.queue_ms;

	*shaper = (struct shaper){
		.longest = qer_depth(config->qer.queue_ms, tsc_hz),
		.packets_max = config->qer.queue_packets,
		.session_packets_max = config->qer.queue_packets_per_session,
	};
	if (cycles == 0)
		return 0;
	// The wheel goes round once in the longest wait, and the present's slot is in use, too.
	while (cycles >> shaper->shift > SHAPER_SLOTS - 2)
		shaper->shift++;
	shaper->slot = calloc(SHAPER_SLOTS, sizeof(*shaper->slot));
	shaper->of_session = calloc(config->limits.sessions_max, sizeof(*shaper->of_session));
	if (shaper->slot != NULL && shaper->of_session != NULL)
		return 0;
	shaper_free(shaper);
	return -1;
}

static struct rte_mbuf *
slot_pop(struct shaper_slot *slot)
{
	struct rte_mbuf *m = slot->first;

	slot->first = m->next;
	m->next = NULL;
	return m;
}

void
shaper_free(struct shaper *shaper)
{
	for (unsigned i = 0; shaper->slot != NULL && i < SHAPER_SLOTS; i++) {
		while (shaper->slot[i].first != NULL)
			rte_pktmbuf_free(slot_pop(&shaper->slot[i]));
	}
	free(shaper->slot);
	free(shaper->of_session);
	memset(shaper, 0, sizeof(*shaper));
}

static struct shaper_slot *
slot_at(const struct shaper *shaper, uint64_t number)
{
	return &shaper->slot[number % SHAPER_SLOTS];
}

static struct pkt *
saved(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
}

bool
shaper_has_room(const struct shaper *shaper, const struct pkt *p, uint64_t wait)
{
	return wait <= shaper->longest && shaper->packets < shaper->packets_max &&
		shaper->of_session[p->part->session] < shaper->session_packets_max;
}

int
shaper_hold(struct worker *w, struct pkt *p, uint64_t wait)
{
	struct shaper *shaper = &w->shaper;
	struct shaper_slot *slot =
		slot_at(shaper, (w->now + (wait >> QER_FRACTION)) >> shaper->shift);
	struct pkt *held = saved(p->m);

	if (shaper->packets == 0)
		shaper->hand = w->now >> shaper->shift;
	// What parsing and matching found travels with the packet; its rules may go meanwhile.
	*held = *p;
	held->group = p->part->group;
	held->of.session = p->part->session;
	held->of.incarnation = p->part->incarnation;
	held->by.index = (uint16_t)(p->pdr - p->part->pdr);
	held->by.id = p->pdr->pdr_id;
	p->m->next = NULL;
	if (slot->first == NULL)
		slot->first = p->m;
	else
		slot->last->next = p->m;
	slot->last = p->m;
	shaper->packets++;
	shaper->of_session[held->of.session]++;
	shaper->changed = true;
	shm_add(&w->stats->local.shaped, 1);
	if (unlikely(w->trace != NULL))
		trace_shaped(w, p->m);
	return PKT_TAKEN;
}

// The PDR by which it came, as it is now; NULL: its session has none with this ID any more.
static const struct pdr *
pdr_of(const struct part *part, const struct pkt *held)
{
	if (held->by.index < part->n_pdr && part->pdr[held->by.index].pdr_id == held->by.id)
		return &part->pdr[held->by.index];
	for (unsigned i = 0; i < part->n_pdr; i++) {
		if (part->pdr[i].pdr_id == held->by.id)
			return &part->pdr[i];
	}
	return NULL;
}

// False: its session or PDR went away.
static bool
resume(struct worker *w, struct pkt *p, struct rte_mbuf *m)
{
	const struct pkt *held = saved(m);
	arena_ref ref = lookup_key(w, held);

	*p = *held;
	p->m = m;
	if (ref == BUCKETMAP_NONE)
		return false;
	p->part = session_part(w->sessions, ref);
	if (p->part->session != held->of.session || p->part->incarnation != held->of.incarnation)
		return false;
	p->pdr = pdr_of(p->part, held);
	return p->pdr != NULL;
}

// Its way is another than that of a burst.
static void
take_frame(struct worker *w, struct pkt *p)
{
	uint8_t group = p->part->group;
	int verdict = ethernet_leave(w, p);

	if (verdict != PKT_TAKEN)
		worker_drop_of(w, (enum upf_port)p->port, group, p->m, (enum upf_drop)verdict);
}

void
shaper_take(struct worker *w, struct burst *b)
{
	struct shaper *shaper = &w->shaper;
	uint64_t present = w->now >> shaper->shift;

	b->n = 0;
	while (b->n < BURST && shaper->packets != 0) {
		struct shaper_slot *slot = slot_at(shaper, shaper->hand);
		struct rte_mbuf *m;

		if (slot->first == NULL) {
			// More may come for the present's slot.
			if (shaper->hand == present)
				break;
			shaper->hand++;
			continue;
		}
		m = slot_pop(slot);
		shaper->packets--;
		shaper->of_session[saved(m)->of.session]--;
		shaper->changed = true;
		if (!resume(w, &b->pkt[b->n], m)) {
			worker_drop_of(w, (enum upf_port)saved(m)->port, saved(m)->group, m,
				UPF_DROP_BUFFER_RELEASED);
		} else if (unlikely(b->pkt[b->n].part->ethernet)) {
			take_frame(w, &b->pkt[b->n]);
		} else {
			b->live[b->n] = &b->pkt[b->n];
			b->n++;
		}
	}
}

uint64_t
shaper_due(const struct shaper *shaper)
{
	uint64_t number = shaper->hand;

	if (shaper->packets == 0)
		return UINT64_MAX;
	while (slot_at(shaper, number)->first == NULL)
		number++;
	return number << shaper->shift;
}

void
shaper_show_waiting(struct worker *w)
{
	w->shaper.changed = false;
	__atomic_store_n(&w->stats->local.shaper_waiting, w->shaper.packets, __ATOMIC_RELAXED);
}
