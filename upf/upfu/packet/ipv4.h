// IPv4 headers.
#ifndef UPFU_IPV4_H
#define UPFU_IPV4_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

// The ones' complement sum of a header without options (RFC 1071), folded to 16 bits.
static inline uint16_t
ipv4_sum(const struct rte_ipv4_hdr *ip)
{
	uint32_t word[5];
	uint64_t sum;

	static_assert(sizeof(word) == sizeof(*ip), "a header without options");
	memcpy(word, ip, sizeof(word));
	sum = (uint64_t)word[0] + word[1] + word[2] + word[3] + word[4];
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)((sum & UINT16_MAX) + (sum >> 16));
}

// Length of a valid IPv4 header's packet, 0 when it is none. room: octets there are.
static inline uint16_t
ipv4_valid_length(const struct rte_ipv4_hdr *ip, uint32_t room)
{
	uint32_t header, total;

	if (unlikely(room < sizeof(*ip) || ip->version != IPVERSION))
		return 0;
	header = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	if (unlikely(header < sizeof(*ip) || total < header || total > room))
		return 0;
	// Over a good header the checksum sums up to zero.
	if (unlikely((header == sizeof(*ip) ? ipv4_sum(ip) : rte_raw_cksum(ip, header)) !=
		    UINT16_MAX))
		return 0;
	return (uint16_t)total;
}

static inline bool
ipv4_is_fragment(const struct rte_ipv4_hdr *ip)
{
	return (ip->fragment_offset &
		       rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0;
}

#endif
