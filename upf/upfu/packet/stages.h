// The stages of worker_poll(), in the order of a packet's way. Each is described in its own file.
#ifndef UPFU_STAGES_H
#define UPFU_STAGES_H

#include <rte_udp.h>

#include "packet/worker.h"

// parse.c: frames → user packets with a key; ARP, ICMP and GTP-U signalling are answered here.
void parse_burst(struct worker *w, struct burst *b, enum upf_port port);
// lookup.c: key → the session's part.
void lookup_burst(struct worker *w, struct burst *b);
// The part of one packet, BUCKETMAP_NONE when it has none.
arena_ref lookup_key(const struct worker *w, const struct pkt *p);
// handoff.c, in between: packets to the session's home worker, with more than one worker.
// pdr.c: part → the first PDR that matches.
void pdr_burst(struct worker *w, struct burst *b);
// qer.c: gates and rates.
void qer_burst(struct worker *w, struct burst *b);
// far.c: what the FAR says, and whether the packet may go there.
void far_burst(struct worker *w, struct burst *b);
int far_apply(struct worker *w, struct pkt *p);
// urr.c: volumes.
void urr_burst(struct worker *w, struct burst *b);
// URRs that measure before QoS enforcement; may lead the packet to the FAR for quota action.
int urr_before_qos(struct worker *w, struct pkt *p);
// A packet that was counted by its PDR does not leave: the URRs that measure after QoS enforcement
// take it back.
void urr_take_back(
	struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets);
// One that had not left yet does now.
void urr_count_late(
	struct worker *w, const struct part *part, const struct pdr *pdr, uint16_t octets);
// Looks whether thresholds of the slot are reached, packet or not.
void urr_look(struct worker *w, uint32_t session, uint32_t slot);
// rewrite.c: headers off, headers on, to the neighbour.
void rewrite_burst(struct worker *w, struct burst *b);

// ---- below the stages ------------------------------------------------------------------------

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

// gtpu.c
// udp: of `room` octets in an IP packet to one of our addresses; address: the upper half of its
// F-TEIDs' keys.
int gtpu_input(struct worker *w, struct pkt *p, const struct rte_udp_hdr *udp, uint16_t room,
	uint32_t address);
int gtpu_unknown_teid(struct worker *w, struct pkt *p);
void gtpu_send_end_marker(struct worker *w, const struct upf_end_marker *marker);
void gtpu_send_echo(struct worker *w, const struct upf_echo *echo);
// rewrite.c: the user's packet at p->ip out by p->pdr, its TTL and the counters being done: outer headers
// off and on, cut where it must be, to the neighbour. A stage verdict.
int rewrite_packet(struct worker *w, struct pkt *p);
// icmp.c
int icmp_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, uint16_t ip_len);
// ICMPv6 of `length` octets at icmp, in a frame to an own address or a group.
int icmp6_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, const uint8_t *icmp,
	uint16_t length);

#endif
