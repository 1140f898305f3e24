// Reads upf-u.yaml with libyaml's document API: every node knows its line, so every complaint names
// file, line and key, and says what to write instead. A key that is not known is an error: a
// misspelt limit must not silently be the default.
#define _GNU_SOURCE
#include "process/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "process/device.h"

struct reader {
	const char *path;
	yaml_document_t *document;
	char *error;
	size_t error_size;
};

typedef int (*read_value)(
	struct reader *r, const char *key, const yaml_node_t *value, void *destination);

struct key {
	const char *name;
	read_value read;
	void *destination;
	bool required;
	const char *example; // shown when it is missing
};

__attribute__((format(printf, 3, 4))) static int
reader_fail(struct reader *r, const yaml_node_t *at, const char *format, ...)
{
	char message[384];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	snprintf(r->error, r->error_size, "%s:%zu: %s", r->path,
		at != NULL ? at->start_mark.line + 1 : (size_t)1, message);
	return -1;
}

static const char *
scalar(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

// One mapping against its list of known keys.
static int
read_mapping(struct reader *r, const char *name, const yaml_node_t *map, const struct key *keys,
	unsigned n_keys)
{
	bool seen[32] = {0};

	if (map->type != YAML_MAPPING_NODE)
		return reader_fail(r, map, "%s: must be a mapping of keys to values", name);
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
		pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
		const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
		const char *text = scalar(key);
		unsigned i = 0;

		while (i < n_keys && (text == NULL || strcmp(text, keys[i].name) != 0))
			i++;
		if (i == n_keys) {
			char known[256] = "";

			for (unsigned k = 0; k < n_keys; k++) {
				strncat(known, k ? ", " : "", sizeof(known) - strlen(known) - 1);
				strncat(known, keys[k].name, sizeof(known) - strlen(known) - 1);
			}
			return reader_fail(r, key, "%s: unknown key \"%s\"; known here are: %s",
				name, text != NULL ? text : "?", known);
		}
		if (seen[i])
			return reader_fail(
				r, key, "%s: key \"%s\" is given twice; keep one", name, text);
		seen[i] = true;
		if (keys[i].read(r, keys[i].name, value, keys[i].destination) < 0)
			return -1;
	}
	for (unsigned i = 0; i < n_keys; i++) {
		if (keys[i].required && !seen[i])
			return reader_fail(r, map,
				"%s: key \"%s\" is missing; write for example \"%s: %s\"", name,
				keys[i].name, keys[i].name, keys[i].example);
	}
	return 0;
}

// ---- values --------------------------------------------------------------------------------

struct number {
	uint32_t *value;
	uint32_t min, max;
};

static int
parse_u64(const char *text, uint64_t *value)
{
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : 0;
}

static int
parse_u32(const char *text, uint32_t *value)
{
	uint64_t number;

	if (parse_u64(text, &number) < 0 || number > UINT32_MAX)
		return -1;
	*value = (uint32_t)number;
	return 0;
}

static int
read_number(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct number *number = destination;
	uint32_t v;

	if (parse_u32(scalar(value), &v) < 0 || v < number->min || v > number->max)
		return reader_fail(r, value,
			"%s: must be a whole number from %" PRIu32 " to %" PRIu32, key, number->min,
			number->max);
	*number->value = v;
	return 0;
}

static int
read_octets(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	uint64_t v;

	if (parse_u64(scalar(value), &v) < 0 || v < 1 || v > UINT64_C(1) << 40)
		return reader_fail(r, value,
			"%s: must be a whole number of octets from 1 to %" PRIu64, key,
			UINT64_C(1) << 40);
	*(uint64_t *)destination = v;
	return 0;
}

static int
read_bool(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const char *text = scalar(value);
	bool *flag = destination;

	if (text != NULL && strcmp(text, "true") == 0)
		*flag = true;
	else if (text != NULL && strcmp(text, "false") == 0)
		*flag = false;
	else
		return reader_fail(r, value, "%s: must be true or false", key);
	return 0;
}

struct text {
	char *value;
	size_t size;
};

static int
read_text(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct text *to = destination;
	const char *text = scalar(value);

	if (text == NULL || text[0] == '\0' || strlen(text) >= to->size)
		return reader_fail(
			r, value, "%s: must be a text of 1 to %zu characters", key, to->size - 1);
	memcpy(to->value, text, strlen(text) + 1);
	return 0;
}

static int
parse_address6(const char *text, upf_addr address)
{
	struct in6_addr in;

	if (text == NULL || inet_pton(AF_INET6, text, &in) != 1)
		return -1;
	memcpy(address, &in, sizeof(in));
	return 0;
}

static int
read_address6(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	if (parse_address6(scalar(value), destination) < 0)
		return reader_fail(r, value, "%s: must be an IPv6 address such as fd00:3::1", key);
	return 0;
}

static int
parse_address(const char *text, uint32_t *address)
{
	struct in_addr in;

	if (text == NULL || inet_pton(AF_INET, text, &in) != 1)
		return -1;
	*address = ntohl(in.s_addr);
	return 0;
}

static int
read_address(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	if (parse_address(scalar(value), destination) < 0)
		return reader_fail(r, value, "%s: must be an IPv4 address such as 172.30.3.1", key);
	return 0;
}

static uint32_t
mask(unsigned prefix_len)
{
	return prefix_len == 0 ? 0 : UINT32_MAX << (32 - prefix_len);
}

// Do the first len bits agree?
static bool
same_prefix6(const upf_addr a, const upf_addr b, unsigned len)
{
	unsigned octets = len / 8, bits = len % 8;

	return memcmp(a, b, octets) == 0 &&
		(bits == 0 || ((a[octets] ^ b[octets]) >> (8 - bits)) == 0);
}

static void
mask6(upf_addr address, unsigned len)
{
	for (unsigned i = 0; i < sizeof(upf_addr); i++) {
		if (8 * i >= len)
			address[i] = 0;
		else if (len < 8 * (i + 1))
			address[i] &= (uint8_t)(0xff << (8 * (i + 1) - len));
	}
}

// One address, or a list of two.
static int
read_gateways(struct reader *r, const char *key, const yaml_node_t *value, void *destination,
	read_value read, size_t size)
{
	static const upf_addr none;
	const yaml_node_item_t *item;
	size_t n;

	if (value->type != YAML_SEQUENCE_NODE)
		return read(r, key, value, destination);
	item = value->data.sequence.items.start;
	n = (size_t)(value->data.sequence.items.top - item);
	if (n < 1 || n > CONFIG_GATEWAYS)
		return reader_fail(r, value, "%s: must be one address, or a list of two", key);
	for (size_t i = 0; i < n; i++) {
		if (read(r, key, yaml_document_get_node(r->document, item[i]),
			    (uint8_t *)destination + i * size) < 0)
			return -1;
		if (memcmp((uint8_t *)destination + i * size, none, size) == 0)
			return reader_fail(r, value, "%s: must be addresses of routers", key);
	}
	return 0;
}

