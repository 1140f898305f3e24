// Packets for idle UEs: held by direction, notified, released in order, never leaked.
#include <errno.h>
#include <string.h>

#include "frames.h"
#include "packet/outer.h"
#include "rules.h"
#include "tests.h"

static void
install(struct rig *rig, uint8_t action)
{
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, 0x100);
	s.far[1].action = action;
	rules_install(rig, &s);
}

static void
send_down(struct rig *rig, uint32_t ue, unsigned from, unsigned n)
{
	struct frame f;

	for (unsigned i = from; i < from + n; i++) {
		frame_eth_ip(&f,
			&(struct ip_fields){.src = RIG_REMOTE, .dst = ue, .sport = (uint16_t)i});
		rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	}
}

// The numbers of the packets sent into the tunnel must be from, from + 1, …
static void
assert_sent_in_order(struct rig *rig, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
		const uint8_t *port;

		assert_non_null(m);
		port = rte_pktmbuf_mtod_offset(
			m, const uint8_t *, 14 + sizeof(struct outer_gtpu4) + 20);
		assert_int_equal(port[0] << 8 | port[1], i);
		rte_pktmbuf_free(m);
	}
	assert_null(rig_sent(rig, UPF_PORT_N3));
}

static void
held_then_released_in_order(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	send_down(rig, RIG_UE, 0, 10);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_DL_DATA);
	assert_int_equal(event.dl_data.session, 1);
	assert_int_equal(event.dl_data.pdr_id, 2);
	assert_int_equal(event.dl_data.qfi, 9);
	assert_false(rig_event(rig, &event));
	// Other rules that still buffer: nothing lost, no second event.
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	rig_poll(rig);
	send_down(rig, RIG_UE, 10, 2);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	assert_null(rig_sent(rig, UPF_PORT_N3));
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 0);
	assert_int_equal(rig->shm.workers[0].local.buffer_waiting, 12);
	assert_int_equal(rig->shm.workers[0].local.buffer_waiting_octets, 12 * 28);
	// New packets arrive in the instant of the update; they come after.
	send_down(rig, RIG_UE, 12, 4);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 16);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 16);
	assert_int_equal(rig->shm.workers[0].local.buffered, 16);
	assert_int_equal(rig->shm.workers[0].local.buffered_released, 16);
	assert_int_equal(rig->shm.workers[0].local.buffer_waiting, 0);
	assert_int_equal(rig->shm.workers[0].local.buffer_waiting_octets, 0);
	rig_assert_no_other_drops(rig);
	// Idle again: notified again.
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	send_down(rig, RIG_UE, 0, 1);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	rig_free(rig); // and what still waits is given back
}

static void
without_nocp_nobody_is_told(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 3);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
bounded_a_session_and_in_all(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		s.far[1].action = UPF_FAR_BUFF;
		rules_install(rig, &s);
		send_down(rig, RIG_UE + i, 0, 20);
		rig_poll(rig);
	}
	// 16 a session for four sessions, then the 64 of the whole.
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 8 * 20 - 64);
	assert_int_equal(rig->worker[0]->buffers.packets, 64);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- octets --------------------------------------------------------------------------------------

