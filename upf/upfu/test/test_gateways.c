// Two gateways on an interface: packets are spread over both, go by one while the other does not answer, and by
// both again when it does. Time is moved by the workers' timers.
#include <string.h>

#include <rte_arp.h>

#include "frames.h"
#include "link/gateways_state.h"
#include "link/icmp6.h"
#include "link/neigh_message.h"
#include "rules.h"
#include "tests.h"

#define UES 64u
// Ticks after its last answer until a gateway counts as gone, at most.
#define GONE_TICKS ((GATEWAY_TRIES + 1) * GATEWAY_ASK_TICKS)

static const uint32_t second = RIG_GATEWAY + 8;
static const struct rte_ether_addr second_mac = {{2, 0, 0, 0, 6, 9}};
static const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static const struct rte_ether_addr *
mac_of(unsigned gateway)
{
	return gateway == 0 ? &rig_gateway_mac : &second_mac;
}

static void
addr6_of(unsigned gateway, upf_addr addr)
{
	memcpy(addr, rig_gateway6, sizeof(upf_addr));
	addr[15] = gateway == 0 ? 1 : 9;
}

static struct config
config_of_two(void)
{
	struct config config = rig_config6();
	struct config_interface *in = &config.interface[UPF_PORT_N6];

	in->gateway[1] = second;
	addr6_of(1, in->gateway6[1]);
	return config;
}

static void
install(struct rig *rig, unsigned ues)
{
	for (unsigned i = 0; i < ues; i++) {
		struct session_rules_builder s;

		rules_usual(&s, 1 + i, RIG_UE + i, 0x100 + i);
		for (unsigned k = 0; k < 2; k++) {
			s.pdr[k].flags |= UPF_PDR_UE_IPV6;
			memcpy(s.pdr[k].ue_prefix, rig_ue6, 8);
			s.pdr[k].ue_prefix[7] = (uint8_t)i;
			s.pdr[k].ue_prefix_len = 64;
		}
		rules_install(rig, &s);
	}
}

static void
tick(struct rig *rig)
{
	for (unsigned i = 0; i < rig->config.workers; i++)
		rig->worker[i]->next_tick = 0;
	rig_poll(rig);
}

static void
answer(struct rig *rig, unsigned gateway, bool ip6)
{
	struct frame f, packet;

	if (!ip6) {
		frame_arp(&f, RTE_ARP_OP_REPLY, mac_of(gateway),
			gateway == 0 ? RIG_GATEWAY : second, RIG_N6_ADDR);
	} else {
		uint8_t octets[32] = {ICMP6_NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, ND_NA_SOLICITED};
		upf_addr from;

		addr6_of(gateway, from);
		memcpy(octets + 8, from, sizeof(from));
		octets[24] = ND_OPTION_TARGET;
		octets[25] = 1;
		memcpy(octets + 26, mac_of(gateway), 6);
		frame_icmp6(&packet, from, rig_n6_addr6, 255, octets, sizeof(octets));
		frame_eth(&f, mac_of(gateway), &packet);
	}
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

struct asked { // requests by gateway
	unsigned n[2];
	unsigned to_everybody[2];
};

// Takes what was sent on N6, requests alone.
static struct asked
take_asked(struct rig *rig, bool ip6)
{
	struct asked asked = {0};
	struct rte_mbuf *m;

	while ((m = rig_sent(rig, UPF_PORT_N6)) != NULL) {
		const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const void *);
		bool arp = eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP);

		if (arp && !ip6) {
			const struct rte_arp_hdr *request = (const void *)(eth + 1);
			unsigned i = request->arp_data.arp_tip == rte_cpu_to_be_32(second);

			assert_true(i == 1 ||
				request->arp_data.arp_tip == rte_cpu_to_be_32(RIG_GATEWAY));
			assert_int_equal(request->arp_data.arp_sip, rte_cpu_to_be_32(RIG_N6_ADDR));
			asked.n[i]++;
			asked.to_everybody[i] += rte_is_same_ether_addr(&eth->dst_addr, &everybody);
		} else if (!arp && ip6) {
			const uint8_t *target =
				rte_pktmbuf_mtod_offset(m, const uint8_t *, 14 + 40 + 8);
			unsigned i = target[15] == 9;

			asked.n[i]++;
			asked.to_everybody[i] += rte_is_multicast_ether_addr(&eth->dst_addr);
		}
		rte_pktmbuf_free(m);
	}
	return asked;
}

