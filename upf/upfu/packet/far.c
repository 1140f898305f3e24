// What the FAR of the matched PDR says (TS 29.244 5.2.3), and whether the packet may go where it
// sends it. The packet itself is not touched yet: what is counted by the URRs afterwards is what
// leaves.
#include "packet/far.h"

#include "link/port.h"
#include "packet/buffer.h"
#include "packet/duplicate.h"
#include "packet/icmp_error.h"
#include "packet/ipv6.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/redirect.h"
#include "packet/stages.h"
#include "packet/worker_state.h"
#include "rules/session.h"

// May rewrite.c cut it? IPv6 packets only their senders cut (RFC 8200 5); a packet that was put
// together here had been cut by its sender.
static bool
may_be_cut(const struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);

	if (p->fragment == PKT_REASSEMBLED)
		return !p->ip6 || !ipv6_is_extension(((const struct ipv6_header *)ip)->next);
	return !p->ip6 && (ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG)) == 0;
}

// Perhaps longer than what the way out takes: now exactly.
static __attribute__((noinline)) int
far_too_long(struct worker *w, const struct pkt *p)
{
	uint16_t mtu = w->port[p->pdr->port].mtu, length = outer_length(p);

	if (p->ip_len + length <= mtu || may_be_cut(p))
		return PKT_NEXT;
	return icmp_too_big(w, p, (uint16_t)(mtu - length));
}

// Anything but to forward the packet and no more.
static __attribute__((noinline)) int
far_unusual(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;

	if ((pdr->action & UPF_FAR_DUPL) != 0 && !p->released)
		duplicate_packet(w, p);
	if ((pdr->flags & PDR_REDIRECT) != 0)
		return redirect_packet(w, p);
	if ((pdr->action & UPF_FAR_FORW) != 0)
		return PKT_NEXT;
	if ((pdr->action & UPF_FAR_BUFF) != 0)
		return buffer_hold(w, p, (pdr->action & UPF_FAR_NOCP) != 0);
	return (pdr->action & UPF_FAR_DROP) != 0 ? UPF_DROP_FAR_DROP : UPF_DROP_FAR_NO_TUNNEL;
}

// May it go there, out of N6 without outer headers? Also: does it have a hop left?
static __attribute__((noinline)) int
far_check6(struct worker *w, const struct pkt *p)
{
	const struct ipv6_header *ip = (const struct ipv6_header *)pkt_ip(p);

	if (ip->hop_limit <= 1)
		return icmp_refuse(w, p, UPF_DROP_TTL_EXCEEDED);
	if (p->pdr->ohc != UPF_OHC_NONE)
		return PKT_NEXT;
	if (ipv6_is_multicast(ip->dst) || ipv6_is_link_local(ip->dst) ||
		port_owns6(&w->port[p->pdr->port], ip->dst))
		return UPF_DROP_NOT_FOR_US;
	if (!w->ue_to_ue_allowed &&
		session_has_ue6(w->sessions, (enum upf_port)p->pdr->port, ip->dst))
		return icmp_refuse(w, p, UPF_DROP_UE_TO_UE);
	return PKT_NEXT;
}

static inline __attribute__((always_inline)) int
far_check4(struct worker *w, const struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);

	if (unlikely(ip->time_to_live <= 1))
		return icmp_refuse(w, p, UPF_DROP_TTL_EXCEEDED);
	if (p->pdr->ohc != UPF_OHC_NONE)
		return PKT_NEXT;
	if (unlikely(!w->ue_to_ue_allowed &&
		    session_has_ue(w->sessions, (enum upf_port)p->pdr->port, ip->dst_addr)))
		return icmp_refuse(w, p, UPF_DROP_UE_TO_UE);
	// Inside the tunnel nobody of ours listens.
	if (unlikely(port_owns(&w->port[p->pdr->port], ip->dst_addr)))
		return UPF_DROP_NOT_FOR_US;
	return PKT_NEXT;
}

static inline __attribute__((always_inline)) int
far_apply_one(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	uint32_t most = pdr->ohc != UPF_OHC_NONE ? OUTER_MOST : 0;
	int verdict;

	if (unlikely((pdr->action & (UPF_FAR_FORW | UPF_FAR_DUPL)) != UPF_FAR_FORW)) {
		verdict = far_unusual(w, p);
		if (verdict != PKT_NEXT)
			return verdict;
	}
	verdict = unlikely(p->ip6) ? far_check6(w, p) : far_check4(w, p);
	if (unlikely(verdict != PKT_NEXT))
		return verdict;
	if (unlikely(p->ip_len + most > w->port[pdr->port].mtu)) {
		verdict = far_too_long(w, p);
		if (verdict != PKT_NEXT)
			return verdict;
	}
	// Whoever waits goes first.
	if (unlikely(w->buffers.queues != 0 && !p->released && buffer_is_waiting(&w->buffers, p)))
		return buffer_hold(w, p, false);
	if (unlikely(p->released))
		buffer_passed(w, p);
	return PKT_NEXT;
}

int
far_apply(struct worker *w, struct pkt *p)
{
	return p->part->ethernet ? ethernet_far(w, p) : far_apply_one(w, p);
}

void
far_burst(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, far_apply_one);
}
