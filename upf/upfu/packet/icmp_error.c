#include "packet/icmp_error.h"

#include <rte_icmp.h>

#include "link/icmp6.h"
#include "link/neigh.h"
#include "link/port.h"
#include "packet/drop.h"
#include "packet/gtpu_header.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/nat.h"
#include "packet/outer.h"
#include "packet/own_packets.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// RFC 1812 4.3.2.3: as much of the packet as fits into 576 octets; RFC 4443 2.4 (c): into 1280.
#define LEAST_MTU4 576u
#define ICMP4_UNREACHABLE 3
#define ICMP4_TIME_EXCEEDED 11

struct icmp_error { // on the wire, ICMP and ICMPv6 alike
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	rte_be32_t rest; // ICMP: MTU in the low half; ICMPv6: MTU
} __attribute__((packed, aligned(2)));
static_assert(sizeof(struct icmp_error) == 8, "RFC 792, RFC 4443");

struct cause {
	uint8_t type4, code4;
	uint8_t type6, code6;
};

// What a sender is told of a drop reason; false: nothing.
static bool
cause_of(enum upf_drop reason, struct cause *cause)
{
	switch (reason) {
	case UPF_DROP_TTL_EXCEEDED:
		*cause = (struct cause){ICMP4_TIME_EXCEEDED, 0, ICMP6_TIME_EXCEEDED, 0};
		return true;
	case UPF_DROP_TOO_BIG:
		*cause = (struct cause){ICMP4_UNREACHABLE, 4, ICMP6_TOO_BIG, 0};
		return true;
	case UPF_DROP_NO_ROUTE:
		*cause = (struct cause){ICMP4_UNREACHABLE, 0, ICMP6_UNREACHABLE, 0};
		return true;
	case UPF_DROP_NO_NEIGHBOUR:
		*cause = (struct cause){ICMP4_UNREACHABLE, 1, ICMP6_UNREACHABLE, 3};
		return true;
	case UPF_DROP_UE_TO_UE: // administratively prohibited
		*cause = (struct cause){ICMP4_UNREACHABLE, 13, ICMP6_UNREACHABLE, 1};
		return true;
	default:
		return false;
	}
}

static bool
within_rate(struct worker *w)
{
	if (w->icmp_cost == 0 || w->icmp_tat > w->now + w->tsc_hz / 10)
		return false;
	w->icmp_tat = (w->icmp_tat > w->now ? w->icmp_tat : w->now) + w->icmp_cost;
	return true;
}

// RFC 1812 4.3.2.7. length: octets of the packet there are.
static bool
deserves4(const struct rte_ipv4_hdr *ip, uint32_t length)
{
	uint32_t src = rte_be_to_cpu_32(ip->src_addr), dst = rte_be_to_cpu_32(ip->dst_addr);

	if ((ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0 ||
		src >> 28 >= 0xe || src >> 24 == 0 || src >> 24 == 127 || dst >> 28 >= 0xe)
		return false;
	if (ip->next_proto_id == IPPROTO_ICMP) {
		const uint8_t *type = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);

		// All but queries and their answers are errors, or unknown.
		return rte_ipv4_hdr_len(ip) < length &&
			(*type == 0 || *type == 8 || *type == 13 || *type == 14);
	}
	return true;
}

// RFC 4443 2.4 (e).
static bool
deserves6(const struct ipv6_header *ip, uint16_t length)
{
	struct ipv6_chain chain;

	if (!ipv6_walk(ip, length, &chain) || chain.later || ipv6_is_multicast(ip->src) ||
		ipv6_is_unspecified(ip->src) || ipv6_is_link_local(ip->src) ||
		ipv6_is_multicast(ip->dst))
		return false;
	if (chain.proto == IPV6_ICMP) {
		uint8_t type = chain.l4 < length ? ((const uint8_t *)ip)[chain.l4] : 0;

		return type >= 128 && type != 137; // informational, and no redirect
	}
	return true;
}

static void
send_to_n6(struct worker *w, enum upf_port n6, struct rte_mbuf *m, bool ip6)
{
	const struct port *port = &w->port[n6];

	if (ip6) {
		const struct ipv6_header *ip =
			rte_pktmbuf_mtod_offset(m, struct ipv6_header *, RTE_ETHER_HDR_LEN);
		const uint8_t *hop = port_next_hop6(port, ip->dst, 0);

		if (hop == NULL)
			worker_drop(w, n6, m, UPF_DROP_NO_ROUTE);
		else
			neigh_send6(w, n6, m, hop, NULL);
	} else {
		const struct rte_ipv4_hdr *ip =
			rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
		rte_be32_t hop = port_next_hop(port, ip->dst_addr, 0);

		if (hop == 0)
			worker_drop(w, n6, m, UPF_DROP_NO_ROUTE);
		else
			neigh_send(w, n6, m, hop, NULL);
	}
}

