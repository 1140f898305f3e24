// The packet as it leaves: the old outer headers off, TTL one less, the new outer headers on, an
// Ethernet header, and on to the neighbour.
#include "stages.h"

#include "shm.h"

static void
ttl_decrement(struct rte_ipv4_hdr *ip)
{
	// RFC 1141: the high octet of a 16-bit word went down by one, so the sum goes up by 0x0100.
	uint32_t sum = (uint32_t)ip->hdr_checksum + rte_cpu_to_be_16(0x0100);

	ip->time_to_live--;
	ip->hdr_checksum = (rte_be16_t)(sum + (sum >> 16));
}

static int
rewrite(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	bool to_tunnel = pdr->ohc != UPF_OHC_NONE;
	enum upf_port port = (enum upf_port)pdr->port;
	struct rte_mbuf *m = p->m;
	struct rte_ether_hdr *eth;
	rte_be32_t next_hop;

	ttl_decrement(pkt_ip(p));
	next_hop = port_next_hop(&w->port[port], to_tunnel ? pdr->peer4 : pkt_ip(p)->dst_addr);
	if (unlikely(next_hop == 0))
		return UPF_DROP_NO_ROUTE;
	// The user's packet alone: what stood before it and behind it (padding in the tunnel) goes.
	rte_pktmbuf_adj(m, p->ip);
	if (unlikely(rte_pktmbuf_data_len(m) > p->ip_len))
		rte_pktmbuf_trim(m, (uint16_t)(rte_pktmbuf_data_len(m) - p->ip_len));
	if (to_tunnel && unlikely(!gtpu_encapsulate(p, p->ip_len)))
		return UPF_DROP_NO_MBUF;
	eth = (struct rte_ether_hdr *)(void *)rte_pktmbuf_prepend(m, sizeof(*eth));
	if (unlikely(eth == NULL))
		return UPF_DROP_NO_MBUF;
	rte_ether_addr_copy(&w->port[port].mac, &eth->src_addr);
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	shm_add(&w->stats->forwarded[pdr->direction], 1);
	neigh_send(w, port, m, next_hop);
	return PKT_TAKEN;
}

void
rewrite_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, rewrite);
}
