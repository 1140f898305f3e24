// What an interface does by itself: VLAN tags, Neighbour Discovery, ICMPv6 echo, and GTP-U signalling
// over IPv6, whole or in fragments.
#include <string.h>

#include <rte_cycles.h>

#include "frames.h"
#include "link/eal.h"
#include "link/icmp6.h"
#include "link/neigh_message.h"
#include "packet/gtpu.h"
#include "packet/gtpu_header.h"
#include "rules.h"
#include "tests.h"

static const upf_addr all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
// The solicited-node group of rig_n3_addr6.
static const upf_addr our_group = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0x11};
static const upf_addr nobody;

static struct rig *
rig_create6(bool with_neighbours)
{
	struct config config = rig_config6();

	return rig_create_with(&config, 1, with_neighbours);
}

// A Neighbour Solicitation or Advertisement with a link-layer address option.
static void
nd_packet(struct frame *packet, uint8_t type, uint8_t flags, const uint8_t *src, const uint8_t *dst,
	const uint8_t *target, const struct rte_ether_addr *mac)
{
	uint8_t octets[32] = {type, 0, 0, 0, flags};

	memcpy(octets + 8, target, 16);
	if (mac != NULL) {
		octets[24] = type == ICMP6_NEIGHBOUR_SOLICITATION ? 1 : 2;
		octets[25] = 1;
		memcpy(octets + 26, mac, 6);
	}
	frame_icmp6(packet, src, dst, 255, octets, mac != NULL ? 32 : 24);
}

static void
inject_packet(struct rig *rig, enum upf_port port, const struct frame *packet)
{
	struct frame f;

	frame_eth(&f, port == UPF_PORT_N3 ? &rig_gnb_mac : &rig_gateway_mac, packet);
	rig_inject(rig, port, f.data, f.length);
	rig_poll(rig);
}

struct sent_nd {
	struct rte_ether_addr to;
	struct ipv6_header ip;
	uint8_t icmp[32];
};

// The next frame sent, which must be Neighbour Discovery with a right checksum.
static struct sent_nd
sent_nd(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m = rig_sent(rig, port);
	struct sent_nd nd;

	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + 40 + 32);
	nd.to = rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr;
	memcpy(&nd.ip, rte_pktmbuf_mtod_offset(m, void *, 14), sizeof(nd.ip));
	memcpy(nd.icmp, rte_pktmbuf_mtod_offset(m, void *, 54), sizeof(nd.icmp));
	assert_int_equal(nd.ip.hop_limit, 255);
	assert_int_equal(ipv6_upper_sum(&nd.ip, nd.icmp, 32, IPV6_ICMP), 0xffff);
	assert_memory_equal(nd.icmp + 26, &rig->worker[0]->port[port].mac, 6);
	rte_pktmbuf_free(m);
	return nd;
}

static void
own_addresses_are_told_who_asks(void **state)
{
	struct rig *rig = rig_create6(false);
	struct rte_ether_addr everybody = {{0x33, 0x33, 0, 0, 0, 1}};
	struct sent_nd nd;
	struct frame f;

	(void)state;
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, rig_n3_addr6,
		&rig_gnb_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	nd = sent_nd(rig, UPF_PORT_N3);
	assert_int_equal(nd.icmp[0], ICMP6_NEIGHBOUR_ADVERTISEMENT);
	assert_int_equal(nd.icmp[4], 0x60); // solicited, override
	assert_memory_equal(nd.icmp + 8, rig_n3_addr6, 16);
	assert_memory_equal(nd.ip.dst, rig_gnb6, 16);
	assert_true(rte_is_same_ether_addr(&nd.to, &rig_gnb_mac));
	// Somebody tries our address (RFC 4862 5.4): everybody hears that it is taken.
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, nobody, our_group, rig_n3_addr6, NULL);
	inject_packet(rig, UPF_PORT_N3, &f);
	nd = sent_nd(rig, UPF_PORT_N3);
	assert_int_equal(nd.icmp[4], 0x20);
	assert_memory_equal(nd.ip.dst, all_nodes, 16);
	assert_true(rte_is_same_ether_addr(&nd.to, &everybody));
	// For an address of others, silence.
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, rig_gateway6,
		&rig_gnb_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig->shm.workers[0].local.nd_solicitations, 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
