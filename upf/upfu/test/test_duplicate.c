// Duplication: copies go where the Duplicating Parameters say, and the original never notices.
#include <errno.h>
#include <string.h>

#include "frames.h"
#include "packet/outer.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define COPY_TEID 0xc0de0000u

static const struct ip_fields from_ue = {.src = RIG_UE, .dst = RIG_REMOTE, .payload = 100};
static const struct ip_fields to_ue = {.src = RIG_REMOTE, .dst = RIG_UE, .payload = 100};

// FAR 0 (uplink) and FAR 1 (downlink) duplicate to n tunnels at the gNB's address.
static void
duplicating(struct session_rules_builder *s, uint8_t action, unsigned n)
{
	rules_usual(s, 1, RIG_UE, TEID);
	for (unsigned i = 0; i < n; i++) {
		s->far[2 + i] = s->far[1];
		s->far[2 + i].action = UPF_FAR_FORW;
		s->far[2 + i].teid = COPY_TEID + i;
	}
	s->n_far = 2 + n;
	for (unsigned i = 0; i < 2; i++) {
		s->far[i].action = action | UPF_FAR_DUPL;
		s->far[i].dup_first = 2;
		s->far[i].dup_count = (uint16_t)n;
	}
}

static int
install(struct rig *rig, const struct session_rules_builder *s)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_put(&t, s);
	return transaction_do(rig, &t, NULL);
}

static struct rig *
rig_that_duplicates(uint8_t action, unsigned n)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	duplicating(&s, action, n);
	assert_int_equal(install(rig, &s), 0);
	return rig;
}

static void
send_packet(struct rig *rig, enum upf_port port)
{
	struct frame f;

	if (port == UPF_PORT_N3)
		frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	else
		frame_eth_ip(&f, &to_ue);
	rig_inject(rig, port, f.data, f.length);
	rig_poll(rig);
}

// The next frame on N3 is a G-PDU to this TEID with the user's packet in it as it was sent.
static void
expect_copy(struct rig *rig, uint32_t teid, const struct ip_fields *sent)
{
	struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
	const struct outer_gtpu4 *outer;
	struct frame user;

	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(m, const struct outer_gtpu4 *, 14);
	assert_int_equal(outer->ip.dst_addr, rte_cpu_to_be_32(RIG_GNB));
	assert_int_equal(outer->gtp.teid, rte_cpu_to_be_32(teid));
	frame_ip(&user, sent);
	assert_int_equal(rte_pktmbuf_data_len(m), 14 + sizeof(*outer) + user.length);
	assert_memory_equal(outer + 1, user.data, user.length);
	rte_pktmbuf_free(m);
}

