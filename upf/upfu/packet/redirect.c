#include "packet/redirect.h"

#include <string.h>

#include <rte_tcp.h>

#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/own_packets.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

#define HTTP_PORT 80u
#define WINDOW 65535u
#define MSS 1220u // what fits every link that carries IPv6

#define TCP_FIN 0x01u
#define TCP_SYN 0x02u
#define TCP_RST 0x04u
#define TCP_PSH 0x08u
#define TCP_ACK 0x10u

static const char before_url[] = "HTTP/1.1 302 Found\r\nLocation: ";
static const char after_url[] = "\r\nCache-Control: no-store\r\nContent-Length: 0\r\n"
				"Connection: close\r\n\r\n";

struct segment { // what the UE sent
	const struct rte_tcp_hdr *tcp;
	const uint8_t *data;
	uint16_t data_len;
};

struct answer {
	uint8_t flags;
	uint32_t seq, ack;
	const char *url; // NULL: no data
	uint16_t url_len;
};

static bool
is_ipv6(const struct pkt *p)
{
	return pkt_ip(p)->version == 6;
}

// The TCP segment of a whole packet.
static bool
find_segment(const struct pkt *p, struct segment *s)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->ip);
	uint16_t at, header;

	if (rte_pktmbuf_data_len(p->m) < (uint32_t)p->ip + p->ip_len)
		return false;
	if (is_ipv6(p)) {
		at = p->l4;
		if (p->proto != IPPROTO_TCP || at == 0 || p->fragment == PKT_FIRST)
			return false;
	} else {
		at = rte_ipv4_hdr_len(pkt_ip(p));
		if (pkt_ip(p)->next_proto_id != IPPROTO_TCP || ipv4_is_fragment(pkt_ip(p)))
			return false;
	}
	s->tcp = (const void *)(ip + at);
	if (at + sizeof(*s->tcp) > p->ip_len)
		return false;
	header = (uint16_t)((s->tcp->data_off >> 4) * 4);
	if (header < sizeof(*s->tcp) || at + header > p->ip_len)
		return false;
	s->data = ip + at + header;
	s->data_len = (uint16_t)(p->ip_len - at - header);
	return true;
}

static bool
is_request(const struct segment *s)
{
	static const char *const methods[] = {
		"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "};

	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t length = strlen(methods[i]);

		if (s->data_len >= length && memcmp(s->data, methods[i], length) == 0)
			return true;
	}
	return false;
}

// What to answer. PKT_NEXT: *a; PKT_TAKEN: nothing; or a drop reason.
static int
decide(const struct segment *s, const char *url, uint16_t url_len, struct answer *a)
{
	uint8_t flags = s->tcp->tcp_flags;
	uint32_t seq = rte_be_to_cpu_32(s->tcp->sent_seq);
	uint32_t ack = rte_be_to_cpu_32(s->tcp->recv_ack);
	bool fin = (flags & TCP_FIN) != 0;

	if ((flags & TCP_RST) != 0)
		return PKT_TAKEN;
	if ((flags & TCP_SYN) != 0) {
		if ((flags & TCP_ACK) != 0)
			return UPF_DROP_REDIRECT; // the UE is no server
		*a = (struct answer){.flags = TCP_SYN | TCP_ACK, .seq = seq, .ack = seq + 1};
		return PKT_NEXT;
	}
	if ((flags & TCP_ACK) == 0)
		return UPF_DROP_REDIRECT;
	*a = (struct answer){.flags = TCP_ACK, .seq = ack, .ack = seq + s->data_len + fin};
	if (s->data_len != 0 && seq == ack) { // the first data of the connection
		if (!is_request(s))
			return UPF_DROP_REDIRECT;
		a->flags = TCP_PSH | TCP_FIN | TCP_ACK;
		a->url = url;
		a->url_len = url_len;
		return PKT_NEXT;
	}
	return s->data_len != 0 || fin ? PKT_NEXT : PKT_TAKEN;
}

static void *
put(uint8_t **at, const void *from, size_t octets)
{
	void *here = *at;

	memcpy(here, from, octets);
	*at += octets;
	return here;
}

static uint16_t
segment_length(const struct answer *a)
{
	uint16_t length = sizeof(struct rte_tcp_hdr);

	if ((a->flags & TCP_SYN) != 0)
		length += 4;
	if (a->url != NULL)
		length = (uint16_t)(length + sizeof(before_url) - 1 + a->url_len +
			sizeof(after_url) - 1);
	return length;
}