// An mbuf with Ethernet header, room for the IP header, the ICMP header and quoted octets.
static struct rte_mbuf *
error_frame(struct worker *w, enum upf_port n6, uint16_t type, uint32_t octets)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct rte_ether_hdr *eth;

	if (m == NULL) {
		worker_count_drops(w, n6, 0, UPF_DROP_NO_MBUF, 1);
		return NULL;
	}
	eth = (void *)rte_pktmbuf_append(m, (uint16_t)(sizeof(*eth) + octets));
	if (eth == NULL) {
		worker_drop(w, n6, m, UPF_DROP_NO_MBUF);
		return NULL;
	}
	eth->src_addr = w->port[n6].mac;
	eth->ether_type = rte_cpu_to_be_16(type);
	return m;
}

static struct rte_mbuf *
build4(struct worker *w, enum upf_port port, const struct cause *cause, uint16_t mtu,
	const struct rte_ipv4_hdr *about, uint32_t length)
{
	const struct port *n6 = &w->port[port];
	uint32_t quoted = RTE_MIN(
		length, LEAST_MTU4 - sizeof(struct rte_ipv4_hdr) - sizeof(struct icmp_error));
	uint32_t total = sizeof(struct rte_ipv4_hdr) + sizeof(struct icmp_error) + quoted;
	struct rte_mbuf *m;
	struct rte_ipv4_hdr *ip;
	struct icmp_error *icmp;

	if (n6->own_mask == 0)
		return NULL;
	m = error_frame(w, port, RTE_ETHER_TYPE_IPV4, total);
	if (m == NULL)
		return NULL;
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = n6->tos,
		.total_length = rte_cpu_to_be_16((uint16_t)total),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_ICMP,
		.src_addr = rte_cpu_to_be_32(n6->own),
		.dst_addr = about->src_addr,
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	icmp = (struct icmp_error *)(ip + 1);
	*icmp = (struct icmp_error){
		.type = cause->type4, .code = cause->code4, .rest = rte_cpu_to_be_32(mtu)};
	memcpy(icmp + 1, about, quoted);
	icmp->checksum = (rte_be16_t)~rte_raw_cksum(icmp, sizeof(*icmp) + quoted);
	return m;
}

static struct rte_mbuf *
build6(struct worker *w, enum upf_port port, const struct cause *cause, uint16_t mtu,
	const struct ipv6_header *about, uint32_t length)
{
	const struct port *n6 = &w->port[port];
	uint32_t quoted = RTE_MIN(
		length, IPV6_MTU_LEAST - sizeof(struct ipv6_header) - sizeof(struct icmp_error));
	uint16_t payload = (uint16_t)(sizeof(struct icmp_error) + quoted);
	struct rte_mbuf *m;
	struct ipv6_header *ip;
	struct icmp_error *icmp;

	if (!n6->ip6)
		return NULL;
	m = error_frame(w, port, RTE_ETHER_TYPE_IPV6, (uint32_t)(sizeof(*ip) + payload));
	if (m == NULL)
		return NULL;
	ip = rte_pktmbuf_mtod_offset(m, struct ipv6_header *, RTE_ETHER_HDR_LEN);
	*ip = (struct ipv6_header){
		.version_class_flow =
			rte_cpu_to_be_32(UINT32_C(0x60000000) | (uint32_t)n6->tos << 20),
		.payload_len = rte_cpu_to_be_16(payload),
		.next = IPV6_ICMP,
		.hop_limit = 64,
	};
	memcpy(ip->src, n6->address6, sizeof(ip->src));
	memcpy(ip->dst, about->src, sizeof(ip->dst));
	icmp = (struct icmp_error *)(ip + 1);
	*icmp = (struct icmp_error){
		.type = cause->type6, .code = cause->code6, .rest = rte_cpu_to_be_32(mtu)};
	memcpy(icmp + 1, about, quoted);
	icmp->checksum = (rte_be16_t)~ipv6_upper_sum(ip, icmp, payload, IPV6_ICMP);
	return m;
}

