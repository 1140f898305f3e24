// PDU sessions as the data path sees them.
//
// The control thread compiles a SESSION_PUT into two parts, one a direction: the PDRs with source
// access (uplink) and those with source core (downlink), each a single object of the arena with all
// that a packet needs. Two maps lead straight to a part: F-TEID → part and UE IP address → part; a
// map's value is the reference of the part. What a packet of a usual session touches is one line of a
// map, the two adjacent lines of the part, and one line of token buckets and counters.
//
// Parts never change. New rules are published key by key, each with one release-store: a packet sees
// the old part whole or the new one whole. Old parts are freed after a QSBR grace period (every
// worker has finished the burst in which it may have found them).
//
// What changes with packets lives apart and survives: token buckets and volume counters (upf_abi.h)
// under the slots of QERs and URRs, downlink buffers (buffer.h) under the session.
#ifndef UPFU_SESSION_H
#define UPFU_SESSION_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_prefetch.h>

#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/domains.h"
#include "upf_abi.h"

struct rte_rcu_qsbr;

// ---- compiled rules --------------------------------------------------------------------------

// Of an enum upf_ohc.
static inline bool
outer_is_ipv6(uint8_t ohc)
{
	return ohc == UPF_OHC_GTPU6 || ohc == UPF_OHC_UDP6 || ohc == UPF_OHC_IP6;
}

#define PDR_INLINE_QERS 2u
#define PDR_INLINE_URRS 2u

// A QER as its PDR's direction sees it.
struct pdr_qer {
	uint64_t cost;     // of an octet at the MBR, qer_clock.h; 0: unlimited
	uint64_t gbr_cost; // 0: no GBR
	uint64_t depth;    // of its buckets, in units of their clocks
	uint32_t slot;
	uint32_t gbr_slot;
};

struct pdr_urr {
	uint32_t slot;
	uint8_t flags; // UPF_URR_*
	uint8_t reserved[3];
	uint32_t quota_pdr; // offset in the part of the PDR whose FAR the quota leads to; 0: drop
};

// What of a PDR is not usual, at `more` in the part. Offsets are of octets from the part's start.
struct pdr_more {
	upf_addr peer, local; // of an outer IPv6 header
	uint32_t qer;         // struct pdr_qer[n_qer]; 0: they are in the PDR
	uint32_t urr;         // struct pdr_urr[n_urr]; 0: they are in the PDR
	uint32_t dup;         // struct pdr[n_dup]: where copies go
	uint32_t text;        // of the redirect URL
	uint16_t n_dup;
	uint16_t text_len;
	uint32_t reserved;
};
static_assert(sizeof(struct pdr_more) == 56, "pdr_more");

#define PDR_UE_IPV4 0x01u // the user's IPv4 address must be the session's
#define PDR_UE_IPV6 0x02u // likewise, or this
#define PDR_UE (PDR_UE_IPV4 | PDR_UE_IPV6)
#define PDR_QFI 0x04u         // the QFI of the PDU Session Container must match
#define PDR_SDF 0x08u         // one of the SDF filters must match
#define PDR_REMOVE 0x10u      // headers are to go that parsing has not taken off: `removal`
#define PDR_GATE_CLOSED 0x20u // of one of its QERs, in this direction
#define PDR_BEFORE_QOS 0x40u  // one of its URRs has UPF_URR_BEFORE_QOS
#define PDR_REDIRECT 0x80u    // the FAR redirects

#define PDR_RQI 0x01u            // the RQI is set
#define PDR_PPI 0x02u            // ppi is written
#define PDR_RELAYS 0x04u         // from access back to access: what a gNB forwards after a handover
#define PDR_SECOND_GATEWAY 0x08u // of two of the way out: gateways.h
#define PDR_NAT 0x10u            // leaves by a network instance with NAT44: nat.h
#define PDR_PSC (PDR_RQI | PDR_PPI) // what the PDU Session Container says beside the QFI

