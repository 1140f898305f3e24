// Token buckets over virtual time: exact from 10 kbit/s to 100 Gbit/s.
#include <string.h>

#include <rte_cycles.h>

#include "frames.h"
#include "rules.h"
#include "stages.h"
#include "tests.h"

#define OFFERED 20000u
#define HZ \
	(UINT64_C(2500000000) >> (QER_FRACTION - 16)) // a slower clock where the fraction is finer

// Offers packets of size octets at twice the rate, evenly over virtual time, and returns how many
// passed. The clock ends exactly where OFFERED / 2 packets take it at the rate.
static unsigned
offer_twice_the_rate(struct rig *rig, const struct part *part, uint64_t rate, uint32_t size)
{
	struct worker *w = rig->worker[0];
	struct burst *b = &w->burst;
	uint64_t start = w->now;
	unsigned passed = 0;

	for (unsigned i = 0; i < OFFERED; i++) {
		__extension__ unsigned __int128 cycles =
			(__extension__(unsigned __int128) w->tsc_hz * 8 * size * (i + 1)) / 2 /
			rate;

		w->now = start + (uint64_t)cycles;
		b->n = 1;
		b->live[0] = &b->pkt[0];
		b->pkt[0] = (struct pkt){.part = part, .pdr = part->pdr, .ip_len = (uint16_t)size};
		b->pkt[0].m = rte_pktmbuf_alloc(rig_pool());
		assert_non_null(b->pkt[0].m);
		qer_burst(w, b);
		if (b->n == 1) {
			rte_pktmbuf_free(b->pkt[0].m);
			passed++;
		}
	}
	return passed;
}

static void
lets_exactly_its_rate_pass(void **state)
{
	static const uint64_t rates[] = {
		10000, 64000, 1000000, 100000000, 1000000000, 10000000000, 100000000000};
	static const uint32_t sizes[] = {64, 1400, 65535};
	struct rig *rig = rig_create(1, true);

	(void)state;
	rig->worker[0]->now = UINT64_C(1) << 40;
	rig->worker[0]->qer_burst = rig->worker[0]->tsc_hz / 1000000 << QER_FRACTION;
	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			static union {
				struct part part;
				uint8_t octets[sizeof(struct part) + sizeof(struct pdr)];
			} one;
			unsigned passed;

			one.part.pdr[0] = (struct pdr){
				.n_qer = 1,
				.cost = {qer_cost(rates[r], rig->worker[0]->tsc_hz)},
				.qer_at = {shm_tat_place(3, UPF_UL)},
			};
			*qer_tat(&rig->shm.slots, 3, UPF_UL) = rig->worker[0]->now << QER_FRACTION;

			// The first round has the burst on top; the second is the rate alone.
			offer_twice_the_rate(rig, &one.part, rates[r], sizes[s]);
			passed = offer_twice_the_rate(rig, &one.part, rates[r], sizes[s]);
			if (passed < OFFERED / 2 - 10 || passed > OFFERED / 2 + 10)
				fail_msg("rate %lu size %u: %u packets passed, want %u within a "
					 "thousandth",
					rates[r], sizes[s], passed, OFFERED / 2);
		}
	}
	rig_dropped(rig, UPF_DROP_MBR_EXCEEDED);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
cost_is_right_at_the_edges(void **state)
{
	const uint64_t hz = HZ;

	(void)state;
	assert_int_equal(qer_cost(0, hz), QER_COST_BLOCKED);
	assert_true(qer_cost(1, hz) < QER_COST_BLOCKED);
	assert_int_equal(qer_cost(hz * 8, hz), UINT64_C(1) << QER_FRACTION); // a cycle an octet
	assert_int_equal(qer_cost(hz * 8 / 20, hz), UINT64_C(20) << QER_FRACTION);
	// The debt of the greatest packet does not reach half of the clock.
	assert_true(qer_cost(1, hz) < UINT64_MAX / 4 / 65535);
	assert_true(qer_cost(UINT64_MAX, hz) >= 1);
}

static void
rates_of_both_directions_are_apart(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_ul = 0; // nothing passes
	s.qer[0].mbr_dl = 1000000000;
	rules_install(rig, &s);
	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 1);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig_free(rig);
}

static void
closed_gate_drops_its_direction(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_GATE_DL_CLOSED;
	rules_install(rig, &s);
	frame_gpdu(
		&f, RIG_N3_ADDR, 0x100, 9, &(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_GATE_CLOSED), 1);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 0);
	rig_free(rig);
}