// The segment at `at`, from the server of what the UE sent; its checksum is still 0.
static struct rte_tcp_hdr *
write_segment(uint8_t *at, const struct answer *a, rte_be16_t ue_port)
{
	static const uint8_t mss[4] = {2, 4, MSS >> 8, MSS & 0xff}; // RFC 9293 3.2
	struct rte_tcp_hdr tcp = {
		.src_port = rte_cpu_to_be_16(HTTP_PORT),
		.dst_port = ue_port,
		.sent_seq = rte_cpu_to_be_32(a->seq),
		.recv_ack = rte_cpu_to_be_32(a->ack),
		.data_off = (a->flags & TCP_SYN) != 0 ? 6 << 4 : 5 << 4,
		.tcp_flags = a->flags,
		.rx_win = rte_cpu_to_be_16(WINDOW),
	};
	struct rte_tcp_hdr *written = put(&at, &tcp, sizeof(tcp));

	if ((a->flags & TCP_SYN) != 0)
		put(&at, mss, sizeof(mss));
	if (a->url != NULL) {
		put(&at, before_url, sizeof(before_url) - 1);
		put(&at, a->url, a->url_len);
		put(&at, after_url, sizeof(after_url) - 1);
	}
	return written;
}

// Makes the packet a frame with room for `octets` behind its Ethernet header.
static uint8_t *
resize(struct pkt *p, uint16_t octets, uint16_t ether_type)
{
	struct rte_ether_hdr *eth;
	uint16_t have;

	rte_pktmbuf_adj(p->m, (uint16_t)(p->ip - sizeof(*eth))); // at least Ethernet stood there
	have = (uint16_t)(rte_pktmbuf_data_len(p->m) - sizeof(*eth));
	if (have > octets)
		rte_pktmbuf_trim(p->m, (uint16_t)(have - octets));
	else if (have < octets && rte_pktmbuf_append(p->m, (uint16_t)(octets - have)) == NULL)
		return NULL;
	eth = rte_pktmbuf_mtod(p->m, struct rte_ether_hdr *);
	memset(eth, 0, sizeof(*eth));
	eth->ether_type = rte_cpu_to_be_16(ether_type);
	return (uint8_t *)(eth + 1);
}

static int
answer4(struct pkt *p, const struct answer *a, rte_be16_t ue_port)
{
	const struct rte_ipv4_hdr *asked = pkt_ip(p);
	uint16_t length = (uint16_t)(sizeof(struct rte_ipv4_hdr) + segment_length(a));
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(length),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_TCP,
		.src_addr = asked->dst_addr,
		.dst_addr = asked->src_addr,
	};
	uint8_t *at = resize(p, length, RTE_ETHER_TYPE_IPV4);
	struct rte_tcp_hdr *tcp;

	if (at == NULL)
		return UPF_DROP_NO_MBUF;
	ip.hdr_checksum = rte_ipv4_cksum(&ip);
	memcpy(at, &ip, sizeof(ip));
	tcp = write_segment(at + sizeof(ip), a, ue_port);
	tcp->cksum = rte_ipv4_udptcp_cksum(&ip, tcp);
	return PKT_NEXT;
}

static int
answer6(struct pkt *p, const struct answer *a, rte_be16_t ue_port)
{
	const struct ipv6_header *asked =
		rte_pktmbuf_mtod_offset(p->m, const struct ipv6_header *, p->ip);
	uint16_t length = segment_length(a);
	struct ipv6_header ip = {
		.version_class_flow = rte_cpu_to_be_32(UINT32_C(0x60000000)),
		.payload_len = rte_cpu_to_be_16(length),
		.next = IPPROTO_TCP,
		.hop_limit = 64,
	};
	struct rte_tcp_hdr *tcp;
	uint8_t *at;

	memcpy(ip.src, asked->dst, sizeof(ip.src));
	memcpy(ip.dst, asked->src, sizeof(ip.dst));
	at = resize(p, (uint16_t)(sizeof(ip) + length), RTE_ETHER_TYPE_IPV6);
	if (at == NULL)
		return UPF_DROP_NO_MBUF;
	memcpy(at, &ip, sizeof(ip));
	tcp = write_segment(at + sizeof(ip), a, ue_port);
	tcp->cksum = (rte_be16_t)~ipv6_upper_sum(
		(const struct ipv6_header *)(const void *)at, tcp, length, IPPROTO_TCP);
	return PKT_NEXT;
}

int
redirect_packet(struct worker *w, struct pkt *p)
{
	const struct pdr_more *more = pdr_more(p->part, p->pdr);
	struct segment s;
	struct answer a;
	int verdict;

	if (p->pdr->direction != UPF_UL || !find_segment(p, &s) ||
		s.tcp->dst_port != rte_cpu_to_be_16(HTTP_PORT))
		return UPF_DROP_REDIRECT;
	verdict = decide(&s, part_at(p->part, more->text), more->text_len, &a);
	if (verdict == PKT_NEXT) {
		rte_be16_t ue_port = s.tcp->src_port;

		verdict = is_ipv6(p) ? answer6(p, &a, ue_port) : answer4(p, &a, ue_port);
		if (verdict != PKT_NEXT)
			return verdict;
		own_packets_add(w, (enum upf_port)p->part->n6, p->m);
	} else if (verdict == PKT_TAKEN) {
		rte_pktmbuf_free(p->m);
	} else {
		return verdict;
	}
	shm_add(&w->stats->local.redirected, 1);
	return PKT_TAKEN;
}
