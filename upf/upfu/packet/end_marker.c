// End Markers that come in a tunnel which goes on in another one (TS 29.281 5.1, TS 23.501 5.8.2.9): from the source
// of a handover on their way to its target, or down from N9. They go the way of the packets that they end, up to the
// session's worker, and leave behind those of their burst.
#include "packet/end_marker.h"

#include "packet/gtpu.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "rules/session.h"

static bool
goes_on(const struct pdr *pdr)
{
	return pdr->direction == UPF_DL && (pdr->action & UPF_FAR_FORW) != 0 &&
		(pdr->ohc == UPF_OHC_GTPU4 || pdr->ohc == UPF_OHC_GTPU6);
}

static const struct pdr *
way_on(const struct pkt *p)
{
	for (unsigned i = 0; i < p->part->n_pdr; i++) {
		const struct pdr *pdr = &p->part->pdr[i];

		if (pdr->fteid == p->key && goes_on(pdr))
			return pdr;
	}
	return NULL;
}

int
end_marker_take(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = way_on(p);
	struct upf_end_marker *marker = &w->end_markers.marker[w->end_markers.n];

	if (pdr != NULL && w->end_markers.n < BURST) {
		*marker = (struct upf_end_marker){
			.teid = rte_be_to_cpu_32(pdr->out_teid),
			.peer_port = pdr->peer_port,
			.ohc = pdr->ohc,
			.qfi = p->qfi,
		};
		outer_addresses(p->part, pdr, marker->local_addr, marker->peer_addr);
		w->end_markers.n++;
	}
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}

void
end_markers_leave(struct worker *w)
{
	for (unsigned i = 0; i < w->end_markers.n; i++)
		gtpu_send_end_marker(w, &w->end_markers.marker[i]);
	w->end_markers.n = 0;
}
