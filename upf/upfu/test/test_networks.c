// Network instances of N6: each with an interface or a VLAN of its own, and with the same addresses as the others,
// of ours and of UEs. A packet of one never reaches another.
#include <string.h>

#include <rte_arp.h>

#include "frames.h"
#include "link/icmp6.h"
#include "link/neigh_table.h"
#include "packet/gtpu_header.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u // of network 0's session; the others' are above it
#define VLAN 100u   // likewise

static enum upf_port
n6_of(unsigned network)
{
	return config_port_of(network);
}

// The UE with the same addresses in each network: session 1 + network, TEID + network.
static void
rules_of(struct session_rules_builder *s, unsigned network)
{
	rules_usual(s, 1 + network, RIG_UE, TEID + network);
	s->network = s->far[0].network = (uint16_t)network;
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s->pdr[i].ue_prefix, rig_ue6, 8);
		s->pdr[i].ue_prefix_len = 64;
	}
}

static struct config
config_of(unsigned networks)
{
	struct config config = rig_config6();

	rig_add_networks(&config, networks);
	return config;
}

// With sessions in the first so many networks.
static struct rig *
rig_of(const struct config *config, unsigned workers, unsigned sessions)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_create_with(config, workers, true);

	for (unsigned network = 0; network < sessions; network++) {
		rules_of(&s, network);
		rules_install(rig, &s);
	}
	return rig;
}

static struct rig *
rig_networks(unsigned networks, unsigned sessions)
{
	struct config config = config_of(networks);

	return rig_of(&config, 1, sessions);
}

static void
user_packet(struct frame *f, bool ip6, bool uplink)
{
	if (ip6)
		frame_ip6(f,
			&(struct ip6_fields){.src = uplink ? rig_ue6 : rig_remote6,
				.dst = uplink ? rig_remote6 : rig_ue6,
				.payload = 20});
	else
		frame_ip(f,
			&(struct ip_fields){.src = uplink ? RIG_UE : RIG_REMOTE,
				.dst = uplink ? RIG_REMOTE : RIG_UE,
				.payload = 20});
}

