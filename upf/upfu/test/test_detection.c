// Applications by domain: what tells them, which packets are theirs then, how long, and what nobody can make the UPF believe or
// keep.
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_tcp.h>
#include <rte_udp.h>

#include "control/show.h"
#include "frames.h"
#include "hellos.h"
#include "packet/detection.h"
#include "packet/detection_state.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define VIDEO UINT64_C(0x1122334455667788)
#define SOCIAL UINT64_C(0x8877665544332211)
#define BY_BOTH (UPF_DOMAIN_DNS | UPF_DOMAIN_TLS)
#define AND_BELOW (UPF_DOMAIN_ITSELF | UPF_DOMAIN_BELOW)
#define HTTPS 443u
#define RESOLVER RIG_IP(9, 9, 9, 9)

// URR slots of a session: of its default PDRs, and of its applications.
enum counted { DEFAULT, OF_VIDEO, OF_SOCIAL };

static const struct domain_of domains[] = {
	{VIDEO, "video.example", BY_BOTH | AND_BELOW},
	{SOCIAL, "social.example", BY_BOTH | AND_BELOW},
};

// ---- the UPF -----------------------------------------------------------------------------------

// PDRs 3 and 4 of video, 5 and 6 of social, 1 and 2 of the rest.
static void
rules_of(struct session_rules_builder *s, uint32_t session)
{
	rules_usual(s, session, RIG_UE + session - 1, TEID + session);
	for (unsigned i = 0; i < 2; i++) {
		s->pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s->pdr[i].ue_prefix, rig_ue6, 8);
		s->pdr[i].ue_prefix[7] = (uint8_t)(rig_ue6[7] + session - 1);
		s->pdr[i].ue_prefix_len = 64;
		s->pdr[4 + i] = s->pdr[i];
	}
	s->n_pdr = 6;
	s->n_urr = 3;
	for (unsigned i = 0; i < 4; i++) {
		s->pdr[i] = s->pdr[4 + i % 2];
		s->pdr[i].precedence = 100 + i / 2;
		s->pdr[i].pdr_id = (uint16_t)(3 + i);
		s->pdr[i].flags |= UPF_PDR_SDF;
		s->pdr[i].application = (uint8_t)(1 + i / 2);
		s->pdr[i].urr[0] = (uint16_t)(1 + i / 2);
	}
	for (unsigned i = 0; i < 3; i++)
		s->urr[i] = (struct upf_urr){
			.urr_id = 1 + i, .slot = session * 4 + i, .quota_far = UPF_NONE16};
	s->n_application = 2;
	s->application[0] = VIDEO;
	s->application[1] = SOCIAL;
}

static int
describe(struct rig *rig, const struct domain_of *list, unsigned n)
{
	static struct transaction t;

	transaction_begin(&t);
	transaction_domains(&t, list, n);
	return transaction_do(rig, &t, NULL);
}

static struct rig *
rig_of(unsigned workers)
{
	struct config config = rig_config6();
	static struct session_rules_builder s;
	struct rig *rig;

	config.limits.detected = 1024;
	rig = rig_create_with(&config, workers, true);
	assert_int_equal(describe(rig, domains, 2), 0);
	for (uint32_t session = 1; session <= 2; session++) {
		rules_of(&s, session);
		rules_install(rig, &s);
	}
	return rig;
}

static const struct upf_local_stats *
stats(const struct rig *rig)
{
	return &rig->shm.workers[0].local;
}

// ---- packets -----------------------------------------------------------------------------------

struct end {
	uint32_t session;
	bool ip6;
	uint8_t proto;
	uint32_t remote; // IPv4; of IPv6 its last octet is the remote's
	uint16_t port, remote_port;
};

static const struct end to_server = {.session = 1,
	.proto = IPPROTO_TCP,
	.remote = RIG_REMOTE,
	.port = 4000,
	.remote_port = HTTPS};

static void
build(struct frame *f, const struct end *e, enum upf_direction direction, uint32_t sequence,
	uint8_t flags, const void *payload, size_t n)
{
	size_t header = e->ip6 ? 40 : 20, l4_header = e->proto == IPPROTO_TCP ? 20 : 8;
	uint8_t *l4 = f->data + header;
	uint16_t length = (uint16_t)(l4_header + n);
	bool up = direction == UPF_UL;

	memset(f->data, 0, header + l4_header);
	if (e->ip6) {
		struct ipv6_header *ip = (void *)f->data;
		upf_addr ue, remote;

		memcpy(ue, rig_ue6, sizeof(ue));
		ue[7] = (uint8_t)(rig_ue6[7] + e->session - 1);
		memcpy(remote, rig_remote6, sizeof(remote));
		remote[15] = (uint8_t)e->remote;
		*ip = (struct ipv6_header){
			.version_class_flow = rte_cpu_to_be_32(6u << 28 | 0x12345),
			.payload_len = rte_cpu_to_be_16(length),
			.next = e->proto,
			.hop_limit = 64};
		memcpy(ip->src, up ? ue : remote, sizeof(ue));
		memcpy(ip->dst, up ? remote : ue, sizeof(ue));
	} else {
		struct rte_ipv4_hdr *ip = (void *)f->data;
		rte_be32_t ue = rte_cpu_to_be_32(RIG_UE + e->session - 1),
			   remote = rte_cpu_to_be_32(e->remote);

		*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16((uint16_t)(header + length)),
			.time_to_live = 64,
			.next_proto_id = e->proto,
			.src_addr = up ? ue : remote,
			.dst_addr = up ? remote : ue};
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	if (e->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (void *)l4;

		tcp->src_port = rte_cpu_to_be_16(up ? e->port : e->remote_port);
		tcp->dst_port = rte_cpu_to_be_16(up ? e->remote_port : e->port);
		tcp->sent_seq = rte_cpu_to_be_32(sequence);
		tcp->data_off = 5 << 4;
		tcp->tcp_flags = flags;
	} else {
		struct rte_udp_hdr *udp = (void *)l4;

		udp->src_port = rte_cpu_to_be_16(up ? e->port : e->remote_port);
		udp->dst_port = rte_cpu_to_be_16(up ? e->remote_port : e->port);
		udp->dgram_len = rte_cpu_to_be_16(length);
	}
	if (n != 0)
		memcpy(l4 + l4_header, payload, n);
	f->length = header + length;
}

