#include "packet/ethernet_frame.h"

#include <string.h>

#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "packet/ipv4.h"
#include "packet/ipv6.h"

#define TPID_C 0x8100u
#define TPID_S 0x88a8u
#define TAG 4u

static uint16_t
word_at(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

bool
ethernet_frame_read(struct ethernet_frame *frame, const void *start, uint32_t length)
{
	const uint8_t *at = start;
	uint32_t type = 2 * RTE_ETHER_ADDR_LEN;
	uint16_t tpid;

	*frame = (struct ethernet_frame){.header = start, .length = length};
	if (length < RTE_ETHER_HDR_LEN)
		return false;
	tpid = word_at(at + type);
	if (tpid == TPID_C || tpid == TPID_S) {
		uint16_t tci, next;

		if (length < type + TAG + 2)
			return false;
		tci = word_at(at + type + 2);
		type += TAG;
		next = word_at(at + type);
		if (tpid == TPID_S || next == TPID_C) {
			frame->has_s = true;
			frame->s_tag = tci;
			if (next == TPID_C) {
				if (length < type + TAG + 2)
					return false;
				frame->has_c = true;
				frame->c_tag = word_at(at + type + 2);
				type += TAG;
			}
		} else {
			frame->has_c = true;
			frame->c_tag = tci;
		}
	}
	frame->type = word_at(at + type);
	frame->payload = type + 2;
	return true;
}

// ---- SDF filters -------------------------------------------------------------------------------

struct upper { // of the IP packet in the frame
	const uint8_t *l4;
	uint32_t room; // octets from l4 on; 0: it is in another fragment
	uint8_t proto;
};

// Ports, or an SPI, of the packet as its direction has them.
static bool
upper_matches(const struct upper *u, uint8_t flags, const uint16_t remote[2],
	const uint16_t local[2], uint32_t spi, bool uplink)
{
	if ((flags & UPF_SDF_PORTS) != 0) {
		uint16_t source, destination, theirs, ours;

		if (u->room < 4 ||
			(u->proto != IPPROTO_TCP && u->proto != IPPROTO_UDP &&
				u->proto != IPPROTO_SCTP))
			return false;
		source = word_at(u->l4);
		destination = word_at(u->l4 + 2);
		theirs = uplink ? destination : source;
		ours = uplink ? source : destination;
		if (theirs < remote[0] || theirs > remote[1] || ours < local[0] || ours > local[1])
			return false;
	}
	if ((flags & UPF_SDF_SPI) != 0) {
		uint32_t at = u->proto == IPPROTO_AH ? 4 : 0;
		rte_be32_t value;

		if ((u->proto != IPPROTO_ESP && u->proto != IPPROTO_AH) || u->room < at + 4)
			return false;
		memcpy(&value, u->l4 + at, sizeof(value));
		if (rte_be_to_cpu_32(value) != spi)
			return false;
	}
	return true;
}

static bool
sdf_matches(const struct upf_sdf *sdf, const struct rte_ipv4_hdr *ip, const struct upper *u,
	bool uplink)
{
	rte_be32_t theirs = uplink ? ip->dst_addr : ip->src_addr;
	rte_be32_t ours = uplink ? ip->src_addr : ip->dst_addr;

	return (theirs & sdf->remote_mask_be) == (sdf->remote_addr_be & sdf->remote_mask_be) &&
		(ours & sdf->local_mask_be) == (sdf->local_addr_be & sdf->local_mask_be) &&
		((sdf->flags & UPF_SDF_PROTO) == 0 || u->proto == sdf->proto) &&
		((sdf->flags & UPF_SDF_TOS) == 0 ||
			((ip->type_of_service ^ sdf->tos) & sdf->tos_mask) == 0) &&
		upper_matches(u, sdf->flags,
			(const uint16_t[]){sdf->remote_port_lo, sdf->remote_port_hi},
			(const uint16_t[]){sdf->local_port_lo, sdf->local_port_hi}, sdf->spi,
			uplink);
}

static bool
prefix_has(const uint8_t *prefix, unsigned len, const uint8_t *addr)
{
	unsigned whole = len / 8, rest = len % 8;

	return memcmp(prefix, addr, whole) == 0 &&
		(rest == 0 || ((prefix[whole] ^ addr[whole]) >> (8 - rest)) == 0);
}

static bool
sdf6_matches(const struct upf_sdf6 *sdf, const struct ipv6_header *ip, const struct upper *u,
	bool uplink)
{
	rte_be32_t word;
	uint32_t first;

	memcpy(&word, ip, sizeof(word));
	first = rte_be_to_cpu_32(word);
	return prefix_has(sdf->remote_addr, sdf->remote_len, uplink ? ip->dst : ip->src) &&
		prefix_has(sdf->local_addr, sdf->local_len, uplink ? ip->src : ip->dst) &&
		((sdf->flags & UPF_SDF_PROTO) == 0 || u->proto == sdf->proto) &&
		((sdf->flags & UPF_SDF_TOS) == 0 ||
			(((uint8_t)(first >> 20) ^ sdf->tos) & sdf->tos_mask) == 0) &&
		((sdf->flags & UPF_SDF_FLOW_LABEL) == 0 || (first & 0xfffff) == sdf->flow_label) &&
		upper_matches(u, sdf->flags,
			(const uint16_t[]){sdf->remote_port_lo, sdf->remote_port_hi},
			(const uint16_t[]){sdf->local_port_lo, sdf->local_port_hi}, sdf->spi,
			uplink);
}

static bool
any_sdf_matches(const struct part *part, const struct upf_ethernet_filter *filter,
	const struct ethernet_frame *frame, bool uplink)
{
	const struct part_ethernet *rules = part_ethernet(part);
	const struct rte_ipv4_hdr *ip =
		(const void *)((const uint8_t *)frame->header + frame->payload);
	const struct upf_sdf *sdf = part_at(part, rules->sdf);
	uint32_t room = frame->length - frame->payload;
	uint16_t length = ipv4_valid_length(ip, room);
	struct upper u;

	if (frame->type != RTE_ETHER_TYPE_IPV4 || length == 0)
		return false;
	u.proto = ip->next_proto_id;
	u.l4 = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);
	u.room = (ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0
		? 0
		: length - (uint32_t)rte_ipv4_hdr_len(ip);
	for (unsigned i = 0; i < filter->sdf_count; i++) {
		if (sdf_matches(&sdf[filter->sdf_first + i], ip, &u, uplink))
			return true;
	}
	return false;
}

static bool
any_sdf6_matches(const struct part *part, const struct upf_ethernet_filter *filter,
	const struct ethernet_frame *frame, bool uplink)
{
	const struct part_ethernet *rules = part_ethernet(part);
	const struct ipv6_header *ip =
		(const void *)((const uint8_t *)frame->header + frame->payload);
	const struct upf_sdf6 *sdf = part_at(part, rules->sdf6);
	uint32_t room = frame->length - frame->payload;
	uint16_t length = ipv6_valid_length(ip, room);
	struct ipv6_chain chain;
	struct upper u;

	if (frame->type != RTE_ETHER_TYPE_IPV6 || length == 0 || !ipv6_walk(ip, length, &chain))
		return false;
	u.proto = chain.proto;
	u.l4 = (const uint8_t *)ip + chain.l4;
	u.room = chain.later ? 0 : (uint32_t)(length - chain.l4);
	for (unsigned i = 0; i < filter->sdf6_count; i++) {
		if (sdf6_matches(&sdf[filter->sdf6_first + i], ip, &u, uplink))
			return true;
	}
	return false;
}

// ---- Ethernet packet filters ---------------------------------------------------------------------

static bool
is_between(const uint8_t *lo, const struct rte_ether_addr *addr, const uint8_t *hi)
{
	return memcmp(lo, addr->addr_bytes, sizeof(addr->addr_bytes)) <= 0 &&
		memcmp(addr->addr_bytes, hi, sizeof(addr->addr_bytes)) <= 0;
}

static bool
filter_matches(const struct part *part, const struct upf_ethernet_filter *f,
	const struct ethernet_frame *frame)
{
	bool uplink = part->direction == UPF_UL;

	if ((f->flags & UPF_ETHERNET_SOURCE) != 0 &&
		!is_between(f->source_lo, &frame->header->src_addr, f->source_hi))
		return false;
	if ((f->flags & UPF_ETHERNET_DESTINATION) != 0 &&
		!is_between(f->destination_lo, &frame->header->dst_addr, f->destination_hi))
		return false;
	if ((f->flags & UPF_ETHERNET_TYPE) != 0 && f->type != frame->type)
		return false;
	if ((f->flags & UPF_ETHERNET_C_TAG) != 0 &&
		(!frame->has_c || ((f->c_tag ^ frame->c_tag) & f->c_mask) != 0))
		return false;
	if ((f->flags & UPF_ETHERNET_S_TAG) != 0 &&
		(!frame->has_s || ((f->s_tag ^ frame->s_tag) & f->s_mask) != 0))
		return false;
	return (f->flags & UPF_ETHERNET_SDF) == 0 || any_sdf_matches(part, f, frame, uplink) ||
		any_sdf6_matches(part, f, frame, uplink);
}

static bool
any_filter_matches(
	const struct part *part, const struct pdr *pdr, const struct ethernet_frame *frame)
{
	const struct part_ethernet *rules = part_ethernet(part);

	for (unsigned i = 0; i < pdr->sdf_count; i++) {
		if (filter_matches(part, &rules->filter[pdr->sdf_first + i], frame))
			return true;
	}
	return false;
}

const struct pdr *
ethernet_find_pdr(
	const struct part *part, const struct ethernet_frame *frame, uint64_t fteid, uint8_t qfi)
{
	for (unsigned i = 0; i < part->n_pdr; i++) {
		const struct pdr *pdr = &part->pdr[i];

		if (pdr->fteid == fteid && ((pdr->flags & PDR_QFI) == 0 || pdr->qfi == qfi) &&
			((pdr->flags & PDR_SDF) == 0 || any_filter_matches(part, pdr, frame)))
			return pdr;
	}
	return NULL;
}
