// NAT44: what leaves has a public address and a port of its session's block, what comes to them is the UE's again,
// and every other packet is refused by name.
#include <errno.h>
#include <string.h>

#include <rte_icmp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "control/show.h"
#include "frames.h"
#include "packet/nat.h"
#include "packet/nat_state.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define PUBLIC RIG_IP(203, 0, 113, 8) // a /30 of them
#define PORTS 64u                     // of a block
#define BLOCK 2048u                   // of session 1; session 2 has the next one
#define FLAGS_SYN RTE_TCP_SYN_FLAG
#define FLAGS_SYN_ACK (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)
#define FLAGS_ACK RTE_TCP_ACK_FLAG
#define FLAGS_FIN_ACK (RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG)
#define HTTP 80u

// A user's packet, as it is sent or as it has arrived.
struct packet {
	uint8_t proto;
	uint32_t src, dst; // host order
	uint16_t sport, dport;
	uint8_t type;  // ICMP; sport is the identifier
	uint8_t flags; // TCP
	uint16_t payload;
	uint16_t df;
	rte_be16_t word; // the payload's first, where it is not 0
	bool no_sum;     // UDP
};

static uint8_t *
l4_of(struct frame *f)
{
	return f->data + sizeof(struct rte_ipv4_hdr);
}

// The packet alone, all its checksums right.
static void
build(struct frame *f, const struct packet *p)
{
	struct rte_ipv4_hdr *ip = (void *)f->data;
	uint8_t *l4 = l4_of(f);
	uint16_t header = p->proto == IPPROTO_TCP ? 20 : 8,
		 length = (uint16_t)(header + p->payload);

	memset(f->data, 0, sizeof(*ip) + header);
	memset(l4 + header, 0x5a, p->payload);
	if (p->word != 0)
		memcpy(l4 + header, &p->word, sizeof(p->word));
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + length)),
		.packet_id = rte_cpu_to_be_16(7),
		.fragment_offset = rte_cpu_to_be_16(p->df),
		.time_to_live = 64,
		.next_proto_id = p->proto,
		.src_addr = rte_cpu_to_be_32(p->src),
		.dst_addr = rte_cpu_to_be_32(p->dst),
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	f->length = sizeof(*ip) + length;
	if (p->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (void *)l4;

		tcp->src_port = rte_cpu_to_be_16(p->sport);
		tcp->dst_port = rte_cpu_to_be_16(p->dport);
		tcp->data_off = 5 << 4;
		tcp->tcp_flags = p->flags;
		tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	} else if (p->proto == IPPROTO_ICMP) {
		struct rte_icmp_hdr *icmp = (void *)l4;

		icmp->icmp_type = p->type;
		icmp->icmp_ident = rte_cpu_to_be_16(p->sport);
		icmp->icmp_cksum = (rte_be16_t)~rte_raw_cksum(icmp, length);
	} else {
		struct rte_udp_hdr *udp = (void *)l4;

		udp->src_port = rte_cpu_to_be_16(p->sport);
		udp->dst_port = rte_cpu_to_be_16(p->dport);
		udp->dgram_len = rte_cpu_to_be_16(length);
		if (p->proto == IPPROTO_UDP && !p->no_sum)
			udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
	}
}

// An ICMP error from src to dst that quotes the beginning of a packet.
static void
build_error(struct frame *f, uint32_t src, uint32_t dst, uint8_t type, const struct frame *quoted,
	size_t octets)
{
	struct packet p = {.proto = IPPROTO_ICMP, .src = src, .dst = dst, .type = type};
	struct rte_icmp_hdr *icmp = (void *)l4_of(f);

	p.payload = (uint16_t)octets;
	build(f, &p);
	memcpy(icmp + 1, quoted->data, octets);
	icmp->icmp_cksum = 0;
	icmp->icmp_cksum = (rte_be16_t)~rte_raw_cksum(icmp, sizeof(*icmp) + octets);
}

// Its checksums are right. What it is.
static struct packet
read_packet(const struct rte_ipv4_hdr *ip)
{
	const uint8_t *l4 = (const uint8_t *)(ip + 1);
	struct packet p = {
		.proto = ip->next_proto_id,
		.src = rte_be_to_cpu_32(ip->src_addr),
		.dst = rte_be_to_cpu_32(ip->dst_addr),
	};

	assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	if (p.proto == IPPROTO_ICMP) {
		const struct rte_icmp_hdr *icmp = (const void *)l4;

		assert_int_equal(
			rte_raw_cksum(icmp, rte_be_to_cpu_16(ip->total_length) - 20u), 0xffff);
		p.sport = rte_be_to_cpu_16(icmp->icmp_ident);
		p.type = icmp->icmp_type;
		return p;
	}
	p.sport = rte_be_to_cpu_16(((const struct rte_udp_hdr *)(const void *)l4)->src_port);
	p.dport = rte_be_to_cpu_16(((const struct rte_udp_hdr *)(const void *)l4)->dst_port);
	p.no_sum = p.proto == IPPROTO_UDP &&
		((const struct rte_udp_hdr *)(const void *)l4)->dgram_cksum == 0;
	if (!p.no_sum)
		assert_int_equal(rte_ipv4_udptcp_cksum_verify(ip, l4), 0);
	return p;
}

// The first word of the payload with which the UDP checksum of a packet comes to 0, which is sent as ffff (RFC 768).
static rte_be16_t
word_of_no_sum(const struct packet *p)
{
	struct packet q = *p;
	struct frame f;

	q.word = 0xffff; // as good as 0
	build(&f, &q);
	return ((const struct rte_udp_hdr *)(const void *)l4_of(&f))->dgram_cksum;
}

// ---- the UPF -----------------------------------------------------------------------------------

static struct config
nat_config(void)
{
	struct config config = rig_config6();

	config.interface[UPF_PORT_N6].nat = (struct config_nat){
		.prefixes = 1,
		.prefix = {{PUBLIC, 30}},
		.ports = PORTS,
		.mappings = 1024,
		.tcp_established_s = 7440,
		.tcp_transitory_s = 240,
		.udp_s = 300,
		.icmp_s = 60,
	};
	return config;
}

static void
rules_of(struct session_rules_builder *s, uint32_t session)
{
	rules_usual(s, session, RIG_UE + session - 1, TEID + session);
	s->nat_addr = PUBLIC + 1;
	s->nat_port = (uint16_t)(BLOCK + (session - 1) * PORTS);
}

// Sessions 1 and 2 with a block each.
static struct rig *
rig_of(const struct config *config, unsigned workers)
{
	struct rig *rig = rig_create_with(config, workers, true);
	static struct session_rules_builder s;

	for (uint32_t session = 1; session <= 2; session++) {
		rules_of(&s, session);
		rules_install(rig, &s);
	}
	return rig;
}