static void
send_frame(struct rig *rig, enum upf_direction direction, const struct end *e,
	const struct frame *packet)
{
	struct frame f;

	if (direction == UPF_UL)
		frame_gpdu_of(&f, NULL, TEID + e->session, 9, packet);
	else
		frame_eth(&f, &rig_gateway_mac, packet);
	rig_inject(rig, direction == UPF_UL ? UPF_PORT_N3 : UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_count_sent(rig, direction == UPF_UL ? UPF_PORT_N6 : UPF_PORT_N3), 1);
}

// A packet that gets through; as which it was counted.
static enum counted
counted_as(struct rig *rig, enum upf_direction direction, const struct end *e, uint32_t sequence,
	uint8_t flags, const void *payload, size_t n)
{
	uint64_t before[3];
	struct frame f;
	int as = -1;

	for (uint32_t i = 0; i < 3; i++)
		before[i] = rig_urr(rig, e->session * 4 + i, direction)->packets;
	build(&f, e, direction, sequence, flags, payload, n);
	send_frame(rig, direction, e, &f);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t now = rig_urr(rig, e->session * 4 + i, direction)->packets;

		if (now == before[i])
			continue;
		assert_int_equal(now, before[i] + 1);
		assert_int_equal(as, -1);
		as = (int)i;
	}
	assert_int_not_equal(as, -1);
	return (enum counted)as;
}

// Packets of both directions without anything in them.
static enum counted
flow_is(struct rig *rig, const struct end *e)
{
	enum counted up = counted_as(rig, UPF_UL, e, 0, RTE_TCP_ACK_FLAG, NULL, 0);

	assert_int_equal(counted_as(rig, UPF_DL, e, 0, RTE_TCP_ACK_FLAG, NULL, 0), up);
	return up;
}

static enum counted
say_hello(struct rig *rig, const struct end *e, const char *name)
{
	struct octets message, stream;

	hello_tls(&message, name, 30, 30);
	hello_records(&stream, &message, 4096);
	return counted_as(rig, UPF_UL, e, 1000, RTE_TCP_ACK_FLAG, stream.at, stream.n);
}

static enum counted
say_quic_hello(struct rig *rig, const struct end *e, unsigned version, const char *name)
{
	struct octets message, frames = {0}, datagram;

	hello_tls(&message, name, 30, 30);
	hello_crypto_frame(&frames, &message, 50, message.n - 50);
	hello_crypto_frame(&frames, &message, 0, 50);
	hello_quic(&datagram, version, 1, &frames, 1200);
	return counted_as(rig, UPF_UL, e, 0, 0, datagram.at, datagram.n);
}

static struct end
udp_of(uint16_t port, uint16_t remote_port)
{
	struct end e = to_server;

	e.proto = IPPROTO_UDP;
	e.port = port;
	e.remote_port = remote_port;
	return e;
}

// So much time goes by.
static void
age(struct rig *rig, uint64_t seconds)
{
	for (unsigned i = 0; i < rig->config.workers; i++) {
		struct detection *d = rig->worker[i]->detection;

		for (uint32_t j = 1; j < d->size; j++) {
			if (d->entry[j].until == 0)
				continue;
			d->entry[j].until -= seconds * rig->worker[i]->tsc_hz;
			d->entry[j].seen -= seconds * rig->worker[i]->tsc_hz;
		}
		d->second += 2; // the session's looks begin anew
		d->quic_left = WORKER_QUIC;
	}
}

// ---- TLS ---------------------------------------------------------------------------------------

static void
a_client_hello_makes_its_connection_the_application_s(void **state)
{
	struct rig *rig = rig_of(1);

	(void)state;
	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		struct end e = to_server, other = to_server, neighbour = to_server;

		e.ip6 = other.ip6 = neighbour.ip6 = ip6;
		other.port++;
		neighbour.session = 2;
		assert_int_equal(
			counted_as(rig, UPF_UL, &e, 999, RTE_TCP_SYN_FLAG, NULL, 0), DEFAULT);
		assert_int_equal(flow_is(rig, &e), DEFAULT);
		assert_int_equal(say_hello(rig, &e, "cdn.Video.example"), OF_VIDEO);
		assert_int_equal(flow_is(rig, &e), OF_VIDEO);
		assert_int_equal(flow_is(rig, &other), DEFAULT);
		assert_int_equal(flow_is(rig, &neighbour), DEFAULT);
		assert_int_equal(say_hello(rig, &other, "social.example"), OF_SOCIAL);
		assert_int_equal(flow_is(rig, &other), OF_SOCIAL);
		assert_int_equal(say_hello(rig, &neighbour, "www.example"), DEFAULT);
		assert_int_equal(flow_is(rig, &neighbour), DEFAULT);
		// Another connection with the same ports.
		assert_int_equal(
			counted_as(rig, UPF_UL, &e, 7, RTE_TCP_SYN_FLAG, NULL, 0), DEFAULT);
		assert_int_equal(flow_is(rig, &e), DEFAULT);
	}
	assert_int_equal(stats(rig)->detected_tls, 4);
	assert_int_equal(stats(rig)->detected_now, 2);
	assert_int_equal(stats(rig)->detection_unread, 0);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
