#include "packet/handoff.h"

#include <rte_ring.h>

#include "link/arp.h"
#include "link/nd.h"
#include "packet/packet.h"
#include "packet/sleep.h"
#include "packet/stages.h"
#include "packet/worker_state.h"

static int
handoff(struct worker *w, struct pkt *p)
{
	unsigned home = p->part->home;

	if (home == w->index)
		return PKT_NEXT;
	p->kind = PKT_KIND_USER;
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

// What another worker heard on a link.
static void
hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m)
{
	if (rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
		rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP))
		arp_hear(w, port, m);
	else
		nd_hear(w, port, m);
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

		if (saved->kind != PKT_KIND_USER) {
			hear(w, (enum upf_port)(saved->kind - PKT_KIND_HEARSAY), m[i]);
			rte_pktmbuf_free(m[i]);
			continue;
		}
		*p = *saved;
		p->m = m[i];
		b->live[b->n++] = p;
	}
	return n;
}
