// Rules and packets in, packets and counters out: the way through the worker, and every reason for
// which a packet does not get through.
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>

#include "frames.h"
#include "packet/gtpu_header.h"
#include "packet/ipv4.h"
#include "packet/outer.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u

static struct rig *
rig_with_usual_session(void)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, TEID);
	rules_install(rig, &s);
	return rig;
}

static const struct ip_fields from_ue = {
	.src = RIG_UE, .dst = RIG_REMOTE, .sport = 1000, .dport = 53, .payload = 32};
static const struct ip_fields to_ue = {
	.src = RIG_REMOTE, .dst = RIG_UE, .sport = 53, .dport = 1000, .payload = 32};

static void
uplink_leaves_its_tunnel(void **state)
{
	struct rig *rig = rig_with_usual_session();
	const struct upf_urr_counter *ul = rig_urr(rig, 1, UPF_UL);
	struct frame f, want;
	struct rte_mbuf *m;
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;

	(void)state;
	for (unsigned qfi = 0; qfi <= 9; qfi += 9) { // without and with extension header
		frame_gpdu(&f, RIG_N3_ADDR, TEID, (uint8_t)qfi, &from_ue);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		m = rig_sent(rig, UPF_PORT_N6);
		assert_non_null(m);
		eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
		ip = (struct rte_ipv4_hdr *)(eth + 1);
		frame_ip(&want, &from_ue);
		assert_int_equal(rte_pktmbuf_pkt_len(m), sizeof(*eth) + want.length);
		assert_true(rte_is_same_ether_addr(&eth->dst_addr, &rig_gateway_mac));
		assert_true(rte_is_same_ether_addr(
			&eth->src_addr, &rig->worker[0]->port[UPF_PORT_N6].mac));
		assert_int_equal(ip->time_to_live, 63);
		assert_int_equal(ipv4_valid_length(ip, (uint32_t)want.length), want.length);
		assert_memory_equal(ip + 1, want.data + sizeof(*ip), want.length - sizeof(*ip));
		rte_pktmbuf_free(m);
	}
	assert_int_equal(ul->packets, 2);
	assert_int_equal(ul->bytes, 2 * want.length);
	assert_int_equal(rig->shm.workers[0].forwarded[UPF_UL], 2);
	assert_int_equal(rig->shm.workers[0].port[UPF_PORT_N3].rx_packets, 2);
	assert_int_equal(rig->shm.workers[0].port[UPF_PORT_N6].tx_packets, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
downlink_enters_its_tunnel(void **state)
{
	struct rig *rig = rig_with_usual_session();
	struct frame f;
	struct rte_mbuf *m;
	const struct outer_gtpu4 *outer;

	(void)state;
	frame_eth_ip(&f, &to_ue);
	// Ethernet pads short frames; the padding must not travel on.
	memset(f.data + f.length, 0xee, 7);
	f.length += 7;
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(
		m, const struct outer_gtpu4 *, sizeof(struct rte_ether_hdr));
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + sizeof(*outer) + 60);
	assert_int_equal(ipv4_valid_length(&outer->ip, 104), 104);
	assert_int_equal(outer->ip.src_addr, rte_cpu_to_be_32(RIG_N3_ADDR));
	assert_int_equal(outer->ip.dst_addr, rte_cpu_to_be_32(RIG_GNB));
	assert_int_equal(outer->udp.dst_port, rte_cpu_to_be_16(2152));
	assert_int_equal(outer->udp.dgram_len, rte_cpu_to_be_16(84));
	assert_int_equal(outer->udp.dgram_cksum, 0);
	assert_int_equal(outer->gtp.gtp_hdr_info, 0x34);
	assert_int_equal(outer->gtp.msg_type, 255);
	assert_int_equal(outer->gtp.plen, rte_cpu_to_be_16(68));
	assert_int_equal(outer->gtp.teid, rte_cpu_to_be_32(TEID + 0x1000));
	assert_int_equal(outer->word.next_ext, 0x85);
	assert_int_equal(outer->psc.units, 1);
	assert_int_equal(outer->psc.type, 0);
	assert_int_equal(outer->psc.qfi, 9);
	assert_int_equal(outer->psc.next, 0);
	assert_int_equal(ipv4_valid_length((const void *)(outer + 1), 60), 60);
	assert_int_equal(((const struct rte_ipv4_hdr *)(outer + 1))->time_to_live, 63);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->bytes, 60);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
without_qfi_there_is_no_extension_header(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;
	struct rte_mbuf *m;
	const struct outer_gtpu4 *outer;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.qer[0].qfi = 0;
	s.far[1].flags |= UPF_FAR_TOS;
	s.far[1].tos = 0xb8;
	rules_install(rig, &s);
	frame_eth_ip(&f, &to_ue);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(
		m, const struct outer_gtpu4 *, sizeof(struct rte_ether_hdr));
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + OUTER_PLAIN4 + 60);
	assert_int_equal(outer->gtp.gtp_hdr_info, 0x30);
	assert_int_equal(outer->ip.type_of_service, 0xb8);
	rte_pktmbuf_free(m);
	rig_free(rig);
}