// A PDR with its FAR, QERs and URRs resolved.
struct pdr {
	uint64_t fteid; // key of the local F-TEID, 0: not from a tunnel
	uint8_t flags;  // PDR_*
	uint8_t qfi;
	uint8_t n_qer; // those with a rate
	uint8_t n_urr;
	// The FAR
	uint8_t action;           // UPF_FAR_*; FORW to access without an outer header has none
	uint8_t ohc;              // enum upf_ohc
	uint8_t port;             // enum upf_port of the way out
	uint8_t tos;              // of the outer header
	rte_be32_t peer4, local4; // outer IPv4 addresses
	rte_be32_t out_teid;
	uint16_t peer_port;
	uint8_t out_qfi; // of the PDU Session Container written, 0: none of its own
	uint8_t removal; // Outer Header Removal Description
	// 32 octets up to here: with the part's head the first line of a part.
	uint64_t cost[PDR_INLINE_QERS];   // as pdr_qer's, when more->qer is 0
	uint32_t qer_at[PDR_INLINE_QERS]; // place of the token bucket (shm.h)
	uint32_t urr_at[PDR_INLINE_URRS]; // place of the counter
	uint16_t pdr_id;
	uint8_t direction; // enum upf_direction: the user's; the part's but for PDR_RELAYS
	uint8_t mark;      // PDR_RQI, PDR_PPI, PDR_RELAYS, PDR_SECOND_GATEWAY, PDR_NAT
	uint8_t ppi;
	uint8_t bar;       // index of the part's BARs, UINT8_MAX: none
	uint8_t urr_flags; // pdr_urr_flags(), or PDR_URR_LIST
	uint8_t copy;      // not a PDR: where a copy goes
	uint32_t more;     // offset of struct pdr_more, 0: none
	uint16_t sdf_first, sdf_count;
	uint16_t sdf6_first, sdf6_count;
	uint32_t far_id;
	uint32_t precedence;
	uint32_t at; // its own offset
};
static_assert(offsetof(struct pdr, cost) == 32, "the first line of a part");
static_assert(sizeof(struct pdr) == 96, "with the part's head two cache lines");

#define PDR_URR_LIST \
	0x80u // its URRs are more than PDR_INLINE_URRS, or a quota leads to a FAR: more->urr
#define PDR_URR_BITS 4u
#define PDR_URR_FLAGS 0x07u
static_assert(((UPF_URR_BEFORE_QOS | UPF_URR_TIMED) & ~PDR_URR_FLAGS) == 0 &&
		PDR_INLINE_URRS * PDR_URR_BITS <= 8,
	"pdr_urr_flags");

// UPF_URR_* of a URR in the PDR.
static inline uint8_t
pdr_urr_flags(const struct pdr *pdr, unsigned i)
{
	return pdr->urr_flags >> i * PDR_URR_BITS & PDR_URR_FLAGS;
}

// Which of two gateways its packets go by.
static inline unsigned
pdr_gateway(const struct pdr *pdr)
{
	return (pdr->mark & PDR_SECOND_GATEWAY) != 0;
}

#define PART_TABLE 0x01u   // pdr.c looks in a table (tss.h) instead of trying each
#define PART_BUFFERS 0x02u // some FAR of the session buffers
#define PART_UE_IPV4 0x04u
#define PART_UE_IPV6 0x08u
#define PART_PORTS 0x10u   // some SDF filter asks for ports or an SPI, or NAT44 for ports
#define PART_FRAMED 0x20u  // the session has framed routes: part_routes()
#define PART_NAT 0x40u     // the session has a NAT44 block: part_more
#define PART_DOMAINS 0x80u // a PDR of the session has an application by domain: part_applications()

// So that pdr.c looks twice; such a part has neither a table nor applications.
#define PART_ETHERNET (PART_TABLE | PART_DOMAINS)

struct part { // of a session: the PDRs of one direction
	uint32_t session;
	uint32_t incarnation;  // kept over replacements, new when the index is used anew
	uint16_t n_pdr;        // by precedence
	uint8_t flags;         // PART_*
	uint8_t direction : 1; // enum upf_direction
	uint8_t ethernet : 1;  // of an Ethernet PDU session: part_ethernet()
	uint8_t n6 : 6; // enum upf_port: N6 of the network instance in which the UE's addresses are
	rte_be32_t ue4; // UE IP address of the session
	uint64_t ue6;   // and IPv6 prefix: its upper 64 bits, host order
	uint8_t ue6_len;
	uint8_t home; // index of the worker that does the session's packets: home.h
	uint8_t n_bar;
	uint8_t group; // by which its drops are counted
	uint32_t more; // offset of struct part_more, 0: none
	struct pdr pdr[];
};
static_assert(offsetof(struct part, pdr) == 32, "with the first PDR two cache lines");