own_addresses_are_announced_in_ipv6(void **state)
{
	struct rig *rig = rig_create6(false);

	(void)state;
	neigh_announce(rig->worker[0], UPF_PORT_N3);
	rig_poll(rig);
	for (unsigned i = 0; i < 16; i++)
		rte_pktmbuf_free(rig_sent(rig, UPF_PORT_N3)); // ARP's
	for (uint8_t i = 0; i < 16; i++) {
		struct sent_nd nd = sent_nd(rig, UPF_PORT_N3);

		assert_int_equal(nd.icmp[0], ICMP6_NEIGHBOUR_ADVERTISEMENT);
		assert_int_equal(nd.icmp[4], 0x20);
		assert_int_equal(nd.icmp[23], 0x10 + i);
		assert_memory_equal(nd.ip.dst, all_nodes, 16);
	}
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_free(rig);
}

// Makes the worker send something to the gNB: an Echo Request.
static void
send_echo6(struct rig *rig, uint8_t repeated)
{
	struct upf_echo echo = {.sequence = 1, .ohc = UPF_OHC_GTPU6, .repeated = repeated};

	memcpy(echo.peer_addr, rig_gnb6, sizeof(echo.peer_addr));
	memcpy(echo.local_addr, rig_n3_addr6, sizeof(echo.local_addr));
	rig_poll(rig); // it has a time then
	gtpu_send_echo(rig->worker[0], &echo);
	rig_poll(rig);
}

static struct neigh *
entry6(struct rig *rig, const upf_addr addr)
{
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		struct neigh *n = &rig->worker[0]->neigh6[UPF_PORT_N3]->entry[i];

		if (n->state != NEIGH_FREE && memcmp(n->addr6, addr, 16) == 0)
			return n;
	}
	return NULL;
}

static void
expire6(struct rig *rig)
{
	entry6(rig, rig_gnb6)->due = 0;
	rig->worker[0]->next_tick = 0;
	rig_poll(rig);
}