// N9: from tunnel to tunnel, the QFI kept, the container of the uplink kind.
static void
uplink_goes_on_in_a_tunnel(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;
	struct rte_mbuf *m;
	const struct outer_gtpu4 *outer;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.pdr[0].far = 1;
	s.far[1].destination_interface = UPF_IF_CORE;
	s.pdr[0].n_qer = 0;
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 5, &from_ue);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(
		m, const struct outer_gtpu4 *, sizeof(struct rte_ether_hdr));
	assert_int_equal(outer->psc.type, 0x10);
	assert_int_equal(outer->psc.qfi, 5);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- which PDR -----------------------------------------------------------------------------------

static void
precedence_and_filters_choose_the_pdr(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;
	struct ip_fields ip = from_ue;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	// PDR 3: flow to port 443, precedence 128, the same F-TEID, drops.
	s.pdr[2] = s.pdr[1];
	s.pdr[1] = s.pdr[0];
	s.pdr[0].precedence = 128;
	s.pdr[0].pdr_id = 3;
	s.pdr[0].far = 2;
	s.pdr[0].sdf_count = 1;
	s.pdr[0].flags |= UPF_PDR_SDF;
	s.n_pdr = 3;
	s.far[2] = (struct upf_far){.far_id = 3, .action = UPF_FAR_DROP, .bar = UPF_NONE16};
	s.n_far = 3;
	s.sdf[0] = (struct upf_sdf){.flags = UPF_SDF_PORTS,
		.remote_port_lo = 443,
		.remote_port_hi = 443,
		.local_port_hi = 65535};
	s.n_sdf = 1;
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &ip);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	ip.dport = 443;
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &ip);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
qfi_chooses_the_pdr(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.pdr[0].flags |= UPF_PDR_QFI;
	s.pdr[0].qfi = 7;
	rules_install(rig, &s);
	for (unsigned qfi = 6; qfi <= 8; qfi++) {
		frame_gpdu(&f, RIG_N3_ADDR, TEID, (uint8_t)qfi, &from_ue);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_PDR), 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
many_pdrs_all_match(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_create(1, true);
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	for (unsigned i = 1; i < UPF_SESSION_PDRS; i++) {
		s.pdr[i] = s.pdr[0];
		s.pdr[i].teid = TEID + i;
	}
	s.n_pdr = UPF_SESSION_PDRS;
	rules_install(rig, &s);
	for (unsigned i = 0; i < UPF_SESSION_PDRS; i += 31) {
		frame_gpdu(&f, RIG_N3_ADDR, TEID + i, 9, &from_ue);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), (UPF_SESSION_PDRS + 30) / 31);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- every drop ----------------------------------------------------------------------------------

struct spoiled { // a packet that must be dropped for the reason
	const char *what;
	enum upf_port port;
	enum upf_drop reason;
	void (*build)(struct frame *f);
};

static void
n6_short_frame(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	f->length = 13;
}

static void
n6_ipv6(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	f->data[12] = 0x86;
	f->data[13] = 0xdd;
}

static void
n6_vlan_tag_nobody_asked_for(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	f->data[12] = 0x81;
}

static void
n6_bad_version(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	frame_ip_header(f)->version_ihl = 0x55;
	frame_ip_seal(f);
}

static void
n6_bad_header_length(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	frame_ip_header(f)->version_ihl = 0x44;
}

static void
n6_longer_than_the_frame(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	frame_ip_header(f)->total_length = rte_cpu_to_be_16(61);
	frame_ip_seal(f);
}

static void
n6_bad_checksum(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	frame_ip_header(f)->hdr_checksum ^= 1;
}

static void
n6_truncated_header(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	f->length = 14 + 19;
}

static void
n6_for_another_station(struct frame *f)
{
	frame_eth_ip(f, &to_ue);
	f->data[0] = 2;
	f->data[5] = 99;
}

static void
n6_multicast(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.dst = RIG_IP(224, 0, 0, 1);
	frame_eth_ip(f, &ip);
}

static void
n6_own_address_tcp(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.dst = RIG_N6_ADDR;
	ip.proto = IPPROTO_TCP;
	frame_eth_ip(f, &ip);
}

static void
n6_own_address_fragment(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.dst = RIG_N6_ADDR;
	ip.fragment = 0x2000;
	frame_eth_ip(f, &ip);
}

static void
n6_unknown_ue(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.dst = RIG_UE + 1;
	frame_eth_ip(f, &ip);
}

static void
n6_ttl(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.ttl = 1;
	frame_eth_ip(f, &ip);
}

static void
n6_too_big_for_the_tunnel(struct frame *f)
{
	struct ip_fields ip = to_ue;

	ip.payload = 1500 - 28 - 43;
	ip.fragment = RTE_IPV4_HDR_DF_FLAG;
	frame_eth_ip(f, &ip);
}

static void
n3_not_our_address(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR + 32, TEID, 9, &from_ue);
}

