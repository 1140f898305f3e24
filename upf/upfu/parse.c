// From a frame to a user packet and the key of its session. What is addressed to the UPF itself is
// answered here and goes no further. The user's own header (inside GTP-U) is checked later, when it
// is certain that there is a session.
#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_udp.h>

#include "stages.h"

static int
parse_n3(struct worker *w, struct pkt *p, struct rte_ipv4_hdr *ip, uint16_t ip_len)
{
	if (!port_owns(&w->port[UPF_PORT_N3], ip->dst_addr))
		return UPF_DROP_NOT_FOR_US;
	if (ipv4_is_fragment(ip))
		return UPF_DROP_FRAGMENT;
	if (unlikely(ip->next_proto_id == IPPROTO_ICMP))
		return icmp_input(w, p->m, UPF_PORT_N3, ip_len);
	if (ip->next_proto_id != IPPROTO_UDP)
		return UPF_DROP_UNKNOWN_PORT;
	return gtpu_input(w, p, ip, ip_len);
}

static int
parse_n6(struct worker *w, struct pkt *p, struct rte_ipv4_hdr *ip, uint16_t ip_len)
{
	if (unlikely(port_owns(&w->port[UPF_PORT_N6], ip->dst_addr))) {
		if (ipv4_is_fragment(ip))
			return UPF_DROP_FRAGMENT;
		if (ip->next_proto_id == IPPROTO_ICMP)
			return icmp_input(w, p->m, UPF_PORT_N6, ip_len);
		return UPF_DROP_UNKNOWN_PORT;
	}
	if (unlikely(rte_be_to_cpu_32(ip->dst_addr) >= UINT32_C(0xe0000000) || ip->dst_addr == 0))
		return UPF_DROP_NOT_FOR_US;
	p->ip = sizeof(struct rte_ether_hdr);
	p->ip_len = ip_len;
	p->tunnel = 0;
	p->qfi = 0;
	p->key = ue_key(ip->dst_addr);
	return PKT_NEXT;
}

static inline __attribute__((always_inline)) int
parse_frame(struct worker *w, struct pkt *p, enum upf_port port)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	uint32_t len = rte_pktmbuf_data_len(p->m);
	uint16_t ip_len;

	if (unlikely(len < sizeof(*eth)))
		return UPF_DROP_MALFORMED_ETHERNET;
	if (unlikely(p->m->nb_segs != 1))
		return UPF_DROP_TOO_BIG;
	if (unlikely(eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP)))
		return neigh_input(w, port, p->m);
	if (unlikely(eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)))
		return UPF_DROP_UNKNOWN_ETHERTYPE;
	// A bridge floods frames for others to us; they are not ours to forward.
	if (unlikely(!rte_is_same_ether_addr(&eth->dst_addr, &w->port[port].mac)))
		return UPF_DROP_NOT_FOR_US;
	ip_len = ipv4_valid_length(ip, len - sizeof(*eth));
	if (unlikely(ip_len == 0))
		return UPF_DROP_MALFORMED_IP;
	// Ethernet pads short frames.
	if (unlikely(len > sizeof(*eth) + ip_len))
		rte_pktmbuf_trim(p->m, (uint16_t)(len - sizeof(*eth) - ip_len));
	return port == UPF_PORT_N3 ? parse_n3(w, p, ip, ip_len) : parse_n6(w, p, ip, ip_len);
}

static int
parse_n3_frame(struct worker *w, struct pkt *p)
{
	return parse_frame(w, p, UPF_PORT_N3);
}

static int
parse_n6_frame(struct worker *w, struct pkt *p)
{
	return parse_frame(w, p, UPF_PORT_N6);
}

void
parse_burst(struct worker *w, struct burst *b, enum upf_port port)
{
	if (port == UPF_PORT_N3)
		burst_each(w, b, parse_n3_frame);
	else
		burst_each(w, b, parse_n6_frame);
}