#define PART_TABLE_LINES 6u // fetched ahead: struct part_more, and the table of eight flows

struct part_more {      // offsets of octets from the part's start
	uint32_t size;  // of the part in octets
	uint32_t bar;   // struct upf_bar[n_bar]
	uint32_t table; // struct tss of PART_TABLE, in the next line
	uint32_t route; // struct part_routes of PART_FRAMED
	// Of PART_NAT: the public address, and the first of its network instance's config_nat.ports.
	rte_be32_t nat_addr;
	uint16_t nat_port;
	uint16_t reserved;
	union {
		uint32_t applications; // struct part_applications of PART_DOMAINS
		uint32_t ethernet;     // struct part_ethernet
	};
};

// Framed routes (TS 29.244 5.16): networks behind the UE.
struct part_route {
	uint64_t prefix; // host order; of IPv6 the upper 64 bits
	uint64_t mask;
	uint8_t len; // 1 .. 32, of IPv6 1 .. 64
	uint8_t ip6;
	uint8_t reserved[6];
};
static_assert(sizeof(struct part_route) == 24, "part_route");

struct part_routes {
	uint64_t n;
	struct part_route route[];
};

// Of an Ethernet part: the filters of its PDRs, and the SDF filters in them.
struct part_ethernet {
	uint32_t n;
	uint32_t
		inactivity_s; // the shortest Ethernet Inactivity Timer of the session's URRs, 0: as configured
	uint32_t sdf, sdf6; // offsets in the part
	struct upf_ethernet_filter filter[];
};

static inline const void *
part_at(const struct part *part, uint32_t offset)
{
	return (const uint8_t *)part + offset;
}

// The part that this PDR of a published one stands in.
static inline const struct part *
pdr_part(const struct pdr *pdr)
{
	return (const void *)((const uint8_t *)pdr - pdr->at);
}

static inline const struct part_more *
part_more(const struct part *part)
{
	return part_at(part, part->more);
}

// Of PART_FRAMED.
static inline const struct part_routes *
part_routes(const struct part *part)
{
	return part_at(part, part_more(part)->route);
}

// Of PART_DOMAINS.
static inline const struct part_applications *
part_applications(const struct part *part)
{
	return part_at(part, part_more(part)->applications);
}

// Of an Ethernet part.
static inline const struct part_ethernet *
part_ethernet(const struct part *part)
{
	return part_at(part, part_more(part)->ethernet);
}

// Of PART_TABLE: what is read of most tables, without a look at the part beyond its head.
static inline void
part_prefetch_table(const struct part *part)
{
	const uint8_t *at = part_at(part, part->more);

	for (unsigned i = 0; i < PART_TABLE_LINES; i++)
		rte_prefetch0(at + (size_t)i * 64);
}

// Of a PDR of this part that has some.
static inline const struct pdr_more *
pdr_more(const struct part *part, const struct pdr *pdr)
{
	return part_at(part, pdr->more);
}

// ---- keys ------------------------------------------------------------------------------------

static inline uint64_t
ue_key(rte_be32_t addr)
{
	return rte_be_to_cpu_32(addr);
}

// The upper half of the address. No prefix of a UE is within ::/32, so that none is an IPv4 key.
static inline uint64_t
ue_key6(const uint8_t *addr)
{
	rte_be64_t upper;

	memcpy(&upper, addr, sizeof(upper));
	return rte_be_to_cpu_64(upper);
}

// The bits of a key that a prefix of 1 .. 64 bits has.
static inline uint64_t
ue6_mask(unsigned prefix_len)
{
	return UINT64_MAX << (64 - prefix_len);
}

// A framed route's key in a map of its own: the prefix, and behind it a bit that says how long it is. IPv4 keys have 33
// bits, and no IPv6 route is within ::/31. A /64 has no room for the bit: it is found like a UE's own prefix.
static inline uint64_t
route_key4(uint32_t addr, unsigned len)
{
	unsigned rest = 32 - len;

	return (((uint64_t)addr << 1 >> rest) | 1) << rest;
}

static inline uint64_t
route_key6(uint64_t addr, unsigned len)
{
	unsigned rest = 63 - len;

	return ((addr >> rest) | 1) << rest;
}