a_client_hello_may_take_several_segments(void **state)
{
	struct rig *rig = rig_of(1);
	struct octets message, stream;

	(void)state;
	hello_tls(&message, "video.example", 1200,
		900); // a post-quantum key stands in front of the name
	hello_records(&stream, &message, 4096);
	for (size_t segment = 400; segment <= 1400; segment += 250) {
		struct end e = to_server;
		uint32_t first = UINT32_MAX - 700; // sequence numbers begin anew amid it
		enum counted last = DEFAULT;

		e.port = (uint16_t)(5000 + segment);
		for (size_t at = 0; at < stream.n; at += segment) {
			size_t n = stream.n - at < segment ? stream.n - at : segment;
			enum counted now = counted_as(rig, UPF_UL, &e, first + (uint32_t)at,
				RTE_TCP_ACK_FLAG, stream.at + at, n);

			assert_true(now == OF_VIDEO || (now == DEFAULT && last == DEFAULT));
			// What does not continue it is none of it.
			if (now == DEFAULT)
				assert_int_equal(counted_as(rig, UPF_UL, &e, first + 9000,
							 RTE_TCP_ACK_FLAG, "x", 1),
					DEFAULT);
			last = now;
		}
		assert_int_equal(last, OF_VIDEO);
		assert_int_equal(flow_is(rig, &e), OF_VIDEO);
	}
	assert_int_equal(stats(rig)->detection_unread, 0);
	rig_free(rig);
}

static void
what_cannot_be_read_is_counted(void **state)
{
	struct rig *rig = rig_of(1);
	struct octets message, stream;
	struct end e = to_server, quic = udp_of(4000, HTTPS);
	uint8_t datagram[1200] = {0xc3, 0, 0, 0, 1, 8};

	(void)state;
	assert_int_equal(say_hello(rig, &e, NULL), DEFAULT);
	assert_int_equal(stats(rig)->detection_unread, 1);
	e.port++;
	assert_int_equal(counted_as(rig, UPF_UL, &e, 1, RTE_TCP_ACK_FLAG,
				 "\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9),
		DEFAULT);
	assert_int_equal(stats(rig)->detection_unread, 2);
	// Longer than what is kept of one.
	hello_tls(&message, "video.example", 5000, 0);
	hello_records(&stream, &message, 8192);
	e.port++;
	for (size_t at = 0; at < stream.n; at += 1000)
		assert_int_equal(
			counted_as(rig, UPF_UL, &e, (uint32_t)at, RTE_TCP_ACK_FLAG, stream.at + at,
				stream.n - at < 1000 ? stream.n - at : 1000),
			DEFAULT);
	assert_int_equal(stats(rig)->detection_unread, 3);
	assert_int_equal(counted_as(rig, UPF_UL, &quic, 0, 0, datagram, sizeof(datagram)), DEFAULT);
	assert_int_equal(stats(rig)->detection_unread, 4);
	assert_int_equal(stats(rig)->detected_now, 0);
	rig_free(rig);
}

// ---- QUIC --------------------------------------------------------------------------------------

static void
an_initial_packet_makes_its_flow_the_application_s(void **state)
{
	struct rig *rig = rig_of(1);

	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		for (unsigned ip6 = 0; ip6 < 2; ip6++) {
			struct end e = udp_of((uint16_t)(6000 + version), HTTPS);

			e.ip6 = ip6;
			assert_int_equal(flow_is(rig, &e), DEFAULT);
			assert_int_equal(
				say_quic_hello(rig, &e, version, "www.video.example"), OF_VIDEO);
			assert_int_equal(flow_is(rig, &e), OF_VIDEO);
			e.port += 10;
			assert_int_equal(say_quic_hello(rig, &e, version, "www.example"), DEFAULT);
			assert_int_equal(flow_is(rig, &e), DEFAULT);
		}
	}
	assert_int_equal(stats(rig)->detected_quic, 4);
	assert_int_equal(stats(rig)->detected_now, 4);
	assert_int_equal(stats(rig)->detection_unread, 0);
	rig_free(rig);
}

// The second packet comes first, and an acknowledgement between them.
static void
a_client_hello_may_take_several_initial_packets(void **state)
{
	struct rig *rig = rig_of(1);
	struct end e = udp_of(6000, HTTPS);
	struct octets message, frames, datagram, ack = {.n = 5, .at = {2, 0, 0, 0, 0}};

	(void)state;
	hello_tls(&message, "video.example", 1300, 300);
	frames.n = 0;
	hello_crypto_frame(&frames, &message, 900, message.n - 900);
	hello_quic(&datagram, 1, 1, &frames, 1200);
	assert_int_equal(counted_as(rig, UPF_UL, &e, 0, 0, datagram.at, datagram.n), DEFAULT);
	hello_quic(&datagram, 1, 2, &ack, 1200);
	assert_int_equal(counted_as(rig, UPF_UL, &e, 0, 0, datagram.at, datagram.n), DEFAULT);
	assert_int_equal(flow_is(rig, &e), DEFAULT);
	frames.n = 0;
	hello_crypto_frame(&frames, &message, 0, 900);
	hello_quic(&datagram, 1, 0, &frames, 1200);
	assert_int_equal(counted_as(rig, UPF_UL, &e, 0, 0, datagram.at, datagram.n), OF_VIDEO);
	assert_int_equal(flow_is(rig, &e), OF_VIDEO);
	assert_int_equal(stats(rig)->detection_unread, 0);
	rig_free(rig);
}

// ---- DNS ---------------------------------------------------------------------------------------

struct lookup {
	struct end resolver;
	uint16_t id, type;
	const char *name;
	uint32_t ttl;
	uint8_t address[16];
};

