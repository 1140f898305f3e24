#include "packet/nat.h"

#include <rte_icmp.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#include <rte_random.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "packet/ipv4.h"
#include "packet/nat_state.h"
#include "packet/packet.h"
#include "packet/reassembly.h"
#include "process/shm.h"

#define NONE 0u        // no mapping: the first place is never used
#define NAT_LOOKS 512u // mappings that nat_tick() looks at

// ---- the table ---------------------------------------------------------------------------------

int
nat_init(struct worker *w)
{
	uint64_t mappings = 0;
	struct nat *nat;

	for (unsigned i = 0; i < w->config->networks; i++)
		mappings += w->config->interface[config_port_of(i)].nat.mappings;
	if (mappings == 0)
		return 0;
	nat = rte_zmalloc("nat", sizeof(*nat), RTE_CACHE_LINE_SIZE);
	w->nat = nat;
	if (nat == NULL)
		return -1;
	nat->size = (uint32_t)((mappings + w->workers - 1) / w->workers) + 1;
	nat->bits = 32 - (unsigned)__builtin_clz(nat->size - 1);
	nat->secret = rte_rand();
	nat->mapping = rte_zmalloc("nat", nat->size * sizeof(*nat->mapping), RTE_CACHE_LINE_SIZE);
	nat->in = rte_zmalloc("nat", sizeof(*nat->in) << nat->bits, RTE_CACHE_LINE_SIZE);
	nat->out = rte_zmalloc("nat", sizeof(*nat->out) << nat->bits, RTE_CACHE_LINE_SIZE);
	if (nat->mapping == NULL || nat->in == NULL || nat->out == NULL)
		return -1;
	nat->free = 1;
	for (uint32_t i = 1; i + 1 < nat->size; i++)
		nat->mapping[i].next_in = i + 1;
	nat->look = 1;
	for (unsigned i = 0; i < w->config->networks; i++) {
		const struct config_nat *config = &w->config->interface[config_port_of(i)].nat;

		nat->timeout[i][NAT_TCP_ESTABLISHED] = w->tsc_hz * config->tcp_established_s;
		nat->timeout[i][NAT_TCP_TRANSITORY] = w->tsc_hz * config->tcp_transitory_s;
		nat->timeout[i][NAT_UDP] = w->tsc_hz * config->udp_s;
		nat->timeout[i][NAT_ICMP] = w->tsc_hz * config->icmp_s;
	}
	return 0;
}

void
nat_free(struct worker *w)
{
	if (w->nat == NULL)
		return;
	rte_free(w->nat->mapping);
	rte_free(w->nat->in);
	rte_free(w->nat->out);
	rte_free(w->nat);
	w->nat = NULL;
}