static int
read_gateways4(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	return read_gateways(r, key, value, destination, read_address, sizeof(uint32_t));
}

static int
read_gateways6(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	return read_gateways(r, key, value, destination, read_address6, sizeof(upf_addr));
}

struct prefix6 {
	uint8_t *address; // upf_addr
	uint8_t *prefix_len;
	bool block; // the host part must be 0
	const char *example;
};

static int
read_prefix6(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct prefix6 *prefix = destination;
	const char *text = scalar(value);
	const char *slash = text != NULL ? strchr(text, '/') : NULL;
	char address[INET6_ADDRSTRLEN];
	upf_addr in, network;
	uint32_t len;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		goto bad;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	if (parse_address6(address, in) < 0 || parse_u32(slash + 1, &len) < 0 || len > 128)
		goto bad;
	memcpy(network, in, sizeof(in));
	mask6(network, len);
	if (prefix->block && memcmp(network, in, sizeof(in)) != 0)
		return reader_fail(r, value, "%s: %s has bits beyond its prefix; write %s/%u", key,
			text, inet_ntop(AF_INET6, network, address, sizeof(address)), len);
	memcpy(prefix->address, in, sizeof(in));
	*prefix->prefix_len = (uint8_t)len;
	return 0;
bad:
	return reader_fail(r, value, "%s: must be an IPv6 prefix such as %s", key, prefix->example);
}

struct prefix {
	uint32_t *address;
	uint8_t *prefix_len;
	bool block; // the host part must be 0
	const char *example;
};

static int
read_prefix(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct prefix *prefix = destination;
	const char *text = scalar(value);
	char address[64];
	uint32_t len, in;
	const char *slash = text != NULL ? strchr(text, '/') : NULL;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		goto bad;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	if (parse_address(address, &in) < 0 || parse_u32(slash + 1, &len) < 0 || len > 32)
		goto bad;
	if (prefix->block && (in & ~mask(len)) != 0) {
		struct in_addr network = {htonl(in & mask(len))};

		return reader_fail(r, value, "%s: %s has bits beyond its prefix; write %s/%u", key,
			text, inet_ntop(AF_INET, &network, address, sizeof(address)), len);
	}
	*prefix->address = in;
	*prefix->prefix_len = (uint8_t)len;
	return 0;
bad:
	return reader_fail(r, value, "%s: must be an IPv4 prefix such as %s", key, prefix->example);
}

static int
read_driver(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	static const char *const names[] = {
		[CONFIG_AF_PACKET] = "af_packet",
		[CONFIG_AF_XDP] = "af_xdp",
		[CONFIG_TAP] = "tap",
		[CONFIG_VFIO] = "vfio",
	};
	const char *text = scalar(value);
	enum config_driver *driver = destination;

	for (unsigned i = 0; text != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*driver = (enum config_driver)i;
			return 0;
		}
	}
	return reader_fail(r, value, "%s: must be af_packet, af_xdp, tap or vfio", key);
}

struct either { // one of two words
	bool *second;
	const char *words[2];
};

static int
read_either(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct either *either = destination;
	const char *text = scalar(value);

	for (unsigned i = 0; text != NULL && i < 2; i++) {
		if (strcmp(text, either->words[i]) == 0) {
			*either->second = i == 1;
			return 0;
		}
	}
	return reader_fail(
		r, value, "%s: must be %s or %s", key, either->words[0], either->words[1]);
}

// ---- mappings ------------------------------------------------------------------------------

#define KEYS(keys) (keys), sizeof(keys) / sizeof((keys)[0])

// Addresses of an interface against each other.
static int
check_ipv4(struct reader *r, const char *name, const yaml_node_t *map,
	const struct config_interface *in, bool gtpu, uint32_t prefix_len)
{
	if (in->block_len == 0) {
		if (in->gateway[0] == 0 && (!gtpu || prefix_len == 0))
			return 0;
		return reader_fail(r, map,
			"%s: gateway and prefix_length want an IPv4 address; add %s", name,
			gtpu ? "addresses: 172.30.3.16/28" : "address: 172.30.6.2/24");
	}
	if (gtpu && prefix_len == 0)
		return reader_fail(r, map,
			"%s: key \"prefix_length\" is missing; write for example \"prefix_length: "
			"24\"",
			name);
	if (gtpu && in->block_len < prefix_len)
		return reader_fail(r, map,
			"%s: addresses /%u is wider than the subnet's prefix_length %u; the block "
			"of own addresses lies inside the subnet",
			name, in->block_len, prefix_len);
	if (gtpu && in->block_len < 16)
		return reader_fail(
			r, map, "%s: addresses: a block of own addresses is /16 at most", name);
	if (!gtpu && (in->prefix_len < 1 || in->prefix_len > 31))
		return reader_fail(
			r, map, "%s: address: the prefix length must be from 1 to 31", name);
	for (unsigned i = 0; i < CONFIG_GATEWAYS && in->gateway[i] != 0; i++) {
		if (((in->gateway[i] ^ in->address) & mask(in->prefix_len)) != 0)
			return reader_fail(r, map,
				"%s: gateway must be an address of the interface's own subnet",
				name);
		if (((in->gateway[i] ^ in->address) & mask(in->block_len)) == 0)
			return reader_fail(r, map,
				"%s: gateway must not be one of the UPF's own addresses", name);
	}
	if (in->gateway[0] != 0 && in->gateway[0] == in->gateway[1])
		return reader_fail(
			r, map, "%s: gateway has one address twice; keep one of them", name);
	return 0;
}

static bool
is_zero6(const upf_addr address)
{
	static const upf_addr zero;

	return memcmp(address, zero, sizeof(zero)) == 0;
}

static bool
is_link_local6(const upf_addr address)
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

static int
check_ipv6(struct reader *r, const char *name, const yaml_node_t *map,
	const struct config_interface *in, bool gtpu, uint32_t prefix_len)
{
	if (in->block_len6 == 0) {
		if (is_zero6(in->gateway6[0]) && (!gtpu || prefix_len == 0))
			return 0;
		return reader_fail(r, map,
			"%s: gateway6 and prefix_length6 want an IPv6 address; add %s", name,
			gtpu ? "addresses6: fd00:3::10/124" : "address6: fd00:6::2/64");
	}
	if (in->address6[0] == 0xff || is_link_local6(in->address6) || is_zero6(in->address6))
		return reader_fail(r, map,
			"%s: own IPv6 addresses must be global or unique local, such as fd00:3::10",
			name);
	if (in->mtu < 1280)
		return reader_fail(
			r, map, "%s: IPv6 wants an mtu of 1280 at least (RFC 8200 5)", name);
	if (gtpu && prefix_len == 0)
		return reader_fail(r, map,
			"%s: key \"prefix_length6\" is missing; write for example "
			"\"prefix_length6: 64\"",
			name);
	if (gtpu && in->block_len6 < prefix_len)
		return reader_fail(r, map,
			"%s: addresses6 /%u is wider than the subnet's prefix_length6 %u; the "
			"block "
			"of own addresses lies inside the subnet",
			name, in->block_len6, prefix_len);
	if (gtpu && in->block_len6 < 112)
		return reader_fail(
			r, map, "%s: addresses6: a block of own addresses is /112 at most", name);
	if (!gtpu && (in->prefix_len6 < 1 || in->prefix_len6 > 127))
		return reader_fail(
			r, map, "%s: address6: the prefix length must be from 1 to 127", name);
	for (unsigned i = 0; i < CONFIG_GATEWAYS && !is_zero6(in->gateway6[i]); i++) {
		if (!is_link_local6(in->gateway6[i]) &&
			!same_prefix6(in->gateway6[i], in->address6, in->prefix_len6))
			return reader_fail(r, map,
				"%s: gateway6 must be a link-local address or one of the "
				"interface's own subnet",
				name);
		if (same_prefix6(in->gateway6[i], in->address6, in->block_len6))
			return reader_fail(r, map,
				"%s: gateway6 must not be one of the UPF's own addresses", name);
	}
	if (!is_zero6(in->gateway6[0]) && same_prefix6(in->gateway6[0], in->gateway6[1], 128))
		return reader_fail(
			r, map, "%s: gateway6 has one address twice; keep one of them", name);
	return 0;
}