// One packet with this number and total length.
static void
send_octets(struct rig *rig, uint32_t ue, unsigned number, uint32_t octets)
{
	struct frame f;

	frame_eth_ip(&f,
		&(struct ip_fields){.src = RIG_REMOTE,
			.dst = ue,
			.sport = (uint16_t)number,
			.payload = octets - 28});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

static struct rig *
create_bounded(uint64_t bytes, uint64_t bytes_per_session, bool drop_oldest)
{
	struct config config = rig_config();

	config.limits.buffer_bytes = bytes;
	config.limits.buffer_bytes_per_session = bytes_per_session;
	config.buffer_drop_oldest = drop_oldest;
	return rig_create_with(&config, 1, true);
}

static void
assert_waiting(struct rig *rig, uint64_t packets, uint64_t octets)
{
	const struct upf_local_stats *local = &rig->shm.workers[0].local;

	assert_int_equal(rig->worker[0]->buffers.packets, packets);
	assert_int_equal(rig->worker[0]->buffers.octets, octets);
	assert_int_equal(local->buffer_waiting, packets);
	assert_int_equal(local->buffer_waiting_octets, octets);
}

static void
octets_of_a_session_are_bounded(void **state)
{
	(void)state;
	for (unsigned oldest = 0; oldest < 2; oldest++) {
		struct rig *rig = create_bounded(100000, 1000, oldest != 0);

		install(rig, UPF_FAR_BUFF);
		for (unsigned i = 0; i < 4; i++)
			send_octets(rig, RIG_UE, i, 250);
		assert_waiting(rig, 4, 1000); // to the last octet
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 0);
		send_octets(rig, RIG_UE, 4, 28);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
		assert_waiting(rig, 4, oldest != 0 ? 778 : 1000);
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, oldest, 4);
		assert_waiting(rig, 0, 0);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
octets_of_a_worker_are_bounded(void **state)
{
	(void)state;
	for (unsigned oldest = 0; oldest < 2; oldest++) {
		struct rig *rig = create_bounded(1000, 800, oldest != 0);
		struct session_rules_builder s;

		install(rig, UPF_FAR_BUFF);
		rules_usual(&s, 2, RIG_UE + 1, 0x101);
		s.far[1].action = UPF_FAR_BUFF;
		rules_install(rig, &s);
		send_octets(rig, RIG_UE, 0, 300);
		send_octets(rig, RIG_UE, 1, 300);
		send_octets(rig, RIG_UE + 1, 2, 400);
		assert_waiting(rig, 3, 1000);
		// Within the session's bound and over the worker's: its own oldest goes, no other's.
		send_octets(rig, RIG_UE + 1, 3, 100);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
		assert_waiting(rig, 3, oldest != 0 ? 700 : 1000);
		// All that waits for its session would not be room enough: nothing goes for it.
		send_octets(rig, RIG_UE + 1, 4, 500);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
		assert_waiting(rig, 3, oldest != 0 ? 700 : 1000);
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, 0, 2);
		s.far[1].action = UPF_FAR_FORW;
		rules_install(rig, &s);
		rig_poll(rig);
		assert_sent_in_order(rig, oldest != 0 ? 3 : 2, 1);
		assert_waiting(rig, 0, 0);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
oldest_go_until_a_big_packet_fits(void **state)
{
	struct rig *rig = create_bounded(100000, 1000, true);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	for (unsigned i = 0; i < 10; i++)
		send_octets(rig, RIG_UE, i, 100);
	send_octets(rig, RIG_UE, 10, 750);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 8);
	assert_waiting(rig, 3, 950);
	send_octets(rig, RIG_UE, 11, 50);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 0);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 8, 4);
	assert_waiting(rig, 0, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A packet over the whole bound goes, whatever the policy; what waits stays.
static void
a_packet_over_the_whole_bound_goes_alone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		uint64_t bytes = i < 2 ? 1000 : 100000, session = i < 2 ? 100000 : 1000;
		struct rig *rig = create_bounded(bytes, session, i % 2 != 0);
		struct event event;

		install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
		send_octets(rig, RIG_UE, 7, 1001);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
		assert_waiting(rig, 0, 0);
		assert_true(rig_event(rig, &event)); // the UE is wanted all the same
		send_octets(rig, RIG_UE, 0, 100);
		send_octets(rig, RIG_UE, 1, 100);
		send_octets(rig, RIG_UE, 7, 1001);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
		assert_waiting(rig, 2, 200);
		assert_false(rig_event(rig, &event));
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, 0, 2);
		assert_int_equal(rig->worker[0]->buffers.queues, 0);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Released packets that meet a FAR which still buffers come back: they are not counted twice.
static void
octets_come_back_with_packets_that_stay(void **state)
{
	struct rig *rig = create_bounded(100000, 1000, false);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_octets(rig, RIG_UE, 0, 600);
	send_octets(rig, RIG_UE, 1, 400);
	install(rig, UPF_FAR_BUFF);
	rig_poll(rig);
	assert_waiting(rig, 2, 1000);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 2);
	assert_waiting(rig, 0, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- both directions -----------------------------------------------------------------------------

static void
send_up(struct rig *rig, unsigned from, unsigned n)
{
	struct frame f;

	for (unsigned i = from; i < from + n; i++) {
		frame_gpdu(&f, RIG_N3_ADDR, 0x100, 9,
			&(struct ip_fields){
				.src = RIG_UE, .dst = RIG_REMOTE, .sport = (uint16_t)i});
		rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	}
}

// Likewise of the packets sent out of N6.
static void
assert_sent_up_in_order(struct rig *rig, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N6);
		const uint8_t *port;

		assert_non_null(m);
		port = rte_pktmbuf_mtod_offset(m, const uint8_t *, 14 + 20);
		assert_int_equal(port[0] << 8 | port[1], i);
		rte_pktmbuf_free(m);
	}
	assert_null(rig_sent(rig, UPF_PORT_N6));
}