static struct rig *
rig_nat(void)
{
	struct config config = nat_config();

	return rig_of(&config, 1);
}

// From the UE of a session, to worker 0.
static void
send_up_of(struct rig *rig, uint32_t session, const struct frame *packet)
{
	struct frame f;

	frame_gpdu_of(&f, NULL, TEID + session, 9, packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static void
send_down_to(struct rig *rig, unsigned worker, const struct frame *packet)
{
	struct frame f;

	frame_eth(&f, &rig_gateway_mac, packet);
	rig_inject_to(rig, worker, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
}

static void
send_down(struct rig *rig, const struct frame *packet)
{
	send_down_to(rig, 0, packet);
}

static void
up(struct rig *rig, uint32_t session, const struct packet *p)
{
	struct frame f;

	build(&f, p);
	send_up_of(rig, session, &f);
}

static void
down(struct rig *rig, const struct packet *p)
{
	struct frame f;

	build(&f, p);
	send_down(rig, &f);
}

// The one packet that left, by this interface, alone.
static struct frame
left_by(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m = rig_sent(rig, port);
	size_t at = port == UPF_PORT_N3 ? 14 + 20 + 8 + 8 + 8 : 14;
	struct frame f;

	assert_non_null(m);
	f.length = rte_pktmbuf_data_len(m) - at;
	memcpy(f.data, rte_pktmbuf_mtod_offset(m, uint8_t *, at), f.length);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	return f;
}

static struct packet
left(struct rig *rig, enum upf_port port)
{
	struct frame f = left_by(rig, port);

	return read_packet((const void *)f.data);
}

// From the UE to RIG_REMOTE; returns its public port.
static uint16_t
map_udp(struct rig *rig, uint32_t session, uint16_t port)
{
	struct packet p;

	up(rig, session,
		&(struct packet){.proto = IPPROTO_UDP,
			.src = RIG_UE + session - 1,
			.dst = RIG_REMOTE,
			.sport = port,
			.dport = HTTP,
			.payload = 20});
	p = left(rig, UPF_PORT_N6);
	assert_int_equal(p.src, PUBLIC + 1);
	return p.sport;
}

static void
up_tcp(struct rig *rig, uint16_t port, uint8_t flags)
{
	up(rig, 1,
		&(struct packet){.proto = IPPROTO_TCP,
			.src = RIG_UE,
			.dst = RIG_REMOTE,
			.sport = port,
			.dport = HTTP,
			.flags = flags});
}

static void
down_tcp(struct rig *rig, uint16_t port, uint8_t flags)
{
	down(rig,
		&(struct packet){.proto = IPPROTO_TCP,
			.src = RIG_REMOTE,
			.dst = PUBLIC + 1,
			.sport = HTTP,
			.dport = port,
			.flags = flags});
}

static void
down_udp(struct rig *rig, uint16_t port)
{
	down(rig,
		&(struct packet){.proto = IPPROTO_UDP,
			.src = RIG_REMOTE,
			.dst = PUBLIC + 1,
			.sport = HTTP,
			.dport = port,
			.payload = 20});
}

// So much time goes by, for mappings.
static void
age(struct rig *rig, uint64_t seconds)
{
	for (unsigned i = 0; i < rig->config.workers; i++) {
		const struct nat *nat = rig->worker[i]->nat;

		for (uint32_t j = 1; j < nat->size; j++) {
			if (nat->mapping[j].until != 0)
				nat->mapping[j].until -= seconds * rig->worker[i]->tsc_hz;
		}
		for (uint32_t j = 0; j < 1u << NAT_FULL_BITS; j++)
			rig->worker[i]->nat->full[j].until = 0;
	}
}

static uint64_t
mappings(const struct rig *rig)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < rig->config.workers; i++) {
		assert_int_equal(rig->worker[i]->nat->used, rig->shm.workers[i].local.nat_mappings);
		n += rig->worker[i]->nat->used;
	}
	return n;
}

// ---- both ways ---------------------------------------------------------------------------------

static void
packets_go_and_come(void **state)
{
	static const struct packet out[] = {
		{.proto = IPPROTO_UDP, .sport = 40001, .dport = 53, .payload = 31},
		{.proto = IPPROTO_UDP, .sport = 40002, .dport = 53, .payload = 8, .no_sum = true},
		{.proto = IPPROTO_TCP,
			.sport = 40001,
			.dport = HTTP,
			.flags = FLAGS_SYN,
			.payload = 3},
		{.proto = IPPROTO_ICMP, .sport = 40001, .type = 8, .payload = 32},
		{.proto = IPPROTO_ICMP, .sport = 40002, .type = 13, .payload = 12},
	};
	struct rig *rig = rig_nat();

	(void)state;
	for (unsigned i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		struct packet p = out[i], gone, back, come;

		p.src = RIG_UE;
		p.dst = RIG_REMOTE;
		up(rig, 1, &p);
		gone = left(rig, UPF_PORT_N6);
		assert_int_equal(gone.src, PUBLIC + 1);
		assert_int_equal(gone.dst, RIG_REMOTE);
		assert_int_equal(gone.dport, p.dport);
		// The block's port with the same lowest bits.
		assert_int_equal(gone.sport, BLOCK + p.sport % PORTS);
		assert_int_equal(gone.no_sum, p.no_sum);
		back = p;
		back.src = RIG_REMOTE;
		back.dst = gone.src;
		back.sport = p.proto == IPPROTO_ICMP ? gone.sport : p.dport;
		back.dport = gone.sport;
		back.type = (uint8_t)(p.type == 8 ? 0 : 14);
		down(rig, &back);
		come = left(rig, UPF_PORT_N3);
		assert_int_equal(come.src, RIG_REMOTE);
		assert_int_equal(come.dst, RIG_UE);
		assert_int_equal(p.proto == IPPROTO_ICMP ? come.sport : come.dport, p.sport);
		assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, i + 1);
		assert_int_equal(rig_urr(rig, 1, UPF_DL)->packets, i + 1);
	}
	assert_int_equal(mappings(rig), 5);
	assert_int_equal(rig->shm.workers[0].local.nat_mapped, 5);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A UDP checksum that comes to 0 by what is translated is not sent as none.
static void
a_udp_checksum_of_0_is_sent_as_ffff(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet inside = {.proto = IPPROTO_UDP,
			      .src = RIG_UE,
			      .dst = RIG_REMOTE,
			      .sport = 5000,
			      .dport = 53,
			      .payload = 2},
		      outside = inside;
	struct frame f;

	(void)state;
	outside.src = PUBLIC + 1;
	outside.sport = port;
	inside.word = word_of_no_sum(&outside);
	build(&f, &inside);
	assert_int_not_equal(((struct rte_udp_hdr *)(void *)l4_of(&f))->dgram_cksum, 0xffff);
	send_up_of(rig, 1, &f);
	f = left_by(rig, UPF_PORT_N6);
	assert_int_equal(((struct rte_udp_hdr *)(void *)l4_of(&f))->dgram_cksum, 0xffff);
	read_packet((const void *)f.data);

	inside = outside =
		(struct packet){.proto = IPPROTO_UDP, .src = RIG_REMOTE, .sport = 53, .payload = 2};
	inside.dst = RIG_UE;
	inside.dport = 5000;
	outside.dst = PUBLIC + 1;
	outside.dport = port;
	outside.word = word_of_no_sum(&inside);
	build(&f, &outside);
	assert_int_not_equal(((struct rte_udp_hdr *)(void *)l4_of(&f))->dgram_cksum, 0xffff);
	send_down(rig, &f);
	f = left_by(rig, UPF_PORT_N3);
	assert_int_equal(((struct rte_udp_hdr *)(void *)l4_of(&f))->dgram_cksum, 0xffff);
	read_packet((const void *)f.data);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_mapping_is_the_same_for_all_remotes_and_open_to_all(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE,
		.dst = RIG_IP(9, 9, 9, 9),
		.sport = 5000,
		.dport = 123};

	(void)state;
	up(rig, 1, &p);
	assert_int_equal(left(rig, UPF_PORT_N6).sport, port);
	p = (struct packet){.proto = IPPROTO_UDP,
		.src = RIG_IP(1, 1, 1, 1),
		.dst = PUBLIC + 1,
		.sport = 9,
		.dport = port};
	down(rig, &p);
	p = left(rig, UPF_PORT_N3);
	assert_int_equal(p.dst, RIG_UE);
	assert_int_equal(p.dport, 5000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
two_ues_with_one_port_are_told_apart(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port[2] = {map_udp(rig, 1, 5000), map_udp(rig, 2, 5000)};

	(void)state;
	assert_int_equal(port[1], port[0] + PORTS);
	for (unsigned i = 0; i < 2; i++) {
		struct packet p;

		down_udp(rig, port[i]);
		p = left(rig, UPF_PORT_N3);
		assert_int_equal(p.dst, RIG_UE + i);
		assert_int_equal(p.dport, 5000);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
ports_with_the_same_lowest_bits_get_the_next_ones(void **state)
{
	struct rig *rig = rig_nat();

	(void)state;
	assert_int_equal(map_udp(rig, 1, 5 * PORTS + PORTS - 1), BLOCK + PORTS - 1);
	assert_int_equal(map_udp(rig, 1, 6 * PORTS + PORTS - 1), BLOCK);
	assert_int_equal(map_udp(rig, 1, 5 * PORTS), BLOCK + 1);
	assert_int_equal(map_udp(rig, 1, 6 * PORTS + PORTS - 1), BLOCK);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// IPv6 of the same session has nothing to do with it.
static void
ipv6_goes_as_it_is(void **state)
{
	struct config config = nat_config();
	struct rig *rig = rig_create_with(&config, 1, true);
	static struct session_rules_builder s;
	struct frame packet, f;

	(void)state;
	rules_of(&s, 1);
	for (unsigned i = 0; i < 2; i++) {
		s.pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s.pdr[i].ue_prefix, rig_ue6, 8);
		s.pdr[i].ue_prefix_len = 64;
	}
	rules_install(rig, &s);
	frame_ip6(&packet, &(struct ip6_fields){.src = rig_ue6, .dst = rig_remote6, .payload = 20});
	send_up_of(rig, 1, &packet);
	f = left_by(rig, UPF_PORT_N6);
	assert_memory_equal(f.data + 8, rig_ue6, 16);
	assert_int_equal(mappings(rig), 0);
	assert_int_equal(map_udp(rig, 1, 5000), BLOCK + 5000 % PORTS);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What is behind a UE shares its block.
static void
framed_routes_share_the_block(void **state)
{
	static const uint32_t behind = RIG_IP(192, 168, 7, 9);
	struct config config = nat_config();
	struct rig *rig = rig_create_with(&config, 1, true);
	static struct session_rules_builder s;
	struct packet p = {.proto = IPPROTO_UDP, .dst = RIG_REMOTE, .sport = 5000, .dport = 53};
	uint16_t port[2];

	(void)state;
	rules_of(&s, 1);
	s.n_route = 1;
	s.route[0].len = 24;
	rules_ipv4(s.route[0].addr, behind & 0xffffff00u);
	rules_install(rig, &s);
	for (unsigned i = 0; i < 2; i++) {
		p.src = i == 0 ? RIG_UE : behind;
		up(rig, 1, &p);
		port[i] = left(rig, UPF_PORT_N6).sport;
		assert_in_range(port[i], BLOCK, BLOCK + PORTS - 1);
	}
	assert_int_not_equal(port[0], port[1]);
	for (unsigned i = 0; i < 2; i++) {
		struct packet come;

		down_udp(rig, port[i]);
		come = left(rig, UPF_PORT_N3);
		assert_int_equal(come.dst, i == 0 ? RIG_UE : behind);
		assert_int_equal(come.dport, 5000);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- what is refused -----------------------------------------------------------------------------

static void
without_a_block_nothing_leaves(void **state)
{
	struct config config = nat_config();
	struct rig *rig;
	static struct session_rules_builder s;
	struct packet p = {
		.proto = IPPROTO_UDP, .src = RIG_UE, .dst = RIG_REMOTE, .sport = 1, .dport = 2};

	(void)state;
	rig_add_networks(&config, 2); // the other one has NAT44, and addresses, of its own
	config.interface[config_port_of(1)].nat.prefix[0].address = PUBLIC + 4;
	rig = rig_create_with(&config, 1, true);
	rules_of(&s, 1);
	s.nat_addr = s.nat_port = 0;
	rules_install(rig, &s);
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_BLOCK), 1);
	assert_int_equal(rig_urr(rig, 1, UPF_UL)->packets, 0); // taken off again
	// The block is of the network in which the UE is.
	rules_of(&s, 1);
	s.far[0].network = 1;
	rules_install(rig, &s);
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_BLOCK), 1);
	assert_int_equal(mappings(rig), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_full_block_is_one_protocol_s(void **state)
{
	struct rig *rig = rig_nat();
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE,
		.dst = RIG_REMOTE,
		.sport = 9999,
		.dport = HTTP};
	bool seen[PORTS] = {0};

	(void)state;
	for (unsigned i = 0; i < PORTS; i++) {
		uint16_t port = map_udp(rig, 1, (uint16_t)(3000 + 7 * i));

		assert_in_range(port, BLOCK, BLOCK + PORTS - 1);
		assert_false(seen[port - BLOCK]);
		seen[port - BLOCK] = true;
	}
	for (unsigned i = 0; i < 3; i++)
		up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PORTS), 3);
	// Those that there are live on, and other protocols and UEs have ports.
	assert_in_range(map_udp(rig, 1, 3000), BLOCK, BLOCK + PORTS - 1);
	up_tcp(rig, 9999, FLAGS_SYN);
	assert_int_equal(left(rig, UPF_PORT_N6).sport, BLOCK + 9999 % PORTS);
	assert_int_equal(map_udp(rig, 2, 3000), BLOCK + PORTS + 3000 % PORTS);
	// One whose time is over makes room.
	age(rig, 299);
	map_udp(rig, 1, 3000);
	age(rig, 2);
	assert_int_equal(map_udp(rig, 1, 9999), BLOCK + 9999 % PORTS);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A full block is not searched with each packet: it is for a second.
static void
a_full_block_is_remembered_for_a_second(void **state)
{
	struct rig *rig = rig_nat();
	struct worker *w = rig->worker[0];
	struct nat_full *full = NULL;
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE,
		.dst = RIG_REMOTE,
		.sport = 9999,
		.dport = HTTP};
	uint64_t before, after;

	(void)state;
	for (unsigned i = 0; i < PORTS; i++)
		map_udp(rig, 1, (uint16_t)(3000 + i));
	before = rte_rdtsc();
	up(rig, 1, &p);
	after = rte_rdtsc();
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PORTS), 1);
	for (unsigned i = 0; i < 1u << NAT_FULL_BITS; i++) {
		if (w->nat->full[i].until != 0) {
			assert_null(full);
			full = &w->nat->full[i];
		}
	}
	assert_non_null(full);
	assert_in_range(full->until, before + w->tsc_hz, after + w->tsc_hz);
	// One whose time is over makes room, for who looks.
	for (uint32_t i = 1; i < w->nat->size; i++) {
		if (w->nat->mapping[i].port == rte_cpu_to_be_16(3000))
			w->nat->mapping[i].until = 1;
	}
	full->until = UINT64_MAX;
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PORTS), 1);
	full->until = 1;
	assert_int_equal(map_udp(rig, 1, 9999), BLOCK + 3000 % PORTS);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_full_table_is_told_from_a_full_block(void **state)
{
	struct config config = nat_config();
	struct rig *rig;
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE + 1,
		.dst = RIG_REMOTE,
		.sport = 1,
		.dport = HTTP};

	(void)state;
	config.interface[UPF_PORT_N6].nat.mappings = 8;
	rig = rig_of(&config, 1);
	for (uint16_t i = 0; i < 8; i++)
		map_udp(rig, 1, (uint16_t)(3000 + i));
	up(rig, 2, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_TABLE), 1);
	age(rig, 301);
	up(rig, 2, &p);
	assert_int_equal(left(rig, UPF_PORT_N6).sport, BLOCK + PORTS + 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
what_no_mapping_has_does_not_come_in(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);
	static const uint16_t nobody[] = {BLOCK - 1, BLOCK + 2 * PORTS, 80, 0, UINT16_MAX};
	struct packet p = {
		.proto = IPPROTO_UDP, .src = RIG_REMOTE, .dst = PUBLIC + 1, .dport = port};

	(void)state;
	for (unsigned i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		down_udp(rig, nobody[i]);
		assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	}
	down_udp(rig, port == BLOCK ? BLOCK + 1 : BLOCK); // in the block
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	down_tcp(rig, port, FLAGS_SYN); // of another protocol
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	p.dst = PUBLIC;
	down(rig, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	p.dst = PUBLIC + 4; // is none of ours
	down(rig, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
other_protocols_and_what_is_cut_off_are_refused(void **state)
{
	struct rig *rig = rig_nat();
	struct packet p = {.proto = IPPROTO_ESP, .src = RIG_UE, .dst = RIG_REMOTE, .payload = 40};
	struct frame f;

	(void)state;
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PROTOCOL), 1);
	p.proto = IPPROTO_ICMP;
	p.type = 5; // Redirect
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PROTOCOL), 1);
	p = (struct packet){
		.proto = IPPROTO_ESP, .src = RIG_REMOTE, .dst = PUBLIC + 1, .payload = 40};
	down(rig, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_PROTOCOL), 1);
	// The first octets of a TCP header.
	for (unsigned i = 0; i < 2; i++) {
		build(&f,
			&(struct packet){.proto = IPPROTO_TCP,
				.src = i == 0 ? RIG_UE : RIG_REMOTE,
				.dst = i == 0 ? RIG_REMOTE : PUBLIC + 1});
		f.length -= 1;
		((struct rte_ipv4_hdr *)(void *)f.data)->total_length =
			rte_cpu_to_be_16((uint16_t)f.length);
		((struct rte_ipv4_hdr *)(void *)f.data)->hdr_checksum = 0;
		((struct rte_ipv4_hdr *)(void *)f.data)->hdr_checksum =
			rte_ipv4_cksum((const void *)f.data);
		if (i == 0)
			send_up_of(rig, 1, &f);
		else
			send_down(rig, &f);
	}
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_INNER), 1);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	assert_int_equal(mappings(rig), 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// A public address is another UE's.
static void
ues_reach_each_other_s_public_ports_where_ues_may(void **state)
{
	struct config config = nat_config();
	struct packet p = {.proto = IPPROTO_UDP,
			      .src = RIG_UE,
			      .dst = PUBLIC + 1,
			      .sport = 5000,
			      .payload = 8},
		      gone;
	struct rig *rig = rig_of(&config, 1);
	struct frame f;

	(void)state;
	p.dport = map_udp(rig, 2, 6000);
	up(rig, 1, &p);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UE_TO_UE), 1);
	f = left_by(rig, UPF_PORT_N3); // who sent it is told, of what he sent
	assert_int_equal(l4_of(&f)[0], 3);
	assert_int_equal(l4_of(&f)[1], 13);
	assert_int_equal(
		rte_be_to_cpu_32(
			((const struct rte_ipv4_hdr *)(const void *)(l4_of(&f) + 8))->src_addr),
		RIG_UE);
	assert_int_equal(mappings(rig), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);

	config.ue_to_ue_allowed = true;
	rig = rig_of(&config, 1);
	p.dport = map_udp(rig, 2, 6000);
	up(rig, 1, &p);
	gone = left(rig, UPF_PORT_N6); // to the gateway, which sends it back
	assert_int_equal(gone.src, PUBLIC + 1);
	assert_int_equal(gone.sport, BLOCK + 5000 % PORTS);
	p = gone;
	p.payload = 8;
	down(rig, &p);
	p = left(rig, UPF_PORT_N3);
	assert_int_equal(p.src, PUBLIC + 1); // RFC 4787 REQ-9
	assert_int_equal(p.sport, gone.sport);
	assert_int_equal(p.dst, RIG_UE + 1);
	assert_int_equal(p.dport, 6000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- how long mappings live ----------------------------------------------------------------------

static void
udp_lives_from_the_ue_s_last_packet(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);

	(void)state;
	age(rig, 200);
	down_udp(rig, port);
	assert_int_equal(left(rig, UPF_PORT_N3).dport, 5000);
	age(rig, 101);
	down_udp(rig, port);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	assert_int_equal(mappings(rig), 0);
	map_udp(rig, 1, 5000);
	age(rig, 200);
	map_udp(rig, 1, 5000);
	age(rig, 200);
	down_udp(rig, port);
	assert_int_equal(left(rig, UPF_PORT_N3).dport, 5000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

struct step {
	bool down;
	uint8_t flags;
};

// Whether the connection's mapping lives after so many seconds without packets.
static bool
lives(const struct step *steps, unsigned n, uint64_t seconds)
{
	struct rig *rig = rig_nat();
	bool there;

	for (unsigned i = 0; i < n; i++) {
		if (steps[i].down) {
			down_tcp(rig, BLOCK + 5000 % PORTS, steps[i].flags);
			assert_int_equal(left(rig, UPF_PORT_N3).dport, 5000);
		} else {
			up_tcp(rig, 5000, steps[i].flags);
			assert_int_equal(left(rig, UPF_PORT_N6).sport, BLOCK + 5000 % PORTS);
		}
	}
	age(rig, seconds);
	down_tcp(rig, BLOCK + 5000 % PORTS, FLAGS_ACK);
	there = rig_count_sent(rig, UPF_PORT_N3) == 1;
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), !there);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
	return there;
}