static void
n3_fragment(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	frame_ip_header(f)->fragment_offset = rte_cpu_to_be_16(0x2000);
	frame_ip_seal(f);
}

static void
n3_tcp(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	frame_ip_header(f)->next_proto_id = IPPROTO_TCP;
	frame_ip_seal(f);
}

static void
n3_other_udp_port(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	f->data[14 + 20 + 3] ^= 1;
}

static void
n3_udp_longer_than_ip(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	f->data[14 + 20 + 4] = 0xff;
}

static void
n3_no_room_for_gtpu(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 255, TEID, NULL, 0);
	f->length -= 1;
	frame_ip_header(f)->total_length = rte_cpu_to_be_16((uint16_t)(f->length - 14));
	frame_ip_seal(f);
	f->data[14 + 20 + 5] = 15;
}

static void
n3_gtp_version_2(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x48, 255, TEID, NULL, 0);
}

static void
n3_gtp_prime(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x20, 255, TEID, NULL, 0);
}

static void
n3_gtp_longer_than_udp(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	f->data[14 + 28 + 3]++;
}

static void
n3_optional_word_cut(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x32, 255, TEID, "\0\0", 2);
}

static void
n3_extension_of_length_zero(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x34, 255, TEID, "\0\0\0\x85\0\x10\x09\0", 8);
}

static void
n3_extension_beyond_the_end(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x34, 255, TEID, "\0\0\0\x85\2\x10\x09\0", 8);
}

static void
n3_extension_chain_without_end(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x34, 255, TEID, "\0\0\0\x85\1\x10\x09\x85", 8);
}

static void
n3_unknown_message(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 240, 0, NULL, 0);
}

static void
n3_error_indication_without_teid(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 26, 0, "\x85\0\4\1\2\3\4", 7);
}

