// The ways of a user's packet other than IPv4 over GTP-U/IPv4 whole: IPv6 inside and outside, N9, every
// Outer Header Creation and Removal, in fragments, with a clamped MSS, and what a sender is told of a
// packet that does not go.
#include <string.h>

#include "frames.h"
#include "link/icmp6.h"
#include "packet/buffer_state.h"
#include "packet/ipv4.h"
#include "packet/outer.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define PREFIX_LEN 64u

// The usual session, with an IPv6 prefix beside its IPv4 address.
static void
rules_dual(struct session_rules_builder *s)
{
	rules_usual(s, 1, RIG_UE, TEID);
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s->pdr[i].ue_prefix, rig_ue6, 8);
		s->pdr[i].ue_prefix_len = PREFIX_LEN;
	}
}

// The same with its tunnels over IPv6.
static void
rules_over6(struct session_rules_builder *s)
{
	rules_dual(s);
	s->pdr[0].flags |= UPF_PDR_N3_IPV6;
	s->pdr[0].removal = OUTER_REMOVE_GTPU6;
	memcpy(s->pdr[0].n3_addr, rig_n3_addr6, 16);
	s->far[1].ohc = UPF_OHC_GTPU6;
	memcpy(s->far[1].peer_addr, rig_gnb6, 16);
	memcpy(s->far[1].local_addr, rig_n3_addr6, 16);
}

static struct rig *
rig_with(const struct config *config, const struct session_rules_builder *s)
{
	struct rig *rig = rig_create_with(config, 1, true);

	rules_install(rig, s);
	return rig;
}

static struct rig *
rig_dual(void)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();

	rules_dual(&s);
	return rig_with(&config, &s);
}

static void
uplink(struct rig *rig, const uint8_t *n3_addr6, const struct frame *packet)
{
	struct frame f;

	frame_gpdu_of(&f, n3_addr6, TEID, 9, packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
downlink(struct rig *rig, const struct frame *packet)
{
	struct frame f;

	frame_eth(&f, &rig_gateway_mac, packet);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

// The next frame sent, which must have this type and length; the caller frees it.
static struct rte_mbuf *
take(struct rig *rig, enum upf_port port, uint16_t type, uint32_t length)
{
	struct rte_mbuf *m = rig_sent(rig, port);

	assert_non_null(m);
	assert_int_equal(
		rte_be_to_cpu_16(rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->ether_type), type);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + length);
	return m;
}

static void
from_ue6(struct frame *f, uint32_t payload)
{
	frame_ip6(f, &(struct ip6_fields){.src = rig_ue6, .dst = rig_remote6, .payload = payload});
}

static void
to_ue6(struct frame *f, uint32_t payload)
{
	frame_ip6(f, &(struct ip6_fields){.src = rig_remote6, .dst = rig_ue6, .payload = payload});
}

static void
from_ue4(struct frame *f, uint32_t payload, uint16_t fragment)
{
	frame_ip(f,
		&(struct ip_fields){.src = RIG_UE,
			.dst = RIG_REMOTE,
			.payload = payload,
			.fragment = fragment});
}

static void
to_ue4(struct frame *f, uint32_t payload, uint16_t fragment)
{
	frame_ip(f,
		&(struct ip_fields){.src = RIG_REMOTE,
			.dst = RIG_UE,
			.payload = payload,
			.fragment = fragment});
}

static void
ipv6_sessions_forward_both_ways(void **state)
{
	for (unsigned over6 = 0; over6 < 2; over6++) {
		static struct session_rules_builder s;
		struct config config = rig_config6();
		const struct ipv6_header *ip, *outer;
		struct frame packet;
		struct rte_mbuf *m;
		struct rig *rig;

		(void)state;
		(over6 ? rules_over6 : rules_dual)(&s);
		rig = rig_with(&config, &s);
		from_ue6(&packet, 32);
		uplink(rig, over6 ? rig_n3_addr6 : NULL, &packet);
		m = take(rig, UPF_PORT_N6, RTE_ETHER_TYPE_IPV6, 80);
		ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
		assert_int_equal(ip->hop_limit, 63);
		assert_memory_equal(ip->src, rig_ue6, 16);
		assert_true(rte_is_same_ether_addr(
			&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &rig_gateway_mac));
		rte_pktmbuf_free(m);
		to_ue6(&packet, 32);
		downlink(rig, &packet);
		m = take(rig, UPF_PORT_N3, over6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4,
			80 + (over6 ? 64 : 44));
		outer = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
		if (over6) {
			const uint8_t *gtp = (const uint8_t *)(outer + 1) + 8;

			assert_int_equal(ipv6_valid_length(outer, 144), 144);
			assert_memory_equal(outer->src, rig_n3_addr6, 16);
			assert_memory_equal(outer->dst, rig_gnb6, 16);
			assert_int_equal(gtp[0], 0x34);
			assert_memory_equal(gtp + 4, "\0\0\x11\0\0\0\0\x85\1\0\x09\0", 12);
		}
		ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14 + (over6 ? 64 : 44));
		assert_int_equal(ip->hop_limit, 63);
		assert_memory_equal(ip->dst, rig_ue6, 16);
		assert_int_equal(ipv6_upper_sum(ip, ip + 1, 40, IPPROTO_UDP), 0xffff);
		rte_pktmbuf_free(m);
		// The IPv4 address of the same session.
		from_ue4(&packet, 32, 0);
		uplink(rig, over6 ? rig_n3_addr6 : NULL, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
		to_ue4(&packet, 32, 0);
		downlink(rig, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
udp_checksum_of_tunnels_over_ipv6_is_as_configured(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();

	(void)state;
	rules_over6(&s);
	for (unsigned zero = 0; zero < 2; zero++) {
		const struct ipv6_header *outer;
		const struct rte_udp_hdr *udp;
		struct frame packet;
		struct rte_mbuf *m;
		struct rig *rig;

		config.udp6_zero_checksum = zero == 1;
		rig = rig_with(&config, &s);
		to_ue6(&packet, 32);
		downlink(rig, &packet);
		m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV6, 144);
		outer = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
		udp = (const struct rte_udp_hdr *)(outer + 1);
		if (zero)
			assert_int_equal(udp->dgram_cksum, 0);
		else
			assert_int_equal(ipv6_upper_sum(outer, udp, 104, IPPROTO_UDP), 0xffff);
		rte_pktmbuf_free(m);
		rig_free(rig);
	}
}

static void
ipv6_packets_are_dropped_by_name(void **state)
{
	static const upf_addr other = {0x20, 1, 0x0d, 0xb8, 0, 2};
	static const upf_addr group = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	struct rig *rig = rig_dual();
	struct frame packet;

	(void)state;
	frame_ip6(&packet, &(struct ip6_fields){.src = other, .dst = rig_remote6});
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_ue6, .dst = group});
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_LINK_LOCAL), 1);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_ue6, .dst = rig_n6_addr6});
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NOT_FOR_US), 1);
	from_ue6(&packet, 32);
	packet.data[5] = 200; // longer than it is
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_INNER), 1);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_remote6, .dst = other});
	downlink(rig, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_remote6, .dst = group});
	downlink(rig, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NOT_FOR_US), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- the UE's router ---------------------------------------------------------------------------

