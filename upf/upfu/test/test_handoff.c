// Two workers: wherever a packet arrives, its UE's home worker does the work.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>
#include <rte_thash.h>

#include "frames.h"
#include "packet/outbox.h"
#include "rules.h"
#include "rules/home.h"
#include "tests.h"

#define UES 64u

static unsigned
home_of(const struct rig *rig, uint32_t session)
{
	return session_present(&rig->sessions, session, UPF_UL)->home;
}

// A NIC that hashes the UE's address with this key and takes queues in turn finds the same home.
static void
a_nic_finds_the_home_that_rules_have(void **state)
{
	static const uint8_t key[] = {HOME_KEY_3, HOME_KEY_3, HOME_KEY_3, HOME_KEY_3, HOME_KEY_3};
	uint32_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t word[2];

		for (unsigned k = 0; k < 2; k++) {
			random = random * 1664525 + 1013904223;
			word[k] = random;
		}
		assert_int_equal(home_bucket4(rte_cpu_to_be_32(word[0])),
			home_bucket_of_hash(rte_softrss(word, 1, key)));
		assert_int_equal(home_bucket6((uint64_t)word[0] << 32 | word[1]),
			home_bucket_of_hash(rte_softrss(word, 2, key)));
	}
	// As in upf-c (agent/session_test.go), which puts them into TEIDs.
	assert_int_equal(home_bucket4(rte_cpu_to_be_32(RIG_IP(10, 45, 0, 1))), 16);
	assert_int_equal(home_bucket4(rte_cpu_to_be_32(RIG_IP(10, 45, 0, 2))), 19);
	assert_int_equal(home_bucket6(UINT64_C(0x20010db800010000)), 58);
	assert_int_equal(home_bucket_of_teid(0xa0800005), 16);
	// Addresses of a pool come one behind the other.
	for (uint32_t i = 0; i < 4 * HOME_BUCKETS; i++)
		assert_int_equal(home_bucket4(rte_cpu_to_be_32(RIG_IP(10, 45, 0, 0) + i)) ^
				home_bucket4(rte_cpu_to_be_32(RIG_IP(10, 45, 0, 0))),
			(i ^ i >> 6) % HOME_BUCKETS);
}

static unsigned
handed_over(const struct rig *rig)
{
	return (unsigned)outbox_count(rig->worker, rig->config.workers);
}

// A stray's home is known by its TEID, or by its UE, without a lookup where it comes in; wherever the guess leads, it
// ends at its session's home.
static void
a_stray_is_sent_on_as_few_times_as_its_packet_allows(void **state)
{
	static const struct {
		const char *what;
		uint32_t teid; // its bucket is another one's than the UE's where it says so
		uint32_t source;
		unsigned queue, hops;
		enum upf_drop drop; // of what is not forwarded
	} cases[] = {
		{"of a TEID of the SMF's, at home", 0x100, RIG_UE + 1, 1, 0, UPF_DROPS},
		{"of a TEID of the SMF's, astray", 0x101, RIG_UE + 1, 0, 1, UPF_DROPS},
		{"of a TEID chosen here, at home", 0x82000007, RIG_UE + 1, 1, 0, UPF_DROPS},
		{"of a TEID chosen here, astray", 0x82000008, RIG_UE + 1, 0, 1, UPF_DROPS},
		{"of a TEID that an earlier release chose", 0x80000009, RIG_UE + 1, 0, 1,
			UPF_DROPS},
		{"of such a one, sent away and back", 0x8000000a, RIG_UE + 1, 1, 2, UPF_DROPS},
		{"with another UE's address", 0x102, RIG_UE, 0, 1, UPF_DROP_SPOOFED_SOURCE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *rig = rig_create(2, true);
		struct session_rules_builder s;
		struct frame f;

		rules_usual(&s, 7, RIG_UE + 1, cases[i].teid);
		rules_install(rig, &s);
		assert_int_equal(home_of(rig, 7), 1);
		frame_gpdu(&f, RIG_N3_ADDR, cases[i].teid, 9,
			&(struct ip_fields){.src = cases[i].source, .dst = RIG_REMOTE});
		rig_inject_to(rig, cases[i].queue, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		if (handed_over(rig) != cases[i].hops)
			fail_msg("%s: handed over %u times, not %u", cases[i].what,
				handed_over(rig), cases[i].hops);
		if (cases[i].drop == UPF_DROPS)
			assert_int_equal(rig->shm.workers[1].forwarded[UPF_UL], 1);
		else
			assert_int_equal(rig_dropped(rig, cases[i].drop), 1);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), cases[i].drop == UPF_DROPS);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Counters and token buckets have one writer: a session keeps its home when its rules say another address.
static void
a_session_keeps_its_home(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct session_rules_builder s;
	struct transaction *t = malloc(sizeof(*t));
	struct frame f;

	(void)state;
	assert_non_null(t);
	rules_usual(&s, 3, RIG_UE + 1, 0x100);
	rules_install(rig, &s);
	assert_int_equal(home_of(rig, 3), 1);
	rules_usual(&s, 3, RIG_UE, 0x100);
	rules_install(rig, &s);
	assert_int_equal(home_of(rig, 3), 1);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig->shm.workers[1].forwarded[UPF_DL], 1);
	// Deleted and made anew in one transaction, workers may still be at it.
	transaction_begin(t);
	transaction_del(t, 3);
	transaction_put(t, &s);
	assert_int_equal(transaction_do(rig, t, NULL), 0);
	assert_int_equal(home_of(rig, 3), 1);
	transaction_begin(t);
	transaction_del(t, 3);
	assert_int_equal(transaction_do(rig, t, NULL), 0);
	rules_install(rig, &s);
	assert_int_equal(home_of(rig, 3), 0);
	rig_count_sent(rig, UPF_PORT_N3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
	free(t);
}

// What others have handed over leaves the ring in one poll, however much of it there is.
static void
one_poll_empties_the_rings(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 0, RIG_UE + 1, 0x100);
	rules_install(rig, &s);
	for (unsigned i = 0; i < 200; i++) {
		frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + 1});
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		worker_poll(rig->worker[0]);
	}
	assert_int_equal(handed_over(rig), 200);
	worker_poll(rig->worker[1]);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 200);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
