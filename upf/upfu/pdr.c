// PDR matching (TS 29.244 5.2.1): the PDRs of the part by precedence, the first that matches the
// whole PDI wins. Packets from a tunnel are matched by PDRs with its F-TEID, others by those without.
#include <rte_tcp.h>

#include "nd.h"
#include "outer.h"
#include "reassembly.h"
#include "stages.h"
#include "user_header.h"

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

// What a packet has for the PDRs of its part.
struct finding {
	uint64_t fteid;   // 0: not from a tunnel
	uint8_t families; // PDR_UE_* that the user's address fits, else 0
	const struct rte_ipv4_hdr *ip;
};

static inline bool
pdr_matches(const struct part *part, const struct pdr *pdr, const struct pkt *p,
	const struct finding *f)
{
	if (pdr->fteid != f->fteid)
		return false;
	if ((pdr->flags & PDR_UE) != 0 && (pdr->flags & f->families) == 0)
		return false;
	if ((pdr->flags & PDR_QFI) != 0 && pdr->qfi != p->qfi)
		return false;
	return likely((pdr->flags & PDR_SDF) == 0) || (!p->ip6 && sdfs_match(part, pdr, p, f->ip));
}

static inline void
prefetch_slots(struct worker *w, const struct pdr *pdr)
{
	// upf-c gives a session's QERs and URRs the same pairs, so that these are mostly one line.
	if (pdr->n_qer != 0)
		rte_prefetch0(qer_tat(&w->slots, pdr->qer_slot[0], pdr->direction));
	if (pdr->n_urr != 0)
		rte_prefetch0(shm_urr(&w->slots, pdr->urr_slot[0], pdr->direction));
}

// An IPv6 packet of a UE that does not leave the link: Router and Neighbour Solicitation, multicast.
static inline bool
is_of_the_link(const struct ipv6_header *ip)
{
	return (ip->src[0] == 0xfe && (ip->src[1] & 0xc0) == 0x80) || ip->dst[0] == 0xff ||
		(ip->dst[0] == 0xfe && (ip->dst[1] & 0xc0) == 0x80) ||
		memcmp(ip->src, (upf_addr){0}, sizeof(upf_addr)) == 0;
}

// The families whose UE address is the packet's: one or none.
static inline uint8_t
families_of(const struct part *part, const struct pkt *p, bool uplink)
{
	if (likely(!p->ip6)) {
		const struct rte_ipv4_hdr *ip = pkt_ip(p);
		rte_be32_t addr = uplink ? ip->src_addr : ip->dst_addr;

		return addr == part->ue4 && (part->flags & PART_UE_IPV4) != 0 ? PDR_UE_IPV4 : 0;
	}
	if ((part->flags & PART_UE_IPV6) != 0) {
		const struct ipv6_header *ip = (const struct ipv6_header *)pkt_ip(p);
		uint64_t key = ue_key6(uplink ? ip->src : ip->dst);

		if (((key ^ part->ue6) & ue6_mask(part->ue6_len)) == 0)
			return PDR_UE_IPV6;
	}
	return 0;
}

// What must be so before any PDR is asked. Most packets need nothing of it.
static int
pdr_prepare(struct worker *w, struct pkt *p, bool uplink)
{
	if (p->tunnel) {
		int verdict = user_header(p);

		if (unlikely(verdict != PKT_NEXT))
			return verdict;
		if (unlikely(p->ip6 && uplink) &&
			is_of_the_link((const struct ipv6_header *)pkt_ip(p)))
			return nd_from_ue(w, p);
	}
	// Only the first fragment has the ports.
	if (unlikely((p->fragment == PKT_FIRST || p->fragment == PKT_LATER) &&
		    (p->part->flags & PART_PORTS) != 0))
		return reassembly_take_user(w, p);
	return PKT_NEXT;
}

static int
pdr_match(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;
	bool uplink = part->direction == UPF_UL;
	struct finding f = {.fteid = p->tunnel ? p->key : 0};
	const struct pdr *pdr = part->pdr, *end = pdr + part->n_pdr;
	int verdict = pdr_prepare(w, p, uplink);

	if (unlikely(verdict != PKT_NEXT))
		return verdict;
	f.ip = pkt_ip(p);
	f.families = families_of(part, p, uplink);
	// A UE may only send from its own address: whatever the PDRs say of it, this is checked for
	// all that comes from access.
	if (unlikely(uplink && f.families == 0 &&
		    (part->flags & (PART_UE_IPV4 | PART_UE_IPV6)) != 0))
		return UPF_DROP_SPOOFED_SOURCE;
	while (pdr < end && !pdr_matches(part, pdr, p, &f))
		pdr++;
	if (unlikely(pdr == end))
		return UPF_DROP_NO_PDR;
	p->pdr = pdr;
	prefetch_slots(w, pdr);
	return (pdr->flags & PDR_REMOVE) != 0 ? outer_remove(p) : PKT_NEXT;
}

void
pdr_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, pdr_match);
}
