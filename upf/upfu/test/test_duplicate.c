// Duplication: copies go where the Duplicating Parameters say, and the original never notices.
#include <errno.h>
#include <string.h>

#include "frames.h"
#include "outer.h"
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
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_MBUF), 1);
	rte_pktmbuf_free_bulk(hoard, n);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig->shm.workers[0].local.duplicated, 0);
	rig_assert_no_other_drops(rig);
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
		cmocka_unit_test(a_copy_may_go_over_ipv6),
		cmocka_unit_test(bad_parameters_are_refused),
	};

	return cmocka_run_group_tests_name("duplicate", tests, NULL, NULL);
}