static void
send_up(struct rig *rig, unsigned network, const struct frame *packet)
{
	struct frame f;

	frame_gpdu_of(&f, NULL, TEID + network, 9, packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
send_down(struct rig *rig, unsigned network, const struct frame *packet)
{
	struct rte_ether_addr gateway = rig_gateway_mac_of(network);
	struct frame f;

	frame_eth(&f, &gateway, packet);
	rig_inject(rig, n6_of(network), f.data, f.length);
	rig_poll(rig);
}

// The one frame that was sent, by this interface.
static struct rte_mbuf *
only(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m = rig_sent(rig, port);

	assert_non_null(m);
	for (enum upf_port other = 0; other < RIG_PORTS; other++)
		assert_int_equal(rig_count_sent(rig, other), 0);
	return m;
}

static uint32_t
teid_of(const struct rte_mbuf *m)
{
	const struct rte_gtp_hdr *gtp =
		rte_pktmbuf_mtod_offset(m, const struct rte_gtp_hdr *, 14 + 20 + 8);

	assert_int_equal(gtp->msg_type, GTPU_G_PDU);
	return rte_be_to_cpu_32(gtp->teid);
}

static void
assert_is_to_gateway_of(const struct rte_mbuf *m, unsigned network)
{
	struct rte_ether_addr gateway = rig_gateway_mac_of(network);

	assert_memory_equal(rte_pktmbuf_mtod(m, const uint8_t *), gateway.addr_bytes, 6);
}

static void
a_packet_of_one_never_reaches_another(void **state)
{
	struct rig *rig = rig_networks(3, 2);
	struct frame packet;
	struct rte_mbuf *m;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned network = i % 2;
		bool ip6 = i / 2 != 0;

		user_packet(&packet, ip6, false);
		send_down(rig, network, &packet);
		m = only(rig, UPF_PORT_N3);
		assert_int_equal(teid_of(m), TEID + 0x1000 + network);
		rte_pktmbuf_free(m);
		// Network 2 has the same addresses, and no UE.
		send_down(rig, 2, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
		assert_int_equal(
			rig->shm.workers[0].drops[n6_of(2)].reason[UPF_DROP_UNKNOWN_UE], i + 1);

		user_packet(&packet, ip6, true);
		send_up(rig, network, &packet);
		m = only(rig, n6_of(network));
		assert_is_to_gateway_of(m, network);
		assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 6),
			rig->worker[0]->port[n6_of(network)].mac.addr_bytes, 6);
		rte_pktmbuf_free(m);
	}
	for (unsigned network = 0; network < 2; network++) {
		assert_int_equal(rig_urr(rig, 1 + network, UPF_UL)->packets, 2);
		assert_int_equal(rig_urr(rig, 1 + network, UPF_DL)->packets, 2);
		assert_int_equal(rig->shm.workers[0].port[n6_of(network)].rx_packets, 2);
		assert_int_equal(rig->shm.workers[0].port[n6_of(network)].tx_packets, 2);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
an_address_belongs_to_one_session_of_a_network(void **state)
{
	static struct session_rules_builder s;
	static struct transaction t;
	struct rig *rig = rig_networks(2, 1);
	struct frame packet;

	(void)state;
	rules_of(&s, 0);
	s.session = 7;
	s.pdr[0].teid = 0x700;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EEXIST);
	assert_int_equal(rig->refusal.what, UPF_REFUSED_UE_IP);
	assert_int_equal(rig->refusal.holder, 1);
	// In the other network it is free, and a session may go there.
	s.network = s.far[0].network = 1;
	rules_install(rig, &s);
	rules_of(&s, 0);
	s.network = 1;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EEXIST);
	assert_int_equal(rig->refusal.holder, 7);
	transaction_begin(&t);
	transaction_del(&t, 7);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	user_packet(&packet, false, false);
	send_down(rig, 0, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
	send_down(rig, 1, &packet);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	// There are two networks.
	s.network = 2;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	s.network = 1;
	s.far[0].network = 2;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What is another UE's address in one network may be anybody's in another one.
static void
ue_to_ue_is_within_a_network(void **state)
{
	static struct session_rules_builder s;
	const struct ip_fields to_other = {.src = RIG_UE, .dst = RIG_UE + 1, .payload = 20};
	struct rig *rig = rig_networks(2, 2);
	struct frame packet;
	struct rte_mbuf *m;

	(void)state;
	rules_usual(&s, 9, RIG_UE + 1, 0x900);
	s.network = s.far[0].network = 1;
	rules_install(rig, &s);
	frame_ip(&packet, &to_other);
	send_up(rig, 0, &packet);
	rte_pktmbuf_free(only(rig, n6_of(0)));
	send_up(rig, 1, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 1);
	// The sender hears of it by the downlink of its own network.
	m = only(rig, UPF_PORT_N3);
	assert_int_equal(teid_of(m), TEID + 0x1000 + 1);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Two VLANs of one device.
static void
vlans_tell_networks_apart(void **state)
{
	struct config config = config_of(3);
	struct rte_mbuf *m;
	struct frame packet, f;
	struct rig *rig;

	(void)state;
	for (unsigned network = 0; network < 3; network++) {
		config.interface[n6_of(network)].device_of = UPF_PORT_N6;
		config.interface[n6_of(network)].vlan = (uint16_t)(VLAN + network);
	}
	rig = rig_of(&config, 1, 2);
	user_packet(&packet, false, false);
	for (unsigned network = 0; network < 5; network++) {
		frame_eth(&f, &rig_gateway_mac, &packet);
		if (network < 4)
			frame_tag(&f, (uint16_t)(VLAN + network));
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
		if (network < 2) {
			m = only(rig, UPF_PORT_N3);
			assert_int_equal(teid_of(m), TEID + 0x1000 + network);
			rte_pktmbuf_free(m);
		}
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1); // network 2
	assert_int_equal(rig_dropped(rig, UPF_DROP_OTHER_VLAN), 2); // another VLAN, and none
	user_packet(&packet, false, true);
	for (unsigned network = 0; network < 2; network++) {
		send_up(rig, network, &packet);
		m = only(rig, UPF_PORT_N6);
		assert_is_to_gateway_of(m, network);
		assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 12),
			((uint8_t[]){0x81, 0, 0, (uint8_t)(VLAN + network)}), 4);
		rte_pktmbuf_free(m);
	}
	for (unsigned network = 0; network < 3; network++) {
		const struct upf_port_stats *stats = &rig->shm.workers[0].port[n6_of(network)];

		assert_int_equal(stats->rx_packets, network == 0 ? 3 : 1);
		assert_int_equal(stats->tx_packets, network < 2 ? 1 : 0);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What is heard of a gateway in one network is nothing to the other, where the same address is another one's.
static void
neighbours_are_a_network_s_own(void **state)
{
	static const struct rte_ether_addr moved = {{2, 9, 9, 9, 9, 9}};
	struct rig *rig = rig_networks(2, 2);
	struct frame packet, arp;
	struct rte_mbuf *m;

	(void)state;
	frame_arp(&arp, RTE_ARP_OP_REQUEST, &moved, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, n6_of(1), arp.data, arp.length);
	rig_poll(rig);
	m = only(rig, n6_of(1));
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 6),
		rig->worker[0]->port[n6_of(1)].mac.addr_bytes, 6);
	rte_pktmbuf_free(m);
	user_packet(&packet, false, true);
	send_up(rig, 0, &packet);
	m = only(rig, n6_of(0));
	assert_is_to_gateway_of(m, 0);
	rte_pktmbuf_free(m);
	send_up(rig, 1, &packet);
	m = only(rig, n6_of(1));
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), moved.addr_bytes, 6);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Who sends to a UE hears of what does not get through where it is, by the address of ours there.
static void
errors_go_to_the_network_of_the_packet(void **state)
{
	struct rig *rig = rig_networks(2, 2);
	struct neigh_table *n3 = rig->worker[0]->neigh[UPF_PORT_N3];
	struct frame packet;
	struct rte_mbuf *m;

	(void)state;
	frame_ip(&packet,
		&(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .ttl = 1, .payload = 20});
	send_down(rig, 1, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TTL_EXCEEDED), 1);
	m = only(rig, n6_of(1));
	assert_is_to_gateway_of(m, 1);
	rte_pktmbuf_free(m);
	// The gNB does not answer.
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		if (n3->entry[i].state != NEIGH_FREE)
			n3->entry[i].state = NEIGH_DEAD;
	}
	for (unsigned network = 0; network < 2; network++) {
		user_packet(&packet, false, false);
		send_down(rig, network, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
		m = only(rig, n6_of(network));
		assert_is_to_gateway_of(m, network);
		rte_pktmbuf_free(m);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
router_advertisements_are_of_the_network_s_router(void **state)
{
	static const upf_addr ue_link_local = {0xfe, 0x80, [15] = 7};
	static const upf_addr all_routers = {0xff, 2, [15] = 2};
	static const uint8_t solicitation[8] = {ICMP6_ROUTER_SOLICITATION};
	struct rig *rig = rig_networks(2, 2);
	struct frame packet;

	(void)state;
	for (unsigned network = 0; network < 2; network++) {
		upf_addr router;
		struct rte_mbuf *m;

		port_link_local(&rig->worker[0]->port[n6_of(network)], router);
		frame_icmp6(&packet, ue_link_local, all_routers, 255, solicitation, 8);
		send_up(rig, network, &packet);
		m = only(rig, UPF_PORT_N3);
		assert_int_equal(teid_of(m), TEID + 0x1000 + network);
		assert_memory_equal(
			rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 44 + 8), router, sizeof(router));
		rte_pktmbuf_free(m);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
buffers_are_a_session_s(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_networks(2, 2);
	struct frame packet;
	struct rte_mbuf *m;

	(void)state;
	rules_of(&s, 1);
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	user_packet(&packet, false, false);
	send_down(rig, 1, &packet);
	send_down(rig, 0, &packet);
	m = only(rig, UPF_PORT_N3);
	assert_int_equal(teid_of(m), TEID + 0x1000);
	rte_pktmbuf_free(m);
	s.far[1].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	rig_poll(rig);
	m = only(rig, UPF_PORT_N3);
	assert_int_equal(teid_of(m), TEID + 0x1000 + 1);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Another worker than the session's looks it up in the network that the packet came from.
static void
networks_stay_apart_between_workers(void **state)
{
	struct config config = config_of(2);
	struct rig *rig = rig_of(&config, 2, 2);
	struct frame packet, f;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		unsigned network = i % 2;
		struct rte_mbuf *m;

		user_packet(&packet, i / 4 != 0, false);
		frame_eth(&f, &rig_gateway_mac, &packet);
		rig_inject_to(rig, i / 2 % 2, n6_of(network), f.data, f.length);
		rig_poll(rig);
		m = only(rig, UPF_PORT_N3);
		assert_int_equal(teid_of(m), TEID + 0x1000 + network);
		rte_pktmbuf_free(m);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_networks(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_of_one_never_reaches_another),
		cmocka_unit_test(an_address_belongs_to_one_session_of_a_network),
		cmocka_unit_test(ue_to_ue_is_within_a_network),
		cmocka_unit_test(vlans_tell_networks_apart),
		cmocka_unit_test(neighbours_are_a_network_s_own),
		cmocka_unit_test(errors_go_to_the_network_of_the_packet),
		cmocka_unit_test(router_advertisements_are_of_the_network_s_router),
		cmocka_unit_test(buffers_are_a_session_s),
		cmocka_unit_test(networks_stay_apart_between_workers),
	};

	return cmocka_run_group_tests_name("networks", tests, NULL, NULL);
}
