// Volume counters and their thresholds.
#include <string.h>

#include <pthread.h>

#include "frames.h"
#include "packet/events.h"
#include "rules.h"
#include "tests.h"

#define PACKET UINT64_C(100) // octets of the user's packet

static struct rig *
rig_with_session(void)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	return rig;
}

static void
send_up(struct rig *rig)
{
	struct frame f;

	frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9,
		&(struct ip_fields){
			.src = RIG_UE, .dst = RIG_REMOTE, .payload = (uint32_t)PACKET - 28});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	rig_count_sent(rig, UPF_PORT_N6);
}

static void
send_down(struct rig *rig)
{
	struct frame f;

	frame_eth_ip(&f,
		&(struct ip_fields){
			.src = RIG_REMOTE, .dst = RIG_UE, .payload = (uint32_t)PACKET - 28});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	rig_count_sent(rig, UPF_PORT_N3);
}

// Of the session's URR, with nothing armed.
static struct upf_urr_arm
nothing_armed(void)
{
	return (struct upf_urr_arm){
		.rec = {.type = UPF_REC_URR_ARM, .length = sizeof(struct upf_urr_arm)},
		.slot = 1,
		.session = 1,
		.total = UINT64_MAX,
		.ul = UINT64_MAX,
		.dl = UINT64_MAX,
		.quota_total = UINT64_MAX,
		.quota_ul = UINT64_MAX,
		.quota_dl = UINT64_MAX,
	};
}

static void
do_arm(struct rig *rig, const struct upf_urr_arm *record)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_add(&t, record, sizeof(*record));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
}

static void
arm(struct rig *rig, uint64_t total, uint64_t ul, uint64_t dl)
{
	struct upf_urr_arm record = nothing_armed();

	record.total = total;
	record.ul = ul;
	record.dl = dl;
	do_arm(rig, &record);
}

// Arms quotas alone.
static void
arm_quota(struct rig *rig, uint64_t total, uint64_t ul, uint64_t dl)
{
	struct upf_urr_arm record = nothing_armed();

	record.quota_total = total;
	record.quota_ul = ul;
	record.quota_dl = dl;
	do_arm(rig, &record);
}

static bool
fired(struct rig *rig)
{
	struct event event;

	if (!rig_event(rig, &event))
		return false;
	assert_int_equal(event.rec.type, UPF_REC_EV_URR);
	assert_int_equal(event.urr.session, 1);
	assert_int_equal(event.urr.slot, 1);
	return true;
}

static void
unarmed_never_fires(void **state)
{
	struct rig *rig = rig_with_session();

	(void)state;
	send_up(rig);
	send_down(rig);
	assert_false(fired(rig));
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, PACKET);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 1);
	rig_free(rig);
}

static void
fires_once_when_reached(void **state)
{
	static const struct {
		uint64_t total, ul, dl;
		unsigned ups, downs; // the last of these fires
	} cases[] = {
		{UINT64_MAX, 3 * PACKET, UINT64_MAX, 3, 0},
		{UINT64_MAX, UINT64_MAX, 2 * PACKET - 1, 0, 2},
		{3 * PACKET, UINT64_MAX, UINT64_MAX, 2, 1},
		{3 * PACKET, UINT64_MAX, UINT64_MAX, 0, 3},
	};

	(void)state;
	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct rig *rig = rig_with_session();

		arm(rig, cases[c].total, cases[c].ul, cases[c].dl);
		for (unsigned i = 0; i < cases[c].ups + cases[c].downs; i++) {
			assert_false(fired(rig));
			if (i < cases[c].ups)
				send_up(rig);
			else
				send_down(rig);
		}
		assert_true(fired(rig));
		send_up(rig);
		send_down(rig);
		assert_false(fired(rig));
		rig_free(rig);
	}
}

static void
arming_below_the_counter_fires_at_once(void **state)
{
	struct rig *rig = rig_with_session();

	(void)state;
	send_up(rig);
	send_down(rig);
	arm(rig, 2 * PACKET, UINT64_MAX, UINT64_MAX);
	assert_true(fired(rig));
	send_up(rig);
	assert_false(fired(rig));
	arm(rig, UINT64_MAX, UINT64_MAX, PACKET + 1);
	assert_false(fired(rig));
	send_down(rig);
	assert_true(fired(rig));
	rig_free(rig);
}