static void
uplink_does_not_wait_behind_downlink(void **state)
{
	(void)state;
	for (unsigned oldest = 0; oldest < 2; oldest++) {
		struct rig *rig = create_bounded(100000, 100000, oldest != 0);

		install(rig, UPF_FAR_BUFF);
		send_down(rig, RIG_UE, 0, 16); // as many as may wait
		rig_poll(rig);
		send_up(rig, 0, 20);
		worker_poll(rig->worker[0]);
		assert_sent_up_in_order(rig, 0, 20);
		assert_waiting(rig, 16, 16 * 28);
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, 0, 16);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// An uplink FAR buffers, too, where its next hop on N9 changes. Nobody is told: the event is about
// downlink packets (TS 29.244 8.2.26).
static void
each_direction_has_a_queue_of_its_own(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	static struct transaction t;
	struct event event;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.far[0].action = s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	rules_install(rig, &s);
	send_up(rig, 0, 16);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	send_down(rig, RIG_UE, 0, 16);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.pdr_id, 2);
	assert_false(rig_event(rig, &event));
	assert_waiting(rig, 32, 32 * 28);
	send_up(rig, 16, 1);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 1);
	// One opens, the other stays.
	s.far[0].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	rig_poll(rig);
	assert_sent_up_in_order(rig, 0, 16);
	assert_null(rig_sent(rig, UPF_PORT_N3));
	assert_waiting(rig, 16, 16 * 28);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 16);
	assert_int_equal(rig->worker[0]->buffers.queues, 0);
	// What goes with the session goes in both.
	s.far[0].action = s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	send_up(rig, 0, 2);
	send_down(rig, RIG_UE, 0, 3);
	rig_poll(rig);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), 5);
	assert_int_equal(rig->worker[0]->buffers.queues, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- the end of what waits -----------------------------------------------------------------------

static void
dropped_when_the_session_or_its_far_goes(void **state)
{
	struct rig *rig = rig_create(1, true);
	static struct transaction t;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 5);
	rig_poll(rig);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), 5);
	assert_int_equal(rig->worker[0]->buffers.queues, 0);

	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 5);
	rig_poll(rig);
	install(rig, UPF_FAR_DROP);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 5);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The index of a deleted session is used anew, with the same UE IP address, before the worker has
// seen the command: the old one's packets must not reach the new one.
static void
packets_of_an_old_incarnation_are_dropped(void **state)
{
	struct rig *rig = rig_create(1, true);
	static struct transaction t;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 5);
	rig_poll(rig);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 5, 2);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), 5);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 5, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- order ---------------------------------------------------------------------------------------

static struct rig *
create_long(bool drop_oldest, uint32_t session_packets)
{
	struct config config = rig_config();

	config.limits.buffer_packets = 256;
	config.limits.buffer_packets_per_session = session_packets;
	config.limits.buffer_bytes = config.limits.buffer_bytes_per_session = 256 * 2048;
	config.buffer_drop_oldest = drop_oldest;
	return rig_create_with(&config, 1, true);
}

// What comes in the very poll in which other rules that still buffer arrive stands behind what waited.
static void
order_holds_when_the_rules_still_buffer(void **state)
{
	struct rig *rig = rig_create(1, true);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 5);
	rig_poll(rig);
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 5, 3);
	rig_poll(rig);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// More than a burst waits, and goes through the rules in several polls: nothing gets in between.
static void
order_holds_over_several_bursts(void **state)
{
	struct rig *rig = create_long(false, 128);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 100);
	rig_poll(rig);
	install(rig, UPF_FAR_BUFF);
	worker_poll(rig->worker[0]);
	send_down(rig, RIG_UE, 100, 5);
	worker_poll(rig->worker[0]);
	// And once more in the middle of it.
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 105, 5);
	rig_poll(rig);
	assert_waiting(rig, 110, 110 * 28);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 110);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The UE is idle again before all that waited is out.
