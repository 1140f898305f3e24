#include "packet/reassembly.h"

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_random.h>

#include "packet/drop.h"
#include "packet/fragment_table.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/user_header.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/session.h"

// Whole packets greater than an ordinary buffer: so many at once.
#define WHOLE_PACKETS 64u
// All that waits together holds at most this part of the packet buffers.
#define MBUF_SHARE 8u

struct reassembly {
	struct fragment_table outer[UPF_PORTS], users;
	struct rte_mempool *whole;
	struct worker *worker; // whose drops count; NULL at the end
};

// A fragment_give_up.
static void
drop_fragment(void *context, const struct fragment *f, enum upf_drop reason)
{
	const struct reassembly *r = context;

	if (r->worker != NULL)
		worker_drop_of(r->worker, (enum upf_port)f->port, f->group, f->packet, reason);
	else
		rte_pktmbuf_free(f->packet);
}

static int
create_table(struct reassembly *r, struct fragment_table *t, const struct config *config)
{
	const struct config_reassembly *bounds = &config->reassembly;
	const uint64_t secret[2] = {rte_rand(), rte_rand()};
	uint32_t tables = config->networks + 2; // N6 each, N3 and the users'

	tables += config->interface[UPF_PORT_N9].present;
	return fragment_table_init(t, bounds->packets,
		RTE_MAX(config->limits.mbufs / MBUF_SHARE / (config->workers * tables),
			FRAGMENT_PIECES_MOST),
		rte_get_tsc_hz() / 1000 * bounds->timeout_ms, secret, drop_fragment, r);
}

struct reassembly *
reassembly_create(struct worker *w)
{
	struct reassembly *r = rte_zmalloc("reassembly", sizeof(*r), RTE_CACHE_LINE_SIZE);
	char name[RTE_MEMPOOL_NAMESIZE];
	int rc;

	if (r == NULL)
		return NULL;
	snprintf(name, sizeof(name), "whole-%p", (const void *)w);
	r->whole = rte_pktmbuf_pool_create(name, WHOLE_PACKETS, 0,
		RTE_ALIGN_CEIL(sizeof(struct pkt), RTE_MBUF_PRIV_ALIGN),
		RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + FRAGMENT_WHOLE_MOST,
		(int)rte_socket_id());
	rc = r->whole == NULL ? -1 : create_table(r, &r->users, w->config);
	for (enum upf_port port = 0; rc == 0 && port < w->ports; port++) {
		if (w->port[port].present)
			rc = create_table(r, &r->outer[port], w->config);
	}
	if (rc < 0) {
		reassembly_free(r);
		return NULL;
	}
	r->worker = w;
	return r;
}

void
reassembly_free(struct reassembly *r)
{
	if (r == NULL)
		return;
	r->worker = NULL;
	for (enum upf_port port = 0; port < UPF_PORTS; port++)
		fragment_table_free(&r->outer[port]);
	fragment_table_free(&r->users);
	rte_mempool_free(r->whole);
	rte_free(r);
}

void
reassembly_tick(struct worker *w)
{
	struct reassembly *r = w->reassembly;

	if (r == NULL)
		return;
	for (enum upf_port port = 0; port < w->ports; port++) {
		if (w->port[port].present)
			fragment_table_expire(&r->outer[port], w->now);
	}
	fragment_table_expire(&r->users, w->now);
}

// ---- what a fragment says ------------------------------------------------------------------------

static void
read4(const struct rte_ipv4_hdr *ip, struct fragment_key *key, struct fragment *f)
{
	uint16_t place = rte_be_to_cpu_16(ip->fragment_offset);

	memcpy(key->src, &ip->src_addr, sizeof(ip->src_addr));
	memcpy(key->dst, &ip->dst_addr, sizeof(ip->dst_addr));
	key->id = ip->packet_id;
	key->proto = ip->next_proto_id;
	f->header = rte_ipv4_hdr_len(ip);
	f->data = (const uint8_t *)ip + f->header;
	f->from = (uint32_t)(place & RTE_IPV4_HDR_OFFSET_MASK) * 8;
	f->to = f->from + rte_be_to_cpu_16(ip->total_length) - f->header;
	f->last = (place & RTE_IPV4_HDR_MF_FLAG) == 0;
}

static void
read6(const struct ipv6_header *ip, const struct ipv6_chain *chain, struct fragment_key *key,
	struct fragment *f)
{
	const struct ipv6_fragment *head = (const void *)((const uint8_t *)ip + chain->fragment);
	uint16_t place = rte_be_to_cpu_16(head->offset_flags);

	memcpy(key->src, ip->src, sizeof(key->src));
	memcpy(key->dst, ip->dst, sizeof(key->dst));
	key->id = head->id;
	key->ip6 = 1;
	f->header = (uint16_t)(chain->fragment - sizeof(*ip));
	f->data = (const uint8_t *)(head + 1);
	f->from = place & IPV6_FRAGMENT_OFFSET;
	f->to = f->from + rte_be_to_cpu_16(ip->payload_len) - f->header - (uint32_t)sizeof(*head);
	f->last = (place & IPV6_FRAGMENT_MORE) == 0;
}

// False: its extension headers cannot be read.
static bool
read_fragment(const struct rte_mbuf *m, uint16_t at, struct fragment_key *key, struct fragment *f)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, at);
	const struct ipv6_header *ip6 = (const void *)ip;
	struct ipv6_chain chain;

	f->ip = at;
	if ((*ip & 0xf0) == 0x40) {
		read4((const void *)ip, key, f);
		return true;
	}
	if (!ipv6_walk(
		    ip6, (uint16_t)(sizeof(*ip6) + rte_be_to_cpu_16(ip6->payload_len)), &chain) ||
		chain.fragment == 0)
		return false;
	read6(ip6, &chain, key, f);
	return true;
}

