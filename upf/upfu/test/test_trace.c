// Tracing: a followed packet tells of each stage it passes and of its end, no other packet tells
// anything, and nothing of it is ever waited for.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include "frames.h"
#include "packet/trace.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define OTHER_UE (RIG_UE + 1)

static const struct ip_fields from_ue = {.src = RIG_UE, .dst = RIG_REMOTE, .payload = 100};
static const struct ip_fields to_ue = {.src = RIG_REMOTE, .dst = RIG_UE, .payload = 100};

static int
order(struct rig *rig, uint32_t flags, uint32_t session, uint32_t packets, uint16_t snap)
{
	static struct transaction t;
	struct upf_trace record = {
		.rec = {.type = UPF_REC_TRACE, .length = sizeof(record)},
		.session = session,
		.flags = flags,
		.packets = packets,
		.snap = snap,
	};

	transaction_begin(&t);
	transaction_add(&t, &record, sizeof(record));
	return transaction_do(rig, &t, NULL);
}

static struct rig *
rig_with_two_sessions(unsigned workers)
{
	struct rig *rig = rig_create(workers, true);
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, TEID);
	rules_install(rig, &s);
	rules_usual(&s, 2, OTHER_UE, TEID + 1);
	rules_install(rig, &s);
	return rig;
}

struct step {
	struct upf_ev_trace event;
	uint8_t octets[TRACE_SNAP_MAX];
};

// The next event of any worker, taken out of its ring as the control thread does.
static bool
next(struct rig *rig, struct step *step)
{
	static uint8_t record[sizeof(struct step) + 8];
	uint32_t records;

	for (unsigned i = 0; i < rig->config.workers; i++) {
		struct worker *w = rig->worker[i];
		size_t length, all = trace_peek(w, NULL, 0, &records);

		assert_int_equal(all, 0); // no room, so nothing is written
		if (!trace_waiting(w))
			continue;
		for (length = sizeof(step->event); records != 1; length += 8)
			trace_peek(w, record, length, &records);
		length -= 8;
		memset(step, 0, sizeof(*step));
		memcpy(&step->event, record, sizeof(step->event));
		assert_int_equal(step->event.rec.type, UPF_REC_EV_TRACE);
		assert_int_equal(step->event.rec.length, length);
		assert_true(sizeof(step->event) + step->event.captured <= length);
		assert_int_equal(step->event.worker, i);
		memcpy(step->octets, record + sizeof(step->event), step->event.captured);
		trace_done(w, length);
		return true;
	}
	return false;
}

static struct step
expect(struct rig *rig, enum upf_stage stage, enum upf_port port)
{
	struct step step;

	if (!next(rig, &step))
		fail_msg("no event, want stage %d", stage);
	if (step.event.stage != stage || step.event.port != port)
		fail_msg("stage %d port %d, want %d %d", step.event.stage, step.event.port, stage,
			port);
	return step;
}

static void
expect_nothing(struct rig *rig)
{
	struct step step;

	if (next(rig, &step))
		fail_msg("stage %d of packet %llx", step.event.stage,
			(unsigned long long)step.event.packet);
}

static void
send_up(struct rig *rig, uint32_t ue, uint32_t teid)
{
	struct ip_fields ip = from_ue;
	struct frame f;

	ip.src = ue;
	frame_gpdu(&f, RIG_N3_ADDR, teid, 9, &ip);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
}

static void
send_down(struct rig *rig)
{
	struct frame f;

	frame_eth_ip(&f, &to_ue);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
}

static void
nobody_looks(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);

	(void)state;
	send_down(rig);
	rig_poll(rig);
	assert_null(rig->worker[0]->trace);
	assert_null(rig->worker[0]->trace_memory);
	assert_int_equal(order(rig, UPF_TRACE_ALL, 0, 10, 0), 0);
	rig_poll(rig);
	assert_int_equal(order(rig, 0, 0, 0, 0), 0);
	send_down(rig);
	rig_poll(rig);
	assert_null(rig->worker[0]->trace);
	expect_nothing(rig);
	assert_int_equal(rig->shm.workers[0].local.traced, 0);
	rig_free(rig);
}

