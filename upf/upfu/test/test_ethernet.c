// Ethernet PDU sessions (TS 23.501 5.6.10.2): network instances 1 and 2 are bridges, 0 is of IP.
#include <errno.h>
#include <string.h>

#include <rte_arp.h>

#include "frames.h"
#include "packet/bridge.h"
#include "packet/ethernet_frame.h"
#include "packet/gtpu_header.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u // of session 1; the others' are above it
#define N6 config_port_of(1)
#define OTHER_N6 config_port_of(2)
#define INNER (14u + 20u + 8u + 16u) // where the user's frame begins on N3

static const struct rte_ether_addr broadcast = {.addr_bytes = "\xff\xff\xff\xff\xff\xff"};

static struct rte_ether_addr
station(unsigned n)
{
	return (struct rte_ether_addr){
		.addr_bytes = {0x02, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n}};
}

static struct config
config_of(void)
{
	struct config config = rig_config();

	rig_add_networks(&config, 3);
	for (unsigned network = 1; network < 3; network++) {
		struct config_interface *in = &config.interface[config_port_of(network)];
		struct config_interface bridge = {.present = true,
			.device_of = in->device_of,
			.mtu = in->mtu,
			.ethernet = true,
			.bridge = {.stations = 64,
				.stations_per_session = 4,
				.ageing_s = 300,
				.copies = 8}};

		memcpy(bridge.network, in->network, sizeof(bridge.network));
		*in = bridge;
	}
	return config;
}

static void
install(struct rig *rig, uint32_t session, uint16_t network)
{
	static struct session_rules_builder s;

	rules_ethernet(&s, session, network, TEID + session);
	rules_install(rig, &s);
}

// With sessions 1 to `sessions` in network instance 1.
static struct rig *
rig_of(const struct config *config, unsigned workers, unsigned sessions)
{
	struct rig *rig = rig_create_with(config, workers, true);

	for (unsigned i = 1; i <= sessions; i++)
		install(rig, i, 1);
	return rig;
}

static struct rig *
rig_ethernet(unsigned sessions)
{
	struct config config = config_of();

	return rig_of(&config, 1, sessions);
}

static struct rig *
rig_switching(unsigned sessions)
{
	struct config config = config_of();

	config.ue_to_ue_allowed = true;
	return rig_of(&config, 1, sessions);
}

static void
frame_between(struct frame *f, struct rte_ether_addr from, struct rte_ether_addr to)
{
	struct rte_ether_hdr header = {
		.dst_addr = to, .src_addr = from, .ether_type = rte_cpu_to_be_16(0x88b5)};

	memset(f->data, 0x5a, 64);
	memcpy(f->data, &header, sizeof(header));
	f->length = 64;
}

static void
inject_up(struct rig *rig, uint32_t session, const struct frame *user)
{
	struct frame f;

	frame_gpdu_of(&f, NULL, TEID + session, 9, user);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
inject_down(struct rig *rig, enum upf_port n6, const struct frame *user)
{
	rig_inject(rig, n6, user->data, user->length);
	rig_poll(rig);
}

static void
up(struct rig *rig, uint32_t session, unsigned from, struct rte_ether_addr to)
{
	struct frame user;

	frame_between(&user, station(from), to);
	inject_up(rig, session, &user);
}

static void
down(struct rig *rig, unsigned from, struct rte_ether_addr to)
{
	struct frame user;

	frame_between(&user, station(from), to);
	inject_down(rig, N6, &user);
}

static void
assert_left(struct rig *rig, enum upf_port n6, const struct frame *user)
{
	struct rte_mbuf *m = rig_sent(rig, n6);

	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_data_len(m), user->length);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), user->data, user->length);
	rte_pktmbuf_free(m);
}

// A bit for each session that was sent a frame.
static uint32_t
reached(struct rig *rig)
{
	struct rte_mbuf *m;
	uint32_t sessions = 0;

	while ((m = rig_sent(rig, UPF_PORT_N3)) != NULL) {
		const struct rte_gtp_hdr *gtp =
			rte_pktmbuf_mtod_offset(m, const struct rte_gtp_hdr *, 14 + 20 + 8);

		assert_int_equal(gtp->msg_type, GTPU_G_PDU);
		sessions |= 1u << (rte_be_to_cpu_32(gtp->teid) - 0x1000 - TEID);
		rte_pktmbuf_free(m);
	}
	return sessions;
}

static void
forget_events(struct rig *rig)
{
	struct event event;

	while (rig_event(rig, &event))
		;
}

static void
assert_told(struct rig *rig, uint32_t session, unsigned n, uint16_t flags, uint16_t vid)
{
	struct rte_ether_addr mac = station(n);
	struct event event;

	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_MAC);
	assert_int_equal(event.mac.session, session);
	assert_int_equal(event.mac.flags, flags);
	assert_int_equal(event.mac.c_vid, vid);
	assert_memory_equal(event.mac.mac, mac.addr_bytes, 6);
}