static struct lookup
lookup_of(const char *name, uint32_t address, uint32_t ttl)
{
	struct lookup l = {
		.resolver = udp_of(7000, 53), .id = 77, .type = 1, .name = name, .ttl = ttl};
	rte_be32_t be = rte_cpu_to_be_32(address);

	l.resolver.remote = RESOLVER;
	memcpy(l.address, &be, sizeof(be));
	return l;
}

static void
ask(struct rig *rig, const struct lookup *l)
{
	struct octets m;

	hello_dns_question(&m, l->id, l->type, l->name);
	counted_as(rig, UPF_UL, &l->resolver, 0, 0, m.at, m.n);
}

static void
answer(struct rig *rig, const struct lookup *l)
{
	struct octets m;

	hello_dns_question(&m, l->id, l->type, l->name);
	hello_dns_answer(&m);
	hello_dns_alias(&m, NULL, l->ttl, "a.cdn.example");
	hello_dns_record(&m, "a.cdn.example", l->type, l->ttl, l->address, l->type == 1 ? 4 : 16);
	counted_as(rig, UPF_DL, &l->resolver, 0, 0, m.at, m.n);
}

static void
an_answer_makes_its_address_the_application_s(void **state)
{
	struct rig *rig = rig_of(1);
	struct lookup l = lookup_of("video.example", RIG_REMOTE, 600);
	struct end udp = udp_of(1, 2), other = to_server, neighbour = to_server;

	(void)state;
	other.remote++;
	neighbour.session = 2;
	ask(rig, &l);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	answer(rig, &l);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	assert_int_equal(flow_is(rig, &udp), OF_VIDEO);
	assert_int_equal(flow_is(rig, &other), DEFAULT);
	assert_int_equal(flow_is(rig, &neighbour), DEFAULT);
	assert_int_equal(stats(rig)->detected_dns, 1);
	// The same address of another name: it is of both, and the first PDR takes it.
	l = lookup_of("social.example", RIG_REMOTE, 600);
	ask(rig, &l);
	answer(rig, &l);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	assert_int_equal(stats(rig)->detected_now, 1);
	// While its time to live lasts, and two minutes behind its last packet.
	age(rig, 500);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	age(rig, 110);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	age(rig, 121);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	// IPv6
	l = lookup_of("www.video.example", 0, 30);
	l.type = 28;
	memcpy(l.address, rig_remote6, 16);
	l.address[15] = 0x77;
	l.resolver.ip6 = other.ip6 = true;
	other.remote = 0x77;
	ask(rig, &l);
	answer(rig, &l);
	assert_int_equal(flow_is(rig, &other), OF_VIDEO);
	other.remote++;
	assert_int_equal(flow_is(rig, &other), DEFAULT);
	rig_free(rig);
}

static void
nobody_answers_what_was_not_asked(void **state)
{
	struct rig *rig = rig_of(1);
	const struct lookup asked = lookup_of("video.example", RIG_REMOTE, 600);
	struct lookup forged;

	(void)state;
	answer(rig, &asked);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	ask(rig, &asked);
	forged = asked;
	forged.id++;
	answer(rig, &forged);
	forged = asked;
	forged.resolver.remote++;
	answer(rig, &forged);
	forged = asked;
	forged.resolver.port++;
	answer(rig, &forged);
	forged = asked;
	forged.resolver.session = 2;
	answer(rig, &forged);
	forged = asked;
	forged.name = "www.video.example";
	answer(rig, &forged);
	forged = asked;
	forged.resolver.remote_port++;
	answer(rig, &forged);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	assert_int_equal(stats(rig)->detected_dns, 0);
	answer(rig, &asked);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	// Once.
	forged = lookup_of("video.example", RIG_REMOTE + 1, 600);
	answer(rig, &forged);
	assert_int_equal(stats(rig)->detected_dns, 1);
	// In time.
	ask(rig, &forged);
	age(rig, 11);
	answer(rig, &forged);
	assert_int_equal(stats(rig)->detected_dns, 1);
	// The UE itself cannot answer, nor does a question that comes down count.
	ask(rig, &forged);
	{
		struct octets m;

		hello_dns_question(&m, forged.id, 1, forged.name);
		hello_dns_answer(&m);
		hello_dns_record(&m, NULL, 1, 600, forged.address, 4);
		counted_as(rig, UPF_UL, &forged.resolver, 0, 0, m.at, m.n);
	}
	assert_int_equal(stats(rig)->detected_dns, 1);
	rig_free(rig);
}

// ---- domains -----------------------------------------------------------------------------------

