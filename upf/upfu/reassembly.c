#include "reassembly.h"

#include <rte_cycles.h>
#include <rte_ip_frag.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "ipv6.h"
#include "shm.h"
#include "stages.h"
#include "user_header.h"

#define WAYS 4u     // places in the library's table where a packet may stand
#define L2_MAX 127u // rte_mbuf.l2_len has seven bits
// Whole packets greater than an ordinary buffer: so long, and so many at once.
#define WHOLE_OCTETS 10240u
#define WHOLE_PACKETS 64u

struct reassembly {
	struct rte_ip_frag_tbl *table;
	struct rte_ip_frag_death_row given_up;
	struct rte_mempool *whole;
};

struct reassembly *
reassembly_create(unsigned worker, const struct config_reassembly *config)
{
	struct reassembly *r = rte_zmalloc("reassembly", sizeof(*r), RTE_CACHE_LINE_SIZE);
	uint64_t hz = rte_get_tsc_hz();
	char name[RTE_MEMPOOL_NAMESIZE];

	if (r == NULL)
		return NULL;
	rte_log_set_level(RTE_LOGTYPE_USER1, RTE_LOG_ERR); // the library's
	snprintf(name, sizeof(name), "whole%u", worker);
	r->table = rte_ip_frag_table_create((config->packets + WAYS - 1) / WAYS, WAYS,
		config->packets, hz / 1000 * config->timeout_ms, (int)rte_socket_id());
	r->whole = rte_pktmbuf_pool_create(name, WHOLE_PACKETS, 0,
		RTE_ALIGN_CEIL(sizeof(struct pkt), RTE_MBUF_PRIV_ALIGN),
		RTE_PKTMBUF_HEADROOM + WHOLE_OCTETS, (int)rte_socket_id());
	if (r->table == NULL || r->whole == NULL) {
		reassembly_free(r);
		return NULL;
	}
	return r;
}

void
reassembly_free(struct reassembly *r)
{
	if (r == NULL)
		return;
	if (r->table != NULL)
		rte_ip_frag_table_destroy(r->table); // with the fragments in it
	rte_mempool_free(r->whole);
	rte_free(r);
}

static struct pkt *
saved(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
}

// The library leaves what it gives up in a row; each fragment is a drop.
static void
count_given_up(struct worker *w)
{
	struct rte_ip_frag_death_row *row = &w->reassembly->given_up;

	if (row->cnt == 0)
		return;
	for (uint32_t i = 0; i < row->cnt; i++)
		worker_count_drops(w, (enum upf_port)saved(row->row[i])->port,
			saved(row->row[i])->group, UPF_DROP_REASSEMBLY, 1);
	rte_ip_frag_free_death_row(row, 0);
}

void
reassembly_tick(struct worker *w)
{
	if (w->reassembly == NULL)
		return;
	rte_ip_frag_table_del_expired_entries(
		w->reassembly->table, &w->reassembly->given_up, w->now);
	count_given_up(w);
}

// A chain of segments → one buffer. Frees the chain. NULL: too long, or no buffer.
static struct rte_mbuf *
in_one_piece(struct worker *w, struct rte_mbuf *chain)
{
	uint32_t length = rte_pktmbuf_pkt_len(chain);
	bool fits = length + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(w->pool);
	struct rte_mbuf *m = NULL;

	if (fits)
		m = rte_pktmbuf_alloc(w->pool);
	else if (length <= WHOLE_OCTETS)
		m = rte_pktmbuf_alloc(w->reassembly->whole);
	if (m != NULL) {
		uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)length);

		for (const struct rte_mbuf *s = chain; s != NULL; s = s->next) {
			memcpy(to, rte_pktmbuf_mtod(s, const void *), rte_pktmbuf_data_len(s));
			to += rte_pktmbuf_data_len(s);
		}
	}
	rte_pktmbuf_free(chain);
	return m;
}

static struct rte_mbuf *
add4(struct worker *w, struct rte_mbuf *m, uint16_t at)
{
	struct reassembly *r = w->reassembly;
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, at);

	m->l2_len = at;
	m->l3_len = rte_ipv4_hdr_len(ip);
	return rte_ipv4_frag_reassemble_packet(r->table, &r->given_up, m, w->now, ip);
}

// The library wants the Fragment header right behind the IPv6 header, as practically all send it.
static bool
fragment_is_first_extension(const struct ipv6_header *ip)
{
	return ip->next == IPV6_FRAGMENT;
}

static struct rte_mbuf *
add6(struct worker *w, struct rte_mbuf *m, uint16_t at)
{
	struct reassembly *r = w->reassembly;
	struct ipv6_header *ip = rte_pktmbuf_mtod_offset(m, struct ipv6_header *, at);

	m->l2_len = at;
	m->l3_len = sizeof(*ip) + sizeof(struct ipv6_fragment);
	return rte_ipv6_frag_reassemble_packet(
		r->table, &r->given_up, m, w->now, (void *)ip, (void *)(ip + 1));
}

static int
take(struct worker *w, struct pkt *p, uint16_t at, uint8_t group)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, at);
	bool ip6 = (*ip & 0xf0) == 0x60;
	struct rte_mbuf *m;

	if (w->reassembly == NULL)
		return UPF_DROP_FRAGMENT;
	if (at > L2_MAX || (ip6 && !fragment_is_first_extension((const void *)ip)))
		return UPF_DROP_REASSEMBLY;
	saved(p->m)->port = p->port;
	saved(p->m)->group = group;
	m = ip6 ? add6(w, p->m, at) : add4(w, p->m, at);
	count_given_up(w);
	if (m == NULL)
		return PKT_TAKEN;
	m = in_one_piece(w, m);
	if (m == NULL) {
		worker_count_drops(w, (enum upf_port)p->port, group, UPF_DROP_REASSEMBLY, 1);
		return PKT_TAKEN;
	}
	if (!ip6) {
		struct rte_ipv4_hdr *whole = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, at);

		whole->hdr_checksum = 0;
		whole->hdr_checksum = (rte_be16_t)~rte_raw_cksum(whole, rte_ipv4_hdr_len(whole));
	}
	shm_add(&w->stats->local.fragments_reassembled, 1);
	p->m = m;
	return PKT_NEXT;
}

int
reassembly_take(struct worker *w, struct pkt *p, uint16_t at)
{
	return take(w, p, at, 0);
}

int
reassembly_take_user(struct worker *w, struct pkt *p)
{
	int verdict;

	// What stood before it in the tunnel has been read.
	rte_pktmbuf_adj(p->m, p->ip);
	p->ip = 0;
	if (rte_pktmbuf_data_len(p->m) > p->ip_len)
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip_len));
	verdict = take(w, p, 0, p->part->group);
	if (verdict != PKT_NEXT)
		return verdict;
	verdict = user_header(p);
	p->fragment = PKT_REASSEMBLED;
	return verdict;
}
