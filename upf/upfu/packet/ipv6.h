// IPv6 headers (RFC 8200): their validity and the chain of extension headers, which is walked up to
// a bound, so that no sender chooses how long a packet takes.
#ifndef UPFU_IPV6_H
#define UPFU_IPV6_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "upf_abi.h"

#define IPV6_CHAIN_MAX 8u    // extension headers
#define IPV6_MTU_LEAST 1280u // RFC 8200 5

enum ipv6_next { // those of IANA's list that mean something here
	IPV6_HOP_BY_HOP = 0,
	IPV6_ROUTING = 43,
	IPV6_FRAGMENT = 44,
	IPV6_AUTHENTICATION = 51,
	IPV6_ICMP = 58,
	IPV6_NONE = 59,
	IPV6_DESTINATION = 60,
	IPV6_MOBILITY = 135,
	IPV6_HIP = 139,
	IPV6_SHIM6 = 140,
};

struct ipv6_header { // rte_ipv6_hdr without the names that differ between DPDK releases
	rte_be32_t version_class_flow;
	rte_be16_t payload_len;
	uint8_t next;
	uint8_t hop_limit;
	upf_addr src;
	upf_addr dst;
} __attribute__((packed, aligned(2))); // behind an Ethernet header
static_assert(sizeof(struct ipv6_header) == 40, "RFC 8200 3");

struct ipv6_fragment { // RFC 8200 4.5
	uint8_t next;
	uint8_t reserved;
	rte_be16_t offset_flags; // 13 bits in units of eight octets, two reserved, M
	rte_be32_t id;
} __attribute__((packed, aligned(2)));
static_assert(sizeof(struct ipv6_fragment) == 8, "RFC 8200 4.5");
#define IPV6_FRAGMENT_MORE 0x0001u
#define IPV6_FRAGMENT_OFFSET 0xfff8u

struct ipv6_chain {             // what ipv6_walk() found
	uint16_t l4;            // offset of the upper-layer header, from the IPv6 header
	uint16_t fragment;      // offset of the Fragment header, 0: none
	uint16_t fragment_next; // offset of the Next Header field that points at it
	uint8_t proto;          // upper-layer protocol, or the header where the walk had to stop
	uint8_t later;          // a fragment beyond the first: l4 is not a header
};

// Length of a whole IPv6 packet, 0 when it is none. room: octets there are. Jumbograms are none.
static inline uint16_t
ipv6_valid_length(const struct ipv6_header *ip, uint32_t room)
{
	uint32_t total;

	if (unlikely(room < sizeof(*ip) ||
		    (ip->version_class_flow & rte_cpu_to_be_32(0xf0000000)) !=
			    rte_cpu_to_be_32(0x60000000)))
		return 0;
	total = sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
	if (unlikely(total > room || total > UINT16_MAX))
		return 0;
	return (uint16_t)total;
}

static inline bool
ipv6_is_extension(uint8_t next)
{
	return next == IPV6_HOP_BY_HOP || next == IPV6_ROUTING || next == IPV6_FRAGMENT ||
		next == IPV6_AUTHENTICATION || next == IPV6_DESTINATION || next == IPV6_MOBILITY ||
		next == IPV6_HIP || next == IPV6_SHIM6;
}

// Walks the chain of a packet of valid length. False: cut short, or longer than the bound.
static inline bool
ipv6_walk(const struct ipv6_header *ip, uint16_t length, struct ipv6_chain *chain)
{
	const uint8_t *octets = (const uint8_t *)ip;
	uint32_t at = sizeof(*ip), next_at = offsetof(struct ipv6_header, next);
	uint8_t next = ip->next;

	*chain = (struct ipv6_chain){0};
	for (unsigned n = 0; unlikely(ipv6_is_extension(next)) && !chain->later; n++) {
		uint32_t size;

		if (n == IPV6_CHAIN_MAX || at + 8 > length)
			return false;
		switch (next) {
		case IPV6_FRAGMENT:
			size = sizeof(struct ipv6_fragment);
			chain->fragment = (uint16_t)at;
			chain->fragment_next = (uint16_t)next_at;
			chain->later = (octets[at + 2] != 0) ||
				(octets[at + 3] & IPV6_FRAGMENT_OFFSET & 0xff) != 0;
			break;
		case IPV6_AUTHENTICATION: // RFC 4302 2.2: in units of four octets
			size = ((uint32_t)octets[at + 1] + 2) * 4;
			break;
		default:
			size = ((uint32_t)octets[at + 1] + 1) * 8;
		}
		if (at + size > length)
			return false;
		next = octets[at];
		next_at = at;
		at += size;
	}
	chain->proto = next;
	chain->l4 = (uint16_t)at;
	return true;
}

// RFC 6946: with a Fragment header, but alone ("atomic"), a packet is as whole as without one.
static inline bool
ipv6_is_fragment(const struct ipv6_header *ip, const struct ipv6_chain *chain)
{
	return unlikely(chain->fragment != 0) &&
		(chain->later ||
			(((const uint8_t *)ip)[chain->fragment + 3] & IPV6_FRAGMENT_MORE) != 0);
}

static inline bool
ipv6_is_multicast(const uint8_t *addr)
{
	return addr[0] == 0xff;
}

static inline bool
ipv6_is_link_local(const uint8_t *addr)
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

static inline bool
ipv6_is_unspecified(const uint8_t *addr)
{
	static const upf_addr zero;

	return memcmp(addr, zero, sizeof(zero)) == 0;
}

// The upper half of an address, as a number.
static inline uint64_t
ipv6_prefix64(const uint8_t *addr)
{
	rte_be64_t upper;

	memcpy(&upper, addr, sizeof(upper));
	return rte_be_to_cpu_64(upper);
}

static inline uint8_t
ipv6_class(const struct ipv6_header *ip)
{
	return (uint8_t)(rte_be_to_cpu_32(ip->version_class_flow) >> 20);
}

// Over a packet with the right checksum this gives 0xffff: upper-layer header and data of `length`
// octets at l4, with the pseudo-header (RFC 8200 8.1).
static inline uint16_t
ipv6_upper_sum(const struct ipv6_header *ip, const void *l4, uint16_t length, uint8_t proto)
{
	uint32_t sum = rte_raw_cksum(ip->src, 2 * sizeof(upf_addr));

	sum += rte_cpu_to_be_16(length);
	sum += rte_cpu_to_be_16(proto);
	sum += rte_raw_cksum(l4, length);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

// The checksum of a UDP datagram whose checksum field is 0.
static inline rte_be16_t
udp6_checksum(const struct ipv6_header *ip, const struct rte_udp_hdr *udp)
{
	uint16_t sum =
		(uint16_t)~ipv6_upper_sum(ip, udp, rte_be_to_cpu_16(udp->dgram_len), IPPROTO_UDP);

	return sum != 0 ? sum : 0xffff; // RFC 768: 0 says that there is none
}

#endif