static void
order_holds_when_the_far_buffers_again(void **state)
{
	struct rig *rig = create_long(false, 128);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 100);
	rig_poll(rig);
	install(rig, UPF_FAR_FORW);
	worker_poll(rig->worker[0]);
	assert_sent_in_order(rig, 0, 32);
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 100, 7);
	worker_poll(rig->worker[0]);
	send_down(rig, RIG_UE, 107, 7);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 0);
	assert_waiting(rig, 82, 82 * 28);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 32, 82);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Takes out what was sent; the numbers must grow from *next. Returns how many there were.
static unsigned
take_sent_in_order(struct rig *rig, unsigned *next)
{
	struct rte_mbuf *m;
	unsigned n = 0;

	for (; (m = rig_sent(rig, UPF_PORT_N3)) != NULL; n++) {
		const uint8_t *port = rte_pktmbuf_mtod_offset(
			m, const uint8_t *, 14 + sizeof(struct outer_gtpu4) + 20);
		unsigned number = (unsigned)(port[0] << 8 | port[1]);

		assert_true(number >= *next);
		*next = number + 1;
		rte_pktmbuf_free(m);
	}
	return n;
}

// Rules, packets and polls in any sequence.
static void
order_holds_whatever_happens(void **state)
{
	uint32_t random = 20260722;

	(void)state;
	for (unsigned oldest = 0; oldest < 2; oldest++) {
		struct rig *rig = create_long(oldest != 0, 100);
		unsigned number = 0, sent = 0, next = 0;

		install(rig, UPF_FAR_BUFF);
		while (number < 60000) {
			random = random * 1664525u + 1013904223u;
			if (random >> 30 == 0)
				install(rig, (random >> 28 & 3) < 3 ? UPF_FAR_BUFF : UPF_FAR_FORW);
			if (random >> 30 == 1) {
				send_down(rig, RIG_UE, number, random >> 24 & 31);
				number += random >> 24 & 31;
			}
			worker_poll(rig->worker[0]);
			sent += take_sent_in_order(rig, &next);
		}
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		sent += take_sent_in_order(rig, &next);
		assert_int_equal(sent + rig_dropped(rig, UPF_DROP_BUFFER_FULL), number);
		assert_true(sent > number / 4);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// Packets that are put back are the oldest.
static void
oldest_go_first_in_the_middle_of_a_round(void **state)
{
	struct rig *rig = create_long(true, 50);

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 50);
	rig_poll(rig);
	for (unsigned i = 0; i < 2; i++) {
		install(rig, UPF_FAR_BUFF);
		worker_poll(rig->worker[0]); // 32 of them are back
		send_down(rig, RIG_UE, 50 + 40 * i, 40);
		rig_poll(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 40);
		assert_waiting(rig, 50, 50 * 28);
	}
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 80, 50);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Flows from port 40 on have FAR 3 by a PDR of their own, which buffers.
static void
rules_for_two_flows(struct session_rules_builder *s)
{
	rules_usual(s, 1, RIG_UE, 0x100);
	s->pdr[2] = s->pdr[1];
	s->pdr[1] = s->pdr[0];
	s->pdr[0] = s->pdr[2];
	s->pdr[0].precedence = 10;
	s->pdr[0].pdr_id = 3;
	s->pdr[0].far = 2;
	s->pdr[0].sdf_count = 1;
	s->pdr[0].flags |= UPF_PDR_SDF;
	s->n_pdr = 3;
	s->far[2] = (struct upf_far){.far_id = 3, .action = UPF_FAR_BUFF, .bar = UPF_NONE16};
	s->n_far = 3;
	s->sdf[0] = (struct upf_sdf){.flags = UPF_SDF_PORTS,
		.remote_port_lo = 40,
		.remote_port_hi = 65535,
		.local_port_hi = 65535};
	s->n_sdf = 1;
}

// One packet a poll of a flow that may pass, while more than a burst of another waits.
static void
a_flow_that_may_pass_is_not_held_up_for_ever(void **state)
{
	struct rig *rig = create_long(false, 128);
	struct session_rules_builder s;

	(void)state;
	rules_for_two_flows(&s);
	rules_install(rig, &s);
	send_down(rig, RIG_UE, 100, 80);
	rig_poll(rig);
	for (unsigned i = 0; i < 20; i++) {
		send_down(rig, RIG_UE, i, 1);
		worker_poll(rig->worker[0]);
	}
	assert_in_range(rig->shm.workers[0].forwarded[UPF_DL], 10, 20);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 20);
	assert_waiting(rig, 80, 80 * 28);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 100, 80);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Whose packets come as fast as its queue is emptied does not keep another's from leaving.
