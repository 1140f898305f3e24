// From a frame to a user packet and the key of its session. What is addressed to the UPF itself is
// answered here and goes no further. The user's own header (inside GTP-U) is checked later, when it
// is certain that there is a session.
//
// An untagged IPv4 frame takes the short way through parse_frame(); everything else (VLAN tags, IPv6,
// ARP) goes through parse_other(), out of line.
#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_udp.h>

#include "link/arp.h"
#include "link/icmp.h"
#include "link/icmp6.h"
#include "link/port.h"
#include "link/vlan.h"
#include "packet/bridge.h"
#include "packet/gtpu.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/reassembly.h"
#include "packet/stages.h"
#include "packet/user_header.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/session.h"

// ---- IPv4 ------------------------------------------------------------------------------------

// A fragment for one of our own addresses: PKT_NEXT with the whole packet, or a verdict.
static __attribute__((noinline)) int
make_whole4(struct worker *w, struct pkt *p)
{
	return reassembly_take(w, p, sizeof(struct rte_ether_hdr));
}

static inline __attribute__((always_inline)) int
parse_gtpu4(struct worker *w, struct pkt *p, enum upf_port port, const struct rte_ipv4_hdr *ip,
	uint16_t ip_len)
{
	uint16_t header;

	if (!port_owns(&w->port[port], ip->dst_addr))
		return UPF_DROP_NOT_FOR_US;
	if (unlikely(ipv4_is_fragment(ip))) {
		int verdict = make_whole4(w, p);

		if (verdict != PKT_NEXT)
			return verdict;
		ip = rte_pktmbuf_mtod_offset(
			p->m, const struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
		ip_len = rte_be_to_cpu_16(ip->total_length);
	}
	if (unlikely(ip->next_proto_id == IPPROTO_ICMP))
		return icmp_input(w, p->m, port, ip_len);
	if (ip->next_proto_id != IPPROTO_UDP)
		return UPF_DROP_UNKNOWN_PORT;
	header = rte_ipv4_hdr_len(ip);
	p->outer6 = 0;
	return gtpu_input(w, p, (const struct rte_udp_hdr *)((const uint8_t *)ip + header),
		(uint16_t)(ip_len - header), rte_be_to_cpu_32(ip->dst_addr));
}

static __attribute__((noinline)) int
parse_own4(struct worker *w, struct pkt *p, enum upf_port port, const struct rte_ipv4_hdr *ip)
{
	if (ipv4_is_fragment(ip)) {
		int verdict = make_whole4(w, p);

		if (verdict != PKT_NEXT)
			return verdict;
		ip = rte_pktmbuf_mtod_offset(
			p->m, const struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	}
	if (ip->next_proto_id == IPPROTO_ICMP)
		return icmp_input(w, p->m, port, rte_be_to_cpu_16(ip->total_length));
	return UPF_DROP_UNKNOWN_PORT;
}

static inline __attribute__((always_inline)) int
parse_n6_4(struct worker *w, struct pkt *p, enum upf_port port, const struct rte_ipv4_hdr *ip,
	uint16_t ip_len)
{
	if (unlikely(port_owns(&w->port[port], ip->dst_addr)))
		return parse_own4(w, p, port, ip);
	if (unlikely(rte_be_to_cpu_32(ip->dst_addr) >= UINT32_C(0xe0000000) || ip->dst_addr == 0))
		return UPF_DROP_NOT_FOR_US;
	p->ip = sizeof(struct rte_ether_hdr);
	p->ip_len = ip_len;
	p->tunnel = 0;
	p->qfi = 0;
	p->rqi = 0;
	p->ip6 = 0;
	p->fragment = user_fragment4(ip);
	p->key = ue_key(ip->dst_addr);
	return PKT_NEXT;
}

static inline __attribute__((always_inline)) int
parse_ipv4(struct worker *w, struct pkt *p, enum upf_port port)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	uint32_t len = rte_pktmbuf_data_len(p->m);
	uint16_t ip_len;

	// A bridge floods frames for others to us; they are not ours to forward.
	if (unlikely(!rte_is_same_ether_addr(&eth->dst_addr, &w->port[port].mac)))
		return UPF_DROP_NOT_FOR_US;
	ip_len = ipv4_valid_length(ip, len - sizeof(*eth));
	if (unlikely(ip_len == 0))
		return UPF_DROP_MALFORMED_IP;
	// Ethernet pads short frames.
	if (unlikely(len > sizeof(*eth) + ip_len))
		rte_pktmbuf_trim(p->m, (uint16_t)(len - sizeof(*eth) - ip_len));
	return port >= UPF_PORT_N6 ? parse_n6_4(w, p, port, ip, ip_len)
				   : parse_gtpu4(w, p, port, ip, ip_len);
}

// ---- IPv6 ------------------------------------------------------------------------------------

// RFC 8200 8.1: over IPv6 the UDP checksum is there and right; RFC 6935 lets a tunnel go without.
static bool
udp6_is_valid(const struct worker *w, const struct rte_mbuf *m, const struct ipv6_header *ip,
	const struct rte_udp_hdr *udp, uint16_t room)
{
	uint16_t length;

	if (room < sizeof(*udp))
		return false;
	length = rte_be_to_cpu_16(udp->dgram_len);
	if (length < sizeof(*udp) || length > room)
		return false;
	if (udp->dgram_cksum == 0)
		return w->config->udp6_zero_checksum;
	if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return true;
	return ipv6_upper_sum(ip, udp, length, IPPROTO_UDP) == 0xffff;
}

// To one of our own addresses, or to a group.
static int
parse_own6(struct worker *w, struct pkt *p, enum upf_port port)
{
	const struct ipv6_header *ip = rte_pktmbuf_mtod_offset(
		p->m, const struct ipv6_header *, sizeof(struct rte_ether_hdr));
	uint16_t ip_len = (uint16_t)(sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len));
	struct ipv6_chain chain;
	const uint8_t *l4;
	uint16_t room;
	bool was_cut;

	if (!ipv6_walk(ip, ip_len, &chain))
		return UPF_DROP_MALFORMED_IP;
	was_cut = chain.fragment != 0;
	if (was_cut) {
		int verdict = reassembly_take(w, p, sizeof(struct rte_ether_hdr));

		if (verdict != PKT_NEXT)
			return verdict;
		ip = rte_pktmbuf_mtod_offset(
			p->m, const struct ipv6_header *, sizeof(struct rte_ether_hdr));
		ip_len = (uint16_t)(sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len));
		if (!ipv6_walk(ip, ip_len, &chain) || chain.fragment != 0)
			return UPF_DROP_MALFORMED_IP;
	}
	l4 = (const uint8_t *)ip + chain.l4;
	room = (uint16_t)(ip_len - chain.l4);
	if (chain.proto == IPV6_ICMP) {
		// RFC 6980 5: what watches links must be able to read it.
		if (was_cut && room != 0 && nd_is_message(*l4))
			return UPF_DROP_MALFORMED_ND;
		return icmp6_input(w, p->m, port, l4, room);
	}
	if (ipv6_is_multicast(ip->dst))
		return UPF_DROP_NOT_FOR_US;
	if (chain.proto != IPPROTO_UDP || port >= UPF_PORT_N6)
		return UPF_DROP_UNKNOWN_PORT;
	if (!udp6_is_valid(w, p->m, ip, (const void *)l4, room))
		return UPF_DROP_MALFORMED_IP;
	p->outer6 = 1;
	return gtpu_input(
		w, p, (const void *)l4, room, (uint32_t)(gtpu_key6(port, ip->dst, 0) >> 32));
}

