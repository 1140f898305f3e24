// PDR matching (TS 29.244 5.2.1): the PDRs of the part by precedence, the first that matches the
// whole PDI wins. Packets from a tunnel are matched by PDRs with its F-TEID, others by those without.
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

// The first SDF filter of the PDR that matches.
static bool
sdfs_match(const struct part *part, const struct pdr *pdr, const struct pkt *p,
	const struct rte_ipv4_hdr *ip)
{
	const struct upf_sdf *sdf = part_at(part, part_more(part)->sdf);

	for (unsigned i = 0; i < pdr->sdf_count; i++) {
		if (sdf_matches(&sdf[pdr->sdf_first + i], ip, p->ip_len,
			    (enum upf_direction)pdr->direction))
			return true;
	}
	return false;
}

static inline bool
pdr_matches(const struct part *part, const struct pdr *pdr, const struct pkt *p, uint64_t fteid,
	bool ue_matches, const struct rte_ipv4_hdr *ip)
{
	if (pdr->fteid != fteid)
		return false;
	if ((pdr->flags & PDR_UE) != 0 && !ue_matches)
		return false;
	if ((pdr->flags & PDR_QFI) != 0 && pdr->qfi != p->qfi)
		return false;
	return likely((pdr->flags & PDR_SDF) == 0) || sdfs_match(part, pdr, p, ip);
}

static void
prefetch_slots(struct worker *w, const struct part *part, const struct pdr *pdr)
{
	// upf-c gives a session's QERs and URRs the same pairs, so that these are mostly one line.
	if (pdr->n_qer != 0)
		rte_prefetch0(qer_tat(&w->slots, pdr->qer_slot[0], pdr->direction));
	if (pdr->n_urr != 0)
		rte_prefetch0(shm_urr(&w->slots, pdr->urr_slot[0], pdr->direction));
	(void)part;
}

static int
pdr_match(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	const uint64_t fteid = p->tunnel ? p->key : 0;
	bool uplink = part->direction == UPF_UL, ue_matches;
	const struct pdr *pdr = part->pdr;
	unsigned i = 0;

	if (p->tunnel) {
		uint16_t length = ipv4_valid_length(ip, rte_pktmbuf_data_len(p->m) - p->ip);

		if (unlikely(length == 0))
			return UPF_DROP_MALFORMED_INNER;
		p->ip_len = length;
	}
	ue_matches = (uplink ? ip->src_addr : ip->dst_addr) == part->ue4;
	// A UE may only send from its own address: whatever the PDRs say of it, this is checked for
	// all that comes from access.
	if (unlikely(uplink && !ue_matches && (part->flags & PART_UE_IPV4) != 0))
		return UPF_DROP_SPOOFED_SOURCE;
	while (i < part->n_pdr && !pdr_matches(part, pdr, p, fteid, ue_matches, ip)) {
		i++;
		pdr++;
	}
	if (unlikely(i == part->n_pdr))
		return UPF_DROP_NO_PDR;
	p->pdr = pdr;
	prefetch_slots(w, part, pdr);
	return PKT_NEXT;
}

void
pdr_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, pdr_match);
}
