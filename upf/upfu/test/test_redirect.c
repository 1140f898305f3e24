// Redirection: a UE that opens a web page gets the URL of the FAR, and nothing else comes through.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_tcp.h>

#include "frames.h"
#include "packet/outer.h"
#include "rules.h"
#include "tests.h"

#define TEID 0x100u
#define UE_PORT 40000u
#define ISN 0x01020304u // of the UE
#define URL "https://portal.example/top-up?from=upf"
#define GET "GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n"

#define FIN 0x01u
#define SYN 0x02u
#define RST 0x04u
#define PSH 0x08u
#define ACK 0x10u

static void
redirecting(struct session_rules_builder *s)
{
	rules_usual(s, 1, RIG_UE, TEID);
	s->far[0].flags |= UPF_FAR_REDIRECT;
	s->far[0].text_count = sizeof(URL) - 1;
	s->text = URL;
}

static struct rig *
rig_that_redirects(void)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	redirecting(&s);
	rules_install(rig, &s);
	return rig;
}

struct packet {
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
	char data[1500];
} __attribute__((packed, aligned(4)));

static void
send_packet(struct rig *rig, struct packet *packet, uint16_t length)
{
	struct frame f;

	packet->ip.total_length = rte_cpu_to_be_16(length);
	packet->ip.hdr_checksum = 0;
	packet->ip.hdr_checksum = rte_ipv4_cksum(&packet->ip);
	frame_gtpu(&f, RIG_N3_ADDR, 0x30, 255, TEID, packet, length);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
}

static struct packet
segment(uint32_t seq, uint32_t ack, uint8_t flags, const char *data)
{
	struct packet packet = {
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
			.time_to_live = 64,
			.next_proto_id = IPPROTO_TCP,
			.src_addr = rte_cpu_to_be_32(RIG_UE),
			.dst_addr = rte_cpu_to_be_32(RIG_REMOTE)},
		.tcp = {.src_port = rte_cpu_to_be_16(UE_PORT),
			.dst_port = rte_cpu_to_be_16(80),
			.sent_seq = rte_cpu_to_be_32(seq),
			.recv_ack = rte_cpu_to_be_32(ack),
			.data_off = 5 << 4,
			.tcp_flags = flags,
			.rx_win = 0xffff},
	};

	memcpy(packet.data, data, strlen(data));
	return packet;
}

static void
send_segment(struct rig *rig, uint32_t seq, uint32_t ack, uint8_t flags, const char *data)
{
	struct packet packet = segment(seq, ack, flags, data);

	send_packet(rig, &packet, (uint16_t)(40 + strlen(data)));
}

// The answer that went down the UE's tunnel: its octets behind the TCP header without options.
static struct packet
expect_answer(struct rig *rig, uint32_t seq, uint32_t ack, uint8_t flags)
{
	struct rte_mbuf *m = rig_sent(rig, UPF_PORT_N3);
	struct packet packet = {0};
	const uint16_t before = 14 + sizeof(struct outer_gtpu4);
	const struct outer_gtpu4 *outer;
	uint16_t length;

	assert_non_null(m);
	outer = rte_pktmbuf_mtod_offset(m, const struct outer_gtpu4 *, 14);
	assert_int_equal(outer->gtp.teid, rte_cpu_to_be_32(TEID + 0x1000));
	assert_int_equal(outer->psc.qfi, 9);
	length = (uint16_t)(rte_pktmbuf_data_len(m) - before);
	assert_in_range(length, 40, sizeof(packet));
	memcpy(&packet, rte_pktmbuf_mtod_offset(m, void *, before), length);
	rte_pktmbuf_free(m);
	assert_int_equal(packet.ip.total_length, rte_cpu_to_be_16(length));
	assert_int_equal(rte_raw_cksum(&packet.ip, sizeof(packet.ip)), 0xffff);
	assert_int_equal(rte_ipv4_udptcp_cksum_verify(&packet.ip, &packet.tcp), 0);
	assert_int_equal(packet.ip.src_addr, rte_cpu_to_be_32(RIG_REMOTE));
	assert_int_equal(packet.ip.dst_addr, rte_cpu_to_be_32(RIG_UE));
	assert_int_equal(packet.tcp.src_port, rte_cpu_to_be_16(80));
	assert_int_equal(packet.tcp.dst_port, rte_cpu_to_be_16(UE_PORT));
	assert_int_equal(rte_be_to_cpu_32(packet.tcp.sent_seq), seq);
	assert_int_equal(rte_be_to_cpu_32(packet.tcp.recv_ack), ack);
	assert_int_equal(packet.tcp.tcp_flags, flags);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N6), 0);
	return packet;
}

