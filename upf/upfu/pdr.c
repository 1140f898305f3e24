// PDR matching (TS 29.244 5.2.1): the PDRs of the session by precedence, the first that matches
// the whole PDI wins. Packets from a tunnel are matched against the PDRs with an F-TEID, others
// against those without.
#include <rte_tcp.h>

#include "stages.h"

static bool
has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

// Ports or SPI: the first eight octets behind a header that is not of a later fragment.
static const uint8_t *
transport(const struct rte_ipv4_hdr *ip, uint16_t ip_len, unsigned need)
{
	unsigned header = rte_ipv4_hdr_len(ip);

	if ((ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0 ||
		header + need > ip_len)
		return NULL;
	return (const uint8_t *)ip + header;
}

static uint32_t
read_be(const uint8_t *at, unsigned octets)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < octets; i++)
		value = value << 8 | at[i];
	return value;
}

// An SDF filter reads in the downlink direction: from remote to local (the UE's side).
bool
sdf_matches(const struct upf_sdf *sdf, const struct rte_ipv4_hdr *ip, uint16_t ip_len,
	enum upf_direction direction)
{
	bool dl = direction == UPF_DL;
	rte_be32_t remote = dl ? ip->src_addr : ip->dst_addr;
	rte_be32_t local = dl ? ip->dst_addr : ip->src_addr;
	const uint8_t *l4;

	if (((remote ^ sdf->remote_addr_be) & sdf->remote_mask_be) != 0 ||
		((local ^ sdf->local_addr_be) & sdf->local_mask_be) != 0)
		return false;
	if ((sdf->flags & UPF_SDF_PROTO) != 0 && ip->next_proto_id != sdf->proto)
		return false;
	if ((sdf->flags & UPF_SDF_TOS) != 0 &&
		((ip->type_of_service ^ sdf->tos) & sdf->tos_mask) != 0)
		return false;
	if ((sdf->flags & UPF_SDF_PORTS) != 0) {
		uint32_t source, destination, remote_port, local_port;

		if (!has_ports(ip->next_proto_id) || (l4 = transport(ip, ip_len, 4)) == NULL)
			return false;
		source = read_be(l4, 2);
		destination = read_be(l4 + 2, 2);
		remote_port = dl ? source : destination;
		local_port = dl ? destination : source;
		if (remote_port < sdf->remote_port_lo || remote_port > sdf->remote_port_hi ||
			local_port < sdf->local_port_lo || local_port > sdf->local_port_hi)
			return false;
	}
	if ((sdf->flags & UPF_SDF_SPI) != 0) {
		unsigned at = ip->next_proto_id == IPPROTO_AH ? 4 : 0; // RFC 4302 2, RFC 4303 2

		if ((ip->next_proto_id != IPPROTO_ESP && ip->next_proto_id != IPPROTO_AH) ||
			(l4 = transport(ip, ip_len, at + 4)) == NULL ||
			read_be(l4 + at, 4) != sdf->spi)
			return false;
	}
	return true;
}

static bool
pdr_matches(const struct rules *rules, const struct pdr *pdr, const struct pkt *p,
	const struct rte_ipv4_hdr *ip)
{
	if ((pdr->flags & UPF_PDR_TEID) != 0 && n3_key(pdr->n3_addr, pdr->teid) != p->key)
		return false;
	if ((pdr->flags & UPF_PDR_QFI) != 0 && pdr->qfi != p->qfi)
		return false;
	if ((pdr->flags & UPF_PDR_UE_IPV4) != 0 &&
		pdr->ue_addr != (pdr->direction == UPF_UL ? ip->src_addr : ip->dst_addr))
		return false;
	if (likely((pdr->flags & UPF_PDR_SDF) == 0))
		return true;
	for (unsigned i = 0; i < pdr->sdf_count; i++) {
		if (sdf_matches(&rules->sdf[pdr->sdf_first + i], ip, p->ip_len,
			    (enum upf_direction)pdr->direction))
			return true;
	}
	return false;
}

// A UE may only send from its own address: whatever the PDRs say of it, this is checked for all
// that comes from access.
static bool
is_spoofed(const struct rules *rules, const struct pdr *pdr, rte_be32_t source)
{
	if (pdr->direction != UPF_UL || rules->n_ue == 0)
		return false;
	for (unsigned i = 0; i < rules->n_ue; i++) {
		if (rules->ue[i] == source)
			return false;
	}
	return true;
}

static int
pdr_match(struct worker *w, struct pkt *p)
{
	const struct rules *rules = p->rules;
	const struct pdr *pdr = &rules->pdr[p->tunnel ? 0 : rules->n_tunnel];
	const struct pdr *end = pdr + (p->tunnel ? rules->n_tunnel : rules->n_plain);
	const struct rte_ipv4_hdr *ip = pkt_ip(p);

	if (p->tunnel) {
		uint16_t length = ipv4_valid_length(ip, rte_pktmbuf_data_len(p->m) - p->ip);

		if (unlikely(length == 0))
			return UPF_DROP_MALFORMED_INNER;
		p->ip_len = length;
		if (pdr < end && unlikely(is_spoofed(rules, pdr, ip->src_addr)))
			return UPF_DROP_SPOOFED_SOURCE;
	}
	while (pdr < end && !pdr_matches(rules, pdr, p, ip))
		pdr++;
	if (unlikely(pdr == end))
		return UPF_DROP_NO_PDR;
	p->pdr = pdr;
	for (unsigned i = 0; i < pdr->n_qer; i++)
		rte_prefetch0(&w->qer[pdr->qer[i].slot]);
	for (unsigned i = 0; i < pdr->n_urr; i++)
		rte_prefetch0(shm_urr(&w->slots, pdr->urr[i].slot, pdr->direction));
	return PKT_NEXT;
}

void
pdr_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, pdr_match);
}