static void
packets_wait_for_the_advertisement(void **state)
{
	static const upf_addr group = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 1, 0};
	static const struct rte_ether_addr group_mac = {{0x33, 0x33, 0xff, 0, 1, 0}};
	struct rig *rig = rig_create6(false);
	struct sent_nd nd;
	struct rte_mbuf *m;
	struct frame f;

	(void)state;
	send_echo6(rig, 0);
	nd = sent_nd(rig, UPF_PORT_N3);
	assert_int_equal(nd.icmp[0], ICMP6_NEIGHBOUR_SOLICITATION);
	assert_memory_equal(nd.icmp + 8, rig_gnb6, 16);
	assert_int_equal(nd.icmp[24], 1);
	assert_memory_equal(nd.ip.dst, group, 16);
	assert_true(rte_is_same_ether_addr(&nd.to, &group_mac));
	assert_null(rig_sent(rig, UPF_PORT_N3));
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x60, rig_gnb6, rig_n3_addr6, rig_gnb6,
		&rig_gnb_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + 40 + 8 + 12);
	assert_true(rte_is_same_ether_addr(
		&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &rig_gnb_mac));
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.nd_advertisements, 1);
	// Known, it is asked again by its address alone when it grows old, and serves meanwhile.
	send_echo6(rig, 0);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	expire6(rig);
	nd = sent_nd(rig, UPF_PORT_N3);
	assert_memory_equal(nd.ip.dst, rig_gnb6, 16);
	assert_true(rte_is_same_ether_addr(&nd.to, &rig_gnb_mac));
	// Another MAC address counts only with the override flag; without one it confirms.
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x40, rig_gnb6, rig_n3_addr6, rig_gnb6,
		&rig_gateway_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(entry6(rig, rig_gnb6)->state, NEIGH_STALE);
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x40, rig_gnb6, rig_n3_addr6, rig_gnb6, NULL);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(entry6(rig, rig_gnb6)->state, NEIGH_GOOD);
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x60, rig_gnb6, rig_n3_addr6, rig_gnb6,
		&rig_gateway_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_true(rte_is_same_ether_addr(&entry6(rig, rig_gnb6)->mac, &rig_gateway_mac));
	// One that does not answer an Echo Request is asked for by the group.
	send_echo6(rig, 1);
	nd = sent_nd(rig, UPF_PORT_N3);
	assert_memory_equal(nd.ip.dst, group, 16);
	assert_int_equal(entry6(rig, rig_gnb6)->state, NEIGH_STALE);
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x60, rig_gnb6, rig_n3_addr6, rig_gnb6,
		&rig_gateway_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(entry6(rig, rig_gnb6)->state, NEIGH_GOOD);
	// Silent, it is given up.
	send_echo6(rig, 0);
	for (unsigned i = 0; i < 6; i++)
		expire6(rig);
	rig_count_sent(rig, UPF_PORT_N3);
	send_echo6(rig, 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
bad_neighbour_discovery_is_dropped(void **state)
{
	static const struct rte_ether_addr group_mac = {{0x33, 0x33, 0, 0, 0, 1}};
	struct rig *rig = rig_create6(false);
	uint8_t octets[40] = {ICMP6_NEIGHBOUR_SOLICITATION};
	struct frame f, eth;

	(void)state;
	memcpy(octets + 8, rig_n3_addr6, 16);
	// From beyond a router.
	frame_icmp6(&f, rig_gnb6, our_group, 254, octets, 24);
	inject_packet(rig, UPF_PORT_N3, &f);
	// An option of length 0, one beyond the end, a target that is a group, a group as MAC address.
	octets[24] = 1;
	frame_icmp6(&f, rig_gnb6, our_group, 255, octets, 32);
	inject_packet(rig, UPF_PORT_N3, &f);
	octets[25] = 2;
	frame_icmp6(&f, rig_gnb6, our_group, 255, octets, 32);
	inject_packet(rig, UPF_PORT_N3, &f);
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, our_group, NULL);
	inject_packet(rig, UPF_PORT_N3, &f);
	nd_packet(
		&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, rig_n3_addr6, &group_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	// Solicited, and to everybody.
	nd_packet(&f, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x40, rig_gnb6, all_nodes, rig_gnb6,
		&rig_gnb_mac);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_ND), 6);
	// A wrong checksum, and cut short.
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, rig_n3_addr6, NULL);
	f.data[50] ^= 1;
	inject_packet(rig, UPF_PORT_N3, &f);
	frame_icmp6(&f, rig_gnb6, our_group, 255, octets, 20);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_ND), 1);
	// Other stations' and what else goes round on a link.
	nd_packet(&f, ICMP6_NEIGHBOUR_SOLICITATION, 0, rig_gnb6, our_group, rig_n3_addr6, NULL);
	frame_eth(&eth, &rig_gnb_mac, &f);
	eth.data[0] = 2;
	rig_inject(rig, UPF_PORT_N3, eth.data, eth.length);
	octets[0] = ICMP6_ROUTER_ADVERTISEMENT;
	frame_icmp6(&f, rig_gnb6, all_nodes, 255, octets, 16);
	inject_packet(rig, UPF_PORT_N3, &f);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NOT_FOR_US), 2);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_null(entry6(rig, rig_gnb6));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
icmp6_echo_is_answered(void **state)
{
	struct rig *rig = rig_create6(true);
	uint8_t octets[48] = {ICMP6_ECHO_REQUEST, 0, 0, 0, 0, 7, 0, 1, 'x'};
	const struct ipv6_header *ip;
	struct rte_mbuf *m;
	struct frame f;

	(void)state;
	frame_icmp6(&f, rig_gateway6, rig_n6_addr6, 1, octets, sizeof(octets));
	inject_packet(rig, UPF_PORT_N6, &f);
	m = rig_sent(rig, UPF_PORT_N6);
	assert_non_null(m);
	ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
	assert_memory_equal(ip->src, rig_n6_addr6, 16);
	assert_memory_equal(ip->dst, rig_gateway6, 16);
	assert_int_equal(*(const uint8_t *)(ip + 1), ICMP6_ECHO_REPLY);
	assert_int_equal(ipv6_upper_sum(ip, ip + 1, sizeof(octets), IPV6_ICMP), 0xffff);
	rte_pktmbuf_free(m);
	assert_int_equal(rig->shm.workers[0].local.icmp_echo, 1);
	// Not to a group, and nothing else.
	frame_icmp6(&f, rig_gateway6, all_nodes, 1, octets, sizeof(octets));
	inject_packet(rig, UPF_PORT_N6, &f);
	octets[0] = 1; // unreachable
	frame_icmp6(&f, rig_gateway6, rig_n6_addr6, 1, octets, sizeof(octets));
	inject_packet(rig, UPF_PORT_N6, &f);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_PORT), 2);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The next frame sent: GTP-U over IPv6 with these octets.
