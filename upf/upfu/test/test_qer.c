// Token buckets over virtual time: exact from 10 kbit/s to 100 Gbit/s; and packets that wait for them.
#include <string.h>

#include <rte_cycles.h>

#include "frames.h"
#include "packet/shaper.h"
#include "packet/stages.h"
#include "rules.h"
#include "rules/qer_clock.h"
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
		assert_int_equal(
			pass_at_once(rig, part, 1000), tests[i].depth_ms * 1000 / packet_us + 1);
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

// ---- the shaper --------------------------------------------------------------------------------

#define QUEUE_MS 100u
#define PACKET_US 8000u // 1,000 octets at 1 Mbit/s
#define OCTETS 1000u

static struct rig *
shaping_rig(uint32_t packets, uint32_t packets_per_session)
{
	struct config config = rig_config();

	config.qer.queue_ms = QUEUE_MS;
	config.qer.queue_packets = packets;
	config.qer.queue_packets_per_session = packets_per_session;
	return rig_create_with(&config, 1, true);
}

// Packets of one UE by virtual time: what comes, what leaves, and in which order.
struct lane {
	struct rig *rig;
	const struct part *part;
	uint64_t key;
	unsigned pdr;
	uint32_t came, left; // numbers of the next packet and of the last one that left, from 1
	uint32_t dropped;
	uint64_t longest; // wait of any packet, cycles
	uint64_t came_at[4096];
	uint64_t left_at[4096]; // by order of leaving
	uint32_t n_left;
};

static void
lane_left(struct lane *lane, struct rte_mbuf *m)
{
	struct worker *w = lane->rig->worker[0];

	assert_true(m->hash.rss > lane->left); // none overtakes another
	lane->left = m->hash.rss;
	lane->longest = RTE_MAX(lane->longest, w->now - lane->came_at[m->hash.rss % 4096]);
	lane->left_at[lane->n_left++ % 4096] = w->now;
	rte_pktmbuf_free(m);
}

static void
lane_offer(struct lane *lane)
{
	struct worker *w = lane->rig->worker[0];
	struct burst *b = &w->burst;
	uint64_t dropped =
		lane->rig->shm.workers[0].drops[UPF_PORT_N6].reason[UPF_DROP_MBR_EXCEEDED];

	b->n = 1;
	b->live[0] = &b->pkt[0];
	b->pkt[0] = (struct pkt){
		.part = lane->part,
		.pdr = &lane->part->pdr[lane->pdr],
		.key = lane->key,
		.ip_len = OCTETS,
		.port = UPF_PORT_N6,
	};
	b->pkt[0].m = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(b->pkt[0].m);
	b->pkt[0].m->hash.rss = ++lane->came;
	lane->came_at[lane->came % 4096] = w->now;
	qer_burst(w, b);
	if (b->n == 1)
		lane_left(lane, b->pkt[0].m);
	lane->dropped += (uint32_t)(lane->rig->shm.workers[0]
					    .drops[UPF_PORT_N6]
					    .reason[UPF_DROP_MBR_EXCEEDED] -
		dropped);
}

static void
lane_release(struct lane *lane)
{
	struct worker *w = lane->rig->worker[0];
	struct burst *b = &w->burst;

	for (shaper_take(w, b); b->n != 0; shaper_take(w, b)) {
		for (unsigned i = 0; i < b->n; i++) {
			assert_ptr_equal(b->live[i]->part, lane->part);
			assert_ptr_equal(b->live[i]->pdr, &lane->part->pdr[lane->pdr]);
			lane_left(lane, b->live[i]->m);
		}
	}
}

static void
advance_us(struct rig *rig, uint64_t us)
{
	rig->worker[0]->now += rig->worker[0]->tsc_hz / 1000000 * us;
}

static void
lane_open(struct lane *lane, struct rig *rig, const struct session_rules_builder *s, uint32_t ue)
{
	*lane = (struct lane){.rig = rig, .key = ue_key(rte_cpu_to_be_32(ue))};
	rules_install(rig, s);
	lane->part = session_present(&rig->sessions, s->session, UPF_DL);
	rig->worker[0]->now = rte_rdtsc();
}

