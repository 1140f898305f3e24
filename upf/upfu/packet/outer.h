// Outer Header Creation and Removal (TS 29.244 5.2.3.1, 8.2.56, 8.2.64): what stands around a user's
// packet on N3, N9 and, where a FAR asks for it, on N6.
#ifndef UPFU_OUTER_H
#define UPFU_OUTER_H

#include <assert.h>
#include <stdint.h>

#include "packet/gtpu_header.h"
#include "packet/packet.h"
#include "rules/session.h"
#include "upf_abi.h"

struct worker;

struct outer_gtpu4 { // by far the most usual
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	struct rte_gtp_hdr gtp;
	struct rte_gtp_hdr_ext_word word; // from here on only with a QFI
	struct gtpu_psc psc;
} __attribute__((packed, aligned(2)));
static_assert(sizeof(struct outer_gtpu4) == 44, "as on the wire");

#define OUTER_PLAIN4 offsetof(struct outer_gtpu4, word)
#define OUTER_PSC (sizeof(struct outer_gtpu4) - OUTER_PLAIN4)
#define OUTER_PPI 4u // the container's second unit

// The QFI that the container carries: a QER's, else the one that came; 0: no container.
static inline uint8_t
outer_qfi(const struct pkt *p)
{
	return p->pdr->out_qfi != 0 ? p->pdr->out_qfi : p->qfi;
}

// Octets of the outer headers by enum upf_ohc, without a PDU Session Container.
static const uint8_t outer_fixed[] = {
	[UPF_OHC_NONE] = 0,
	[UPF_OHC_GTPU4] = OUTER_PLAIN4,
	[UPF_OHC_GTPU6] = OUTER_PLAIN4 + 20,
	[UPF_OHC_UDP4] = 28,
	[UPF_OHC_UDP6] = 48,
	[UPF_OHC_IP4] = 20,
	[UPF_OHC_IP6] = 40,
};

// Octets that outer_push() will put in front.
static inline uint16_t
outer_length(const struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	uint16_t length = outer_fixed[pdr->ohc];

	if (pdr->ohc <= UPF_OHC_GTPU6 && pdr->ohc != UPF_OHC_NONE && outer_qfi(p) != 0)
		length += OUTER_PSC + ((pdr->mark & PDR_PPI) != 0 ? OUTER_PPI : 0);
	return length;
}

#define OUTER_TTL 64u
#define OUTER_MOST 72u // what outer_length() can be at most

// The header's checksum, from its fields: reading back what has just been written would wait for it.
// Words are summed as they lie in memory, 32 bits at a time (RFC 1071 2).
static inline rte_be16_t
outer_checksum4(const struct pdr *pdr, uint8_t proto, uint16_t length)
{
	uint64_t sum = (uint64_t)pdr->local4 + pdr->peer4;

	sum += rte_cpu_to_be_16((uint16_t)(RTE_IPV4_VHL_DEF << 8 | pdr->tos));
	sum += rte_cpu_to_be_16(length);
	sum += rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	sum += rte_cpu_to_be_16((uint16_t)(OUTER_TTL << 8 | proto));
	sum = (sum >> 32) + (sum & UINT32_MAX);
	sum = (sum >> 16) + (sum & UINT16_MAX);
	sum = (sum >> 16) + (sum & UINT16_MAX);
	return (rte_be16_t)~sum;
}

static inline void
outer_fill_ip4(struct rte_ipv4_hdr *ip, const struct pdr *pdr, uint8_t proto, uint16_t length)
{
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = pdr->tos,
		.total_length = rte_cpu_to_be_16(length),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = OUTER_TTL,
		.next_proto_id = proto,
		.hdr_checksum = outer_checksum4(pdr, proto, length),
		.src_addr = pdr->local4,
		.dst_addr = pdr->peer4,
	};
}

// TS 29.281 4.4.2: over IPv4 the UDP checksum may be zero.
static inline void
outer_fill_udp(struct rte_udp_hdr *udp, uint16_t from, uint16_t to, uint16_t length)
{
	*udp = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16(from),
		.dst_port = rte_cpu_to_be_16(to),
		.dgram_len = rte_cpu_to_be_16(length),
	};
}

