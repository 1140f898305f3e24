// Frames by hand.
#ifndef UPFU_TEST_FRAMES_H
#define UPFU_TEST_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "packet/ipv6.h"

struct frame {
	size_t length;
	uint8_t data[4096];
};

struct ip_fields { // host order; a zero ttl stands for 64, a zero proto for UDP
	uint32_t src, dst;
	uint8_t proto, ttl, tos;
	uint16_t fragment; // flags and offset as on the wire, host order
	uint16_t sport, dport;
	uint32_t payload; // octets behind the eight of UDP (or ICMP, ESP …)
};

// An IPv4 packet alone.
void frame_ip(struct frame *f, const struct ip_fields *ip);
// The same behind an Ethernet header from a known or unknown station to this port.
void frame_eth_ip(struct frame *f, const struct ip_fields *ip);
// A G-PDU from the gNB with the packet inside; qfi 0: without extension header.
void frame_gpdu(struct frame *f, uint32_t n3_addr, uint32_t teid, uint8_t qfi,
	const struct ip_fields *inner);
// A GTP-U message of any kind from the gNB: header flags and type, TEID, then the octets.
void frame_gtpu(struct frame *f, uint32_t n3_addr, uint8_t flags, uint8_t type, uint32_t teid,
	const void *octets, size_t length);
void frame_arp(struct frame *f, uint16_t opcode, const struct rte_ether_addr *sender_mac,
	uint32_t sender, uint32_t target);
// The IPv4 header of a frame with Ethernet, to spoil it; frame_ip_seal() makes its checksum right.
struct rte_ipv4_hdr *frame_ip_header(struct frame *f);
void frame_ip_seal(struct frame *f);
// The inner one of a G-PDU built by frame_gpdu().
struct rte_ipv4_hdr *frame_inner(struct frame *f, uint8_t qfi);

// ---- IPv6 ------------------------------------------------------------------------------------

struct ip6_fields {               // a zero hop limit stands for 64, a zero next header for UDP
	const uint8_t *src, *dst; // upf_addr
	uint8_t next, hop_limit, class;
	uint16_t sport, dport;
	uint32_t payload; // octets behind the eight of UDP (or ICMPv6 …)
};

// An IPv6 packet alone, its UDP checksum right.
void frame_ip6(struct frame *f, const struct ip6_fields *ip);
// The same behind an Ethernet header from this station.
void frame_eth_ip6(struct frame *f, const struct rte_ether_addr *from, const struct ip6_fields *ip);
// Any packet behind an Ethernet header from this station; its version gives the type.
void frame_eth(struct frame *f, const struct rte_ether_addr *from, const struct frame *packet);
// A GTP-U message over IPv6 from RIG_GNB6, with UDP checksum.
void frame_gtpu6(struct frame *f, const uint8_t *n3_addr, uint8_t flags, uint8_t type,
	uint32_t teid, const void *octets, size_t length);
// A G-PDU with any packet inside; n3_addr6 NULL: over IPv4 to RIG_N3_ADDR. qfi 0: no container.
void frame_gpdu_of(struct frame *f, const uint8_t *n3_addr6, uint32_t teid, uint8_t qfi,
	const struct frame *packet);
// An ICMPv6 message of these octets, its checksum right.
void frame_icmp6(struct frame *f, const uint8_t *src, const uint8_t *dst, uint8_t hop_limit,
	const void *octets, size_t length);
// Makes the checksum of UDP, TCP or ICMPv6 right, in a packet alone or at `at` in a frame.
void frame_seal6(struct frame *f, size_t at);
void frame_seal_tcp(struct frame *f, size_t at);
// Puts an 802.1Q tag into a frame.
void frame_tag(struct frame *f, uint16_t tci);

#endif