static void
queues_leave_in_turn(void **state)
{
	struct rig *rig = create_long(false, 128);
	struct session_rules_builder s;
	unsigned polls = 0;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 100);
	rules_usual(&s, 2, RIG_UE + 1, 0x101);
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	send_down(rig, RIG_UE + 1, 0, 1);
	rig_poll(rig);
	install(rig, UPF_FAR_FORW);
	s.far[1].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	while (rig_urr(rig, 2, UPF_DL)->packets == 0 && polls < 10) {
		send_down(rig, RIG_UE, 100 + 32 * polls++, 32);
		worker_poll(rig->worker[0]);
	}
	assert_true(polls <= 3);
	rig_poll(rig);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets + rig_dropped(rig, UPF_DROP_BUFFER_FULL),
		100 + 32 * polls);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A queue longer than a burst, some of whose packets stay: order holds within each flow.
static void
packets_whose_far_still_buffers_stay(void **state)
{
	struct rig *rig = create_long(false, 64);
	struct session_rules_builder s;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 50);
	rig_poll(rig);
	rules_for_two_flows(&s);
	rules_install(rig, &s);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 40);
	assert_int_equal(rig->worker[0]->buffers.packets, 10);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 40, 10);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The MBR was applied on arrival; the release may be faster.
static void
release_is_not_held_to_the_rate_again(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 10);
	rig_poll(rig);
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_dl = 1000;
	rules_install(rig, &s);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 10);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- BARs ----------------------------------------------------------------------------------------

static void
install_with_bar(struct rig *rig, uint8_t action, struct upf_bar bar)
{
	struct session_rules_builder s;

	rules_usual(&s, 1, RIG_UE, 0x100);
	s.far[1].action = action;
	s.far[1].bar = 0;
	s.bar[0] = bar;
	s.n_bar = 1;
	rules_install(rig, &s);
}

static void
pass_time(struct rig *rig, unsigned ms)
{
	struct worker *w = rig->worker[0];

	// The TSC cannot be turned; what is due can.
	for (struct buffer_notice *n = w->buffers.notices; n != NULL; n = n->next)
		n->due -= w->tsc_hz / 1000 * ms;
	for (uint32_t i = 0; i < w->buffers.bounds.packets; i++) {
		struct buffer_queue *q = &w->buffers.all[i];
		struct rte_mbuf *m = q->n != 0 ? q->first : NULL;

		for (; m != NULL; m = m->next)
			((struct pkt *)rte_mbuf_to_priv(m))->until -= w->tsc_hz / 1000 * ms;
		for (unsigned bar = 0; bar < BUFFER_BARS; bar++) {
			if (q->again[bar] != 0)
				q->again[bar] -= w->tsc_hz / 1000 * ms;
		}
		if (q->due != UINT64_MAX)
			q->due -= w->tsc_hz / 1000 * ms;
	}
	w->next_tick = 0;
	rig_poll(rig);
}

static void
bar_bounds_its_packets(void **state)
{
	(void)state;
	for (unsigned oldest = 0; oldest < 2; oldest++) {
		struct config config = rig_config();
		struct rig *rig;

		config.buffer_drop_oldest = oldest != 0;
		rig = rig_create_with(&config, 1, true);
		install_with_bar(
			rig, UPF_FAR_BUFF, (struct upf_bar){.bar_id = 1, .packets_max = 5});
		send_down(rig, RIG_UE, 0, 8);
		rig_poll(rig);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 3);
		assert_int_equal(rig->worker[0]->buffers.packets, 5);
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, oldest != 0 ? 3 : 0, 5);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
oldest_goes_where_so_configured(void **state)
{
	struct config config = rig_config();
	struct rig *rig;

	(void)state;
	config.buffer_drop_oldest = true;
	rig = rig_create_with(&config, 1, true);
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 20);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_FULL), 4);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 4, 16);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
packets_expire_after_the_buffering_duration(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
		(struct upf_bar){.bar_id = 1, .duration_ms = 60000});
	send_down(rig, RIG_UE, 0, 3);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	pass_time(rig, 50000);
	assert_int_equal(rig->worker[0]->buffers.packets, 3);
	send_down(rig, RIG_UE, 3, 2);
	rig_poll(rig);
	pass_time(rig, 20000);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED), 3);
	assert_int_equal(rig->worker[0]->buffers.packets, 2);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 3, 2);
	assert_false(rig_event(rig, &event));
	assert_int_equal(rig->worker[0]->buffers.queues, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
duration_in_the_answer_to_the_report_is_for_what_waits(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP, (struct upf_bar){.bar_id = 1});
	send_down(rig, RIG_UE, 0, 2);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
		(struct upf_bar){.bar_id = 1, .duration_ms = 60000});
	rig_poll(rig);
	pass_time(rig, 50000);
	assert_int_equal(rig->worker[0]->buffers.packets, 2);
	pass_time(rig, 20000);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED), 2);
	assert_int_equal(rig->worker[0]->buffers.queues, 0);
	assert_false(rig_event(rig, &event));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- paged in vain -------------------------------------------------------------------------------