// One packet of `size` octets for the part's first PDR, now. Whether it passes at once.
static bool
passes(struct rig *rig, const struct part *part, uint16_t size)
{
	struct worker *w = rig->worker[0];
	struct burst *b = &w->burst;

	b->n = 1;
	b->live[0] = &b->pkt[0];
	b->pkt[0] = (struct pkt){.part = part, .pdr = part->pdr, .ip_len = size};
	b->pkt[0].m = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(b->pkt[0].m);
	qer_burst(w, b);
	if (b->n == 1)
		rte_pktmbuf_free(b->pkt[0].m);
	return b->n == 1;
}

static unsigned
pass_at_once(struct rig *rig, const struct part *part, uint16_t size)
{
	unsigned n = 0;

	while (n < 100000 && passes(rig, part, size))
		n++;
	return n;
}

// After a pause the rate passes for as long as its Averaging Window, for as long as qer.burst_ms says where
// there is none; then the rate alone.
static void
bucket_is_as_deep_as_its_window(void **state)
{
	static const struct {
		struct upf_qer qer;
		uint32_t depth_ms;
	} tests[] = {
		{{.mbr_dl = 1000000, .flags = UPF_QER_MBR}, 10},
		{{.mbr_dl = 1000000, .flags = UPF_QER_MBR, .window_ms = 2000}, 2000},
		{{.mbr_dl = 1000000, .flags = UPF_QER_MBR, .window_ms = 1}, 1},
		{{.mbr_dl = 1000000, .flags = UPF_QER_MBR, .window_ms = UPF_WINDOW_MAX_MS}, 60000},
		{{.mbr_dl = 0,
			 .gbr_dl = 1000000,
			 .gbr_slot = 5,
			 .flags = UPF_QER_MBR | UPF_QER_GBR,
			 .window_ms = 2000},
			2000},
	};
	const uint64_t packet_us = 8000; // 1,000 octets at 1 Mbit/s

	(void)state;
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		struct rig *rig = rig_create(1, true);
		struct worker *w = rig->worker[0];
		struct session_rules_builder s;
		const struct part *part;

		rules_usual(&s, 1, RIG_UE, 0x100);
		s.qer[0] = tests[i].qer;
		s.qer[0].slot = 1;
		rules_install(rig, &s);
		part = session_present(&rig->sessions, 1, UPF_DL);
		w->now = rte_rdtsc();
		// The last one may find the bucket just not empty.
		assert_int_equal(pass_at_once(rig, part, 1000),
			tests[i].depth_ms * 1000 / packet_us + 1);
		w->now += w->tsc_hz / 1000000 * (packet_us + packet_us / 100);
		assert_int_equal(pass_at_once(rig, part, 1000), 1);
		rig_dropped(rig, UPF_DROP_MBR_EXCEEDED);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Debt at an old rate must not outlive it, and must outlive a replacement with the same rate.
static void
bucket_survives_replacement_but_not_a_new_rate(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 1000});
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 1000; // one packet is eight seconds of debt
	rules_install(rig, &s);
	for (unsigned i = 0; i < 2; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 1);
	rules_install(rig, &s);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 1);
	s.qer[0].mbr_dl = 2000;
	rules_install(rig, &s);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
	rig_free(rig);
}

// A packet that one QER refuses must not be charged to another.
static void
refused_packet_is_charged_to_none(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;
	uint64_t tat;

	(void)state;
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 1000});
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_qer = 2;
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 1000000;
	s.qer[1] = (struct upf_qer){.qer_id = 2, .slot = 9, .flags = UPF_QER_MBR, .mbr_dl = 0};
	s.pdr[1].n_qer = 2;
	s.pdr[1].qer[1] = 1;
	rules_install(rig, &s);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 1);
	tat = *qer_tat(&rig->shm.slots, 1, UPF_DL);
	assert_true((int64_t)(tat - (rig->worker[0]->now << QER_FRACTION)) <= 0);
	rig_free(rig);
}

static unsigned
offer_down(struct rig *rig, unsigned n)
{
	struct frame f;

	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 1000});
	for (unsigned i = 0; i < n; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
	return rig_count_sent(rig, UPF_PORT_N3);
}