// The name of a network instance stands in logs and in what is shown as JSON.
static int
read_network(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const char *text = scalar(value);
	size_t length = text != NULL ? strlen(text) : 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
			length = 0;
	}
	if (length == 0 || length >= UPF_NETWORK_NAME)
		return reader_fail(r, value,
			"%s: must be a name of 1 to %u letters, digits, dots and the like, such as "
			"internet",
			key, UPF_NETWORK_NAME - 1);
	memcpy(destination, text, length + 1);
	return 0;
}

#define NAT_ADDRESSES_LEAST 16u // bits of a prefix

static int
read_nat_addresses(struct reader *r, const char *key, const yaml_node_t *list, void *destination)
{
	struct config_nat *nat = destination;

	if (list->type != YAML_SEQUENCE_NODE)
		return reader_fail(r, list,
			"%s: must be a list of IPv4 prefixes such as [203.0.113.0/28]", key);
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top; item++) {
		const yaml_node_t *node = yaml_document_get_node(r->document, *item);
		uint32_t address = 0;
		uint8_t len = 0;
		struct prefix prefix = {&address, &len, true, "203.0.113.0/28"};

		if (nat->prefixes == UPF_NAT_PREFIXES)
			return reader_fail(
				r, node, "%s: at most %u prefixes", key, UPF_NAT_PREFIXES);
		if (read_prefix(r, key, node, &prefix) < 0)
			return -1;
		if (len < NAT_ADDRESSES_LEAST || address >> 24 == 0 || address >> 24 == 127 ||
			address >> 28 >= 0xe)
			return reader_fail(r, node,
				"%s: %s is none of a /%u to a /32 of unicast addresses; write for "
				"example 203.0.113.0/28",
				key, scalar(node), NAT_ADDRESSES_LEAST);
		for (unsigned i = 0; i < nat->prefixes; i++) {
			if (((address ^ nat->prefix[i].address) & mask(len) &
				    mask(nat->prefix[i].len)) == 0)
				return reader_fail(r, node,
					"%s: %s overlaps another one of the list; write each "
					"address once",
					key, scalar(node));
		}
		nat->prefix[nat->prefixes].address = address;
		nat->prefix[nat->prefixes++].len = len;
	}
	if (nat->prefixes == 0)
		return reader_fail(
			r, list, "%s: at least one prefix, such as [203.0.113.0/28]", key);
	return 0;
}

// The least times are those of RFC 5382 REQ-5, RFC 4787 REQ-5 and RFC 5508 REQ-2.
static int
read_nat(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_nat *nat = destination;
	struct number ports = {&nat->ports, 64, 32768};
	struct number mappings = {&nat->mappings, 1024, 16u << 20};
	struct number established = {&nat->tcp_established_s, 7440, 604800};
	struct number transitory = {&nat->tcp_transitory_s, 240, 86400};
	struct number udp = {&nat->udp_s, 120, 86400};
	struct number icmp = {&nat->icmp_s, 60, 86400};
	struct key keys[] = {
		{"addresses", read_nat_addresses, nat, true, "[203.0.113.0/28]"},
		{"ports", read_number, &ports, false, NULL},
		{"mappings", read_number, &mappings, false, NULL},
		{"tcp_established_s", read_number, &established, false, NULL},
		{"tcp_transitory_s", read_number, &transitory, false, NULL},
		{"udp_s", read_number, &udp, false, NULL},
		{"icmp_s", read_number, &icmp, false, NULL},
	};

	*nat = (struct config_nat){.ports = 1024,
		.mappings = 1u << 18,
		.tcp_established_s = 7440,
		.tcp_transitory_s = 240,
		.udp_s = 300,
		.icmp_s = 60};
	if (read_mapping(r, name, map, KEYS(keys)) < 0)
		return -1;
	if ((nat->ports & (nat->ports - 1)) != 0)
		return reader_fail(r, map,
			"%s: ports %" PRIu32 " is no power of two; write for example 1024", name,
			nat->ports);
	return 0;
}

// The bridge of an Ethernet network instance: bridge.h. What is not said is usual.
static int
read_ethernet(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_interface *in = destination;
	struct config_bridge *bridge = &in->bridge;
	struct number stations = {&bridge->stations, 16, 1u << 20};
	struct number per_session = {&bridge->stations_per_session, 1, 65535};
	struct number ageing = {&bridge->ageing_s, 1, 1000000};
	struct number copies = {&bridge->copies, 1, 65536};
	struct key keys[] = {
		{"stations", read_number, &stations, false, NULL},
		{"stations_per_session", read_number, &per_session, false, NULL},
		{"ageing_s", read_number, &ageing, false, NULL},
		{"copies", read_number, &copies, false, NULL},
	};

	in->ethernet = true;
	*bridge = (struct config_bridge){
		.stations = 8192, .stations_per_session = 64, .ageing_s = 300, .copies = 256};
	return read_mapping(r, name, map, KEYS(keys));
}

// A bridge has no place in the IP world.
static int
check_ethernet(struct reader *r, const char *name, const yaml_node_t *map,
	const struct config_interface *in)
{
	static const uint8_t zero[sizeof(in->gateway6)];

	if (in->block_len == 0 && in->block_len6 == 0 && in->gateway[0] == 0 &&
		memcmp(in->gateway6, zero, sizeof(zero)) == 0 && in->nat.ports == 0 &&
		in->dscp == 0)
		return 0;
	return reader_fail(r, map,
		"%s: an Ethernet network instance has no address, gateway, nat44 or dscp; leave "
		"them "
		"out, or leave ethernet out",
		name);
}