static const upf_addr ue_link_local = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99};
static const upf_addr all_routers = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

static void
router_solicitation_is_answered_with_the_prefix(void **state)
{
	static const uint8_t solicitation[8] = {ICMP6_ROUTER_SOLICITATION};
	static struct session_rules_builder s;
	struct config config = rig_config6();
	const struct ipv6_header *ip;
	const uint8_t *ra;
	struct frame packet;
	struct rte_mbuf *m;
	struct rig *rig;

	(void)state;
	config.ra = (struct config_router_advertisement){
		.managed = true, .other = true, .lifetime_s = 0x1234, .mtu = 1400};
	rules_dual(&s);
	rig = rig_with(&config, &s);
	frame_icmp6(&packet, ue_link_local, all_routers, 255, solicitation, 8);
	uplink(rig, NULL, &packet);
	m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 40 + 56);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 28 + 4), "\0\0\x11\0", 4);
	ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14 + 44);
	ra = (const uint8_t *)(ip + 1);
	assert_int_equal(ipv6_valid_length(ip, 96), 96);
	assert_int_equal(ipv6_upper_sum(ip, ra, 56, IPV6_ICMP), 0xffff);
	assert_int_equal(ip->hop_limit, 255);
	assert_true(ipv6_is_link_local(ip->src));
	assert_memory_equal(ip->dst, ue_link_local, 16);
	assert_int_equal(ra[0], ICMP6_ROUTER_ADVERTISEMENT);
	assert_memory_equal(ra + 4, "\x40\xc0\x12\x34\0\0\0\0\0\0\0\0", 12);
	assert_memory_equal(ra + 16, "\3\4\x40\x40\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 16);
	assert_memory_equal(ra + 32, rig_ue6, 8);
	assert_memory_equal(ra + 40, "\0\0\0\0\0\0\0\0\5\1\0\0\0\0\x05\x78", 16);
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.router_solicitations, 1);
	assert_int_equal(rig->shm.workers[0].local.router_advertisements_sent, 1);
	assert_int_equal(shm_urr(&rig->shm.slots, 1, UPF_DL)->packets, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
only_neighbour_discovery_is_of_the_link(void **state)
{
	uint8_t octets[24] = {ICMP6_NEIGHBOUR_SOLICITATION};
	struct rig *rig = rig_dual();
	struct frame packet;
	struct rte_mbuf *m;
	upf_addr router;

	(void)state;
	port_link_local(&rig->worker[0]->port[UPF_PORT_N6], router);
	// Is the router still there? It is.
	memcpy(octets + 8, router, 16);
	frame_icmp6(&packet, ue_link_local, router, 255, octets, 24);
	uplink(rig, NULL, &packet);
	m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 40 + 24);
	assert_int_equal(*rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 44 + 40),
		ICMP6_NEIGHBOUR_ADVERTISEMENT);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 44 + 40 + 8), router, 16);
	rte_pktmbuf_free(m);
	// For another address, or anything else from the link-local address.
	octets[23] ^= 1;
	frame_icmp6(&packet, ue_link_local, router, 255, octets, 24);
	uplink(rig, NULL, &packet);
	frame_ip6(&packet, &(struct ip6_fields){.src = ue_link_local, .dst = rig_remote6});
	uplink(rig, NULL, &packet);
	octets[0] = ICMP6_ECHO_REQUEST;
	frame_icmp6(&packet, ue_link_local, router, 255, octets, 24);
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_LINK_LOCAL), 3);
	// Forged from afar, or damaged.
	memset(octets, 0, sizeof(octets));
	octets[0] = ICMP6_ROUTER_SOLICITATION;
	frame_icmp6(&packet, ue_link_local, all_routers, 254, octets, 8);
	uplink(rig, NULL, &packet);
	frame_icmp6(&packet, ue_link_local, all_routers, 255, octets, 8);
	packet.data[46] ^= 1;
	uplink(rig, NULL, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_ND), 2);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- what the sender is told -------------------------------------------------------------------

