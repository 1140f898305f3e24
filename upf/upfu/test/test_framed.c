// Framed routes (TS 29.244 5.16): networks behind UEs.
#include <string.h>

#include "frames.h"
#include "rules.h"
#include "tests.h"

#define UE(session) (RIG_UE - 1 + (session))
#define TEID(session) (0x100u + (session))

// A session with both versions of address; `filters`: with SDF filters, which let all UDP through.
static void
session_of(struct session_rules_builder *s, uint32_t session, bool filters)
{
	rules_usual(s, session, UE(session), TEID(session));
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s->pdr[i].ue_prefix, rig_ue6, 8);
		s->pdr[i].ue_prefix[7] = (uint8_t)session;
		s->pdr[i].ue_prefix_len = 64;
		if (filters) {
			s->pdr[i].flags |= UPF_PDR_SDF;
			s->pdr[i].sdf_count = s->pdr[i].sdf6_count = 1;
		}
	}
	if (filters) {
		s->sdf[0] = (struct upf_sdf){.flags = UPF_SDF_PROTO, .proto = 17};
		s->sdf6[0] = (struct upf_sdf6){.flags = UPF_SDF_PROTO, .proto = 17};
		s->n_sdf = s->n_sdf6 = 1;
	}
}

static void
add4(struct session_rules_builder *s, uint32_t addr, unsigned len)
{
	struct upf_route *route = &s->route[s->n_route++];

	*route = (struct upf_route){.len = (uint8_t)len};
	rules_ipv4(route->addr, addr);
}

static void
add6(struct session_rules_builder *s, uint64_t upper, unsigned len)
{
	struct upf_route *route = &s->route[s->n_route++];
	rte_be64_t be = rte_cpu_to_be_64(upper);

	*route = (struct upf_route){.len = (uint8_t)len, .ip6 = 1};
	memcpy(route->addr, &be, sizeof(be));
}

static void
addr6(upf_addr addr, uint64_t upper)
{
	rte_be64_t be = rte_cpu_to_be_64(upper);

	memset(addr, 0x11, sizeof(upf_addr));
	memcpy(addr, &be, sizeof(be));
}

static void
packet4(struct frame *f, uint32_t src, uint32_t dst)
{
	frame_ip(f, &(struct ip_fields){.src = src, .dst = dst, .payload = 20});
}

static void
packet6(struct frame *f, const uint8_t *src, const uint8_t *dst)
{
	frame_ip6(f, &(struct ip6_fields){.src = src, .dst = dst, .payload = 20});
}

// To the session that the packet from N6 reaches; 0: to none.
static uint32_t
reaches(struct rig *rig, const struct frame *packet)
{
	struct rte_mbuf *m;
	struct frame f;
	rte_be32_t teid;

	frame_eth(&f, &rig_gateway_mac, packet);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	if (m == NULL) {
		assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
		return 0;
	}
	memcpy(&teid, rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 20 + 8 + 4), sizeof(teid));
	rte_pktmbuf_free(m);
	return rte_be_to_cpu_32(teid) - 0x1000 - TEID(0);
}

static uint32_t
reaches4(struct rig *rig, uint32_t dst)
{
	struct frame packet;

	packet4(&packet, RIG_REMOTE, dst);
	return reaches(rig, &packet);
}

static uint32_t
reaches6(struct rig *rig, uint64_t upper)
{
	struct frame packet;
	upf_addr dst;

	addr6(dst, upper);
	packet6(&packet, rig_remote6, dst);
	return reaches(rig, &packet);
}

static void
send_up(struct rig *rig, uint32_t session, const struct frame *packet)
{
	struct frame f;

	frame_gpdu_of(&f, NULL, TEID(session), 9, packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static struct rig *
rig_framed(unsigned workers)
{
	struct config config = rig_config6();

	return rig_create_with(&config, workers, true);
}

static int
try_install(struct rig *rig, const struct session_rules_builder *s)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_put(&t, s);
	return transaction_do(rig, &t, NULL);
}

static void delete (struct rig *rig, uint32_t session)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_del(&t, session);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
}

#define NET6 UINT64_C(0x20010db800aa0000)

