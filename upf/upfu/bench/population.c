#include "population.h"

#include <string.h>

#include <netinet/in.h>

#include <rte_byteorder.h>

#define TEID_BASE UINT32_C(0x10000)
#define UE_BASE RIG_IP(10, 64, 0, 0)
#define REMOTE_BASE RIG_IP(198, 18, 0, 0)
#define FAST UINT64_C(100000000000) // bit/s: limits that limit nothing, yet are computed

const unsigned population_pdrs[POPULATION_PDR_SESSIONS] = {2, 16, 128, 1024};

static uint32_t size_of[POPULATIONS];

void
population_size(enum population population, uint32_t sessions)
{
	size_of[population] = sessions;
}

uint32_t
population_sessions(enum population population)
{
	return size_of[population];
}

enum population_upf
population_upf(enum population population)
{
	return population == POPULATION_NAT44 ? POPULATION_UPF_NAT44 : POPULATION_UPF;
}

// Sessions of the same UPF in the populations before.
static uint32_t
first_of(enum population population)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < population; i++)
		first += population_upf(i) == population_upf(population) ? size_of[i] : 0;
	return first;
}

// NAT44: a block a session, from the lowest port of the first address on.
#define NAT_PORTS 64u
#define NAT_BLOCKS ((UINT32_C(0x10000) - UPF_NAT_FIRST_PORT) / NAT_PORTS) // of an address
#define NAT_PUBLIC RIG_IP(100, 64, 0, 0)
#define NAT_PUBLIC_LEN 16u
#define NAT_LOCAL_PORT \
	40000u // a multiple of NAT_PORTS: so the n-th flow has the n-th port of the block
static_assert(NAT_LOCAL_PORT % NAT_PORTS == 0, "the lowest bits of a port stay");

void
population_config(enum population_upf upf, struct config *config)
{
	uint32_t all = 0;

	for (unsigned i = 0; i < POPULATIONS; i++)
		all += population_upf(i) == upf ? size_of[i] : 0;
	config->limits.sessions_max = all;
	config->limits.qer_slots = config->limits.urr_slots = all * UPF_LINE_SLOTS;
	if (upf == POPULATION_UPF_NAT44)
		config->interface[UPF_PORT_N6].nat = (struct config_nat){
			.prefixes = 1,
			.prefix = {{NAT_PUBLIC, NAT_PUBLIC_LEN}},
			.ports = NAT_PORTS,
			.mappings = all * POPULATION_NAT44_FLOWS,
			// Nothing ends while it is measured.
			.tcp_established_s = 86400,
			.tcp_transitory_s = 86400,
			.udp_s = 86400,
			.icmp_s = 86400,
		};
}

unsigned
population_memory(void)
{
	static const unsigned octets[POPULATIONS] = {
		// of a session, maps included
		[POPULATION_NEC] = 800,
		[POPULATION_SKT] = 5000,
		[POPULATION_PDRS] = 300000,
		[POPULATION_IPV6] = 1000,
		[POPULATION_SHARED] = 1800,
		[POPULATION_FEATURES] = 6000,
		[POPULATION_DOMAINS] = 2500,
		[POPULATION_NAT44] = 1500,
	};
	uint64_t sum = 0;

	for (unsigned i = 0; i < POPULATIONS; i++)
		sum += (uint64_t)octets[i] * size_of[i];
	return 96 + (size_of[POPULATION_NAT44] != 0 ? 96 : 0) + (unsigned)(sum >> 20);
}

// ---- rules ---------------------------------------------------------------------------------------

static uint32_t
ue_of(uint32_t session)
{
	return UE_BASE + session;
}

static void
ue6_of(uint32_t session, upf_addr to)
{
	uint32_t be = rte_cpu_to_be_32(session);

	memset(to, 0, sizeof(upf_addr));
	to[0] = 0x20;
	to[1] = 0x01;
	to[2] = 0x0d;
	to[3] = 0xb8;
	memcpy(to + 4, &be, 4);
}

// Two QERs and two URRs in the session's own pair of slots, for each of the first PDRs.
static void
meter(struct session_rules_builder *s, unsigned pdrs)
{
	s->n_qer = s->n_urr = 2;
	for (unsigned i = 0; i < 2; i++) {
		s->qer[i] = (struct upf_qer){
			.qer_id = i + 1,
			.slot = s->session * UPF_LINE_SLOTS + i,
			.qfi = 9,
			.flags = UPF_QER_MBR,
			.mbr_ul = FAST,
			.mbr_dl = FAST,
		};
		s->urr[i] = (struct upf_urr){
			.urr_id = i + 1,
			.slot = s->session * UPF_LINE_SLOTS + i,
			.quota_far = UPF_NONE16,
		};
	}
	for (unsigned p = 0; p < pdrs; p++) {
		s->pdr[p].n_qer = s->pdr[p].n_urr = 2;
		for (uint16_t i = 0; i < 2; i++)
			s->pdr[p].qer[i] = s->pdr[p].urr[i] = i;
	}
}

