// Fragments in frames: outer packets to our addresses, and users' where the rules ask for ports.
#include <string.h>

#include "frames.h"
#include "link/icmp6.h"
#include "packet/outer.h"
#include "packet/reassembly.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define ID 0x1234u

static struct rig *
rig_create6(bool with_neighbours)
{
	struct config config = rig_config6();

	return rig_create_with(&config, 1, with_neighbours);
}

// Octets from .. to behind the headers of `packet`, an IP packet alone, as a fragment of it. Beyond
// its end they are zeros. IPv6: the Fragment header comes first.
static void
cut(struct frame *piece, const struct frame *packet, uint32_t id, uint32_t from, uint32_t to,
	bool more)
{
	bool ip6 = packet->data[0] >> 4 == 6;
	size_t headers = ip6 ? 40 : (size_t)(packet->data[0] & 15) * 4, at = headers;

	memcpy(piece->data, packet->data, headers);
	if (ip6) {
		struct ipv6_header *ip = (void *)piece->data;
		const struct ipv6_fragment head = {
			.next = ip->next,
			.offset_flags = rte_cpu_to_be_16((uint16_t)(from | more)),
			.id = rte_cpu_to_be_32(id),
		};

		memcpy(piece->data + at, &head, sizeof(head));
		at += sizeof(head);
		ip->next = IPV6_FRAGMENT;
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(head) + to - from));
	} else {
		struct rte_ipv4_hdr *ip = (void *)piece->data;

		ip->packet_id = rte_cpu_to_be_16((uint16_t)id);
		ip->fragment_offset =
			rte_cpu_to_be_16((uint16_t)(from / 8 | (more ? RTE_IPV4_HDR_MF_FLAG : 0)));
		ip->total_length = rte_cpu_to_be_16((uint16_t)(headers + to - from));
		ip->hdr_checksum = 0;
		ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, headers);
	}
	for (uint32_t i = from; i < to; i++)
		piece->data[at++] = headers + i < packet->length ? packet->data[headers + i] : 0;
	piece->length = at;
}

