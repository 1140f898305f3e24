#include "packet/handoff.h"

#include <rte_ring.h>

#include "packet/stages.h"

#define KIND_PACKET 0u
#define KIND_ARP 1u // + the port

static int
handoff(struct worker *w, struct pkt *p)
{
	unsigned home = p->part->home;

	if (home == w->index)
		return PKT_NEXT;
	p->kind = KIND_PACKET;
	*(struct pkt *)rte_mbuf_to_priv(p->m) = *p;
	if (rte_ring_mp_enqueue(w->peers[home]->handoff, p->m) != 0)
		return UPF_DROP_TX_FULL;
	sleep_wake(&w->peers[home]->sleeper);
	return PKT_TAKEN;
}

void
handoff_burst(struct worker *w, struct burst *b)
{
	if (w->workers > 1)
		burst_each_of_session(w, b, handoff);
}

void
handoff_arp(struct worker *w, enum upf_port port, struct rte_mbuf *m)
{
	for (unsigned i = 0; i < w->workers; i++) {
		struct rte_mbuf *copy;

		if (i == w->index)
			continue;
		copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
		if (copy == NULL)
			return; // the asker asks again
		((struct pkt *)rte_mbuf_to_priv(copy))->kind = (uint8_t)(KIND_ARP + port);
		if (rte_ring_mp_enqueue(w->peers[i]->handoff, copy) != 0)
			rte_pktmbuf_free(copy);
		else
			sleep_wake(&w->peers[i]->sleeper);
	}
}

unsigned
handoff_take(struct worker *w, struct burst *b)
{
	struct rte_mbuf *m[BURST];
	unsigned n = rte_ring_sc_dequeue_burst(w->handoff, (void **)m, BURST, NULL);

	b->n = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct pkt *saved = rte_mbuf_to_priv(m[i]);
		struct pkt *p = &b->pkt[b->n];

		if (saved->kind != KIND_PACKET) {
			neigh_hear(w, (enum upf_port)(saved->kind - KIND_ARP), m[i]);
			rte_pktmbuf_free(m[i]);
			continue;
		}
		*p = *saved;
		p->m = m[i];
		b->live[b->n++] = p;
	}
	return n;
}
