#include "packet/fragment.h"

#include <rte_ip_frag.h>

#include "packet/ipv6.h"
#include "packet/worker_state.h"
#include "process/shm.h"

static unsigned
fragment4(struct worker *w, struct rte_mbuf *m, uint16_t mtu, struct rte_mbuf *out[FRAGMENTS_MAX])
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	int32_t n;

	// A packet that was put together here had been cut with its sender's consent.
	ip->fragment_offset &= rte_cpu_to_be_16((uint16_t)~RTE_IPV4_HDR_DF_FLAG);
	n = rte_ipv4_fragment_copy_nonseg_packet(m, out, FRAGMENTS_MAX, mtu, w->pool);
	if (n <= 0)
		return 0;
	for (int32_t i = 0; i < n; i++) {
		struct rte_ipv4_hdr *head = rte_pktmbuf_mtod(out[i], struct rte_ipv4_hdr *);

		head->hdr_checksum = 0;
		head->hdr_checksum = (rte_be16_t)~rte_raw_cksum(head, rte_ipv4_hdr_len(head));
	}
	return (unsigned)n;
}

static struct rte_mbuf *
piece6(struct worker *w, const struct ipv6_header *ip, uint32_t id, uint32_t offset,
	uint32_t length, bool more)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	const uint8_t *from = (const uint8_t *)(ip + 1) + offset;
	struct ipv6_fragment *head;
	struct ipv6_header *to;

	if (m == NULL)
		return NULL;
	to = (void *)rte_pktmbuf_append(m, (uint16_t)(sizeof(*to) + sizeof(*head) + length));
	if (to == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	*to = *ip;
	to->next = IPV6_FRAGMENT;
	to->payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(*head) + length));
	head = (struct ipv6_fragment *)(to + 1);
	*head = (struct ipv6_fragment){
		.next = ip->next,
		.offset_flags =
			rte_cpu_to_be_16((uint16_t)(offset | (more ? IPV6_FRAGMENT_MORE : 0))),
		.id = rte_cpu_to_be_32(id),
	};
	memcpy(head + 1, from, length);
	return m;
}

static unsigned
fragment6(struct worker *w, struct rte_mbuf *m, uint16_t mtu, struct rte_mbuf *out[FRAGMENTS_MAX])
{
	const struct ipv6_header *ip = rte_pktmbuf_mtod(m, const struct ipv6_header *);
	uint32_t left = rte_pktmbuf_data_len(m) - (uint32_t)sizeof(*ip), offset = 0;
	uint32_t most =
		(mtu - (uint32_t)sizeof(*ip) - (uint32_t)sizeof(struct ipv6_fragment)) & ~7u;
	uint32_t id = ++w->fragment_id;
	unsigned n = 0;

	if (ipv6_is_extension(ip->next))
		return 0;
	while (left != 0) {
		uint32_t length = left < most ? left : most;

		struct rte_mbuf *piece = NULL;

		left -= length;
		if (n < FRAGMENTS_MAX)
			piece = piece6(w, ip, id, offset, length, left != 0);
		if (piece == NULL) {
			rte_pktmbuf_free_bulk(out, n);
			return 0;
		}
		out[n++] = piece;
		offset += length;
	}
	return n;
}

unsigned
fragment(struct worker *w, struct rte_mbuf *m, uint16_t mtu, struct rte_mbuf *out[FRAGMENTS_MAX])
{
	bool ip6 = (*rte_pktmbuf_mtod(m, const uint8_t *) & 0xf0) == 0x60;
	unsigned n = ip6 ? fragment6(w, m, mtu, out) : fragment4(w, m, mtu, out);

	shm_add(&w->stats->local.fragments_sent, n);
	return n;
}