static void
the_whole_way_of_a_session_s_packet(void **state)
{
	static const enum upf_stage passed[] = {
		UPF_STAGE_LOOKUP, UPF_STAGE_PDR, UPF_STAGE_QER, UPF_STAGE_FAR, UPF_STAGE_URR};
	struct rig *rig = rig_with_two_sessions(1);
	struct rte_mbuf *sent;
	struct step rx, step;
	struct frame f;

	(void)state;
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, 10, TRACE_SNAP_MAX), 0);
	send_up(rig, OTHER_UE, TEID + 1);
	frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);

	rx = expect(rig, UPF_STAGE_RX, UPF_PORT_N3);
	assert_int_equal(rx.event.length, f.length);
	assert_int_equal(rx.event.captured, f.length);
	assert_memory_equal(rx.octets + 6, f.data + 6, f.length - 6); // but the port's address
	for (unsigned i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		step = expect(rig, passed[i], UPF_PORT_N3);
		assert_int_equal(step.event.packet, rx.event.packet);
		assert_int_equal(step.event.session, 1);
		assert_int_equal(step.event.pdr_id, passed[i] == UPF_STAGE_LOOKUP ? 0 : 1);
		assert_int_equal(step.event.captured, 0);
		assert_true(step.event.tsc >= rx.event.tsc);
	}
	step = expect(rig, UPF_STAGE_TX, UPF_PORT_N6);
	assert_int_equal(step.event.packet, rx.event.packet);
	assert_int_equal(step.event.pdr_id, 1);
	rte_pktmbuf_free(rig_sent(rig, UPF_PORT_N6)); // the other session's
	sent = rig_sent(rig, UPF_PORT_N6);
	assert_int_equal(step.event.captured, rte_pktmbuf_data_len(sent));
	assert_memory_equal(
		step.octets, rte_pktmbuf_mtod(sent, uint8_t *), rte_pktmbuf_data_len(sent));
	rte_pktmbuf_free(sent);
	expect_nothing(rig);
	assert_int_equal(rig->shm.workers[0].local.traced, 1);
	rig_free(rig);
}

static void
a_drop_is_named(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);
	struct step step;

	(void)state;
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, 10, 64), 0);
	send_up(rig, RIG_IP(10, 45, 9, 9), TEID);
	rig_poll(rig);
	step = expect(rig, UPF_STAGE_RX, UPF_PORT_N3);
	assert_int_equal(step.event.captured, 64);
	expect(rig, UPF_STAGE_LOOKUP, UPF_PORT_N3);
	step = expect(rig, UPF_STAGE_DROP, UPF_PORT_N3);
	assert_int_equal(step.event.drop, UPF_DROP_SPOOFED_SOURCE);
	expect_nothing(rig);
	rig_free(rig);
}

static void
all_packets_those_of_no_session_too(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);
	struct ip_fields stranger = to_ue;
	struct step step;
	struct frame f;

	(void)state;
	assert_int_equal(order(rig, UPF_TRACE_ALL, 0, 10, 64), 0);
	stranger.dst = RIG_IP(10, 99, 0, 1);
	frame_eth_ip(&f, &stranger);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	step = expect(rig, UPF_STAGE_RX, UPF_PORT_N6);
	assert_int_equal(step.event.session, UINT32_MAX);
	step = expect(rig, UPF_STAGE_DROP, UPF_PORT_N6);
	assert_int_equal(step.event.drop, UPF_DROP_UNKNOWN_UE);
	// An answer leaves in the buffer of what it answers.
	frame_arp(&f, 1, &rig_gateway_mac, RIG_GATEWAY, RIG_N6_ADDR);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	expect(rig, UPF_STAGE_RX, UPF_PORT_N6);
	expect(rig, UPF_STAGE_TX, UPF_PORT_N6);
	expect_nothing(rig);
	rig_free(rig);
}