static void
finish(struct rig *rig)
{
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- the bridge ----------------------------------------------------------------------------------

static void
a_frame_goes_through_as_it_is(void **state)
{
	struct rig *rig = rig_ethernet(2);
	struct frame user;
	struct rte_mbuf *m;

	(void)state;
	frame_between(&user, station(1), station(100));
	inject_up(rig, 1, &user);
	assert_left(rig, N6, &user);
	assert_int_equal(reached(rig), 0);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, 64);
	// The answer finds the session by what was learned.
	frame_between(&user, station(100), station(1));
	inject_down(rig, N6, &user);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_data_len(m), INNER + 64);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, void *, INNER), user.data, 64);
	rte_pktmbuf_free(m);
	assert_int_equal(reached(rig), 0);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->bytes, 64);
	assert_int_equal(rig_urr(rig, 2, UPF_DL)->bytes, 0);
	assert_told(rig, 1, 1, 0, 0);
	finish(rig);
}

static void
what_nobody_has_been_heard_of_goes_everywhere_in_its_network(void **state)
{
	struct rig *rig = rig_ethernet(3);
	struct frame user;

	(void)state;
	install(rig, 4, 2);
	down(rig, 100, broadcast);
	assert_int_equal(reached(rig), 0xe);
	down(rig, 100, station(7));
	assert_int_equal(reached(rig), 0xe);
	frame_between(&user, station(100), broadcast);
	inject_down(rig, OTHER_N6, &user);
	assert_int_equal(reached(rig), 0x10);
	assert_int_equal(rig_count_sent(rig, N6) + rig_count_sent(rig, OTHER_N6), 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_flooded, 3);
	assert_int_equal(rig->worker[0]->stats->local.bridge_copies, 7);
	// The same address is another station in another network instance.
	up(rig, 1, 1, station(100));
	up(rig, 4, 1, station(100));
	assert_int_equal(rig_count_sent(rig, N6), 1);
	assert_int_equal(rig_count_sent(rig, OTHER_N6), 1);
	down(rig, 100, station(1));
	assert_int_equal(reached(rig), 0x2);
	frame_between(&user, station(100), station(1));
	inject_down(rig, OTHER_N6, &user);
	assert_int_equal(reached(rig), 0x10);
	finish(rig);
}

static void
a_network_without_sessions_has_nobody_to_ask(void **state)
{
	struct rig *rig = rig_ethernet(0);

	(void)state;
	down(rig, 100, broadcast);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BRIDGE_NO_SESSION), 1);
	finish(rig);
}

static void
ues_reach_each_other_where_that_is_allowed(void **state)
{
	struct rig *rig = rig_switching(3);
	struct frame user;

	(void)state;
	up(rig, 1, 1, broadcast);
	assert_int_equal(reached(rig), 0xc);
	assert_int_equal(rig_count_sent(rig, N6), 1);
	frame_between(&user, station(2), station(1));
	inject_up(rig, 2, &user);
	assert_int_equal(reached(rig), 0x2);
	assert_int_equal(rig_count_sent(rig, N6), 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_switched, 1);
	assert_int_equal(rig_urr(rig, 2, UPF_UL)->bytes, 64);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->bytes, 64);
	// Behind one session: they know each other.
	up(rig, 1, 3, station(1));
	assert_int_equal(rig_dropped(rig, UPF_DROP_BRIDGE_SAME_SIDE), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, 64);
	finish(rig);
}

static void
ues_are_apart_where_it_is_not(void **state)
{
	struct rig *rig = rig_ethernet(2);

	(void)state;
	up(rig, 1, 1, broadcast);
	assert_int_equal(reached(rig), 0);
	assert_int_equal(rig_count_sent(rig, N6), 1);
	up(rig, 2, 2, station(1));
	assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 1);
	assert_int_equal(rig_urr(rig, 2, UPF_UL)->bytes, 0);
	finish(rig);
}

static void
stations_of_n6_know_each_other(void **state)
{
	struct rig *rig = rig_ethernet(1);

	(void)state;
	down(rig, 100, broadcast);
	assert_int_equal(reached(rig), 0x2);
	down(rig, 101, station(100));
	assert_int_equal(rig_dropped(rig, UPF_DROP_BRIDGE_SAME_SIDE), 1);
	finish(rig);
}

static void
a_station_is_where_it_was_heard_last(void **state)
{
	struct rig *rig = rig_ethernet(2);

	(void)state;
	up(rig, 1, 1, broadcast);
	assert_told(rig, 1, 1, 0, 0);
	up(rig, 2, 1, broadcast);
	assert_told(rig, 1, 1, UPF_MAC_GONE, 0);
	assert_told(rig, 2, 1, 0, 0);
	down(rig, 100, station(1));
	assert_int_equal(reached(rig), 0x4);
	down(rig, 1, broadcast);
	assert_told(rig, 2, 1, UPF_MAC_GONE, 0);
	assert_int_equal(reached(rig), 0x6);
	up(rig, 2, 2, station(1));
	assert_int_equal(rig_count_sent(rig, N6), 3);
	assert_int_equal(rig->worker[0]->stats->local.bridge_moved, 2);
	finish(rig);
}

