// The packet as it leaves: the old outer headers off, TTL one less, the new outer headers on, an
// Ethernet header, and on to the neighbour. What is too long for its way goes in fragments (far.c has
// seen to it that it may).
#include "packet/rewrite.h"

#include "link/neigh.h"
#include "link/port.h"
#include "packet/departure.h"
#include "packet/drop.h"
#include "packet/fragment.h"
#include "packet/icmp_error.h"
#include "packet/ipv6.h"
#include "packet/mss.h"
#include "packet/nat.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/stages.h"
#include "packet/usage.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/session.h"

struct hop { // to the next neighbour
	enum upf_port port;
	bool ip6;
	rte_be32_t v4;
	const uint8_t *v6;
};

static inline void
ttl_decrement(struct pkt *p)
{
	struct rte_ipv4_hdr *ip = pkt_ip(p);
	uint32_t sum;

	if (unlikely(p->ip6)) {
		((struct ipv6_header *)ip)->hop_limit--;
		return;
	}
	// RFC 1141: the high octet of a 16-bit word went down by one, so the sum goes up by 0x0100.
	sum = (uint32_t)ip->hdr_checksum + rte_cpu_to_be_16(0x0100);
	ip->time_to_live--;
	ip->hdr_checksum = (rte_be16_t)(sum + (sum >> 16));
}

// False: no way there.
static inline bool
find_hop(const struct worker *w, const struct pkt *p, struct hop *hop)
{
	const struct pdr *pdr = p->pdr;
	const struct port *port = &w->port[pdr->port];
	const struct rte_ipv4_hdr *ip = pkt_ip(p);

	hop->port = (enum upf_port)pdr->port;
	hop->ip6 = pdr->ohc != UPF_OHC_NONE ? outer_is_ipv6(pdr->ohc) : p->ip6 != 0;
	if (likely(!hop->ip6)) {
		hop->v4 = port_next_hop(port, pdr->ohc != UPF_OHC_NONE ? pdr->peer4 : ip->dst_addr,
			pdr_gateway(pdr));
		return likely(hop->v4 != 0);
	}
	hop->v6 = port_next_hop6(port,
		pdr->ohc != UPF_OHC_NONE ? pdr_more(p->part, pdr)->peer
					 : ((const struct ipv6_header *)ip)->dst,
		pdr_gateway(pdr));
	return hop->v6 != NULL;
}

// The Ethernet header in front of a whole IP packet, and out.
static inline int
send_frame(struct worker *w, struct rte_mbuf *m, const struct hop *hop, const struct pdr *pdr)
{
	struct rte_ether_hdr *eth = (void *)rte_pktmbuf_prepend(m, sizeof(*eth));

	if (unlikely(eth == NULL))
		return UPF_DROP_NO_MBUF;
	rte_ether_addr_copy(&w->port[hop->port].mac, &eth->src_addr);
	if (likely(!hop->ip6)) {
		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
		neigh_send(w, hop->port, m, hop->v4, pdr);
	} else {
		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
		neigh_send6(w, hop->port, m, hop->v6, pdr);
	}
	return PKT_TAKEN;
}

// ---- in fragments ------------------------------------------------------------------------------

static void
drop_piece(struct worker *w, const struct pkt *p, struct rte_mbuf *m, enum upf_drop reason)
{
	if (p->pdr->copy)
		departure_drop(w, (enum upf_port)p->port, m, p->pdr, reason);
	else
		worker_drop_of(w, (enum upf_port)p->port, p->part->group, m, reason);
}

static int
send_pieces(struct worker *w, struct pkt *p, struct rte_mbuf *piece[], unsigned n,
	const struct hop *hop, bool tunnel_each)
{
	if (n == 0)
		return UPF_DROP_NO_MBUF;
	for (unsigned i = 0; i < n; i++) {
		struct pkt part = *p;
		int verdict = PKT_NEXT;

		part.m = piece[i];
		part.ip = 0;
		part.ip_len = rte_pktmbuf_data_len(piece[i]);
		if (tunnel_each && !outer_push(w, &part))
			verdict = UPF_DROP_NO_MBUF;
		if (verdict == PKT_NEXT)
			verdict = send_frame(w, part.m, hop, p->pdr->copy ? p->pdr : NULL);
		if (verdict != PKT_TAKEN)
			drop_piece(w, p, part.m, (enum upf_drop)verdict);
	}
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}