static void
the_longest_route_leads_to_its_session(void **state)
{
	static struct session_rules_builder s;

	(void)state;
	for (unsigned filters = 0; filters < 2; filters++) {
		struct rig *rig = rig_framed(1);

		session_of(&s, 1, filters != 0);
		add4(&s, RIG_IP(10, 0, 0, 0), 8);
		add4(&s, RIG_IP(192, 168, 7, 128), 25);
		add4(&s, RIG_IP(10, 99, 5, 0), 24);
		add6(&s, NET6, 48);
		add6(&s, NET6 | 0x0101, 64);
		rules_install(rig, &s);
		session_of(&s, 2, filters != 0);
		add4(&s, RIG_IP(10, 99, 0, 0), 16);
		add4(&s, RIG_IP(10, 99, 5, 77), 32);
		add6(&s, NET6 | 0x0100, 56);
		add6(&s, UINT64_C(0x20010db800000000), 32);
		rules_install(rig, &s);
		assert_int_equal(reaches4(rig, RIG_IP(10, 1, 2, 3)), 1);
		assert_int_equal(reaches4(rig, RIG_IP(10, 99, 4, 3)), 2);
		assert_int_equal(reaches4(rig, RIG_IP(10, 99, 5, 3)), 1);
		assert_int_equal(reaches4(rig, RIG_IP(10, 99, 5, 77)), 2);
		assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 128)), 1);
		assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 127)), 0);
		assert_int_equal(reaches4(rig, RIG_IP(11, 0, 0, 0)), 0);
		assert_int_equal(reaches6(rig, NET6 | 0x0201), 1);
		assert_int_equal(reaches6(rig, NET6 | 0x0102), 2);
		assert_int_equal(reaches6(rig, NET6 | 0x0101), 1);
		assert_int_equal(reaches6(rig, NET6 | UINT64_C(0x10000)), 2);
		assert_int_equal(reaches6(rig, UINT64_C(0x20010db900000000)), 0);
		// A UE's own address is a UE's, whoever has a route around it.
		assert_int_equal(reaches4(rig, UE(2)), 2);
		assert_int_equal(reaches6(rig, UINT64_C(0x20010db800010002)), 2);
		// What it was given back is nobody's, or the shorter route's.
		delete (rig, 2);
		assert_int_equal(reaches4(rig, RIG_IP(10, 99, 5, 77)), 1);
		assert_int_equal(reaches6(rig, NET6 | UINT64_C(0x10000)), 0);
		delete (rig, 1);
		assert_int_equal(reaches4(rig, RIG_IP(10, 1, 2, 3)), 0);
		assert_int_equal(reaches6(rig, NET6 | 0x0101), 0);
		assert_int_equal(rig->sessions.route[0].keys, 0);
		assert_int_equal(rig->sessions.ue[0].keys, 0);
		assert_int_equal(rig->sessions.route4_lens | rig->sessions.route6_lens, 0);
		assert_int_equal(rig->sessions.ue6_lens, 0);
		for (unsigned net = 0; net < 65536; net++)
			assert_false(ue_nets_have(&rig->sessions.nets4, (uint16_t)net) ||
				ue_nets_have(&rig->sessions.nets6, (uint16_t)net));
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
what_is_behind_a_ue_may_send(void **state)
{
	static struct session_rules_builder s;
	struct frame packet;
	upf_addr src;

	(void)state;
	for (unsigned filters = 0; filters < 2; filters++) {
		struct rig *rig = rig_framed(1);

		session_of(&s, 1, filters != 0);
		add4(&s, RIG_IP(192, 168, 7, 0), 24);
		add6(&s, NET6, 48);
		rules_install(rig, &s);
		session_of(&s, 2, filters != 0);
		rules_install(rig, &s);
		packet4(&packet, RIG_IP(192, 168, 7, 9), RIG_REMOTE);
		send_up(rig, 1, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
		send_up(rig, 2, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
		packet4(&packet, RIG_IP(192, 168, 8, 9), RIG_REMOTE);
		send_up(rig, 1, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
		addr6(src, NET6 | 0x77);
		packet6(&packet, src, rig_remote6);
		send_up(rig, 1, &packet);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
		send_up(rig, 2, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
		addr6(src, NET6 | UINT64_C(0x10000));
		packet6(&packet, src, rig_remote6);
		send_up(rig, 1, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_SPOOFED_SOURCE), 1);
		assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 2);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

// To a network behind another UE no UE sends, where UEs may not send to each other.
static void
another_ue_s_route_is_another_ue(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_framed(1);
	struct frame packet;
	upf_addr src, dst;

	(void)state;
	session_of(&s, 1, false);
	add4(&s, RIG_IP(192, 0, 0, 0), 9);
	add6(&s, NET6, 47);
	add6(&s, UINT64_C(0x3000000000000000), 8);
	rules_install(rig, &s);
	session_of(&s, 2, false);
	rules_install(rig, &s);
	packet4(&packet, UE(2), RIG_IP(192, 100, 7, 9));
	send_up(rig, 2, &packet);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 1);
	addr6(src, UINT64_C(0x20010db800010002));
	for (unsigned i = 0; i < 2; i++) {
		addr6(dst, i == 0 ? NET6 | 5 : UINT64_C(0x3012345600000000));
		packet6(&packet, src, dst);
		send_up(rig, 2, &packet);
		assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 1);
	}
	packet4(&packet, UE(2), RIG_IP(192, 200, 7, 9));
	send_up(rig, 2, &packet);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
	rig_count_sent(rig, UPF_PORT_N3); // ICMP errors
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_route_belongs_to_one_session_of_a_network(void **state)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct rig *rig;

	(void)state;
	rig_add_networks(&config, 2);
	rig = rig_create_with(&config, 1, true);
	session_of(&s, 1, false);
	add4(&s, RIG_IP(192, 168, 7, 0), 24);
	add6(&s, NET6, 64);
	add6(&s, NET6, 48);
	rules_install(rig, &s);
	for (unsigned i = 0; i < 3; i++) {
		session_of(&s, 2, false);
		s.n_route = 0;
		if (i == 0)
			add4(&s, RIG_IP(192, 168, 7, 0), 24);
		else
			add6(&s, NET6, i == 1 ? 64 : 48);
		assert_int_equal(try_install(rig, &s), EEXIST);
		assert_int_equal(rig->refusal.what, UPF_REFUSED_UE_IP);
		assert_int_equal(rig->refusal.holder, 1);
	}
	// Another length is another route; and another network has its own.
	s.n_route = 0;
	add4(&s, RIG_IP(192, 168, 7, 0), 25);
	rules_install(rig, &s);
	session_of(&s, 3, false);
	s.network = s.far[0].network = 1;
	add4(&s, RIG_IP(192, 168, 7, 0), 24);
	rules_install(rig, &s);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 200)), 1);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 2)), 2);
	// New rules without the route, or with another one.
	session_of(&s, 2, false);
	add4(&s, RIG_IP(192, 168, 9, 0), 24);
	rules_install(rig, &s);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 2)), 1);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, 9, 2)), 2);
	delete (rig, 1);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, 7, 2)), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
