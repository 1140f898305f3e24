// The user's packet, wherever it came from: family, length, and where its ports are.
#ifndef UPFU_USER_HEADER_H
#define UPFU_USER_HEADER_H

#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "upf_abi.h"

// Of a valid IPv6 packet of p->ip_len octets at p->ip. PKT_NEXT, or `reason`.
static inline int
user_header6(struct pkt *p, enum upf_drop reason)
{
	const struct ipv6_header *ip =
		rte_pktmbuf_mtod_offset(p->m, const struct ipv6_header *, p->ip);
	struct ipv6_chain chain;

	p->ip6 = 1;
	if (unlikely(!ipv6_walk(ip, p->ip_len, &chain)))
		return (int)reason;
	p->proto = chain.proto;
	p->l4 = chain.later ? 0 : chain.l4;
	p->fragment = !ipv6_is_fragment(ip, &chain) ? PKT_WHOLE
		: chain.later                       ? PKT_LATER
						    : PKT_FIRST;
	return PKT_NEXT;
}

static inline uint8_t
user_fragment4(const struct rte_ipv4_hdr *ip)
{
	if (likely((ip->fragment_offset &
			   rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) == 0))
		return PKT_WHOLE;
	return (ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) == 0 ? PKT_FIRST
										       : PKT_LATER;
}

// Of what came in a tunnel: nothing of it was looked at before.
static inline int
user_header(struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	uint32_t room = rte_pktmbuf_data_len(p->m) - p->ip;

	p->ip_len = ipv4_valid_length(ip, room);
	if (likely(p->ip_len != 0)) {
		p->ip6 = 0;
		p->fragment = user_fragment4(ip);
		return PKT_NEXT;
	}
	p->ip_len = ipv6_valid_length((const struct ipv6_header *)ip, room);
	if (p->ip_len == 0)
		return UPF_DROP_MALFORMED_INNER;
	return user_header6(p, UPF_DROP_MALFORMED_INNER);
}

#endif
