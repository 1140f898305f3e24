// The search, and what a packet says; see tss.h for the idea.
#include "rules/tss.h"

#include <string.h>

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_ip.h>

#include "rules/lanes.h"
#include "rules/tss_layout.h"

static inline __attribute__((always_inline)) bool
uniform_matches(const uint8_t *at, unsigned n, const struct tss_flow *flow)
{
	const struct uniform *u = (const void *)at;
	uint32_t differs = 0;

	for (unsigned i = 0; i < n; i++)
		differs |= (flow->word[u[i].word] ^ u[i].key) & u[i].mask;
	return differs == 0;
}

// Bit i is set when lane i matches.
static inline __attribute__((always_inline)) unsigned
block_hits(const struct tuple *t, const struct block *b, const struct tss_flow *flow)
{
	struct lanes differs = lanes_none();

	for (unsigned i = 0; i < t->columns; i++) {
		const struct column *c = &b->column[i];

		differs = lanes_or_masked(differs, flow->word[t->column[i]], c->key, c->mask);
	}
	if (t->ports) {
		const struct column *c = &b->column[t->columns];

		differs = lanes_or_outside(differs, flow->word[2], c->key, c->mask);
	}
	return lanes_zero(differs);
}

static inline __attribute__((always_inline)) uint16_t
search(const struct tss *tss, const struct tss_flow *flow, enum tss_family family)
{
	const uint8_t *base = (const uint8_t *)tss, *at = base + tss->family[family].first;
	unsigned words = tss_words_of(family);
	uint16_t best = tss->family[family].otherwise;

	if (!uniform_matches(at, tss->family[family].common, flow))
		return TSS_NONE;
	at += tss_uniforms_size(tss->family[family].common);
	for (unsigned i = tss->family[family].tuples; i > 0; i--) {
		const struct tuple *t = (const void *)at;
		const uint8_t *rest = at + sizeof(*t);
		const struct block *b;

		if (t->best >= best)
			break;
		at += t->size;
		b = (const void *)(base + t->blocks);
		if (t->bits != 0) {
			uint32_t h = tss_hash(flow->word, (const void *)rest, words);

			b = (const void *)((const uint8_t *)b +
				(size_t)(h >> (32 - t->bits)) * t->block);
			rest += words * sizeof(uint32_t);
		}
		if (!uniform_matches(rest, t->uniforms, flow))
			continue;
		while (b->order[0] < best) {
			unsigned hits = block_hits(t, b, flow);

			if (hits != 0) {
				uint16_t order = b->order[__builtin_ctz(hits)];

				best = order < best ? order : best;
				break;
			}
			if (b->next == 0)
				break;
			b = (const void *)(base + b->next);
		}
	}
	return best;
}

uint16_t
tss_match(const struct tss *tss, enum tss_family family, const struct tss_flow *flow)
{
	return likely(family == TSS_IPV4) ? search(tss, flow, TSS_IPV4)
					  : search(tss, flow, TSS_IPV6);
}

// ---- the flow of a packet --------------------------------------------------------------------------

static uint32_t
read_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// Words 2 to 7, in the 64-bit stores as which tss_hash() loads them: a load that spans two stores waits.
static inline __attribute__((always_inline)) void
flow_transport(struct tss_flow *flow, uint8_t proto, uint8_t tos, const uint8_t *l4, unsigned room,
	enum upf_direction direction, uint8_t qfi, uint32_t flow_label, uint64_t fteid)
{
	uint32_t ports = 0, spi = 0, has = 0;

	if (likely(proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP)) {
		if (likely(room >= 4)) {
			uint32_t source = (uint32_t)l4[0] << 8 | l4[1];
			uint32_t destination = (uint32_t)l4[2] << 8 | l4[3];

			has = TSS_HAS_PORTS;
			ports = direction == UPF_DL ? destination << 16 | source
						    : source << 16 | destination;
		}
	} else if (proto == IPPROTO_ESP || proto == IPPROTO_AH) {
		unsigned at = proto == IPPROTO_AH ? 4 : 0; // RFC 4302 2, RFC 4303 2

		if (room >= at + 4) {
			has = TSS_HAS_SPI;
			spi = read_be32(l4 + at);
		}
	}
	flow->pair[1] = (uint64_t)(proto | (uint32_t)tos << 8 | (uint32_t)qfi << 16 | has << 24)
			<< 32 |
		ports;
	flow->pair[2] = (uint64_t)flow_label << 32 | spi;
	flow->pair[3] = fteid;
}

void
tss_flow_ipv4(struct tss_flow *flow, const struct rte_ipv4_hdr *ip, uint16_t length,
	enum upf_direction direction, uint8_t qfi, uint64_t fteid)
{
	unsigned header = rte_ipv4_hdr_len(ip);
	bool later = (ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0;
	uint64_t remote = direction == UPF_DL ? ip->src_addr : ip->dst_addr;
	uint64_t local = direction == UPF_DL ? ip->dst_addr : ip->src_addr;

	flow->pair[0] = local << 32 | remote;
	flow_transport(flow, ip->next_proto_id, ip->type_of_service, (const uint8_t *)ip + header,
		later || header > length ? 0 : length - header, direction, qfi, 0, fteid);
}

void
tss_flow_ipv6(struct tss_flow *flow, const struct rte_ipv6_hdr *ip, uint16_t length, uint8_t proto,
	uint16_t l4, enum upf_direction direction, uint8_t qfi, uint64_t fteid)
{
	const uint8_t *remote = direction == UPF_DL ? (const uint8_t *)&ip->src_addr
						    : (const uint8_t *)&ip->dst_addr;
	const uint8_t *local = direction == UPF_DL ? (const uint8_t *)&ip->dst_addr
						   : (const uint8_t *)&ip->src_addr;
	uint32_t first = rte_be_to_cpu_32(ip->vtc_flow), head[2], rest[8] = {0};

	memcpy(&head[0], remote, 4);
	memcpy(&head[1], local, 4);
	memcpy(&rest[0], remote + 4, 12);
	memcpy(&rest[3], local + 4, 12);
	flow->pair[0] = (uint64_t)head[1] << 32 | head[0];
	for (size_t i = 0; i < 4; i++)
		flow->pair[4 + i] = (uint64_t)rest[2 * i + 1] << 32 | rest[2 * i];
	flow_transport(flow, proto, (uint8_t)(first >> 20), (const uint8_t *)ip + l4,
		l4 == 0 || l4 > length ? 0 : length - l4, direction, qfi, first & 0xfffff, fteid);
}