static uint64_t
mix(const struct nat *nat, const struct part *part, uint64_t rest)
{
	uint64_t x = (nat->secret ^ rest) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 32;
	x = (x ^ part->session) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static uint32_t *
chain_in(const struct nat *nat, const struct part *part, uint8_t proto, rte_be32_t addr,
	rte_be16_t port)
{
	uint64_t rest = (uint64_t)addr << 24 | (uint64_t)port << 8 | proto;

	return &nat->in[mix(nat, part, rest) >> (64 - nat->bits)];
}

static uint32_t *
chain_out(const struct nat *nat, const struct part *part, uint8_t proto, uint16_t outer)
{
	return &nat->out[mix(nat, part, (uint64_t)outer << 8 | proto) >> (64 - nat->bits)];
}

static inline bool
is_of(const struct nat_mapping *m, const struct part *part, uint8_t proto)
{
	return m->session == part->session && m->incarnation == part->incarnation &&
		m->proto == proto;
}

static void
show_used(struct worker *w)
{
	__atomic_store_n(&w->stats->local.nat_mappings, w->nat->used, __ATOMIC_RELAXED);
}

static void
unchain(const struct nat *nat, uint32_t *at, uint32_t i, bool in)
{
	while (*at != i)
		at = in ? &nat->mapping[*at].next_in : &nat->mapping[*at].next_out;
	*at = in ? nat->mapping[i].next_in : nat->mapping[i].next_out;
}

static void
unmap(struct worker *w, uint32_t i)
{
	struct nat *nat = w->nat;
	struct nat_mapping *m = &nat->mapping[i];
	const struct part of = {.session = m->session}; // what chains are told by

	unchain(nat, chain_in(nat, &of, m->proto, m->addr, m->port), i, true);
	unchain(nat, chain_out(nat, &of, m->proto, m->outer), i, false);
	m->until = 0;
	m->next_in = nat->free;
	nat->free = i;
	nat->used--;
	show_used(w);
}

// The mapping of what is inside; NULL: there is none that lives.
static struct nat_mapping *
find_in(struct worker *w, const struct part *part, uint8_t proto, rte_be32_t addr, rte_be16_t port)
{
	struct nat *nat = w->nat;
	uint32_t i = *chain_in(nat, part, proto, addr, port);

	while (i != NONE) {
		struct nat_mapping *m = &nat->mapping[i];

		if (m->port == port && m->addr == addr && is_of(m, part, proto)) {
			if (m->until > w->now)
				return m;
			unmap(w, i);
			return NULL;
		}
		i = m->next_in;
	}
	return NULL;
}

// The mapping of a public port likewise.
static struct nat_mapping *
find_out(struct worker *w, const struct part *part, uint8_t proto, uint16_t outer)
{
	struct nat *nat = w->nat;
	uint32_t i = *chain_out(nat, part, proto, outer);

	while (i != NONE) {
		struct nat_mapping *m = &nat->mapping[i];

		if (m->outer == outer && is_of(m, part, proto)) {
			if (m->until > w->now)
				return m;
			unmap(w, i);
			return NULL;
		}
		i = m->next_out;
	}
	return NULL;
}

// Looks at some mappings, and gives back those that are over, or whose session is.
static void
sweep(struct worker *w, unsigned looks)
{
	struct nat *nat = w->nat;

	for (unsigned n = 0; n < looks && n < nat->size; n++) {
		const struct nat_mapping *m = &nat->mapping[nat->look];

		if (m->until != 0) {
			const struct part *part = session_current(w->sessions, m->session, UPF_UL);

			if (m->until <= w->now || part == NULL ||
				part->incarnation != m->incarnation)
				unmap(w, nat->look);
		}
		nat->look = nat->look + 1 < nat->size ? nat->look + 1 : 1;
	}
}

void
nat_tick(struct worker *w)
{
	if (w->nat != NULL)
		sweep(w, NAT_LOOKS);
}

static struct nat_full *
full_of(struct nat *nat, const struct part *part, uint8_t proto)
{
	return &nat->full[mix(nat, part, proto) >> (64 - NAT_FULL_BITS)];
}

// A free public port of the session's block, 0: there is none.
static uint16_t
free_port(
	struct worker *w, const struct part *part, uint8_t proto, rte_be32_t addr, rte_be16_t port)
{
	struct nat_full *full = full_of(w->nat, part, proto);
	uint32_t ports = w->config->interface[part->n6].nat.ports;
	// What is behind the UE has ports of its own.
	uint32_t at = rte_be_to_cpu_16(port) + (rte_be_to_cpu_32(addr ^ part->ue4));

	if (full->until > w->now && full->session == part->session &&
		full->incarnation == part->incarnation && full->proto == proto)
		return 0;
	for (uint32_t i = 0; i < ports; i++) {
		uint16_t outer = (uint16_t)(part_more(part)->nat_port + ((at + i) & (ports - 1)));

		if (find_out(w, part, proto, outer) == NULL)
			return outer;
	}
	*full = (struct nat_full){part->session, part->incarnation, w->now + w->tsc_hz, proto};
	return 0;
}

// A new mapping; NULL: there is none, and *reason says why.
static struct nat_mapping *
map(struct worker *w, const struct part *part, uint8_t proto, rte_be32_t addr, rte_be16_t port,
	enum upf_drop *reason)
{
	struct nat *nat = w->nat;
	uint16_t outer = free_port(w, part, proto, addr, port);
	struct nat_mapping *m;
	uint32_t i, *head;

	*reason = UPF_DROP_NAT_PORTS;
	if (outer == 0)
		return NULL;
	if (nat->free == NONE)
		sweep(w, NAT_LOOKS / 8);
	*reason = UPF_DROP_NAT_TABLE;
	if (nat->free == NONE)
		return NULL;
	i = nat->free;
	m = &nat->mapping[i];
	nat->free = m->next_in;
	*m = (struct nat_mapping){
		.session = part->session,
		.incarnation = part->incarnation,
		.addr = addr,
		.port = port,
		.outer = outer,
		.proto = proto,
		.until = UINT64_MAX,
	};
	head = chain_in(nat, part, proto, addr, port);
	m->next_in = *head;
	*head = i;
	head = chain_out(nat, part, proto, outer);
	m->next_out = *head;
	*head = i;
	nat->used++;
	show_used(w);
	shm_add(&w->stats->local.nat_mapped, 1);
	return m;
}

// A packet has gone through the mapping, from inside or from outside; of TCP with these flags.
static void
keep(struct worker *w, const struct part *part, struct nat_mapping *m, bool inside, uint8_t tcp)
{
	const uint64_t *timeout = w->nat->timeout[part->n6 - UPF_PORT_N6];

	switch (m->proto) {
	case IPPROTO_TCP:
		// A SYN with ACK is the other side's first word.
		if ((tcp & (RTE_TCP_FIN_FLAG | RTE_TCP_RST_FLAG)) != 0 ||
			(tcp & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) == RTE_TCP_SYN_FLAG)
			m->sent = 0;
		else
			m->sent |= inside ? SENT_IN : SENT_OUT;
		m->until = w->now +
			timeout[m->sent == SENT_BOTH ? NAT_TCP_ESTABLISHED : NAT_TCP_TRANSITORY];
		break;
	case IPPROTO_UDP:
		if (inside)
			m->until = w->now + timeout[NAT_UDP];
		break;
	default:
		if (inside)
			m->until = w->now + timeout[NAT_ICMP];
	}
}

// ---- where it stands in a packet -----------------------------------------------------------------

enum end { SOURCE, DESTINATION };

struct endpoint {
	struct rte_ipv4_hdr *ip;
	enum end end;
	uint8_t proto;
	uint8_t tcp;      // flags
	rte_be16_t *port; // or the identifier of an ICMP query
	rte_be16_t *sum;  // NULL: there is none to be kept right
	// Of an ICMP error: what it quotes, whose other end this one is. NULL: it is none.
	struct rte_ipv4_hdr *quoted;
	uint16_t quoted_length;
};

// What an endpoint may be instead.
#define NOT_TRANSLATED ((int)UPF_DROP_NAT_PROTOCOL)

// Echo and its reply, Timestamp and its reply.
static bool
is_icmp_query(uint8_t type)
{
	return type == 8 || type == 0 || type == 13 || type == 14;
}

// Destination Unreachable, Time Exceeded, Parameter Problem.
static bool
is_icmp_error(uint8_t type)
{
	return type == 3 || type == 11 || type == 12;
}

static int
find_icmp(struct endpoint *e, struct rte_icmp_hdr *icmp, uint16_t room, bool is_quoted)
{
	e->sum = &icmp->icmp_cksum;
	if (is_icmp_query(icmp->icmp_type)) {
		e->port = &icmp->icmp_ident;
		return PKT_NEXT;
	}
	if (is_quoted || !is_icmp_error(icmp->icmp_type))
		return NOT_TRANSLATED;
	e->quoted = (struct rte_ipv4_hdr *)(icmp + 1);
	e->quoted_length = (uint16_t)(room - sizeof(*icmp));
	return PKT_NEXT;
}

// `length` octets are there, of a whole packet, or of one that an ICMP error quotes the beginning of. PKT_NEXT,
// malformed, or NOT_TRANSLATED.
static int
find_endpoint(struct endpoint *e, struct rte_ipv4_hdr *ip, uint16_t length, enum end end,
	bool is_quoted, enum upf_drop malformed)
{
	uint16_t header = rte_ipv4_hdr_len(ip), room = (uint16_t)(length - header);
	uint8_t *l4 = (uint8_t *)ip + header;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)l4;
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)l4;

	*e = (struct endpoint){.ip = ip, .end = end, .proto = ip->next_proto_id};
	// RFC 792: of the quoted packet eight octets behind its header at least.
	if (room < 8 || (e->proto == IPPROTO_TCP && !is_quoted && room < sizeof(*tcp)))
		return (int)malformed;
	switch (e->proto) {
	case IPPROTO_TCP:
		e->port = end == SOURCE ? &tcp->src_port : &tcp->dst_port;
		e->sum = room >= sizeof(*tcp) ? &tcp->cksum : NULL;
		e->tcp = room >= sizeof(*tcp) ? tcp->tcp_flags : 0;
		return PKT_NEXT;
	case IPPROTO_UDP:
		e->port = end == SOURCE ? &udp->src_port : &udp->dst_port;
		e->sum = udp->dgram_cksum != 0 ? &udp->dgram_cksum : NULL;
		return PKT_NEXT;
	case IPPROTO_ICMP:
		return find_icmp(e, (struct rte_icmp_hdr *)l4, room, is_quoted);
	default:
		return NOT_TRANSLATED;
	}
}