// Public addresses are routed to the interface's own, as UE addresses are: nobody asks for them on the link.
static int
check_nat(struct reader *r, const char *name, const yaml_node_t *map,
	const struct config_interface *in)
{
	for (unsigned i = 0; i < in->nat.prefixes; i++) {
		uint8_t len = in->nat.prefix[i].len;

		if (in->block_len == 0)
			return reader_fail(r, map,
				"%s: nat44 wants an IPv4 address; add address: 172.30.6.2/24",
				name);
		if (((in->nat.prefix[i].address ^ in->address) & mask(len) &
			    mask(in->prefix_len)) == 0)
			return reader_fail(r, map,
				"%s: nat44 has addresses of the interface's own subnet; write "
				"others, which "
				"the gateway routes to the interface's address",
				name);
	}
	return 0;
}

struct interface_place {
	struct config_interface *in;
	const struct config_interface *before; // in the list of N6, NULL: none
};

// An interface of N6 without a device has that of the one before it.
static int
check_device(struct reader *r, const char *name, const yaml_node_t *map,
	const struct interface_place *place, bool has_driver)
{
	struct config_interface *in = place->in;
	bool device = in->device[0] != '\0', resource = in->resource[0] != '\0';

	if (device && resource)
		return reader_fail(
			r, map, "%s: give either device, or the resource of a device plugin", name);
	if (!device && !resource && place->before == NULL)
		return reader_fail(r, map,
			"%s: give either device, or the resource of a device plugin; write for "
			"example \"device: %s\"",
			name, name);
	if (!device && !resource) {
		if (has_driver)
			return reader_fail(r, map,
				"%s: driver belongs to a device; leave it out where the device is "
				"that of "
				"the entry before",
				name);
		in->driver = place->before->driver;
		in->device_of = place->before->device_of;
		memcpy(in->device, place->before->device, sizeof(in->device));
		return 0;
	}
	if (resource && in->driver != CONFIG_VFIO)
		return reader_fail(r, map,
			"%s: resource needs \"driver: vfio\"; give the interface's name in device",
			name);
	return 0;
}

static int
read_interface(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	const struct interface_place *place = destination;
	struct config_interface *in = place->in;
	bool gtpu = strcmp(name, "n6") != 0; // N3 and N9: a block of GTP-U addresses
	const enum config_driver none = (enum config_driver)(CONFIG_VFIO + 1);
	enum config_driver driver = none;
	uint32_t mtu = 0, prefix_len = 0, prefix_len6 = 0, vlan = 0, dscp = 0;
	struct text device = {in->device, sizeof(in->device)};
	struct text resource = {in->resource, sizeof(in->resource)};
	struct prefix block = {&in->address, &in->block_len, true, "172.30.3.16/28"};
	struct prefix single = {&in->address, &in->prefix_len, false, "172.30.6.2/24"};
	struct prefix6 block6 = {in->address6, &in->block_len6, true, "fd00:3::10/124"};
	struct prefix6 single6 = {in->address6, &in->prefix_len6, false, "fd00:6::2/64"};
	struct number prefix_number = {&prefix_len, 1, 31};
	struct number prefix6_number = {&prefix_len6, 1, 127};
	struct number mtu_number = {&mtu, 576, 9600};
	struct number vlan_number = {&vlan, 1, 4094};
	struct number dscp_number = {&dscp, 0, 63};
	struct key gtpu_keys[] = {
		{"driver", read_driver, &driver, false, NULL},
		{"device", read_text, &device, false, NULL},
		{"resource", read_text, &resource, false, NULL},
		{"addresses", read_prefix, &block, false, NULL},
		{"prefix_length", read_number, &prefix_number, false, NULL},
		{"gateway", read_gateways4, in->gateway, false, NULL},
		{"addresses6", read_prefix6, &block6, false, NULL},
		{"prefix_length6", read_number, &prefix6_number, false, NULL},
		{"gateway6", read_gateways6, in->gateway6, false, NULL},
		{"mtu", read_number, &mtu_number, false, NULL},
		{"vlan", read_number, &vlan_number, false, NULL},
		{"dscp", read_number, &dscp_number, false, NULL},
	};
	struct key n6_keys[] = {
		{"driver", read_driver, &driver, false, NULL},
		{"device", read_text, &device, false, NULL},
		{"resource", read_text, &resource, false, NULL},
		{"address", read_prefix, &single, false, NULL},
		{"gateway", read_gateways4, in->gateway, false, NULL},
		{"address6", read_prefix6, &single6, false, NULL},
		{"gateway6", read_gateways6, in->gateway6, false, NULL},
		{"mtu", read_number, &mtu_number, false, NULL},
		{"vlan", read_number, &vlan_number, false, NULL},
		{"dscp", read_number, &dscp_number, false, NULL},
		{"network_instance", read_network, in->network, false, NULL},
		{"nat44", read_nat, &in->nat, false, NULL},
		{"ethernet", read_ethernet, in, false, NULL},
	};
	int rc = gtpu ? read_mapping(r, name, map, KEYS(gtpu_keys))
		      : read_mapping(r, name, map, KEYS(n6_keys));

	if (rc < 0)
		return -1;
	in->driver = driver != none ? driver : CONFIG_AF_PACKET;
	if (check_device(r, name, map, place, driver != none) < 0)
		return -1;
	in->present = true;
	in->mtu = (uint16_t)mtu;
	if (mtu == 0)
		in->mtu = place->before != NULL && in->device_of == place->before->device_of
			? place->before->mtu
			: 1500;
	in->vlan = (uint16_t)vlan;
	in->dscp = (uint8_t)dscp;
	if (gtpu) {
		in->prefix_len = (uint8_t)prefix_len;
		in->prefix_len6 = (uint8_t)prefix_len6;
	} else {
		in->block_len = in->address != 0 ? 32 : 0;
		in->block_len6 = !is_zero6(in->address6) ? 128 : 0;
	}
	if (in->ethernet)
		return check_ethernet(r, name, map, in);
	if (in->block_len == 0 && in->block_len6 == 0)
		return reader_fail(r, map, "%s: key \"%s\" is missing; write for example \"%s\"",
			name, gtpu ? "addresses" : "address",
			gtpu ? "addresses: 172.30.3.16/28" : "address: 172.30.6.2/24");
	if (check_ipv4(r, name, map, in, gtpu, prefix_len) < 0 || check_nat(r, name, map, in) < 0)
		return -1;
	return check_ipv6(r, name, map, in, gtpu, prefix_len6);
}

static int
read_gtpu_interface(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct interface_place place = {destination, NULL};

	return read_interface(r, name, map, &place);
}

// One interface, or a list of them: one for each network instance.
static int
read_n6(struct reader *r, const char *name, const yaml_node_t *node, void *destination)
{
	struct config *config = destination;
	struct config_interface *in = &config->interface[UPF_PORT_N6];
	const yaml_node_item_t *item = node->data.sequence.items.start;

	if (node->type != YAML_SEQUENCE_NODE) {
		struct interface_place place = {in, NULL};

		config->networks = 1;
		return read_interface(r, name, node, &place);
	}
	for (; item < node->data.sequence.items.top; item++) {
		struct interface_place place = {&in[config->networks],
			config->networks != 0 ? &in[config->networks - 1] : NULL};
		const yaml_node_t *map = yaml_document_get_node(r->document, *item);

		if (config->networks == UPF_NETWORKS)
			return reader_fail(
				r, map, "%s: at most %u network instances", name, UPF_NETWORKS);
		if (read_interface(r, name, map, &place) < 0)
			return -1;
		config->networks++;
	}
	if (config->networks == 0)
		return reader_fail(r, node, "%s: must have one interface at least", name);
	return 0;
}