both_directions_of_a_ue_meet(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct session_rules_builder s;
	uint64_t by_worker[2];
	struct frame f;

	(void)state;
	for (uint32_t i = 0; i < UES; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		rules_install(rig, &s);
		// Up through one worker's queue, down through the other's.
		frame_gpdu(&f, RIG_N3_ADDR, 0x100 + i, 9,
			&(struct ip_fields){.src = RIG_UE + i, .dst = RIG_REMOTE});
		rig_inject_to(rig, i % 2, UPF_PORT_N3, f.data, f.length);
		frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + i});
		rig_inject_to(rig, 1 - i % 2, UPF_PORT_N6, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), UES);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), UES);
	rig_assert_no_other_drops(rig);
	for (unsigned w = 0; w < 2; w++) {
		by_worker[w] = rig->shm.workers[w].forwarded[UPF_UL];
		assert_int_equal(rig->shm.workers[w].forwarded[UPF_DL], by_worker[w]);
		assert_in_range(by_worker[w], UES / 4, UES * 3 / 4);
	}
	assert_int_equal(by_worker[0] + by_worker[1], UES);
	rig_free(rig);
}

static void
answers_to_arp_reach_the_worker_that_asked(void **state)
{
	struct rig *rig = rig_create(2, false);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		rules_install(rig, &s);
		frame_gpdu(&f, RIG_N3_ADDR, 0x100 + i, 9,
			&(struct ip_fields){.src = RIG_UE + i, .dst = RIG_REMOTE});
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 2); // both asked
	frame_arp(&f, 2, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject_to(rig, 1, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
what_waits_in_the_ring_is_not_lost(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct session_rules_builder s;
	unsigned sent = 0, n = 900;
	struct frame f;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		rules_install(rig, &s);
	}
	// Only the first worker polls: what is at home elsewhere piles up.
	for (unsigned i = 0; i < n; i++) {
		frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + i % 8});
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		worker_poll(rig->worker[0]);
	}
	sent = rig_count_sent(rig, UPF_PORT_N3);
	assert_in_range(sent, n / 8, n * 7 / 8);
	rig_poll(rig);
	assert_int_equal(sent + rig_count_sent(rig, UPF_PORT_N3), n);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A worker that stands still must not take all packet buffers: its ring has room for its share of
// an eighth of them.
static void
a_worker_that_stands_still_leaves_buffers_to_others(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;
	struct frame f;

	(void)state;
	config.limits.mbufs = 8192;
	rig = rig_create_with(&config, 2, true);
	for (uint32_t i = 0; i < 2; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		rules_install(rig, &s);
	}
	for (unsigned i = 0; i < 2000; i++) {
		frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + i % 2});
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		worker_poll(rig->worker[0]);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_TX_FULL), 1000 - 511);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1000);
	assert_int_equal(rig_mbufs_in_use(), 511);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 511);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
