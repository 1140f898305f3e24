// Tuple space search against a naive matcher, on random PDRs and packets; and within the data path.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <cmocka.h>

#include "classify.h"
#include "frames.h"
#include "rules.h"
#include "tests.h"

static void
agrees_with_a_naive_matcher(void **state)
{
	static uint8_t octets[65536];
	struct classify_counts counts = {0};

	(void)state;
	srandom(3);
	for (unsigned i = 0; i < 1500; i++) {
		for (size_t j = 0; j < sizeof(octets); j++)
			octets[j] = (uint8_t)random();
		classify_both_ways(octets, sizeof(octets), &counts);
	}
	// Both answers are exercised, and filters by themselves.
	assert_in_range(counts.matched, counts.packets / 10, counts.packets * 9 / 10);
	assert_in_range(counts.by_sdf, counts.packets / 20, counts.packets);
}

// An IPv4v6 session. PDR 2i + 1 (uplink) and 2i + 2 (downlink) have the flow of remote host i, IPv4 and
// IPv6, and count into URR slot i; the usual PDRs come last and count into slot `flows`.
static void
install_flows(struct rig *rig, unsigned flows)
{
	static struct session_rules_builder s;
	struct upf_pdr usual[2];

	rules_usual(&s, 0, RIG_UE, 7);
	for (unsigned d = 0; d < 2; d++) {
		usual[d] = s.pdr[d];
		usual[d].flags |= UPF_PDR_UE_IPV6;
		memcpy(usual[d].ue_prefix, rig_ue6, 8);
		usual[d].ue_prefix_len = 64;
		usual[d].precedence = 1000;
	}
	s.n_pdr = s.n_urr = 0;
	for (unsigned i = 0; i <= flows; i++) {
		s.urr[i % 8] = (struct upf_urr){
			.urr_id = i % 8 + 1, .slot = i % 8, .quota_far = UPF_NONE16};
		if (i == flows)
			break;
		s.sdf[i] = (struct upf_sdf){.remote_addr_be = rte_cpu_to_be_32(RIG_REMOTE + i),
			.remote_mask_be = UINT32_MAX,
			.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
			.proto = IPPROTO_UDP,
			.remote_port_lo = 80,
			.remote_port_hi = 90,
			.local_port_hi = UINT16_MAX};
		s.sdf6[i] = (struct upf_sdf6){.remote_len = 128,
			.flags = UPF_SDF_PROTO | UPF_SDF_PORTS,
			.proto = IPPROTO_UDP,
			.remote_port_lo = 80,
			.remote_port_hi = 90,
			.local_port_hi = UINT16_MAX};
		memcpy(s.sdf6[i].remote_addr, rig_remote6, 16);
		s.sdf6[i].remote_addr[15] = (uint8_t)(rig_remote6[15] + i);
	}
	s.n_sdf = s.n_sdf6 = flows;
	s.n_urr = flows < 8 ? flows + 1 : 8;
	for (unsigned i = 0; i <= flows; i++) {
		for (unsigned d = 0; d < 2; d++) {
			struct upf_pdr *pdr = &s.pdr[s.n_pdr++];

			*pdr = usual[d];
			pdr->pdr_id = (uint16_t)s.n_pdr;
			pdr->urr[0] = (uint16_t)(i % 8);
			if (i == flows)
				continue;
			pdr->precedence = 100 + i;
			pdr->flags |= UPF_PDR_SDF;
			pdr->sdf_first = pdr->sdf6_first = (uint16_t)i;
			pdr->sdf_count = pdr->sdf6_count = 1;
		}
	}
	rules_install(rig, &s);
}

static uint64_t
counted(struct rig *rig, unsigned slot)
{
	return rig_urr(rig, slot, UPF_UL)->packets + rig_urr(rig, slot, UPF_DL)->packets;
}

// Sends a packet of each IP version, each way, between the UE and this host's port.
static void
exchange(struct rig *rig, unsigned host, uint16_t port)
{
	upf_addr remote6;
	struct ip_fields up = {.src = RIG_UE,
		.dst = RIG_REMOTE + host,
		.sport = 5000,
		.dport = port,
		.payload = 16};
	struct ip_fields down = {.src = RIG_REMOTE + host,
		.dst = RIG_UE,
		.sport = port,
		.dport = 5000,
		.payload = 16};
	struct ip6_fields up6 = {
		.src = rig_ue6, .dst = remote6, .sport = 5000, .dport = port, .payload = 16};
	struct ip6_fields down6 = {
		.src = remote6, .dst = rig_ue6, .sport = port, .dport = 5000, .payload = 16};
	struct frame f, packet;

	memcpy(remote6, rig_remote6, sizeof(remote6));
	remote6[15] = (uint8_t)(remote6[15] + host);
	frame_gpdu(&f, RIG_N3_ADDR, 7, 9, &up);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_ip6(&packet, &up6);
	frame_gpdu_of(&f, NULL, 7, 9, &packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &down);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	frame_eth_ip6(&f, &rig_gateway_mac, &down6);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 2);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 2);
}

static void
each_flow_takes_its_pdr(void **state)
{
	static const unsigned flows[] = {1, 7, 60};
	struct config config = rig_config6();

	(void)state;
	for (unsigned i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		struct rig *rig = rig_create_with(&config, 1, true);
		unsigned last = flows[i] % 8, other = (flows[i] - 1) % 8;

		install_flows(rig, flows[i]);
		exchange(rig, flows[i] - 1, 90);
		assert_int_equal(counted(rig, other), 4);
		exchange(rig, flows[i] - 1, 91); // a port further
		assert_int_equal(counted(rig, last), 4);
		exchange(rig, flows[i], 80); // a host further
		assert_int_equal(counted(rig, last), 8);
		assert_int_equal(counted(rig, other), 4);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

int
test_tss(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_naive_matcher),
		cmocka_unit_test(each_flow_takes_its_pdr),
	};

	return cmocka_run_group_tests_name("tss", tests, NULL, NULL);
}
