#include "packet/outer.h"

#include "packet/gtpu_header.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/user_header.h"
#include "packet/worker_state.h"
#include "rules/session.h"

// ---- creation ----------------------------------------------------------------------------------

static void
fill_ip6(struct ipv6_header *ip, const struct pkt *p, uint8_t next, uint16_t payload)
{
	const struct pdr_more *more = pdr_more(p->part, p->pdr);

	*ip = (struct ipv6_header){
		.version_class_flow =
			rte_cpu_to_be_32(UINT32_C(0x60000000) | (uint32_t)p->pdr->tos << 20),
		.payload_len = rte_cpu_to_be_16(payload),
		.next = next,
		.hop_limit = 64,
	};
	memcpy(ip->src, more->local, sizeof(ip->src));
	memcpy(ip->dst, more->peer, sizeof(ip->dst));
}

void
outer_addresses(const struct part *part, const struct pdr *pdr, upf_addr local, upf_addr peer)
{
	if (pdr->ohc == UPF_OHC_GTPU6) {
		memcpy(local, pdr_more(part, pdr)->local, sizeof(upf_addr));
		memcpy(peer, pdr_more(part, pdr)->peer, sizeof(upf_addr));
		return;
	}
	memcpy(local, &pdr->local4, sizeof(pdr->local4));
	memcpy(peer, &pdr->peer4, sizeof(pdr->peer4));
}

void
outer_mark_psc(struct gtpu_psc *psc, const struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	uint8_t *rest = &psc->next;

	if (pdr->direction == UPF_UL)
		return;
	psc->qfi |= p->rqi;
	if ((pdr->mark & PDR_RQI) != 0)
		psc->qfi |= GTPU_PSC_RQI;
	if ((pdr->mark & PDR_PPI) == 0)
		return;
	psc->units = 2;
	psc->qfi |= GTPU_PSC_PPP;
	memset(rest, 0, sizeof(*rest) + OUTER_PPI);
	rest[0] = (uint8_t)(pdr->ppi << 5);
}

// RFC 6935: a tunnel may do without the checksum that UDP over IPv6 wants.
static void
seal_udp6(const struct worker *w, const struct ipv6_header *ip, struct rte_udp_hdr *udp)
{
	if (!w->config->udp6_zero_checksum)
		udp->dgram_cksum = udp6_checksum(ip, udp);
}

static bool
push_gtpu6(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	uint8_t qfi = outer_qfi(p);
	uint16_t length = outer_length(p);
	uint16_t payload = (uint16_t)(p->ip_len + length - sizeof(struct ipv6_header));
	struct ipv6_header *ip = (void *)rte_pktmbuf_prepend(p->m, length);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	struct rte_gtp_hdr *gtp = (struct rte_gtp_hdr *)(udp + 1);
	struct rte_gtp_hdr_ext_word *word = (struct rte_gtp_hdr_ext_word *)(gtp + 1);

	if (unlikely(ip == NULL))
		return false;
	fill_ip6(ip, p, IPPROTO_UDP, payload);
	outer_fill_udp(udp, GTPU_PORT, pdr->peer_port, payload);
	outer_fill_gtpu(gtp, pdr, qfi != 0,
		(uint16_t)(payload - sizeof(struct rte_udp_hdr) - sizeof(struct rte_gtp_hdr)));
	if (qfi != 0)
		outer_fill_psc(word, (struct gtpu_psc *)(word + 1), p, qfi);
	seal_udp6(w, ip, udp);
	return true;
}