static void
n3_error_indication_cut(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 26, 0, "\x10\0\0\0\1\x85\0\4\1", 9);
}

static void
n3_error_indication_unknown_tv(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 26, 0, "\x7f\0\0\0\1", 5);
}

static void
n3_empty_gpdu(struct frame *f)
{
	frame_gtpu(f, RIG_N3_ADDR, 0x30, 255, TEID, NULL, 0);
}

static void
n3_inner_ipv6(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	frame_inner(f, 9)->version_ihl = 0x60;
}

static void
n3_inner_longer_than_outer(struct frame *f)
{
	struct rte_ipv4_hdr *inner;

	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	inner = frame_inner(f, 9);
	inner->total_length = rte_cpu_to_be_16(61);
	inner->hdr_checksum = 0;
	inner->hdr_checksum = rte_ipv4_cksum(inner);
}

static void
n3_inner_bad_checksum(struct frame *f)
{
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &from_ue);
	frame_inner(f, 9)->hdr_checksum ^= 1;
}

static void
n3_spoofed(struct frame *f)
{
	struct ip_fields ip = from_ue;

	ip.src = RIG_UE + 1;
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &ip);
}

static void
n3_ttl(struct frame *f)
{
	struct ip_fields ip = from_ue;

	ip.ttl = 1;
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &ip);
}

static void
n3_ue_to_ue(struct frame *f)
{
	struct ip_fields ip = from_ue;

	ip.dst = RIG_UE;
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &ip);
}

static void
n3_to_our_n6_address(struct frame *f)
{
	struct ip_fields ip = from_ue;

	ip.dst = RIG_N6_ADDR;
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &ip);
}

static void
n3_too_big(struct frame *f)
{
	struct ip_fields ip = from_ue;

	ip.payload = 1501 - 28;
	ip.fragment = RTE_IPV4_HDR_DF_FLAG;
	frame_gpdu(f, RIG_N3_ADDR, TEID, 9, &ip);
}

static void
n3_arp_cut(struct frame *f)
{
	frame_arp(f, 1, &rig_gnb_mac, RIG_GNB, RIG_N3_ADDR);
	f->length -= 1;
}

static void
n3_arp_from_our_own_address(struct frame *f)
{
	frame_arp(f, 1, &rig_gnb_mac, RIG_N3_ADDR, RIG_N3_ADDR);
}

static void
n3_arp_of_another_kind(struct frame *f)
{
	frame_arp(f, 9, &rig_gnb_mac, RIG_GNB, RIG_N3_ADDR);
}

