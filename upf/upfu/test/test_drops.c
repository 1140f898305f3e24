// Where drops are counted: by the interface of the packet, and by the group of its session.
#include <errno.h>

#include "frames.h"
#include "rules.h"
#include "tests.h"

#define GROUP 3u

// A session of GROUP for which everything is dropped that comes in this direction.
static void
install_closed(struct rig *rig, uint32_t session, uint8_t closed)
{
	struct session_rules_builder s;

	rules_usual(&s, session, RIG_UE + session, 0x100 + session);
	s.group = GROUP;
	s.qer[0].flags |= closed;
	rules_install(rig, &s);
}

static void
send_up(struct rig *rig, uint32_t src, uint32_t teid)
{
	struct frame f;

	frame_gpdu(&f, RIG_N3_ADDR, teid, 9, &(struct ip_fields){.src = src, .dst = RIG_REMOTE});
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
send_down(struct rig *rig, uint32_t dst)
{
	struct frame f;

	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = dst});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

static void
assert_dropped(struct rig *rig, enum upf_port port, unsigned group, enum upf_drop reason)
{
	assert_int_equal(rig->shm.workers[0].drops[port].reason[reason], 1);
	assert_int_equal(rig->shm.groups[group].reason[reason], 1);
	assert_int_equal(rig_dropped(rig, reason), 1);
	rig_assert_no_other_drops(rig);
}

static void
a_session_s_drops_are_its_group_s(void **state)
{
	struct rig *rig = rig_create(1, true);

	(void)state;
	install_closed(rig, 1, UPF_QER_GATE_DL_CLOSED);
	send_down(rig, RIG_UE + 1);
	assert_dropped(rig, UPF_PORT_N6, GROUP, UPF_DROP_GATE_CLOSED);
	send_up(rig, RIG_UE + 7, 0x101);
	assert_dropped(rig, UPF_PORT_N3, GROUP, UPF_DROP_SPOOFED_SOURCE);
	rig_free(rig);
}

static void
what_has_no_session_is_of_group_0(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct frame f;

	(void)state;
	install_closed(rig, 1, 0);
	send_down(rig, RIG_UE + 1); // so that the burst's place has seen a session
	send_down(rig, RIG_UE + 2);
	assert_dropped(rig, UPF_PORT_N6, 0, UPF_DROP_UNKNOWN_UE);
	send_up(rig, RIG_UE + 2, 0x102);
	assert_dropped(rig, UPF_PORT_N3, 0, UPF_DROP_UNKNOWN_TEID);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE + 1});
	rig_inject(rig, UPF_PORT_N6, f.data, 8);
	rig_poll(rig);
	assert_dropped(rig, UPF_PORT_N6, 0, UPF_DROP_MALFORMED_ETHERNET);
	rig_free(rig);
}

static void
a_packet_that_waited_is_dropped_for_its_group_though_its_session_is_gone(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	static struct transaction t;

	(void)state;
	rules_usual(&s, 1, RIG_UE + 1, 0x101);
	s.group = GROUP;
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	send_down(rig, RIG_UE + 1);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	rig_poll(rig);
	assert_dropped(rig, UPF_PORT_N6, GROUP, UPF_DROP_BUFFER_RELEASED);
	rig_free(rig);
}

static void
a_group_that_does_not_exist_is_refused(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	static struct transaction t;

	(void)state;
	rules_usual(&s, 1, RIG_UE + 1, 0x101);
	s.group = UPF_GROUPS;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	rig_free(rig);
}

int
test_drops(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_s_drops_are_its_group_s),
		cmocka_unit_test(what_has_no_session_is_of_group_0),
		cmocka_unit_test(
			a_packet_that_waited_is_dropped_for_its_group_though_its_session_is_gone),
		cmocka_unit_test(a_group_that_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests_name("drops", tests, NULL, NULL);
}
