#include "packet/handoff.h"

#include <rte_prefetch.h>
#include <rte_ring.h>

#include "link/arp.h"
#include "link/nd.h"
#include "packet/ipv6.h"
#include "packet/outbox.h"
#include "packet/packet.h"
#include "packet/stages.h"
#include "packet/worker_state.h"
#include "rules/home.h"

// ---- to others ---------------------------------------------------------------------------------

static inline int
send_home(struct worker *w, struct pkt *p, unsigned home, unsigned group)
{
	if (home == w->index)
		return PKT_NEXT;
	p->kind = PKT_KIND_USER;
	p->group = (uint8_t)group;
	*(struct pkt *)rte_mbuf_to_priv(p->m) = *p;
	outbox_put(w, home, p->m);
	return PKT_TAKEN;
}

static int
handoff(struct worker *w, struct pkt *p)
{
	return send_home(w, p, p->part->home, p->part->group);
}

void
handoff_burst(struct worker *w, struct burst *b)
{
	if (w->workers > 1)
		burst_each_of_session(w, b, handoff);
}

// The user's packet has not been looked at yet: its source is read only where there is one.
static inline unsigned
bucket_of_tunnel(const struct pkt *p, unsigned otherwise)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	uint32_t room = (uint32_t)rte_pktmbuf_data_len(p->m) - p->ip;
	uint32_t teid = (uint32_t)p->key;

	if ((teid & HOME_TEID_CHOSEN) != 0)
		return home_bucket_of_teid(teid);
	if (p->tunnel == PKT_END_MARKER || unlikely(room < sizeof(*ip)))
		return otherwise;
	if (likely(ip->version_ihl >> 4 == 4))
		return home_bucket4(ip->src_addr);
	if (room < sizeof(struct ipv6_header))
		return otherwise;
	return home_bucket6(ipv6_prefix64(((const struct ipv6_header *)(const void *)ip)->src));
}

static int
guess(struct worker *w, struct pkt *p)
{
	unsigned bucket;

	if (!p->tunnel)
		bucket = p->ip6 ? home_bucket6(p->key)
				: home_bucket4(rte_cpu_to_be_32((uint32_t)p->key));
	else
		bucket = bucket_of_tunnel(p, HOME_BUCKETS);
	// Who knows nothing looks it up.
	if (unlikely(bucket == HOME_BUCKETS))
		return PKT_NEXT;
	return send_home(w, p, w->handoff.home[bucket], 0);
}

void
handoff_guess_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, guess);
}

// ---- from others -------------------------------------------------------------------------------

// What another worker heard on a link.
static void
hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m)
{
	if (rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
		rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP))
		arp_hear(w, port, m);
	else
		nd_hear(w, port, m);
}

static void
unpack(struct worker *w, struct burst *b, struct rte_mbuf *m)
{
	const struct pkt *saved = rte_mbuf_to_priv(m);
	struct pkt *p = &b->pkt[b->n];

	if (unlikely(saved->kind != PKT_KIND_USER)) {
		hear(w, (enum upf_port)(saved->kind - PKT_KIND_HEARSAY), m);
		rte_pktmbuf_free(m);
		return;
	}
	*p = *saved;
	p->m = m;
	rte_prefetch0(pkt_ip(p));
	b->live[b->n++] = p;
}

unsigned
handoff_take(struct worker *w, struct burst *b)
{
	struct handoff *h = &w->handoff;
	struct rte_mbuf *m[BURST];
	unsigned n = 0;

	b->n = 0;
	while (n < BURST) {
		unsigned room = BURST - n;

		if (h->left == 0) {
			if (h->at == w->workers) {
				if (n == 0)
					h->at = 0;
				break;
			}
			h->left = h->at == w->index ? 0 : rte_ring_count(h->from[h->at]);
			h->at++;
			continue;
		}
		room = RTE_MIN(room, h->left);
		h->left -= room;
		n += rte_ring_sc_dequeue_burst(h->from[h->at - 1], (void **)&m[n], room, NULL);
	}
	// Another core wrote what travels with the packet a moment ago.
	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(m[i]);
		rte_prefetch0(rte_mbuf_to_priv(m[i]));
	}
	for (unsigned i = 0; i < n; i++)
		unpack(w, b, m[i]);
	return n;
}