// The next frame on N6 or into the UE's tunnel: an ICMP error of this kind about the packet.
static void
assert_icmp4(struct rig *rig, bool ue, uint8_t type, uint8_t code, uint16_t mtu,
	const struct frame *about)
{
	enum upf_port port = ue ? UPF_PORT_N3 : UPF_PORT_N6;
	uint32_t quoted = (uint32_t)RTE_MIN(about->length, 576u - 28u), at = 14 + (ue ? 44 : 0);
	struct rte_mbuf *m = take(rig, port, RTE_ETHER_TYPE_IPV4, 28 + quoted + (ue ? 44 : 0));
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, at);
	const uint8_t *icmp = (const uint8_t *)(ip + 1);

	assert_int_equal(ipv4_valid_length(ip, 28 + quoted), 28 + quoted);
	assert_int_equal(ip->src_addr, rte_cpu_to_be_32(RIG_N6_ADDR));
	assert_int_equal(ip->dst_addr, rte_cpu_to_be_32(ue ? RIG_UE : RIG_REMOTE));
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
	assert_int_equal(rte_raw_cksum(icmp, 8 + quoted), 0xffff);
	assert_memory_equal(icmp + 8 + 12, about->data + 12, quoted - 12);
	rte_pktmbuf_free(m);
}

static void
assert_icmp6(struct rig *rig, bool ue, uint8_t type, uint8_t code, uint16_t mtu,
	const struct frame *about)
{
	enum upf_port port = ue ? UPF_PORT_N3 : UPF_PORT_N6;
	uint32_t quoted = (uint32_t)RTE_MIN(about->length, 1280u - 48u), at = 14 + (ue ? 44 : 0);
	struct rte_mbuf *m = take(rig, port, ue ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6,
		48 + quoted + (ue ? 44 : 0));
	const struct ipv6_header *ip = rte_pktmbuf_mtod_offset(m, const void *, at);
	const uint8_t *icmp = (const uint8_t *)(ip + 1);

	assert_memory_equal(ip->src, rig_n6_addr6, 16);
	assert_memory_equal(ip->dst, ue ? rig_ue6 : rig_remote6, 16);
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
	assert_int_equal(ipv6_upper_sum(ip, icmp, (uint16_t)(8 + quoted), IPV6_ICMP), 0xffff);
	assert_memory_equal(icmp + 8 + 8, about->data + 8, quoted - 8);
	rte_pktmbuf_free(m);
}

static void
too_big_is_told_with_the_mtu(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct frame packet;
	struct rig *rig;

	(void)state;
	config.interface[UPF_PORT_N6].mtu = 1300;
	rules_dual(&s);
	rig = rig_with(&config, &s);
	to_ue4(&packet, 1457 - 28, RTE_IPV4_HDR_DF_FLAG);
	downlink(rig, &packet);
	assert_icmp4(rig, false, 3, 4, 1456, &packet);
	to_ue6(&packet, 1457 - 48);
	downlink(rig, &packet);
	assert_icmp6(rig, false, ICMP6_TOO_BIG, 0, 1456, &packet);
	from_ue4(&packet, 1301 - 28, RTE_IPV4_HDR_DF_FLAG);
	uplink(rig, NULL, &packet);
	assert_icmp4(rig, true, 3, 4, 1300, &packet);
	from_ue6(&packet, 1301 - 48);
	uplink(rig, NULL, &packet);
	assert_icmp6(rig, true, ICMP6_TOO_BIG, 0, 1300, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TOO_BIG), 4);
	assert_int_equal(rig->shm.workers[0].local.icmp_errors_sent, 4);
	// As long as it may be.
	to_ue4(&packet, 1456 - 28, RTE_IPV4_HDR_DF_FLAG);
	downlink(rig, &packet);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
time_exceeded_and_prohibited_are_told(void **state)
{
	static const upf_addr neighbour = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
	struct rig *rig = rig_dual();
	struct frame packet;

	(void)state;
	frame_ip(&packet, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE, .ttl = 1});
	uplink(rig, NULL, &packet);
	assert_icmp4(rig, true, 11, 0, 0, &packet);
	frame_ip(&packet, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .ttl = 1});
	downlink(rig, &packet);
	assert_icmp4(rig, false, 11, 0, 0, &packet);
	frame_ip6(
		&packet, &(struct ip6_fields){.src = rig_ue6, .dst = rig_remote6, .hop_limit = 1});
	uplink(rig, NULL, &packet);
	assert_icmp6(rig, true, ICMP6_TIME_EXCEEDED, 0, 0, &packet);
	frame_ip6(
		&packet, &(struct ip6_fields){.src = rig_remote6, .dst = rig_ue6, .hop_limit = 1});
	downlink(rig, &packet);
	assert_icmp6(rig, false, ICMP6_TIME_EXCEEDED, 0, 0, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TTL_EXCEEDED), 4);
	frame_ip(&packet, &(struct ip_fields){.src = RIG_UE, .dst = RIG_UE});
	uplink(rig, NULL, &packet);
	assert_icmp4(rig, true, 3, 13, 0, &packet);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_ue6, .dst = neighbour});
	uplink(rig, NULL, &packet);
	assert_icmp6(rig, true, ICMP6_UNREACHABLE, 1, 0, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
unreachable_is_told(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct rig *rig;
	struct frame v4, v6;

	(void)state;
	// Without a gateway there is no route.
	config.interface[UPF_PORT_N6].gateway[0] = 0;
	memset(config.interface[UPF_PORT_N6].gateway6[0], 0, 16);
	rules_dual(&s);
	rig = rig_with(&config, &s);
	from_ue4(&v4, 20, 0);
	uplink(rig, NULL, &v4);
	assert_icmp4(rig, true, 3, 0, 0, &v4);
	from_ue6(&v6, 20);
	uplink(rig, NULL, &v6);
	assert_icmp6(rig, true, ICMP6_UNREACHABLE, 0, 0, &v6);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_ROUTE), 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
	// The gateway does not answer: what waits for it is told so when it is given up.
	rig = rig_dual();
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		rig->worker[0]->neigh[UPF_PORT_N6]->entry[i].state = NEIGH_FREE;
		rig->worker[0]->neigh6[UPF_PORT_N6]->entry[i].state = NEIGH_FREE;
	}
	rig_poll(rig);
	uplink(rig, NULL, &v4);
	uplink(rig, NULL, &v6);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
			struct neigh *n = &rig->worker[0]->neigh[UPF_PORT_N6]->entry[i];
			struct neigh *n6 = &rig->worker[0]->neigh6[UPF_PORT_N6]->entry[i];

			n->due = n->state == NEIGH_ASKING ? 0 : n->due;
			n6->due = n6->state == NEIGH_ASKING ? 0 : n6->due;
		}
		rig->worker[0]->next_tick = 0;
		rig_poll(rig);
	}
	rig_poll(rig); // its answers are taken in the poll after
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 10); // five requests each
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 2);
	assert_icmp4(rig, true, 3, 1, 0, &v4);
	assert_icmp6(rig, true, ICMP6_UNREACHABLE, 3, 0, &v6);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