static void
assert_gtpu6_sent(struct rig *rig, const void *want, size_t length)
{
	struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
	const struct ipv6_header *ip;

	assert_non_null(m);
	ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + 40 + 8 + length);
	assert_int_equal(ipv6_valid_length(ip, 2000), 48 + length);
	assert_memory_equal(ip->src, rig_n3_addr6, 16);
	assert_memory_equal(ip->dst, rig_gnb6, 16);
	assert_int_equal(ipv6_upper_sum(ip, ip + 1, (uint16_t)(8 + length), IPPROTO_UDP), 0xffff);
	assert_memory_equal((const uint8_t *)(ip + 1) + 8, want, length);
	rte_pktmbuf_free(m);
}

static void
gtpu_signalling_goes_over_ipv6(void **state)
{
	static const uint8_t echo[] = {0x32, 2, 0, 6, 0, 0, 0, 0, 0x55, 0xaa, 0, 0, 14, 0};
	static const uint8_t asked[] = {0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0};
	uint8_t error[40] = {0x36, 26, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0x08, 0x68, 0, 16, 0, 0,
		0xde, 0xad, 133, 0, 16};
	struct rig *rig = rig_create6(true);
	struct frame f, packet;
	struct event event;

	(void)state;
	frame_gtpu6(&f, rig_n3_addr6, 0x32, 1, 0, "\x55\xaa\0\0", 4);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_gtpu6_sent(rig, echo, sizeof(echo));
	frame_ip(&packet, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	frame_gpdu_of(&f, rig_n3_addr6, 0xdead, 9, &packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	memcpy(error + 24, rig_n3_addr6, 16);
	assert_gtpu6_sent(rig, error, sizeof(error));
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_TEID), 1);
	send_echo6(rig, 0);
	assert_gtpu6_sent(rig, asked, sizeof(asked));
	frame_gtpu6(&f, rig_n3_addr6, 0x32, 2, 0, "\0\1\0\0\x0e\0", 6);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_ECHO);
	assert_int_equal(event.echo.ohc, UPF_OHC_GTPU6);
	assert_memory_equal(event.echo.peer_addr, rig_gnb6, 16);
	frame_gtpu6(&f, rig_n3_addr6, 0x32, 26, 0, error + 8, sizeof(error) - 8);
	f.data[f.length - 1] ^= 0; // as sent by a peer whose extension flag is set
	f.data[14 + 40 + 8] = 0x36;
	frame_seal6(&f, 14);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_ERROR_IND);
	assert_int_equal(event.error_ind.ohc, UPF_OHC_GTPU6);
	assert_int_equal(event.error_ind.teid, 0xdead);
	assert_memory_equal(event.error_ind.peer_addr, rig_n3_addr6, 16);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
udp_checksum_over_ipv6_is_as_configured(void **state)
{
	struct config config = rig_config6();

	(void)state;
	for (unsigned zero = 0; zero < 2; zero++) {
		struct frame f;
		struct rig *rig;

		config.udp6_zero_checksum = zero == 1;
		rig = rig_create_with(&config, 1, true);
		frame_gtpu6(&f, rig_n3_addr6, 0x32, 1, 0, "\x55\xaa\0\0", 4);
		f.data[14 + 40 + 6] = f.data[14 + 40 + 7] = 0;
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), zero);
		assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1 - zero);
		f.data[14 + 40 + 7] = 1; // there, and wrong
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Puts an extension header behind the IPv6 header of a frame.
static void
extend6(struct frame *f, uint8_t type, const uint8_t *header, size_t octets)
{
	struct ipv6_header *ip = (struct ipv6_header *)(void *)(f->data + 14);

	memmove(f->data + 54 + octets, f->data + 54, f->length - 54);
	memcpy(f->data + 54, header, octets);
	f->data[54] = ip->next;
	ip->next = type;
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip->payload_len) + octets));
	f->length += octets;
}