static void
stations_are_bounded_by_session_and_side(void **state)
{
	struct rig *rig = rig_ethernet(2);
	const struct upf_local_stats *stats = &rig->worker[0]->stats->local;

	(void)state;
	for (unsigned i = 1; i <= 5; i++)
		up(rig, 1, i, broadcast);
	assert_int_equal(stats->bridge_learned, 4);
	assert_int_equal(stats->bridge_full, 1);
	down(rig, 100, station(5)); // nobody knows where
	assert_int_equal(reached(rig), 0x6);
	for (unsigned i = 101; i <= 133; i++)
		down(rig, i, station(1));
	assert_int_equal(stats->bridge_learned, 4 + 32);
	assert_int_equal(stats->bridge_full, 1 + 2);
	// A session finds room beside them.
	up(rig, 2, 9, broadcast);
	assert_int_equal(stats->bridge_learned, 4 + 32 + 1);
	rig_count_sent(rig, UPF_PORT_N3);
	rig_count_sent(rig, N6);
	finish(rig);
}

static void
tick(struct rig *rig, uint64_t seconds)
{
	struct worker *w = rig->worker[0];

	w->now = rte_rdtsc() + seconds * w->tsc_hz;
	for (unsigned i = 0; i <= WORKER_TICKS_PER_SECOND; i++)
		bridge_tick(w);
}

static void
silent_stations_go(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(1);

	(void)state;
	rules_ethernet(&s, 2, 1, TEID + 2);
	s.urr[0].ethernet_inactivity_s = 10;
	rules_install(rig, &s);
	up(rig, 1, 1, broadcast);
	up(rig, 2, 2, broadcast);
	rig_count_sent(rig, N6);
	forget_events(rig);
	tick(rig, 9);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 2);
	tick(rig, 11);
	assert_told(rig, 2, 2, UPF_MAC_GONE, 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 1);
	tick(rig, 301);
	assert_told(rig, 1, 1, UPF_MAC_GONE, 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_aged, 2);
	finish(rig);
}

static void
of_a_session_that_ends_nothing_is_left(void **state)
{
	static struct transaction t;
	struct rig *rig = rig_ethernet(2);
	struct event event;

	(void)state;
	up(rig, 1, 1, broadcast);
	rig_count_sent(rig, N6);
	forget_events(rig);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	down(rig, 100, station(1));
	assert_int_equal(reached(rig), 0x4);
	// Another one with its index is another one.
	up(rig, 2, 2, broadcast);
	rig_count_sent(rig, N6);
	transaction_begin(&t);
	transaction_del(&t, 2);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	install(rig, 2, 1);
	forget_events(rig);
	tick(rig, 0);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 1);
	assert_false(rig_event(rig, &event));
	finish(rig);
}

static void
a_new_upfc_is_told_of_all_stations(void **state)
{
	struct rig *rig = rig_ethernet(1);
	uint32_t listener = 1;
	struct event event;

	(void)state;
	rig->worker[0]->listener = &listener;
	up(rig, 1, 1, broadcast);
	rig_count_sent(rig, N6);
	assert_told(rig, 1, 1, 0, 0);
	listener = 2; // gone
	tick(rig, 0);
	assert_false(rig_event(rig, &event));
	listener = 3;
	tick(rig, 0);
	assert_told(rig, 1, 1, 0, 0);
	tick(rig, 0);
	assert_false(rig_event(rig, &event));
	finish(rig);
}

// What upf-c says that it knows of a session.
static int
know(struct rig *rig, uint32_t session, unsigned n, uint16_t flags, uint16_t c_vid)
{
	static struct transaction t;
	struct rte_ether_addr mac = station(n);
	struct upf_ev_mac known = {
		.rec = {.type = UPF_REC_STATION, .length = sizeof(known)},
		.session = session,
		.flags = flags,
		.c_vid = c_vid,
	};

	memcpy(known.mac, mac.addr_bytes, sizeof(known.mac));
	transaction_begin(&t);
	transaction_add(&t, &known, sizeof(known));
	return transaction_do(rig, &t, NULL);
}

static void
stations_that_upfc_knows_are_there(void **state)
{
	struct rig *rig = rig_ethernet(3);
	struct event event;

	(void)state;
	assert_int_equal(know(rig, 1, 1, 0, 0), 0);
	assert_int_equal(know(rig, 2, 2, UPF_MAC_C_TAG, 20), 0);
	rig_poll(rig);
	assert_false(rig_event(rig, &event));
	down(rig, 100, station(1));
	assert_int_equal(reached(rig), 0x2);
	// In its VLAN alone.
	down(rig, 100, station(2));
	assert_int_equal(reached(rig), 0xe);
	// Its silence counts from when it was told of, and is reported.
	tick(rig, 299);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 3);
	tick(rig, 301);
	assert_told(rig, 1, 1, UPF_MAC_GONE, 0);
	assert_told(rig, 2, 2, UPF_MAC_GONE | UPF_MAC_C_TAG, 20);
	assert_int_equal(rig->worker[0]->stats->local.bridge_aged, 3);
	finish(rig);
}