no_error_about_errors_fragments_or_groups(void **state)
{
	static const uint8_t unreachable[16] = {ICMP6_UNREACHABLE, 3};
	struct rig *rig = rig_dual();
	struct frame packet;
	unsigned sent = 0;

	(void)state;
	frame_ip(&packet,
		&(struct ip_fields){
			.src = RIG_UE, .dst = RIG_REMOTE, .ttl = 1, .proto = IPPROTO_ICMP});
	packet.data[20] = 3;
	uplink(rig, NULL, &packet);
	packet.data[20] = 8; // a request deserves one
	uplink(rig, NULL, &packet);
	sent += rig_count_sent(rig, UPF_PORT_N3);
	assert_int_equal(sent, 1);
	frame_ip(&packet,
		&(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE, .ttl = 1, .fragment = 100});
	uplink(rig, NULL, &packet);
	frame_icmp6(&packet, rig_ue6, rig_remote6, 1, unreachable, sizeof(unreachable));
	uplink(rig, NULL, &packet);
	frame_ip(
		&packet, &(struct ip_fields){.src = RIG_IP(224, 0, 0, 5), .dst = RIG_UE, .ttl = 1});
	downlink(rig, &packet);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TTL_EXCEEDED), 5);
	// Within the rate: the bucket holds a tenth of a second.
	frame_ip(&packet, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .ttl = 1});
	for (unsigned i = 0; i < 50; i++)
		downlink(rig, &packet);
	assert_in_range(rig_count_sent(rig, UPF_PORT_N6), 8, 13);
	rig_dropped(rig, UPF_DROP_TTL_EXCEEDED);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- fragments ---------------------------------------------------------------------------------