static void
extension_headers_are_passed_over_up_to_a_bound(void **state)
{
	static const uint8_t options[8] = {0, 0, 1, 4}; // PadN
	struct rig *rig = rig_create6(true);
	struct frame f;

	(void)state;
	for (unsigned n = 1; n <= IPV6_CHAIN_MAX + 1; n++) {
		frame_gtpu6(&f, rig_n3_addr6, 0x32, 1, 0, "\x55\xaa\0\0", 4);
		for (unsigned i = 0; i < n; i++)
			extend6(&f, IPV6_DESTINATION, options, sizeof(options));
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), n <= IPV6_CHAIN_MAX);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	// One that reaches beyond the packet.
	frame_gtpu6(&f, rig_n3_addr6, 0x32, 1, 0, "\x55\xaa\0\0", 4);
	extend6(&f, IPV6_DESTINATION, options, sizeof(options));
	f.data[55] = 200;
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Cuts an Echo Request with much behind it in two and sends the pieces in this order.
static void
inject_in_pieces(struct rig *rig, bool ip6, const unsigned order[], unsigned n)
{
	uint8_t octets[604] = {0x55, 0xaa};
	struct frame whole, piece[3];
	size_t head = ip6 ? 54 : 34, cut = 304, at = head;

	// Private extensions fill it up (TS 29.281 8.6).
	octets[4] = 255;
	octets[5] = (uint8_t)((sizeof(octets) - 7) >> 8);
	octets[6] = (uint8_t)(sizeof(octets) - 7);
	if (ip6)
		frame_gtpu6(&whole, rig_n3_addr6, 0x32, 1, 0, octets, sizeof(octets));
	else
		frame_gtpu(&whole, RIG_N3_ADDR, 0x32, 1, 0, octets, sizeof(octets));
	for (unsigned i = 0; i < 3; i++) {
		size_t length = RTE_MIN(cut, whole.length - at);
		size_t offset = at - head;
		bool more = at + length < whole.length;
		struct frame *f = &piece[i];

		memcpy(f->data, whole.data, head);
		memcpy(f->data + head, whole.data + at, length);
		f->length = head + length;
		if (ip6) {
			struct ipv6_header *ip = (void *)(f->data + 14);
			const uint8_t fragment[8] = {0, 0, (uint8_t)(offset >> 8),
				(uint8_t)((offset & 0xf8) | more), 1, 2, 3, 4};

			ip->payload_len = rte_cpu_to_be_16((uint16_t)length);
			extend6(f, IPV6_FRAGMENT, fragment, sizeof(fragment));
		} else {
			struct rte_ipv4_hdr *ip = frame_ip_header(f);

			ip->packet_id = 0x1234;
			ip->fragment_offset = rte_cpu_to_be_16(
				(uint16_t)(offset / 8 | (more ? RTE_IPV4_HDR_MF_FLAG : 0)));
			ip->total_length = rte_cpu_to_be_16((uint16_t)(20 + length));
			frame_ip_seal(f);
		}
		at += length;
	}
	for (unsigned i = 0; i < n; i++)
		rig_inject(rig, UPF_PORT_N3, piece[order[i]].data, piece[order[i]].length);
	rig_poll(rig);
}

static void
fragments_for_us_are_put_together(void **state)
{
	static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
	struct rig *rig = rig_create6(true);

	(void)state;
	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		for (unsigned i = 0; i < 3; i++) {
			inject_in_pieces(rig, ip6 == 1, orders[i], 3);
			assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
		}
	}
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 6);
	assert_int_equal(rig->shm.workers[0].local.gtpu_echo_requests, 6);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