static void
counters_and_arming_survive_new_rules(void **state)
{
	struct rig *rig = rig_with_session();
	struct session_rules_builder s;

	(void)state;
	arm(rig, UINT64_MAX, 2 * PACKET, UINT64_MAX);
	send_up(rig);
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	assert_false(fired(rig));
	send_up(rig);
	assert_true(fired(rig));
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2);
	rig_free(rig);
}

// Nobody takes events: the threshold is not lost, it fires once there is room.
static void
full_event_ring_only_delays(void **state)
{
	struct rig *rig = rig_with_session();
	const struct event filler = {.rec = {.type = UPF_REC_EV_ERROR_IND}};
	struct event event;

	(void)state;
	while (worker_raise(rig->worker[0], &filler))
		;
	arm(rig, UINT64_MAX, PACKET, UINT64_MAX);
	send_up(rig);
	while (rig_event(rig, &event))
		assert_int_equal(event.rec.type, UPF_REC_EV_ERROR_IND);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->look_at, 0);
	send_up(rig);
	assert_true(fired(rig));
	send_up(rig);
	assert_false(fired(rig));
	rig_free(rig);
}

static void
traffic_stops_where_the_quota_ends(void **state)
{
	static const struct {
		uint64_t total, ul, dl;
		unsigned ups, downs; // that pass, in this order; the last of them uses the quota up
	} cases[] = {
		{UINT64_MAX, 3 * PACKET, UINT64_MAX, 3, 0},
		{UINT64_MAX, UINT64_MAX, 2 * PACKET - 1, 1, 2},
		{UINT64_MAX, UINT64_MAX, 2 * PACKET + 1, 0, 3},
		{5 * PACKET, UINT64_MAX, UINT64_MAX, 2, 3},
		{5 * PACKET + 1, UINT64_MAX, UINT64_MAX, 6, 0},
		{40 * PACKET, UINT64_MAX, UINT64_MAX, 19, 21},
	};

	(void)state;
	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct rig *rig = rig_with_session();

		arm_quota(rig, cases[c].total, cases[c].ul, cases[c].dl);
		for (unsigned i = 0; i < cases[c].ups + cases[c].downs; i++) {
			assert_false(fired(rig));
			if (i < cases[c].ups)
				send_up(rig);
			else
				send_down(rig);
			rig_assert_no_other_drops(rig);
		}
		assert_true(fired(rig));
		send_up(rig);
		send_down(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 2);
		assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, cases[c].ups);
		assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, cases[c].downs);
		assert_false(fired(rig));
		// A new quota: it goes on.
		arm_quota(rig, 100 * PACKET, UINT64_MAX, UINT64_MAX);
		send_up(rig);
		send_down(rig);
		rig_assert_no_other_drops(rig);
		assert_false(fired(rig));
		rig_free(rig);
	}
}

// The quota's FAR takes over where the quota ends, and nothing of it is counted.
static void
quota_may_lead_to_another_far(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.far[2] = (struct upf_far){.far_id = 3, .action = UPF_FAR_DROP, .bar = UPF_NONE16};
	s.n_far = 3;
	s.urr[0].quota_far = 2;
	rules_install(rig, &s);
	arm_quota(rig, UINT64_MAX, 2 * PACKET, UINT64_MAX);
	for (unsigned i = 0; i < 5; i++)
		send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 3);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2);
	assert_int_equal(rig->shm.workers[0].forwarded[UPF_UL], 2);
	// One that forwards elsewhere.
	s.far[2] = s.far[1];
	s.far[2].far_id = 3;
	rules_install(rig, &s);
	send_up(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Measurement Information MBQE: what the QERs then drop is counted, too.
static void
measured_before_qos_enforcement(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_GATE_UL_CLOSED;
	s.n_urr = 2;
	s.urr[0].flags = UPF_URR_BEFORE_QOS;
	s.urr[1] = (struct upf_urr){.urr_id = 2, .slot = 5, .quota_far = UPF_NONE16};
	s.pdr[0].n_urr = s.pdr[1].n_urr = 2;
	s.pdr[0].urr[1] = s.pdr[1].urr[1] = 1;
	rules_install(rig, &s);
	send_up(rig);
	send_down(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_GATE_CLOSED), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 1);
	assert_int_equal(rig_urr(rig, 5, UPF_UL)->packets, 0);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 1);
	assert_int_equal(rig_urr(rig, 5, UPF_DL)->packets, 1);
	// Its quota stops packets before the QERs see them.
	arm_quota(rig, UINT64_MAX, PACKET, UINT64_MAX);
	send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
