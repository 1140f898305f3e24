#define _GNU_SOURCE
#include "fuzz_rig.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

uint8_t
input_octet(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

uint16_t
input_u16(struct input *in)
{
	unsigned high = input_octet(in);

	return (uint16_t)(high << 8 | input_octet(in));
}

const uint8_t *
input_octets(struct input *in, size_t *n)
{
	const uint8_t *at = in->at;

	*n = *n < in->left ? *n : in->left;
	in->at += *n;
	in->left -= *n;
	return at;
}

static void
start_once(void)
{
	static bool started;

	if (started)
		return;
	started = true;
	// A failed assertion of the rig ends the program where it stands.
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	if (!rig_start_eal(192, false, 1024, sched_getcpu()))
		abort();
}

// Sessions 0 to 7, each a way of its own.
static void
install(struct rig *rig)
{
	static const struct domain_of domain = {FUZZ_APPLICATION, "example.com",
		UPF_DOMAIN_DNS | UPF_DOMAIN_TLS | UPF_DOMAIN_ITSELF | UPF_DOMAIN_BELOW};
	static struct session_rules_builder s;
	static struct transaction t;

	transaction_begin(&t);
	transaction_domains(&t, &domain, 1);
	transaction_do(rig, &t, NULL);

	for (uint32_t i = 0; i < 8; i++) {
		rules_usual(&s, i, FUZZ_UE + i, FUZZ_TEID + i);
		switch (i) {
		case 1: // paging
			s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
			break;
		case 2:
			s.far[0].action = UPF_FAR_DROP;
			break;
		case 3:
			s.qer[0].flags = UPF_QER_GATE_UL_CLOSED | UPF_QER_MBR;
			s.qer[0].mbr_dl = 1000;
			break;
		case 4:
			s.n_sdf = 2;
			s.sdf[0] = (struct upf_sdf){.remote_mask_be = UINT32_MAX,
				.remote_addr_be = rte_cpu_to_be_32(RIG_REMOTE),
				.flags = UPF_SDF_PORTS,
				.remote_port_hi = 1023,
				.local_port_hi = UINT16_MAX};
			s.sdf[1] = (struct upf_sdf){.flags = UPF_SDF_SPI, .spi = 1};
			for (unsigned p = 0; p < 2; p++) {
				s.pdr[p].flags |= UPF_PDR_SDF;
				s.pdr[p].sdf_count = 2;
			}
			break;
		case 5:
			s.pdr[0].flags |= UPF_PDR_QFI;
			s.pdr[0].qfi = 9;
			s.far[0].flags = UPF_FAR_TOS;
			s.far[0].tos = 0xb8;
			s.far[0].tos_mask = 0xfc;
			break;
		case 6: // no tunnel yet, and an application by domain
			s.far[1].ohc = UPF_OHC_NONE;
			s.pdr[2] = s.pdr[1];
			s.pdr[1] = s.pdr[0];
			s.n_pdr = 3;
			s.pdr[0].precedence = 100;
			s.pdr[0].flags |= UPF_PDR_SDF;
			s.pdr[0].application = 1;
			s.n_application = 1;
			s.application[0] = FUZZ_APPLICATION;
			break;
		default: // tunnels over IPv6
			if (i == 0)
				break;
			s.pdr[0].flags |= UPF_PDR_N3_IPV6;
			s.pdr[0].removal = 1;
			memcpy(s.pdr[0].n3_addr, rig_n3_addr6, sizeof(upf_addr));
			s.far[1].ohc = UPF_OHC_GTPU6;
			memcpy(s.far[1].peer_addr, rig_gnb6, sizeof(upf_addr));
			memcpy(s.far[1].local_addr, rig_n3_addr6, sizeof(upf_addr));
		}
		for (unsigned p = 0; p < s.n_pdr; p++) { // session 0 has rig_ue6, the others follow
			s.pdr[p].flags |= UPF_PDR_UE_IPV6;
			memcpy(s.pdr[p].ue_prefix, rig_ue6, 8);
			s.pdr[p].ue_prefix[5] = (uint8_t)(i + 1);
			s.pdr[p].ue_prefix_len = 64;
		}
		rules_install(rig, &s);
		if (i % 4 != 0)
			continue;
		// The same addresses in another network instance.
		s.session += FUZZ_SESSIONS;
		s.pdr[0].teid += FUZZ_SESSIONS;
		s.network = s.far[0].network = i == 0 ? 1 : 2;
		if (i == 0) { // and hidden there
			s.nat_addr = FUZZ_PUBLIC;
			s.nat_port = 1024;
		}
		rules_install(rig, &s);
	}
}

struct rig *
fuzz_rig_create(void)
{
	struct config config = rig_config6();
	struct rig *rig;

	start_once();
	config.limits.sessions_max = 2 * FUZZ_SESSIONS;
	config.limits.qer_slots = config.limits.urr_slots = FUZZ_SESSIONS * UPF_LINE_SLOTS;
	rig_add_networks(&config, 3);
	config.interface[config_port_of(2)].device_of = config_port_of(1);
	config.interface[config_port_of(2)].vlan = FUZZ_VLAN;
	config.interface[config_port_of(1)].nat = (struct config_nat){.prefixes = 1,
		.prefix = {{FUZZ_PUBLIC, 32}},
		.ports = 64,
		.mappings = 16,
		.tcp_established_s = 1,
		.udp_s = 1};
	rig = rig_create_with(&config, 1, true);
	install(rig);
	return rig;
}

struct rig *
fuzz_rig_create_ethernet(void)
{
	static struct session_rules_builder s;
	struct config config = rig_config6();
	struct config_interface *in = &config.interface[config_port_of(1)];
	struct rig *rig;

	start_once();
	config.limits.sessions_max = FUZZ_SESSIONS;
	config.limits.qer_slots = config.limits.urr_slots = FUZZ_SESSIONS * UPF_LINE_SLOTS;
	config.ue_to_ue_allowed = true;
	rig_add_networks(&config, 2);
	*in = (struct config_interface){.present = true,
		.device_of = config_port_of(1),
		.mtu = 1500,
		.ethernet = true,
		.bridge = {.stations = 16, .stations_per_session = 4, .ageing_s = 1, .copies = 2}};
	rig = rig_create_with(&config, 1, true);
	for (uint32_t i = 0; i < FUZZ_BRIDGED; i++) {
		rules_ethernet(&s, i, 1, FUZZ_TEID + i);
		s.n_ethernet = 1;
		switch (i) {
		case 0:
			s.ethernet[0] = (struct upf_ethernet_filter){
				.flags = UPF_ETHERNET_C_TAG | UPF_ETHERNET_S_TAG,
				.c_tag = 5,
				.c_mask = 0xfff};
			break;
		case 1:
			s.ethernet[0] = (struct upf_ethernet_filter){
				.flags = UPF_ETHERNET_DESTINATION, .destination_hi = {2, 0xff}};
			break;
		default:
			s.ethernet[0] = (struct upf_ethernet_filter){
				.flags = UPF_ETHERNET_SDF, .sdf_count = 1, .sdf6_count = 1};
			s.n_sdf = s.n_sdf6 = 1;
			s.sdf[0] = (struct upf_sdf){.flags = UPF_SDF_PORTS | UPF_SDF_TOS,
				.remote_port_hi = 1023,
				.local_port_hi = UINT16_MAX};
			s.sdf6[0] = (struct upf_sdf6){.flags = UPF_SDF_SPI | UPF_SDF_FLOW_LABEL,
				.remote_len = 33,
				.spi = 1};
		}
		// By the filter to the gNB, and all others, too.
		s.n_pdr = 4;
		s.pdr[2] = s.pdr[0];
		s.pdr[3] = s.pdr[1];
		for (unsigned p = 0; p < 2; p++) {
			s.pdr[p].precedence = 1;
			s.pdr[p].flags |= UPF_PDR_ETHERNET;
			s.pdr[p].sdf_count = 1;
		}
		rules_install(rig, &s);
	}
	return rig;
}

void
fuzz_rig_free(struct rig *rig)
{
	struct event event;

	rig_poll(rig);
	while (rig_event(rig, &event))
		continue;
	rig_free(rig);
}

void
fuzz_traffic(struct rig *rig, uint32_t teid, uint32_t ue)
{
	struct ip_fields up = {.src = ue, .dst = RIG_REMOTE, .sport = 1, .dport = 80, .payload = 8};
	struct ip_fields down = {
		.src = RIG_REMOTE, .dst = ue, .sport = 80, .dport = 1, .payload = 8};
	struct frame f;

	frame_gpdu(&f, RIG_N3_ADDR, teid, 9, &up);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	frame_eth_ip(&f, &down);
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	for (enum upf_port port = 0; port < RIG_PORTS; port++)
		rig_count_sent(rig, port);
}
