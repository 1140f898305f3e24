#include "packet/bridge.h"
#include "packet/buffer.h"
#include "packet/drop.h"
#include "packet/end_marker.h"
#include "packet/ethernet_frame.h"
#include "packet/packet.h"
#include "packet/rewrite.h"
#include "packet/stages.h"
#include "packet/trace.h"
#include "packet/urr.h"
#include "packet/usage.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// What trace.h wants is a burst.
static __attribute__((noinline)) void
trace_one(struct worker *w, struct pkt *p, enum upf_stage stage)
{
	struct burst b = {.n = 1, .live = {p}};

	trace_burst(w, &b, stage);
}

static inline void
trace(struct worker *w, struct pkt *p, enum upf_stage stage)
{
	if (unlikely(w->trace != NULL))
		trace_one(w, p, stage);
}

int
ethernet_far(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;

	if ((pdr->action & UPF_FAR_FORW) == 0) {
		if ((pdr->action & UPF_FAR_BUFF) != 0)
			return buffer_hold(w, p, (pdr->action & UPF_FAR_NOCP) != 0);
		return (pdr->action & UPF_FAR_DROP) != 0 ? UPF_DROP_FAR_DROP
							 : UPF_DROP_FAR_NO_TUNNEL;
	}
	// Whoever waits goes first.
	if (unlikely(w->buffers.queues != 0 && !p->released && buffer_is_waiting(&w->buffers, p)))
		return buffer_hold(w, p, false);
	if (unlikely(p->released))
		buffer_passed(w, p);
	return PKT_NEXT;
}

int
ethernet_leave(struct worker *w, struct pkt *p)
{
	int verdict = ethernet_far(w, p);
	const struct part *part = p->part;
	const struct pdr *pdr;
	uint16_t octets = p->ip_len;

	if (verdict != PKT_NEXT)
		return verdict;
	trace(w, p, UPF_STAGE_FAR);
	verdict = urr_apply(w, p);
	if (verdict != PKT_NEXT)
		return verdict;
	trace(w, p, UPF_STAGE_URR);
	pdr = p->pdr;
	verdict = pdr->ohc != UPF_OHC_NONE ? rewrite_frame(w, p) : bridge_from_session(w, p);
	if (verdict == PKT_TAKEN)
		shm_add(&w->stats->forwarded[pdr->direction], 1);
	else
		urr_take_back(w, part, pdr, octets);
	return verdict;
}

int
ethernet_take(struct worker *w, struct pkt *p)
{
	struct ethernet_frame frame;
	int verdict;

	if (unlikely(p->tunnel == PKT_END_MARKER))
		return end_marker_take(w, p);
	if (p->tunnel)
		p->ip_len = (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip);
	if (!ethernet_frame_read(&frame, pkt_ip(p), p->ip_len) ||
		rte_is_multicast_ether_addr(&frame.header->src_addr))
		return UPF_DROP_MALFORMED_FRAME;
	p->pdr = ethernet_find_pdr(p->part, &frame, p->tunnel ? p->key : 0, p->qfi);
	if (p->pdr == NULL)
		return UPF_DROP_NO_PDR;
	trace(w, p, UPF_STAGE_PDR);
	verdict = qer_apply(w, p);
	if (verdict != PKT_NEXT)
		return verdict;
	trace(w, p, UPF_STAGE_QER);
	return ethernet_leave(w, p);
}