static void
stations_that_upfc_knows_do_not_displace_others(void **state)
{
	struct rig *rig = rig_ethernet(2);
	struct event event;

	(void)state;
	// It was heard already: here, elsewhere, at N6.
	up(rig, 1, 1, broadcast);
	up(rig, 2, 2, broadcast);
	rig_count_sent(rig, N6);
	down(rig, 3, broadcast);
	rig_count_sent(rig, UPF_PORT_N3);
	assert_told(rig, 1, 1, 0, 0);
	assert_told(rig, 2, 2, 0, 0);
	for (unsigned n = 1; n <= 3; n++)
		assert_int_equal(know(rig, 1, n, 0, 0), 0);
	rig_poll(rig);
	assert_told(rig, 1, 2, UPF_MAC_GONE, 0);
	assert_told(rig, 1, 3, UPF_MAC_GONE, 0);
	assert_false(rig_event(rig, &event));
	down(rig, 100, station(2));
	assert_int_equal(reached(rig), 0x4);
	// A session has four at most.
	for (unsigned n = 10; n < 14; n++)
		assert_int_equal(know(rig, 1, n, 0, 0), 0);
	rig_poll(rig);
	assert_told(rig, 1, 13, UPF_MAC_GONE, 0);
	assert_false(rig_event(rig, &event));
	assert_int_equal(rig->worker[0]->stats->local.bridge_full, 1);
	finish(rig);
}

static void
stations_that_cannot_be_are_refused(void **state)
{
	static struct session_rules_builder s;
	static struct transaction t;
	struct rig *rig = rig_ethernet(1);
	struct event event;

	(void)state;
	assert_int_equal(know(rig, 9, 1, 0, 0), ENOENT);
	assert_int_equal(know(rig, UINT32_MAX, 1, 0, 0), EINVAL);
	assert_int_equal(know(rig, 1, 1, UPF_MAC_GONE, 0), EINVAL);
	assert_int_equal(know(rig, 1, 1, UPF_MAC_C_TAG, 4096), EINVAL);
	transaction_begin(&t);
	transaction_add(&t,
		&(struct upf_ev_mac){
			.rec = {.type = UPF_REC_STATION, .length = sizeof(struct upf_ev_mac)},
			.session = 1,
			.mac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		sizeof(struct upf_ev_mac));
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	// A session of IP has none; and one that has ended since is not asked after.
	rules_usual(&s, 2, RIG_UE, TEID + 2);
	rules_install(rig, &s);
	assert_int_equal(know(rig, 2, 1, 0, 0), 0);
	assert_int_equal(know(rig, 1, 1, 0, 0), 0);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	tick(rig, 1);
	assert_int_equal(rig->worker[0]->stats->local.bridge_stations, 0);
	assert_false(rig_event(rig, &event));
	finish(rig);
}

static void
copies_are_bounded_and_take_turns(void **state)
{
	struct config config = config_of();
	struct rig *rig;
	uint32_t all = 0;

	(void)state;
	config.interface[N6].bridge.copies = 2;
	rig = rig_of(&config, 1, 3);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t sessions;

		down(rig, 100, broadcast);
		sessions = reached(rig);
		assert_int_equal(__builtin_popcount(sessions), 2);
		all |= sessions;
	}
	assert_int_equal(all, 0xe);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FLOOD_LIMIT), 3);
	finish(rig);
}

static void
any_worker_hands_frames_to_the_bridge_s(void **state)
{
	struct config config = config_of();
	struct rig *rig = rig_of(&config, 2, 3);

	(void)state;
	for (unsigned worker = 0; worker < 2; worker++) {
		struct frame user, f;

		frame_between(&user, station(1), broadcast);
		frame_gpdu_of(&f, NULL, TEID + 1, 9, &user);
		rig_inject_to(rig, worker, UPF_PORT_N3, f.data, f.length);
		rig_poll(rig);
		assert_left(rig, N6, &user);
		frame_between(&user, station(100), station(1));
		rig_inject_to(rig, worker, N6, user.data, user.length);
		rig_poll(rig);
		assert_int_equal(reached(rig), 0x2);
		frame_between(&user, station(100), broadcast);
		rig_inject_to(rig, worker, N6, user.data, user.length);
		rig_poll(rig);
		assert_int_equal(reached(rig), 0xe);
	}
	finish(rig);
}

// ---- frames --------------------------------------------------------------------------------------

static void
what_is_cut_short_is_dropped(void **state)
{
	static const uint8_t tags[][8] = {{0x81, 0, 0, 5}, {0x88, 0xa8, 0, 5, 0x81, 0, 0, 6}};
	struct rig *rig = rig_ethernet(1);
	struct frame user;

	(void)state;
	frame_between(&user, station(1), broadcast);
	user.length = 13;
	inject_up(rig, 1, &user);
	user.length = 0;
	inject_up(rig, 1, &user);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_FRAME), 2);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(user.data + 12, tags[i], sizeof(tags[i]));
		user.length = 12 + (i + 1) * 4 + 1;
		inject_up(rig, 1, &user);
		inject_down(rig, N6, &user);
		assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_FRAME), 2);
	}
	frame_between(&user, broadcast, station(1));
	inject_up(rig, 1, &user);
	inject_down(rig, N6, &user);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_FRAME), 2);
	finish(rig);
}

