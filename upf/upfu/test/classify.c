#include "classify.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "rules/tss.h"
#include "rules/tss_compile.h"

#define SDFS_MAX UPF_SESSION_SDFS
#define FTEID_BASE UINT64_C(0xac1e031100010000)

// ---- choices -------------------------------------------------------------------------------------

struct choices {
	const uint8_t *at, *end;
};

static unsigned
choose(struct choices *c, unsigned n)
{
	unsigned value = 0;

	for (unsigned range = n - 1; range != 0 && c->at < c->end; range >>= 8)
		value = value << 8 | *c->at++;
	return value % n;
}

static unsigned
pick(struct choices *c, const unsigned *from, unsigned n)
{
	return from[choose(c, n)];
}

#define PICK(c, ...) \
	pick(c, (const unsigned[]){__VA_ARGS__}, \
		sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

// ---- a session and a packet --------------------------------------------------------------------------

// Filters of one kind differ in remote address and ports only, as an operator's lists do, so that
// tuples become large.
struct kind {
	struct upf_sdf sdf;
	struct upf_sdf6 sdf6;
	unsigned remote_range, local_range; // ports in a range, less one
};

#define KINDS 4u

struct session {
	struct kind kind[KINDS];
	unsigned kinds; // 0: each filter is of its own
	struct upf_pdr pdr[UPF_SESSION_PDRS];
	struct upf_sdf sdf[SDFS_MAX];
	struct upf_sdf6 sdf6[SDFS_MAX];
	unsigned n_pdr, n_sdf, n_sdf6;
	enum upf_direction direction;
};

struct packet {
	bool v6;
	upf_addr remote, local;
	uint8_t proto, tos, qfi;
	uint32_t flow_label;
	bool later_fragment;
	uint16_t remote_port, local_port;
	uint32_t spi;
	unsigned l4_len; // octets of the transport header that are there
	uint32_t applications;
	uint64_t fteid;
};

static const uint8_t ue4[4] = {10, 45, 0, 1};
static const uint8_t ue6[16] = {0x20, 1, 0xd, 0xb8, 0, 1, 0, 2};

static void
remote_address(struct choices *c, bool v6, upf_addr to)
{
	static const uint8_t net4[3][4] = {{8, 8, 0, 0}, {8, 8, 4, 0}, {192, 0, 2, 0}};
	static const uint8_t net6[3][16] = {
		{0x20, 1, 0x48, 0x60, 0x48, 0x60}, {0x20, 1, 0x48, 0x60}, {0x26, 6, 0x47}};

	memset(to, 0, 16);
	memcpy(to, v6 ? net6[choose(c, 3)] : net4[choose(c, 3)], v6 ? 16 : 4);
	to[v6 ? 15 : 3] = (uint8_t)choose(c, 256);
	to[v6 ? 7 : 2] ^= (uint8_t)PICK(c, 0, 0, 1, 4, 255);
}

static void
port_range(struct choices *c, uint16_t *lo, uint16_t *hi)
{
	unsigned base = PICK(c, 0, 80, 443, 1024, 5000, 32768, 65535) + choose(c, 64);
	unsigned length = PICK(c, 0, 0, 0, 1, 7, 15, 100, 1000, 40000, 65535);

	*lo = (uint16_t)(base > 65535 ? 65535 : base);
	*hi = (uint16_t)(*lo + length > 65535 ? 65535 : *lo + length);
	if (length == 65535)
		*lo = 0;
}

static void
filter_flags(struct choices *c, uint8_t *flags, uint8_t *proto, uint8_t *tos, uint8_t *tos_mask,
	uint32_t *spi, uint16_t ports[4])
{
	*flags = (uint8_t)PICK(c, 0, 0, UPF_SDF_PROTO, UPF_SDF_PROTO | UPF_SDF_PORTS, UPF_SDF_PORTS,
		UPF_SDF_TOS, UPF_SDF_SPI, UPF_SDF_PROTO | UPF_SDF_PORTS | UPF_SDF_TOS,
		UPF_SDF_PROTO | UPF_SDF_SPI, UPF_SDF_PORTS | UPF_SDF_SPI);
	*proto = (uint8_t)PICK(
		c, IPPROTO_UDP, IPPROTO_TCP, IPPROTO_SCTP, IPPROTO_ICMP, IPPROTO_ESP, IPPROTO_AH);
	*tos = (uint8_t)PICK(c, 0xb8, 0x28, 0x29, 0);
	*tos_mask = (uint8_t)PICK(c, 0xff, 0xfc, 0);
	*spi = PICK(c, 1, 0x01bb0050);
	port_range(c, &ports[0], &ports[1]);
	port_range(c, &ports[2], &ports[3]);
	if (choose(c, 2) != 0) {
		ports[2] = 0;
		ports[3] = UINT16_MAX;
	}
}

static void
make_sdf(struct choices *c, struct upf_sdf *s)
{
	unsigned length = PICK(c, 32, 32, 32, 24, 23, 16, 8, 0, 31, choose(c, 33));
	uint16_t ports[4];
	upf_addr remote;

	memset(s, 0, sizeof(*s));
	remote_address(c, false, remote);
	memcpy(&s->remote_addr_be, remote, 4);
	s->remote_mask_be = rte_cpu_to_be_32(length == 0 ? 0 : UINT32_MAX << (32 - length));
	memcpy(&s->local_addr_be, ue4, 4);
	s->local_mask_be = choose(c, 2) != 0 ? UINT32_MAX : 0;
	if (choose(c, 16) == 0)
		s->local_addr_be ^= rte_cpu_to_be_32(2); // another UE's: seldom matches
	filter_flags(c, &s->flags, &s->proto, &s->tos, &s->tos_mask, &s->spi, ports);
	s->remote_port_lo = ports[0];
	s->remote_port_hi = ports[1];
	s->local_port_lo = ports[2];
	s->local_port_hi = ports[3];
}

static void
make_sdf6(struct choices *c, struct upf_sdf6 *s)
{
	uint16_t ports[4];

	memset(s, 0, sizeof(*s));
	remote_address(c, true, s->remote_addr);
	s->remote_len = (uint8_t)PICK(c, 128, 128, 128, 64, 48, 32, 0, 127, choose(c, 129));
	memcpy(s->local_addr, ue6, 16);
	s->local_addr[15] = (uint8_t)choose(c, 2);
	s->local_len = (uint8_t)PICK(c, 64, 128, 0, 60, choose(c, 129));
	filter_flags(c, &s->flags, &s->proto, &s->tos, &s->tos_mask, &s->spi, ports);
	s->remote_port_lo = ports[0];
	s->remote_port_hi = ports[1];
	s->local_port_lo = ports[2];
	s->local_port_hi = ports[3];
	if (choose(c, 4) == 0) {
		s->flags |= UPF_SDF_FLOW_LABEL;
		s->flow_label = PICK(c, 0, 0xfffff, 0x12345);
	}
}

static void
vary_ports(struct choices *c, const struct kind *kind, uint16_t ports[4])
{
	const unsigned length[2] = {kind->remote_range, kind->local_range};

	for (unsigned i = 0; i < 2; i++) {
		unsigned lo = length[i] == UINT16_MAX ? 0 : choose(c, 65536 - length[i]);

		ports[2 * i] = (uint16_t)lo;
		ports[2 * i + 1] = (uint16_t)(lo + length[i]);
	}
}

static void
make_kind(struct choices *c, struct kind *kind)
{
	make_sdf(c, &kind->sdf);
	make_sdf6(c, &kind->sdf6);
	kind->remote_range = PICK(c, 0, 0, 65535, 1, 9, 40, 100, 600, 20000);
	kind->local_range = PICK(c, 65535, 65535, 0, 9, 3000);
}

static void
add_sdf(struct choices *c, struct session *s)
{
	struct upf_sdf *sdf = &s->sdf[s->n_sdf++];
	const struct kind *kind;
	uint16_t ports[4];
	upf_addr remote;

	if (s->kinds == 0) {
		make_sdf(c, sdf);
		return;
	}
	kind = &s->kind[choose(c, s->kinds)];
	*sdf = kind->sdf;
	remote_address(c, false, remote);
	memcpy(&sdf->remote_addr_be, remote, 4);
	vary_ports(c, kind, ports);
	sdf->remote_port_lo = ports[0];
	sdf->remote_port_hi = ports[1];
	sdf->local_port_lo = ports[2];
	sdf->local_port_hi = ports[3];
}

static void
add_sdf6(struct choices *c, struct session *s)
{
	struct upf_sdf6 *sdf = &s->sdf6[s->n_sdf6++];
	const struct kind *kind;
	uint16_t ports[4];

	if (s->kinds == 0) {
		make_sdf6(c, sdf);
		return;
	}
	kind = &s->kind[choose(c, s->kinds)];
	*sdf = kind->sdf6;
	remote_address(c, true, sdf->remote_addr);
	vary_ports(c, kind, ports);
	sdf->remote_port_lo = ports[0];
	sdf->remote_port_hi = ports[1];
	sdf->local_port_lo = ports[2];
	sdf->local_port_hi = ports[3];
}

static void
make_pdr(struct choices *c, struct session *s, unsigned style)
{
	struct upf_pdr *pdr = &s->pdr[s->n_pdr++];
	unsigned n_sdf = 0, n_sdf6 = 0;

	memset(pdr, 0, sizeof(*pdr));
	pdr->pdr_id = (uint16_t)s->n_pdr;
	pdr->source_interface = s->direction == UPF_UL ? UPF_IF_ACCESS : UPF_IF_CORE;
	memcpy(&pdr->ue_addr_be, ue4, 4);
	memcpy(pdr->ue_prefix, ue6, 16);
	pdr->ue_prefix_len = (uint8_t)PICK(c, 64, 64, 56, 61, 1);
	pdr->flags = (uint8_t)PICK(
		c, UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6, 0, UPF_PDR_UE_IPV4, UPF_PDR_UE_IPV6);
	if (choose(c, 8) == 0)
		pdr->ue_addr_be ^= rte_cpu_to_be_32(1 + choose(c, 3));
	if (s->direction == UPF_UL || choose(c, 8) == 0) { // downlink: from N9
		pdr->flags |= UPF_PDR_TEID;
		pdr->teid = PICK(c, 0, 0, 0, 1);
	}
	if (choose(c, 4) == 0) {
		pdr->flags |= UPF_PDR_QFI;
		pdr->qfi = (uint8_t)PICK(c, 9, 1, 0);
	}
	if (style == 0 && choose(c, 4) != 0)
		return;
	pdr->flags |= UPF_PDR_SDF;
	pdr->sdf_first = (uint16_t)s->n_sdf;
	pdr->sdf6_first = (uint16_t)s->n_sdf6;
	switch (style == 0 ? choose(c, 3) : style) {
	case 1:
		n_sdf = 1;
		break;
	case 2:
		n_sdf6 = 1;
		break;
	default:
		n_sdf = choose(c, 4);
		n_sdf6 = choose(c, 4);
		break;
	}
	for (; n_sdf > 0 && s->n_sdf < SDFS_MAX; n_sdf--, pdr->sdf_count++)
		add_sdf(c, s);
	for (; n_sdf6 > 0 && s->n_sdf6 < SDFS_MAX; n_sdf6--, pdr->sdf6_count++)
		add_sdf6(c, s);
	if (choose(c, 8) == 0)
		pdr->application = (uint8_t)(1 + PICK(c, 0, 1, 31, choose(c, 32)));
}

static uint16_t
port_near(struct choices *c, uint16_t lo, uint16_t hi)
{
	return (uint16_t)PICK(c, lo, hi, lo - 1u, hi + 1u, lo + choose(c, hi - lo + 1u), 80);
}

// A packet that an SDF filter of the session matches, or nearly.
static void
make_packet(struct choices *c, const struct session *s, struct packet *p)
{
	memset(p, 0, sizeof(*p));
	p->v6 = s->n_sdf == 0 ? choose(c, 8) != 0 : s->n_sdf6 != 0 && choose(c, 2) != 0;
	p->proto = (uint8_t)PICK(
		c, IPPROTO_UDP, IPPROTO_TCP, IPPROTO_SCTP, IPPROTO_ICMP, IPPROTO_ESP, IPPROTO_AH);
	p->tos = (uint8_t)PICK(c, 0xb8, 0x28, 0x29, 0);
	p->flow_label = PICK(c, 0, 0xfffff, 0x12345);
	p->spi = PICK(c, 1, 0x01bb0050, 0);
	p->later_fragment = choose(c, 16) == 0;
	p->l4_len = PICK(c, 16, 16, 16, 8, 7, 4, 3, 0);
	p->qfi = (uint8_t)PICK(c, 9, 9, 1, 0);
	p->fteid =
		s->direction == UPF_UL || choose(c, 8) == 0 ? FTEID_BASE + PICK(c, 0, 0, 0, 1) : 0;
	remote_address(c, p->v6, p->remote);
	memcpy(p->local, p->v6 ? ue6 : ue4, p->v6 ? 16 : 4);
	if (p->v6)
		p->local[15] = (uint8_t)choose(c, 3);
	if (!p->v6 && s->n_sdf != 0) {
		const struct upf_sdf *sdf = &s->sdf[choose(c, s->n_sdf)];

		memcpy(p->remote, &sdf->remote_addr_be, 4);
		p->proto = (sdf->flags & UPF_SDF_PROTO) != 0 ? sdf->proto : p->proto;
		p->remote_port = port_near(c, sdf->remote_port_lo, sdf->remote_port_hi);
		p->local_port = port_near(c, sdf->local_port_lo, sdf->local_port_hi);
	} else if (p->v6 && s->n_sdf6 != 0) {
		const struct upf_sdf6 *sdf = &s->sdf6[choose(c, s->n_sdf6)];

		memcpy(p->remote, sdf->remote_addr, 16);
		p->proto = (sdf->flags & UPF_SDF_PROTO) != 0 ? sdf->proto : p->proto;
		p->remote_port = port_near(c, sdf->remote_port_lo, sdf->remote_port_hi);
		p->local_port = port_near(c, sdf->local_port_lo, sdf->local_port_hi);
	}
	if (choose(c, 4) == 0) // one bit off
		p->remote[choose(c, p->v6 ? 16 : 4)] ^= (uint8_t)(1u << choose(c, 8));
	if (choose(c, 8) == 0)
		p->local[choose(c, p->v6 ? 16 : 4)] ^= (uint8_t)(1u << choose(c, 8));
	p->applications = PICK(c, 0, 0, 1, 2, 3, 1u << 31, UINT32_MAX, 1u << choose(c, 32));
}

// ---- the naive matcher -------------------------------------------------------------------------------

static bool
same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++) {
		if ((a[i / 8] >> (7 - i % 8) & 1) != (b[i / 8] >> (7 - i % 8) & 1))
			return false;
	}
	return true;
}