static void
a_domain_says_what_and_by_what(void **state)
{
	static const struct {
		const char *domain;
		uint8_t flags;
		const char *name;
		bool tls, dns;
	} cases[] = {
		{"a.example", BY_BOTH | AND_BELOW, "a.example", true, true},
		{"a.example", BY_BOTH | AND_BELOW, "x.y.a.example", true, true},
		{"a.example", BY_BOTH | AND_BELOW, "ba.example", false, false},
		{"a.example", BY_BOTH | AND_BELOW, "example", false, false},
		{"a.example", BY_BOTH | AND_BELOW, "a.example.com", false, false},
		{"a.example", BY_BOTH | UPF_DOMAIN_BELOW, "a.example", false, false},
		{"a.example", BY_BOTH | UPF_DOMAIN_BELOW, "x.a.example", true, true},
		{"a.example", BY_BOTH | UPF_DOMAIN_ITSELF, "a.example", true, true},
		{"a.example", BY_BOTH | UPF_DOMAIN_ITSELF, "x.a.example", false, false},
		{"a.example", UPF_DOMAIN_TLS | AND_BELOW, "a.example", true, false},
		{"a.example", UPF_DOMAIN_DNS | AND_BELOW, "a.example", false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *rig = rig_of(1);
		const struct domain_of domain = {VIDEO, cases[i].domain, cases[i].flags};
		struct lookup l = lookup_of(cases[i].name, RIG_REMOTE + 1, 60);
		struct end e = to_server, quic = udp_of(1, HTTPS);

		assert_int_equal(describe(rig, &domain, 1), 0);
		assert_int_equal(
			say_hello(rig, &e, cases[i].name), cases[i].tls ? OF_VIDEO : DEFAULT);
		assert_int_equal(say_quic_hello(rig, &quic, 1, cases[i].name),
			cases[i].tls ? OF_VIDEO : DEFAULT);
		ask(rig, &l);
		answer(rig, &l);
		e.remote = RIG_REMOTE + 1;
		assert_int_equal(flow_is(rig, &e), cases[i].dns ? OF_VIDEO : DEFAULT);
		rig_free(rig);
	}
}

static void
applications_outlive_new_rules_and_new_domains(void **state)
{
	struct rig *rig = rig_of(1);
	static struct session_rules_builder s;
	struct end other = to_server;

	(void)state;
	other.port++;
	assert_int_equal(say_hello(rig, &to_server, "social.example"), OF_SOCIAL);
	// The other way round, and with a third one in front.
	rules_of(&s, 1);
	s.n_application = 3;
	s.application[0] = 5;
	s.application[1] = SOCIAL;
	s.application[2] = VIDEO;
	for (unsigned i = 0; i < 4; i++)
		s.pdr[i].application = i < 2 ? 3 : 2;
	rules_install(rig, &s);
	assert_int_equal(flow_is(rig, &to_server), OF_SOCIAL);
	assert_int_equal(say_hello(rig, &other, "video.example"), OF_VIDEO);
	// Without the application what was its is the others'.
	rules_usual(&s, 1, RIG_UE, TEID + 1);
	s.urr[0].slot = 4;
	s.pdr[0].flags |= UPF_PDR_UE_IPV6;
	memcpy(s.pdr[0].ue_prefix, rig_ue6, 8);
	s.pdr[0].ue_prefix_len = 64;
	rules_install(rig, &s);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	rules_of(&s, 1);
	rules_install(rig, &s);
	assert_int_equal(flow_is(rig, &to_server), OF_SOCIAL);
	// No domains any more: nothing new.
	assert_int_equal(describe(rig, NULL, 0), 0);
	assert_int_equal(flow_is(rig, &to_server), OF_SOCIAL);
	other.port++;
	assert_int_equal(say_hello(rig, &other, "video.example"), DEFAULT);
	rig_free(rig);
}

static void
a_name_may_be_of_several_applications(void **state)
{
	struct rig *rig = rig_of(1);
	static struct session_rules_builder s;
	const struct domain_of both[] = {
		{VIDEO, "example", BY_BOTH | AND_BELOW},
		{SOCIAL, "social.example", BY_BOTH | AND_BELOW},
		{9, "social.example", BY_BOTH | AND_BELOW}, // of no PDR of the session
	};

	(void)state;
	assert_int_equal(describe(rig, both, 3), 0);
	assert_int_equal(say_hello(rig, &to_server, "www.social.example"), OF_VIDEO);
	rules_of(&s, 1);
	for (unsigned i = 0; i < 2; i++)
		s.pdr[i].flags |= UPF_PDR_QFI, s.pdr[i].qfi = 5; // the PDRs of video do not match
	rules_install(rig, &s);
	assert_int_equal(
		counted_as(rig, UPF_UL, &to_server, 0, RTE_TCP_ACK_FLAG, NULL, 0), OF_SOCIAL);
	rig_free(rig);
}

static void
damaged_records_are_refused(void **state)
{
	static const struct domain_of wrong[] = {
		{VIDEO, "", BY_BOTH | AND_BELOW},
		{VIDEO, "Video.example", BY_BOTH | AND_BELOW},
		{VIDEO, "video*.example", BY_BOTH | AND_BELOW},
		{VIDEO, "video.example", BY_BOTH},
		{VIDEO, "video.example", AND_BELOW},
		{VIDEO, "video.example", 0xff},
	};
	struct rig *rig = rig_of(1);
	static struct session_rules_builder s;
	static struct transaction t;
	struct upf_domains *head = (void *)(t.bytes + sizeof(t.msg));
	struct upf_domain *first = (void *)(head + 1);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(describe(rig, &wrong[i], 1), EINVAL);
	for (unsigned i = 0; i < 4; i++) {
		transaction_begin(&t);
		transaction_domains(&t, domains, 2);
		switch (i) {
		case 0:
			first->text_first = 28;
			break;
		case 1:
			head->text_len += 8;
			break;
		case 2:
			head->n = UPF_DOMAINS_MAX + 1;
			break;
		default:
			first->text_first = UINT32_MAX;
		}
		assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	}
	assert_int_equal(say_hello(rig, &to_server, "video.example"), OF_VIDEO);
	for (unsigned i = 0; i < 3; i++) {
		rules_of(&s, 1);
		if (i == 0)
			s.pdr[0].application = 3;
		else if (i == 1)
			s.pdr[0].flags &= (uint8_t)~UPF_PDR_SDF;
		else
			s.n_application = UPF_SESSION_APPLICATIONS + 1;
		transaction_begin(&t);
		transaction_put(&t, &s);
		assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	}
	rig_free(rig);
}

// ---- what upf-c hears ----------------------------------------------------------------------------

// The session's applications, of which upf-c hears where they are quiet for so long.
static struct rig *
rig_told(uint32_t video_ms, uint32_t social_ms)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_of(1);

	rules_of(&s, 1);
	s.quiet_ms[0] = video_ms;
	s.quiet_ms[1] = social_ms;
	rules_install(rig, &s);
	return rig;
}