// UDP or nothing between the outer IP header and the packet.
static bool
push_plain(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	bool has_udp = pdr->ohc == UPF_OHC_UDP4 || pdr->ohc == UPF_OHC_UDP6;
	uint8_t proto = has_udp ? IPPROTO_UDP : p->ip6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	uint16_t length = outer_length(p), total = (uint16_t)(p->ip_len + length);
	void *head = rte_pktmbuf_prepend(p->m, length);
	struct rte_udp_hdr *udp;

	if (unlikely(head == NULL))
		return false;
	if (outer_is_ipv6(pdr->ohc)) {
		total = (uint16_t)(total - sizeof(struct ipv6_header));
		fill_ip6(head, p, proto, total);
		udp = (struct rte_udp_hdr *)((struct ipv6_header *)head + 1);
		if (has_udp) {
			outer_fill_udp(udp, pdr->peer_port, pdr->peer_port, total);
			seal_udp6(w, head, udp);
		}
		return true;
	}
	outer_fill_ip4(head, pdr, proto, total);
	udp = (struct rte_udp_hdr *)((struct rte_ipv4_hdr *)head + 1);
	if (has_udp)
		outer_fill_udp(udp, pdr->peer_port, pdr->peer_port,
			(uint16_t)(total - sizeof(struct rte_ipv4_hdr)));
	return true;
}

bool
outer_push(struct worker *w, struct pkt *p)
{
	if (likely(p->pdr->ohc == UPF_OHC_GTPU4))
		return outer_push_gtpu4(p, outer_length(p));
	return p->pdr->ohc == UPF_OHC_GTPU6 ? push_gtpu6(w, p) : push_plain(w, p);
}

uint16_t
outer_of_frame(uint8_t ohc, const uint8_t *ip)
{
	uint16_t length = outer_fixed[ohc];
	const struct rte_gtp_hdr *gtp;
	const struct rte_gtp_hdr_ext_word *word;

	if (ohc != UPF_OHC_GTPU4 && ohc != UPF_OHC_GTPU6)
		return length;
	gtp = (const void *)(ip + length - sizeof(*gtp));
	word = (const void *)(gtp + 1);
	if ((gtp->gtp_hdr_info & GTPU_FLAG_E) != 0)
		length += sizeof(*word) +
			(uint16_t)(((const struct gtpu_psc *)(word + 1))->units * 4);
	return length;
}

// ---- removal -----------------------------------------------------------------------------------

// An IP header and, if udp, a UDP header off the front. The rest must be a whole IP packet.
static int
remove_ip(struct pkt *p, bool ip6, bool udp)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	uint8_t proto = ip6 ? p->proto : ip->next_proto_id;
	uint16_t head = ip6 ? p->l4 : rte_ipv4_hdr_len(ip);
	uint16_t end = p->ip_len;

	if ((p->ip6 != 0) != ip6 || p->fragment == PKT_FIRST || p->fragment == PKT_LATER)
		return UPF_DROP_OUTER_HEADER;
	if (udp ? proto != IPPROTO_UDP : proto != IPPROTO_IPIP && proto != IPPROTO_IPV6)
		return UPF_DROP_OUTER_HEADER;
	if (udp)
		head = (uint16_t)(head + sizeof(struct rte_udp_hdr));
	if (head >= end)
		return UPF_DROP_OUTER_HEADER;
	// What the outer packet does not hold, the inner one cannot have.
	if (rte_pktmbuf_data_len(p->m) > p->ip + end)
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip - end));
	p->ip = (uint16_t)(p->ip + head);
	return user_header(p) == PKT_NEXT ? PKT_NEXT : UPF_DROP_OUTER_HEADER;
}

int
outer_remove_more(struct pkt *p)
{
	switch ((enum outer_removal)p->pdr->removal) {
	case OUTER_REMOVE_GTPU4:
		return p->tunnel && !p->outer6 ? PKT_NEXT : UPF_DROP_OUTER_HEADER;
	case OUTER_REMOVE_GTPU6:
		return p->tunnel && p->outer6 ? PKT_NEXT : UPF_DROP_OUTER_HEADER;
	case OUTER_REMOVE_GTPU:
		return p->tunnel ? PKT_NEXT : UPF_DROP_OUTER_HEADER;
	case OUTER_REMOVE_UDP4:
		return remove_ip(p, false, true);
	case OUTER_REMOVE_UDP6:
		return remove_ip(p, true, true);
	case OUTER_REMOVE_IP4:
		return remove_ip(p, false, false);
	case OUTER_REMOVE_IP6:
		return remove_ip(p, true, false);
	}
	return UPF_DROP_OUTER_HEADER;
}