static bool
same_masked(const uint8_t *a, uint32_t b_be, uint32_t mask_be)
{
	uint32_t a_be;

	memcpy(&a_be, a, 4);
	return (a_be & mask_be) == (b_be & mask_be);
}

// TS 29.212 5.4.2, TS 29.244 8.2.5.
static bool
transport_matches(const struct packet *p, uint8_t flags, uint8_t proto, uint8_t tos,
	uint8_t tos_mask, uint32_t spi, const uint16_t ports[4])
{
	if (flags & UPF_SDF_PROTO && p->proto != proto)
		return false;
	if (flags & UPF_SDF_TOS && (p->tos & tos_mask) != (tos & tos_mask))
		return false;
	if (flags & UPF_SDF_PORTS) {
		if (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP && p->proto != IPPROTO_SCTP)
			return false;
		if (p->later_fragment || p->l4_len < 4)
			return false;
		if (p->remote_port < ports[0] || p->remote_port > ports[1])
			return false;
		if (p->local_port < ports[2] || p->local_port > ports[3])
			return false;
	}
	if (flags & UPF_SDF_SPI) {
		if (p->proto != IPPROTO_ESP && p->proto != IPPROTO_AH)
			return false;
		if (p->later_fragment || p->l4_len < (p->proto == IPPROTO_ESP ? 4 : 8))
			return false;
		if (p->spi != spi)
			return false;
	}
	return true;
}