static void
a_web_page_is_redirected(void **state)
{
	static const char want[] = "HTTP/1.1 302 Found\r\nLocation: " URL
				   "\r\nCache-Control: no-store\r\nContent-Length: 0\r\n"
				   "Connection: close\r\n\r\n";
	const uint32_t request = ISN + 1, requested = request + sizeof(GET) - 1;
	const uint32_t end = request + sizeof(want) - 1 + 1; // of the answer, its FIN included
	struct rig *rig = rig_that_redirects();
	struct packet answer;

	(void)state;
	send_segment(rig, ISN, 0, SYN, "");
	answer = expect_answer(rig, ISN, ISN + 1, SYN | ACK);
	assert_int_equal(answer.tcp.data_off, 6 << 4);
	assert_memory_equal(answer.data, "\2\4\x04\xc4", 4); // MSS 1220
	send_segment(rig, request, request, ACK, "");
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	for (unsigned times = 0; times < 2; times++) { // a lost answer is asked for again
		send_segment(rig, request, request, PSH | ACK, GET);
		answer = expect_answer(rig, request, requested, PSH | FIN | ACK);
		assert_string_equal(answer.data, want);
	}
	send_segment(rig, requested, end, ACK, "");
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	send_segment(rig, requested, end, FIN | ACK, "");
	expect_answer(rig, end, requested + 1, ACK);
	assert_int_equal(rig->shm.workers[0].local.redirected, 6);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
other_segments_of_a_connection(void **state)
{
	struct rig *rig = rig_that_redirects();

	(void)state;
	send_segment(rig, ISN + 500, ISN + 300, PSH | ACK, "the rest of a form");
	expect_answer(rig, ISN + 300, ISN + 518, ACK);
	send_segment(rig, ISN + 1, ISN + 1, FIN | ACK, "HEAD / HTTP/1.0\r\n\r\n");
	expect_answer(rig, ISN + 1, ISN + 1 + 19 + 1, PSH | FIN | ACK);
	send_segment(rig, ISN + 9, 0, RST, "");
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 0);
	assert_int_equal(rig->shm.workers[0].local.redirected, 3);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
nothing_else_comes_through(void **state)
{
	struct rig *rig = rig_that_redirects();
	struct session_rules_builder s;
	struct packet p;
	struct frame f;
	unsigned n = 0;

	(void)state;
	p = segment(ISN, 0, SYN, "");
	p.tcp.dst_port = rte_cpu_to_be_16(443);
	send_packet(rig, &p, 40);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	p = segment(ISN, 0, SYN, "");
	p.ip.next_proto_id = IPPROTO_UDP;
	send_packet(rig, &p, 40);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	p = segment(ISN, 0, SYN, "");
	p.ip.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG);
	send_packet(rig, &p, 40);
	n += (unsigned)rig_dropped(rig, UPF_DROP_REDIRECT);
	n += (unsigned)rig_dropped(rig, UPF_DROP_FRAGMENT);
	assert_int_equal(n, 1);
	p = segment(ISN, 0, SYN, "");
	send_packet(rig, &p, 39); // cut in the TCP header
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	p = segment(ISN, 0, SYN, "");
	p.tcp.data_off = 6 << 4; // options that are not there
	send_packet(rig, &p, 40);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	p = segment(ISN, 0, SYN, "");
	p.tcp.data_off = 4 << 4;
	send_packet(rig, &p, 40);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	send_segment(rig, ISN + 1, ISN + 1, PSH | ACK, "\x16\x03\x01 is no HTTP");
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	send_segment(rig, ISN, ISN, SYN | ACK, "");
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	send_segment(rig, ISN + 1, ISN + 1, PSH, GET);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	// Nobody redirects the core.
	redirecting(&s);
	s.far[0].flags = 0;
	s.far[1].flags = UPF_FAR_REDIRECT;
	s.far[1].text_count = 5;
	rules_install(rig, &s);
	frame_eth_ip(&f, &(struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .dport = 80});
	rig_inject(rig, UPF_PORT_N6, f.data, f.length);
	rig_poll(rig);
	assert_int_equal(rig_dropped(rig, UPF_DROP_REDIRECT), 1);
	rig_assert_no_other_drops(rig);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3) + rig_count_sent(rig, UPF_PORT_N6), 0);
	assert_int_equal(rig->shm.workers[0].local.redirected, 0);
	rig_free(rig);
}

