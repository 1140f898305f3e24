// An interface of the UPF as a worker sees it: its ethdev and its place in the IP world.
#ifndef UPFU_PORT_H
#define UPFU_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "process/config.h"

struct port_route {
	uint32_t prefix, mask; // host order
	rte_be32_t via;
};

struct prefix6 { // words as on the wire, so that membership is AND and compare
	uint64_t value[2], mask[2];
};

struct port_route6 {
	struct prefix6 prefix;
	upf_addr via;
};

struct port {
	uint16_t ethdev;
	uint16_t mtu;
	struct rte_ether_addr mac;
	uint16_t vlan;     // VLAN id of all frames, 0: untagged
	bool present;      // N9 may be absent
	bool shared;       // other network instances have VLANs of its device
	uint8_t tos;       // of what the UPF says of its own accord
	bool ip6;          // it has IPv6 addresses
	bool vlan_offload; // the port writes the tag itself
	bool bridge;       // an Ethernet network instance: bridge.h
	bool special;      // it has a VLAN or is a bridge: no frame goes the short way (parse.c)
	// Host order, so that membership is an AND and a compare.
	uint32_t own, own_mask;       // block of own addresses
	uint32_t subnet, subnet_mask; // on-link
	// By which packets go now (gateways.h), the same twice where there is one; 0: none
	rte_be32_t gateway[CONFIG_GATEWAYS];
	uint32_t routes, routes6;
	struct prefix6 own6, subnet6;
	upf_addr address6;                          // first own address
	upf_addr gateway6[CONFIG_GATEWAYS];         // all zero: none
	struct port_route route[CONFIG_ROUTES_MAX]; // longest prefix first
	struct port_route6 route6[CONFIG_ROUTES_MAX];
};

void port_init(struct port *port, enum upf_port which, const struct config *config);

static inline bool
port_owns(const struct port *port, rte_be32_t addr)
{
	return (rte_be_to_cpu_32(addr) & port->own_mask) == port->own;
}

static inline bool
prefix6_has(const struct prefix6 *prefix, const uint8_t *addr)
{
	uint64_t words[2];

	memcpy(words, addr, sizeof(words));
	return (words[0] & prefix->mask[0]) == prefix->value[0] &&
		(words[1] & prefix->mask[1]) == prefix->value[1];
}

// Of the block; the link-local address is port_link_local()'s.
static inline bool
port_owns6(const struct port *port, const uint8_t *addr)
{
	return port->ip6 && prefix6_has(&port->own6, addr);
}

// The interface's link-local address, from its MAC address (RFC 4291 appendix A).
void port_link_local(const struct port *port, upf_addr addr);

rte_be32_t port_route(const struct port *port, rte_be32_t addr, unsigned gateway);

// The neighbour to send to, 0 when there is none. gateway: which of two, where they are the way.
static inline rte_be32_t
port_next_hop(const struct port *port, rte_be32_t addr, unsigned gateway)
{
	if ((rte_be_to_cpu_32(addr) & port->subnet_mask) == port->subnet)
		return addr;
	if (unlikely(port->routes != 0))
		return port_route(port, addr, gateway);
	return port->gateway[gateway];
}

// The same for IPv6; NULL when there is none.
const uint8_t *port_next_hop6(const struct port *port, const uint8_t *addr, unsigned gateway);

#endif