static void
without_a_bar_packets_wait_as_long_as_configured(void **state)
{
	struct config config = rig_config();
	struct event event;
	struct rig *rig;

	(void)state;
	config.limits.buffer_duration_s = 40;
	rig = rig_create_with(&config, 1, true);
	// With a BAR that does not say how long, too.
	for (unsigned i = 0; i < 2; i++) {
		if (i == 0)
			install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
		else
			install_with_bar(
				rig, UPF_FAR_BUFF | UPF_FAR_NOCP, (struct upf_bar){.bar_id = 1});
		send_down(rig, RIG_UE, 0, 3);
		rig_poll(rig);
		assert_true(rig_event(rig, &event));
		// Other rules do not begin the time anew.
		pass_time(rig, 20000);
		if (i == 0)
			install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
		rig_poll(rig);
		pass_time(rig, 19000);
		assert_waiting(rig, 3, 3 * 28);
		assert_false(rig_event(rig, &event));
		pass_time(rig, 2000);
		assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED), 3);
		assert_waiting(rig, 0, 0);
		assert_int_equal(rig->worker[0]->buffers.queues, 0);
		// Whoever comes now has the UE paged again.
		send_down(rig, RIG_UE, 3, 1);
		rig_poll(rig);
		assert_true(rig_event(rig, &event));
		assert_int_equal(event.dl_data.pdr_id, 2);
		install(rig, UPF_FAR_FORW);
		rig_poll(rig);
		assert_sent_in_order(rig, 3, 1);
		assert_false(rig_event(rig, &event));
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Packets come all the time, so that the queue is never empty: one event in the time that they wait.
static void
paged_again_once_in_the_time_that_packets_wait(void **state)
{
	(void)state;
	for (unsigned bar = 0; bar < 2; bar++) {
		struct rig *rig = create_long(false, 128);
		unsigned events = 0, at = 0;
		struct event event;

		if (bar == 0)
			install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
		else // of its duration, which is the answer's; the event waits for a second
			install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
				(struct upf_bar){
					.bar_id = 1, .duration_ms = 60000, .delay_ms = 1000});
		for (unsigned second = 0; second < 150; second++) {
			send_down(rig, RIG_UE, second, 1);
			rig_poll(rig);
			while (rig_event(rig, &event)) {
				assert_true(events++ == 0 || second - at >= 60);
				at = second;
			}
			pass_time(rig, 1000);
			assert_in_range(rig->worker[0]->buffers.packets, 1, 62);
		}
		assert_int_equal(events, 3);
		assert_true(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED) >= 150 - 62);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// For so long as packets may wait nothing more is said (TS 29.244 7.5.9.2).
static void
the_duration_in_an_answer_puts_the_next_event_off(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP, (struct upf_bar){.bar_id = 1});
	send_down(rig, RIG_UE, 0, 1);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
		(struct upf_bar){.bar_id = 1, .duration_ms = 300000});
	rig_poll(rig);
	pass_time(rig, 290000);
	send_down(rig, RIG_UE, 1, 1);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	assert_waiting(rig, 2, 2 * 28);
	pass_time(rig, 20000);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED), 1);
	send_down(rig, RIG_UE, 2, 1);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Idle once more before all that waited was out: a new page, not the one of before.
static void
paged_anew_when_idle_before_all_is_out(void **state)
{
	struct rig *rig = create_long(false, 128);
	struct event event;

	(void)state;
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	send_down(rig, RIG_UE, 0, 100);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	install(rig, UPF_FAR_FORW);
	worker_poll(rig->worker[0]);
	assert_sent_in_order(rig, 0, 32);
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_DL_DATA);
	assert_false(rig_event(rig, &event));
	assert_waiting(rig, 68, 68 * 28);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