routes_that_cannot_be_are_refused(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_framed(1);

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		session_of(&s, 1, false);
		add4(&s, RIG_IP(192, 168, 7, 0), 24);
		add6(&s, NET6, 48);
		switch (i) {
		case 0:
			s.route[0].len = 0;
			break;
		case 1:
			s.route[0].len = 33;
			break;
		case 2:
			s.route[1].len = 0;
			break;
		case 3:
			s.route[1].len = 65;
			break;
		case 4: // bits behind the prefix
			s.route[0].addr[3] = 1;
			break;
		case 5:
			s.route[1].addr[6] = 1;
			break;
		case 6:
			s.route[0].addr[4] = 1;
			break;
		case 7:
			s.route[1].addr[8] = 1;
			break;
		case 8:
			s.route[0].ip6 = 2;
			break;
		case 9: // a key that is IPv4's
			memset(s.route[1].addr, 0, 4);
			s.route[1].len = 64;
			break;
		case 10: // a version that the session has no address of
			s.pdr[0].flags &= (uint8_t)~UPF_PDR_UE_IPV6;
			s.pdr[1].flags &= (uint8_t)~UPF_PDR_UE_IPV6;
			break;
		default: // a PDR that asks for no address
			s.pdr[0].flags &= (uint8_t) ~(UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6);
			break;
		}
		assert_int_equal(try_install(rig, &s), EINVAL);
	}
	session_of(&s, 1, false);
	for (unsigned i = 0; i <= UPF_SESSION_ROUTES; i++)
		add4(&s, RIG_IP(192, 168, i, 0), 24);
	assert_int_equal(try_install(rig, &s), EINVAL);
	s.n_route--;
	rules_install(rig, &s);
	assert_int_equal(reaches4(rig, RIG_IP(192, 168, UPF_SESSION_ROUTES - 1, 2)), 1);
	rig_free(rig);
}

// Whichever worker a packet comes to.
static void
routes_lead_to_the_home_worker(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_framed(2);
	struct frame packet, f;

	(void)state;
	for (uint32_t session = 1; session <= 4; session++) {
		session_of(&s, session, false);
		add4(&s, RIG_IP(192, 168, session, 0), 24);
		add6(&s, NET6 | session << 8, 56);
		rules_install(rig, &s);
	}
	for (unsigned i = 0; i < 16; i++) {
		uint32_t session = 1 + i / 4;

		if (i / 2 % 2 == 0) {
			packet4(&packet, RIG_REMOTE, RIG_IP(192, 168, session, 9));
		} else {
			upf_addr dst;

			addr6(dst, NET6 | session << 8 | 3);
			packet6(&packet, rig_remote6, dst);
		}
		frame_eth(&f, &rig_gateway_mac, &packet);
		rig_inject_to(rig, i % 2, UPF_PORT_N6, f.data, f.length);
		rig_poll(rig);
		assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	}
	for (uint32_t session = 1; session <= 4; session++)
		assert_int_equal(rig_urr(rig, session, UPF_DL)->packets, 4);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

int
test_framed(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_route_leads_to_its_session),
		cmocka_unit_test(what_is_behind_a_ue_may_send),
		cmocka_unit_test(another_ue_s_route_is_another_ue),
		cmocka_unit_test(a_route_belongs_to_one_session_of_a_network),
		cmocka_unit_test(routes_that_cannot_be_are_refused),
		cmocka_unit_test(routes_lead_to_the_home_worker),
	};

	return cmocka_run_group_tests_name("framed", tests, NULL, NULL);
}