static bool
is_own6(const struct port *port, const uint8_t *addr)
{
	upf_addr link_local;

	port_link_local(port, link_local);
	return port_owns6(port, addr) ||
		(port->ip6 && memcmp(addr, link_local, sizeof(link_local)) == 0);
}

static int
parse_ipv6(struct worker *w, struct pkt *p, enum upf_port port)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	const struct ipv6_header *ip = (const struct ipv6_header *)(eth + 1);
	uint32_t len = rte_pktmbuf_data_len(p->m);
	uint16_t ip_len;

	if (!rte_is_same_ether_addr(&eth->dst_addr, &w->port[port].mac) &&
		(eth->dst_addr.addr_bytes[0] != 0x33 || eth->dst_addr.addr_bytes[1] != 0x33))
		return UPF_DROP_NOT_FOR_US;
	ip_len = ipv6_valid_length(ip, len - sizeof(*eth));
	if (unlikely(ip_len == 0 || ipv6_is_multicast(ip->src)))
		return UPF_DROP_MALFORMED_IP;
	if (len > sizeof(*eth) + ip_len)
		rte_pktmbuf_trim(p->m, (uint16_t)(len - sizeof(*eth) - ip_len));
	if (is_own6(&w->port[port], ip->dst) || (w->port[port].ip6 && ipv6_is_multicast(ip->dst)))
		return parse_own6(w, p, port);
	if (port < UPF_PORT_N6 || ipv6_is_multicast(ip->dst) || ipv6_is_link_local(ip->dst) ||
		ipv6_is_link_local(ip->src) || !rte_is_unicast_ether_addr(&eth->dst_addr))
		return UPF_DROP_NOT_FOR_US;
	p->ip = sizeof(*eth);
	p->ip_len = ip_len;
	p->tunnel = 0;
	p->qfi = 0;
	p->rqi = 0;
	p->key = ipv6_prefix64(ip->dst);
	if (p->key <= UINT32_MAX)
		return UPF_DROP_NOT_FOR_US; // ::/32: nobody's, and keys of IPv4 addresses look so
	return user_header6(p, UPF_DROP_MALFORMED_IP);
}

