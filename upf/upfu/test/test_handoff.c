// Two workers: wherever a packet arrives, its UE's home worker does the work.
#include <string.h>

#include "frames.h"
#include "rules.h"
#include "tests.h"

#define UES 64u

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

int
test_handoff(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_directions_of_a_ue_meet),
		cmocka_unit_test(answers_to_arp_reach_the_worker_that_asked),
		cmocka_unit_test(what_waits_in_the_ring_is_not_lost),
		cmocka_unit_test(damaged_frames_pass_the_ring_unharmed),
	};

	return cmocka_run_group_tests_name("handoff", tests, NULL, NULL);
}