static void
tcp_lives_as_its_connection_does(void **state)
{
	static const struct step open[] = {
		{false, FLAGS_SYN}, {true, FLAGS_SYN_ACK}, {false, FLAGS_ACK}};
	static const struct step closed[] = {{false, FLAGS_SYN}, {true, FLAGS_SYN_ACK},
		{false, FLAGS_ACK}, {false, FLAGS_FIN_ACK}, {true, FLAGS_ACK},
		{true, FLAGS_FIN_ACK}, {false, FLAGS_ACK}};
	static const struct step reset[] = {{false, FLAGS_SYN}, {true, FLAGS_SYN_ACK},
		{false, FLAGS_ACK}, {true, RTE_TCP_RST_FLAG}};
	static const struct step goes_on[] = {{false, FLAGS_SYN}, {true, FLAGS_SYN_ACK},
		{false, FLAGS_ACK}, {true, RTE_TCP_RST_FLAG}, {false, FLAGS_ACK},
		{true, FLAGS_ACK}};
	static const struct step taken_over[] = {{false, FLAGS_ACK}, {true, FLAGS_ACK}};
	static const struct {
		const char *what;
		const struct step *steps;
		unsigned n;
		bool established;
	} * test,
		tests[] = {
			{"a SYN alone", open, 1, false},
			{"a SYN and its answer", open, 2, false},
			{"an open connection", open, 3, true},
			{"a closed one", closed, 7, false},
			{"half closed", closed, 4, false},
			{"a reset one", reset, 4, false},
			{"a reset that neither believed", goes_on, 6, true},
			{"one that was open before us", taken_over, 2, true},
		};

	(void)state;
	for (test = tests; test < tests + sizeof(tests) / sizeof(tests[0]); test++) {
		if (!lives(test->steps, test->n, 239))
			fail_msg("%s: gone too early", test->what);
		if (lives(test->steps, test->n, 241) != test->established)
			fail_msg("%s: taken for the other", test->what);
		if (test->established && lives(test->steps, test->n, 7441))
			fail_msg("%s: there too long", test->what);
	}
}