// Lets them answer or not, as long as `ticks` timers take.
static void
pass(struct rig *rig, unsigned ticks, bool first_answers, bool second_answers, bool ip6)
{
	for (unsigned i = 0; i < ticks; i++) {
		struct asked asked;

		tick(rig);
		asked = take_asked(rig, ip6);
		if (asked.n[0] != 0 && first_answers)
			answer(rig, 0, ip6);
		if (asked.n[1] != 0 && second_answers)
			answer(rig, 1, ip6);
	}
	tick(rig); // the other workers see it
	rig_count_sent(rig, UPF_PORT_N6);
}

// Sends one packet of each UE; which[] is the gateway that each went by. Returns how many went by the second.
static unsigned
send_all(struct rig *rig, bool ip6, uint8_t which[UES])
{
	unsigned n = 0;

	for (unsigned i = 0; i < UES; i++) {
		struct frame f, packet;
		struct rte_mbuf *m;

		if (ip6) {
			upf_addr ue;

			memcpy(ue, rig_ue6, sizeof(ue));
			ue[7] = (uint8_t)i;
			frame_ip6(&packet, &(struct ip6_fields){.src = ue, .dst = rig_remote6});
		} else {
			frame_ip(
				&packet, &(struct ip_fields){.src = RIG_UE + i, .dst = RIG_REMOTE});
		}
		frame_gpdu_of(&f, NULL, 0x100 + i, 9, &packet);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		m = rig_sent(rig, UPF_PORT_N6);
		assert_non_null(m);
		which[i] = rte_is_same_ether_addr(
			&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &second_mac);
		if (which[i] == 0)
			assert_true(rte_is_same_ether_addr(
				&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr,
				&rig_gateway_mac));
		n += which[i];
		rte_pktmbuf_free(m);
	}
	return n;
}

static const struct upf_gateway_state *
state_of(struct rig *rig, unsigned gateway, bool ip6)
{
	return &rig->shm.gateways[UPF_PORT_N6][(ip6 ? 2 : 0) + gateway];
}

static struct rig *
rig_of_two(unsigned workers)
{
	struct config config = config_of_two();
	struct rig *rig = rig_create_with(&config, workers, false);

	install(rig, UES);
	return rig;
}