// At a load of any kind the rate leaves, in order, over any second no more than it, the bucket and a packet,
// and nothing waits longer than it may.
static void
shaper_lets_the_rate_leave(void **state)
{
	static const struct {
		unsigned packets, every_us; // that come at once, and how often
		bool fills;                 // the rate
	} loads[] = {{1, PACKET_US / 2, true}, {1, PACKET_US * 2, false},
		{12, PACKET_US * 12, true}, {14, PACKET_US * 16, false},
		{100, PACKET_US * 10, true}};
	static struct lane lane;

	(void)state;
	for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct rig *rig = shaping_rig(256, 64);
		struct worker *w = rig->worker[0];
		struct session_rules_builder s;
		const uint64_t second = 1000000, seconds = 20;
		uint64_t began;
		uint32_t most = 0, oldest = 0;

		rules_usual(&s, 1, RIG_UE, 0x100);
		s.qer[0].flags = UPF_QER_MBR;
		s.qer[0].mbr_dl = 1000000;
		lane_open(&lane, rig, &s, RIG_UE);
		began = w->now;
		for (uint64_t us = 0; us < seconds * second; us += PACKET_US / 4) {
			lane_release(&lane);
			for (unsigned n = 0; us % loads[i].every_us == 0 && n < loads[i].packets;
				n++)
				lane_offer(&lane);
			while (lane.left_at[oldest % 4096] + w->tsc_hz <= w->now &&
				oldest < lane.n_left)
				oldest++;
			most = RTE_MAX(most, lane.n_left - oldest);
			advance_us(rig, PACKET_US / 4);
		}
		assert_true(w->now - began > w->tsc_hz / 1000000 * (seconds * second - 1000));
		if (loads[i].fills)
			assert_in_range(lane.n_left, seconds * second / PACKET_US,
				seconds * second / PACKET_US + 3);
		else // all of it leaves, though it came in bursts
			assert_int_equal(lane.dropped, 0);
		assert_in_range(most, 1, second / PACKET_US + 2);
		assert_true(lane.longest <= w->tsc_hz / 1000 * (QUEUE_MS + PACKET_US / 4000));
		assert_int_equal(lane.came, lane.n_left + lane.dropped + w->shaper.packets);
		rig_dropped(rig, UPF_DROP_MBR_EXCEEDED);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Two flows with QERs of their own and one in common: neither waits behind the other's, and together they
// have the common rate.
static void
flows_share_the_queue_of_their_qer(void **state)
{
	struct rig *rig = shaping_rig(256, 256);
	struct worker *w = rig->worker[0];
	struct session_rules_builder s;
	static struct lane fast, slow;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_pdr = 3;
	s.n_qer = 3;
	s.qer[0] = (struct upf_qer){.slot = 1, .flags = UPF_QER_MBR, .mbr_dl = 1000000};
	s.qer[1] = (struct upf_qer){.slot = 2, .flags = UPF_QER_MBR, .mbr_dl = 10000000};
	s.qer[2] = (struct upf_qer){.slot = 3, .flags = UPF_QER_MBR, .mbr_dl = 200000};
	s.pdr[2] = s.pdr[1];
	s.pdr[2].pdr_id = 3;
	for (unsigned i = 1; i < 3; i++) {
		s.pdr[i].n_qer = 2;
		s.pdr[i].qer[1] = (uint16_t)i;
	}
	lane_open(&fast, rig, &s, RIG_UE);
	slow = fast;
	slow.pdr = 1;
	// At 200 kbit/s a packet takes 40 ms: one passes, two wait for 30 and 70 ms, more would for too long.
	for (unsigned i = 0; i < 6; i++)
		lane_offer(&slow);
	assert_int_equal(slow.n_left, 1);
	assert_int_equal(w->shaper.packets, 2);
	assert_int_equal(slow.dropped, 3);
	advance_us(rig, 35000);
	lane_release(&slow);
	assert_int_equal(slow.n_left, 2);
	// While one of them waits, the other flow has all of the common rate: the bucket, and 100 ms.
	for (unsigned i = 0; i < 40; i++)
		lane_offer(&fast);
	assert_int_equal(fast.n_left, 2);
	assert_int_equal(w->shaper.packets, 1 + (QUEUE_MS + 10) * 1000 / PACKET_US + 1 - 2);
	assert_int_equal(fast.dropped, 40 - (QUEUE_MS + 10) * 1000 / PACKET_US - 1);
	// And a packet of the slow one, which would not wait for its own rate, finds the common one full.
	advance_us(rig, 1000);
	lane_offer(&slow);
	assert_int_equal(slow.dropped, 4);
	rig_dropped(rig, UPF_DROP_MBR_EXCEEDED);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
shaper_is_bounded(void **state)
{
	struct rig *rig = shaping_rig(7, 4);
	struct worker *w = rig->worker[0];
	struct session_rules_builder s;
	static struct lane one, two;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 1000000;
	lane_open(&one, rig, &s, RIG_UE);
	rules_usual(&s, 2, RIG_UE + 1, 0x200);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 1000000;
	lane_open(&two, rig, &s, RIG_UE + 1);
	for (unsigned i = 0; i < 10; i++)
		lane_offer(&one);
	assert_int_equal(one.n_left, 2);
	assert_int_equal(w->shaper.packets, 4);
	for (unsigned i = 0; i < 10; i++)
		lane_offer(&two);
	assert_int_equal(two.n_left, 2);
	assert_int_equal(w->shaper.packets, 7);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 4 + 5);
	// What was refused for want of room was not charged.
	assert_in_range(*qer_tat(&rig->shm.slots, 2, UPF_DL) - (w->now << QER_FRACTION),
		qer_depth(5 * PACKET_US / 1000 - 1, w->tsc_hz),
		qer_depth(5 * PACKET_US / 1000 + 1, w->tsc_hz));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Within its guarantee nothing is dropped, and all of the flow stays in order.
static void
guaranteed_flow_waits_for_its_own_rate_alone(void **state)
{
	struct rig *rig = shaping_rig(256, 256);
	struct session_rules_builder s;
	static struct lane lane;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_qer = 2;
	s.qer[0] = (struct upf_qer){.slot = 1, .flags = UPF_QER_MBR, .mbr_dl = 1000};
	s.qer[1] = (struct upf_qer){.slot = 2,
		.gbr_slot = 3,
		.flags = UPF_QER_MBR | UPF_QER_GBR,
		.mbr_dl = 1000000,
		.gbr_dl = 500000,
		.window_ms = 20};
	s.pdr[1].n_qer = 2;
	s.pdr[1].qer[1] = 1;
	lane_open(&lane, rig, &s, RIG_UE);
	// In bursts that its own rate smooths; the session's, long spent, holds none of them up.
	for (unsigned i = 0; i < 400; i++) {
		lane_release(&lane);
		if (i % 20 == 0)
			lane_offer(&lane), lane_offer(&lane);
		advance_us(rig, PACKET_US / 5);
	}
	assert_int_equal(lane.dropped, 0);
	assert_int_equal(lane.n_left, 40);
	// Beyond it the session's rate says no, and what is within it still leaves in order.
	for (unsigned i = 0; i < 400; i++) {
		lane_release(&lane);
		lane_offer(&lane);
		advance_us(rig, PACKET_US / 2);
	}
	assert_in_range(lane.n_left, 40 + 95, 40 + 110);
	rig_dropped(rig, UPF_DROP_MBR_EXCEEDED);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Through the whole worker: polls until nothing waits any more.
static void
poll_until_empty(struct rig *rig)
{
	uint64_t deadline = rte_rdtsc() + 10 * rte_get_tsc_hz();

	for (rig_poll(rig); rig->worker[0]->shaper.packets != 0; rig_poll(rig)) {
		uint64_t due = shaper_due(&rig->worker[0]->shaper);

		assert_true(due <= rig->worker[0]->now + rte_get_tsc_hz() / 1000 * QUEUE_MS);
		assert_true(rte_rdtsc() < deadline);
	}
}

static void
inject_down(struct rig *rig, unsigned n)
{
	struct frame f;

	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = 972});
	for (unsigned i = 0; i < n; i++)
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

// What waits is counted when it leaves, and leaves as the FAR says then.
static void
waiting_packets_follow_their_rules(void **state)
{
	struct rig *rig = shaping_rig(64, 64);
	const struct upf_local_stats *local = &rig->shm.workers[0].local;
	struct session_rules_builder s;
	struct rte_mbuf *m;
	rte_be32_t teid;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 10000000; // a packet in 0.8 ms
	rules_install(rig, &s);
	inject_down(rig, 40);
	assert_in_range(rig->worker[0]->shaper.packets, 1, 40 - 13);
	assert_int_equal(local->shaper_waiting, rig->worker[0]->shaper.packets);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets + local->shaper_waiting, 40);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + local->shaper_waiting, 40);
	s.far[1].teid = 0x4711;
	rules_install(rig, &s);
	poll_until_empty(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	memcpy(&teid, rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 20 + 8 + 4), sizeof(teid));
	assert_int_equal(rte_be_to_cpu_32(teid), 0x4711);
	rte_pktmbuf_free(m);
	rig_count_sent(rig, UPF_PORT_N3);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 40);
	assert_in_range(local->shaped, 1, 27);
	assert_int_equal(local->shaper_waiting, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Uplink as well: with its tunnel, and without a second look at its headers.
static void
uplink_waits_for_its_rate(void **state)
{
	struct rig *rig = shaping_rig(64, 64);
	struct session_rules_builder s;
	struct frame f;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_ul = 10000000;
	rules_install(rig, &s);
	frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9,
		&(struct ip_fields){.src = RIG_UE, .dst = RIG_REMOTE, .payload = 972});
	for (unsigned i = 0; i < 40; i++)
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	poll_until_empty(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 40);
	assert_true(rig->shm.workers[0].local.shaped > 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A session that goes takes with it what waits, even when its successor has the same address; and so does
// a PDR. A PDR that moved is found.
static void
nothing_waits_for_rules_that_went(void **state)
{
	static struct transaction t;
	struct session_rules_builder s;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = shaping_rig(64, 64);
		unsigned waiting;

		rules_usual(&s, 1, RIG_UE, 0x100);
		s.qer[0].flags = UPF_QER_MBR;
		s.qer[0].mbr_dl = 10000000;
		rules_install(rig, &s);
		inject_down(rig, 40);
		waiting = rig->worker[0]->shaper.packets;
		assert_in_range(waiting, 1, 40);
		rig_count_sent(rig, UPF_PORT_N3);
		if (i == 0) {
			transaction_begin(&t);
			transaction_del(&t, 1);
			assert_int_equal(transaction_do(rig, &t, NULL), 0);
			rules_install(rig, &s);
		} else if (i == 1) {
			s.pdr[1].pdr_id = 7;
			rules_install(rig, &s);
		} else {
			s.pdr[2] = s.pdr[1];
			s.pdr[1].pdr_id = 7;
			s.n_pdr = 3;
			rules_install(rig, &s);
		}
		poll_until_empty(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), i < 2 ? waiting : 0);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), i < 2 ? 0 : waiting);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
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
		cmocka_unit_test(shaper_lets_the_rate_leave),
		cmocka_unit_test(flows_share_the_queue_of_their_qer),
		cmocka_unit_test(shaper_is_bounded),
		cmocka_unit_test(guaranteed_flow_waits_for_its_own_rate_alone),
		cmocka_unit_test(waiting_packets_follow_their_rules),
		cmocka_unit_test(uplink_waits_for_its_rate),
		cmocka_unit_test(nothing_waits_for_rules_that_went),
	};

	return cmocka_run_group_tests_name("qer", tests, NULL, NULL);
}