// In the order in which interfaces of one resource get its devices: N3, N6, N9.
static enum upf_port
nth_port(unsigned nth)
{
	if (nth == 0)
		return UPF_PORT_N3;
	return nth < 1 + UPF_NETWORKS ? config_port_of(nth - 1) : UPF_PORT_N9;
}

static int
find_devices(struct reader *r, const yaml_node_t *map, struct config_interface *in)
{
	for (unsigned i = 0; i < UPF_PORTS; i++) {
		struct config_interface *to = &in[nth_port(i)];
		unsigned nth = 0;
		char error[320];

		if (to->device_of != nth_port(i))
			memcpy(to->device, in[to->device_of].device, sizeof(to->device));
		if (to->resource[0] == '\0')
			continue;
		for (unsigned before = 0; before < i; before++)
			nth += strcmp(in[nth_port(before)].resource, to->resource) == 0;
		if (device_of_resource(environ, to->resource, nth, to->device, sizeof(to->device),
			    error, sizeof(error)) < 0)
			return reader_fail(r, map, "%s", error);
	}
	return 0;
}

struct interface_pair {
	const struct config_interface *a, *b;
	const char *name_a, *name_b;
};

// Two interfaces share nothing: a packet's next hop, and the interface of an F-TEID, are known by the
// address.
static int
check_pair(struct reader *r, const char *name, const yaml_node_t *map,
	const struct interface_pair *pair)
{
	const struct config_interface *a = pair->a, *b = pair->b;
	const char *name_a = pair->name_a, *name_b = pair->name_b;
	uint8_t own6 = a->block_len6 < b->block_len6 ? a->block_len6 : b->block_len6;
	uint8_t subnet6 = a->prefix_len6 < b->prefix_len6 ? a->prefix_len6 : b->prefix_len6;

	if (strcmp(a->device, b->device) == 0)
		return reader_fail(r, map,
			"%s: %s and %s both have device %s; give each one of its own (of one "
			"device with two VLANs, a kernel interface each)",
			name, name_a, name_b, a->device);
	if (a->block_len != 0 && b->block_len != 0) {
		uint32_t apart = a->address ^ b->address;

		if ((apart & mask(a->block_len) & mask(b->block_len)) == 0)
			return reader_fail(r, map,
				"%s: %s and %s have own addresses in common; give each a block of "
				"its own",
				name, name_a, name_b);
		if ((apart & mask(a->prefix_len) & mask(b->prefix_len)) == 0)
			return reader_fail(r, map,
				"%s: %s and %s are in one subnet; give each a subnet of its own",
				name, name_a, name_b);
	}
	if (a->block_len6 != 0 && b->block_len6 != 0) {
		if (same_prefix6(a->address6, b->address6, own6))
			return reader_fail(r, map,
				"%s: %s and %s have own IPv6 addresses in common; give each a "
				"block of its own",
				name, name_a, name_b);
		if (same_prefix6(a->address6, b->address6, subnet6))
			return reader_fail(r, map,
				"%s: %s and %s are in one IPv6 subnet; give each a subnet of its "
				"own",
				name, name_a, name_b);
	}
	return 0;
}

// Two network instances: each is a world of its own, but on one device only the VLAN tells them apart.
static int
check_networks(struct reader *r, const char *name, const yaml_node_t *map,
	const struct config_interface *a, struct config_interface *b)
{
	if (strcmp(a->network, b->network) == 0)
		return reader_fail(r, map,
			a->network[0] != '\0' ? "%s: n6 has network_instance %s twice; keep one"
					      : "%s: n6 has two entries without "
						"network_instance%s; name all but one, "
						"which then serves every other network instance",
			name, a->network);
	// Whose a packet was is asked for by the public address alone.
	for (unsigned i = 0; i < a->nat.prefixes; i++) {
		for (unsigned j = 0; j < b->nat.prefixes; j++) {
			if (((a->nat.prefix[i].address ^ b->nat.prefix[j].address) &
				    mask(a->nat.prefix[i].len) & mask(b->nat.prefix[j].len)) == 0)
				return reader_fail(r, map,
					"%s: nat44 of two network instances has addresses in "
					"common; give each "
					"addresses of its own",
					name);
		}
	}
	if (strcmp(a->device, b->device) != 0)
		return 0;
	if (b->device_of > a->device_of)
		b->device_of = a->device_of;
	if (a->driver != b->driver)
		return reader_fail(
			r, map, "%s: n6 has device %s with two drivers", name, a->device);
	if (a->vlan == b->vlan)
		return reader_fail(r, map,
			"%s: n6 has device %s twice in the same VLAN; give each network instance a "
			"vlan, or a device, of its own",
			name, a->device);
	return 0;
}

static int
check_interfaces(struct reader *r, const char *name, const yaml_node_t *map, struct config *config)
{
	struct config_interface *in = config->interface;

	for (unsigned i = 0; i < UPF_PORTS; i++) {
		for (unsigned j = i + 1; j < UPF_PORTS; j++) {
			const struct interface_pair pair = {
				&in[i], &in[j], config_port_name(i), config_port_name(j)};
			int rc;

			if (!in[i].present || !in[j].present)
				continue;
			rc = i < UPF_PORT_N6 ? check_pair(r, name, map, &pair)
					     : check_networks(r, name, map, &in[i], &in[j]);
			if (rc < 0)
				return -1;
		}
	}
	return 0;
}

static int
read_interfaces(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config *config = destination;
	struct config_interface *in = config->interface;
	struct key keys[] = {
		{"n3", read_gtpu_interface, &in[UPF_PORT_N3], true,
			"{device: n3, addresses: 172.30.3.16/28, prefix_length: 24}"},
		{"n6", read_n6, config, true,
			"{device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}"},
		{"n9", read_gtpu_interface, &in[UPF_PORT_N9], false, NULL},
	};

	for (unsigned port = 0; port < UPF_PORTS; port++)
		in[port].device_of = (enum upf_port)port;
	if (read_mapping(r, name, map, KEYS(keys)) < 0)
		return -1;
	if (find_devices(r, map, in) < 0)
		return -1;
	return check_interfaces(r, name, map, config);
}

uint16_t
config_device_mtu(const struct config *config, enum upf_port device)
{
	uint16_t mtu = 0;

	for (unsigned port = 0; port < config->ports; port++) {
		const struct config_interface *in = &config->interface[port];

		if (in->present && in->device_of == device && in->mtu > mtu)
			mtu = in->mtu;
	}
	return mtu;
}