static void
send_outer(struct rig *rig, const struct frame *packet)
{
	struct frame f;

	frame_eth(&f, &rig_gnb_mac, packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

// An Echo Request of 620 octets, 612 behind the IP header, in private extensions (TS 29.281 8.6).
static void
echo_request(struct frame *packet, bool ip6)
{
	uint8_t octets[596] = {0x55, 0xaa};
	struct frame f;

	octets[4] = 255;
	octets[5] = (uint8_t)((sizeof(octets) - 7) >> 8);
	octets[6] = (uint8_t)(sizeof(octets) - 7);
	if (ip6)
		frame_gtpu6(&f, rig_n3_addr6, 0x32, 1, 0, octets, sizeof(octets));
	else
		frame_gtpu(&f, RIG_N3_ADDR, 0x32, 1, 0, octets, sizeof(octets));
	packet->length = f.length - 14;
	memcpy(packet->data, f.data + 14, packet->length);
	assert_int_equal(packet->length, (ip6 ? 40 : 20) + 612);
}

// Later than all that waits may wait.
static void
let_time_pass(struct rig *rig)
{
	struct worker *w = rig->worker[0];

	w->now += w->tsc_hz * 2;
	reassembly_tick(w);
}

enum difference {
	SAME,
	OCTETS,
	IDENTIFICATION,
	PROTOCOL,
	SOURCE,
};

static void
differ(struct frame *packet, bool ip6, enum difference how)
{
	switch (how) {
	case OCTETS:
		packet->data[ip6 ? 60 : 40] ^= 1;
		break;
	case PROTOCOL:
		packet->data[ip6 ? 6 : 9] = IPPROTO_TCP;
		break;
	case SOURCE:
		packet->data[ip6 ? 23 : 15] ^= 1;
		if (ip6) // another network
			packet->data[10] ^= 1;
		break;
	default:
		break;
	}
}

static void
outer_fragments_are_one_packet_or_none(void **state)
{
	static const struct {
		const char *what;
		struct {
			uint32_t from, to;
			bool more;
			enum difference how;
		} piece[5];
		unsigned want_whole; // of IPv4; + 2: of IPv6 not
		struct {
			enum upf_drop reason;
			unsigned n;
		} want_dropped[2];
	} cases[] = {
		{"in order",
			{{0, 304, true, SAME}, {304, 608, true, SAME}, {608, 612, false, SAME}}, 1,
			{{0, 0}}},
		{"the first one last",
			{{608, 612, false, SAME}, {304, 608, true, SAME}, {0, 304, true, SAME}}, 1,
			{{0, 0}}},
		{"in disorder",
			{{304, 608, true, SAME}, {608, 612, false, SAME}, {0, 304, true, SAME}}, 1,
			{{0, 0}}},
		{"an exact copy",
			{{0, 304, true, SAME}, {0, 304, true, SAME}, {304, 612, false, SAME}}, 1,
			{{UPF_DROP_DUPLICATE_FRAGMENT, 1}}},
		{"an exact copy of the last one",
			{{304, 612, false, SAME}, {304, 612, false, SAME}, {0, 304, true, SAME}}, 1,
			{{UPF_DROP_DUPLICATE_FRAGMENT, 1}}},
		{"other octets in the same place",
			{{0, 304, true, SAME}, {0, 304, true, OCTETS}, {304, 612, false, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 3}}},
		{"one within the other (teardrop)", {{0, 304, true, SAME}, {24, 28, false, SAME}},
			0, {{UPF_DROP_OVERLAPPING_FRAGMENT, 2}}},
		{"one over the other's end",
			{{0, 304, true, SAME}, {296, 612, false, SAME}, {0, 304, true, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 3}}},
		{"one over the other's begin", {{304, 612, false, SAME}, {0, 312, true, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 2}}},
		{"one around the other",
			{{304, 608, true, SAME}, {296, 616, true, SAME}, {0, 304, true, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 3}}},
		{"two ends",
			{{304, 608, false, SAME}, {608, 612, false, SAME}, {0, 304, true, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 3}}},
		{"behind the end",
			{{304, 608, false, SAME}, {608, 616, true, SAME}, {0, 304, true, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 3}}},
		{"an end before what is there", {{304, 608, true, SAME}, {8, 16, false, SAME}}, 0,
			{{UPF_DROP_OVERLAPPING_FRAGMENT, 2}}},
		{"beyond 65,535 octets", {{0, 304, true, SAME}, {65528, 65628, false, SAME}}, 0,
			{{UPF_DROP_MALFORMED_FRAGMENT, 1}, {UPF_DROP_REASSEMBLY_TIMEOUT, 1}}},
		{"not a multiple of eight", {{0, 300, true, SAME}, {304, 612, false, SAME}}, 0,
			{{UPF_DROP_MALFORMED_FRAGMENT, 1}, {UPF_DROP_REASSEMBLY_TIMEOUT, 1}}},
		{"empty", {{0, 304, true, SAME}, {304, 304, false, SAME}}, 0,
			{{UPF_DROP_MALFORMED_FRAGMENT, 1}, {UPF_DROP_REASSEMBLY_TIMEOUT, 1}}},
		{"longer than is put together",
			{{0, 304, true, SAME}, {12000, 12008, true, SAME}, {304, 612, false, SAME}},
			0, {{UPF_DROP_REASSEMBLY_TOO_BIG, 3}}},
		{"never whole", {{0, 304, true, SAME}, {312, 612, false, SAME}}, 0,
			{{UPF_DROP_REASSEMBLY_TIMEOUT, 2}}},
		{"of another packet", {{0, 304, true, SAME}, {304, 612, false, IDENTIFICATION}}, 0,
			{{UPF_DROP_REASSEMBLY_TIMEOUT, 2}}},
		{"of another sender", {{0, 304, true, SAME}, {304, 612, false, SOURCE}}, 0,
			{{UPF_DROP_REASSEMBLY_TIMEOUT, 2}}},
		// RFC 791 3.2 has the protocol in the key. RFC 8200 4.5: only the first fragment's
		// Next Header counts.
		{"of another protocol", {{0, 304, true, SAME}, {304, 612, false, PROTOCOL}}, 2,
			{{UPF_DROP_REASSEMBLY_TIMEOUT, 2}}},
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		bool ip6 = i % 2 != 0, protocol = cases[i / 2].want_whole == 2;
		unsigned want_whole = protocol ? ip6 : cases[i / 2].want_whole;
		struct rig *rig = rig_create6(true);

		for (unsigned k = 0; k < 5 && (k == 0 || cases[i / 2].piece[k].to != 0); k++) {
			enum difference how = cases[i / 2].piece[k].how;
			struct frame packet, piece;

			echo_request(&packet, ip6);
			differ(&packet, ip6, how);
			cut(&piece, &packet, how == IDENTIFICATION ? ID + 1 : ID,
				cases[i / 2].piece[k].from, cases[i / 2].piece[k].to,
				cases[i / 2].piece[k].more);
			send_outer(rig, &piece);
		}
		let_time_pass(rig);
		if (rig_count_sent(rig, UPF_PORT_N3) != want_whole ||
			rig->shm.workers[0].local.fragments_reassembled != want_whole ||
			rig->shm.workers[0].local.gtpu_echo_requests != want_whole)
			fail_msg("%s, %s: not %u whole", cases[i / 2].what, ip6 ? "IPv6" : "IPv4",
				want_whole);
		for (unsigned k = 0; k < 2 && !(protocol && ip6); k++) {
			unsigned n = cases[i / 2].want_dropped[k].n;

			if (n != 0 && rig_dropped(rig, cases[i / 2].want_dropped[k].reason) != n)
				fail_msg("%s, %s: not %u dropped for that", cases[i / 2].what,
					ip6 ? "IPv6" : "IPv4", n);
		}
		rig_assert_no_other_drops(rig);
		rig_free(rig);
		assert_int_equal(rig_mbufs_in_use(), 0);
	}
}

// Options that are not copied (RFC 791 3.1) are in the first fragment's header alone.
static void
the_first_header_is_the_packets(void **state)
{
	struct frame packet, longer, piece[2];
	const struct rte_ipv4_hdr *ip;
	struct rig *rig = rig_create6(true);
	struct rte_mbuf *m;

	(void)state;
	echo_request(&packet, false);
	longer = packet;
	memmove(longer.data + 28, packet.data + 20, packet.length - 20);
	memset(longer.data + 20, 1, 8); // no operation
	longer.data[0] = 0x47;
	longer.length += 8;
	cut(&piece[0], &longer, ID, 0, 304, true);
	cut(&piece[1], &packet, ID, 304, 612, false);
	for (unsigned first = 0; first < 2; first++) {
		send_outer(rig, &piece[first]);
		send_outer(rig, &piece[1 - first]);
		m = rig_sent(rig, UPF_PORT_N3);
		assert_non_null(m);
		ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, 14);
		assert_int_equal(ip->dst_addr, rte_cpu_to_be_32(RIG_GNB));
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig->shm.workers[0].local.gtpu_echo_requests, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Extension headers in front of the Fragment header stay in front of the packet (RFC 8200 4.5).
static void
extension_headers_may_come_first(void **state)
{
	struct rig *rig = rig_create6(true);
	struct frame packet, piece;

	(void)state;
	echo_request(&packet, true);
	for (unsigned i = 0; i < 2; i++) {
		struct ipv6_header *ip = (void *)piece.data;

		cut(&piece, &packet, ID, i == 0 ? 304 : 0, i == 0 ? 612 : 304, i == 1);
		memmove(piece.data + 48, piece.data + 40, piece.length - 40);
		memcpy(piece.data + 40, "\x2c\0\1\4\0\0\0\0", 8); // PadN, then the Fragment header
		piece.length += 8;
		ip->next = IPV6_DESTINATION;
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(piece.length - 40));
		send_outer(rig, &piece);
	}
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// RFC 6946: a packet with a Fragment header alone is one, whatever else bears its identification.
static void
atomic_fragments_are_packets(void **state)
{
	struct config config = rig_config6();
	struct frame packet, piece;
	struct rig *rig;

	(void)state;
	for (unsigned without = 0; without < 2; without++) {
		if (without == 1)
			config.reassembly.packets = 0;
		rig = rig_create_with(&config, 1, true);
		echo_request(&packet, true);
		if (without == 0) {
			cut(&piece, &packet, ID, 0, 304, true);
			send_outer(rig, &piece);
		}
		cut(&piece, &packet, ID, 0, 612, false);
		send_outer(rig, &piece);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
		assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 0);
		rig_assert_no_other_drops(rig);
		if (without == 0) {
			cut(&piece, &packet, ID, 304, 612, false);
			send_outer(rig, &piece);
			assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
			assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 1);
		}
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// RFC 6980 5.
static void
neighbour_discovery_in_fragments_is_dropped(void **state)
{
	uint8_t octets[32] = {ICMP6_NEIGHBOUR_ADVERTISEMENT, [4] = 0x60, [24] = 2, [25] = 1};
	struct rig *rig = rig_create6(false);
	struct frame packet, piece;

	(void)state;
	memcpy(octets + 8, rig_gnb6, 16);
	frame_icmp6(&packet, rig_gnb6, rig_n3_addr6, 255, octets, sizeof(octets));
	cut(&piece, &packet, ID, 0, sizeof(octets), false);
	send_outer(rig, &piece);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_ND), 1);
	cut(&piece, &packet, ID, 0, 16, true);
	send_outer(rig, &piece);
	cut(&piece, &packet, ID, 16, sizeof(octets), false);
	send_outer(rig, &piece);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_ND), 1);
	assert_int_equal(rig->shm.workers[0].local.nd_advertisements, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- users ---------------------------------------------------------------------------------------

// Uplink to port 53 alone, so that fragments must be whole. with_ue: from the UE's address alone.
static void
install_session(struct rig *rig, uint32_t session, bool with_ue)
{
	static struct session_rules_builder s;

	rules_usual(&s, session, RIG_UE + session, TEID + session);
	if (!with_ue) { // as in the middle of a chain of UPFs
		s.n_pdr = 1;
		s.pdr[0].flags &= (uint8_t)~UPF_PDR_UE_IPV4;
	}
	for (unsigned i = 0; i < s.n_pdr; i++) {
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
	rules_install(rig, &s);
}

static struct rig *
rig_with_sessions(bool with_ue)
{
	struct rig *rig = rig_create6(true);

	for (uint32_t i = 1; i <= 3; i++)
		install_session(rig, i, with_ue);
	return rig;
}

// Half 0 or 1 of packet `id` from `src`, by the tunnel of `session`.
static void
send_half(struct rig *rig, uint32_t session, uint32_t src, uint32_t id, unsigned half)
{
	struct frame packet, piece, f;

	frame_ip(&packet,
		&(struct ip_fields){.src = src, .dst = RIG_REMOTE, .dport = 53, .payload = 600});
	cut(&piece, &packet, id, half == 0 ? 0 : 304, half == 0 ? 304 : 608, half == 0);
	frame_gpdu_of(&f, NULL, TEID + session, 9, &piece);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
a_spoofed_fragment_is_dropped_at_once(void **state)
{
	struct rig *rig = rig_with_sessions(true);

	(void)state;
	send_half(rig, 1, RIG_UE + 1, ID, 0);
	send_half(rig, 2, RIG_UE + 1, ID, 1); // another UE would complete it
	send_half(rig, 2, RIG_UE + 1, ID + 1, 0);
	send_half(rig, 2, RIG_GNB, ID + 1, 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 3);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	send_half(rig, 1, RIG_UE + 1, ID, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	let_time_pass(rig);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
nobody_completes_anothers_packet(void **state)
{
	struct rig *rig = rig_with_sessions(false);

	(void)state;
	send_half(rig, 1, RIG_UE, ID, 0);
	send_half(rig, 2, RIG_UE, ID, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	send_half(rig, 1, RIG_UE, ID, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	// Nor may a later session of the same index.
	send_half(rig, 3, RIG_UE, ID, 0);
	{
		static struct transaction t;

		transaction_begin(&t);
		transaction_del(&t, 3);
		assert_int_equal(transaction_do(rig, &t, NULL), 0);
	}
	install_session(rig, 3, false);
	send_half(rig, 3, RIG_UE, ID, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	let_time_pass(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REASSEMBLY_TIMEOUT), 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Of 16 packets at once a sender has two; what it floods with are its own.
static void
a_flood_of_fragments_is_its_senders_alone(void **state)
{
	struct rig *rig = rig_with_sessions(true);
	struct frame packet, piece;
	uint64_t gave_way;

	(void)state;
	send_half(rig, 1, RIG_UE + 1, ID, 0);
	echo_request(&packet, false);
	cut(&piece, &packet, ID, 0, 304, true);
	send_outer(rig, &piece);
	for (uint32_t i = 0; i < 200; i++) {
		send_half(rig, 2, RIG_UE + 2, i, 0);
		send_half(rig, 3, RIG_UE + 3, i, 1);
		differ(&packet, false, SOURCE); // there and back: one sender more
		cut(&piece, &packet, 1000 + i / 2, 0, 304, true);
		if (i % 2 == 0)
			send_outer(rig, &piece);
	}
	gave_way = rig_dropped(rig, UPF_DROP_REASSEMBLY_FULL);
	assert_int_equal(gave_way, (200 - 2) + (200 - 2) + (100 - 2));
	send_half(rig, 1, RIG_UE + 1, ID, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	echo_request(&packet, false);
	cut(&piece, &packet, ID, 304, 612, false);
	send_outer(rig, &piece);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	let_time_pass(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REASSEMBLY_TIMEOUT), 6);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A user's atomic fragment has its ports, and keeps its Fragment header.
static void
a_users_atomic_fragment_goes_on_as_it_came(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_create6(true);
	struct frame packet, piece, f;
	struct rte_mbuf *m;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	for (unsigned i = 0; i < 2; i++) {
		s.pdr[i].flags |= UPF_PDR_UE_IPV6 | UPF_PDR_SDF;
		memcpy(s.pdr[i].ue_prefix, rig_ue6, 8);
		s.pdr[i].ue_prefix_len = 64;
		s.pdr[i].sdf6_count = 1;
	}
	s.n_sdf6 = 1;
	s.sdf6[0] = (struct upf_sdf6){.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
		.proto = IPPROTO_UDP,
		.remote_port_lo = 53,
		.remote_port_hi = 53,
		.local_port_hi = 65535};
	rules_install(rig, &s);
	frame_ip6(&packet,
		&(struct ip6_fields){
			.src = rig_remote6, .dst = rig_ue6, .sport = 53, .payload = 600});
	cut(&piece, &packet, ID, 0, 304, true);
	frame_eth(&f, &rig_gateway_mac, &piece);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	cut(&piece, &packet, ID, 0, 608, false);
	frame_eth(&f, &rig_gateway_mac, &piece);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + 44 + piece.length);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 44 + 8), piece.data + 8,
		piece.length - 8);
	rte_pktmbuf_free(m);
	assert_null(rig_sent(rig, UPF_PORT_N3));
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_reassembly(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outer_fragments_are_one_packet_or_none),
		cmocka_unit_test(the_first_header_is_the_packets),
		cmocka_unit_test(extension_headers_may_come_first),
		cmocka_unit_test(atomic_fragments_are_packets),
		cmocka_unit_test(neighbour_discovery_in_fragments_is_dropped),
		cmocka_unit_test(a_spoofed_fragment_is_dropped_at_once),
		cmocka_unit_test(nobody_completes_anothers_packet),
		cmocka_unit_test(a_flood_of_fragments_is_its_senders_alone),
		cmocka_unit_test(a_users_atomic_fragment_goes_on_as_it_came),
	};

	return cmocka_run_group_tests_name("reassembly", tests, NULL, NULL);
}