static void
over_ipv6_likewise(void **state)
{
	struct config config = rig_config6();
	struct rig *rig = rig_create_with(&config, 1, true);
	const uint16_t before = 14 + sizeof(struct outer_gtpu4);
	struct session_rules_builder s;
	const struct ipv6_header *ip;
	const struct rte_tcp_hdr *tcp;
	struct frame packet, f;
	struct packet asked;
	struct rte_mbuf *m;

	(void)state;
	redirecting(&s);
	for (unsigned i = 0; i < 2; i++) {
		s.pdr[i].flags |= UPF_PDR_UE_IPV6;
		memcpy(s.pdr[i].ue_prefix, rig_ue6, 8);
		s.pdr[i].ue_prefix_len = 64;
	}
	rules_install(rig, &s);
	frame_ip6(&packet,
		&(struct ip6_fields){.src = rig_ue6,
			.dst = rig_remote6,
			.next = IPPROTO_TCP,
			.payload = 20 - 8 + sizeof(GET) - 1});
	asked = segment(ISN + 1, ISN + 1, PSH | ACK, GET);
	memcpy(packet.data + 40, &asked.tcp, 20 + sizeof(GET) - 1);
	frame_seal6(&packet, 0);
	frame_gpdu_of(&f, NULL, TEID, 9, &packet);
	rig_inject(rig, UPF_PORT_N3, f.data, f.length);
	rig_poll(rig);
	m = rig_sent(rig, UPF_PORT_N3);
	assert_non_null(m);
	ip = rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, before);
	tcp = (const void *)(ip + 1);
	assert_memory_equal(ip->src, rig_remote6, 16);
	assert_memory_equal(ip->dst, rig_ue6, 16);
	assert_int_equal(ip->next, IPPROTO_TCP);
	assert_int_equal(
		ipv6_upper_sum(ip, tcp, rte_be_to_cpu_16(ip->payload_len), IPPROTO_TCP), 0xffff);
	assert_int_equal(tcp->tcp_flags, PSH | FIN | ACK);
	assert_int_equal(rte_be_to_cpu_32(tcp->recv_ack), ISN + 1 + sizeof(GET) - 1);
	assert_memory_equal(tcp + 1, "HTTP/1.1 302 Found\r\nLocation: " URL, 30 + sizeof(URL) - 1);
	rte_pktmbuf_free(m);
	rig_assert_no_other_drops(rig);
	rig_free(rig);
}

static void
damaged_segments_do_no_harm(void **state)
{
	struct rig *rig = rig_that_redirects();

	(void)state;
	srandom(5);
	for (unsigned i = 0; i < 20000; i++) {
		struct packet p = segment(ISN + 1, ISN + 1, PSH | ACK, GET);
		uint8_t *octets = (uint8_t *)&p;
		uint16_t length = 40 + sizeof(GET) - 1;

		for (unsigned k = (unsigned)random() % 4; k > 0; k--)
			octets[20 + random() % (length - 20)] = (uint8_t)random();
		if (random() % 4 == 0)
			length = (uint16_t)(20 + random() % (length - 20));
		send_packet(rig, &p, length);
		rig_count_sent(rig, UPF_PORT_N3);
	}
	rig_free(rig); // and nothing leaks
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
urls_are_checked(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	static char text[1026];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	redirecting(&s);
	s.far[0].text_count = 0;
	assert_int_equal(install(rig, &s), EINVAL);
	s.far[0].text_count = sizeof(URL);
	assert_int_equal(install(rig, &s), EINVAL); // beyond the text
	s.text = text;
	s.far[0].text_count = 1025;
	assert_int_equal(install(rig, &s), EINVAL);
	s.far[0].text_first = 1;
	s.far[0].text_count = 1024;
	assert_int_equal(install(rig, &s), 0);
	send_segment(rig, ISN + 1, ISN + 1, PSH | ACK, GET);
	assert_int_equal(rig_count_sent(rig, UPF_PORT_N3), 1);
	s.far[0].action = UPF_FAR_DROP;
	assert_int_equal(install(rig, &s), EINVAL);
	rig_free(rig);
}

int
test_redirect(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_web_page_is_redirected),
		cmocka_unit_test(other_segments_of_a_connection),
		cmocka_unit_test(nothing_else_comes_through),
		cmocka_unit_test(over_ipv6_likewise),
		cmocka_unit_test(damaged_segments_do_no_harm),
		cmocka_unit_test(urls_are_checked),
	};

	return cmocka_run_group_tests_name("redirect", tests, NULL, NULL);
}
