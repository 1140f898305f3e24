#include "link/hearsay.h"

#include <rte_mbuf.h>

#include "packet/outbox.h"
#include "packet/packet.h"
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
		outbox_put(w, i, copy);
	}
}