// IPv4 and IPv6 alike.
static void
spread_goes_by_the_other_and_comes_back(bool ip6, unsigned workers)
{
	struct rig *rig = rig_of_two(workers);
	uint8_t before[UES], now[UES];

	pass(rig, 1, true, true, ip6);
	assert_int_equal(state_of(rig, 0, ip6)->state, UPF_GATEWAY_ANSWERS);
	assert_int_equal(state_of(rig, 1, ip6)->state, UPF_GATEWAY_ANSWERS);
	assert_in_range(send_all(rig, ip6, before), UES / 4, UES * 3 / 4);
	send_all(rig, ip6, now);
	assert_memory_equal(now, before, sizeof(now)); // a UE's packets keep their way

	// The second ceases to answer.
	pass(rig, GONE_TICKS - GATEWAY_ASK_TICKS - 1, true, false, ip6);
	assert_int_equal(state_of(rig, 1, ip6)->state, UPF_GATEWAY_ANSWERS);
	send_all(rig, ip6, now);
	assert_memory_equal(now, before, sizeof(now));
	pass(rig, GATEWAY_ASK_TICKS + 1, true, false, ip6);
	assert_int_equal(state_of(rig, 1, ip6)->state, UPF_GATEWAY_SILENT);
	assert_int_equal(state_of(rig, 1, ip6)->losses, 1);
	assert_int_equal(state_of(rig, 0, ip6)->losses, 0);
	assert_int_equal(send_all(rig, ip6, now), 0);

	// It answers again.
	pass(rig, GATEWAY_ASK_TICKS, true, true, ip6);
	assert_int_equal(state_of(rig, 1, ip6)->state, UPF_GATEWAY_ANSWERS);
	send_all(rig, ip6, now);
	assert_memory_equal(now, before, sizeof(now));

	// The first one's turn.
	pass(rig, GONE_TICKS, false, true, ip6);
	assert_int_equal(state_of(rig, 0, ip6)->state, UPF_GATEWAY_SILENT);
	assert_int_equal(state_of(rig, 1, ip6)->losses, 1);
	assert_int_equal(send_all(rig, ip6, now), UES);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
ipv4_packets_are_spread_and_go_by_the_gateway_that_answers(void **state)
{
	(void)state;
	spread_goes_by_the_other_and_comes_back(false, 1);
}

static void
ipv6_packets_are_spread_and_go_by_the_gateway_that_answers(void **state)
{
	(void)state;
	spread_goes_by_the_other_and_comes_back(true, 1);
}

static void
all_workers_go_by_what_the_first_one_knows(void **state)
{
	(void)state;
	spread_goes_by_the_other_and_comes_back(false, 2);
}

// Before it has ever answered nothing is sent to it, once the other one has.
static void
one_that_never_answers_is_not_waited_for(void **state)
{
	struct rig *rig = rig_of_two(1);
	uint8_t which[UES];

	(void)state;
	tick(rig);
	assert_int_equal(take_asked(rig, false).n[1], 1);
	answer(rig, 1, false);
	assert_int_equal(state_of(rig, 0, false)->state, UPF_GATEWAY_UNKNOWN);
	assert_int_equal(send_all(rig, false, which), UES);
	pass(rig, GONE_TICKS, false, true, false);
	assert_int_equal(state_of(rig, 0, false)->state, UPF_GATEWAY_SILENT);
	assert_int_equal(state_of(rig, 0, false)->losses, 0); // it never was there
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// As with one gateway: packets wait, and are dropped.
static void
without_either_packets_wait_and_are_dropped(void **state)
{
	struct rig *rig = rig_of_two(1);
	unsigned sent = 0;

	(void)state;
	pass(rig, GONE_TICKS, false, false, false);
	assert_int_equal(state_of(rig, 0, false)->state, UPF_GATEWAY_SILENT);
	assert_int_equal(state_of(rig, 1, false)->state, UPF_GATEWAY_SILENT);
	for (unsigned i = 0; i < UES; i++) {
		struct frame f;

		frame_gpdu(&f, RIG_N3_ADDR, 0x100 + i, 9,
			&(struct ip_fields){.src = RIG_UE + i, .dst = RIG_REMOTE});
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(rig->worker[0]->held, UES);
	rig_assert_no_other_drops(rig);
	rig_count_sent(rig, UPF_PORT_N6);
	// One of them comes back: what waits for it leaves, the rest is given up.
	answer(rig, 1, false);
	sent = rig_count_sent(rig, UPF_PORT_N6);
	assert_in_range(sent, UES / 4, UES * 3 / 4);
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned k = 0; k < NEIGH_ENTRIES; k++)
			rig->worker[0]->neigh[UPF_PORT_N6]->entry[k].due = 0;
		tick(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), UES - sent);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Twice a second, at first where it is known to be, then everybody: it may have moved to another MAC address.
static void
gateways_are_asked_whether_packets_go_by_them_or_not(void **state)
{
	struct asked asked = {0};

	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		struct rig *rig = rig_of_two(1);

		pass(rig, 1, true, true, ip6);
		for (unsigned i = 0; i < GATEWAY_ASK_TICKS - 2; i++) {
			tick(rig);
			asked = take_asked(rig, ip6);
			assert_int_equal(asked.n[0] + asked.n[1], 0);
		}
		for (unsigned i = 0; i < GATEWAY_TRIES; i++) {
			unsigned n[2] = {0}, to_everybody[2] = {0};

			for (unsigned k = 0; k < GATEWAY_ASK_TICKS; k++) {
				tick(rig);
				asked = take_asked(rig, ip6);
				for (unsigned g = 0; g < 2; g++) {
					n[g] += asked.n[g];
					to_everybody[g] += asked.to_everybody[g];
				}
				if (asked.n[0] != 0)
					answer(rig, 0, ip6);
			}
			for (unsigned g = 0; g < 2; g++)
				assert_int_equal(n[g], 1);
			assert_int_equal(to_everybody[0], 0);
			assert_int_equal(to_everybody[1], i >= GATEWAY_TRIES / 2);
		}
		rig_free(rig);
	}
	(void)state;
}

// The answer is one to us: what it says unasked, or asks, tells nothing of whether it hears us.
static void
only_answers_count(void **state)
{
	struct rig *rig = rig_of_two(1);
	uint8_t octets[32] = {ICMP6_NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, ND_NA_OVERRIDE};
	struct frame f, packet;
	upf_addr from;

	(void)state;
	frame_arp(&f, RTE_ARP_OP_REQUEST, mac_of(0), RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	addr6_of(0, from);
	memcpy(octets + 8, from, sizeof(from));
	octets[24] = ND_OPTION_TARGET;
	octets[25] = 1;
	memcpy(octets + 26, mac_of(0), 6);
	frame_icmp6(&packet, from, rig_n6_addr6, 255, octets, sizeof(octets));
	frame_eth(&f, mac_of(0), &packet);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(state_of(rig, 0, false)->state, UPF_GATEWAY_UNKNOWN);
	assert_int_equal(state_of(rig, 0, true)->state, UPF_GATEWAY_UNKNOWN);
	rig_free(rig);
}

// N3 and N9 likewise: gNBs that are not on the link.
static void
gnbs_behind_two_gateways_are_reached_by_the_one_that_answers(void **state)
{
	struct config config = rig_config();
	struct config_interface *in = &config.interface[UPF_PORT_N3];
	const uint32_t router[2] = {RIG_IP(172, 30, 3, 1), RIG_IP(172, 30, 3, 2)};
	unsigned by[2] = {0};
	struct rig *rig;

	(void)state;
	in->gateway[0] = router[0];
	in->gateway[1] = router[1];
	rig = rig_create_with(&config, 1, true);
	for (unsigned i = 0; i < UES; i++) {
		struct session_rules_builder s;

		rules_usual(&s, 1 + i, RIG_UE + i, 0x100 + i);
		rules_ipv4(s.far[1].peer_addr, RIG_IP(10, 99, 0, 1));
		rules_install(rig, &s);
	}
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned k = 0; k < GONE_TICKS; k++) {
			tick(rig);
			rig_count_sent(rig, UPF_PORT_N3);
			for (unsigned g = 0; g < 2 - round; g++) {
				struct frame f;

				frame_arp(&f, RTE_ARP_OP_REPLY, mac_of(g), router[g], RIG_N3_ADDR);
				rig_inject(rig, UPF_PORT_N3, f.data, f.length);
				rig_poll(rig);
			}
		}
		memset(by, 0, sizeof(by));
		for (unsigned i = 0; i < UES; i++) {
			struct frame f;
			struct rte_mbuf *m;

			frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + i});
			rig_inject(rig, UPF_PORT_N6, f.data, f.length);
			rig_poll(rig);
			m = rig_sent(rig, UPF_PORT_N3);
			assert_non_null(m);
			by[rte_is_same_ether_addr(
				&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr,
				&second_mac)]++;
			rte_pktmbuf_free(m);
		}
		if (round == 0)
			assert_in_range(by[1], UES / 4, UES * 3 / 4);
		else
			assert_int_equal(by[1], 0);
	}
	assert_int_equal(rig->shm.gateways[UPF_PORT_N3][1].state, UPF_GATEWAY_SILENT);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A route that is not the default one has no part in it.