static void
what_bridges_keep_to_themselves_goes_nowhere(void **state)
{
	const struct rte_ether_addr stp = {.addr_bytes = {0x01, 0x80, 0xc2, 0, 0, 0}};
	struct rig *rig = rig_ethernet(1);

	(void)state;
	up(rig, 1, 1, stp);
	down(rig, 100, stp);
	assert_int_equal(rig_dropped(rig, UPF_DROP_BRIDGE_CONTROL), 2);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, 0);
	finish(rig);
}

static void
long_frames(void **state)
{
	struct rig *rig = rig_ethernet(1);
	struct frame user;
	struct rte_mbuf *m;

	(void)state;
	frame_between(&user, station(1), broadcast);
	memset(user.data + 64, 1, sizeof(user.data) - 64);
	frame_tag(&user, 5);
	user.length = 14 + 4 + 1500;
	inject_down(rig, N6, &user); // in two fragments of the outer packet
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_true((rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->fragment_offset &
			    rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG)) != 0);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	rig->worker[0]->port[N6].mtu = 1000;
	user.length = 14 + 4 + 1000;
	inject_up(rig, 1, &user);
	assert_left(rig, N6, &user);
	user.length++;
	inject_up(rig, 1, &user);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TOO_BIG), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, 14 + 4 + 1000);
	finish(rig);
}

static void
tags_stay_and_tell_stations_apart(void **state)
{
	struct rig *rig = rig_ethernet(2);
	struct frame user;

	(void)state;
	for (unsigned session = 1; session < 3; session++) {
		frame_between(&user, station(1), station(100));
		frame_tag(&user, (uint16_t)(0x6000 | (10 * session)));
		inject_up(rig, session, &user);
		assert_left(rig, N6, &user);
		assert_told(rig, session, 1, UPF_MAC_C_TAG, (uint16_t)(10 * session));
	}
	for (unsigned session = 1; session < 3; session++) {
		frame_between(&user, station(100), station(1));
		frame_tag(&user, (uint16_t)(10 * session));
		inject_down(rig, N6, &user);
		assert_int_equal(reached(rig), 1u << session);
	}
	finish(rig);
}

static void
the_interface_s_own_tag_is_not_the_frame_s(void **state)
{
	struct config config = config_of();
	struct frame user, tagged;
	struct rig *rig;

	(void)state;
	config.interface[N6].vlan = 7;
	rig = rig_of(&config, 1, 1);
	frame_between(&user, station(1), broadcast);
	frame_tag(&user, 10);
	tagged = user;
	frame_tag(&tagged, 7);
	inject_up(rig, 1, &user);
	assert_left(rig, N6, &tagged);
	assert_told(rig, 1, 1, UPF_MAC_C_TAG, 10);
	inject_down(rig, N6, &user);
	assert_int_equal(rig_dropped(rig, UPF_DROP_OTHER_VLAN), 1);
	frame_between(&user, station(100), station(1));
	frame_tag(&user, 10);
	frame_tag(&user, 7);
	inject_down(rig, N6, &user);
	assert_int_equal(reached(rig), 0x2);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->bytes, 64 + 4);
	finish(rig);
}

static void
a_driver_s_tag_goes_back(void **state)
{
	struct rig *rig = rig_ethernet(1);
	struct frame user;
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool());

	(void)state;
	frame_between(&user, station(1), broadcast);
	memcpy(rte_pktmbuf_append(m, (uint16_t)user.length), user.data, user.length);
	m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 10;
	assert_int_equal(rte_ring_enqueue(rig_ring(N6, true), m), 0);
	rig_poll(rig);
	frame_tag(&user, 10);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, void *, INNER), user.data, user.length);
	rte_pktmbuf_free(m);
	finish(rig);
}

