#include "link/neigh_message.h"

#include <string.h>

#include <rte_arp.h>

#include "link/icmp6.h"
#include "link/port.h"
#include "packet/drop.h"
#include "packet/forwards_only.h"
#include "packet/ipv6.h"
#include "packet/send.h"
#include "packet/worker_state.h"

#define ANNOUNCED_MAX 64u

void
arp_send(struct worker *w, enum upf_port port, uint16_t opcode, const struct rte_ether_addr *to,
	rte_be32_t from_addr, rte_be32_t to_addr)
{
	struct rte_ether_hdr *eth;
	struct rte_arp_hdr *arp;
	struct rte_mbuf *m;

	if (worker_forwards_only(w))
		return;
	m = rte_pktmbuf_alloc(w->pool);
	if (m == NULL) {
		worker_count_drops(w, port, 0, UPF_DROP_NO_MBUF, 1);
		return;
	}
	// 60 octets: the least that Ethernet carries.
	eth = (void *)rte_pktmbuf_append(m, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN);
	if (eth == NULL) {
		worker_drop(w, port, m, UPF_DROP_NO_MBUF);
		return;
	}
	memset(eth, 0, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN);
	arp = (struct rte_arp_hdr *)(eth + 1);
	memset(&eth->dst_addr, 0xff, sizeof(eth->dst_addr));
	if (to != NULL)
		eth->dst_addr = *to;
	eth->src_addr = w->port[port].mac;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP);
	arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
	arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	arp->arp_hlen = RTE_ETHER_ADDR_LEN;
	arp->arp_plen = sizeof(rte_be32_t);
	arp->arp_opcode = rte_cpu_to_be_16(opcode);
	arp->arp_data.arp_sha = w->port[port].mac;
	arp->arp_data.arp_sip = from_addr;
	if (to != NULL)
		arp->arp_data.arp_tha = *to;
	arp->arp_data.arp_tip = to_addr;
	worker_send(w, port, m);
}

static const upf_addr all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

// RFC 4291 2.7.1.
static void
solicited_node(const uint8_t *addr, upf_addr group)
{
	const upf_addr made = {
		0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, addr[13], addr[14], addr[15]};

	memcpy(group, made, sizeof(made));
}

// RFC 2464 7.
static struct rte_ether_addr
multicast_mac(const uint8_t *group)
{
	return (struct rte_ether_addr){{0x33, 0x33, group[12], group[13], group[14], group[15]}};
}

static void
nd_send(struct worker *w, enum upf_port port, const struct rte_ether_addr *to_mac,
	const uint8_t *from, const uint8_t *to, struct nd_message *message)
{
	struct ipv6_header *ip;
	struct rte_ether_hdr *eth;
	struct rte_mbuf *m;

	if (worker_forwards_only(w))
		return;
	m = rte_pktmbuf_alloc(w->pool);
	if (m == NULL) {
		worker_count_drops(w, port, 0, UPF_DROP_NO_MBUF, 1);
		return;
	}
	eth = (void *)rte_pktmbuf_append(m, sizeof(*eth) + sizeof(*ip) + sizeof(*message));
	if (eth == NULL) {
		worker_drop(w, port, m, UPF_DROP_NO_MBUF);
		return;
	}
	eth->dst_addr = *to_mac;
	eth->src_addr = w->port[port].mac;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
	ip = (struct ipv6_header *)(eth + 1);
	*ip = (struct ipv6_header){
		.version_class_flow =
			rte_cpu_to_be_32(UINT32_C(0x60000000) | (uint32_t)w->port[port].tos << 20),
		.payload_len = rte_cpu_to_be_16(sizeof(*message)),
		.next = IPV6_ICMP,
		.hop_limit = ND_HOP_LIMIT,
	};
	memcpy(ip->src, from, sizeof(ip->src));
	memcpy(ip->dst, to, sizeof(ip->dst));
	message->units = 1;
	message->mac = w->port[port].mac;
	message->checksum = 0;
	message->checksum = (rte_be16_t)~ipv6_upper_sum(ip, message, sizeof(*message), IPV6_ICMP);
	memcpy(ip + 1, message, sizeof(*message));
	worker_send(w, port, m);
}

void
nd_solicit(
	struct worker *w, enum upf_port port, const uint8_t *addr, const struct rte_ether_addr *to)
{
	struct nd_message message = {
		.type = ICMP6_NEIGHBOUR_SOLICITATION, .option = ND_OPTION_SOURCE};
	struct rte_ether_addr mac;
	upf_addr from, group;

	memcpy(from, w->port[port].address6, sizeof(from));
	if (ipv6_is_link_local(addr))
		port_link_local(&w->port[port], from);
	memcpy(message.target, addr, sizeof(message.target));
	solicited_node(addr, group);
	mac = to != NULL ? *to : multicast_mac(group);
	nd_send(w, port, &mac, from, to != NULL ? addr : group, &message);
}

static void
nd_announce(struct worker *w, enum upf_port port, unsigned max)
{
	const struct port *in = &w->port[port];
	struct rte_ether_addr mac = multicast_mac(all_nodes);
	upf_addr addr;

	memcpy(addr, in->address6, sizeof(addr));
	for (unsigned i = 0; i < max && prefix6_has(&in->own6, addr); i++) {
		struct nd_message message = {
			.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
			.flags = ND_NA_OVERRIDE,
			.option = ND_OPTION_TARGET,
		};

		memcpy(message.target, addr, sizeof(addr));
		nd_send(w, port, &mac, addr, all_nodes, &message);
		// The next address; blocks end within the last two octets (config.h).
		if (++addr[15] == 0 && ++addr[14] == 0)
			break;
	}
}

void
nd_answer(struct worker *w, enum upf_port port, const struct rte_ether_addr *eth_from,
	const struct ipv6_header *ip, const uint8_t *target, const struct rte_ether_addr *mac)
{
	struct nd_message message = {
		.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
		.flags = ND_NA_SOLICITED | ND_NA_OVERRIDE,
		.option = ND_OPTION_TARGET,
	};
	struct rte_ether_addr to = mac != NULL ? *mac : *eth_from;
	const uint8_t *to_addr = ip->src;

	memcpy(message.target, target, sizeof(message.target));
	if (ipv6_is_unspecified(
		    ip->src)) { // somebody wants to take the address: everybody hears no
		message.flags = ND_NA_OVERRIDE;
		to_addr = all_nodes;
		to = multicast_mac(all_nodes);
	}
	nd_send(w, port, &to, target, to_addr, &message);
}

void
neigh_announce(struct worker *w, enum upf_port port)
{
	const struct port *in = &w->port[port];
	uint32_t first = in->own, last = first | ~in->own_mask;

	if (in->own_mask != 0) {
		for (uint32_t addr = first; addr <= last && addr - first < ANNOUNCED_MAX; addr++)
			arp_send(w, port, RTE_ARP_OP_REQUEST, NULL, rte_cpu_to_be_32(addr),
				rte_cpu_to_be_32(addr));
	}
	if (in->ip6)
		nd_announce(w, port, ANNOUNCED_MAX);
}