static bool
sdf_matches(const struct upf_sdf *s, const struct packet *p)
{
	const uint16_t ports[4] = {
		s->remote_port_lo, s->remote_port_hi, s->local_port_lo, s->local_port_hi};

	return !p->v6 && same_masked(p->remote, s->remote_addr_be, s->remote_mask_be) &&
		same_masked(p->local, s->local_addr_be, s->local_mask_be) &&
		transport_matches(p, s->flags, s->proto, s->tos, s->tos_mask, s->spi, ports);
}

static bool
sdf6_matches(const struct upf_sdf6 *s, const struct packet *p)
{
	const uint16_t ports[4] = {
		s->remote_port_lo, s->remote_port_hi, s->local_port_lo, s->local_port_hi};

	return p->v6 && same_bits(p->remote, s->remote_addr, s->remote_len) &&
		same_bits(p->local, s->local_addr, s->local_len) &&
		(!(s->flags & UPF_SDF_FLOW_LABEL) || s->flow_label == p->flow_label) &&
		transport_matches(p, s->flags, s->proto, s->tos, s->tos_mask, s->spi, ports);
}

static bool
pdr_matches(const struct session *s, const struct upf_pdr *pdr, const struct packet *p)
{
	if (p->fteid != (pdr->flags & UPF_PDR_TEID ? FTEID_BASE + pdr->teid : 0))
		return false;
	if (pdr->flags & UPF_PDR_QFI && p->qfi != pdr->qfi)
		return false;
	if (pdr->flags & (UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6)) {
		bool ue = p->v6 ? pdr->flags & UPF_PDR_UE_IPV6 &&
				same_bits(p->local, pdr->ue_prefix, pdr->ue_prefix_len)
				: pdr->flags & UPF_PDR_UE_IPV4 &&
				same_masked(p->local, pdr->ue_addr_be, UINT32_MAX);

		if (!ue)
			return false;
	}
	if (!(pdr->flags & UPF_PDR_SDF))
		return true;
	if (pdr->application != 0 && (p->applications >> (pdr->application - 1) & 1) != 0)
		return true;
	for (unsigned i = 0; i < pdr->sdf_count; i++) {
		if (sdf_matches(&s->sdf[pdr->sdf_first + i], p))
			return true;
	}
	for (unsigned i = 0; i < pdr->sdf6_count; i++) {
		if (sdf6_matches(&s->sdf6[pdr->sdf6_first + i], p))
			return true;
	}
	return false;
}

