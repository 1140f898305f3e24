#include "link/hearsay.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "packet/packet.h"
#include "packet/sleep.h"
#include "packet/worker_state.h"

void
hearsay_pass(struct worker *w, enum upf_port port, const struct rte_mbuf *m)
{
	for (unsigned i = 0; i < w->workers; i++) {
		struct rte_mbuf *copy;

		if (i == w->index)
			continue;
		copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
		if (copy == NULL)
			return; // the asker asks again
		((struct pkt *)rte_mbuf_to_priv(copy))->kind = (uint8_t)(PKT_KIND_HEARSAY + port);
		if (rte_ring_mp_enqueue(w->peers[i]->handoff, copy) != 0)
			rte_pktmbuf_free(copy);
		else
			sleep_wake(&w->peers[i]->sleeper);
	}
}