// p->m is the user's packet alone, and too long by itself or with its outer headers.
static __attribute__((noinline)) int
send_in_fragments(struct worker *w, struct pkt *p, struct hop hop)
{
	uint16_t mtu = w->port[hop.port].mtu;
	struct rte_mbuf *piece[FRAGMENTS_MAX];
	bool tunnel = p->pdr->ohc != UPF_OHC_NONE;
	upf_addr next;

	if (hop.ip6) { // its address may be in the packet
		memcpy(next, hop.v6, sizeof(next));
		hop.v6 = next;
	}
	// A copy is the packet as it came, so it is never cut itself. A frame cannot be.
	if (!tunnel ||
		(w->config->fragmentation == CONFIG_FRAGMENT_INNER && !p->pdr->copy &&
			!p->part->ethernet))
		return send_pieces(w, p, piece,
			fragment(w, p->m, (uint16_t)(mtu - outer_length(p)), piece), &hop, tunnel);
	if (!outer_push(w, p))
		return UPF_DROP_NO_MBUF;
	if (!hop.ip6)
		rte_pktmbuf_mtod(p->m, struct rte_ipv4_hdr *)->packet_id =
			rte_cpu_to_be_16((uint16_t)++w->fragment_id);
	return send_pieces(w, p, piece, fragment(w, p->m, mtu, piece), &hop, false);
}

// ---- whole -------------------------------------------------------------------------------------

// The user's packet alone: what stood before it and behind it (padding in the tunnel) goes.
static inline void
strip(struct worker *w, struct pkt *p)
{
	struct rte_mbuf *m = p->m;

	if (unlikely(w->mss_room != 0))
		mss_clamp(w, p);
	rte_pktmbuf_adj(m, p->ip);
	if (unlikely(rte_pktmbuf_data_len(m) > p->ip_len))
		rte_pktmbuf_trim(m, (uint16_t)(rte_pktmbuf_data_len(m) - p->ip_len));
}

static __attribute__((noinline)) int
packet_out_any(struct worker *w, struct pkt *p)
{
	struct hop hop;

	if (!find_hop(w, p, &hop))
		return icmp_refuse(w, p, UPF_DROP_NO_ROUTE);
	if ((p->pdr->mark & PDR_NAT) != 0 && !p->ip6) {
		int verdict = nat_out(w, p);

		if (verdict == UPF_DROP_UE_TO_UE)
			return icmp_refuse(w, p, UPF_DROP_UE_TO_UE);
		if (verdict != PKT_NEXT)
			return verdict;
	}
	strip(w, p);
	if (p->ip_len + outer_length(p) > w->port[hop.port].mtu)
		return send_in_fragments(w, p, hop);
	if (p->pdr->ohc != UPF_OHC_NONE && !outer_push(w, p))
		return UPF_DROP_NO_MBUF;
	return send_frame(w, p->m, &hop, p->pdr);
}

// IPv4 into a tunnel over IPv4, or out of N6: the same, short.
static inline __attribute__((always_inline)) int
packet_out(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	const struct port *port = &w->port[pdr->port];
	struct hop hop = {.port = (enum upf_port)pdr->port};
	uint32_t length = 0;

	if (unlikely((p->ip6 | (pdr->ohc & ~1u) | (pdr->mark & (PDR_PPI | PDR_NAT))) != 0))
		return packet_out_any(w, p);
	static_assert(UPF_OHC_NONE == 0 && UPF_OHC_GTPU4 == 1, "what is left");
	if (pdr->ohc != UPF_OHC_NONE) {
		length = outer_qfi(p) != 0 ? sizeof(struct outer_gtpu4) : OUTER_PLAIN4;
		hop.v4 = pdr->peer4;
	} else {
		hop.v4 = pkt_ip(p)->dst_addr;
	}
	hop.v4 = port_next_hop(port, hop.v4, pdr_gateway(pdr));
	if (unlikely(hop.v4 == 0 || p->ip_len + length > port->mtu))
		return packet_out_any(w, p);
	strip(w, p);
	if (length != 0 && unlikely(!outer_push_gtpu4(p, (uint16_t)length)))
		return UPF_DROP_NO_MBUF;
	return send_frame(w, p->m, &hop, pdr);
}

int
rewrite_frame(struct worker *w, struct pkt *p)
{
	struct hop hop;

	if (!find_hop(w, p, &hop))
		return UPF_DROP_NO_ROUTE;
	rte_pktmbuf_adj(p->m, p->ip);
	p->ip = 0;
	if (rte_pktmbuf_data_len(p->m) > p->ip_len)
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip_len));
	if (p->ip_len + outer_length(p) > w->port[hop.port].mtu)
		return send_in_fragments(w, p, hop);
	if (!outer_push(w, p))
		return UPF_DROP_NO_MBUF;
	return send_frame(w, p->m, &hop, p->pdr);
}

int
rewrite_packet(struct worker *w, struct pkt *p)
{
	return packet_out(w, p);
}

static int
rewrite(struct worker *w, struct pkt *p)
{
	uint8_t direction = p->pdr->direction;
	int verdict;

	ttl_decrement(p);
	verdict = packet_out(w, p);
	if (likely(verdict == PKT_TAKEN))
		shm_add(&w->stats->forwarded[direction], 1);
	else
		urr_take_back(w, p->part, p->pdr, p->ip_len);
	return verdict;
}

void
rewrite_burst(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, rewrite);
}
