// An interface of the UPF as a worker sees it: its ethdev and its place in the IPv4 world.
#ifndef UPFU_PORT_H
#define UPFU_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "config.h"

struct port_route {
	uint32_t prefix, mask; // host order
	rte_be32_t via;
};

struct port {
	uint16_t ethdev;
	uint16_t mtu;
	struct rte_ether_addr mac;
	// Host order, so that membership is an AND and a compare.
	uint32_t own, own_mask;       // block of own addresses
	uint32_t subnet, subnet_mask; // on-link
	rte_be32_t gateway;           // 0: none
	uint32_t routes;
	struct port_route route[CONFIG_ROUTES_MAX]; // longest prefix first
};

void port_init(struct port *port, enum upf_port which, const struct config *config);

static inline bool
port_owns(const struct port *port, rte_be32_t addr)
{
	return (rte_be_to_cpu_32(addr) & port->own_mask) == port->own;
}

// The neighbour to send to, 0 when there is none.
rte_be32_t port_next_hop(const struct port *port, rte_be32_t addr);

#endif
