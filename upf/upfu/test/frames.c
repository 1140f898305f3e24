#include "frames.h"

#include <string.h>

#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_udp.h>

#include "packet/gtpu_header.h"
#include "rig.h"

static struct rte_ipv4_hdr
ip_header(const struct ip_fields *ip, uint16_t total)
{
	struct rte_ipv4_hdr h = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = ip->tos,
		.total_length = rte_cpu_to_be_16(total),
		.fragment_offset = rte_cpu_to_be_16(ip->fragment),
		.time_to_live = ip->ttl != 0 ? ip->ttl : 64,
		.next_proto_id = ip->proto != 0 ? ip->proto : IPPROTO_UDP,
		.src_addr = rte_cpu_to_be_32(ip->src),
		.dst_addr = rte_cpu_to_be_32(ip->dst),
	};

	h.hdr_checksum = rte_ipv4_cksum(&h);
	return h;
}

static void
append(struct frame *f, const void *data, size_t length)
{
	assert_true(f->length + length <= sizeof(f->data));
	if (data != NULL && length != 0)
		memcpy(f->data + f->length, data, length);
	else
		memset(f->data + f->length, 0x5a, length);
	f->length += length;
}

static void
append_ip(struct frame *f, const struct ip_fields *ip)
{
	struct rte_udp_hdr udp = {
		.src_port = rte_cpu_to_be_16(ip->sport),
		.dst_port = rte_cpu_to_be_16(ip->dport),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(udp) + ip->payload)),
	};
	struct rte_ipv4_hdr h = ip_header(ip, (uint16_t)(sizeof(h) + sizeof(udp) + ip->payload));

	append(f, &h, sizeof(h));
	append(f, &udp, sizeof(udp));
	append(f, NULL, ip->payload);
}

static void
append_eth(struct frame *f, const struct rte_ether_addr *from, uint16_t type)
{
	struct rte_ether_hdr eth = {.src_addr = *from, .ether_type = rte_cpu_to_be_16(type)};

	append(f, &eth, sizeof(eth)); // to all zeros: rig_inject() puts the port's address there
}

void
frame_ip(struct frame *f, const struct ip_fields *ip)
{
	f->length = 0;
	append_ip(f, ip);
}

void
frame_eth_ip(struct frame *f, const struct ip_fields *ip)
{
	f->length = 0;
	append_eth(f, &rig_gateway_mac, RTE_ETHER_TYPE_IPV4);
	append_ip(f, ip);
}

void
frame_gtpu(struct frame *f, uint32_t n3_addr, uint8_t flags, uint8_t type, uint32_t teid,
	const void *octets, size_t length)
{
	struct rte_gtp_hdr gtp = {
		.gtp_hdr_info = flags,
		.msg_type = type,
		.plen = rte_cpu_to_be_16((uint16_t)length),
		.teid = rte_cpu_to_be_32(teid),
	};
	struct ip_fields outer = {
		.src = RIG_GNB,
		.dst = n3_addr,
		.sport = 2152,
		.dport = 2152,
		.payload = (uint32_t)(sizeof(gtp) + length),
	};

	f->length = 0;
	append_eth(f, &rig_gnb_mac, RTE_ETHER_TYPE_IPV4);
	append_ip(f, &outer);
	f->length -= outer.payload;
	append(f, &gtp, sizeof(gtp));
	append(f, octets, length);
}

void
frame_gpdu(struct frame *f, uint32_t n3_addr, uint32_t teid, uint8_t qfi,
	const struct ip_fields *inner)
{
	const uint8_t psc[8] = {0, 0, 0, 0x85, 1, 0x10, qfi, 0};
	struct frame packet, body = {0};

	frame_ip(&packet, inner);
	if (qfi != 0)
		append(&body, psc, sizeof(psc));
	append(&body, packet.data, packet.length);
	frame_gtpu(f, n3_addr, qfi != 0 ? 0x34 : 0x30, 255, teid, body.data, body.length);
}

void
frame_arp(struct frame *f, uint16_t opcode, const struct rte_ether_addr *sender_mac,
	uint32_t sender, uint32_t target)
{
	struct rte_arp_hdr arp = {
		.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
		.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = 6,
		.arp_plen = 4,
		.arp_opcode = rte_cpu_to_be_16(opcode),
		.arp_data =
			{
				.arp_sha = *sender_mac,
				.arp_sip = rte_cpu_to_be_32(sender),
				.arp_tip = rte_cpu_to_be_32(target),
			},
	};

	f->length = 0;
	append_eth(f, sender_mac, RTE_ETHER_TYPE_ARP);
	append(f, &arp, sizeof(arp));
}

struct rte_ipv4_hdr *
frame_ip_header(struct frame *f)
{
	return (struct rte_ipv4_hdr *)(void *)(f->data + sizeof(struct rte_ether_hdr));
}

void
frame_ip_seal(struct frame *f)
{
	struct rte_ipv4_hdr *ip = frame_ip_header(f);

	ip->hdr_checksum = 0;
	ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
}

struct rte_ipv4_hdr *
frame_inner(struct frame *f, uint8_t qfi)
{
	return (struct rte_ipv4_hdr *)(void *)(f->data + 14 + 20 + 8 + 8 + (qfi != 0 ? 8 : 0));
}

// ---- IPv6 ------------------------------------------------------------------------------------