// ---- the whole packet ----------------------------------------------------------------------------

// Lengths, and no word of fragments any more, in the first one's headers in front of `octets` of
// data. Returns how long the headers are from the first octet of the frame on.
static uint16_t
headers_of_whole(uint8_t *frame, const struct fragment *first, uint32_t octets)
{
	struct rte_ipv4_hdr *ip = (void *)(frame + first->ip);
	struct ipv6_header *ip6 = (void *)ip;
	const struct ipv6_fragment *head;
	struct ipv6_chain chain;

	if (ip->version == IPVERSION) {
		ip->total_length = rte_cpu_to_be_16((uint16_t)(first->header + octets));
		ip->fragment_offset = 0;
		ip->hdr_checksum = 0;
		ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, first->header);
		return (uint16_t)(first->ip + first->header);
	}
	ipv6_walk(ip6, (uint16_t)(sizeof(*ip6) + rte_be_to_cpu_16(ip6->payload_len)), &chain);
	head = (const void *)((const uint8_t *)ip6 + chain.fragment);
	*((uint8_t *)ip6 + chain.fragment_next) = head->next;
	ip6->payload_len = rte_cpu_to_be_16((uint16_t)(first->header + octets));
	return (uint16_t)(first->ip + chain.fragment);
}

// One buffer for a whole packet of so many octets, or why there is none.
static struct rte_mbuf *
buffer_for(struct worker *w, uint32_t length, enum upf_drop *reason)
{
	bool fits = length + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(w->pool);
	struct rte_mbuf *m = rte_pktmbuf_alloc(fits ? w->pool : w->reassembly->whole);

	*reason = UPF_DROP_NO_MBUF;
	if (m == NULL || rte_pktmbuf_append(m, (uint16_t)length) != NULL)
		return m;
	rte_pktmbuf_free(m);
	*reason =
		UPF_DROP_REASSEMBLY_TOO_BIG; // the first one's headers are longer than the others'
	return NULL;
}

// The fragments become one packet, or are dropped. Takes them out of the table. NULL: dropped.
static struct rte_mbuf *
put_together(struct worker *w, struct fragment_table *t, struct fragment_packet *packet)
{
	struct fragment *first = &packet->fragment[0];
	uint8_t *frame = rte_pktmbuf_mtod((struct rte_mbuf *)first->packet, uint8_t *);
	uint16_t headers = headers_of_whole(frame, first, packet->end);
	enum upf_drop reason;
	struct rte_mbuf *m = buffer_for(w, headers + packet->end, &reason);

	if (m != NULL)
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame, headers);
	for (unsigned i = 0; i < packet->n; i++) {
		const struct fragment *f = &packet->fragment[i];

		if (m == NULL) {
			drop_fragment(w->reassembly, f, reason);
			continue;
		}
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, headers + f->from), f->data,
			f->to - f->from);
		rte_pktmbuf_free(f->packet);
	}
	fragment_table_remove(t, packet);
	return m;
}

static int
take(struct worker *w, struct pkt *p, struct fragment_table *t, const struct fragment_key *key,
	const struct fragment *f)
{
	struct fragment_packet *packet;
	int verdict = fragment_table_add(t, key, f, w->now, &packet);

	if (verdict == FRAGMENT_WAITS)
		return PKT_TAKEN;
	if (verdict != FRAGMENT_LAST)
		return verdict;
	p->m = put_together(w, t, packet);
	if (p->m == NULL)
		return PKT_TAKEN;
	shm_add(&w->stats->local.fragments_reassembled, 1);
	return PKT_NEXT;
}

// The Fragment header of an atomic fragment goes: it has nothing to do with other fragments, even
// those with its identification (RFC 6946 4).
static void
strip_fragment_header(struct rte_mbuf *m, const struct fragment *f)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t headers = headers_of_whole(frame, f, f->to);

	memmove(frame + sizeof(struct ipv6_fragment), frame, headers);
	rte_pktmbuf_adj(m, sizeof(struct ipv6_fragment));
}

int
reassembly_take(struct worker *w, struct pkt *p, uint16_t at)
{
	struct fragment_key key = {0};
	struct fragment f = {.packet = p->m, .port = p->port};

	if (!read_fragment(p->m, at, &key, &f))
		return UPF_DROP_MALFORMED_IP;
	if (f.from == 0 && f.last) {
		strip_fragment_header(p->m, &f);
		return PKT_NEXT;
	}
	if (w->reassembly == NULL)
		return UPF_DROP_FRAGMENT;
	// Whoever has an IPv6 address has 64 bits of them.
	memcpy(key.sender, key.src, sizeof(key.sender[0]));
	key.sender[1] = key.ip6;
	return take(w, p, &w->reassembly->outer[p->port], &key, &f);
}

int
reassembly_take_user(struct worker *w, struct pkt *p)
{
	struct fragment_key key = {.sender = {p->part->session, p->part->incarnation}};
	struct fragment f = {.port = p->port, .group = p->part->group};
	int verdict;

	if (w->reassembly == NULL)
		return UPF_DROP_FRAGMENT;
	// What stood before it in the tunnel has been read.
	rte_pktmbuf_adj(p->m, p->ip);
	p->ip = 0;
	if (rte_pktmbuf_data_len(p->m) > p->ip_len)
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip_len));
	f.packet = p->m;
	if (!read_fragment(p->m, 0, &key, &f))
		return UPF_DROP_MALFORMED_INNER;
	key.sender[0] |= (uint64_t)p->part->direction << 32;
	verdict = take(w, p, &w->reassembly->users, &key, &f);
	if (verdict != PKT_NEXT)
		return verdict;
	verdict = user_header(p);
	p->fragment = PKT_REASSEMBLED;
	return verdict;
}
