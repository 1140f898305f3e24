// What the UPF says to its neighbours: ARP (RFC 826), and Neighbour Discovery (RFC 4861).
#ifndef UPFU_NEIGH_MESSAGE_H
#define UPFU_NEIGH_MESSAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "upf_abi.h"

struct ipv6_header;
struct worker;

#define ND_HOP_LIMIT 255u // RFC 4861 7.1: nobody off the link can send this

#define ND_OPTION_SOURCE 1u // link-layer address
#define ND_OPTION_TARGET 2u

#define ND_NA_ROUTER 0x80u
#define ND_NA_SOLICITED 0x40u
#define ND_NA_OVERRIDE 0x20u

struct nd_message { // NS and NA with one link-layer address option
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	uint8_t flags;
	uint8_t reserved[3];
	upf_addr target;
	uint8_t option;
	uint8_t units;
	struct rte_ether_addr mac;
};
static_assert(sizeof(struct nd_message) == 32, "RFC 4861 4.3, 4.4");
#define ND_FIXED offsetof(struct nd_message, option)

// Sends an ARP frame; to: NULL: to everybody.
void arp_send(struct worker *w, enum upf_port port, uint16_t opcode,
	const struct rte_ether_addr *to, rte_be32_t from_addr, rte_be32_t to_addr);
// Asks for the MAC address of addr: all that share its solicited-node group, or `to` alone.
void nd_solicit(
	struct worker *w, enum upf_port port, const uint8_t *addr, const struct rte_ether_addr *to);
// Answers a Neighbour Solicitation for target, an own address. eth_from: who sent the frame; mac: what
// its option says, NULL: it has none.
void nd_answer(struct worker *w, enum upf_port port, const struct rte_ether_addr *eth_from,
	const struct ipv6_header *ip, const uint8_t *target, const struct rte_ether_addr *mac);
// Says "I am here" for the first own addresses (RFC 5227 announcement, RFC 4861 7.2.6 unsolicited
// Neighbour Advertisement): after a restart the interface may have another MAC address.
void neigh_announce(struct worker *w, enum upf_port port);

#endif