static void
reads_headers_and_tags(void **state)
{
	static const struct {
		uint8_t octets[12];
		uint32_t length; // behind the addresses
		bool good, c, s;
		uint16_t type, c_tag, s_tag;
		uint32_t payload;
	} cases[] = {
		{{0x08, 0x00}, 2, true, false, false, 0x0800, 0, 0, 14},
		{{0x00, 0x40}, 2, true, false, false, 0x0040, 0, 0, 14},
		{{0x81, 0x00, 0x60, 0x05, 0x08, 0x00}, 6, true, true, false, 0x0800, 0x6005, 0, 18},
		{{0x88, 0xa8, 0x20, 0x07, 0x08, 0x06}, 6, true, false, true, 0x0806, 0, 0x2007, 18},
		{{0x88, 0xa8, 0, 7, 0x81, 0, 0, 5, 0x86, 0xdd}, 10, true, true, true, 0x86dd, 5, 7,
			22},
		{{0x81, 0x00, 0, 7, 0x81, 0, 0, 5, 0x86, 0xdd}, 10, true, true, true, 0x86dd, 5, 7,
			22},
		{{0x81, 0x00, 0, 7, 0x81, 0, 0, 5, 0x81, 0x00}, 10, true, true, true, 0x8100, 5, 7,
			22},
		{{0x81, 0x00, 0, 7, 0x81, 0, 0, 5, 0x86, 0xdd}, 9, false, true, true, 0, 0, 0, 0},
		{{0x81, 0x00, 0, 7, 0x08}, 5, false, true, true, 0, 0, 0, 0},
		{{0x08}, 1, false, false, false, 0, 0, 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t octets[24] = {0};
		struct ethernet_frame frame;

		memcpy(octets + 12, cases[i].octets, sizeof(cases[i].octets));
		assert_int_equal(
			ethernet_frame_read(&frame, octets, 12 + cases[i].length), cases[i].good);
		if (!cases[i].good)
			continue;
		assert_int_equal(frame.has_c, cases[i].c);
		assert_int_equal(frame.has_s, cases[i].s);
		assert_int_equal(frame.type, cases[i].type);
		assert_int_equal(frame.c_tag, cases[i].c_tag);
		assert_int_equal(frame.s_tag, cases[i].s_tag);
		assert_int_equal(frame.payload, cases[i].payload);
	}
}

// ---- filters -------------------------------------------------------------------------------------

// Session 1, whose uplink PDR has this filter. Whether the frame gets through.
static bool
passes(const struct upf_ethernet_filter *filter, const struct upf_sdf *sdf,
	const struct upf_sdf6 *sdf6, const struct frame *user)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(0);
	bool passed;

	rules_ethernet(&s, 1, 1, TEID + 1);
	s.pdr[0].flags |= UPF_PDR_ETHERNET;
	s.pdr[0].sdf_count = 1;
	s.ethernet[0] = *filter;
	s.n_ethernet = 1;
	if (sdf != NULL) {
		s.sdf[0] = *sdf;
		s.n_sdf = s.ethernet[0].sdf_count = 1;
	}
	if (sdf6 != NULL) {
		s.sdf6[0] = *sdf6;
		s.n_sdf6 = s.ethernet[0].sdf6_count = 1;
	}
	rules_install(rig, &s);
	inject_up(rig, 1, user);
	passed = rig_count_sent(rig, N6) == 1;
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_PDR), passed ? 0 : 1);
	finish(rig);
	return passed;
}

static void
filters_of_addresses(void **state)
{
	struct upf_ethernet_filter f = {.flags = UPF_ETHERNET_SOURCE};
	struct rte_ether_addr first = station(5), last = station(300);
	struct frame user;

	(void)state;
	memcpy(f.source_lo, first.addr_bytes, 6);
	memcpy(f.source_hi, last.addr_bytes, 6);
	for (unsigned i = 0; i < 2; i++) {
		bool source = i == 0;

		for (unsigned n = 4; n <= 301; n++) {
			if (n > 6 && n < 299)
				continue;
			frame_between(&user, station(source ? n : 400), station(source ? 400 : n));
			assert_int_equal(passes(&f, NULL, NULL, &user), n >= 5 && n <= 300);
		}
		f.flags = UPF_ETHERNET_DESTINATION;
		memcpy(f.destination_lo, f.source_lo, 6);
		memcpy(f.destination_hi, f.source_hi, 6);
	}
}

static void
filters_of_types_and_tags(void **state)
{
	const struct upf_ethernet_filter type = {.flags = UPF_ETHERNET_TYPE, .type = 0x88b5};
	const struct upf_ethernet_filter c = {
		.flags = UPF_ETHERNET_C_TAG, .c_tag = 0x6005, .c_mask = 0x0fff};
	const struct upf_ethernet_filter priority = {
		.flags = UPF_ETHERNET_C_TAG, .c_tag = 0x6000, .c_mask = 0xe000};
	const struct upf_ethernet_filter s = {
		.flags = UPF_ETHERNET_S_TAG, .s_tag = 7, .s_mask = 0x0fff};
	struct frame plain, tagged, other, two;

	(void)state;
	frame_between(&plain, station(1), broadcast);
	tagged = other = plain;
	frame_tag(&tagged, 0x0005);
	frame_tag(&other, 0x6006);
	two = tagged;
	frame_tag(&two, 0x0007);
	assert_true(passes(&type, NULL, NULL, &plain));
	assert_true(passes(&type, NULL, NULL, &two)); // behind the tags
	plain.data[13] ^= 1;
	assert_false(passes(&type, NULL, NULL, &plain));
	assert_false(passes(&c, NULL, NULL, &plain));
	assert_true(passes(&c, NULL, NULL, &tagged));
	assert_false(passes(&c, NULL, NULL, &other));
	assert_true(passes(&c, NULL, NULL, &two));
	assert_false(passes(&priority, NULL, NULL, &tagged));
	assert_true(passes(&priority, NULL, NULL, &other));
	assert_true(passes(&s, NULL, NULL, &two));
	assert_false(passes(&s, NULL, NULL, &tagged));
}