static void
a_buffered_packet_is_followed_to_its_end(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);
	struct session_rules_builder s;
	struct step held, step;
	struct event event;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID);
	s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	rules_install(rig, &s);
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, 10, 0), 0);
	send_down(rig);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	expect(rig, UPF_STAGE_RX, UPF_PORT_N6);
	expect(rig, UPF_STAGE_LOOKUP, UPF_PORT_N6);
	expect(rig, UPF_STAGE_PDR, UPF_PORT_N6);
	expect(rig, UPF_STAGE_QER, UPF_PORT_N6);
	held = expect(rig, UPF_STAGE_BUFFER, UPF_PORT_N6);
	expect_nothing(rig);
	s.far[1].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	rig_poll(rig);
	while (next(rig, &step)) {
		assert_int_equal(step.event.packet, held.event.packet);
		if (step.event.stage == UPF_STAGE_TX)
			break;
	}
	assert_int_equal(step.event.stage, UPF_STAGE_TX);
	expect_nothing(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig_free(rig);
}

static void
a_packet_that_waits_for_its_rate_is_followed_on(void **state)
{
	struct config config = rig_config();
	struct session_rules_builder s;
	struct rig *rig;

	(void)state;
	config.qer = (struct config_qer){.burst_ms = 1,
		.queue_ms = 1000,
		.queue_packets = 8,
		.queue_packets_per_session = 8};
	rig = rig_create_with(&config, 1, true);
	rules_usual(&s, 1, RIG_UE, TEID);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 3000; // a packet takes a third of a second
	rules_install(rig, &s);
	send_down(rig);
	rig_poll(rig);
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, 10, 0), 0);
	send_down(rig);
	rig_poll(rig);
	expect(rig, UPF_STAGE_RX, UPF_PORT_N6);
	expect(rig, UPF_STAGE_LOOKUP, UPF_PORT_N6);
	expect(rig, UPF_STAGE_PDR, UPF_PORT_N6);
	expect(rig, UPF_STAGE_SHAPER, UPF_PORT_N6);
	expect_nothing(rig);
	while (rig->worker[0]->shaper.packets != 0)
		rig_poll(rig);
	expect(rig, UPF_STAGE_FAR, UPF_PORT_N6);
	expect(rig, UPF_STAGE_URR, UPF_PORT_N6);
	expect(rig, UPF_STAGE_TX, UPF_PORT_N3);
	expect_nothing(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
	rig_free(rig);
}

static void
what_the_transmit_queue_refuses(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);
	struct step step;
	unsigned refused = 0;

	(void)state;
	for (unsigned i = 0; i < 1023; i++) { // the queue holds so many
		send_down(rig);
		rig_poll(rig);
	}
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, 10, 0), 0);
	send_down(rig);
	rig_poll(rig);
	while (next(rig, &step))
		refused +=
			step.event.stage == UPF_STAGE_DROP && step.event.drop == UPF_DROP_TX_FULL;
	assert_int_equal(refused, 1);
	rig_free(rig);
}

static void
as_many_packets_as_ordered(void **state)
{
	struct rig *rig = rig_with_two_sessions(2);
	unsigned sent = 0;
	struct step step;

	(void)state;
	assert_int_equal(order(rig, UPF_TRACE_ALL, 0, 3, 0), 0);
	for (unsigned i = 0; i < 8; i++) {
		send_down(rig);
		send_up(rig, OTHER_UE, TEID + 1);
	}
	rig_poll(rig);
	while (next(rig, &step))
		sent += step.event.stage == UPF_STAGE_TX;
	assert_int_equal(sent, 3);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 16);
	// A new order begins anew, and marks of the old one are nobody's.
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 2, 1, 0), 0);
	send_down(rig);
	send_up(rig, OTHER_UE, TEID + 1);
	rig_poll(rig);
	while (next(rig, &step))
		assert_true(step.event.session == 2 || step.event.stage == UPF_STAGE_RX);
	rig_free(rig);
}