// What an ICMP error quotes is the packet's opposite.
static int
find_quoted(struct endpoint *e, const struct endpoint *error, enum upf_drop malformed)
{
	struct rte_ipv4_hdr *ip = error->quoted;

	if (error->quoted_length < sizeof(*ip) || ip->version != IPVERSION ||
		rte_ipv4_hdr_len(ip) < sizeof(*ip) || rte_ipv4_hdr_len(ip) > error->quoted_length ||
		(ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return (int)malformed;
	return find_endpoint(e, ip, error->quoted_length,
		error->end == SOURCE ? DESTINATION : SOURCE, true, malformed);
}

// ---- checksums (RFC 1624) ------------------------------------------------------------------------

static inline uint32_t
change16(rte_be16_t from, rte_be16_t to)
{
	return (uint32_t)(uint16_t)~from + to;
}

static inline uint32_t
change32(rte_be32_t from, rte_be32_t to)
{
	return change16((uint16_t)from, (uint16_t)to) +
		change16((uint16_t)(from >> 16), (uint16_t)(to >> 16));
}

// HC' = ~(~HC + ~m + m'). Returns the change that the checksum itself is.
static uint32_t
apply(rte_be16_t *sum, uint32_t change)
{
	rte_be16_t from = *sum;

	change += (uint16_t)~from;
	change = (change >> 16) + (change & 0xffff);
	change = (change >> 16) + (change & 0xffff);
	*sum = (uint16_t)~change;
	return change16(from, *sum);
}

static rte_be32_t
set_address(struct rte_ipv4_hdr *ip, enum end end, rte_be32_t addr)
{
	rte_be32_t from = end == SOURCE ? ip->src_addr : ip->dst_addr;

	if (end == SOURCE)
		ip->src_addr = addr;
	else
		ip->dst_addr = addr;
	return from;
}

// The endpoint becomes another one. Returns the change of all words of the packet.
static uint32_t
translate(const struct endpoint *e, rte_be32_t addr, rte_be16_t port)
{
	uint32_t address = change32(set_address(e->ip, e->end, addr), addr);
	uint32_t ports = change16(*e->port, port);
	uint32_t all = address + ports + apply(&e->ip->hdr_checksum, address);

	*e->port = port;
	if (e->sum == NULL)
		return all;
	// ICMP has no addresses in its checksum.
	all += apply(e->sum, e->proto == IPPROTO_ICMP ? ports : address + ports);
	if (e->proto == IPPROTO_UDP && *e->sum == 0) { // RFC 768: that would be none
		all += change16(0, 0xffff);
		*e->sum = 0xffff;
	}
	return all;
}

// An ICMP error: its own address at this end, and in what it quotes.
static void
translate_error(const struct endpoint *error, const struct endpoint *quoted, rte_be32_t outer,
	rte_be32_t inner, rte_be16_t port)
{
	apply(error->sum, translate(quoted, inner, port));
	apply(&error->ip->hdr_checksum, change32(set_address(error->ip, error->end, outer), outer));
}

// ---- to the data network -------------------------------------------------------------------------

// About a packet that came from there: the UE's end, by which it was translated, stands in what it quotes.
static int
error_out(struct worker *w, const struct part *part, const struct endpoint *error)
{
	struct endpoint quoted;
	const struct nat_mapping *m;
	int verdict = find_quoted(&quoted, error, UPF_DROP_MALFORMED_INNER);

	if (verdict != PKT_NEXT)
		return verdict;
	m = find_in(w, part, quoted.proto, quoted.ip->dst_addr, *quoted.port);
	if (m == NULL)
		return UPF_DROP_NAT_MAPPING;
	translate_error(error, &quoted, part_more(part)->nat_addr, part_more(part)->nat_addr,
		rte_cpu_to_be_16(m->outer));
	return PKT_NEXT;
}

// RFC 6864 5.3: many have the address now, and each counts his identifications.
static void
identify(struct worker *w, struct rte_ipv4_hdr *ip)
{
	rte_be16_t id = rte_cpu_to_be_16((uint16_t)++w->fragment_id);

	apply(&ip->hdr_checksum, change16(ip->packet_id, id));
	ip->packet_id = id;
}

int
nat_out(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;
	struct rte_ipv4_hdr *ip = pkt_ip(p);
	struct endpoint e;
	struct nat_mapping *m;
	enum upf_drop reason;
	int verdict;

	if ((part->flags & PART_NAT) == 0 || part->n6 != p->pdr->port)
		return UPF_DROP_NAT_BLOCK;
	if (!w->ue_to_ue_allowed && nat_owns(w, (enum upf_port)part->n6, ip->dst_addr))
		return UPF_DROP_UE_TO_UE;
	if (ipv4_is_fragment(ip))
		return UPF_DROP_FRAGMENT;
	verdict = find_endpoint(&e, ip, p->ip_len, SOURCE, false, UPF_DROP_MALFORMED_INNER);
	if (verdict != PKT_NEXT)
		return verdict;
	if (e.quoted != NULL)
		return error_out(w, part, &e);
	m = find_in(w, part, e.proto, ip->src_addr, *e.port);
	if (m == NULL)
		m = map(w, part, e.proto, ip->src_addr, *e.port, &reason);
	if (m == NULL)
		return (int)reason;
	keep(w, part, m, true, e.tcp);
	translate(&e, part_more(part)->nat_addr, rte_cpu_to_be_16(m->outer));
	if (p->fragment == PKT_REASSEMBLED)
		identify(w, ip);
	return PKT_NEXT;
}

// ---- from the data network -----------------------------------------------------------------------

// A fragment of a packet to a public address: only the first one has the port.
static int
make_whole(struct worker *w, struct pkt *p)
{
	int verdict = reassembly_take(w, p, p->ip);

	if (verdict != PKT_NEXT)
		return verdict;
	p->ip_len = rte_be_to_cpu_16(pkt_ip(p)->total_length);
	p->fragment = PKT_REASSEMBLED;
	return PKT_NEXT;
}

int
nat_in(struct worker *w, struct pkt *p)
{
	enum upf_port n6 = (enum upf_port)p->port;
	struct endpoint e, quoted, *of = &e;
	struct nat_mapping *m;
	const struct part *part;
	rte_be32_t public;
	uint64_t key;
	uint32_t ref;
	int verdict;

	if (p->ip6 || !nat_owns(w, n6, pkt_ip(p)->dst_addr))
		return UPF_DROP_UNKNOWN_UE;
	if (p->fragment == PKT_FIRST || p->fragment == PKT_LATER) {
		verdict = make_whole(w, p);
		if (verdict != PKT_NEXT)
			return verdict;
	}
	public = pkt_ip(p)->dst_addr;
	verdict =
		find_endpoint(&e, pkt_ip(p), p->ip_len, DESTINATION, false, UPF_DROP_MALFORMED_IP);
	if (verdict == PKT_NEXT && e.quoted != NULL) {
		verdict = find_quoted(&quoted, &e, UPF_DROP_MALFORMED_IP);
		of = &quoted;
		// RFC 5508 REQ-4: it is about what has left by this address.
		if (verdict == PKT_NEXT && quoted.ip->src_addr != public)
			verdict = UPF_DROP_NAT_MAPPING;
	}
	if (verdict != PKT_NEXT)
		return verdict;
	key = nat_key(public, rte_be_to_cpu_16(*of->port));
	ref = session_find_nat(w->sessions, n6, nat_block_of(w, n6, key));
	if (ref == BUCKETMAP_NONE)
		return UPF_DROP_NAT_MAPPING;
	part = session_part(w->sessions, ref);
	p->part = part;
	if (part->home != w->index)
		return PKT_NEXT; // which has the mappings
	m = find_out(w, part, of->proto, rte_be_to_cpu_16(*of->port));
	if (m == NULL)
		return UPF_DROP_NAT_MAPPING;
	if (of == &quoted) {
		translate_error(&e, &quoted, m->addr, m->addr, m->port);
	} else {
		keep(w, part, m, false, e.tcp);
		translate(&e, m->addr, m->port);
	}
	p->key = key; // of a UE's own address it could be somebody's behind it
	return PKT_NEXT;
}

// The part of a UE's address, or of one behind a UE.
static const struct part *
part_of(const struct worker *w, enum upf_port n6, rte_be32_t addr)
{
	uint32_t ref = bucketmap_lookup(w->sessions->by_port[n6], ue_key(addr));

	if (ref == BUCKETMAP_NONE)
		ref = session_find_route4(w->sessions, n6, rte_be_to_cpu_32(addr));
	return ref != BUCKETMAP_NONE ? session_part(w->sessions, ref) : NULL;
}

void
nat_hide(struct worker *w, enum upf_port n6, void *packet, uint16_t length)
{
	struct rte_ipv4_hdr *ip = packet;
	const struct part *part = part_of(w, n6, ip->dst_addr);
	const struct nat_mapping *m;
	struct endpoint e;

	if (part == NULL || (part->flags & PART_NAT) == 0 || part->home != w->index ||
		ipv4_is_fragment(ip) ||
		find_endpoint(&e, ip, length, DESTINATION, false, UPF_DROP_MALFORMED_IP) !=
			PKT_NEXT ||
		e.quoted != NULL)
		return;
	m = find_in(w, part, e.proto, ip->dst_addr, *e.port);
	if (m != NULL)
		translate(&e, part_more(part)->nat_addr, rte_cpu_to_be_16(m->outer));
}

// ---- ahead of a burst ----------------------------------------------------------------------------

// Where a packet's mapping is looked for, as far as that is known.
struct look {
	const struct part *part;
	const struct bucketmap *blocks;
	uint64_t block;
	uint32_t bucket;
	uint16_t outer; // the public port
	uint8_t proto;
	const uint32_t *chain;
};

// Most chains have one mapping.
static void
fetch_first(const struct nat *nat, const uint32_t *chain)
{
	const struct nat_mapping *m = &nat->mapping[*chain];

	if (*chain == NONE)
		return;
	rte_prefetch0(m); // which may lie across two lines
	rte_prefetch0((const uint8_t *)(m + 1) - 1);
}

void
nat_fetch_out(struct worker *w, const struct burst *b)
{
	const uint32_t *chain[BURST];
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const struct pkt *p = b->live[i];
		struct endpoint e;

		if ((p->pdr->mark & PDR_NAT) == 0 || p->ip6 || ipv4_is_fragment(pkt_ip(p)) ||
			find_endpoint(&e, pkt_ip(p), p->ip_len, SOURCE, false,
				UPF_DROP_MALFORMED_INNER) != PKT_NEXT ||
			e.quoted != NULL)
			continue;
		rte_prefetch0(part_more(p->part));
		chain[n] = chain_in(w->nat, p->part, e.proto, e.ip->src_addr, *e.port);
		rte_prefetch0(chain[n++]);
	}
	for (unsigned i = 0; i < n; i++)
		fetch_first(w->nat, chain[i]);
}

// Whether the packet is one that nat_in() will translate by a block of ports, and by which.
static bool
looks_in(const struct worker *w, const struct pkt *p, struct look *l)
{
	enum upf_port n6 = (enum upf_port)p->port;
	struct endpoint e;

	if (p->tunnel || p->ip6 || w->port[n6].bridge || !nat_owns(w, n6, pkt_ip(p)->dst_addr) ||
		ipv4_is_fragment(pkt_ip(p)) ||
		find_endpoint(&e, pkt_ip(p), p->ip_len, DESTINATION, false,
			UPF_DROP_MALFORMED_IP) != PKT_NEXT ||
		e.quoted != NULL)
		return false;
	l->outer = rte_be_to_cpu_16(*e.port);
	l->proto = e.proto;
	l->blocks = &w->sessions->nat[n6 - UPF_PORT_N6];
	l->block = nat_block_of(w, n6, nat_key(e.ip->dst_addr, l->outer));
	return l->blocks->buckets != NULL;
}

void
nat_fetch_in(struct worker *w, const struct burst *b)
{
	struct look look[BURST];
	unsigned n = 0, found = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct look *l = &look[n];

		if (!looks_in(w, b->live[i], l))
			continue;
		l->bucket = bucketmap_index(l->blocks, l->block);
		bucketmap_prefetch(l->blocks, l->bucket);
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t ref = bucketmap_find(look[i].blocks, look[i].bucket, look[i].block);

		if (ref == BUCKETMAP_NONE)
			continue;
		look[found] = look[i];
		look[found].part = session_part(w->sessions, ref);
		rte_prefetch0(look[found].part);
		rte_prefetch0((const uint8_t *)look[found].part + RTE_CACHE_LINE_SIZE);
		found++;
	}
	for (unsigned i = 0; i < found; i++) {
		look[i].chain = chain_out(w->nat, look[i].part, look[i].proto, look[i].outer);
		rte_prefetch0(look[i].chain);
	}
	for (unsigned i = 0; i < found; i++)
		fetch_first(w->nat, look[i].chain);
}