// The next event, which is about session 1.
static struct upf_ev_flow
told(struct rig *rig, uint64_t application, uint8_t flags)
{
	struct event event;

	assert_true(rig_event(rig, &event));
	assert_int_equal(event.rec.type, UPF_REC_EV_FLOW);
	assert_int_equal(event.rec.length, sizeof(event.flow));
	assert_int_equal(event.flow.application, application);
	assert_int_equal(event.flow.session, 1);
	assert_int_equal(event.flow.flags, flags);
	return event.flow;
}

static void
assert_told_nothing(struct rig *rig)
{
	struct event event;

	assert_false(rig_event(rig, &event));
}

static void
upfc_hears_of_a_flow_s_begin_and_end(void **state)
{
	struct rig *rig = rig_told(5000, 0);
	struct end other = to_server;
	struct upf_ev_flow begun, again;
	rte_be32_t remote = rte_cpu_to_be_32(RIG_REMOTE), local = rte_cpu_to_be_32(RIG_UE);

	(void)state;
	other.port++;
	// Nobody asks for the other application, nor for another session's.
	assert_int_equal(say_hello(rig, &other, "social.example"), OF_SOCIAL);
	other.session = 2;
	assert_int_equal(say_hello(rig, &other, "video.example"), OF_VIDEO);
	assert_told_nothing(rig);
	assert_int_equal(say_hello(rig, &to_server, "video.example"), OF_VIDEO);
	begun = told(rig, VIDEO, 0);
	assert_memory_equal(begun.remote, &remote, sizeof(remote));
	assert_memory_equal(begun.local, &local, sizeof(local));
	assert_int_equal(begun.remote_port, HTTPS);
	assert_int_equal(begun.local_port, 4000);
	assert_int_equal(begun.proto, IPPROTO_TCP);
	// Once, while packets come.
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
		age(rig, 4);
		detection_tick(rig->worker[0]);
	}
	assert_told_nothing(rig);
	age(rig, 2);
	detection_tick(rig->worker[0]);
	again = told(rig, VIDEO, UPF_FLOW_GONE);
	assert_int_equal(again.instance, begun.instance);
	assert_int_equal(again.local_port, 4000);
	detection_tick(rig->worker[0]);
	assert_told_nothing(rig);
	// What comes then is another one.
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	again = told(rig, VIDEO, 0);
	assert_int_not_equal(again.instance, begun.instance);
	// Another connection with the same ports: the one before is over.
	assert_int_equal(
		counted_as(rig, UPF_UL, &to_server, 7, RTE_TCP_SYN_FLAG, NULL, 0), DEFAULT);
	assert_int_equal(told(rig, VIDEO, UPF_FLOW_GONE).instance, again.instance);
	assert_told_nothing(rig);
	rig_free(rig);
}

static void
upfc_hears_of_addresses_when_packets_come(void **state)
{
	struct rig *rig = rig_told(5000, 0);
	struct lookup l = lookup_of("video.example", RIG_REMOTE + 1, 600);
	struct end e = to_server;
	struct upf_ev_flow begun;
	rte_be32_t remote = rte_cpu_to_be_32(RIG_REMOTE + 1);
	static const upf_addr any;

	(void)state;
	ask(rig, &l);
	answer(rig, &l);
	assert_told_nothing(rig);
	e.remote = RIG_REMOTE + 1;
	assert_int_equal(flow_is(rig, &e), OF_VIDEO);
	e.port++; // one of many to there
	assert_int_equal(flow_is(rig, &e), OF_VIDEO);
	begun = told(rig, VIDEO, UPF_FLOW_ADDRESS);
	assert_memory_equal(begun.remote, &remote, sizeof(remote));
	assert_memory_equal(begun.local, any, sizeof(any));
	assert_told_nothing(rig);
	age(rig, 6);
	detection_tick(rig->worker[0]);
	assert_int_equal(
		told(rig, VIDEO, UPF_FLOW_ADDRESS | UPF_FLOW_GONE).instance, begun.instance);
	rig_free(rig);
}

static void
upfc_hears_of_ipv6_and_of_several_applications(void **state)
{
	const struct domain_of both[] = {
		{VIDEO, "example", BY_BOTH | AND_BELOW},
		{SOCIAL, "social.example", BY_BOTH | AND_BELOW},
	};
	struct rig *rig = rig_told(5000, 9000);
	struct end e = to_server;
	struct upf_ev_flow begun[2];

	(void)state;
	e.ip6 = true;
	e.remote = 0x53;
	assert_int_equal(describe(rig, both, 2), 0);
	assert_int_equal(say_hello(rig, &e, "www.social.example"), OF_VIDEO);
	begun[0] = told(rig, VIDEO, UPF_FLOW_IPV6);
	begun[1] = told(rig, SOCIAL, UPF_FLOW_IPV6);
	assert_memory_equal(begun[0].remote, rig_remote6, sizeof(upf_addr));
	assert_memory_equal(begun[1].local, rig_ue6, sizeof(upf_addr));
	// Those of one flow end together, by the shorter time.
	age(rig, 6);
	detection_tick(rig->worker[0]);
	assert_int_equal(
		told(rig, SOCIAL, UPF_FLOW_IPV6 | UPF_FLOW_GONE).instance, begun[1].instance);
	assert_int_equal(
		told(rig, VIDEO, UPF_FLOW_IPV6 | UPF_FLOW_GONE).instance, begun[0].instance);
	rig_free(rig);
}