static void
routes_come_first(void **state)
{
	struct config config = config_of_two();
	struct port port;

	(void)state;
	config.routes = 1;
	config.route[0] = (struct config_route){.port = UPF_PORT_N6,
		.prefix_len = 8,
		.prefix = RIG_IP(10, 0, 0, 0),
		.via = RIG_GATEWAY + 4};
	port_init(&port, UPF_PORT_N6, &config);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(port_next_hop(&port, rte_cpu_to_be_32(RIG_IP(10, 1, 1, 1)), i),
			rte_cpu_to_be_32(RIG_GATEWAY + 4));
		assert_int_equal(port_next_hop(&port, rte_cpu_to_be_32(RIG_REMOTE), i),
			rte_cpu_to_be_32(i == 0 ? RIG_GATEWAY : second));
	}
}

static void
a_single_gateway_is_not_asked_unless_packets_go_by_it(void **state)
{
	struct config config = rig_config6();
	struct rig *rig = rig_create_with(&config, 1, false);

	(void)state;
	for (unsigned i = 0; i < GONE_TICKS; i++)
		tick(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(state_of(rig, 0, false)->address[0], 0);
	rig_free(rig);
}

int
test_gateways(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_packets_are_spread_and_go_by_the_gateway_that_answers),
		cmocka_unit_test(ipv6_packets_are_spread_and_go_by_the_gateway_that_answers),
		cmocka_unit_test(all_workers_go_by_what_the_first_one_knows),
		cmocka_unit_test(one_that_never_answers_is_not_waited_for),
		cmocka_unit_test(without_either_packets_wait_and_are_dropped),
		cmocka_unit_test(gateways_are_asked_whether_packets_go_by_them_or_not),
		cmocka_unit_test(only_answers_count),
		cmocka_unit_test(gnbs_behind_two_gateways_are_reached_by_the_one_that_answers),
		cmocka_unit_test(routes_come_first),
		cmocka_unit_test(a_single_gateway_is_not_asked_unless_packets_go_by_it),
	};

	return cmocka_run_group_tests_name("gateways", tests, NULL, NULL);
}
