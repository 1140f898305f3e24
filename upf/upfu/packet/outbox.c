#include "packet/outbox.h"

#include <rte_bitops.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "packet/drop.h"
#include "packet/packet.h"
#include "packet/sleep.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/home.h"

#define PLACES_MOST 16384u
#define PLACES_LEAST (2 * BURST)

// ---- rings -------------------------------------------------------------------------------------

// Of one ring. All of them together take an eighth of the packet buffers, and what waits in downlink
// buffers half of them (config.c), so that a worker that stands still, or UEs that do not come, leave
// some to the packets of others.
static unsigned
ring_places(const struct config *config)
{
	uint64_t rings = (uint64_t)config->workers * (config->workers - 1);
	unsigned places = PLACES_MOST;

	while (places > PLACES_LEAST && places * rings > config->limits.mbufs / 8)
		places /= 2;
	return places;
}

static struct rte_ring *
ring_create(unsigned places)
{
	ssize_t octets = rte_ring_get_memsize(places);
	struct rte_ring *ring = octets < 0 ? NULL : rte_zmalloc("handoff", (size_t)octets, 64);

	if (ring != NULL &&
		rte_ring_init(ring, "handoff", places, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(ring);
		return NULL;
	}
	return ring;
}

int
outbox_init(struct worker *w, const struct config *config)
{
	struct handoff *h = &w->handoff;

	h->from = rte_zmalloc("handoff", w->workers * sizeof(struct rte_ring *), 64);
	h->outbox = rte_zmalloc("handoff", w->workers * sizeof(*h->outbox), 64);
	if (h->from == NULL || h->outbox == NULL)
		return -1;
	for (unsigned i = 0; i < HOME_BUCKETS; i++)
		h->home[i] = (uint8_t)home_worker(i, w->workers);
	for (unsigned i = 0; i < w->workers; i++) {
		if (i == w->index)
			continue;
		h->from[i] = ring_create(ring_places(config));
		if (h->from[i] == NULL)
			return -1;
	}
	return 0;
}

void
outbox_free(struct worker *w)
{
	struct handoff *h = &w->handoff;

	for (unsigned i = 0; h->from != NULL && i < w->workers; i++) {
		void *m;

		while (h->from[i] != NULL && rte_ring_sc_dequeue(h->from[i], &m) == 0)
			rte_pktmbuf_free(m);
		rte_free(h->from[i]);
	}
	rte_free(h->from);
	rte_free(h->outbox);
}

uint64_t
outbox_count(struct worker *const *workers, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n * n; i++) {
		const struct rte_ring *ring = workers[i / n]->handoff.from[i % n];

		if (ring != NULL)
			sum += ring->prod.tail;
	}
	return sum;
}

// ---- to others ---------------------------------------------------------------------------------

static __attribute__((noinline)) void
drop_rest(struct worker *w, struct rte_mbuf **m, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct pkt *saved = rte_mbuf_to_priv(m[i]);

		if (saved->kind == PKT_KIND_USER)
			worker_drop_of(w, (enum upf_port)saved->port, saved->group, m[i],
				UPF_DROP_TX_FULL);
		else
			rte_pktmbuf_free(m[i]);
	}
}

static void
empty_outbox(struct worker *w, unsigned to)
{
	struct handoff *h = &w->handoff;
	struct outbox *o = &h->outbox[to];
	unsigned n = rte_ring_sp_enqueue_burst(
		w->peers[to]->handoff.from[w->index], (void **)o->m, o->n, NULL);

	if (unlikely(n != o->n))
		drop_rest(w, &o->m[n], o->n - n);
	o->n = 0;
	h->filled &= ~RTE_BIT64(to);
	h->told |= RTE_BIT64(to);
}

void
outbox_put(struct worker *w, unsigned to, struct rte_mbuf *m)
{
	struct outbox *o = &w->handoff.outbox[to];

	o->m[o->n++] = m;
	w->handoff.filled |= RTE_BIT64(to);
	if (o->n == BURST)
		empty_outbox(w, to);
}

void
outbox_pass(struct worker *w)
{
	struct handoff *h = &w->handoff;

	while (h->filled != 0)
		empty_outbox(w, (unsigned)__builtin_ctzll(h->filled));
	if (h->told == 0)
		return;
	sleep_wake_fence();
	for (uint64_t told = h->told; told != 0; told &= told - 1)
		sleep_wake_fenced(&w->peers[__builtin_ctzll(told)]->sleeper);
	h->told = 0;
}