static void
of_sessions_that_end_and_of_rules_that_change(void **state)
{
	struct rig *rig = rig_told(5000, 0);
	static struct session_rules_builder s;
	static struct transaction t;
	struct upf_ev_flow begun;

	(void)state;
	assert_int_equal(say_hello(rig, &to_server, "video.example"), OF_VIDEO);
	begun = told(rig, VIDEO, 0);
	// Nobody asks any more: it ends when it is quiet.
	rules_of(&s, 1);
	rules_install(rig, &s);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	age(rig, 31);
	detection_tick(rig->worker[0]);
	assert_int_equal(told(rig, VIDEO, UPF_FLOW_GONE).instance, begun.instance);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	assert_told_nothing(rig);
	// Of a session that is gone nothing is said.
	s.quiet_ms[0] = 5000;
	rules_install(rig, &s);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	told(rig, VIDEO, 0);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	age(rig, 4000);
	detection_tick(rig->worker[0]);
	assert_told_nothing(rig);
	assert_int_equal(stats(rig)->detected_now, 0);
	rig_free(rig);
}

// ---- time and room -----------------------------------------------------------------------------

static void
what_was_detected_comes_to_an_end(void **state)
{
	struct rig *rig = rig_of(1);
	struct end quic = udp_of(1, HTTPS);
	static struct transaction t;

	(void)state;
	say_hello(rig, &to_server, "video.example");
	say_quic_hello(rig, &quic, 1, "video.example");
	age(rig, 119);
	assert_int_equal(flow_is(rig, &quic), OF_VIDEO);
	age(rig, 121);
	assert_int_equal(flow_is(rig, &quic), DEFAULT);
	age(rig, 3000);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	age(rig, 3601);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	// The last packets of a connection are its, too.
	say_hello(rig, &to_server, "video.example");
	assert_int_equal(counted_as(rig, UPF_DL, &to_server, 1, RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG,
				 NULL, 0),
		OF_VIDEO);
	age(rig, 29);
	assert_int_equal(flow_is(rig, &to_server), OF_VIDEO);
	age(rig, 31);
	assert_int_equal(flow_is(rig, &to_server), DEFAULT);
	// Of a session that ends nothing stays, and the next one in its place finds nothing.
	say_hello(rig, &to_server, "video.example");
	say_quic_hello(rig, &quic, 1, "video.example");
	assert_int_equal(stats(rig)->detected_now, 2);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	for (unsigned i = 0; i < 10; i++)
		detection_tick(rig->worker[0]);
	assert_int_equal(stats(rig)->detected_now, 0);
	rig_free(rig);
}

// What one session has of the table, and of the time, is bounded; the other goes on.
static void
a_session_cannot_take_all(void **state)
{
	struct rig *rig = rig_of(1);
	struct end e = to_server, neighbour = to_server;
	uint64_t limited;

	(void)state;
	neighbour.session = 2;
	for (unsigned i = 0; i < DETECTED_LEAST + 20; i++) {
		e.port++;
		if (i % 100 == 0)
			age(rig, 0);
		assert_int_equal(say_hello(rig, &e, "video.example"),
			i < DETECTED_LEAST ? OF_VIDEO : DEFAULT);
	}
	assert_int_equal(stats(rig)->detected_now, DETECTED_LEAST);
	assert_int_equal(stats(rig)->detection_full, 20);
	assert_int_equal(stats(rig)->detection_limited, 0);
	assert_int_equal(say_hello(rig, &neighbour, "video.example"), OF_VIDEO);
	// A second's looks.
	rig->worker[0]->next_tick = UINT64_MAX;
	age(rig, 0);
	for (unsigned i = 0; i < SESSION_LOOKS + 10; i++) {
		e.port++;
		assert_int_equal(say_hello(rig, &e, "www.example"), DEFAULT);
	}
	limited = stats(rig)->detection_limited;
	assert_int_equal(limited, 10);
	neighbour.port++;
	assert_int_equal(say_hello(rig, &neighbour, "video.example"), OF_VIDEO);
	assert_int_equal(stats(rig)->detection_limited, limited);
	// And the worker's decryptions.
	age(rig, 0);
	rig->worker[0]->detection->quic_left = 1;
	e = udp_of(1, HTTPS);
	e.session = 2;
	assert_int_equal(say_quic_hello(rig, &e, 1, "video.example"), OF_VIDEO);
	e.port++;
	assert_int_equal(say_quic_hello(rig, &e, 1, "video.example"), DEFAULT);
	assert_int_equal(stats(rig)->detection_limited, limited + 1);
	rig_free(rig);
}

// Hellos that never become whole: a session that has many under way takes its own places.
static void
hellos_in_pieces_do_not_take_others_places(void **state)
{
	struct rig *rig = rig_of(1);
	struct end e = to_server, neighbour = to_server;
	struct octets message, stream;

	(void)state;
	neighbour.session = 2;
	hello_tls(&message, "video.example", 1200, 0);
	hello_records(&stream, &message, 4096);
	counted_as(rig, UPF_UL, &neighbour, 0, RTE_TCP_ACK_FLAG, stream.at, 1000);
	for (unsigned i = 0; i < HELLOS + 30; i++) {
		e.port++;
		counted_as(rig, UPF_UL, &e, 0, RTE_TCP_ACK_FLAG, stream.at, 1000);
	}
	// One place was the other's already.
	assert_int_equal(stats(rig)->detection_unread, 31);
	assert_int_equal(counted_as(rig, UPF_UL, &neighbour, 1000, RTE_TCP_ACK_FLAG,
				 stream.at + 1000, stream.n - 1000),
		OF_VIDEO);
	// The first of the many has lost its place, the last one has it.
	assert_int_equal(counted_as(rig, UPF_UL, &e, 1000, RTE_TCP_ACK_FLAG, stream.at + 1000,
				 stream.n - 1000),
		OF_VIDEO);
	e.port = (uint16_t)(to_server.port + 1);
	assert_int_equal(counted_as(rig, UPF_UL, &e, 1000, RTE_TCP_ACK_FLAG, stream.at + 1000,
				 stream.n - 1000),
		DEFAULT);
	age(rig, 6);
	for (unsigned i = 0; i < 10; i++)
		detection_tick(rig->worker[0]);
	assert_int_equal(stats(rig)->detected_now, 2);
	rig_free(rig);
}