store_meta(struct rig *rig)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_blob(&t, UPF_REC_META, 0, "associations");
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
}

// upf-c dies: whether the SMF has acknowledged the report, nobody knows.
static void
the_next_upf_c_is_told_of_what_waits(void **state)
{
	struct rig *rig = create_long(false, 128);
	struct session_rules_builder s;
	struct event event;

	(void)state;
	store_meta(rig);
	install(rig, UPF_FAR_BUFF | UPF_FAR_NOCP);
	send_down(rig, RIG_UE, 0, 50);
	rules_usual(&s, 2, RIG_UE + 1, 0x101);
	s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	rules_install(rig, &s);
	rules_usual(&s, 3, RIG_UE + 2, 0x102);
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	send_down(rig, RIG_UE + 2, 0, 1);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.session, 1);
	transaction_listener_gone(&rig->base);
	send_down(rig, RIG_UE + 1, 0, 1);
	rig_poll(rig);
	pass_time(rig, 1000); // its successor does not know the sessions yet
	// What was raised meanwhile has been heard by nobody, and is raised once.
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.session, 2);
	assert_false(rig_event(rig, &event));
	store_meta(rig);
	pass_time(rig, 1000);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.session, 1);
	assert_int_equal(event.dl_data.pdr_id, 2);
	assert_int_equal(event.dl_data.qfi, 9);
	assert_false(rig_event(rig, &event));
	store_meta(rig); // an association more
	send_down(rig, RIG_UE, 50, 5);
	pass_time(rig, 1000);
	assert_false(rig_event(rig, &event));
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 55);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The packet's time is over before the event's delay: the next packet has a delay of its own.
static void
an_event_whose_packets_are_gone_is_void(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
		(struct upf_bar){.bar_id = 1, .delay_ms = 5000, .duration_ms = 4000});
	send_down(rig, RIG_UE, 0, 1);
	rig_poll(rig);
	pass_time(rig, 4500);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_EXPIRED), 1);
	pass_time(rig, 1000);
	assert_false(rig_event(rig, &event));
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP,
		(struct upf_bar){.bar_id = 1, .delay_ms = 5000, .duration_ms = 60000});
	send_down(rig, RIG_UE, 1, 1);
	rig_poll(rig);
	pass_time(rig, 4000);
	assert_false(rig_event(rig, &event));
	pass_time(rig, 2000);
	assert_true(rig_event(rig, &event));
	assert_false(rig_event(rig, &event));
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// An event that waits for its delay is raised once, by whichever upf-c is there then.
static void
an_event_that_is_put_off_outlives_upf_c(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct event event;
	unsigned events = 0;

	(void)state;
	store_meta(rig);
	install_with_bar(
		rig, UPF_FAR_BUFF | UPF_FAR_NOCP, (struct upf_bar){.bar_id = 1, .delay_ms = 5000});
	send_down(rig, RIG_UE, 0, 2);
	rig_poll(rig);
	transaction_listener_gone(&rig->base);
	pass_time(rig, 1000);
	store_meta(rig);
	for (unsigned i = 0; i < 20; i++) {
		pass_time(rig, 1000);
		events += rig_event(rig, &event);
	}
	assert_int_equal(events, 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
event_waits_for_the_notification_delay(void **state)
{
	const struct upf_bar bar = {.bar_id = 1, .delay_ms = 1000};
	struct rig *rig = rig_create(1, true);
	struct event event;

	(void)state;
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP, bar);
	send_down(rig, RIG_UE, 0, 3);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	pass_time(rig, 500);
	assert_false(rig_event(rig, &event));
	pass_time(rig, 600);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_DL_DATA);
	assert_int_equal(event.dl_data.session, 1);
	assert_int_equal(event.dl_data.pdr_id, 2);
	pass_time(rig, 5000);
	assert_false(rig_event(rig, &event));
	// The path was there before the delay was over: nobody needs to be paged.
	install_with_bar(rig, UPF_FAR_FORW, bar);
	rig_poll(rig);
	assert_sent_in_order(rig, 0, 3);
	install_with_bar(rig, UPF_FAR_BUFF | UPF_FAR_NOCP, bar);
	send_down(rig, RIG_UE, 3, 1);
	rig_poll(rig);
	install_with_bar(rig, UPF_FAR_FORW, bar);
	rig_poll(rig);
	assert_sent_in_order(rig, 3, 1);
	pass_time(rig, 2000);
	assert_false(rig_event(rig, &event));
	assert_null(rig->worker[0]->buffers.notices);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
one_event_a_bar(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	struct event event;

	(void)state;
	rules_for_two_flows(&s);
	s.far[1].action = s.far[2].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	s.far[1].bar = 0;
	s.far[2].bar = 1;
	s.bar[0] = (struct upf_bar){.bar_id = 1};
	s.bar[1] = (struct upf_bar){.bar_id = 2};
	s.n_bar = 2;
	rules_install(rig, &s);
	send_down(rig, RIG_UE, 35, 10);
	rig_poll(rig);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.pdr_id, 2);
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.dl_data.pdr_id, 3);
	assert_false(rig_event(rig, &event));
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 35, 10);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
buffered_packets_are_dropped_on_command(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct upf_session_ref drop = {
		.rec = {.type = UPF_REC_DROP_BUFFERED, .length = sizeof(drop)},
		.session = 1,
	};
	static struct transaction t;

	(void)state;
	transaction_begin(&t);
	transaction_add(&t, &drop, sizeof(drop));
	assert_int_equal(transaction_do(rig, &t, NULL), ENOENT);
	install(rig, UPF_FAR_BUFF);
	send_down(rig, RIG_UE, 0, 5);
	rig_poll(rig);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BUFFER_RELEASED), 5);
	assert_int_equal(rig->worker[0]->buffers.queues, 0);
	send_down(rig, RIG_UE, 5, 2);
	rig_poll(rig);
	install(rig, UPF_FAR_FORW);
	rig_poll(rig);
	assert_sent_in_order(rig, 5, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_buffer(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_then_released_in_order),
		cmocka_unit_test(without_nocp_nobody_is_told),
		cmocka_unit_test(bounded_a_session_and_in_all),
		cmocka_unit_test(octets_of_a_session_are_bounded),
		cmocka_unit_test(octets_of_a_worker_are_bounded),
		cmocka_unit_test(oldest_go_until_a_big_packet_fits),
		cmocka_unit_test(a_packet_over_the_whole_bound_goes_alone),
		cmocka_unit_test(octets_come_back_with_packets_that_stay),
		cmocka_unit_test(uplink_does_not_wait_behind_downlink),
		cmocka_unit_test(each_direction_has_a_queue_of_its_own),
		cmocka_unit_test(dropped_when_the_session_or_its_far_goes),
		cmocka_unit_test(packets_of_an_old_incarnation_are_dropped),
		cmocka_unit_test(order_holds_when_the_rules_still_buffer),
		cmocka_unit_test(order_holds_over_several_bursts),
		cmocka_unit_test(order_holds_when_the_far_buffers_again),
		cmocka_unit_test(order_holds_whatever_happens),
		cmocka_unit_test(oldest_go_first_in_the_middle_of_a_round),
		cmocka_unit_test(a_flow_that_may_pass_is_not_held_up_for_ever),
		cmocka_unit_test(queues_leave_in_turn),
		cmocka_unit_test(packets_whose_far_still_buffers_stay),
		cmocka_unit_test(release_is_not_held_to_the_rate_again),
		cmocka_unit_test(bar_bounds_its_packets),
		cmocka_unit_test(oldest_goes_where_so_configured),
		cmocka_unit_test(packets_expire_after_the_buffering_duration),
		cmocka_unit_test(duration_in_the_answer_to_the_report_is_for_what_waits),
		cmocka_unit_test(without_a_bar_packets_wait_as_long_as_configured),
		cmocka_unit_test(paged_again_once_in_the_time_that_packets_wait),
		cmocka_unit_test(the_duration_in_an_answer_puts_the_next_event_off),
		cmocka_unit_test(paged_anew_when_idle_before_all_is_out),
		cmocka_unit_test(the_next_upf_c_is_told_of_what_waits),
		cmocka_unit_test(an_event_whose_packets_are_gone_is_void),
		cmocka_unit_test(an_event_that_is_put_off_outlives_upf_c),
		cmocka_unit_test(event_waits_for_the_notification_delay),
		cmocka_unit_test(one_event_a_bar),
		cmocka_unit_test(buffered_packets_are_dropped_on_command),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