static void
a_full_ring_loses_events_and_counts_them(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);
	const struct upf_local_stats *local = &rig->shm.workers[0].local;
	static uint8_t out[UPF_MSG_MAX];
	uint32_t records, all = 0;
	size_t octets;

	(void)state;
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1, UINT32_MAX, TRACE_SNAP_MAX), 0);
	for (unsigned i = 0; i < 4000; i++) {
		send_down(rig);
		rig_poll(rig);
		rig_count_sent(rig, UPF_PORT_N3);
	}
	assert_int_equal(local->traced, 4000);
	assert_true(local->trace_lost > 0);
	rig_assert_no_other_drops(rig); // no packet was
	while ((octets = trace_peek(rig->worker[0], out, sizeof(out), &records)) != 0) {
		const uint8_t *at = out;

		for (uint32_t i = 0; i < records; i++) {
			struct upf_ev_trace event;

			memcpy(&event, at, sizeof(event));
			assert_int_equal(event.rec.type, UPF_REC_EV_TRACE);
			assert_true(event.session == 1);
			at += event.rec.length;
		}
		assert_ptr_equal(at, out + octets);
		all += records;
		trace_done(rig->worker[0], octets);
	}
	assert_int_equal(all + local->trace_lost, 4000 * 7);
	send_down(rig);
	rig_poll(rig);
	expect(rig, UPF_STAGE_RX, UPF_PORT_N6);
	rig_free(rig);
}

// Whatever comes while somebody looks: each step is a whole record.
static void
damaged_frames_are_followed_too(void **state)
{
	struct rig *rig = rig_with_two_sessions(2);
	struct step step;
	struct frame f;

	(void)state;
	srandom(7);
	for (unsigned i = 0; i < 20000; i++) {
		enum upf_port port = random() % 2 != 0 ? UPF_PORT_N6 : UPF_PORT_N3;

		if (i % 1000 == 0)
			assert_int_equal(
				order(rig, i % 2000 == 0 ? UPF_TRACE_ALL : UPF_TRACE_SESSION, 1,
					500, (uint16_t)(random() % (TRACE_SNAP_MAX + 1))),
				0);
		if (port == UPF_PORT_N3)
			frame_gpdu(&f, RIG_N3_ADDR, TEID, 9, &from_ue);
		else
			frame_eth_ip(&f, &to_ue);
		for (unsigned k = (unsigned)random() % 4; k > 0; k--)
			f.data[12 + (unsigned)random() % (f.length - 12)] = (uint8_t)random();
		if (random() % 4 == 0)
			f.length = 1 + (size_t)random() % f.length;
		rig_inject_to(rig, i % 2, port, f.data, f.length);
		if (i % 16 == 0) {
			struct event event;

			rig_poll(rig);
			rig_count_sent(rig, UPF_PORT_N3);
			rig_count_sent(rig, UPF_PORT_N6);
			while (rig_event(rig, &event))
				;
			while (next(rig, &step))
				;
		}
	}
	rig_poll(rig);
	while (next(rig, &step))
		;
	rig_free(rig);
}

static void
bad_orders_are_refused(void **state)
{
	struct rig *rig = rig_with_two_sessions(1);

	(void)state;
	assert_int_equal(order(rig, 4, 0, 1, 0), EINVAL);
	assert_int_equal(order(rig, UPF_TRACE_ALL, 0, 1, TRACE_SNAP_MAX + 1), EINVAL);
	assert_int_equal(order(rig, UPF_TRACE_SESSION, 1024, 1, 0), EINVAL);
	rig_poll(rig);
	assert_null(rig->worker[0]->trace);
	rig_free(rig);
}

int
test_trace(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_looks),
		cmocka_unit_test(the_whole_way_of_a_session_s_packet),
		cmocka_unit_test(a_drop_is_named),
		cmocka_unit_test(all_packets_those_of_no_session_too),
		cmocka_unit_test(a_buffered_packet_is_followed_to_its_end),
		cmocka_unit_test(a_packet_that_waits_for_its_rate_is_followed_on),
		cmocka_unit_test(what_the_transmit_queue_refuses),
		cmocka_unit_test(as_many_packets_as_ordered),
		cmocka_unit_test(a_full_ring_loses_events_and_counts_them),
		cmocka_unit_test(damaged_frames_are_followed_too),
		cmocka_unit_test(bad_orders_are_refused),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
