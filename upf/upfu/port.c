#include "port.h"

#include <string.h>

static uint32_t
mask(unsigned prefix_len)
{
	return prefix_len == 0 ? 0 : UINT32_MAX << (32 - prefix_len);
}

void
port_init(struct port *port, enum upf_port which, const struct config *config)
{
	const struct config_interface *in = &config->interface[which];

	memset(port, 0, sizeof(*port));
	port->mtu = in->mtu;
	port->own_mask = mask(in->block_len);
	port->own = in->address & port->own_mask;
	port->subnet_mask = mask(in->prefix_len);
	port->subnet = in->address & port->subnet_mask;
	port->gateway = rte_cpu_to_be_32(in->gateway);
	for (unsigned len = 33; len-- > 0;) {
		for (unsigned i = 0; i < config->routes; i++) {
			const struct config_route *route = &config->route[i];

			if (route->port == which && route->prefix_len == len)
				port->route[port->routes++] = (struct port_route){
					route->prefix, mask(len), rte_cpu_to_be_32(route->via)};
		}
	}
}

rte_be32_t
port_next_hop(const struct port *port, rte_be32_t addr)
{
	uint32_t host = rte_be_to_cpu_32(addr);

	if ((host & port->subnet_mask) == port->subnet)
		return addr;
	for (uint32_t i = 0; i < port->routes; i++) {
		if ((host & port->route[i].mask) == port->route[i].prefix)
			return port->route[i].via;
	}
	return port->gateway;
}