static void
filters_of_the_ip_packet_in_the_frame(void **state)
{
	const struct upf_ethernet_filter f = {.flags = UPF_ETHERNET_SDF};
	struct upf_sdf sdf = {.remote_addr_be = rte_cpu_to_be_32(RIG_REMOTE),
		.remote_mask_be = UINT32_MAX,
		.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
		.proto = 17,
		.remote_port_lo = 53,
		.remote_port_hi = 60,
		.local_port_hi = UINT16_MAX};
	struct upf_sdf6 sdf6 = {.remote_len = 64,
		.flags = UPF_SDF_PORTS,
		.remote_port_lo = 53,
		.remote_port_hi = 53,
		.local_port_hi = UINT16_MAX};
	struct ip_fields ip = {
		.src = RIG_UE, .dst = RIG_REMOTE, .sport = 1000, .dport = 60, .payload = 4};
	struct ip6_fields ip6 = {
		.src = rig_ue6, .dst = rig_remote6, .sport = 1, .dport = 53, .payload = 4};
	struct rte_ether_addr from = station(1);
	struct frame packet, user;

	(void)state;
	memcpy(sdf6.remote_addr, rig_remote6, sizeof(upf_addr));
	frame_ip(&packet, &ip);
	frame_eth(&user, &from, &packet);
	user.data[0] = 0x02;
	assert_true(passes(&f, &sdf, NULL, &user));
	frame_tag(&user, 5);
	assert_true(passes(&f, &sdf, NULL, &user));
	ip.dport = 61;
	frame_ip(&packet, &ip);
	frame_eth(&user, &from, &packet);
	assert_false(passes(&f, &sdf, NULL, &user));
	ip.dport = 60;
	ip.fragment = 100;
	frame_ip(&packet, &ip);
	frame_eth(&user, &from, &packet);
	assert_false(passes(&f, &sdf, NULL, &user));
	frame_ip6(&packet, &ip6);
	frame_eth(&user, &from, &packet);
	user.data[0] = 0x02;
	assert_true(passes(&f, &sdf, &sdf6, &user));
	assert_false(passes(&f, &sdf, NULL, &user));
	ip6.dport = 54;
	frame_ip6(&packet, &ip6);
	frame_eth(&user, &from, &packet);
	assert_false(passes(&f, &sdf, &sdf6, &user));
	frame_between(&user, station(1), broadcast);
	assert_false(passes(&f, &sdf, &sdf6, &user));
}

// VLAN 5 is session 1's alone, and of what no PDR wants only a copy is nobody's.
static void
copies_go_to_those_whose_filters_want_them(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(0);
	struct frame user;

	(void)state;
	for (uint16_t session = 1; session < 3; session++) {
		rules_ethernet(&s, session, 1, TEID + session);
		s.pdr[1].flags |= UPF_PDR_ETHERNET;
		s.pdr[1].sdf_count = s.n_ethernet = 1;
		s.ethernet[0] = (struct upf_ethernet_filter){.flags = UPF_ETHERNET_C_TAG,
			.c_tag = (uint16_t)(4 + session),
			.c_mask = 0xfff};
		rules_install(rig, &s);
	}
	frame_between(&user, station(100), broadcast);
	frame_tag(&user, 5);
	inject_down(rig, N6, &user);
	assert_int_equal(reached(rig), 0x2);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FLOOD_FILTERED), 1);
	finish(rig);
}

// ---- rules ---------------------------------------------------------------------------------------

static void
gates_rates_and_fars_hold_for_frames(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(1);

	(void)state;
	rules_ethernet(&s, 1, 1, TEID + 1);
	s.qer[0].flags = UPF_QER_GATE_UL_CLOSED;
	rules_install(rig, &s);
	up(rig, 1, 1, broadcast);
	assert_int_equal(rig_dropped(rig, UPF_DROP_GATE_CLOSED), 1);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_ul = 0;
	rules_install(rig, &s);
	up(rig, 1, 1, broadcast);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MBR_EXCEEDED), 1);
	s.qer[0].flags = 0;
	s.far[0].action = UPF_FAR_DROP;
	rules_install(rig, &s);
	up(rig, 1, 1, broadcast);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_DROP), 1);
	s.far[0].action = UPF_FAR_FORW;
	s.far[1].ohc = UPF_OHC_NONE;
	rules_install(rig, &s);
	down(rig, 100, broadcast);
	assert_int_equal(rig_dropped(rig, UPF_DROP_FAR_NO_TUNNEL), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->bytes, 0);
	finish(rig);
}

static void
frames_of_an_idle_ue_wait(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(1);
	struct event event;

	(void)state;
	rules_ethernet(&s, 1, 1, TEID + 1);
	up(rig, 1, 1, broadcast);
	rig_count_sent(rig, N6);
	forget_events(rig);
	s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	rules_install(rig, &s);
	down(rig, 100, station(1));
	down(rig, 100, station(1));
	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_DL_DATA);
	assert_int_equal(event.dl_data.tos, 0);
	assert_int_equal(reached(rig), 0);
	s.far[1].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
	assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, 2);
	finish(rig);
}