void
frame_seal6(struct frame *f, size_t at)
{
	struct ipv6_header *ip = (struct ipv6_header *)(void *)(f->data + at);
	uint16_t length = rte_be_to_cpu_16(ip->payload_len);
	uint8_t *l4 = (uint8_t *)(ip + 1);
	size_t field = ip->next == IPPROTO_UDP ? 6 : ip->next == IPPROTO_TCP ? 16 : 2;
	uint16_t sum;

	memset(l4 + field, 0, 2);
	sum = (uint16_t)~ipv6_upper_sum(ip, l4, length, ip->next);
	if (sum == 0 && ip->next == IPPROTO_UDP)
		sum = 0xffff;
	memcpy(l4 + field, &sum, 2);
}

void
frame_seal_tcp(struct frame *f, size_t at)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(void *)(f->data + at);
	uint8_t *tcp = f->data + at + rte_ipv4_hdr_len(ip);
	uint16_t sum;

	memset(tcp + 16, 0, 2);
	sum = rte_ipv4_udptcp_cksum(ip, tcp);
	memcpy(tcp + 16, &sum, 2);
}

void
frame_ip6(struct frame *f, const struct ip6_fields *ip)
{
	struct rte_udp_hdr udp = {
		.src_port = rte_cpu_to_be_16(ip->sport),
		.dst_port = rte_cpu_to_be_16(ip->dport),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(udp) + ip->payload)),
	};
	struct ipv6_header h = {
		.version_class_flow = rte_cpu_to_be_32(0x60000000u | (uint32_t)ip->class << 20),
		.payload_len = udp.dgram_len,
		.next = ip->next != 0 ? ip->next : IPPROTO_UDP,
		.hop_limit = ip->hop_limit != 0 ? ip->hop_limit : 64,
	};

	memcpy(h.src, ip->src, sizeof(h.src));
	memcpy(h.dst, ip->dst, sizeof(h.dst));
	f->length = 0;
	append(f, &h, sizeof(h));
	append(f, &udp, sizeof(udp));
	append(f, NULL, ip->payload);
	if (h.next == IPPROTO_UDP)
		frame_seal6(f, 0);
}

void
frame_eth(struct frame *f, const struct rte_ether_addr *from, const struct frame *packet)
{
	f->length = 0;
	append_eth(f, from, packet->data[0] >> 4 == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	append(f, packet->data, packet->length);
}

void
frame_eth_ip6(struct frame *f, const struct rte_ether_addr *from, const struct ip6_fields *ip)
{
	struct frame packet;

	frame_ip6(&packet, ip);
	frame_eth(f, from, &packet);
}

void
frame_gtpu6(struct frame *f, const uint8_t *n3_addr, uint8_t flags, uint8_t type, uint32_t teid,
	const void *octets, size_t length)
{
	struct rte_gtp_hdr gtp = {
		.gtp_hdr_info = flags,
		.msg_type = type,
		.plen = rte_cpu_to_be_16((uint16_t)length),
		.teid = rte_cpu_to_be_32(teid),
	};
	struct ip6_fields outer = {
		.src = rig_gnb6,
		.dst = n3_addr,
		.sport = 2152,
		.dport = 2152,
		.payload = (uint32_t)(sizeof(gtp) + length),
	};

	frame_eth_ip6(f, &rig_gnb_mac, &outer);
	f->length -= outer.payload;
	append(f, &gtp, sizeof(gtp));
	append(f, octets, length);
	frame_seal6(f, sizeof(struct rte_ether_hdr));
}

void
frame_gpdu_of(struct frame *f, const uint8_t *n3_addr6, uint32_t teid, uint8_t qfi,
	const struct frame *packet)
{
	const uint8_t psc[8] = {0, 0, 0, 0x85, 1, 0x10, qfi, 0};
	uint8_t flags = qfi != 0 ? 0x34 : 0x30;
	struct frame body = {0};

	if (qfi != 0)
		append(&body, psc, sizeof(psc));
	append(&body, packet->data, packet->length);
	if (n3_addr6 != NULL)
		frame_gtpu6(f, n3_addr6, flags, 255, teid, body.data, body.length);
	else
		frame_gtpu(f, RIG_N3_ADDR, flags, 255, teid, body.data, body.length);
}

void
frame_icmp6(struct frame *f, const uint8_t *src, const uint8_t *dst, uint8_t hop_limit,
	const void *octets, size_t length)
{
	struct ipv6_header h = {
		.version_class_flow = rte_cpu_to_be_32(0x60000000u),
		.payload_len = rte_cpu_to_be_16((uint16_t)length),
		.next = IPV6_ICMP,
		.hop_limit = hop_limit,
	};

	memcpy(h.src, src, sizeof(h.src));
	memcpy(h.dst, dst, sizeof(h.dst));
	f->length = 0;
	append(f, &h, sizeof(h));
	append(f, octets, length);
	frame_seal6(f, 0);
}

void
frame_tag(struct frame *f, uint16_t tci)
{
	const uint8_t tag[4] = {0x81, 0x00, (uint8_t)(tci >> 8), (uint8_t)tci};

	memmove(f->data + 16, f->data + 12, f->length - 12);
	memcpy(f->data + 12, tag, sizeof(tag));
	f->length += sizeof(tag);
}