// GTP-U header; length: octets behind its eight.
static inline void
outer_fill_gtpu(struct rte_gtp_hdr *gtp, const struct pdr *pdr, bool container, uint16_t length)
{
	gtp->gtp_hdr_info = container ? GTPU_VERSION_1 | GTPU_FLAG_E : GTPU_VERSION_1;
	gtp->msg_type = GTPU_G_PDU;
	gtp->plen = rte_cpu_to_be_16(length);
	gtp->teid = pdr->out_teid;
}

// The ends of the PDR's tunnel; of IPv4 the rest of both stays as it is.
void outer_addresses(const struct part *part, const struct pdr *pdr, upf_addr local, upf_addr peer);
// RQI and PPI into the container of a downlink packet.
void outer_mark_psc(struct gtpu_psc *psc, const struct pkt *p);

// TS 38.415 5.5.2.
static inline void
outer_fill_psc(
	struct rte_gtp_hdr_ext_word *word, struct gtpu_psc *psc, const struct pkt *p, uint8_t qfi)
{
	const struct pdr *pdr = p->pdr;

	*word = (struct rte_gtp_hdr_ext_word){.next_ext = GTPU_EXT_PDU_SESSION_CONTAINER};
	*psc = (struct gtpu_psc){
		.units = 1,
		.type = pdr->direction == UPF_UL ? 0x10 : 0,
		.qfi = qfi,
	};
	if (unlikely(((pdr->mark & PDR_PSC) | p->rqi) != 0))
		outer_mark_psc(psc, p);
}

// Puts the outer headers of p->pdr, which are GTP-U over IPv4 and `length` octets long, in front of
// the user's packet, which is all that p->m holds. False: no room.
static inline bool
outer_push_gtpu4(struct pkt *p, uint16_t length)
{
	const struct pdr *pdr = p->pdr;
	uint8_t qfi = outer_qfi(p);
	struct outer_gtpu4 *outer = (struct outer_gtpu4 *)(void *)rte_pktmbuf_prepend(p->m, length);

	if (unlikely(outer == NULL))
		return false;
	outer_fill_ip4(&outer->ip, pdr, IPPROTO_UDP, (uint16_t)(p->ip_len + length));
	outer_fill_udp(&outer->udp, GTPU_PORT, pdr->peer_port,
		(uint16_t)(p->ip_len + length - sizeof(outer->ip)));
	outer_fill_gtpu(&outer->gtp, pdr, qfi != 0, (uint16_t)(p->ip_len + length - OUTER_PLAIN4));
	if (qfi != 0)
		outer_fill_psc(&outer->word, &outer->psc, p, qfi);
	return true;
}

// The same for all kinds. False: no room.
bool outer_push(struct worker *w, struct pkt *p);
// Octets that outer_push() has put in front by this enum upf_ohc; ip: the outer header.
uint16_t outer_of_frame(uint8_t ohc, const uint8_t *ip);

enum outer_removal { // TS 29.244 8.2.64
	OUTER_REMOVE_GTPU4 = 0,
	OUTER_REMOVE_GTPU6 = 1,
	OUTER_REMOVE_UDP4 = 2,
	OUTER_REMOVE_UDP6 = 3,
	OUTER_REMOVE_IP4 = 4,
	OUTER_REMOVE_IP6 = 5,
	OUTER_REMOVE_GTPU = 6,
};

// Outer Header Removal of the matched PDR, for what parsing has not taken off already. PKT_NEXT with
// p at the packet inside, or OUTER_HEADER: the packet has other headers.
int outer_remove_more(struct pkt *p);

static inline int
outer_remove(struct pkt *p)
{
	static_assert(OUTER_REMOVE_GTPU4 == 0 && OUTER_REMOVE_GTPU6 == 1, "as p->outer6");
	return likely(p->tunnel && p->pdr->removal == p->outer6) ? PKT_NEXT : outer_remove_more(p);
}

#endif