fragments_that_never_become_whole_are_given_up(void **state)
{
	static const unsigned two[] = {0, 2};
	struct config config = rig_config6();
	struct rig *rig;

	(void)state;
	config.reassembly.timeout_ms = 10;
	rig = rig_create_with(&config, 1, true);
	inject_in_pieces(rig, false, two, 2);
	inject_in_pieces(rig, true, two, 2);
	rte_delay_ms(11);
	rig->worker[0]->next_tick = 0;
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REASSEMBLY_TIMEOUT), 4);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
vlan_tags_come_off_and_on(void **state)
{
	struct config config = rig_config6();
	struct rte_mbuf *m;
	struct rig *rig;
	struct frame f;

	(void)state;
	config.interface[UPF_PORT_N3].vlan = 0x123;
	rig = rig_create_with(&config, 1, true);
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 1, 0, "\x55\xaa\0\0", 4);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length); // untagged
	frame_tag(&f, 0x124);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length); // of another VLAN
	rig_inject(rig, UPF_PORT_N3, f.data, 16);       // cut in the tag
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_OTHER_VLAN), 3);
	frame_gtpu(&f, RIG_N3_ADDR, 0x32, 1, 0, "\x55\xaa\0\0", 4);
	frame_tag(&f, 0xa123); // with a priority
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 18 + 20 + 8 + 14);
	assert_memory_equal(
		rte_pktmbuf_mtod_offset(m, uint8_t *, 12), "\x81\x00\x01\x23\x08\x00\x45", 7);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &rig_gnb_mac, 6);
	assert_memory_equal(
		rte_pktmbuf_mtod_offset(m, uint8_t *, 6), &rig->worker[0]->port[0].mac, 6);
	rte_pktmbuf_free(m);
	// Where the port does it, the tag is in the mbuf.
	rig->worker[0]->port[UPF_PORT_N3].vlan_offload = true;
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 14 + 20 + 8 + 14);
	assert_true((m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0);
	assert_int_equal(m->vlan_tci, 0x123);
	rte_pktmbuf_free(m);
	// An interface without VLAN takes priority tags only.
	frame_ip(&f, &(struct ip_fields){.src = RIG_GATEWAY, .dst = RIG_N6_ADDR, .dport = 7});
	{
		struct frame eth;

		frame_eth(&eth, &rig_gateway_mac, &f);
		frame_tag(&eth, 0xe000);
		rig_inject(rig, UPF_PORT_N6, eth.data, eth.length);
		eth.data[15] = 5;
		rig_inject(rig, UPF_PORT_N6, eth.data, eth.length);
	}
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_PORT), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_OTHER_VLAN), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
advertisements_reach_the_worker_that_asked(void **state)
{
	struct config config = rig_config6();
	struct rig *rig = rig_create_with(&config, 2, false);
	struct frame f, packet;

	(void)state;
	send_echo6(rig, 0); // by worker 0
	rte_pktmbuf_free(rig_sent(rig, UPF_PORT_N3));
	nd_packet(&packet, ICMP6_NEIGHBOUR_ADVERTISEMENT, 0x60, rig_gnb6, rig_n3_addr6, rig_gnb6,
		&rig_gnb_mac);
	frame_eth(&f, &rig_gnb_mac, &packet);
	rig_inject_to(rig, 1, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_link(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_addresses_are_told_who_asks),
		cmocka_unit_test(own_addresses_are_announced_in_ipv6),
		cmocka_unit_test(packets_wait_for_the_advertisement),
		cmocka_unit_test(bad_neighbour_discovery_is_dropped),
		cmocka_unit_test(icmp6_echo_is_answered),
		cmocka_unit_test(gtpu_signalling_goes_over_ipv6),
		cmocka_unit_test(udp_checksum_over_ipv6_is_as_configured),
		cmocka_unit_test(extension_headers_are_passed_over_up_to_a_bound),
		cmocka_unit_test(fragments_for_us_are_put_together),
		cmocka_unit_test(fragments_that_never_become_whole_are_given_up),
		cmocka_unit_test(vlan_tags_come_off_and_on),
		cmocka_unit_test(advertisements_reach_the_worker_that_asked),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