static uint16_t
naive_match(const struct session *s, const struct packet *p)
{
	for (unsigned i = 0; i < s->n_pdr; i++) {
		if (pdr_matches(s, &s->pdr[i], p))
			return (uint16_t)i;
	}
	return TSS_NONE;
}

// ---- the packet on the wire --------------------------------------------------------------------------

static void
put_be(uint8_t *at, uint32_t value, unsigned octets)
{
	for (unsigned i = 0; i < octets; i++)
		at[i] = (uint8_t)(value >> 8 * (octets - 1 - i));
}

static uint16_t
match_on_wire(const struct tss *tss, const struct session *s, const struct packet *p)
{
	bool dl = s->direction == UPF_DL;
	const uint8_t *src = dl ? p->remote : p->local, *dst = dl ? p->local : p->remote;
	struct {
		union {
			struct rte_ipv4_hdr v4;
			struct rte_ipv6_hdr v6;
		};
		uint8_t room[16];
	} wire = {.room = {0}};
	struct tss_flow flow;
	size_t header = p->v6 ? sizeof(wire.v6) : sizeof(wire.v4);
	uint8_t *l4 = (uint8_t *)&wire + header;

	memset(&flow, 0xa5, sizeof(flow)); // nothing may be left as it was
	if (p->proto == IPPROTO_ESP || p->proto == IPPROTO_AH) {
		put_be(l4 + (p->proto == IPPROTO_AH ? 4 : 0), p->spi, 4);
	} else {
		put_be(l4, dl ? p->remote_port : p->local_port, 2);
		put_be(l4 + 2, dl ? p->local_port : p->remote_port, 2);
	}
	if (p->v6) {
		wire.v6.vtc_flow = rte_cpu_to_be_32(
			UINT32_C(6) << 28 | (uint32_t)p->tos << 20 | p->flow_label);
		wire.v6.proto = p->proto;
		memcpy(&wire.v6.src_addr, src, 16);
		memcpy(&wire.v6.dst_addr, dst, 16);
		tss_flow_ipv6(&flow, &wire.v6, (uint16_t)(header + p->l4_len), p->proto,
			p->later_fragment ? 0 : (uint16_t)header, s->direction, p->qfi, p->fteid);
		tss_flow_add_applications(&flow, TSS_IPV6, p->applications);
		return tss_match(tss, TSS_IPV6, &flow);
	}
	wire.v4.version_ihl = RTE_IPV4_VHL_DEF;
	wire.v4.type_of_service = p->tos;
	wire.v4.next_proto_id = p->proto;
	wire.v4.fragment_offset =
		p->later_fragment ? rte_cpu_to_be_16(0x00b9) : rte_cpu_to_be_16(0x2000);
	memcpy(&wire.v4.src_addr, src, 4);
	memcpy(&wire.v4.dst_addr, dst, 4);
	tss_flow_ipv4(
		&flow, &wire.v4, (uint16_t)(header + p->l4_len), s->direction, p->qfi, p->fteid);
	tss_flow_add_applications(&flow, TSS_IPV4, p->applications);
	return tss_match(tss, TSS_IPV4, &flow);
}