send_up_after(struct rig *rig, unsigned ms)
{
	// The segment is so much older.
	rig->worker[0]->slots.tsc_0 -= rig->worker[0]->tsc_hz / 1000 * ms;
	send_up(rig);
}

static void
times_of_traffic_are_kept(void **state)
{
	struct rig *rig = rig_create(1, true);
	const struct upf_urr_times *times = &rig->shm.slots.times[1];
	struct upf_urr_arm record = nothing_armed();
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.urr[0].flags = UPF_URR_TIMED;
	rules_install(rig, &s);
	assert_int_equal(times->first_ms, 0);
	send_up_after(rig, 100);
	assert_true(times->first_ms >= 100 && times->last_ms == times->first_ms);
	assert_int_equal(times->active_ms, 0);
	send_up_after(rig, 5000); // without Inactivity Detection Time all of it counts
	assert_in_range(times->active_ms, 5000, 5500);
	record.inactivity_ms = 1000;
	do_arm(rig, &record);
	send_up_after(rig, 500);
	send_up_after(rig, 20000);
	assert_in_range(times->active_ms, 6500, 7500);
	assert_in_range(times->last_ms, 25600, 27000);
	// Another URR in the slot begins anew; the same one after an update does not.
	rules_install(rig, &s);
	assert_int_not_equal(times->first_ms, 0);
	s.urr[0].urr_id = 9;
	rules_install(rig, &s);
	assert_int_equal(times->first_ms, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Each of a PDR's URRs is measured its own way, the second one too.
static void
each_urr_is_measured_its_own_way(void **state)
{
	struct rig *rig = rig_create(1, true);
	const struct upf_urr_times *times = rig->shm.slots.times;
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_GATE_UL_CLOSED;
	s.n_urr = 2;
	s.urr[1] = (struct upf_urr){.urr_id = 2,
		.slot = 5,
		.quota_far = UPF_NONE16,
		.flags = UPF_URR_BEFORE_QOS | UPF_URR_TIMED};
	s.pdr[0].n_urr = s.pdr[1].n_urr = 2;
	s.pdr[0].urr[1] = s.pdr[1].urr[1] = 1;
	rules_install(rig, &s);
	send_up(rig);
	send_down(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_GATE_CLOSED), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 0);
	assert_int_equal(rig_urr(rig, 5, UPF_UL)->packets, 1);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 1);
	assert_int_equal(rig_urr(rig, 5, UPF_DL)->packets, 1);
	assert_int_equal(times[1].first_ms, 0);
	assert_int_not_equal(times[5].first_ms, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What the session's former URR in this slot had armed is nothing to the next one.
static void
slot_of_another_urr_is_unarmed(void **state)
{
	struct rig *rig = rig_with_session();
	struct session_rules_builder s;

	(void)state;
	arm_quota(rig, PACKET, UINT64_MAX, UINT64_MAX);
	send_up(rig);
	assert_true(fired(rig));
	send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 1);
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s); // the same URR: still used up
	send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 1);
	s.urr[0].urr_id = 2;
	rules_install(rig, &s);
	send_up(rig);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2);
	assert_false(fired(rig));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
all_urrs_of_a_pdr_count(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_urr = UPF_PDR_URRS;
	s.pdr[0].n_urr = UPF_PDR_URRS;
	for (unsigned i = 0; i < UPF_PDR_URRS; i++) {
		s.urr[i] =
			(struct upf_urr){.urr_id = i + 1, .slot = 1 + i, .quota_far = UPF_NONE16};
		s.pdr[0].urr[i] = (uint16_t)i;
	}
	rules_install(rig, &s);
	send_up(rig);
	for (unsigned i = 0; i < UPF_PDR_URRS; i++)
		assert_int_equal(rig_urr(rig, 1 + i, UPF_UL)->packets, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
dropped_packets_are_not_counted(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.far[0].action = UPF_FAR_DROP;
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	send_up(rig);
	send_down(rig);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 0);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 0);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 1);
	rig_free(rig);
}

// ---- what does not leave ---------------------------------------------------------------------------