// A PDR's only filter: everything from or to one host, or one port of it.
static void
filter_host(struct session_rules_builder *s, unsigned pdr, unsigned host, bool ports)
{
	struct upf_sdf *sdf = &s->sdf[s->n_sdf];

	*sdf = (struct upf_sdf){
		.remote_addr_be = rte_cpu_to_be_32(REMOTE_BASE + host),
		.remote_mask_be = UINT32_MAX,
		.local_addr_be = s->pdr[pdr].ue_addr_be,
		.local_mask_be = UINT32_MAX,
		.remote_port_hi = UINT16_MAX,
		.local_port_hi = UINT16_MAX,
	};
	if (ports) {
		sdf->flags = UPF_SDF_PROTO | UPF_SDF_PORTS;
		sdf->proto = IPPROTO_UDP;
		sdf->remote_port_lo = 5000;
		sdf->remote_port_hi = 5099;
	}
	s->pdr[pdr].flags |= UPF_PDR_SDF;
	s->pdr[pdr].sdf_first = (uint16_t)s->n_sdf;
	s->pdr[pdr].sdf_count = 1;
	s->n_sdf++;
}

// The usual two PDRs become the last resort, `flows` more of each direction come before them.
static void
add_flows(struct session_rules_builder *s, unsigned flows, bool ports)
{
	struct upf_pdr last[2] = {s->pdr[0], s->pdr[1]};

	s->n_pdr = 0;
	for (unsigned i = 0; i < flows; i++) {
		for (unsigned d = 0; d < 2; d++) {
			s->pdr[s->n_pdr] = last[d];
			s->pdr[s->n_pdr].precedence = 100 + i;
			s->pdr[s->n_pdr].pdr_id = (uint16_t)(s->n_pdr + 1);
			filter_host(s, s->n_pdr, i, ports);
			s->n_pdr++;
		}
	}
	for (unsigned d = 0; d < 2; d++) {
		s->pdr[s->n_pdr] = last[d];
		s->pdr[s->n_pdr].precedence = 10000;
		s->pdr[s->n_pdr].pdr_id = (uint16_t)(s->n_pdr + 1);
		s->n_pdr++;
	}
}

#define SKT_FLOWS 8u // four a bearer

static void
build_skt(struct session_rules_builder *s)
{
	add_flows(s, SKT_FLOWS, true);
	// The second bearer is guaranteed its rate; its QER has the second slot of the pair.
	s->qer[1].qfi = 1;
	for (unsigned p = 0; p < s->n_pdr; p++) {
		unsigned bearer = p / 2 < SKT_FLOWS / 2 ? 1 : 0;

		s->pdr[p].n_qer = s->pdr[p].n_urr = 1;
		s->pdr[p].qer[0] = s->pdr[p].urr[0] = (uint16_t)bearer;
	}
}

static void
build_ipv6(struct session_rules_builder *s)
{
	for (unsigned p = 0; p < s->n_pdr; p++) {
		s->pdr[p].flags = (uint8_t)((s->pdr[p].flags & ~UPF_PDR_UE_IPV4) | UPF_PDR_UE_IPV6);
		s->pdr[p].ue_addr_be = 0;
		ue6_of(s->session, s->pdr[p].ue_prefix);
		s->pdr[p].ue_prefix_len = 64;
	}
}

static void
build_shared(struct session_rules_builder *s)
{
	add_flows(s, 1, false);
}

static void
build_features(struct session_rules_builder *s)
{
	for (unsigned p = 0; p < s->n_pdr; p++) {
		s->pdr[p].flags |= UPF_PDR_UE_IPV6;
		ue6_of(s->session, s->pdr[p].ue_prefix);
		s->pdr[p].ue_prefix_len = 64;
	}
	add_flows(s, SKT_FLOWS, true);
	for (unsigned p = 0; p < s->n_pdr; p++) {
		if (s->pdr[p].source_interface == UPF_IF_ACCESS) {
			s->pdr[p].flags |= UPF_PDR_QFI;
			s->pdr[p].qfi = 9;
		}
	}
	s->qer[0].flags |= UPF_QER_RQI | UPF_QER_TOS | UPF_QER_PPI;
	s->qer[0].tos = 0xb8;
	s->qer[0].ppi = 3;
	s->far[0].flags |= UPF_FAR_TOS;
	s->far[0].tos = 0x28;
	s->far[0].tos_mask = 0xfc;
	s->urr[0].flags |= UPF_URR_TIMED;
	s->urr[1].flags |= UPF_URR_BEFORE_QOS;
}

static void
build_domains(struct session_rules_builder *s)
{
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[2 + i] = s->pdr[i];
		s->pdr[i].precedence = 100;
		s->pdr[i].pdr_id = (uint16_t)(3 + i);
		s->pdr[i].flags |= UPF_PDR_SDF;
		s->pdr[i].application = 1;
	}
	s->n_pdr = 4;
	s->n_application = 1;
	s->application[0] = 1;
}