// A public address and port of NAT44, in a map of its own: the first port of a session's block stands for the block. 49 bits,
// so that no IPv4 address of a UE looks so.
#define NAT_KEY (UINT64_C(1) << 48)

static inline uint64_t
nat_key(rte_be32_t addr, uint16_t port)
{
	return NAT_KEY | (uint64_t)rte_be_to_cpu_32(addr) << 16 | port;
}

// ---- the table -------------------------------------------------------------------------------

struct session_state {     // the control thread's account of one session; of it workers read part
	arena_ref part[2]; // by enum upf_direction; ARENA_NONE: the session is absent
	uint32_t blob_len;
	uint8_t home; // of the last one: the worker that may still have packets of it
	uint8_t *blob;
};

// Networks that hold a UE of ours, as a filter in front of the map: most destinations need no
// lookup. A bit per value of 16 bits.
struct ue_nets {
	uint8_t *bits;   // read by workers
	uint32_t *count; // the control thread's
};

struct session_table {
	// Read by workers:
	struct arena arena;
	const struct bucketmap *by_port[UPF_PORTS]; // n3, or of N6 the network instance's own
	struct bucketmap n3;
	struct bucketmap ue[UPF_NETWORKS];
	// Of all network instances:
	struct ue_nets nets4; // by /16
	struct ue_nets nets6; // by a hash of the /40
	uint64_t ue6_lens;    // bit n - 1: there are UE IPv6 prefixes of n bits
	struct bucketmap
		route[UPF_NETWORKS];       // framed routes, asked where a UE's address is not found
	uint64_t route4_lens, route6_lens; // bit n - 1: there are such of n bits, found in there
	struct bucketmap
		nat[UPF_NETWORKS]; // blocks of NAT44, of those with session_table_add_nat()
	struct session_members *members[UPF_NETWORKS]; // of Ethernet network instances; else NULL
	struct domains *domains;                       // NULL: there are none
	struct rte_rcu_qsbr *qsbr;
	// The control thread's:
	struct session_state *state; // [max]
	uint32_t ue6_count[64];      // by prefix length - 1
	uint32_t route4_count[32];   // likewise
	uint32_t route6_count[64];
	uint32_t max;
	uint32_t present;
	uint32_t incarnations;
	struct session_trash *trash; // oldest first
	struct session_trash *trash_last;
};

int session_table_init(
	struct session_table *table, uint32_t max, unsigned workers, unsigned networks);
// Room for a block of NAT44 for every session of a network instance.
int session_table_add_nat(struct session_table *table, unsigned network);
// A list of its sessions, of an Ethernet network instance.
int session_table_add_bridge(struct session_table *table, unsigned network);
void session_table_free(struct session_table *table);

static inline const struct part *
session_part(const struct session_table *table, arena_ref ref)
{
	return arena_at(&table->arena, ref);
}

// The control thread's view. NULL: the session is absent.
static inline const struct part *
session_present(const struct session_table *table, uint32_t session, enum upf_direction direction)
{
	arena_ref ref = table->state[session].part[direction];

	return ref != ARENA_NONE ? session_part(table, ref) : NULL;
}

// A worker's view. NULL: the session is absent.
static inline const struct part *
session_current(const struct session_table *table, uint32_t session, enum upf_direction direction)
{
	// Acquire: pairs with the release-store of session_publish(): the part is complete.
	arena_ref ref = __atomic_load_n(&table->state[session].part[direction], __ATOMIC_ACQUIRE);

	return ref != ARENA_NONE ? session_part(table, ref) : NULL;
}