// ---- both ------------------------------------------------------------------------------------------

static struct tss *
compile(const struct session *s)
{
	struct tss_entry *entries;
	unsigned room = 0, n = 0;
	struct tss *tss;
	size_t size;

	for (unsigned i = 0; i < s->n_pdr; i++)
		room += tss_entries_max(&s->pdr[i]);
	entries = aligned_alloc(64, (room + 1) * sizeof(*entries));
	if (entries == NULL)
		abort();
	for (unsigned i = 0; i < s->n_pdr; i++)
		n += tss_entries_of_pdr(entries + n, (uint16_t)i, &s->pdr[i], s->sdf, s->sdf6,
			FTEID_BASE + s->pdr[i].teid, false);
	size = tss_size(entries, n);
	tss = aligned_alloc(TSS_ALIGN, size);
	if (tss == NULL || !tss_compile(tss, entries, n))
		abort();
	free(entries);
	return tss;
}

void
classify_both_ways(const uint8_t *octets, size_t n, struct classify_counts *counts)
{
	static struct session s;
	struct choices c = {octets, octets + n};
	unsigned n_pdr, packets, style;
	struct tss *tss;

	s.n_pdr = s.n_sdf = s.n_sdf6 = 0;
	s.direction = choose(&c, 2) != 0 ? UPF_DL : UPF_UL;
	n_pdr = PICK(&c, 1, 2, 3, 8, 20, 40, 100, 300, UPF_SESSION_PDRS);
	packets = PICK(&c, 8, 1, 64, 256);
	style = choose(&c, 3); // 0: all kinds, 1: one IPv4 filter each, 2: one IPv6 filter each
	s.kinds = PICK(&c, 0, 1, 2, KINDS);
	for (unsigned i = 0; i < s.kinds; i++)
		make_kind(&c, &s.kind[i]);
	while (s.n_pdr < n_pdr && (c.at < c.end || s.n_pdr == 0))
		make_pdr(&c, &s, style);
	tss = compile(&s);
	for (unsigned i = 0; i < packets; i++) {
		struct packet p;
		uint16_t want, got;

		make_packet(&c, &s, &p);
		want = naive_match(&s, &p);
		got = match_on_wire(tss, &s, &p);
		if (want != got) {
			fprintf(stderr,
				"packet %u (IPv%c, proto %u, ports %u %u) of %u PDRs: %u, not %u\n",
				i, p.v6 ? '6' : '4', p.proto, p.remote_port, p.local_port, s.n_pdr,
				got, want);
			abort();
		}
		counts->packets++;
		counts->matched += want != TSS_NONE;
		counts->by_sdf += want != TSS_NONE && (s.pdr[want].flags & UPF_PDR_SDF) != 0;
	}
	free(tss);
}