// A guaranteed flow passes although the session's MBR is used up, and what it takes is charged there.
static void
guaranteed_rate_passes_a_spent_maximum(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_qer = 2;
	s.qer[0] = (struct upf_qer){.qer_id = 1, .slot = 2, .flags = UPF_QER_MBR, .mbr_dl = 1000};
	s.qer[1] = (struct upf_qer){.qer_id = 2,
		.slot = 3,
		.gbr_slot = 4,
		.qfi = 9,
		.flags = UPF_QER_MBR | UPF_QER_GBR,
		.mbr_dl = UINT64_C(10000000000),
		.gbr_dl = UINT64_C(10000000000)};
	s.pdr[1].n_qer = 2;
	s.pdr[1].qer[1] = 1;
	rules_install(rig, &s);
	// One packet of 1,028 octets is over eight seconds of 1 kbit/s.
	assert_int_equal(offer_down(rig, 5), 5);
	rig_assert_no_other_drops(rig);
	// The same without guarantee finds the bucket of the session spent by it.
	s.qer[1].flags = UPF_QER_MBR;
	rules_install(rig, &s);
	assert_int_equal(offer_down(rig, 5), 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 5);
	rig_free(rig);
}

// Beyond the guarantee the maximum holds again; a guarantee of 0 is none.
static void
beyond_its_guarantee_the_maximum_holds(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR | UPF_QER_GBR;
	s.qer[0].gbr_slot = 4;
	s.qer[0].mbr_dl = 1000;
	s.qer[0].gbr_dl = 1000;
	rules_install(rig, &s);
	assert_int_equal(offer_down(rig, 3), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 2);
	s.qer[0].gbr_dl = 0;
	s.qer[0].mbr_dl = 2000;
	rules_install(rig, &s);
	assert_int_equal(offer_down(rig, 3), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A bucket that nobody used for half a turn of the clock must not look like one far ahead.
static void
idle_clocks_are_brought_along(void **state)
{
	const uint64_t hz = HZ, step = hz * 1800;
	uint64_t now = UINT64_C(1) << 40;
	struct rig *rig = rig_create(1, true);
	struct qer_sweeper sweeper = {.last = now};
	uint64_t *idle = qer_tat(&rig->shm.slots, 7, UPF_DL), ahead;

	(void)state;
	rig->shm.pairs_used = 16;
	*idle = now << QER_FRACTION;
	for (unsigned half_hour = 0; half_hour < 200; half_hour++) {
		now += step;
		// One in debt is left alone.
		ahead = (now + hz) << QER_FRACTION;
		*qer_tat(&rig->shm.slots, 8, UPF_UL) = ahead;
		qer_sweep(&sweeper, &rig->shm.slots, now, hz);
		assert_true((int64_t)(*idle - (now << QER_FRACTION)) <= 0);
		assert_int_equal(*qer_tat(&rig->shm.slots, 8, UPF_UL), ahead);
	}
	rig_free(rig);
}

// What is within the GBR of its flow passes though the session's MBR is used up; what is beyond it
// does not.
static void
guaranteed_packets_are_not_held_up(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 1000});
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_qer = 2;
	s.qer[0].flags = UPF_QER_MBR; // of the session: one packet is eight seconds of debt
	s.qer[0].mbr_dl = 1000;
	s.qer[1] = (struct upf_qer){
		.qer_id = 2, .slot = 8, .gbr_slot = 9, .flags = UPF_QER_GBR, .gbr_dl = 1000000000};
	s.pdr[1].n_qer = 2;
	s.pdr[1].qer[1] = 1;
	rules_install(rig, &s);
	for (unsigned i = 0; i < 5; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 5);

	s.qer[1].gbr_dl = 1000;
	rules_install(rig, &s);
	for (unsigned i = 0; i < 3; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 2);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig_free(rig);
}

int
test_qer(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_is_right_at_the_edges),
		cmocka_unit_test(lets_exactly_its_rate_pass),
		cmocka_unit_test(bucket_is_as_deep_as_its_window),
		cmocka_unit_test(rates_of_both_directions_are_apart),
		cmocka_unit_test(closed_gate_drops_its_direction),
		cmocka_unit_test(bucket_survives_replacement_but_not_a_new_rate),
		cmocka_unit_test(refused_packet_is_charged_to_none),
		cmocka_unit_test(guaranteed_rate_passes_a_spent_maximum),
		cmocka_unit_test(beyond_its_guarantee_the_maximum_holds),
		cmocka_unit_test(idle_clocks_are_brought_along),
		cmocka_unit_test(guaranteed_packets_are_not_held_up),
	};

	return cmocka_run_group_tests_name("qer", tests, NULL, NULL);
}