static void
spoiled_packets_are_dropped_by_name(void **state)
{
#define SPOILED(port, build, reason) \
	{ \
#build, port, reason, build \
	}
	static const struct spoiled cases[] = {
		SPOILED(UPF_PORT_N6, n6_short_frame, UPF_DROP_MALFORMED_ETHERNET),
		SPOILED(UPF_PORT_N6, n6_ipv6, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_vlan_tag_nobody_asked_for, UPF_DROP_OTHER_VLAN),
		SPOILED(UPF_PORT_N6, n6_bad_version, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_bad_header_length, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_longer_than_the_frame, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_bad_checksum, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_truncated_header, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N6, n6_for_another_station, UPF_DROP_NOT_FOR_US),
		SPOILED(UPF_PORT_N6, n6_multicast, UPF_DROP_NOT_FOR_US),
		SPOILED(UPF_PORT_N6, n6_own_address_tcp, UPF_DROP_UNKNOWN_PORT),
		SPOILED(UPF_PORT_N6, n6_own_address_fragment, UPF_DROP_FRAGMENT),
		SPOILED(UPF_PORT_N6, n6_unknown_ue, UPF_DROP_UNKNOWN_UE),
		SPOILED(UPF_PORT_N6, n6_ttl, UPF_DROP_TTL_EXCEEDED),
		SPOILED(UPF_PORT_N6, n6_too_big_for_the_tunnel, UPF_DROP_TOO_BIG),
		SPOILED(UPF_PORT_N3, n3_not_our_address, UPF_DROP_NOT_FOR_US),
		SPOILED(UPF_PORT_N3, n3_fragment, UPF_DROP_FRAGMENT),
		SPOILED(UPF_PORT_N3, n3_tcp, UPF_DROP_UNKNOWN_PORT),
		SPOILED(UPF_PORT_N3, n3_other_udp_port, UPF_DROP_UNKNOWN_PORT),
		SPOILED(UPF_PORT_N3, n3_udp_longer_than_ip, UPF_DROP_MALFORMED_IP),
		SPOILED(UPF_PORT_N3, n3_no_room_for_gtpu, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_gtp_version_2, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_gtp_prime, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_gtp_longer_than_udp, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_optional_word_cut, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_extension_of_length_zero, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_extension_beyond_the_end, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_extension_chain_without_end, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_unknown_message, UPF_DROP_UNSUPPORTED_GTPU),
		SPOILED(UPF_PORT_N3, n3_error_indication_without_teid, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_error_indication_cut, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_error_indication_unknown_tv, UPF_DROP_MALFORMED_GTPU),
		SPOILED(UPF_PORT_N3, n3_empty_gpdu, UPF_DROP_MALFORMED_INNER),
		SPOILED(UPF_PORT_N3, n3_inner_ipv6, UPF_DROP_MALFORMED_INNER),
		SPOILED(UPF_PORT_N3, n3_inner_longer_than_outer, UPF_DROP_MALFORMED_INNER),
		SPOILED(UPF_PORT_N3, n3_inner_bad_checksum, UPF_DROP_MALFORMED_INNER),
		SPOILED(UPF_PORT_N3, n3_spoofed, UPF_DROP_SPOOFED_SOURCE),
		SPOILED(UPF_PORT_N3, n3_ttl, UPF_DROP_TTL_EXCEEDED),
		SPOILED(UPF_PORT_N3, n3_ue_to_ue, UPF_DROP_UE_TO_UE),
		SPOILED(UPF_PORT_N3, n3_to_our_n6_address, UPF_DROP_NOT_FOR_US),
		SPOILED(UPF_PORT_N3, n3_too_big, UPF_DROP_TOO_BIG),
		SPOILED(UPF_PORT_N3, n3_arp_cut, UPF_DROP_MALFORMED_ARP),
		SPOILED(UPF_PORT_N3, n3_arp_from_our_own_address, UPF_DROP_MALFORMED_ARP),
		SPOILED(UPF_PORT_N3, n3_arp_of_another_kind, UPF_DROP_MALFORMED_ARP),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *rig = rig_with_usual_session();
		struct frame f;

		cases[i].build(&f);
		rig_inject(rig, cases[i].port, f.data, f.length);
		rig_poll(rig);
		if (rig_dropped(rig, cases[i].reason) != 1) {
			print_error("%s: ", cases[i].what);
			rig_assert_no_other_drops(rig);
			fail_msg("%s: is not dropped", cases[i].what);
		}
		rig_assert_no_other_drops(rig);
		if (rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6) != 0)
			fail_msg("%s: something is sent", cases[i].what);
		assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 0);
		assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 0);
		rig_free(rig);
	}
}

static void
far_may_drop_or_lack_a_tunnel(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.far[0].action = UPF_FAR_DROP;
	s.far[1].ohc = UPF_OHC_NONE;
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &to_ue);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_NO_TUNNEL), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
without_gateway_there_is_no_route(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;
	struct frame f;

	(void)state;
	config.interface[UPF_PORT_N6].gateway[0] = 0;
	config.routes = 1;
	config.route[0] = (struct config_route){.port = UPF_PORT_N6,
		.prefix = RIG_IP(9, 0, 0, 0),
		.prefix_len = 8,
		.via = RIG_GATEWAY};
	rig = rig_create_with(&config, 1, true);
	rules_usual(&s, 1, RIG_UE, TEID);
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9,
		&(struct ip_fields){.src = RIG_UE, .dst = RIG_IP(9, 9, 9, 9)});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_ROUTE), 1);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1); // by the static route
	rig_free(rig);
}