static int
read_port(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const char *text = scalar(value);
	enum upf_port *port = destination;

	for (unsigned i = 0; text != NULL && i <= UPF_PORT_N6; i++) {
		if (strcmp(text, config_port_name(i)) == 0) {
			*port = (enum upf_port)i;
			return 0;
		}
	}
	return reader_fail(r, value, "%s: must be n3, n6 or n9", key);
}

// A prefix or an address of either family.
static int
read_route_prefix(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	struct config_route *route = destination;
	const char *text = scalar(value);
	struct prefix prefix = {&route->prefix, &route->prefix_len, true, "10.0.0.0/8"};
	struct prefix6 prefix6 = {route->prefix6, &route->prefix_len, true, "2001:db8::/32"};

	route->ip6 = text != NULL && strchr(text, ':') != NULL;
	return route->ip6 ? read_prefix6(r, key, value, &prefix6)
			  : read_prefix(r, key, value, &prefix);
}

struct either_address {
	uint32_t *address; // stays 0 when it is IPv6
	uint8_t *address6; // upf_addr
};

static int
read_either_address(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const struct either_address *to = destination;
	const char *text = scalar(value);

	return text != NULL && strchr(text, ':') != NULL
		? read_address6(r, key, value, to->address6)
		: read_address(r, key, value, to->address);
}

// The interface of N6 that a route belongs to.
static int
find_route_port(struct reader *r, const yaml_node_t *node, const struct config *config,
	struct config_route *route)
{
	if (route->port != UPF_PORT_N6) {
		if (route->network[0] != '\0')
			return reader_fail(r, node,
				"routes: network_instance goes with \"interface: n6\" alone");
		return 0;
	}
	if (route->network[0] == '\0' && config->networks == 1)
		return 0;
	for (unsigned network = 0; network < config->networks; network++) {
		enum upf_port port = config_port_of(network);

		if (strcmp(config->interface[port].network, route->network) == 0) {
			route->port = port;
			return 0;
		}
	}
	if (route->network[0] == '\0')
		return reader_fail(r, node,
			"routes: key \"network_instance\" is missing, which says of which n6");
	return reader_fail(r, node, "routes: no n6 has network_instance %s", route->network);
}

static int
check_route(struct reader *r, const yaml_node_t *node, const struct config *config,
	struct config_route *route)
{
	bool via6 = route->via == 0;
	const struct config_interface *in;

	if (find_route_port(r, node, config, route) < 0)
		return -1;
	in = &config->interface[route->port];
	if (route->ip6 != via6)
		return reader_fail(r, node,
			"routes: prefix and via must be of one family; write an %s address for via",
			route->ip6 ? "IPv6" : "IPv4");
	if (!in->present || (route->ip6 ? in->block_len6 : in->block_len) == 0)
		return reader_fail(r, node,
			"routes: the interface has no %s address; configure one under interfaces",
			route->ip6 ? "IPv6" : "IPv4");
	if (route->ip6 ? !is_link_local6(route->via6) &&
				!same_prefix6(route->via6, in->address6, in->prefix_len6)
		       : ((route->via ^ in->address) & mask(in->prefix_len)) != 0)
		return reader_fail(r, node,
			"routes: via must be a neighbour: an address of the interface's own "
			"subnet");
	return 0;
}

static int
read_routes(struct reader *r, const char *name, const yaml_node_t *list, void *destination)
{
	struct config *config = destination;

	if (list->type != YAML_SEQUENCE_NODE)
		return reader_fail(r, list,
			"%s: must be a list such as [{interface: n6, prefix: 10.0.0.0/8, via: "
			"172.30.6.9}]",
			name);
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top; item++) {
		const yaml_node_t *node = yaml_document_get_node(r->document, *item);
		struct config_route *route = &config->route[config->routes];
		struct either_address via = {&route->via, route->via6};
		struct key keys[] = {
			{"interface", read_port, &route->port, true, "n6"},
			{"prefix", read_route_prefix, route, true, "10.0.0.0/8"},
			{"via", read_either_address, &via, true, "172.30.6.9"},
			{"network_instance", read_network, route->network, false, NULL},
		};

		if (config->routes == CONFIG_ROUTES_MAX)
			return reader_fail(
				r, node, "%s: at most %u routes", name, CONFIG_ROUTES_MAX);
		if (read_mapping(r, name, node, KEYS(keys)) < 0)
			return -1;
		config->routes++;
	}
	return 0;
}

// After the interfaces are known, wherever they stand in the file.
static int
check_routes(struct reader *r, struct config *config, const yaml_node_t *root)
{
	const yaml_node_t *list = NULL;

	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
		pair < root->data.mapping.pairs.top; pair++) {
		const char *key = scalar(yaml_document_get_node(r->document, pair->key));

		if (key != NULL && strcmp(key, "routes") == 0)
			list = yaml_document_get_node(r->document, pair->value);
	}
	for (unsigned i = 0; list != NULL && i < config->routes; i++) {
		const yaml_node_t *node =
			yaml_document_get_node(r->document, list->data.sequence.items.start[i]);

		if (check_route(r, node, config, &config->route[i]) < 0)
			return -1;
	}
	return 0;
}

static int
read_reassembly(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_reassembly *reassembly = destination;
	struct number packets = {&reassembly->packets, 0, 4096};
	struct number timeout = {&reassembly->timeout_ms, 10, 60000};
	struct key keys[] = {
		{"packets", read_number, &packets, false, NULL},
		{"timeout_ms", read_number, &timeout, false, NULL},
	};

	return read_mapping(r, name, map, KEYS(keys));
}

static int
read_router_advertisement(
	struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_router_advertisement *ra = destination;
	struct number lifetime = {&ra->lifetime_s, 0, 65535}; // RFC 8319
	struct number mtu = {&ra->mtu, 1280, 9000};
	struct key keys[] = {
		{"managed", read_bool, &ra->managed, false, NULL},
		{"other", read_bool, &ra->other, false, NULL},
		{"lifetime_s", read_number, &lifetime, false, NULL},
		{"mtu", read_number, &mtu, false, NULL},
	};

	return read_mapping(r, name, map, KEYS(keys));
}

static int
read_limits(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_limits *l = destination;
	struct number sessions = {&l->sessions_max, 1, 4u << 20};
	struct number urrs = {&l->urr_slots, 1, 16u << 20};
	struct number qers = {&l->qer_slots, 1, 16u << 20};
	struct number mbufs = {&l->mbufs, 2048, 4u << 20};
	struct number buffer = {&l->buffer_packets, 1, 1u << 20};
	struct number buffer_session = {&l->buffer_packets_per_session, 1, 1u << 16};
	struct number buffer_duration = {&l->buffer_duration_s, 1, 86400};
	struct number errors = {&l->error_indications, 0, 1000000};
	struct number icmp = {&l->icmp_errors, 0, 1000000};
	struct number detected = {&l->detected, 1024, 16u << 20};
	struct key keys[] = {
		{"sessions_max", read_number, &sessions, false, NULL},
		{"urr_slots", read_number, &urrs, false, NULL},
		{"qer_slots", read_number, &qers, false, NULL},
		{"mbufs", read_number, &mbufs, false, NULL},
		{"buffer_packets", read_number, &buffer, false, NULL},
		{"buffer_packets_per_session", read_number, &buffer_session, false, NULL},
		{"buffer_bytes", read_octets, &l->buffer_bytes, false, NULL},
		{"buffer_bytes_per_session", read_octets, &l->buffer_bytes_per_session, false,
			NULL},
		{"buffer_duration_s", read_number, &buffer_duration, false, NULL},
		{"error_indications", read_number, &errors, false, NULL},
		{"icmp_errors", read_number, &icmp, false, NULL},
		{"detected", read_number, &detected, false, NULL},
	};

	return read_mapping(r, name, map, KEYS(keys));
}

