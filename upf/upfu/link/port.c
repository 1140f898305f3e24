#include "link/port.h"

#include "packet/ipv6.h"
#include "process/config.h"

static uint32_t
mask(unsigned prefix_len)
{
	return prefix_len == 0 || prefix_len > 32 ? 0 : UINT32_MAX << (32 - prefix_len);
}

static struct prefix6
prefix6(const upf_addr addr, unsigned len)
{
	struct prefix6 prefix;
	upf_addr bits;

	for (unsigned i = 0; i < sizeof(bits); i++)
		bits[i] = len >= 8 * (i + 1) ? 0xff
			: len <= 8 * i       ? 0
					     : (uint8_t)(0xff << (8 * (i + 1) - len));
	memcpy(prefix.mask, bits, sizeof(prefix.mask));
	memcpy(prefix.value, addr, sizeof(prefix.value));
	prefix.value[0] &= prefix.mask[0];
	prefix.value[1] &= prefix.mask[1];
	return prefix;
}

// Few, and looked at only for what is not on the link: lists, longest prefix first.
static void
init_routes(struct port *port, enum upf_port which, const struct config *config)
{
	for (unsigned len = 129; len-- > 0;) {
		for (unsigned i = 0; i < config->routes; i++) {
			const struct config_route *route = &config->route[i];

			if (route->port != which || route->prefix_len != len)
				continue;
			if (route->ip6) {
				struct port_route6 *to = &port->route6[port->routes6++];

				to->prefix = prefix6(route->prefix6, len);
				memcpy(to->via, route->via6, sizeof(to->via));
			} else {
				port->route[port->routes++] = (struct port_route){
					route->prefix, mask(len), rte_cpu_to_be_32(route->via)};
			}
		}
	}
}

void
port_init(struct port *port, enum upf_port which, const struct config *config)
{
	const struct config_interface *in = &config->interface[which];

	memset(port, 0, sizeof(*port));
	port->present = in->present;
	for (unsigned other = UPF_PORT_N6; other < config->ports; other++)
		port->shared |=
			other != which && config->interface[other].device_of == in->device_of;
	port->mtu = in->mtu;
	port->vlan = in->vlan;
	port->bridge = in->ethernet;
	port->special = in->vlan != 0 || in->ethernet;
	port->tos = (uint8_t)(in->dscp << 2);
	if (in->block_len != 0) {
		port->own_mask = mask(in->block_len);
		port->own = in->address & port->own_mask;
		port->subnet_mask = mask(in->prefix_len);
		port->subnet = in->address & port->subnet_mask;
	} else {
		port->own = port->subnet = 1; // under a mask of 0: nothing
	}
	for (unsigned i = 0; i < CONFIG_GATEWAYS; i++) {
		unsigned from = in->gateway[i] != 0 ? i : 0;

		port->gateway[i] = rte_cpu_to_be_32(in->gateway[from]);
	}
	if (in->block_len6 != 0) {
		port->ip6 = true;
		port->own6 = prefix6(in->address6, in->block_len6);
		port->subnet6 = prefix6(in->address6, in->prefix_len6);
		memcpy(port->address6, in->address6, sizeof(port->address6));
		for (unsigned i = 0; i < CONFIG_GATEWAYS; i++) {
			unsigned from = ipv6_is_unspecified(in->gateway6[i]) ? 0 : i;

			memcpy(port->gateway6[i], in->gateway6[from], sizeof(upf_addr));
		}
	}
	init_routes(port, which, config);
}

void
port_link_local(const struct port *port, upf_addr addr)
{
	const uint8_t *mac = port->mac.addr_bytes;
	const upf_addr made = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
		mac[3], mac[4], mac[5]};

	memcpy(addr, made, sizeof(made));
}

// By the longest prefix, else the gateway.
rte_be32_t
port_route(const struct port *port, rte_be32_t addr, unsigned gateway)
{
	uint32_t host = rte_be_to_cpu_32(addr);

	for (uint32_t i = 0; i < port->routes; i++) {
		if ((host & port->route[i].mask) == port->route[i].prefix)
			return port->route[i].via;
	}
	return port->gateway[gateway];
}

const uint8_t *
port_next_hop6(const struct port *port, const uint8_t *addr, unsigned gateway)
{
	if (!port->ip6)
		return NULL;
	if (prefix6_has(&port->subnet6, addr) || ipv6_is_link_local(addr))
		return addr;
	for (uint32_t i = 0; i < port->routes6; i++) {
		if (prefix6_has(&port->route6[i].prefix, addr))
			return port->route6[i].via;
	}
	return ipv6_is_unspecified(port->gateway6[gateway]) ? NULL : port->gateway6[gateway];
}