static void
sessions_without_such_applications_are_not_looked_at(void **state)
{
	struct rig *rig = rig_of(1);
	static struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 1, RIG_UE, TEID + 1);
	s.urr[0].slot = 4;
	rules_install(rig, &s);
	assert_int_equal(say_hello(rig, &to_server, NULL), DEFAULT);
	assert_int_equal(say_hello(rig, &to_server, "video.example"), DEFAULT);
	assert_int_equal(stats(rig)->detection_unread, 0);
	assert_int_equal(stats(rig)->detected_now, 0);
	rig_free(rig);
}

// A session's packets come to one worker, whichever receives them.
static void
any_worker_may_receive_it(void **state)
{
	struct rig *rig = rig_of(2);

	(void)state;
	for (uint32_t session = 1; session <= 2; session++) {
		struct end e = to_server;

		e.session = session;
		for (unsigned worker = 0; worker < 2; worker++) {
			struct octets message, stream;
			struct frame packet, f;

			e.port++;
			hello_tls(&message, "video.example", 0, 0);
			hello_records(&stream, &message, 4096);
			build(&packet, &e, UPF_UL, 0, RTE_TCP_ACK_FLAG, stream.at, stream.n);
			frame_gpdu_of(&f, NULL, TEID + session, 9, &packet);
			rig_inject_to(rig, worker, UPF_PORT_N3, f.data, f.length);
			rig_poll(rig);
			assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 1);
			assert_int_equal(flow_is(rig, &e), OF_VIDEO);
		}
	}
	rig_free(rig);
}

// ---- what is shown -----------------------------------------------------------------------------

static void *
poll_until(void *context)
{
	struct rig *rig = context;

	while (__atomic_load_n(&rig->stop, __ATOMIC_RELAXED) == 0)
		worker_poll(rig->worker[0]);
	return NULL;
}

static void
assert_shows(struct rig *rig, uint32_t session, const char *what)
{
	static char text[UPF_MSG_MAX];
	pthread_t worker;

	rig->stop = 0;
	assert_int_equal(pthread_create(&worker, NULL, poll_until, rig), 0);
	text[show_session(&rig->base, session, text, sizeof(text) - 1)] = '\0';
	__atomic_store_n(&rig->stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(worker, NULL), 0);
	if (strstr(text, what) == NULL)
		fail_msg("no %s in %s", what, text);
}

static void
a_human_sees_what_was_detected(void **state)
{
	struct rig *rig = rig_of(1);
	struct lookup l = lookup_of("social.example", RIG_IP(198, 51, 100, 7), 600);
	struct end e = to_server;
	static char text[UPF_MSG_MAX];

	(void)state;
	assert_shows(rig, 1,
		",\"applications\":[\"1122334455667788\",\"8877665544332211\"],\"detected\":[],"
		"\"detected_not_shown\":0,");
	say_hello(rig, &e, "video.example");
	assert_shows(rig, 1,
		"\"detected\":[{\"kind\":\"flow\",\"remote\":\"8.8.8.8\",\"protocol\":6,\"remote_"
		"port\":443,"
		"\"local_port\":4000,\"applications\":[\"1122334455667788\"],\"seconds_left\":35");
	assert_shows(rig, 2, "\"detected\":[],");
	ask(rig, &l);
	assert_shows(rig, 1,
		"{\"kind\":\"question\",\"remote\":\"9.9.9.9\",\"protocol\":17,\"remote_port\":53,"
		"\"local_port\":7000,");
	answer(rig, &l);
	assert_shows(rig, 1,
		"{\"kind\":\"address\",\"remote\":\"198.51.100.7\",\"applications\":["
		"\"8877665544332211\"],\"seconds_left\":59");
	for (unsigned i = 0; i < SHOWN_MAX; i++) {
		e.port++;
		say_hello(rig, &e, "video.example");
	}
	assert_shows(rig, 1, "\"detected_not_shown\":2");
	// A worker that does not come to it is not waited for without end.
	text[show_session(&rig->base, 1, text, sizeof(text) - 1)] = '\0';
	assert_non_null(strstr(text, "\"detected\":\"the worker does not answer\""));
	rig_free(rig);
}

int
test_detection(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_hello_makes_its_connection_the_application_s),
		cmocka_unit_test(a_client_hello_may_take_several_segments),
		cmocka_unit_test(what_cannot_be_read_is_counted),
		cmocka_unit_test(an_initial_packet_makes_its_flow_the_application_s),
		cmocka_unit_test(a_client_hello_may_take_several_initial_packets),
		cmocka_unit_test(an_answer_makes_its_address_the_application_s),
		cmocka_unit_test(nobody_answers_what_was_not_asked),
		cmocka_unit_test(a_domain_says_what_and_by_what),
		cmocka_unit_test(applications_outlive_new_rules_and_new_domains),
		cmocka_unit_test(a_name_may_be_of_several_applications),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(upfc_hears_of_a_flow_s_begin_and_end),
		cmocka_unit_test(upfc_hears_of_addresses_when_packets_come),
		cmocka_unit_test(upfc_hears_of_ipv6_and_of_several_applications),
		cmocka_unit_test(of_sessions_that_end_and_of_rules_that_change),
		cmocka_unit_test(what_was_detected_comes_to_an_end),
		cmocka_unit_test(a_session_cannot_take_all),
		cmocka_unit_test(hellos_in_pieces_do_not_take_others_places),
		cmocka_unit_test(sessions_without_such_applications_are_not_looked_at),
		cmocka_unit_test(any_worker_may_receive_it),
		cmocka_unit_test(a_human_sees_what_was_detected),
	};

	return cmocka_run_group_tests_name("detection", tests, NULL, NULL);
}