// The block of the n-th session.
static void
block_of(uint32_t n, uint32_t *addr, uint16_t *port)
{
	*addr = NAT_PUBLIC + n / NAT_BLOCKS;
	*port = (uint16_t)(UPF_NAT_FIRST_PORT + n % NAT_BLOCKS * NAT_PORTS);
}

static void
build(struct session_rules_builder *s, enum population population, uint32_t n)
{
	static struct session_rules_builder
		usual; // copied: clearing all of a builder takes a while
	uint32_t session = first_of(population) + n;

	if (usual.n_pdr == 0)
		rules_usual(&usual, 0, 0, 0);
	s->session = session;
	s->n_pdr = s->n_far = 2;
	s->n_sdf = s->n_sdf6 = s->n_application = 0;
	s->nat_addr = s->nat_port = 0;
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[i] = usual.pdr[i];
		s->pdr[i].ue_addr_be = rte_cpu_to_be_32(ue_of(session));
		s->far[i] = usual.far[i];
	}
	s->pdr[0].teid = TEID_BASE + session;
	s->far[1].teid = TEID_BASE + session;
	meter(s, 2);
	switch (population) {
	case POPULATION_SKT:
		build_skt(s);
		break;
	case POPULATION_PDRS:
		if (population_pdrs[n] > 2)
			add_flows(s, population_pdrs[n] / 2 - 1, false);
		break;
	case POPULATION_IPV6:
		build_ipv6(s);
		break;
	case POPULATION_SHARED:
		build_shared(s);
		break;
	case POPULATION_FEATURES:
		build_features(s);
		break;
	case POPULATION_DOMAINS:
		build_domains(s);
		break;
	case POPULATION_NAT44:
		block_of(n, &s->nat_addr, &s->nat_port);
		break;
	default:
		break;
	}
}

bool
population_install(struct rig *rig, enum population population, const char **why)
{
	static const struct domain_of domain = {
		1, "example.com", UPF_DOMAIN_TLS | UPF_DOMAIN_BELOW};
	static struct session_rules_builder s;
	static struct transaction t;

	if (population == POPULATION_DOMAINS) {
		transaction_begin(&t);
		transaction_domains(&t, &domain, 1);
		transaction_do(rig, &t, NULL);
	}
	for (uint32_t i = 0; i < size_of[population]; i++) {
		int rc;

		build(&s, population, i);
		transaction_begin(&t);
		transaction_put(&t, &s);
		rc = transaction_do(rig, &t, NULL);
		if (rc != 0) {
			*why = strerror(rc);
			return false;
		}
	}
	return true;
}

// ---- packets -------------------------------------------------------------------------------------

// What NAT44 makes of one of the session's flows. Its checksum is changed as the packet is, whatever it was.
static void
translate(struct user_packet *packet, uint32_t n, uint32_t flow)
{
	uint32_t addr, be;
	uint16_t port;

	block_of(n, &addr, &port);
	be = rte_cpu_to_be_32(addr);
	memcpy(packet->public, &be, 4);
	packet->public_port = (uint16_t)(port + flow);
	packet->local_port = (uint16_t)(NAT_LOCAL_PORT + flow);
	packet->sum = 0x1234;
}

void
population_packet(
	enum population population, uint32_t n, uint32_t random, struct user_packet *packet)
{
	static const uint8_t remote6[16] = {0x20, 0x01, 0x0d, 0xb8, 0xff, [15] = 1};
	uint32_t session = first_of(population) + n, host = 0,
		 be = rte_cpu_to_be_32(ue_of(session));

	switch (population) {
	case POPULATION_SKT:
	case POPULATION_FEATURES:
		host = random % SKT_FLOWS;
		break;
	case POPULATION_PDRS: // the last of them matches none of the filters
		host = random % (population_pdrs[n] / 2);
		break;
	case POPULATION_SHARED:
		host = random % 2;
		break;
	default:
		break;
	}
	packet->teid = TEID_BASE + session;
	packet->qfi = 9;
	packet->remote_port = (uint16_t)(5000 + (random >> 16) % 100);
	packet->local_port = (uint16_t)(random >> 8);
	packet->ip6 = population == POPULATION_IPV6;
	if (packet->ip6) {
		ue6_of(session, packet->ue);
		packet->ue[15] = 1;
		memcpy(packet->remote, remote6, sizeof(remote6));
	} else {
		memcpy(packet->ue, &be, 4);
		be = rte_cpu_to_be_32(REMOTE_BASE + host);
		memcpy(packet->remote, &be, 4);
	}
	memcpy(packet->public, packet->ue, sizeof(packet->public));
	packet->public_port = packet->local_port;
	packet->sum = 0;
	if (population == POPULATION_NAT44)
		translate(packet, n, random % POPULATION_NAT44_FLOWS);
}