static void
both_directions_are_copied(void **state)
{
	struct rig *rig = rig_that_duplicates(UPF_FAR_FORW, 2);

	(void)state;
	send_packet(rig, UPF_PORT_N3);
	expect_copy(rig, COPY_TEID, &from_ue);
	expect_copy(rig, COPY_TEID + 1, &from_ue);
	assert_null(rig_sent(rig, UPF_PORT_N3));
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	send_packet(rig, UPF_PORT_N6);
	expect_copy(rig, COPY_TEID, &to_ue);
	expect_copy(rig, COPY_TEID + 1, &to_ue);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1); // the original
	assert_int_equal(rig->shm.workers[0].local.duplicated, 4);
	assert_int_equal(rig->shm.workers[0].forwarded[UPF_UL], 1);
	assert_int_equal(rig->shm.workers[0].forwarded[UPF_DL], 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
what_is_dropped_is_copied_too(void **state)
{
	struct rig *rig = rig_that_duplicates(UPF_FAR_DROP, 1);

	(void)state;
	send_packet(rig, UPF_PORT_N3);
	expect_copy(rig, COPY_TEID, &from_ue);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
what_waits_is_copied_once(void **state)
{
	struct rig *rig = rig_that_duplicates(UPF_FAR_BUFF, 1);
	struct session_rules_builder s;

	(void)state;
	send_packet(rig, UPF_PORT_N6);
	expect_copy(rig, COPY_TEID, &to_ue);
	assert_null(rig_sent(rig, UPF_PORT_N3));
	duplicating(&s, UPF_FAR_FORW, 1);
	assert_int_equal(install(rig, &s), 0);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_int_equal(rig->shm.workers[0].local.duplicated, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
without_memory_the_original_goes_on(void **state)
{
	struct rig *rig = rig_that_duplicates(UPF_FAR_FORW, 1);
	static struct rte_mbuf *hoard[8192];
	struct frame f;
	unsigned n = 0;

	(void)state;
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	while (n < 8192 && (hoard[n] = rte_pktmbuf_alloc(rig_pool())) != NULL)
		n++;
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_DUPLICATION), 1);
	rte_pktmbuf_free_bulk(hoard, n);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig->shm.workers[0].local.duplicated, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A UPF that tells senders of what it cannot send, and a session whose copies go to `li`.
static struct rig *
rig_with_li_function(uint32_t li, uint16_t group)
{
	struct config config = rig_config6();
	struct rig *rig = rig_create_with(&config, 1, true);
	struct session_rules_builder s;

	duplicating(&s, UPF_FAR_FORW, 1);
	s.group = group;
	rules_ipv4(s.far[2].peer_addr, li);
	assert_int_equal(install(rig, &s), 0);
	return rig;
}

// n copies were lost, and nobody noticed: only the counter of copies.
static void
assert_copies_lost(struct rig *rig, uint16_t group, unsigned n)
{
	assert_int_equal(rig_dropped(rig, UPF_DROP_DUPLICATION), n);
	for (unsigned reason = 0; reason < UPF_DROPS; reason++)
		assert_int_equal(rig->shm.groups[group].reason[reason], 0);
	assert_int_equal(rig->shm.workers[0].local.icmp_errors_sent, 0);
	rig_assert_no_other_drops(rig);
}

static void
nobody_is_told_of_a_copy_without_a_way(void **state)
{
	struct rig *rig = rig_with_li_function(RIG_IP(192, 0, 2, 1), 5);

	(void)state;
	send_packet(rig, UPF_PORT_N3);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	send_packet(rig, UPF_PORT_N6);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(rig->shm.workers[0].local.duplicated, 0);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 1);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 1);
	assert_copies_lost(rig, 5, 2);
	rig_free(rig);
}

static void
expire(struct rig *rig, uint32_t addr)
{
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		struct neigh *n = &rig->worker[0]->neigh[UPF_PORT_N3]->entry[i];

		if (n->state != NEIGH_FREE && n->addr == rte_cpu_to_be_32(addr))
			n->due = 0;
	}
	rig->worker[0]->next_tick = 0;
	rig_poll(rig);
}

static void
nobody_is_told_of_a_copy_without_a_neighbour(void **state)
{
	const uint32_t li = RIG_IP(172, 30, 3, 77);
	struct rig *rig = rig_with_li_function(li, 5);

	(void)state;
	for (unsigned i = 0; i < NEIGH_HELD + 2; i++)
		send_packet(rig, i % 2 == 0 ? UPF_PORT_N3 : UPF_PORT_N6);
	assert_copies_lost(rig, 5, 2); // the others wait
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), NEIGH_HELD / 2 + 1);
	assert_int_equal(
		rig_count_sent(rig, UPF_PORT_N3), 1 + NEIGH_HELD / 2 + 1); // ARP, and users'
	for (unsigned i = 0; i < 5; i++)
		expire(rig, li);
	assert_copies_lost(rig, 5, NEIGH_HELD);
	rig_count_sent(rig, UPF_PORT_N3);
	send_packet(rig, UPF_PORT_N3); // dead: at once
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_copies_lost(rig, 5, 1);
	// Then it answers, and copies leave.
	expire(rig, li);
	send_packet(rig, UPF_PORT_N3);
	rig_count_sent(rig, UPF_PORT_N3);
	{
		struct frame f;

		frame_arp(&f, 2, &rig_gnb_mac, li, RIG_N3_ADDR - 1);
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
	}
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_copies_lost(rig, 5, 0);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2 + NEIGH_HELD / 2 + 1);
	rig_free(rig);
}

static void
a_full_transmit_queue_of_copies_is_theirs(void **state)
{
	struct rig *rig = rig_with_li_function(RIG_GNB, 5);
	struct frame f;

	(void)state;
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	for (unsigned i = 0; i < 1040; i++) {
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		rig_count_sent(rig, UPF_PORT_N6);
	}
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1023);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 1040);
	assert_copies_lost(rig, 5, 1040 - 1023);
	rig_free(rig);
}

