// What the FAR of the matched PDR says (TS 29.244 5.2.3), and whether the packet may go where it
// sends it. The packet itself is not touched yet: what is counted by the URRs afterwards is what
// leaves.
#include "stages.h"

#include "gtpu.h"
#include "shm.h"

int
far_apply(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	const struct rte_ipv4_hdr *ip = pkt_ip(p);

	if (unlikely((pdr->action & UPF_FAR_FORW) == 0)) {
		if ((pdr->action & UPF_FAR_BUFF) != 0)
			return buffer_hold(w, p, (pdr->action & UPF_FAR_NOCP) != 0);
		return pdr->action == 0 ? UPF_DROP_FAR_NO_TUNNEL : UPF_DROP_FAR_DROP;
	}
	if (unlikely(ip->time_to_live <= 1))
		return UPF_DROP_TTL_EXCEEDED;
	if (pdr->ohc != UPF_OHC_NONE) {
		if (unlikely(p->ip_len + gtpu_overhead(pdr) > w->port[pdr->port].mtu))
			return UPF_DROP_TOO_BIG;
	} else {
		if (unlikely(p->ip_len > w->port[UPF_PORT_N6].mtu))
			return UPF_DROP_TOO_BIG;
		if (unlikely(!w->ue_to_ue_allowed && session_has_ue(w->sessions, ip->dst_addr)))
			return UPF_DROP_UE_TO_UE;
		// Inside the tunnel nobody of ours listens.
		if (unlikely(port_owns(&w->port[UPF_PORT_N6], ip->dst_addr)))
			return UPF_DROP_NOT_FOR_US;
	}
	// Whoever waits goes first.
	if (unlikely(w->buffers.queues != 0 && !p->released && buffer_is_waiting(&w->buffers, p)))
		return buffer_hold(w, p, false);
	if (unlikely(p->released))
		shm_add(&w->stats->local.buffered_released, 1);
	return PKT_NEXT;
}

void
far_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, far_apply);
}
