// Reads upf-u.yaml with libyaml's document API: every node knows its line, so every complaint names
// file, line and key, and says what to write instead. A key that is not known is an error: a
// misspelt limit must not silently be the default.
#define _GNU_SOURCE
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

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
parse_u32(const char *text, uint32_t *value)
{
	char *end;
	unsigned long long number;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || number > UINT32_MAX)
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

static int
read_ue_to_ue(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const char *text = scalar(value);
	bool *allowed = destination;

	if (text != NULL && strcmp(text, "deny") == 0)
		*allowed = false;
	else if (text != NULL && strcmp(text, "allow") == 0)
		*allowed = true;
	else
		return reader_fail(r, value, "%s: must be deny or allow", key);
	return 0;
}

// ---- mappings ------------------------------------------------------------------------------

#define KEYS(keys) (keys), sizeof(keys) / sizeof((keys)[0])

static int
read_interface(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config_interface *in = destination;
	bool n3 = strcmp(name, "n3") == 0;
	uint32_t mtu = 1500, prefix_len = UINT32_MAX;
	struct text device = {in->device, sizeof(in->device)};
	struct prefix block = {&in->address, &in->block_len, true, "172.30.3.16/28"};
	struct prefix single = {&in->address, &in->prefix_len, false, "172.30.6.2/24"};
	struct number prefix_number = {&prefix_len, 1, 31};
	struct number mtu_number = {&mtu, 576, 9000};
	struct key n3_keys[] = {
		{"driver", read_driver, &in->driver, false, NULL},
		{"device", read_text, &device, true, name},
		{"addresses", read_prefix, &block, true, block.example},
		{"prefix_length", read_number, &prefix_number, true, "24"},
		{"gateway", read_address, &in->gateway, false, NULL},
		{"mtu", read_number, &mtu_number, false, NULL},
	};
	struct key n6_keys[] = {
		{"driver", read_driver, &in->driver, false, NULL},
		{"device", read_text, &device, true, name},
		{"address", read_prefix, &single, true, single.example},
		{"gateway", read_address, &in->gateway, false, NULL},
		{"mtu", read_number, &mtu_number, false, NULL},
	};
	int rc = n3 ? read_mapping(r, name, map, KEYS(n3_keys))
		    : read_mapping(r, name, map, KEYS(n6_keys));

	if (rc < 0)
		return -1;
	in->mtu = (uint16_t)mtu;
	if (n3) {
		if (in->block_len < prefix_len)
			return reader_fail(r, map,
				"n3: addresses /%u is wider than the subnet's prefix_length %u; "
				"the block of own "
				"addresses lies inside the subnet",
				in->block_len, prefix_len);
		if (in->block_len < 16)
			return reader_fail(
				r, map, "n3: addresses: a block of own addresses is /16 at most");
		in->prefix_len = (uint8_t)prefix_len;
	} else {
		in->block_len = 32;
		if (in->prefix_len < 1 || in->prefix_len > 31)
			return reader_fail(
				r, map, "n6: address: the prefix length must be from 1 to 31");
	}
	if (in->gateway != 0 && ((in->gateway ^ in->address) & mask(in->prefix_len)) != 0)
		return reader_fail(r, map,
			"%s: gateway must be an address of the interface's own subnet", name);
	if (in->gateway != 0 && ((in->gateway ^ in->address) & mask(in->block_len)) == 0)
		return reader_fail(
			r, map, "%s: gateway must not be one of the UPF's own addresses", name);
	return 0;
}

static int
read_interfaces(struct reader *r, const char *name, const yaml_node_t *map, void *destination)
{
	struct config *config = destination;
	struct key keys[] = {
		{"n3", read_interface, &config->interface[UPF_PORT_N3], true,
			"{device: n3, addresses: 172.30.3.16/28, prefix_length: 24}"},
		{"n6", read_interface, &config->interface[UPF_PORT_N6], true,
			"{device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}"},
	};

	return read_mapping(r, name, map, KEYS(keys));
}

static int
read_port(struct reader *r, const char *key, const yaml_node_t *value, void *destination)
{
	const char *text = scalar(value);
	enum upf_port *port = destination;

	if (text != NULL && strcmp(text, "n3") == 0)
		*port = UPF_PORT_N3;
	else if (text != NULL && strcmp(text, "n6") == 0)
		*port = UPF_PORT_N6;
	else
		return reader_fail(r, value, "%s: must be n3 or n6", key);
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
		struct prefix prefix = {&route->prefix, &route->prefix_len, true, "10.0.0.0/8"};
		struct key keys[] = {
			{"interface", read_port, &route->port, true, "n6"},
			{"prefix", read_prefix, &prefix, true, "10.0.0.0/8"},
			{"via", read_address, &route->via, true, "172.30.6.9"},
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
	struct number errors = {&l->error_indications, 0, 1000000};
	struct key keys[] = {
		{"sessions_max", read_number, &sessions, false, NULL},
		{"urr_slots", read_number, &urrs, false, NULL},
		{"qer_slots", read_number, &qers, false, NULL},
		{"mbufs", read_number, &mbufs, false, NULL},
		{"buffer_packets", read_number, &buffer, false, NULL},
		{"buffer_packets_per_session", read_number, &buffer_session, false, NULL},
		{"error_indications", read_number, &errors, false, NULL},
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
	struct number burst = {destination, 1, 10000};
	struct key keys[] = {{"burst_ms", read_number, &burst, false, NULL}};

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
				.buffer_packets = 4096,
				.buffer_packets_per_session = 128,
				.error_indications = 100,
			},
		.sleep_max_us = 200,
		.qer_burst_ms = 10,
	};
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
		{"ue_to_ue", read_ue_to_ue, &config->ue_to_ue_allowed, false, NULL},
		{"sleep", read_sleep, &config->sleep_max_us, false, NULL},
		{"qer", read_qer, &config->qer_burst_ms, false, NULL},
	};
	struct config_limits *limits = &config->limits;

	if (root == NULL)
		return reader_fail(r, NULL, "the file is empty; it needs at least \"interfaces\"");
	if (read_mapping(r, "upf-u", root, KEYS(keys)) < 0)
		return -1;
	config->ports = UPF_PORT_N6 + 1;
	if (limits->urr_slots == 0)
		limits->urr_slots = limits->sessions_max * 2;
	if (limits->qer_slots == 0)
		limits->qer_slots = limits->sessions_max * 2;
	if (limits->buffer_packets > limits->mbufs / 2)
		return reader_fail(r, root,
			"limits: buffer_packets %" PRIu32 " is over half of mbufs %" PRIu32
			"; raise mbufs or lower buffer_packets",
			limits->buffer_packets, limits->mbufs);
	return place_threads(r, config, workers, &lcores);
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