static void
inner_packets_are_cut_before_the_tunnel(void **state)
{
	struct rig *rig = rig_dual();
	uint8_t whole[1500] = {0};
	uint32_t got = 0;
	struct frame packet;

	(void)state;
	to_ue4(&packet, 1500 - 28, 0);
	for (unsigned i = 28; i < packet.length; i++)
		packet.data[i] = (uint8_t)(i * 7);
	downlink(rig, &packet);
	for (unsigned i = 0; i < 2; i++) {
		struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
		const struct rte_ipv4_hdr *ip;
		uint16_t length, offset;

		assert_non_null(m);
		assert_true(rte_pktmbuf_pkt_len(m) <= 1514);
		ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, 14 + 44);
		length = ipv4_valid_length(ip, rte_pktmbuf_pkt_len(m) - 58);
		assert_int_equal(length, rte_pktmbuf_pkt_len(m) - 58);
		offset = (uint16_t)(rte_be_to_cpu_16(ip->fragment_offset) & 0x1fff);
		assert_int_equal((rte_be_to_cpu_16(ip->fragment_offset) & 0x2000) != 0, i == 0);
		assert_int_equal(ip->time_to_live, 63);
		memcpy(whole + 8 * offset, ip + 1, length - 20u);
		got += length - 20u;
		rte_pktmbuf_free(m);
	}
	assert_int_equal(got, 1480);
	assert_memory_equal(whole, packet.data + 20, 1480);
	assert_int_equal(rig->shm.workers[0].local.fragments_sent, 2);
	assert_int_equal(shm_urr(&rig->shm.slots, 1, UPF_DL)->packets, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
outer_packets_are_cut_where_configured(void **state)
{
	for (unsigned over6 = 0; over6 < 2; over6++) {
		static struct session_rules_builder s;
		struct config config = rig_config6();
		struct frame packet;
		struct rte_mbuf *m;
		struct rig *rig;

		(void)state;
		config.fragmentation = CONFIG_FRAGMENT_OUTER;
		(over6 ? rules_over6 : rules_dual)(&s);
		rig = rig_with(&config, &s);
		to_ue4(&packet, 1500 - 28, 0);
		downlink(rig, &packet);
		m = rig_sent(rig, UPF_PORT_N3);
		assert_non_null(m);
		assert_in_range(rte_pktmbuf_pkt_len(m), 1500, 1514);
		if (over6) {
			assert_int_equal(*rte_pktmbuf_mtod_offset(m, uint8_t *, 20), IPV6_FRAGMENT);
			assert_memory_equal(
				rte_pktmbuf_mtod_offset(m, uint8_t *, 54), "\x11\0\0\1", 4);
		} else {
			assert_int_equal(*rte_pktmbuf_mtod_offset(m, uint8_t *, 20), 0x20);
		}
		rte_pktmbuf_free(m);
		m = rig_sent(rig, UPF_PORT_N3);
		assert_non_null(m);
		rte_pktmbuf_free(m);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
		assert_int_equal(rig->shm.workers[0].local.fragments_sent, 2);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Cuts a UDP packet of a user in two at 304 octets of its payload.
static void
cut4(const struct frame *packet, struct frame piece[2])
{
	for (unsigned i = 0; i < 2; i++) {
		struct rte_ipv4_hdr *ip = (void *)piece[i].data;
		size_t from = i == 0 ? 20 : 324, to = i == 0 ? 324 : packet->length;

		memcpy(piece[i].data, packet->data, 20);
		memcpy(piece[i].data + 20, packet->data + from, to - from);
		piece[i].length = 20 + to - from;
		ip->packet_id = 0x7777;
		ip->total_length = rte_cpu_to_be_16((uint16_t)piece[i].length);
		ip->fragment_offset = rte_cpu_to_be_16(i == 0 ? RTE_IPV4_HDR_MF_FLAG : 38);
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
}

static void
cut6(const struct frame *packet, struct frame piece[2])
{
	for (unsigned i = 0; i < 2; i++) {
		struct ipv6_header *ip = (void *)piece[i].data;
		const uint8_t head[8] = {
			IPPROTO_UDP, 0, i == 0 ? 0 : 1, i == 0 ? 1 : 0x30, 1, 2, 3, 4};
		size_t from = i == 0 ? 40 : 344, to = i == 0 ? 344 : packet->length;

		memcpy(piece[i].data, packet->data, 40);
		memcpy(piece[i].data + 40, head, 8);
		memcpy(piece[i].data + 48, packet->data + from, to - from);
		piece[i].length = 48 + to - from;
		ip->next = IPV6_FRAGMENT;
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(piece[i].length - 40));
	}
}

static void
fragments_are_made_whole_where_rules_ask_for_ports(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct frame packet, piece[2];
	struct rig *rig;

	(void)state;
	rules_dual(&s);
	for (unsigned i = 0; i < 2; i++) {
		s.pdr[i].flags |= UPF_PDR_SDF;
		s.pdr[i].sdf_count = s.pdr[i].sdf6_count = 1;
	}
	s.n_sdf = s.n_sdf6 = 1;
	s.sdf[0] = (struct upf_sdf){.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
		.proto = IPPROTO_UDP,
		.remote_port_lo = 53,
		.remote_port_hi = 53,
		.local_port_hi = 65535};
	s.sdf6[0] = (struct upf_sdf6){.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
		.proto = IPPROTO_UDP,
		.remote_port_lo = 53,
		.remote_port_hi = 53,
		.local_port_hi = 65535};
	rig = rig_with(&config, &s);
	// Without rules that ask, fragments would go one by one; here they go as one, or not at all.
	frame_ip(&packet,
		&(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .sport = 53, .payload = 600});
	cut4(&packet, piece);
	downlink(rig, &piece[1]);
	downlink(rig, &piece[0]);
	rte_pktmbuf_free(take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 628));
	frame_ip(&packet,
		&(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE, .dport = 53, .payload = 600});
	cut4(&packet, piece);
	uplink(rig, NULL, &piece[0]);
	uplink(rig, NULL, &piece[1]);
	rte_pktmbuf_free(take(rig, UPF_PORT_N6, RTE_ETHER_TYPE_IPV4, 628));
	frame_ip6(&packet,
		&(struct ip6_fields){
			.src = rig_remote6, .dst = rig_ue6, .sport = 53, .payload = 600});
	cut6(&packet, piece);
	downlink(rig, &piece[0]);
	downlink(rig, &piece[1]);
	rte_pktmbuf_free(take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 648));
	// Whole it is too long for the tunnel: it goes on in fragments, as it came.
	frame_ip6(&packet,
		&(struct ip6_fields){
			.src = rig_remote6, .dst = rig_ue6, .sport = 53, .payload = 1700});
	cut6(&packet, piece);
	downlink(rig, &piece[0]);
	downlink(rig, &piece[1]);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
	frame_ip(&packet,
		&(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .sport = 54, .payload = 600});
	cut4(&packet, piece);
	downlink(rig, &piece[0]);
	downlink(rig, &piece[1]);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_PDR), 1);
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 5);
	assert_int_equal(rig->shm.workers[0].local.fragments_sent, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
	// And without, one by one.
	rig = rig_dual();
	downlink(rig, &piece[0]);
	downlink(rig, &piece[1]);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- MSS ---------------------------------------------------------------------------------------

// A SYN with options NOP, MSS given; odd: at an odd offset.
static void
syn(struct frame *f, bool ip6, bool from_ue, uint16_t mss, bool odd)
{
	uint8_t tcp[32] = {0x04, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x80, 0x02, 0xff, 0xff};
	unsigned at = 20;

	if (odd)
		tcp[at++] = 1;
	tcp[at++] = 2;
	tcp[at++] = 4;
	tcp[at++] = (uint8_t)(mss >> 8);
	tcp[at++] = (uint8_t)mss;
	while (at < sizeof(tcp))
		tcp[at++] = 1;
	if (ip6) {
		frame_ip6(f,
			&(struct ip6_fields){.src = from_ue ? rig_ue6 : rig_remote6,
				.dst = from_ue ? rig_remote6 : rig_ue6,
				.next = IPPROTO_TCP,
				.payload = sizeof(tcp) - 8});
		memcpy(f->data + 40, tcp, sizeof(tcp));
		frame_seal6(f, 0);
	} else {
		frame_ip(f,
			&(struct ip_fields){.src = from_ue ? RIG_UE : RIG_REMOTE,
				.dst = from_ue ? RIG_REMOTE : RIG_UE,
				.proto = IPPROTO_TCP,
				.payload = sizeof(tcp) - 8});
		memcpy(f->data + 20, tcp, sizeof(tcp));
		frame_seal_tcp(f, 0);
	}
}

static void
mss_is_clamped_both_ways(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct rig *rig;

	(void)state;
	config.mss_clamp = true;
	rules_dual(&s);
	rig = rig_with(&config, &s);
	// Tunnels may go over IPv6: 1500 - 64 octets are left.
	for (unsigned i = 0; i < 16; i++) {
		bool ip6 = (i & 1) != 0, from_ue = (i & 2) != 0, odd = (i & 4) != 0;
		uint16_t most = ip6 ? 1376 : 1396, given = (i & 8) != 0 ? 1460 : 1300;
		uint32_t at = 14 + (from_ue ? 0 : 44) + (ip6 ? 40 : 20), mss = odd ? 23 : 22;
		struct frame packet;
		struct rte_mbuf *m;
		uint8_t *tcp;

		syn(&packet, ip6, from_ue, given, odd);
		if (from_ue)
			uplink(rig, NULL, &packet);
		else
			downlink(rig, &packet);
		m = rig_sent(rig, from_ue ? UPF_PORT_N6 : UPF_PORT_N3);
		assert_non_null(m);
		tcp = rte_pktmbuf_mtod_offset(m, uint8_t *, at);
		assert_int_equal(tcp[mss] << 8 | tcp[mss + 1], RTE_MIN(most, given));
		if (ip6)
			assert_int_equal(
				ipv6_upper_sum((void *)(tcp - 40), tcp, 32, IPPROTO_TCP), 0xffff);
		else
			assert_int_equal(rte_ipv4_udptcp_cksum_verify((void *)(tcp - 20), tcp), 0);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig->shm.workers[0].local.mss_clamped, 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- outer headers -----------------------------------------------------------------------------

static void
every_outer_header_can_be_made(void **state)
{
	static const struct {
		uint8_t ohc;
		uint16_t octets;
	} kinds[] = {{UPF_OHC_UDP4, 28}, {UPF_OHC_UDP6, 48}, {UPF_OHC_IP4, 20}, {UPF_OHC_IP6, 40}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		static struct session_rules_builder s;
		struct config config = rig_config6();
		bool outer6 = outer_is_ipv6(kinds[i].ohc);
		const uint8_t *head;
		struct frame packet;
		struct rte_mbuf *m;
		struct rig *rig;

		rules_dual(&s);
		s.far[1].ohc = kinds[i].ohc;
		s.far[1].peer_port = 5555;
		if (outer6) {
			memcpy(s.far[1].peer_addr, rig_gnb6, 16);
			memcpy(s.far[1].local_addr, rig_n3_addr6, 16);
		}
		rig = rig_with(&config, &s);
		to_ue6(&packet, 32);
		downlink(rig, &packet);
		m = take(rig, UPF_PORT_N3, outer6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4,
			80u + kinds[i].octets);
		head = rte_pktmbuf_mtod_offset(m, const uint8_t *, 14);
		if (outer6)
			assert_int_equal(
				ipv6_valid_length((const void *)head, 2000), 80 + kinds[i].octets);
		else
			assert_int_equal(
				ipv4_valid_length((const void *)head, 2000), 80 + kinds[i].octets);
		assert_int_equal(head[outer6 ? 6 : 9], i < 2 ? IPPROTO_UDP : IPPROTO_IPV6);
		if (i < 2)
			assert_memory_equal(
				head + kinds[i].octets - 8, "\x15\xb3\x15\xb3\0\x58", 6);
		assert_int_equal(head[kinds[i].octets], 0x60);
		rte_pktmbuf_free(m);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
outer_headers_are_removed_as_the_pdr_says(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();

	(void)state;
	for (unsigned removal = OUTER_REMOVE_UDP4; removal <= OUTER_REMOVE_IP6; removal++) {
		bool udp = removal <= OUTER_REMOVE_UDP6, outer6 = (removal & 1) != 0;
		uint8_t proto = udp ? IPPROTO_UDP : IPPROTO_IPIP;
		struct frame inner, outer;
		struct rig *rig;

		rules_dual(&s);
		s.pdr[1].flags |= UPF_PDR_REMOVE;
		s.pdr[1].removal = (uint8_t)removal;
		rig = rig_with(&config, &s);
		frame_ip(&inner,
			&(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 20});
		if (outer6)
			frame_ip6(&outer,
				&(struct ip6_fields){.src = rig_remote6,
					.dst = rig_ue6,
					.next = proto,
					.payload = (uint32_t)inner.length - (udp ? 0 : 8)});
		else
			frame_ip(&outer,
				&(struct ip_fields){.src = RIG_REMOTE,
					.dst = RIG_UE,
					.proto = proto,
					.payload = (uint32_t)inner.length - (udp ? 0 : 8)});
		memcpy(outer.data + outer.length - inner.length, inner.data, inner.length);
		if (outer6 && udp)
			frame_seal6(&outer, 0);
		downlink(rig, &outer);
		rte_pktmbuf_free(take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 48));
		// Nothing of the kind inside.
		downlink(rig, &inner);
		assert_int_equal(rig_dropped(rig, UPF_DROP_OUTER_HEADER), 1);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
	// GTP-U over the other IP version than the PDR says, and over any.
	for (unsigned any = 0; any < 2; any++) {
		struct frame packet;
		struct rig *rig;

		rules_over6(&s);
		if (any)
			s.pdr[0].removal = OUTER_REMOVE_GTPU;
		rig = rig_with(&config, &s);
		from_ue4(&packet, 20, 0);
		uplink(rig, rig_n3_addr6, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
containers_say_rqi_and_ppi(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct frame packet;
	struct rte_mbuf *m;
	struct rig *rig;

	(void)state;
	rules_dual(&s);
	s.qer[0].flags |= UPF_QER_RQI | UPF_QER_PPI;
	s.qer[0].ppi = 5;
	rig = rig_with(&config, &s);
	to_ue4(&packet, 20, 0);
	downlink(rig, &packet);
	m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 48 + 48);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42),
		"\x34\xff\0\x3c\0\0\x11\0\0\0\0\x85\2\0\xc9\xa0\0\0\0\0\x45", 21);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// An intermediate UPF: N3 ↔ N9, both legs GTP-U, the container relayed; or without one.
static void
n9_relays_between_tunnels(void **state)
{
	static struct session_rules_builder s;
	static const struct rte_ether_addr psa_mac = {{2, 0, 0, 0, 9, 1}};
	struct config config = rig_config6();
	struct config_interface *n9 = &config.interface[UPF_PORT_N9];
	struct frame packet, f, arp;
	struct rte_mbuf *m;
	struct rig *rig;

	(void)state;
	*n9 = (struct config_interface){.present = true,
		.device_of = UPF_PORT_N9,
		.address = RIG_IP(172, 30, 9, 16),
		.block_len = 28,
		.prefix_len = 24,
		.mtu = 1500};
	rules_usual(&s, 1, RIG_UE, TEID);
	s.n_qer = s.pdr[0].n_qer = s.pdr[1].n_qer = 0;
	s.far[0].ohc = UPF_OHC_GTPU4;
	s.far[0].teid = 0x900;
	s.far[0].peer_port = 2152;
	rules_ipv4(s.far[0].peer_addr, RIG_IP(172, 30, 9, 1));
	rules_ipv4(s.far[0].local_addr, RIG_IP(172, 30, 9, 17));
	s.pdr[1].flags |= UPF_PDR_TEID | UPF_PDR_REMOVE;
	s.pdr[1].teid = 0x901;
	rules_ipv4(s.pdr[1].n3_addr, RIG_IP(172, 30, 9, 17));
	rig = rig_with(&config, &s);
	frame_arp(&arp, 1, &psa_mac, RIG_IP(172, 30, 9, 1), RIG_IP(172, 30, 9, 17));
	rig_inject(rig, UPF_PORT_N9, arp.data, arp.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N9), 1);
	from_ue4(&packet, 20, 0);
	uplink(rig, NULL, &packet);
	m = take(rig, UPF_PORT_N9, RTE_ETHER_TYPE_IPV4, 44 + 48);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42),
		"\x34\xff\0\x38\0\0\x09\0\0\0\0\x85\1\x10\x09\0", 16);
	rte_pktmbuf_free(m);
	// Down, with RQI in the container that comes; then without a container.
	to_ue4(&packet, 20, 0);
	frame_gpdu_of(&f, NULL, 0x901, 9, &packet);
	frame_ip_header(&f)->dst_addr = rte_cpu_to_be_32(RIG_IP(172, 30, 9, 17));
	frame_ip_seal(&f);
	f.data[14 + 28 + 13] = 0;    // PDU type DL
	f.data[14 + 28 + 14] = 0x49; // RQI, QFI 9
	rig_inject(rig, UPF_PORT_N9, f.data, f.length);
	rig_poll(rig);
	m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 48);
	assert_memory_equal(
		rte_pktmbuf_mtod_offset(m, uint8_t *, 42 + 8), "\0\0\0\x85\1\0\x49\0", 8);
	rte_pktmbuf_free(m);
	frame_gpdu_of(&f, NULL, 0x901, 0, &packet);
	frame_ip_header(&f)->dst_addr = rte_cpu_to_be_32(RIG_IP(172, 30, 9, 17));
	frame_ip_seal(&f);
	rig_inject(rig, UPF_PORT_N9, f.data, f.length);
	rig_poll(rig);
	rte_pktmbuf_free(take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 36 + 48));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Indirect forwarding: what the source of a handover sends back goes on to the target, with the QFI that it
// has. It is the UE's by its destination; from and to others nothing goes that way.
static void
what_a_gnb_forwards_goes_to_the_target(void **state)
{
	(void)state;
	for (unsigned table = 0; table < 2; table++) {
		static struct session_rules_builder s;
		struct config config = rig_config6();
		struct frame packet, f;
		struct rte_mbuf *m;
		struct rig *rig;

		rules_dual(&s);
		s.pdr[2] = s.pdr[0];
		s.pdr[2].pdr_id = 3;
		s.pdr[2].far = 2;
		s.pdr[2].teid = TEID + 1;
		s.pdr[2].n_qer = s.pdr[2].n_urr = 0;
		s.n_pdr = 3;
		s.far[2] = s.far[1];
		s.far[2].far_id = 3;
		s.far[2].teid = 0x300;
		s.n_far = 3;
		if (table) { // a flow with a filter beside them
			s.pdr[0].precedence = 100;
			s.pdr[0].flags |= UPF_PDR_SDF;
			s.pdr[0].sdf_count = s.pdr[0].sdf6_count = s.n_sdf = s.n_sdf6 = 1;
			s.sdf[0] =
				(struct upf_sdf){.remote_port_hi = 65535, .local_port_hi = 65535};
			s.sdf6[0] =
				(struct upf_sdf6){.remote_port_hi = 65535, .local_port_hi = 65535};
		}
		rig = rig_with(&config, &s);
		for (unsigned six = 0; six < 2; six++) {
			(six ? to_ue6(&packet, 32) : to_ue4(&packet, 32, 0));
			frame_gpdu_of(&f, NULL, TEID + 1, 5, &packet);
			f.data[14 + 28 + 13] = 0; // PDU type DL
			rig_inject(rig, UPF_PORT_N3, f.data, f.length);
			rig_poll(rig);
			m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + (six ? 80 : 60));
			assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42 + 4),
				"\0\0\3\0\0\0\0\x85\1\0\5\0", 12);
			rte_pktmbuf_free(m);
		}
		// By the UE's own tunnel nothing comes that is for it.
		uplink(rig, NULL, &packet);
		to_ue4(&packet, 32, 0);
		uplink(rig, NULL, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 2);
		frame_ip(&packet, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + 1});
		frame_gpdu_of(&f, NULL, TEID + 1, 5, &packet);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
		assert_int_equal(
			rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 0);
		// What the UE sends goes its way meanwhile.
		from_ue4(&packet, 32, 0);
		uplink(rig, NULL, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// An End Marker leaves behind the packets that came before it, with the QFI that it has; a tunnel that ends here
// keeps it, and of one that nobody has nobody is told.
static void
end_markers_go_on_with_their_tunnel(void **state)
{
	static const uint8_t container[] = {0, 0, 0, 0x85, 1, 0, 5, 0};
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct frame packet, f;
	struct rte_mbuf *m;
	struct rig *rig;

	(void)state;
	rules_dual(&s);
	s.pdr[2] = s.pdr[0];
	s.pdr[2].pdr_id = 3;
	s.pdr[2].far = 2;
	s.pdr[2].teid = TEID + 1;
	s.pdr[2].n_qer = s.pdr[2].n_urr = 0;
	s.n_pdr = s.n_far = 3;
	s.far[2] = s.far[1];
	s.far[2].teid = 0x300;
	rig = rig_with(&config, &s);
	to_ue4(&packet, 32, 0);
	frame_gpdu_of(&f, NULL, TEID + 1, 5, &packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	for (uint32_t teid = TEID + 2; teid >= TEID; teid--) {
		frame_gtpu(&f, RIG_N3_ADDR, 0x34, 254, teid, container, sizeof(container));
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	rte_pktmbuf_free(take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44 + 60));
	m = take(rig, UPF_PORT_N3, RTE_ETHER_TYPE_IPV4, 44);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42),
		"\x34\xfe\0\x08\0\0\3\0\0\0\0\x85\1\0\5\0", 16);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(rig->shm.workers[0].local.end_markers_received, 3);
	assert_int_equal(rig->shm.workers[0].local.end_markers_sent, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
routes_go_by_the_longest_prefix(void **state)
{
	static const uint8_t vias[] = {9, 10, 1};
	static const uint32_t dst4[] = {RIG_IP(10, 9, 1, 1), RIG_IP(10, 8, 1, 1), RIG_REMOTE};
	struct config config = rig_config6();
	struct port port;

	(void)state;
	config.routes = 4;
	config.route[0] = (struct config_route){.port = UPF_PORT_N6,
		.prefix_len = 8,
		.prefix = RIG_IP(10, 0, 0, 0),
		.via = RIG_IP(172, 30, 6, 10)};
	config.route[1] = (struct config_route){.port = UPF_PORT_N6,
		.prefix_len = 16,
		.prefix = RIG_IP(10, 9, 0, 0),
		.via = RIG_IP(172, 30, 6, 9)};
	config.route[2] = (struct config_route){.port = UPF_PORT_N6, .ip6 = true, .prefix_len = 32};
	config.route[3] = (struct config_route){.port = UPF_PORT_N6, .ip6 = true, .prefix_len = 48};
	for (unsigned i = 2; i < 4; i++) {
		memcpy(config.route[i].prefix6, "\x2a\x00\0\1\0\7", i == 2 ? 4 : 6);
		memcpy(config.route[i].via6, rig_gateway6, 16);
		config.route[i].via6[15] = i == 2 ? 10 : 9;
	}
	port_init(&port, UPF_PORT_N6, &config);
	for (unsigned i = 0; i < 3; i++) {
		upf_addr dst6 = {0x2a, 0, 0, i < 2, 0, i == 0 ? 7 : 8};
		const uint8_t *via6 = port_next_hop6(&port, dst6, 0);

		assert_int_equal(port_next_hop(&port, rte_cpu_to_be_32(dst4[i]), 0),
			rte_cpu_to_be_32(RIG_IP(172, 30, 6, 0) + vias[i]));
		assert_non_null(via6);
		assert_int_equal(via6[15], vias[i]);
	}
	assert_memory_equal(port_next_hop6(&port, rig_n6_addr6, 0), rig_n6_addr6, 16);
}

int
test_ways(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv6_sessions_forward_both_ways),
		cmocka_unit_test(udp_checksum_of_tunnels_over_ipv6_is_as_configured),
		cmocka_unit_test(ipv6_packets_are_dropped_by_name),
		cmocka_unit_test(router_solicitation_is_answered_with_the_prefix),
		cmocka_unit_test(only_neighbour_discovery_is_of_the_link),
		cmocka_unit_test(too_big_is_told_with_the_mtu),
		cmocka_unit_test(time_exceeded_and_prohibited_are_told),
		cmocka_unit_test(unreachable_is_told),
		cmocka_unit_test(no_error_about_errors_fragments_or_groups),
		cmocka_unit_test(inner_packets_are_cut_before_the_tunnel),
		cmocka_unit_test(outer_packets_are_cut_where_configured),
		cmocka_unit_test(fragments_are_made_whole_where_rules_ask_for_ports),
		cmocka_unit_test(mss_is_clamped_both_ways),
		cmocka_unit_test(every_outer_header_can_be_made),
		cmocka_unit_test(outer_headers_are_removed_as_the_pdr_says),
		cmocka_unit_test(containers_say_rqi_and_ppi),
		cmocka_unit_test(n9_relays_between_tunnels),
		cmocka_unit_test(what_a_gnb_forwards_goes_to_the_target),
		cmocka_unit_test(end_markers_go_on_with_their_tunnel),
		cmocka_unit_test(routes_go_by_the_longest_prefix),
	};

	return cmocka_run_group_tests_name("ways", tests, NULL, NULL);
}