damaged_frames_pass_the_ring_unharmed(void **state)
{
	struct rig *rig = rig_create(2, true);
	struct frame f;

	(void)state;
	// A G-PDU too short to have a UE, and one whose UE is anything.
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 255, 5, "\x45", 1);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	for (uint32_t i = 0; i < 20; i++) {
		frame_gpdu(&f, RIG_N3_ADDR, 5, 9, &(struct ip_fields){.src = i, .dst = RIG_REMOTE});
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
	rig_poll(rig);
	assert_int_equal(
		rig_dropped(rig, UPF_DROP_UNKNOWN_TEID) + rig_dropped(rig, UPF_DROP_RATE_LIMITED),
		21);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The next frame that a worker has sent out of N3.
static struct rte_mbuf *
sent_by(unsigned worker)
{
	void *m = NULL;

	return rte_ring_dequeue(rig_ring_of(worker, UPF_PORT_N3, false), &m) == 0 ? m : NULL;
}

static void
assert_gtpu(struct rte_mbuf *m, uint8_t type, uint32_t teid)
{
	const uint8_t *gtpu;

	assert_non_null(m);
	gtpu = rte_pktmbuf_mtod_offset(m, const uint8_t *, 42);
	assert_int_equal(gtpu[1], type);
	assert_int_equal(gtpu[6] << 8 | gtpu[7], teid);
	rte_pktmbuf_free(m);
}

// A path switch: the last packets to the old tunnel, End Marker, packets to the new one; from the one
// transmit queue of the session's home worker, and so, too, while the gNB's address is looked for.
static void
end_markers_leave_behind_the_packets_that_they_end(void **state)
{
	struct upf_end_marker marker = {
		.rec = {.type = UPF_REC_END_MARKER, .length = sizeof(marker)},
		.ohc = UPF_OHC_GTPU4,
		.peer_port = 2152,
	};

	(void)state;
	rules_ipv4(marker.peer_addr, RIG_GNB);
	rules_ipv4(marker.local_addr, RIG_N3_ADDR);
	for (unsigned i = 0; i < 4; i++) {
		unsigned home, known = i / 2;
		struct rig *rig = rig_create(2, known != 0);
		struct session_rules_builder s;
		static struct transaction t;
		struct frame f;

		rules_usual(&s, i, RIG_UE + i % 2, 0x100);
		rules_install(rig, &s);
		home = home_of(rig, i);
		frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + i % 2});
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
		marker.session = i;
		marker.teid = s.far[1].teid;
		s.far[1].teid++;
		transaction_begin(&t);
		transaction_put(&t, &s);
		transaction_add(&t, &marker, sizeof(marker));
		assert_int_equal(transaction_do(rig, &t, NULL), 0);
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
		if (!known) {
			rte_pktmbuf_free(sent_by(home)); // who has the gNB's address?
			assert_null(sent_by(home));
			frame_arp(&f, 2, &rig_gnb_mac, RIG_GNB, RIG_IP(172, 30, 3, 16));
			rig_inject(rig, UPF_PORT_N3, f.data, f.length);
			rig_poll(rig);
		}
		assert_gtpu(sent_by(home), 255, marker.teid);
		assert_gtpu(sent_by(home), 254, marker.teid);
		assert_gtpu(sent_by(home), 255, marker.teid + 1);
		assert_null(sent_by(home));
		assert_null(sent_by(1 - home));
		assert_int_equal(rig->shm.workers[home].local.end_markers_sent, 1);
		// Of no session there can be.
		marker.session = rig->config.limits.sessions_max;
		transaction_begin(&t);
		transaction_add(&t, &marker, sizeof(marker));
		assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

int
test_handoff(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_nic_finds_the_home_that_rules_have),
		cmocka_unit_test(a_stray_is_sent_on_as_few_times_as_its_packet_allows),
		cmocka_unit_test(a_session_keeps_its_home),
		cmocka_unit_test(one_poll_empties_the_rings),
		cmocka_unit_test(both_directions_of_a_ue_meet),
		cmocka_unit_test(answers_to_arp_reach_the_worker_that_asked),
		cmocka_unit_test(what_waits_in_the_ring_is_not_lost),
		cmocka_unit_test(a_worker_that_stands_still_leaves_buffers_to_others),
		cmocka_unit_test(damaged_frames_pass_the_ring_unharmed),
		cmocka_unit_test(end_markers_leave_behind_the_packets_that_they_end),
	};

	return cmocka_run_group_tests_name("handoff", tests, NULL, NULL);
}