static void
full_transmit_queue_is_counted(void **state)
{
	struct rig *rig = rig_with_usual_session();
	struct frame f;

	(void)state;
	frame_eth_ip(&f, &to_ue);
	for (unsigned i = 0; i < 1040; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_TX_FULL), 1040 - 1023);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig->shm.workers[0].port[UPF_PORT_N3].tx_packets, 1023);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1023);
	rig_free(rig);
}

static void
ue_to_ue_can_be_allowed(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;
	struct frame f;

	(void)state;
	config.ue_to_ue_allowed = true;
	rig = rig_create_with(&config, 1, true);
	rules_usual(&s, 1, RIG_UE, TEID);
	rules_install(rig, &s);
	n3_ue_to_ue(&f);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	rig_free(rig);
}

// Random damage to good frames: nothing crashes, nothing leaks (rig_free() looks).
static void
damaged_frames_do_no_harm(void **state)
{
	struct rig *rig = rig_with_usual_session();
	struct frame f;

	(void)state;
	srandom(3);
	for (unsigned i = 0; i < 60000; i++) {
		enum upf_port port = random() % 2 != 0 ? UPF_PORT_N6 : UPF_PORT_N3;
		unsigned changes = (unsigned)random() % 4;

		switch (random() % 4) {
		case 0:
			frame_eth_ip(&f, &to_ue);
			break;
		case 1:
			frame_arp(&f, (uint16_t)(1 + random() % 2), &rig_gnb_mac, RIG_GNB,
				RIG_N3_ADDR);
			break;
		case 2:
			frame_gtpu(&f, RIG_N3_ADDR, (uint8_t)(0x30 | random() % 8),
				(uint8_t)random(), TEID,
				"\0\0\0\x85\1\x10\x09\0\x10\0\0\0\1\x85\0\4\1\2\3\4", 20);
			break;
		default:
			frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
			break;
		}
		for (unsigned k = 0; k < changes; k++)
			f.data[14 + (unsigned)random() % (f.length - 14)] = (uint8_t)random();
		if (random() % 4 == 0)
			f.length = 1 + (size_t)random() % f.length;
		else if (f.length > 34)
			frame_ip_header(&f)->total_length =
				rte_cpu_to_be_16((uint16_t)(f.length - 14));
		// Most reach the depths only with a right checksum.
		if (f.length > 14 + 60 && f.data[12] == 8 && f.data[13] == 0)
			frame_ip_seal(&f);
		rig_inject(rig, port, f.data, f.length);
		if (i % 16 == 0) {
			struct event event;

			rig_poll(rig);
			rig_count_sent(rig, UPF_PORT_N3);
			rig_count_sent(rig, UPF_PORT_N6);
			while (rig_event(rig, &event))
				;
		}
	}
	rig_poll(rig);
	rig_free(rig);
}

int
test_forward(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uplink_leaves_its_tunnel),
		cmocka_unit_test(downlink_enters_its_tunnel),
		cmocka_unit_test(without_qfi_there_is_no_extension_header),
		cmocka_unit_test(uplink_goes_on_in_a_tunnel),
		cmocka_unit_test(precedence_and_filters_choose_the_pdr),
		cmocka_unit_test(qfi_chooses_the_pdr),
		cmocka_unit_test(many_pdrs_all_match),
		cmocka_unit_test(spoiled_packets_are_dropped_by_name),
		cmocka_unit_test(far_may_drop_or_lack_a_tunnel),
		cmocka_unit_test(without_gateway_there_is_no_route),
		cmocka_unit_test(full_transmit_queue_is_counted),
		cmocka_unit_test(ue_to_ue_can_be_allowed),
		cmocka_unit_test(damaged_frames_do_no_harm),
	};

	return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