static void
assert_counted(const struct rig *rig, uint32_t slot, enum upf_direction direction, uint64_t packets)
{
	assert_int_equal(rig_urr(rig, slot, direction)->packets, packets);
	assert_int_equal(rig_urr(rig, slot, direction)->bytes, packets * PACKET);
}

static void
what_finds_no_way_is_not_counted(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;

	(void)state;
	config.interface[UPF_PORT_N6].gateway[0] = 0;
	rig = rig_create_with(&config, 1, true);
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_ROUTE), 1);
	assert_counted(rig, 1, UPF_UL, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
send_downlink(struct rig *rig, unsigned n)
{
	struct frame f;

	frame_eth_ip(&f,
		&(struct ip_fields){
			.src = RIG_REMOTE, .dst = RIG_UE, .payload = (uint32_t)PACKET - 28});
	for (unsigned i = 0; i < n; i++) {
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
	}
}

// All URRs of the PDR but those that measure before QoS enforcement.
static void
what_the_queue_does_not_take_is_not_counted(void **state)
{
	(void)state;
	for (unsigned vlan = 0; vlan < 2; vlan++) {
		struct config config = rig_config();
		struct session_rules_builder s;
		struct rig *rig;

		config.interface[UPF_PORT_N3].vlan = vlan != 0 ? 100 : 0;
		rig = rig_create_with(&config, 1, true);
		rules_usual(&s, 1, RIG_UE, 0x100);
		s.n_urr = s.pdr[1].n_urr = 4;
		for (unsigned i = 0; i < 4; i++) {
			s.urr[i] = (struct upf_urr){
				.urr_id = i + 1, .slot = 1 + i, .quota_far = UPF_NONE16};
			s.pdr[1].urr[i] = (uint16_t)i;
		}
		s.urr[3].flags = UPF_URR_BEFORE_QOS;
		rules_install(rig, &s);
		send_downlink(rig, 1040);
		assert_int_equal(rig_dropped(rig, UPF_DROP_TX_FULL), 1040 - 1023);
		for (unsigned i = 0; i < 3; i++)
			assert_counted(rig, 1 + i, UPF_DL, 1023);
		assert_counted(rig, 4, UPF_DL, 1040);
		rig_count_sent(rig, UPF_PORT_N3);
		send_downlink(rig, 1);
		assert_counted(rig, 1, UPF_DL, 1024);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// A quota counts what left: what was taken back may be used once more.
static void
what_is_taken_back_is_not_used_up(void **state)
{
	struct rig *rig = rig_with_session();

	(void)state;
	arm_quota(rig, UINT64_MAX, UINT64_MAX, 1030 * PACKET);
	send_downlink(rig, 1040);
	rig_dropped(rig, UPF_DROP_TX_FULL);
	assert_counted(rig, 1, UPF_DL, 1023);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1023);
	send_downlink(rig, 10);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 7);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 3);
	assert_counted(rig, 1, UPF_DL, 1030);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
hear_gateway(struct rig *rig)
{
	struct frame f;

	frame_arp(&f, 2, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

static void
what_waits_for_its_neighbour_is_counted_when_it_leaves(void **state)
{
	struct rig *rig = rig_without_neighbours();

	(void)state;
	for (unsigned i = 0; i < NEIGH_HELD + 2; i++)
		send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 2);
	assert_counted(rig, 1, UPF_UL, 0);
	arm(rig, UINT64_MAX, NEIGH_HELD * PACKET, UINT64_MAX);
	assert_false(fired(rig));
	hear_gateway(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), NEIGH_HELD);
	assert_counted(rig, 1, UPF_UL, NEIGH_HELD);
	assert_true(fired(rig));
	send_up(rig);
	assert_counted(rig, 1, UPF_UL, NEIGH_HELD + 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
what_waits_in_vain_is_not_counted(void **state)
{
	struct rig *rig = rig_without_neighbours();

	(void)state;
	send_up(rig);
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 0; k < NEIGH_ENTRIES; k++)
			rig->worker[0]->neigh[UPF_PORT_N6]->entry[k].due = 0;
		rig->worker[0]->next_tick = 0;
		rig_poll(rig);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	send_up(rig); // dead
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	assert_counted(rig, 1, UPF_UL, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// By then its rules may be others, or gone: their memory and slots are somebody else's.
static void
what_waits_is_counted_by_the_rules_that_are(void **state)
{
	static struct transaction t;

	(void)state;
	for (unsigned change = 0; change < 4; change++) {
		struct rig *rig = rig_without_neighbours();
		struct session_rules_builder s;
		uint32_t counts = 1;

		send_up(rig);
		rules_usual(&s, 1, RIG_UE, 0x100);
		switch (change) {
		case 0: // the session's URR has another slot
			s.urr[0].urr_id = 2;
			s.urr[0].slot = counts = 7;
			break;
		case 1: // its PDR has another name
			s.pdr[0].pdr_id = 9;
			counts = 0;
			break;
		default: // it is another session
			transaction_begin(&t);
			transaction_del(&t, 1);
			assert_int_equal(transaction_do(rig, &t, NULL), 0);
			counts = 0;
		}
		if (change != 3)
			rules_install(rig, &s);
		hear_gateway(rig);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), counts != 0 ? 1 : 0);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), counts == 0);
		assert_counted(rig, 1, UPF_UL, counts == 1);
		assert_counted(rig, 7, UPF_UL, counts == 7);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// The user's octets, whatever stands around them.
static void
octets_are_the_users_in_every_tunnel(void **state)
{
	(void)state;
	for (unsigned ohc = UPF_OHC_GTPU4; ohc <= UPF_OHC_IP6; ohc++) {
		for (unsigned qfi = 0; qfi < 3; qfi++) {
			struct config config = rig_config6();
			struct rig *rig = rig_create_with(&config, 1, false);
			struct session_rules_builder s;
			bool over6 = ohc % 2 == 0;

			rules_usual(&s, 1, RIG_UE, 0x100);
			s.far[1].ohc = (uint8_t)ohc;
			if (over6) {
				memcpy(s.far[1].peer_addr, rig_gnb6, sizeof(upf_addr));
				memcpy(s.far[1].local_addr, rig_n3_addr6, sizeof(upf_addr));
			}
			s.qer[0].qfi = qfi != 0 ? 9 : 0;
			if (qfi == 2) {
				s.qer[0].flags |= UPF_QER_PPI;
				s.qer[0].ppi = 3;
			}
			rules_install(rig, &s);
			send_downlink(rig, NEIGH_HELD + 1);
			assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
			assert_counted(rig, 1, UPF_DL, 0);
			rig_assert_no_other_drops(rig);
			rig_free(rig);
		}
	}
}

// ---- quotas while they are written ---------------------------------------------------------------

// The control thread lost its CPU in the middle of it.
static void
a_quota_holds_while_its_meter_is_written(void **state)
{
	struct rig *rig = rig_with_session();
	struct upf_urr_meter *meter = &rig->shm.slots.meter[1];

	(void)state;
	arm_quota(rig, UINT64_MAX, 2 * PACKET, UINT64_MAX);
	send_up(rig);
	send_up(rig);
	rig_assert_no_other_drops(rig);
	for (unsigned step = METER_SHRINKS; step < METER_STEP; step++) {
		uint32_t generation = meter->generation;

		meter->generation += step;
		send_up(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 1);
		meter->generation = generation;
	}
	assert_counted(rig, 1, UPF_UL, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

struct arming_thread {
	struct rig *rig;
	uint32_t stop;
	unsigned armings;
	int rc;
};

// Either quota is used up: total, then uplink, then total …
static void *
arm_in_turn(void *arg)
{
	static struct transaction t;
	struct arming_thread *thread = arg;

	// Relaxed: the flag carries nothing but itself.
	while (thread->rc == 0 && __atomic_load_n(&thread->stop, __ATOMIC_RELAXED) == 0) {
		struct upf_urr_arm record = nothing_armed();

		if (thread->armings++ % 2 == 0)
			record.quota_total = PACKET;
		else
			record.quota_ul = PACKET;
		transaction_begin(&t);
		transaction_add(&t, &record, sizeof(record));
		thread->rc = transaction_do(thread->rig, &t, NULL);
	}
	return NULL;
}

static void
nothing_slips_between_two_quotas(void **state)
{
	enum { POLLS = 5000 };
	struct rig *rig = rig_with_session();
	struct arming_thread thread = {.rig = rig};
	struct event event;
	struct frame f;
	pthread_t id;

	(void)state;
	send_up(rig);
	arm_quota(rig, PACKET, UINT64_MAX, UINT64_MAX);
	frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9,
		&(struct ip_fields){
			.src = RIG_UE, .dst = RIG_REMOTE, .payload = (uint32_t)PACKET - 28});
	assert_int_equal(pthread_create(&id, NULL, arm_in_turn, &thread), 0);
	for (unsigned i = 0; i < POLLS; i++) {
		for (unsigned k = 0; k < BURST; k++)
			rig_inject(rig, UPF_PORT_N3, f.data, f.length);
		worker_poll(rig->worker[0]);
		while (rig_event(rig, &event))
			;
	}
	__atomic_store_n(&thread.stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(id, NULL), 0);
	assert_int_equal(thread.rc, 0);
	assert_true(thread.armings > 1);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), POLLS * BURST);
	assert_counted(rig, 1, UPF_UL, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What comes with the session is armed before the session's first packet: written once, not first
// without limits.
static void
a_new_urr_comes_armed(void **state)
{
	static struct transaction t;
	struct rig *rig = rig_create(1, true);
	struct upf_urr_arm record = nothing_armed();
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	record.quota_total = 0;
	transaction_begin(&t);
	transaction_put(&t, &s);
	transaction_add(&t, &record, sizeof(record));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	assert_int_equal(rig->shm.slots.meter[1].generation, METER_STEP);
	send_up(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_QUOTA_EXHAUSTED), 1);
	assert_true(fired(rig));
	assert_false(fired(rig));
	// The same one again keeps what is armed until the new arming.
	record.quota_total = PACKET;
	transaction_begin(&t);
	transaction_put(&t, &s);
	transaction_add(&t, &record, sizeof(record));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	assert_int_equal(rig->shm.slots.meter[1].generation, 2 * METER_STEP);
	send_up(rig);
	assert_counted(rig, 1, UPF_UL, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A look that was ordered for a session that has ended since says nothing of the next one to have the slot.
static void
a_look_that_comes_late_is_not_for_the_next_session(void **state)
{
	static struct transaction t;
	struct rig *rig = rig_with_session();
	struct upf_urr_arm near = nothing_armed();
	struct session_rules_builder s;
	struct event event;

	(void)state;
	near.total = PACKET;
	transaction_begin(&t);
	transaction_add(&t, &near, sizeof(near));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rules_usual(&s, 2, RIG_UE, 0x100);
	s.qer[0].slot = s.urr[0].slot = 1;
	near.session = 2;
	near.total = 0;
	transaction_begin(&t);
	transaction_put(&t, &s);
	transaction_add(&t, &near, sizeof(near));
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	// The worker finds both orders.
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.urr.session, 2);
	assert_false(rig_event(rig, &event));
	rig_free(rig);
}

int
test_urr(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unarmed_never_fires),
		cmocka_unit_test(fires_once_when_reached),
		cmocka_unit_test(arming_below_the_counter_fires_at_once),
		cmocka_unit_test(counters_and_arming_survive_new_rules),
		cmocka_unit_test(full_event_ring_only_delays),
		cmocka_unit_test(traffic_stops_where_the_quota_ends),
		cmocka_unit_test(quota_may_lead_to_another_far),
		cmocka_unit_test(measured_before_qos_enforcement),
		cmocka_unit_test(times_of_traffic_are_kept),
		cmocka_unit_test(each_urr_is_measured_its_own_way),
		cmocka_unit_test(slot_of_another_urr_is_unarmed),
		cmocka_unit_test(all_urrs_of_a_pdr_count),
		cmocka_unit_test(dropped_packets_are_not_counted),
		cmocka_unit_test(what_finds_no_way_is_not_counted),
		cmocka_unit_test(what_the_queue_does_not_take_is_not_counted),
		cmocka_unit_test(what_is_taken_back_is_not_used_up),
		cmocka_unit_test(what_waits_for_its_neighbour_is_counted_when_it_leaves),
		cmocka_unit_test(what_waits_in_vain_is_not_counted),
		cmocka_unit_test(what_waits_is_counted_by_the_rules_that_are),
		cmocka_unit_test(octets_are_the_users_in_every_tunnel),
		cmocka_unit_test(a_quota_holds_while_its_meter_is_written),
		cmocka_unit_test(nothing_slips_between_two_quotas),
		cmocka_unit_test(a_new_urr_comes_armed),
		cmocka_unit_test(a_look_that_comes_late_is_not_for_the_next_session),
	};

	return cmocka_run_group_tests_name("urr", tests, NULL, NULL);
}
