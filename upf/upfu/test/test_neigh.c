// ARP: asking, waiting, answering, ageing. Time is moved by changing the entries' timers.
#include <string.h>

#include <rte_arp.h>
#include <rte_cycles.h>

#include "frames.h"
#include "link/neigh_message.h"
#include "packet/gtpu.h"
#include "rules.h"
#include "tests.h"

static struct rte_arp_hdr
sent_arp(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m = rig_sent(rig, port);
	struct rte_arp_hdr arp;

	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), 60);
	assert_int_equal(rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->ether_type,
		rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP));
	arp = *rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, 14);
	rte_pktmbuf_free(m);
	return arp;
}

static struct neigh *
entry(struct rig *rig, enum upf_port port, uint32_t addr)
{
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		struct neigh *n = &rig->worker[0]->neigh[port]->entry[i];

		if (n->state != NEIGH_FREE && n->addr == rte_cpu_to_be_32(addr))
			return n;
	}
	return NULL;
}

// Lets the timer of one entry run out.
static void
expire(struct rig *rig, enum upf_port port, uint32_t addr)
{
	entry(rig, port, addr)->due = 0;
	rig->worker[0]->next_tick = 0;
	rig_poll(rig);
}

static void
send_uplink(struct rig *rig, unsigned n)
{
	struct frame f;

	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	for (unsigned i = 0; i < n; i++)
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
first_packets_wait_for_the_answer(void **state)
{
	struct rig *rig = rig_without_neighbours();
	struct rte_arp_hdr arp;
	struct frame f;
	struct rte_mbuf *m;

	(void)state;
	send_uplink(rig, NEIGH_HELD + 2);
	arp = sent_arp(rig, UPF_PORT_N6);
	assert_int_equal(arp.arp_opcode, rte_cpu_to_be_16(1));
	assert_int_equal(arp.arp_data.arp_tip, rte_cpu_to_be_32(RIG_GATEWAY));
	assert_int_equal(arp.arp_data.arp_sip, rte_cpu_to_be_32(RIG_N6_ADDR));
	assert_null(rig_sent(rig, UPF_PORT_N6)); // one request, whatever waits
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 2);
	frame_arp(&f, 2, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	for (unsigned i = 0; i < NEIGH_HELD; i++) {
		m = rig_sent(rig, UPF_PORT_N6);
		assert_non_null(m);
		assert_true(rte_is_same_ether_addr(
			&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &rig_gateway_mac));
		rte_pktmbuf_free(m);
	}
	send_uplink(rig, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig->shm.workers[0].local.arp_replies, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
send_to(struct rig *rig, uint32_t dst, unsigned n)
{
	struct frame f;

	frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = dst});
	for (unsigned i = 0; i < n; i++)
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

// Whoever sends to addresses that nobody has takes no buffers from others.
static void
what_waits_is_bounded_in_all(void **state)
{
	struct rig *rig = rig_without_neighbours();
	struct worker *w = rig->worker[0];
	const unsigned hops = 3;
	struct frame f;

	(void)state;
	assert_int_equal(w->held_max, rig->config.limits.mbufs / 16);
	w->held_max = hops * NEIGH_HELD; // the rig's pool is smaller than it says
	for (unsigned i = 0; i < hops; i++)
		send_to(rig, RIG_GATEWAY + 10 + i, NEIGH_HELD);
	assert_int_equal(w->held, hops * NEIGH_HELD);
	rig_assert_no_other_drops(rig);
	send_uplink(rig, NEIGH_HELD_SURE + 3); // a few of each next hop wait in any case
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 3);
	rig_count_sent(rig, UPF_PORT_N6);
	frame_arp(&f, 2, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), NEIGH_HELD_SURE);
	for (unsigned k = 0; k < 5; k++) {
		for (unsigned i = 0; i < hops; i++)
			entry(rig, UPF_PORT_N6, RIG_GATEWAY + 10 + i)->due = 0;
		w->next_tick = 0;
		rig_poll(rig);
		rig_count_sent(rig, UPF_PORT_N6);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), hops * NEIGH_HELD);
	assert_int_equal(w->held, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
silent_neighbour_is_given_up_and_tried_again(void **state)
{
	struct rig *rig = rig_without_neighbours();

	(void)state;
	send_uplink(rig, 1);
	for (unsigned i = 0; i < 4; i++)
		expire(rig, UPF_PORT_N6, RIG_GATEWAY);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 5); // five requests
	rig_assert_no_other_drops(rig);
	expire(rig, UPF_PORT_N6, RIG_GATEWAY);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	send_uplink(rig, 1); // dead: dropped at once, nothing asked
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	entry(rig, UPF_PORT_N6, RIG_GATEWAY)->due = 0;
	send_uplink(rig, 1); // its second is over: asked again
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
old_neighbour_is_asked_while_it_serves(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct rte_mbuf *m;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	send_uplink(rig, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	expire(rig, UPF_PORT_N6, RIG_GATEWAY);
	m = rig_sent(rig, UPF_PORT_N6); // straight to it
	assert_non_null(m);
	assert_true(rte_is_same_ether_addr(
		&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &rig_gateway_mac));
	rte_pktmbuf_free(m);
	send_uplink(rig, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	frame_arp(&f, 2, &rig_gnb_mac, RIG_GATEWAY, RIG_N6_ADDR); // it moved
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(entry(rig, UPF_PORT_N6, RIG_GATEWAY)->state, NEIGH_GOOD);
	send_uplink(rig, 1);
	m = rig_sent(rig, UPF_PORT_N6);
	assert_true(rte_is_same_ether_addr(
		&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &rig_gnb_mac));
	rte_pktmbuf_free(m);
	// In use, and silent this time.
	for (unsigned i = 0; i < 6; i++)
		expire(rig, UPF_PORT_N6, RIG_GATEWAY);
	rig_count_sent(rig, UPF_PORT_N6);
	send_uplink(rig, 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	rig_assert_no_other_drops(rig);
	// Unused entries just go.
	expire(rig, UPF_PORT_N3, RIG_GNB);
	assert_null(entry(rig, UPF_PORT_N3, RIG_GNB));
	rig_free(rig);
}

static void
requests_for_own_addresses_are_answered(void **state)
{
	struct rig *rig = rig_create(1, false);
	struct rte_arp_hdr arp;
	struct frame f;

	(void)state;
	frame_arp(&f, 1, &rig_gnb_mac, RIG_GNB, RIG_IP(172, 30, 3, 31));
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	arp = sent_arp(rig, UPF_PORT_N3);
	assert_int_equal(arp.arp_opcode, rte_cpu_to_be_16(2));
	assert_int_equal(arp.arp_data.arp_sip, rte_cpu_to_be_32(RIG_IP(172, 30, 3, 31)));
	assert_int_equal(arp.arp_data.arp_tip, rte_cpu_to_be_32(RIG_GNB));
	assert_true(rte_is_same_ether_addr(&arp.arp_data.arp_tha, &rig_gnb_mac));
	assert_non_null(entry(rig, UPF_PORT_N3, RIG_GNB)); // who asks will be sent to
	// For others, and from another subnet: heard, not answered, not learnt.
	frame_arp(&f, 1, &rig_gateway_mac, RIG_IP(172, 30, 3, 5), RIG_IP(172, 30, 3, 32));
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_arp(&f, 1, &rig_gateway_mac, RIG_IP(10, 0, 0, 5), RIG_N3_ADDR);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	assert_null(entry(rig, UPF_PORT_N3, RIG_IP(172, 30, 3, 5)));
	assert_null(entry(rig, UPF_PORT_N3, RIG_IP(10, 0, 0, 5)));
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1); // the answer to 10.0.0.5
	assert_int_equal(rig->shm.workers[0].local.arp_requests, 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
table_full_of_strangers_keeps_working(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;
	struct frame f;

	(void)state;
	config.interface[UPF_PORT_N6].prefix_len = 16;
	rig = rig_create_with(&config, 1, true);
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	// More destinations on the link than a bucket has places, none of which answers.
	for (unsigned i = 0; i < 3000; i++) {
		struct ip_fields ip = {.src = RIG_UE, .dst = RIG_IP(172, 30, 6, 3) + i % 2500};

		frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9, &ip);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		if (i % 32 == 0) {
			rig_poll(rig);
			rig_count_sent(rig, UPF_PORT_N6);
		}
	}
	rig_poll(rig);
	rig_count_sent(rig, UPF_PORT_N6);
	rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR);
	rig_assert_no_other_drops(rig);
	// The gateway is still known.
	send_uplink(rig, 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
without_packet_buffers_requests_are_counted(void **state)
{
	struct rig *rig = rig_without_neighbours();
	static struct rte_mbuf *taken[16384];
	unsigned n = 0;
	struct frame f;

	(void)state;
	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	while ((taken[n] = rte_pktmbuf_alloc(rig_pool())) != NULL)
		n++;
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_MBUF), 1);
	rte_pktmbuf_free_bulk(taken, n);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
own_addresses_are_announced(void **state)
{
	struct rig *rig = rig_create(1, false);

	(void)state;
	neigh_announce(rig->worker[0], UPF_PORT_N3);
	rig_poll(rig);
	for (uint32_t i = 0; i < 16; i++) {
		struct rte_arp_hdr arp = sent_arp(rig, UPF_PORT_N3);

		assert_int_equal(
			arp.arp_data.arp_sip, rte_cpu_to_be_32(RIG_IP(172, 30, 3, 16) + i));
		assert_int_equal(arp.arp_data.arp_tip, arp.arp_data.arp_sip);
	}
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_free(rig);
}

static struct rte_ether_addr
sent_to(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m = rig_sent(rig, port);
	struct rte_ether_addr to;

	assert_non_null(m);
	to = rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr;
	rte_pktmbuf_free(m);
	return to;
}

static void
send_echo(struct rig *rig, uint8_t last, uint8_t repeated)
{
	struct upf_echo echo = {.peer_addr = {172, 30, last == 1 ? 4 : 3, last},
		.local_addr = {172, 30, 3, 17},
		.sequence = 1,
		.ohc = UPF_OHC_GTPU4,
		.repeated = repeated};

	gtpu_send_echo(rig->worker[0], &echo);
	rig_poll(rig);
}

// Another gNB at an address says nothing of itself before it has something to send.
static void
peer_that_does_not_answer_is_asked_who_it_is(void **state)
{
	static const struct rte_ether_addr other = {{2, 0, 0, 0, 0, 0x77}};
	const uint32_t gateway = RIG_IP(172, 30, 3, 1);
	struct config config = rig_config();
	struct rig *rig;
	struct rte_ether_addr to;
	struct rte_arp_hdr arp;
	struct frame f;

	(void)state;
	config.interface[UPF_PORT_N3].gateway[0] = gateway;
	rig = rig_create_with(&config, 1, true);
	rig_poll(rig);
	send_echo(rig, 100, 0);
	to = sent_to(rig, UPF_PORT_N3);
	assert_true(rte_is_same_ether_addr(&to, &rig_gnb_mac));
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	send_echo(rig, 100, 1);
	arp = sent_arp(rig, UPF_PORT_N3);
	assert_int_equal(arp.arp_data.arp_tip, rte_cpu_to_be_32(RIG_GNB));
	to = sent_to(rig, UPF_PORT_N3); // who is known goes on meanwhile
	assert_true(rte_is_same_ether_addr(&to, &rig_gnb_mac));
	send_echo(rig, 100, 1); // under way already
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	frame_arp(&f, 2, &other, RIG_GNB, RIG_IP(172, 30, 3, 16));
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	send_echo(rig, 100, 0);
	to = sent_to(rig, UPF_PORT_N3);
	assert_true(rte_is_same_ether_addr(&to, &other));
	// Whoever is behind a gateway says nothing of that one.
	send_echo(rig, 1, 0);
	arp = sent_arp(rig, UPF_PORT_N3);
	assert_int_equal(arp.arp_data.arp_tip, rte_cpu_to_be_32(gateway));
	frame_arp(&f, 2, &rig_gateway_mac, gateway, RIG_IP(172, 30, 3, 16));
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	rig_count_sent(rig, UPF_PORT_N3);
	send_echo(rig, 1, 1);
	to = sent_to(rig, UPF_PORT_N3);
	assert_true(rte_is_same_ether_addr(&to, &rig_gateway_mac));
	assert_int_equal(entry(rig, UPF_PORT_N3, gateway)->state, NEIGH_GOOD);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_neigh(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_packets_wait_for_the_answer),
		cmocka_unit_test(what_waits_is_bounded_in_all),
		cmocka_unit_test(silent_neighbour_is_given_up_and_tried_again),
		cmocka_unit_test(old_neighbour_is_asked_while_it_serves),
		cmocka_unit_test(requests_for_own_addresses_are_answered),
		cmocka_unit_test(table_full_of_strangers_keeps_working),
		cmocka_unit_test(without_packet_buffers_requests_are_counted),
		cmocka_unit_test(own_addresses_are_announced),
		cmocka_unit_test(peer_that_does_not_answer_is_asked_who_it_is),
	};

	return cmocka_run_group_tests_name("neigh", tests, NULL, NULL);
}