// About the packet at `packet`, of which there are `room` octets, to its sender in the network instance of n6.
static void
report(struct worker *w, enum upf_port n6, enum upf_drop reason, uint16_t mtu, void *packet,
	uint32_t room, bool sender_is_ue)
{
	bool ip6 = (*(const uint8_t *)packet & 0xf0) == 0x60;
	struct rte_mbuf *m;
	struct cause cause;
	uint16_t length;

	if (!cause_of(reason, &cause))
		return;
	// A rewritten TTL has its checksum; what is not valid cannot have got here.
	length = ip6 ? ipv6_valid_length(packet, room) : ipv4_valid_length(packet, room);
	if (length == 0 || !(ip6 ? deserves6(packet, length) : deserves4(packet, length)) ||
		!within_rate(w))
		return;
	if (w->nat != NULL && !ip6 && !sender_is_ue)
		nat_hide(w, n6, packet, length);
	m = ip6 ? build6(w, n6, &cause, mtu, packet, length)
		: build4(w, n6, &cause, mtu, packet, length);
	if (m == NULL)
		return;
	shm_add(&w->stats->local.icmp_errors_sent, 1);
	if (sender_is_ue)
		own_packets_add(w, n6, m);
	else
		send_to_n6(w, n6, m, ip6);
}

static void
report_packet(struct worker *w, const struct pkt *p, enum upf_drop reason, uint16_t mtu)
{
	uint32_t have = rte_pktmbuf_data_len(p->m);

	// From the core by a tunnel (N9): the sender is beyond our reach. Of copies nobody is told.
	if (have <= p->ip || p->pdr->copy || (p->tunnel && p->pdr->direction == UPF_DL))
		return;
	report(w, (enum upf_port)p->part->n6, reason, mtu,
		rte_pktmbuf_mtod_offset(p->m, void *, p->ip), have - p->ip, p->tunnel != 0);
}

int
icmp_refuse(struct worker *w, const struct pkt *p, enum upf_drop reason)
{
	report_packet(w, p, reason, 0);
	return (int)reason;
}

int
icmp_too_big(struct worker *w, const struct pkt *p, uint16_t mtu)
{
	report_packet(w, p, UPF_DROP_TOO_BIG, mtu);
	return UPF_DROP_TOO_BIG;
}

// Where the user's packet begins in a G-PDU of ours, 0: it is none.
static uint32_t
inner_of(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint32_t at = sizeof(*eth) +
		(eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6)
				? sizeof(struct ipv6_header)
				: sizeof(struct rte_ipv4_hdr));
	const struct rte_gtp_hdr *gtp =
		rte_pktmbuf_mtod_offset(m, const void *, at + sizeof(struct rte_udp_hdr));

	if (rte_pktmbuf_data_len(m) <= at + sizeof(struct rte_udp_hdr) + sizeof(*gtp) ||
		gtp->msg_type != GTPU_G_PDU)
		return 0;
	at = sizeof(*eth) +
		outer_of_frame(eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6)
				? UPF_OHC_GTPU6
				: UPF_OHC_GTPU4,
			(const uint8_t *)(eth + 1));
	return rte_pktmbuf_data_len(m) > at ? at : 0;
}

static bool
comes_from_ue(const struct worker *w, enum upf_port n6, const void *packet)
{
	if ((*(const uint8_t *)packet & 0xf0) == 0x60)
		return session_has_ue6(w->sessions, n6, ((const struct ipv6_header *)packet)->src);
	return session_has_ue(w->sessions, n6, ((const struct rte_ipv4_hdr *)packet)->src_addr) ||
		nat_owns(w, n6, ((const struct rte_ipv4_hdr *)packet)->src_addr);
}

// A whole frame that was on its way out of `port`, with a packet of the network instance of n6.
static void
tell_unreachable(struct worker *w, enum upf_port port, enum upf_port n6, struct rte_mbuf *m)
{
	uint32_t at = port >= UPF_PORT_N6 ? RTE_ETHER_HDR_LEN : inner_of(m);
	void *packet;

	if (n6 == UPF_PORTS || at == 0 ||
		rte_pktmbuf_data_len(m) < at + sizeof(struct rte_ipv4_hdr))
		return;
	packet = rte_pktmbuf_mtod_offset(m, void *, at);
	report(w, n6, UPF_DROP_NO_NEIGHBOUR, 0, packet, rte_pktmbuf_data_len(m) - at,
		comes_from_ue(w, n6, packet));
}

void
icmp_tell_unreachable(struct worker *w)
{
	struct unreachable *u = &w->unreachable;

	// What is sent here may find nobody either, and is noted behind these.
	for (unsigned i = 0; i < u->n; i++) {
		tell_unreachable(w, u->frame[i].port, u->frame[i].n6, u->frame[i].m);
		rte_pktmbuf_free(u->frame[i].m);
	}
	u->n = 0;
}

void
icmp_forget_unreachable(struct worker *w)
{
	for (unsigned i = 0; i < w->unreachable.n; i++)
		rte_pktmbuf_free(w->unreachable.frame[i].m);
	w->unreachable.n = 0;
}
