// Tuple space search: of many PDRs, the first by precedence whose whole PDI matches a packet
// (Srinivasan, Suri, Varghese: "Packet Classification using Tuple Space Search", 1999).
//
// A PDR becomes one entry for each way in which it can match: (F-TEID, QFI, UE IP address) and one of
// its SDF filters. An entry is a flow with a mask, and two port ranges. Entries that look at the same
// bits form a tuple: one hash table, one probe. A packet tries the tuples from the one with the best
// precedence on, and stops as soon as no tuple left can better what was found. Each range of ports
// is hashed by its upper bits, as many as leave at most two pieces, and compared whole in the bucket.
//
// A bucket is a block of eight entries in columns: only words that the tuple looks at, eight entries
// compared at once, sorted by precedence. Tuples of few entries share one list of such blocks that
// is searched from the front; with few PDRs there is nothing but that list.
//
// The result is one block of memory without pointers, so it can be written anywhere and moved; it
// never changes. The control thread compiles (tss_compile.h), workers match.
#ifndef UPFU_TSS_H
#define UPFU_TSS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_prefetch.h>

#include "upf_abi.h"

#define TSS_NONE UINT16_MAX
#define TSS_ALIGN 64u

enum tss_family {
	TSS_IPV4 = 0,
	TSS_IPV6 = 1,
	TSS_FAMILIES = 2,
};

#define TSS_HAS_PORTS 0x01u // TCP, UDP or SCTP, not a later fragment, ports are there
#define TSS_HAS_SPI 0x02u   // ESP or AH, likewise

// What the PDI of a packet can be. Remote and local are as in an SDF filter: local is the UE's side.
#define TSS_WORDS 16u
#define TSS_WORDS_IPV4 8u // of an IPv4 packet the rest is not read
struct tss_flow {
	union {
		struct {
			uint32_t remote_be; // IPv6: the first four octets
			uint32_t local_be;
			uint16_t remote_port, local_port; // host order, 0 where there are none
			uint8_t proto;                    // IPv6: the last header of the chain
			uint8_t tos;                      // IPv6: Traffic Class
			uint8_t qfi;                      // of the PDU Session Container, else 0
			uint8_t has;                      // TSS_HAS_*
			uint32_t spi;                     // host order
			uint32_t flow_label;     // IPv6: 20 bits, host order; IPv4: applications
			uint64_t fteid;          // what tells F-TEIDs of the session apart, else 0
			uint8_t remote_rest[12]; // IPv6: the other octets
			uint8_t local_rest[12];
			uint32_t applications6; // IPv6
			uint32_t zero;
		};
		uint32_t word[TSS_WORDS];
		uint64_t pair[TSS_WORDS / 2];
	};
} __attribute__((aligned(64)));
static_assert(sizeof(struct tss_flow) == 64, "one cache line");
static_assert(offsetof(struct tss_flow, remote_rest) == 4 * TSS_WORDS_IPV4, "IPv4 first");

// The word with a bit for each application of the session that the packet is of (detection.h).
#define TSS_APPLICATIONS(family) ((family) == TSS_IPV4 ? 5u : 14u)
static_assert(offsetof(struct tss_flow, flow_label) == 4 * TSS_APPLICATIONS(TSS_IPV4), "IPv4");
static_assert(offsetof(struct tss_flow, applications6) == 4 * TSS_APPLICATIONS(TSS_IPV6), "IPv6");

static inline void
tss_flow_add_applications(struct tss_flow *flow, enum tss_family family, uint32_t applications)
{
	// As the 64 bits in which tss_match.c writes and reads it.
	flow->pair[TSS_APPLICATIONS(family) / 2] |= (uint64_t)applications
		<< (TSS_APPLICATIONS(family) % 2 * 32);
}

struct tss;

// The lowest order of the entries that match, TSS_NONE when none does.
uint16_t tss_match(const struct tss *tss, enum tss_family family, const struct tss_flow *flow);

// The lines that every match reads first; with few PDRs that is all.
static inline void
tss_prefetch(const struct tss *tss)
{
	for (unsigned i = 0; i < 4; i++)
		rte_prefetch0((const uint8_t *)tss + i * 64);
}

struct rte_ipv4_hdr;
struct rte_ipv6_hdr;

// Fill in what the packet says. `length` is the valid length of the IP packet; of IPv6 the last header
// of the extension chain comes as proto, and its offset from the IPv6 header as l4 (0: it is in
// another fragment).
void tss_flow_ipv4(struct tss_flow *flow, const struct rte_ipv4_hdr *ip, uint16_t length,
	enum upf_direction direction, uint8_t qfi, uint64_t fteid);
void tss_flow_ipv6(struct tss_flow *flow, const struct rte_ipv6_hdr *ip, uint16_t length,
	uint8_t proto, uint16_t l4, enum upf_direction direction, uint8_t qfi, uint64_t fteid);

#endif