// Too long for its tunnel, a copy is cut outside: inside is the packet as it came, DF or not.
static void
a_long_copy_is_whole_inside(void **state)
{
	const struct ip_fields long_packet = {.src = RIG_UE,
		.dst = RIG_REMOTE,
		.payload = 1472,
		.fragment = RTE_IPV4_HDR_DF_FLAG};
	struct rig *rig = rig_with_li_function(RIG_GNB, 5);
	struct frame f, user;
	uint8_t whole[2048];
	size_t length = 0;

	(void)state;
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &long_packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	for (unsigned i = 0; i < 2; i++) {
		struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
		size_t n;

		assert_non_null(m);
		n = rte_pktmbuf_data_len(m) - 34;
		memcpy(whole + length, rte_pktmbuf_mtod_offset(m, uint8_t *, 34), n);
		length += n;
		rte_pktmbuf_free(m);
	}
	frame_ip(&user, &long_packet);
	assert_int_equal(length, sizeof(struct outer_gtpu4) - 20 + user.length);
	assert_memory_equal(whole + sizeof(struct outer_gtpu4) - 20, user.data, user.length);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_copies_lost(rig, 5, 0);
	rig_free(rig);
}

static void
a_copy_may_go_over_ipv6(void **state)
{
	struct config config = rig_config6();
	struct rig *rig = rig_create_with(&config, 1, true);
	const struct ipv6_header *outer;
	struct session_rules_builder s;
	struct frame user;
	struct rte_mbuf *m;

	(void)state;
	duplicating(&s, UPF_FAR_FORW, 1);
	s.far[2].ohc = UPF_OHC_UDP6;
	memcpy(s.far[2].peer_addr, rig_gnb6, sizeof(upf_addr));
	memcpy(s.far[2].local_addr, rig_n3_addr6, sizeof(upf_addr));
	s.far[2].peer_port = 4000;
	assert_int_equal(install(rig, &s), 0);
	send_packet(rig, UPF_PORT_N3);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, 14);
	assert_memory_equal(outer->src, rig_n3_addr6, sizeof(upf_addr));
	assert_memory_equal(outer->dst, rig_gnb6, sizeof(upf_addr));
	assert_int_equal(outer->next, IPPROTO_UDP);
	frame_ip(&user, &from_ue);
	assert_memory_equal((const uint8_t *)(outer + 1) + 8, user.data, user.length);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
bad_parameters_are_refused(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	duplicating(&s, UPF_FAR_FORW, 2);
	s.far[0].dup_count = 3; // beyond the array
	assert_int_equal(install(rig, &s), EINVAL);
	duplicating(&s, UPF_FAR_FORW, 1);
	s.far[2].ohc = UPF_OHC_NONE;
	assert_int_equal(install(rig, &s), EINVAL);
	duplicating(&s, UPF_FAR_FORW, 1);
	rules_ipv4(s.far[2].local_addr, RIG_REMOTE); // not one of ours
	assert_int_equal(install(rig, &s), EINVAL);
	duplicating(&s, UPF_FAR_FORW, 1);
	s.far[0].action = UPF_FAR_FORW; // parameters without the flag
	assert_int_equal(install(rig, &s), EINVAL);
	duplicating(&s, UPF_FAR_FORW, 1);
	s.far[2].action |= UPF_FAR_DUPL;
	s.far[2].dup_first = 2;
	s.far[2].dup_count = 1; // copies of copies
	assert_int_equal(install(rig, &s), EINVAL);
	rig_free(rig);
}

int
test_duplicate(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_directions_are_copied),
		cmocka_unit_test(what_is_dropped_is_copied_too),
		cmocka_unit_test(what_waits_is_copied_once),
		cmocka_unit_test(without_memory_the_original_goes_on),
		cmocka_unit_test(nobody_is_told_of_a_copy_without_a_way),
		cmocka_unit_test(nobody_is_told_of_a_copy_without_a_neighbour),
		cmocka_unit_test(a_full_transmit_queue_of_copies_is_theirs),
		cmocka_unit_test(a_long_copy_is_whole_inside),
		cmocka_unit_test(a_copy_may_go_over_ipv6),
		cmocka_unit_test(bad_parameters_are_refused),
	};

	return cmocka_run_group_tests_name("duplicate", tests, NULL, NULL);
}
