// How far worker_poll() is from what memory and headers alone take. As there, the burst goes through once for each
// line that the next pass reads, and fetches it ahead.
#include "bench/floor.h"

#include <string.h>

#include <rte_ethdev.h>

#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/bucketmap.h"
#include "rules/session.h"

#define ETHER sizeof(struct rte_ether_hdr)
// What the generator writes in front of an uplink packet (traffic.c).
#define TUNNEL (sizeof(struct outer_gtpu4))

struct floor_packet {
	struct rte_mbuf *m;
	uint64_t key;
	uint32_t bucket;
	const struct part *part;
};

static uint64_t
key_of(const struct part *any, enum upf_direction direction, const uint8_t *frame)
{
	const struct outer_gtpu4 *outer = (const void *)(frame + ETHER);

	if (direction == UPF_DL)
		return ue_key(outer->ip.dst_addr);
	return (any->pdr[0].fteid & ~(uint64_t)UINT32_MAX) | rte_be_to_cpu_32(outer->gtp.teid);
}

static void
count(const struct shm_slots *slots, const struct pdr *pdr, unsigned octets)
{
	for (unsigned i = 0; i < pdr->n_qer; i++)
		*(uint64_t *)shm_at(slots, pdr->qer_at[i]) += octets * pdr->cost[i];
	for (unsigned i = 0; i < pdr->n_urr; i++) {
		struct upf_urr_counter *c = shm_at(slots, pdr->urr_at[i]);

		c->bytes += octets;
		c->packets++;
	}
}

static void
rewrite(const struct floor_packet *p, enum upf_direction direction,
	const struct rte_ether_addr *from, const struct rte_ether_addr *to)
{
	const struct pdr *pdr = &p->part->pdr[0];
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	uint16_t length;

	if (direction == UPF_UL) {
		eth = (void *)rte_pktmbuf_adj(p->m, TUNNEL);
		ip = (void *)(eth + 1);
	} else {
		struct outer_gtpu4 *outer;

		ip = (void *)(rte_pktmbuf_mtod(p->m, uint8_t *) + ETHER);
		length = (uint16_t)(rte_pktmbuf_data_len(p->m) - ETHER + TUNNEL);
		eth = (void *)rte_pktmbuf_prepend(p->m, TUNNEL);
		outer = (void *)(eth + 1);
		outer_fill_ip4(&outer->ip, pdr, IPPROTO_UDP, length);
		outer_fill_udp(&outer->udp, GTPU_PORT, pdr->peer_port,
			(uint16_t)(length - sizeof(outer->ip)));
		outer_fill_gtpu(&outer->gtp, pdr, true, (uint16_t)(length - OUTER_PLAIN4));
		outer->word =
			(struct rte_gtp_hdr_ext_word){.next_ext = GTPU_EXT_PDU_SESSION_CONTAINER};
		outer->psc = (struct gtpu_psc){.units = 1, .qfi = pdr->out_qfi};
	}
	// One TTL less is 0x0100 more in the checksum, with its carry (RFC 1624).
	ip->time_to_live--;
	ip->hdr_checksum = (rte_be16_t)(ip->hdr_checksum + 1 + (ip->hdr_checksum >= 0xfffe));
	*eth = (struct rte_ether_hdr){.dst_addr = *to,
		.src_addr = *from,
		.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)};
}

void
floor_poll(struct rig *rig, enum upf_direction direction)
{
	struct worker *w = rig->worker[0];
	enum upf_port in = direction == UPF_UL ? UPF_PORT_N3 : UPF_PORT_N6;
	enum upf_port out = direction == UPF_UL ? UPF_PORT_N6 : UPF_PORT_N3;
	const struct part *any = session_present(w->sessions, 0, direction);
	const struct bucketmap *map = w->sessions->by_port[in];
	const struct rte_ether_addr *to = direction == UPF_UL ? &rig_gateway_mac : &rig_gnb_mac;
	struct floor_packet p[BURST];
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(w->port[in].ethdev, 0, m, BURST), found = 0;

	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(m[i]);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *data = rte_pktmbuf_mtod(m[i], uint8_t *);

		rte_prefetch0(data);
		rte_prefetch0_write(direction == UPF_UL ? data + RTE_CACHE_LINE_SIZE
							: data - RTE_CACHE_LINE_SIZE);
	}
	for (unsigned i = 0; i < n; i++) {
		p[i].m = m[i];
		p[i].key = key_of(any, direction, rte_pktmbuf_mtod(m[i], uint8_t *));
		p[i].bucket = bucketmap_index(map, p[i].key);
		bucketmap_prefetch(map, p[i].bucket);
	}
	for (unsigned i = 0; i < n; i++) {
		arena_ref ref = bucketmap_find(map, p[i].bucket, p[i].key);

		if (unlikely(ref == BUCKETMAP_NONE)) { // which fails the case
			rte_pktmbuf_free(p[i].m);
			continue;
		}
		p[found] = p[i];
		p[found].part = session_part(w->sessions, ref);
		rte_prefetch0(p[found].part);
		rte_prefetch0((const uint8_t *)p[found].part + RTE_CACHE_LINE_SIZE);
		found++;
	}
	for (unsigned i = 0; i < found; i++)
		rte_prefetch0_write(shm_at(&w->slots, p[i].part->pdr[0].urr_at[0]));
	for (unsigned i = 0; i < found; i++) {
		count(&w->slots, &p[i].part->pdr[0], rte_pktmbuf_data_len(p[i].m));
		rewrite(&p[i], direction, &w->port[out].mac, to);
		m[i] = p[i].m;
	}
	rte_eth_tx_burst(w->port[out].ethdev, 0, m, found);
}