static void
frames_above_their_rate_wait(void **state)
{
	static struct session_rules_builder s;
	struct config config = config_of();
	struct rig *rig;
	unsigned sent = 0;

	(void)state;
	config.qer = (struct config_qer){.burst_ms = 1,
		.queue_ms = 1000,
		.queue_packets = 64,
		.queue_packets_per_session = 64};
	rig = rig_of(&config, 1, 0);
	rules_ethernet(&s, 1, 1, TEID + 1);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_ul = s.qer[0].mbr_dl = 64 * 8 * 1000;
	rules_install(rig, &s);
	for (unsigned i = 0; i < 8; i++)
		up(rig, 1, 1, broadcast);
	assert_true(rig->worker[0]->stats->local.shaped > 0);
	for (uint64_t end = rte_rdtsc() + rte_get_tsc_hz() * 10; sent < 8 && rte_rdtsc() < end;) {
		rig_poll(rig);
		sent += rig_count_sent(rig, N6);
	}
	assert_int_equal(sent, 8);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 8);
	finish(rig);
}

static void
sessions_of_ip_and_of_ethernet_do_not_mix(void **state)
{
	static struct session_rules_builder s;
	static struct transaction t;
	struct rig *rig = rig_ethernet(1);

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		rules_ethernet(&s, 2, 1, TEID + 2);
		switch (i) {
		case 0: // an IP session in a bridge
			s.flags = 0;
			break;
		case 1: // its packets to one
			rules_usual(&s, 2, RIG_UE, TEID + 2);
			s.far[0].network = 1;
			break;
		case 2:
			s.pdr[1].flags |= UPF_PDR_UE_IPV4;
			s.pdr[1].ue_addr_be = 1;
			break;
		case 3: // frames to where IP is spoken
			s.far[0].network = 0;
			break;
		case 4: // or to another bridge
			s.far[0].network = 2;
			break;
		case 5:
			s.flags |= 2;
			break;
		case 6: // another network instance while it lasts
			rules_ethernet(&s, 1, 2, TEID + 1);
			break;
		default: // or another type
			rules_usual(&s, 1, RIG_UE, TEID + 1);
			break;
		}
		transaction_begin(&t);
		transaction_put(&t, &s);
		assert_int_equal(transaction_do(rig, &t, NULL), 22 /* EINVAL */);
	}
	finish(rig);
}

static void
a_session_on_its_way_to_another_upf_has_no_bridge(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_ethernet(0);
	struct event event;

	(void)state;
	rules_ethernet(&s, 1, 0, TEID + 1);
	s.far[0] = s.far[1];
	s.far[0].teid = TEID + 2 + 0x1000;
	s.far[0].destination_interface = UPF_IF_CORE;
	rules_install(rig, &s);
	up(rig, 1, 1, broadcast);
	assert_int_equal(reached(rig), 0x4);
	assert_false(rig_event(rig, &event));
	finish(rig);
}

int
test_ethernet(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_goes_through_as_it_is),
		cmocka_unit_test(what_nobody_has_been_heard_of_goes_everywhere_in_its_network),
		cmocka_unit_test(a_network_without_sessions_has_nobody_to_ask),
		cmocka_unit_test(ues_reach_each_other_where_that_is_allowed),
		cmocka_unit_test(ues_are_apart_where_it_is_not),
		cmocka_unit_test(stations_of_n6_know_each_other),
		cmocka_unit_test(a_station_is_where_it_was_heard_last),
		cmocka_unit_test(stations_are_bounded_by_session_and_side),
		cmocka_unit_test(silent_stations_go),
		cmocka_unit_test(of_a_session_that_ends_nothing_is_left),
		cmocka_unit_test(a_new_upfc_is_told_of_all_stations),
		cmocka_unit_test(stations_that_upfc_knows_are_there),
		cmocka_unit_test(stations_that_upfc_knows_do_not_displace_others),
		cmocka_unit_test(stations_that_cannot_be_are_refused),
		cmocka_unit_test(copies_are_bounded_and_take_turns),
		cmocka_unit_test(any_worker_hands_frames_to_the_bridge_s),
		cmocka_unit_test(what_is_cut_short_is_dropped),
		cmocka_unit_test(what_bridges_keep_to_themselves_goes_nowhere),
		cmocka_unit_test(long_frames),
		cmocka_unit_test(tags_stay_and_tell_stations_apart),
		cmocka_unit_test(the_interface_s_own_tag_is_not_the_frame_s),
		cmocka_unit_test(a_driver_s_tag_goes_back),
		cmocka_unit_test(reads_headers_and_tags),
		cmocka_unit_test(filters_of_addresses),
		cmocka_unit_test(filters_of_types_and_tags),
		cmocka_unit_test(filters_of_the_ip_packet_in_the_frame),
		cmocka_unit_test(copies_go_to_those_whose_filters_want_them),
		cmocka_unit_test(gates_rates_and_fars_hold_for_frames),
		cmocka_unit_test(frames_of_an_idle_ue_wait),
		cmocka_unit_test(frames_above_their_rate_wait),
		cmocka_unit_test(sessions_of_ip_and_of_ethernet_do_not_mix),
		cmocka_unit_test(a_session_on_its_way_to_another_upf_has_no_bridge),
	};

	return cmocka_run_group_tests_name("ethernet", tests, NULL, NULL);
}