static void
an_ended_session_s_mappings_are_given_back(void **state)
{
	struct rig *rig = rig_nat();
	static struct session_rules_builder s;
	static struct transaction t;
	uint16_t port = map_udp(rig, 1, 5000);

	(void)state;
	map_udp(rig, 2, 5000);
	// The same index, address and block: but another session.
	rules_of(&s, 1);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	down_udp(rig, port);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	rules_install(rig, &s);
	down_udp(rig, port);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	assert_int_equal(mappings(rig), 2);
	for (unsigned i = 0; i < 3; i++)
		nat_tick(rig->worker[0]);
	assert_int_equal(mappings(rig), 1);
	down_udp(rig, port + PORTS);
	assert_int_equal(left(rig, UPF_PORT_N3).dport, 5000);
	// New rules of a session leave its mappings alone.
	map_udp(rig, 1, 5000);
	rules_install(rig, &s);
	for (unsigned i = 0; i < 3; i++)
		nat_tick(rig->worker[0]);
	down_udp(rig, port);
	assert_int_equal(left(rig, UPF_PORT_N3).dport, 5000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Made and given back at random, the table is what a plain account of it says.
static void
the_table_is_what_a_plain_account_says(void **state)
{
	static uint16_t port_of[2][256]; // by session and the UE's port; 0: none
	struct config config = nat_config();
	struct rig *rig;
	unsigned made = 0, refused = 0;

	(void)state;
	config.interface[UPF_PORT_N6].nat.mappings = 100;
	rig = rig_of(&config, 1);
	memset(port_of, 0, sizeof(port_of));
	srandom(3);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t session = (uint32_t)random() % 2;
		uint16_t port = (uint16_t)(random() % 256), *at = &port_of[session][port];
		struct packet p = {.proto = IPPROTO_UDP,
			.src = RIG_UE + session,
			.dst = RIG_REMOTE,
			.sport = port,
			.dport = 9};
		struct nat *nat = rig->worker[0]->nat;

		if (random() % 3 == 0 && *at != 0) { // this one's time is over
			for (uint32_t j = 1; j < nat->size; j++) {
				if (nat->mapping[j].until != 0 && nat->mapping[j].outer == *at)
					nat->mapping[j].until = 1;
			}
			down_udp(rig, *at);
			assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
			memset(nat->full, 0, sizeof(nat->full));
			*at = 0;
			continue;
		}
		up(rig, session + 1, &p);
		if (*at != 0) {
			assert_int_equal(left(rig, UPF_PORT_N6).sport, *at);
		} else if (rig_dropped(rig, UPF_DROP_NAT_PORTS) +
				rig_dropped(rig, UPF_DROP_NAT_TABLE) !=
			0) {
			refused++;
			assert_true(nat->used == 100 || nat->used >= PORTS);
		} else {
			*at = left(rig, UPF_PORT_N6).sport;
			made++;
			for (unsigned other = 0; other < 256; other++)
				assert_true(other == port || port_of[session][other] != *at);
		}
	}
	assert_in_range(made, 1000, 20000);
	assert_in_range(refused, 100, 20000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- fragments -----------------------------------------------------------------------------------

// Two fragments of a packet, the first one of 8 * eighths octets behind the header.
static void
cut(const struct frame *whole, unsigned eighths, struct frame piece[2])
{
	for (unsigned i = 0; i < 2; i++) {
		struct rte_ipv4_hdr *ip = (void *)piece[i].data;
		size_t from = i == 0 ? 0 : 8u * eighths;
		size_t to = i == 0 ? 8u * eighths : whole->length - 20;

		memcpy(piece[i].data, whole->data, 20);
		memcpy(piece[i].data + 20, whole->data + 20 + from, to - from);
		piece[i].length = 20 + to - from;
		ip->total_length = rte_cpu_to_be_16((uint16_t)piece[i].length);
		ip->fragment_offset =
			rte_cpu_to_be_16((uint16_t)((i == 0 ? 0x2000 : 0) | from / 8));
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
}

static void
fragments_are_put_together_before(void **state)
{
	struct rig *rig = rig_nat();
	struct packet p = {.proto = IPPROTO_UDP,
			      .src = RIG_UE,
			      .dst = RIG_REMOTE,
			      .sport = 5000,
			      .dport = 9,
			      .payload = 100},
		      gone;
	struct frame whole, piece[2], f;

	(void)state;
	build(&whole, &p);
	cut(&whole, 4, piece);
	for (unsigned i = 2; i-- > 0;)
		send_up_of(rig, 1, &piece[i]);
	f = left_by(rig, UPF_PORT_N6);
	gone = read_packet((const void *)f.data);
	assert_int_equal(gone.sport, BLOCK + 5000 % PORTS);
	// Its sender's identification is not the public address's.
	assert_int_not_equal(((const struct rte_ipv4_hdr *)(const void *)f.data)->packet_id,
		rte_cpu_to_be_16(7));
	p = (struct packet){.proto = IPPROTO_UDP,
		.src = RIG_REMOTE,
		.dst = gone.src,
		.sport = 9,
		.dport = gone.sport,
		.payload = 100};
	build(&whole, &p);
	cut(&whole, 3, piece);
	for (unsigned i = 2; i-- > 0;)
		send_down(rig, &piece[i]);
	p = left(rig, UPF_PORT_N3);
	assert_int_equal(p.dst, RIG_UE);
	assert_int_equal(p.dport, 5000);
	assert_int_equal(rig->shm.workers[0].local.fragments_reassembled, 2);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- ICMP errors ---------------------------------------------------------------------------------

static const struct rte_ipv4_hdr *
quoted_by(const struct frame *f)
{
	return (const void *)(f->data + 20 + 8);
}

static void
errors_from_outside_are_about_the_ue_s_packet(void **state)
{
	static const struct {
		struct packet sent;
		size_t octets; // that are quoted
	} tests[] = {
		{{.proto = IPPROTO_UDP, .sport = 5000, .dport = 9, .payload = 30}, 28},
		{{.proto = IPPROTO_UDP, .sport = 5000, .dport = 9, .payload = 30}, 58},
		{{.proto = IPPROTO_UDP, .sport = 5001, .dport = 9, .no_sum = true}, 28},
		{{.proto = IPPROTO_UDP, .sport = 5002, .dport = 9, .payload = 2, .word = 1}, 28},
		{{.proto = IPPROTO_TCP, .sport = 5000, .dport = 9, .flags = FLAGS_SYN}, 28},
		{{.proto = IPPROTO_TCP, .sport = 5000, .dport = 9, .flags = FLAGS_SYN}, 40},
		{{.proto = IPPROTO_ICMP, .sport = 5000, .type = 8}, 28},
	};
	static const uint8_t types[] = {3, 11, 12};
	const uint32_t router = RIG_IP(7, 7, 7, 7);

	(void)state;
	for (unsigned i = 0; i < 3 * sizeof(tests) / sizeof(tests[0]); i++) {
		struct packet p = tests[i / 3].sent;
		size_t octets = tests[i / 3].octets;
		struct rig *rig = rig_nat();
		struct frame original, gone, error, come;

		p.src = RIG_UE;
		p.dst = RIG_REMOTE;
		if (p.word != 0) // its checksum is ffff
			p.word = word_of_no_sum(&p);
		build(&original, &p);
		send_up_of(rig, 1, &original);
		gone = left_by(rig, UPF_PORT_N6);
		build_error(&error, router, PUBLIC + 1, types[i % 3], &gone, octets);
		send_down(rig, &error);
		come = left_by(rig, UPF_PORT_N3);
		read_packet((const void *)come.data);
		assert_int_equal(
			rte_be_to_cpu_32(
				((const struct rte_ipv4_hdr *)(const void *)come.data)->src_addr),
			router);
		assert_int_equal(
			rte_be_to_cpu_32(
				((const struct rte_ipv4_hdr *)(const void *)come.data)->dst_addr),
			RIG_UE);
		// What is quoted is what the UE sent, but for a hop.
		assert_int_equal(rte_raw_cksum(quoted_by(&come), 20), 0xffff);
		assert_int_equal(quoted_by(&come)->src_addr, rte_cpu_to_be_32(RIG_UE));
		assert_memory_equal(quoted_by(&come) + 1, original.data + 20, octets - 20);
		rig_assert_no_other_drops(rig);
		rig_free(rig);
	}
}

static void
errors_of_the_ue_are_about_what_came(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_REMOTE,
		.dst = PUBLIC + 1,
		.sport = HTTP,
		.dport = port,
		.payload = 30};
	struct frame sent, come, error, gone;

	(void)state;
	build(&sent, &p);
	send_down(rig, &sent);
	come = left_by(rig, UPF_PORT_N3);
	build_error(&error, RIG_UE, RIG_REMOTE, 3, &come, 28);
	send_up_of(rig, 1, &error);
	gone = left_by(rig, UPF_PORT_N6);
	p = read_packet((const void *)gone.data);
	assert_int_equal(p.src, PUBLIC + 1);
	assert_int_equal(p.dst, RIG_REMOTE);
	assert_int_equal(rte_raw_cksum(quoted_by(&gone), 20), 0xffff);
	assert_int_equal(quoted_by(&gone)->dst_addr, rte_cpu_to_be_32(PUBLIC + 1));
	assert_memory_equal(quoted_by(&gone) + 1, sent.data + 20, 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
errors_about_nothing_of_ours_are_refused(void **state)
{
	struct rig *rig = rig_nat();
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet p = {.proto = IPPROTO_UDP,
		.src = PUBLIC + 1,
		.dst = RIG_REMOTE,
		.sport = (uint16_t)(port ^ 1),
		.dport = 9};
	struct frame quoted, error;

	(void)state;
	build(&quoted, &p);
	build_error(&error, RIG_REMOTE, PUBLIC + 1, 3, &quoted, 28);
	send_down(rig, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	// To another of our addresses than it is about.
	p.sport = port;
	build(&quoted, &p);
	build_error(&error, RIG_REMOTE, PUBLIC + 2, 3, &quoted, 28);
	send_down(rig, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	build_error(&error, RIG_REMOTE, PUBLIC + 1, 3, &quoted, 27);
	send_down(rig, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	quoted.data[0] = 0x4f; // a header of 60 octets
	build_error(&error, RIG_REMOTE, PUBLIC + 1, 3, &quoted, 28);
	send_down(rig, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_MALFORMED_IP), 1);
	build(&quoted, &(struct packet){.proto = IPPROTO_UDP, .src = RIG_REMOTE, .dst = RIG_UE});
	build_error(&error, RIG_UE, RIG_REMOTE, 3, &quoted, 28);
	send_up_of(rig, 1, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// RFC 5508 REQ-4: also where somebody has the port of the address that it comes to.
static void
errors_to_another_address_than_they_are_about_are_refused(void **state)
{
	struct rig *rig = rig_nat();
	static struct session_rules_builder s;
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE + 1,
		.dst = RIG_REMOTE,
		.sport = 5000,
		.dport = 9};
	struct frame gone, quoted, error;
	uint16_t port = map_udp(rig, 1, 5000);

	(void)state;
	rules_of(&s, 2);
	s.nat_addr = PUBLIC + 2;
	s.nat_port = BLOCK;
	rules_install(rig, &s);
	up(rig, 2, &p);
	gone = left_by(rig, UPF_PORT_N6);
	assert_int_equal(read_packet((const void *)gone.data).src, PUBLIC + 2);
	assert_int_equal(read_packet((const void *)gone.data).sport, port);
	p.src = PUBLIC + 1;
	p.sport = port;
	build(&quoted, &p);
	build_error(&error, RIG_REMOTE, PUBLIC + 2, 3, &quoted, 28);
	send_down(rig, &error);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NAT_MAPPING), 1);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	build_error(&error, RIG_REMOTE, PUBLIC + 2, 3, &gone, 28);
	send_down(rig, &error);
	error = left_by(rig, UPF_PORT_N3);
	assert_int_equal(read_packet((const void *)error.data).dst, RIG_UE + 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// What we say ourselves of a packet that came to a public address is about that address.
static void
our_errors_do_not_tell_the_ue_s_address(void **state)
{
	struct rig *rig = rig_nat();
	struct neigh_table *n3 = rig->worker[0]->neigh[UPF_PORT_N3];
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_REMOTE,
		.dst = PUBLIC + 1,
		.sport = HTTP,
		.dport = port,
		.payload = 1460,
		.df = 0x4000};
	struct frame sent, error;

	(void)state;
	build(&sent, &p);
	send_down(rig, &sent);
	assert_int_equal(rig_dropped(rig, UPF_DROP_TOO_BIG), 1);
	error = left_by(rig, UPF_PORT_N6);
	assert_int_equal(l4_of(&error)[0], 3);
	assert_int_equal(l4_of(&error)[1], 4);
	read_packet((const void *)error.data);
	assert_memory_equal(quoted_by(&error), sent.data, 20 + 8);
	// The gNB does not answer.
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		if (n3->entry[i].state != NEIGH_FREE)
			n3->entry[i].state = NEIGH_DEAD;
	}
	p.payload = 40;
	build(&sent, &p);
	send_down(rig, &sent);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	error = left_by(rig, UPF_PORT_N6);
	assert_int_equal(l4_of(&error)[1], 1);
	assert_int_equal(quoted_by(&error)->dst_addr, rte_cpu_to_be_32(PUBLIC + 1));
	assert_memory_equal(quoted_by(&error) + 1, sent.data + 20, 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// The gateway does not answer: the UE hears of the packet that it sent.
static void
a_ue_hears_of_what_did_not_leave(void **state)
{
	struct rig *rig = rig_nat();
	struct neigh_table *n6 = rig->worker[0]->neigh[UPF_PORT_N6];
	struct packet p = {.proto = IPPROTO_UDP,
		.src = RIG_UE,
		.dst = RIG_REMOTE,
		.sport = 5000,
		.dport = 9,
		.payload = 8};
	struct frame sent, error;

	(void)state;
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		if (n6->entry[i].state != NEIGH_FREE)
			n6->entry[i].state = NEIGH_DEAD;
	}
	build(&sent, &p);
	send_up_of(rig, 1, &sent);
	assert_int_equal(rig_dropped(rig, UPF_DROP_NO_NEIGHBOUR), 1);
	error = left_by(rig, UPF_PORT_N3);
	read_packet((const void *)error.data);
	assert_int_equal(quoted_by(&error)->src_addr, rte_cpu_to_be_32(RIG_UE));
	assert_memory_equal(quoted_by(&error) + 1, sent.data + 20, 8);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// ---- beside the other parts ----------------------------------------------------------------------

static void
any_worker_may_receive_it(void **state)
{
	struct config config = nat_config();
	struct rig *rig = rig_of(&config, 2);
	struct frame whole, piece[2];
	struct packet p = {
		.proto = IPPROTO_UDP, .src = RIG_REMOTE, .dst = PUBLIC + 1, .payload = 64};

	(void)state;
	for (uint32_t session = 1; session <= 2; session++) {
		uint16_t port = map_udp(rig, session, 5000);

		p.dport = port;
		for (unsigned worker = 0; worker < 2; worker++) {
			build(&whole, &p);
			send_down_to(rig, worker, &whole);
			assert_int_equal(left(rig, UPF_PORT_N3).dst, RIG_UE + session - 1);
			cut(&whole, 2, piece);
			for (unsigned i = 2; i-- > 0;)
				send_down_to(rig, worker, &piece[i]);
			assert_int_equal(left(rig, UPF_PORT_N3).dst, RIG_UE + session - 1);
		}
	}
	assert_int_equal(mappings(rig), 2);
	assert_int_equal(rig->worker[0]->nat->used, 1); // each at home
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// An idle UE's packets wait, translated.
static void
packets_wait_for_an_idle_ue(void **state)
{
	struct rig *rig = rig_nat();
	static struct session_rules_builder s;
	uint16_t port = map_udp(rig, 1, 5000);
	struct packet p;

	(void)state;
	rules_of(&s, 1);
	s.far[1].action = UPF_FAR_BUFF;
	rules_install(rig, &s);
	down_udp(rig, port);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	s.far[1].action = UPF_FAR_FORW;
	rules_install(rig, &s);
	rig_poll(rig);
	p = left(rig, UPF_PORT_N3);
	assert_int_equal(p.dst, RIG_UE);
	assert_int_equal(p.dport, 5000);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

// Those above their rate wait, too.
static void
packets_wait_for_their_rate(void **state)
{
	struct config config = nat_config();
	struct rig *rig;
	static struct session_rules_builder s;
	uint16_t port;
	unsigned sent = 0;

	(void)state;
	config.qer = (struct config_qer){.burst_ms = 10,
		.queue_ms = 1000,
		.queue_packets = 16,
		.queue_packets_per_session = 16};
	rig = rig_of(&config, 1);
	rules_of(&s, 1);
	s.qer[0].flags = UPF_QER_MBR;
	s.qer[0].mbr_ul = 1000000000;
	s.qer[0].mbr_dl = 100000; // 48 octets: 4 ms
	rules_install(rig, &s);
	port = map_udp(rig, 1, 5000);
	for (unsigned i = 0; i < 8; i++)
		down_udp(rig, port);
	assert_int_not_equal(rig->shm.workers[0].local.shaped, 0);
	while (sent < 8) { // or the test's time is over
		rig_poll(rig);
		sent += rig_count_sent(rig, UPF_PORT_N3);
	}
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_network_instance_beside_is_left_alone(void **state)
{
	struct config config = nat_config();
	static struct session_rules_builder s;
	struct packet p = {
		.proto = IPPROTO_UDP, .src = RIG_UE, .dst = RIG_REMOTE, .sport = 1, .dport = 2};
	struct rte_mbuf *m;
	struct rig *rig;
	struct frame f, packet;

	(void)state;
	rig_add_networks(&config, 2);
	config.interface[config_port_of(1)].nat = (struct config_nat){0};
	rig = rig_of(&config, 1);
	rules_usual(&s, 7, RIG_UE, 0x700);
	s.network = s.far[0].network = 1;
	rules_install(rig, &s);
	build(&packet, &p);
	frame_gpdu_of(&f, NULL, 0x700, 9, &packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, config_port_of(1));
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->src_addr,
		rte_cpu_to_be_32(RIG_UE));
	rte_pktmbuf_free(m);
	// A public address of the one is nobody's in the other.
	p = (struct packet){.proto = IPPROTO_UDP,
		.src = RIG_REMOTE,
		.dst = PUBLIC + 1,
		.dport = map_udp(rig, 1, 5000)};
	build(&packet, &p);
	frame_eth(&f, &rig_gateway_mac, &packet);
	rig_inject(rig, config_port_of(1), f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_UNKNOWN_UE), 1);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static int
install(struct rig *rig, const struct session_rules_builder *s)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_put(&t, s);
	return transaction_do(rig, &t, NULL);
}

static void
blocks_are_checked(void **state)
{
	struct config config = nat_config();
	static struct session_rules_builder s;
	static char text[8192];
	struct rig *rig;
	size_t length;

	(void)state;
	rig_add_networks(&config, 2);
	config.interface[config_port_of(1)].nat = (struct config_nat){0};
	rig = rig_of(&config, 1);
	length = show_session(&rig->base, 2, text, sizeof(text) - 1);
	text[length] = '\0';
	assert_non_null(
		strstr(text, "\"nat44\":{\"address\":\"203.0.113.9\",\"ports\":\"2112-2175\"}"));
	rules_of(&s, 3);
	s.nat_port = BLOCK;
	assert_int_equal(install(rig, &s), EEXIST);
	assert_int_equal(rig->refusal.what, UPF_REFUSED_NAT);
	assert_int_equal(rig->refusal.holder, 1);
	s.nat_addr = PUBLIC + 2;
	assert_int_equal(install(rig, &s), 0);
	for (unsigned i = 0; i < 6; i++) {
		rules_of(&s, 4);
		switch (i) {
		case 0: // it begins nowhere
			s.nat_port++;
			break;
		case 1:
			s.nat_port = UPF_NAT_FIRST_PORT - PORTS;
			break;
		case 2:
			s.nat_addr = PUBLIC + 4;
			break;
		case 3: // there is no NAT44
			s.network = s.far[0].network = 1;
			break;
		case 4: // nobody to hide
			s.pdr[0].flags &= (uint8_t)~UPF_PDR_UE_IPV4;
			s.pdr[1].flags &= (uint8_t)~UPF_PDR_UE_IPV4;
			break;
		default: // ports of no address
			s.nat_addr = 0;
		}
		assert_int_equal(install(rig, &s), EINVAL);
	}
	// One that is given up is free.
	rules_of(&s, 1);
	s.nat_port = BLOCK + 8 * PORTS;
	assert_int_equal(install(rig, &s), 0);
	rules_of(&s, 4);
	s.nat_port = BLOCK;
	assert_int_equal(install(rig, &s), 0);
	rig_free(rig);
}

int
test_nat(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_go_and_come),
		cmocka_unit_test(a_udp_checksum_of_0_is_sent_as_ffff),
		cmocka_unit_test(a_mapping_is_the_same_for_all_remotes_and_open_to_all),
		cmocka_unit_test(two_ues_with_one_port_are_told_apart),
		cmocka_unit_test(ports_with_the_same_lowest_bits_get_the_next_ones),
		cmocka_unit_test(ipv6_goes_as_it_is),
		cmocka_unit_test(framed_routes_share_the_block),
		cmocka_unit_test(without_a_block_nothing_leaves),
		cmocka_unit_test(a_full_block_is_one_protocol_s),
		cmocka_unit_test(a_full_block_is_remembered_for_a_second),
		cmocka_unit_test(a_full_table_is_told_from_a_full_block),
		cmocka_unit_test(what_no_mapping_has_does_not_come_in),
		cmocka_unit_test(other_protocols_and_what_is_cut_off_are_refused),
		cmocka_unit_test(ues_reach_each_other_s_public_ports_where_ues_may),
		cmocka_unit_test(udp_lives_from_the_ue_s_last_packet),
		cmocka_unit_test(tcp_lives_as_its_connection_does),
		cmocka_unit_test(an_ended_session_s_mappings_are_given_back),
		cmocka_unit_test(the_table_is_what_a_plain_account_says),
		cmocka_unit_test(fragments_are_put_together_before),
		cmocka_unit_test(errors_from_outside_are_about_the_ue_s_packet),
		cmocka_unit_test(errors_of_the_ue_are_about_what_came),
		cmocka_unit_test(errors_about_nothing_of_ours_are_refused),
		cmocka_unit_test(errors_to_another_address_than_they_are_about_are_refused),
		cmocka_unit_test(our_errors_do_not_tell_the_ue_s_address),
		cmocka_unit_test(a_ue_hears_of_what_did_not_leave),
		cmocka_unit_test(any_worker_may_receive_it),
		cmocka_unit_test(packets_wait_for_an_idle_ue),
		cmocka_unit_test(packets_wait_for_their_rate),
		cmocka_unit_test(a_network_instance_beside_is_left_alone),
		cmocka_unit_test(blocks_are_checked),
	};

	return cmocka_run_group_tests_name("nat", tests, NULL, NULL);
}