// ---- frames ----------------------------------------------------------------------------------

static __attribute__((noinline)) int
parse_other(struct worker *w, struct pkt *p, enum upf_port port)
{
	const struct rte_ether_hdr *eth;

	if (w->port[port].bridge)
		return bridge_receive(w, p);
	if (!vlan_accept(&w->port[port], p->m))
		return UPF_DROP_OTHER_VLAN;
	eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	switch (rte_be_to_cpu_16(eth->ether_type)) {
	case RTE_ETHER_TYPE_IPV4:
		return parse_ipv4(w, p, port);
	case RTE_ETHER_TYPE_IPV6:
		return parse_ipv6(w, p, port);
	case RTE_ETHER_TYPE_ARP:
		return arp_input(w, port, p->m);
	default:
		return UPF_DROP_UNKNOWN_ETHERTYPE;
	}
}

static inline __attribute__((always_inline)) int
parse_frame(struct worker *w, struct pkt *p, enum upf_port port)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);

	if (unlikely(rte_pktmbuf_data_len(p->m) < sizeof(*eth)))
		return UPF_DROP_MALFORMED_ETHERNET;
	if (unlikely(p->m->nb_segs != 1))
		return UPF_DROP_TOO_BIG;
	if (unlikely(eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
		    w->port[port].special))
		return parse_other(w, p, port);
	return parse_ipv4(w, p, port);
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

// N9, and what is not the first network instance's.
static int
parse_any_frame(struct worker *w, struct pkt *p)
{
	return parse_frame(w, p, (enum upf_port)p->port);
}

void
parse_any_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, parse_any_frame);
}

void
parse_burst(struct worker *w, struct burst *b, enum upf_port port)
{
	if (port == UPF_PORT_N3)
		burst_each(w, b, parse_n3_frame);
	else if (port == UPF_PORT_N6 && !w->port[port].shared)
		burst_each(w, b, parse_n6_frame);
	else
		parse_any_burst(w, b);
}