static int
read_sleep(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct number max_us = {destination, 0, 10000};
	struct key keys[] = {{"max_us", read_number, &max_us, false, NULL}};

	return read_mapping(r, name, map, KEYS(keys));
}

static int
read_qer(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_qer *qer = destination;
	struct number burst = {&qer->burst_ms, 1, 10000};
	struct number queue = {&qer->queue_ms, 0, 1000};
	struct number packets = {&qer->queue_packets, 1, 1u << 20};
	struct number session = {&qer->queue_packets_per_session, 1, UINT16_MAX};
	struct key keys[] = {
		{"burst_ms", read_number, &burst, false, NULL},
		{"queue_ms", read_number, &queue, false, NULL},
		{"queue_packets", read_number, &packets, false, NULL},
		{"queue_packets_per_session", read_number, &session, false, NULL},
	};

	return read_mapping(r, name, map, KEYS(keys));
}

struct lcores {
	uint32_t control;
	uint32_t worker[UPF_WORKERS_MAX];
	unsigned workers;
	bool given;
};

static int
read_worker_cpus(struct reader *r, const char *key, const yaml_node_t *list, void *destination)
{
	struct lcores *lcores = destination;

	if (list->type != YAML_SEQUENCE_NODE)
		return reader_fail(r, list, "%s: must be a list of CPUs such as [2, 3]", key);
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top; item++) {
		const yaml_node_t *node = yaml_document_get_node(r->document, *item);
		struct number cpu = {NULL, 0, CPU_SETSIZE - 1};

		if (lcores->workers == UPF_WORKERS_MAX)
			return reader_fail(r, node, "%s: at most %u workers", key, UPF_WORKERS_MAX);
		cpu.value = &lcores->worker[lcores->workers];
		if (read_number(r, key, node, &cpu) < 0)
			return -1;
		lcores->workers++;
	}
	if (lcores->workers == 0)
		return reader_fail(r, list, "%s: at least one CPU, such as [2]", key);
	return 0;
}

static int
read_lcores(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct lcores *lcores = destination;
	struct number control = {&lcores->control, 0, CPU_SETSIZE - 1};
	struct key keys[] = {
		{"control", read_number, &control, true, "0"},
		{"workers", read_worker_cpus, lcores, true, "[1]"},
	};

	lcores->given = true;
	return read_mapping(r, name, map, KEYS(keys));
}

// ---- CPUs ----------------------------------------------------------------------------------

// Without `lcores`, the CPUs are those the kernel allows (in a pod: the exclusive ones). The first
// is the control thread's; with one CPU only, the worker shares it.
static int
place_threads(
	struct reader *r, struct config *config, uint32_t workers, const struct lcores *lcores)
{
	cpu_set_t allowed;
	int cpu[CPU_SETSIZE];
	unsigned n = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return reader_fail(r, NULL, "cannot read the CPU affinity: %s", strerror(errno));
	if (lcores->given) {
		if (workers != 0)
			return reader_fail(r, NULL, "give workers or lcores, not both");
		config->control_cpu = (int)lcores->control;
		config->workers = lcores->workers;
		for (unsigned i = 0; i < lcores->workers; i++)
			config->worker_cpu[i] = (int)lcores->worker[i];
		for (unsigned i = 0; i <= lcores->workers; i++) {
			int want = i == 0 ? config->control_cpu : config->worker_cpu[i - 1];

			if (!CPU_ISSET(want, &allowed))
				return reader_fail(r, NULL,
					"lcores: CPU %d is not among those that this process may "
					"use; leave "
					"lcores out to take the allowed ones",
					want);
		}
		return 0;
	}
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &allowed))
			cpu[n++] = i;
	}
	config->workers = workers != 0 ? workers : 1;
	config->control_cpu = cpu[0];
	if (n == 1 && config->workers == 1) {
		config->worker_cpu[0] = cpu[0];
		return 0;
	}
	if (config->workers > n - 1)
		return reader_fail(r, NULL,
			"workers: %u workers and the control thread need %u CPUs, this process may "
			"use %u; "
			"write workers: %u",
			config->workers, config->workers + 1, n, n > 1 ? n - 1 : 1);
	for (unsigned i = 0; i < config->workers; i++)
		config->worker_cpu[i] = cpu[i + 1];
	return 0;
}

static void
set_defaults(struct config *config)
{
	*config = (struct config){
		.memory_mib = 256,
		.hugepages = true,
		.socket = "/run/upf/upf.sock",
		.limits =
			{
				.sessions_max = 65536,
				.mbufs = 16384,
				.buffer_packets_per_session = 128,
				.buffer_duration_s = 60,
				.error_indications = 100,
				.icmp_errors = 100,
				.detected = 32768,
			},
		.udp6_zero_checksum = true,
		.reassembly = {.packets = 128, .timeout_ms = 1000},
		.ra = {.lifetime_s = 65535},
		.sleep_max_us = 200,
		.qer = {.burst_ms = 300, .queue_ms = 150, .queue_packets_per_session = 512},
	};
}

#define BUFFER_PACKETS 4096u // a worker, where there are packet buffers for them

// What waits for UEs leaves half of the packet buffers to what is on its way, however many workers
// there are.
static int
check_buffer_packets(struct reader *r, const yaml_node_t *root, struct config *config)
{
	struct config_limits *l = &config->limits;
	uint32_t most = l->mbufs / 2 / config->workers;

	if (l->buffer_packets == 0)
		l->buffer_packets = most < BUFFER_PACKETS ? most : BUFFER_PACKETS;
	if (l->buffer_packets <= most)
		return 0;
	return reader_fail(r, root,
		"limits: buffer_packets %" PRIu32 " for each of %u worker(s) is over half of mbufs "
		"%" PRIu32 "; raise mbufs to %" PRIu64 ", or write buffer_packets: %" PRIu32,
		l->buffer_packets, config->workers, l->mbufs,
		(uint64_t)l->buffer_packets * config->workers * 2, most);
}