static inline uint16_t
ue_net6(uint64_t key)
{
	return (uint16_t)((key >> 24) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

static inline bool
ue_nets_have(const struct ue_nets *nets, uint16_t net)
{
	return (__atomic_load_n(&nets->bits[net >> 3], __ATOMIC_RELAXED) & 1u << (net & 7)) != 0;
}

// The part of the longest framed route with this IPv4 address (host order); BUCKETMAP_NONE: there is none.
uint32_t session_find_route4(const struct session_table *table, enum upf_port n6, uint32_t addr);

// The part of the session with this block of NAT44, a nat_key() of its first port; BUCKETMAP_NONE: there is none.
static inline uint32_t
session_find_nat(const struct session_table *table, enum upf_port n6, uint64_t block)
{
	const struct bucketmap *map = &table->nat[n6 - UPF_PORT_N6];

	return map->buckets != NULL ? bucketmap_lookup(map, block) : BUCKETMAP_NONE;
}

// Is there a PDU session with this UE IP address, or a framed route with it, in the network instance of this interface of N6?
static inline bool
session_has_ue(const struct session_table *table, enum upf_port n6, rte_be32_t addr)
{
	if (likely(!ue_nets_have(&table->nets4, (uint16_t)(rte_be_to_cpu_32(addr) >> 16))))
		return false;
	return bucketmap_lookup(table->by_port[n6], ue_key(addr)) != BUCKETMAP_NONE ||
		session_find_route4(table, n6, rte_be_to_cpu_32(addr)) != BUCKETMAP_NONE;
}

// The part for an IPv6 address, by the longest prefix of a UE, else by the longest framed route;
// BUCKETMAP_NONE: there is none.
uint32_t session_find_ue6(const struct session_table *table, enum upf_port n6, uint64_t key);

static inline bool
session_has_ue6(const struct session_table *table, enum upf_port n6, const uint8_t *addr)
{
	uint64_t key = ue_key6(addr);

	// A prefix shorter than the filter's networks is in none of them.
	if (likely(!ue_nets_have(&table->nets6, ue_net6(key)) &&
		    (__atomic_load_n(&table->ue6_lens, __ATOMIC_RELAXED) &
			    ((UINT64_C(1) << 39) - 1)) == 0))
		return false;
	return session_find_ue6(table, n6, key) != BUCKETMAP_NONE;
}

// The sessions of an Ethernet network instance. A reader may meet one that has just gone, or miss one; in the instant of a
// change one may stand in two places, of which session_is_member_at() says one.
struct session_members {
	uint32_t n;
	uint32_t *at;    // [max] sessions
	uint32_t *place; // [max] by session: where it stands
};

static inline const uint32_t *
session_members(const struct session_table *table, enum upf_port n6, uint32_t *n)
{
	const struct session_members *members = table->members[n6 - UPF_PORT_N6];

	// Acquire: pairs with the release in session_publish(): so many have been written.
	*n = __atomic_load_n(&members->n, __ATOMIC_ACQUIRE);
	return members->at;
}

static inline bool
session_is_member_at(
	const struct session_table *table, enum upf_port n6, uint32_t session, uint32_t at)
{
	// Relaxed: see above.
	return __atomic_load_n(
		       &table->members[n6 - UPF_PORT_N6]->place[session], __ATOMIC_RELAXED) == at;
}

// ---- the single writer -----------------------------------------------------------------------

// Calls each() for every key of a part: space 0 F-TEID, 1 and above a UE's address in a network instance, then framed
// routes and blocks of NAT44 likewise. Keys may come more than once.
enum key_space {
	KEY_N3 = 0,
	KEY_UE = 1,                         // + the network
	KEY_ROUTE = KEY_UE + UPF_NETWORKS,  // + the network
	KEY_NAT = KEY_ROUTE + UPF_NETWORKS, // + the network
	KEY_SPACES = KEY_NAT + UPF_NETWORKS,
};

static inline struct bucketmap *
session_map(struct session_table *table, enum key_space space)
{
	if (space == KEY_N3)
		return &table->n3;
	if (space < KEY_ROUTE)
		return &table->ue[space - KEY_UE];
	return space < KEY_NAT ? &table->route[space - KEY_ROUTE] : &table->nat[space - KEY_NAT];
}

// Stops and returns what each() returns when that is not 0.
int part_each_key(const struct part *part,
	int (*each)(void *context, enum key_space space, uint64_t key), void *context);

size_t part_size(const struct part *part);

// Publishes both parts (ARENA_NONE: the session goes) with their keys. Room in the maps was checked
// before.
void session_publish(struct session_table *table, uint32_t session, const arena_ref part[2]);

// Frees a part that was never published.
void session_discard(struct session_table *table, const arena_ref part[2]);

// Frees what is due. Returns whether something is still waiting.
bool session_trash_collect(struct session_table *table);
// Returns once every worker has finished what it was doing when this was called.
void session_wait_for_workers(struct session_table *table);

#endif