// Octets that wait downlink. As many as the packets may have where nothing is said; a bound that no
// packet of full length fits into would drop all of them.
static int
check_buffer_bytes(struct reader *r, const yaml_node_t *root, struct config *config)
{
	struct config_limits *l = &config->limits;
	uint16_t mtu = 0;

	for (unsigned port = 0; port < config->ports; port++) {
		if (config->interface[port].mtu > mtu)
			mtu = config->interface[port].mtu;
	}
	if (l->buffer_bytes == 0)
		l->buffer_bytes = (uint64_t)l->buffer_packets * config_frame_size(mtu);
	if (l->buffer_bytes_per_session == 0)
		l->buffer_bytes_per_session =
			(uint64_t)l->buffer_packets_per_session * config_frame_size(mtu);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t bytes = i == 0 ? l->buffer_bytes : l->buffer_bytes_per_session;
		const char *key = i == 0 ? "buffer_bytes" : "buffer_bytes_per_session";

		if (bytes < mtu)
			return reader_fail(r, root,
				"limits: %s %" PRIu64
				" is less than one packet of the largest mtu; write %u at least",
				key, bytes, mtu);
	}
	return 0;
}

// Packets above their rate that wait: an eighth of all buffers, and never more than a quarter.
static int
check_queue(struct reader *r, const yaml_node_t *root, struct config *config)
{
	uint32_t mbufs = config->limits.mbufs / config->workers;

	if (config->qer.queue_packets == 0)
		config->qer.queue_packets = mbufs / 8 != 0 ? mbufs / 8 : 1;
	if (config->qer.queue_ms == 0 || config->qer.queue_packets <= mbufs / 4 + 1)
		return 0;
	return reader_fail(r, root,
		"qer: queue_packets %" PRIu32
		" of %u worker(s) are over a quarter of mbufs %" PRIu32
		"; raise mbufs or write %" PRIu32 " at most",
		config->qer.queue_packets, config->workers, config->limits.mbufs, mbufs / 4 + 1);
}

static int
read_document(struct reader *r, struct config *config)
{
	const yaml_node_t *root = yaml_document_get_root_node(r->document);
	struct lcores lcores = {0};
	uint32_t workers = 0;
	struct number workers_number = {&workers, 1, UPF_WORKERS_MAX};
	struct number memory = {&config->memory_mib, 32, 1u << 20};
	struct text socket = {config->socket, sizeof(config->socket)};
	bool fragment_outer = false;
	struct either ue_to_ue = {&config->ue_to_ue_allowed, {"deny", "allow"}};
	struct either fragmentation = {&fragment_outer, {"inner", "outer"}};
	struct either buffer_full = {&config->buffer_drop_oldest, {"drop_newest", "drop_oldest"}};
	struct key keys[] = {
		{"workers", read_number, &workers_number, false, NULL},
		{"lcores", read_lcores, &lcores, false, NULL},
		{"memory", read_number, &memory, false, NULL},
		{"hugepages", read_bool, &config->hugepages, false, NULL},
		{"socket", read_text, &socket, false, NULL},
		{"limits", read_limits, &config->limits, false, NULL},
		{"interfaces", read_interfaces, config, true,
			"{n3: {device: n3, …}, n6: {device: n6, …}}"},
		{"routes", read_routes, config, false, NULL},
		{"ue_to_ue", read_either, &ue_to_ue, false, NULL},
		{"buffer_full", read_either, &buffer_full, false, NULL},
		{"redundancy", read_bool, &config->redundancy, false, NULL},
		{"mss_clamp", read_bool, &config->mss_clamp, false, NULL},
		{"udp6_zero_checksum", read_bool, &config->udp6_zero_checksum, false, NULL},
		{"fragmentation", read_either, &fragmentation, false, NULL},
		{"reassembly", read_reassembly, &config->reassembly, false, NULL},
		{"router_advertisement", read_router_advertisement, &config->ra, false, NULL},
		{"sleep", read_sleep, &config->sleep_max_us, false, NULL},
		{"qer", read_qer, &config->qer, false, NULL},
	};
	struct config_limits *limits = &config->limits;

	if (root == NULL)
		return reader_fail(r, NULL, "the file is empty; it needs at least \"interfaces\"");
	if (read_mapping(r, "upf-u", root, KEYS(keys)) < 0)
		return -1;
	config->ports = config_port_of(config->networks);
	if (check_routes(r, config, root) < 0)
		return -1;
	config->fragmentation = fragment_outer ? CONFIG_FRAGMENT_OUTER : CONFIG_FRAGMENT_INNER;
	if (limits->urr_slots == 0)
		limits->urr_slots = limits->sessions_max * 2;
	if (limits->qer_slots == 0)
		limits->qer_slots = limits->sessions_max * 2;
	if (place_threads(r, config, workers, &lcores) < 0 ||
		check_buffer_packets(r, root, config) < 0 ||
		check_buffer_bytes(r, root, config) < 0)
		return -1;
	return check_queue(r, root, config);
}

int
config_read(struct config *config, const char *path, char *error, size_t error_size)
{
	struct reader r = {.path = path, .error = error, .error_size = error_size};
	yaml_document_t document;
	yaml_parser_t parser;
	FILE *file = fopen(path, "re");
	int rc;

	if (file == NULL) {
		snprintf(error, error_size, "%s: %s; give its path with -c", path, strerror(errno));
		return -1;
	}
	if (!yaml_parser_initialize(&parser)) {
		fclose(file);
		snprintf(error, error_size, "%s: out of memory", path);
		return -1;
	}
	yaml_parser_set_input_file(&parser, file);
	set_defaults(config);
	if (yaml_parser_load(&parser, &document)) {
		r.document = &document;
		rc = read_document(&r, config);
		yaml_document_delete(&document);
	} else {
		snprintf(error, error_size, "%s:%zu: not YAML: %s", path,
			parser.problem_mark.line + 1,
			parser.problem != NULL ? parser.problem : "cannot be read");
		rc = -1;
	}
	yaml_parser_delete(&parser);
	fclose(file);
	return rc;
}

int
config_owner(const struct config *config, bool ip6, const upf_addr addr)
{
	static const enum upf_port gtpu[] = {UPF_PORT_N3, UPF_PORT_N9};
	uint32_t addr4 = (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 |
		(uint32_t)addr[2] << 8 | addr[3];

	for (unsigned i = 0; i < sizeof(gtpu) / sizeof(gtpu[0]); i++) {
		const struct config_interface *in = &config->interface[gtpu[i]];

		if (ip6 ? in->block_len6 != 0 && same_prefix6(addr, in->address6, in->block_len6)
			: in->block_len != 0 && ((addr4 ^ in->address) & mask(in->block_len)) == 0)
			return (int)gtpu[i];
	}
	return -1;
}

bool
config_gtpu_key(
	const struct config *config, bool ip6, const upf_addr addr, uint32_t teid, uint64_t *key)
{
	int port = config_owner(config, ip6, addr);

	if (port < 0)
		return false;
	*key = ip6 ? gtpu_key6((enum upf_port)port, addr, teid)
		   : gtpu_key4((uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 |
				     (uint32_t)addr[2] << 8 | addr[3],
			     teid);
	return true;
}
