// DPDK's own account of memory is what it asked for; without CAP_SYS_NICE a seccomp profile may keep it
// from looking. /proc/self/numa_maps needs no privilege and counts the pages that are there.
#include "process/topology.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include "process/config.h"

#define SYSFS "/sys"
#define REGIONS_MAX 512u

uint32_t
topology_nodes(const char *sysfs)
{
	char path[256];
	uint32_t nodes = 0;

	for (uint32_t node = 0; node < UPF_NODES_MAX; node++) {
		snprintf(path, sizeof(path), "%s/devices/system/node/node%" PRIu32, sysfs, node);
		if (access(path, F_OK) == 0)
			nodes++;
	}
	return nodes == 0 ? 1 : nodes;
}

uint32_t
topology_cpu_node(const char *sysfs, unsigned cpu)
{
	char path[256];

	for (uint32_t node = 0; node < UPF_NODES_MAX; node++) {
		snprintf(path, sizeof(path), "%s/devices/system/node/node%" PRIu32 "/cpu%u", sysfs,
			node, cpu);
		if (access(path, F_OK) == 0)
			return node;
	}
	return 0;
}

uint32_t
topology_interface_node(const char *sysfs, const char *interface)
{
	char path[256];
	char line[16], *end;
	FILE *file;
	long node = -1; // the kernel's word for none, too

	snprintf(path, sizeof(path), "%s/class/net/%s/device/numa_node", sysfs, interface);
	file = fopen(path, "re");
	if (file == NULL)
		return UPF_NODE_NONE;
	if (fgets(line, sizeof(line), file) != NULL) {
		node = strtol(line, &end, 10);
		if (end == line)
			node = -1;
	}
	fclose(file);
	return node >= 0 && node < (long)UPF_NODES_MAX ? (uint32_t)node : UPF_NODE_NONE;
}

// ---- memory --------------------------------------------------------------------------------

struct mapping {
	uintptr_t start;
	uint64_t octets[UPF_NODES_MAX];
	uint64_t page;
};

// The number behind a name, which ends at the character after it.
static bool
read_number(const char **word, const char *name, char after, uint64_t *number)
{
	size_t length = strlen(name);
	char *end;

	if (strncmp(*word, name, length) != 0 || (*word)[length] < '0' || (*word)[length] > '9')
		return false;
	*number = strtoull(*word + length, &end, 10);
	if (*end != after)
		return false;
	*word = end;
	return true;
}

// "7f0000000000 default file=… huge dirty=64 N0=60 N1=4 kernelpagesize_kB=2048"
static bool
read_mapping(struct mapping *mapping, char *line)
{
	char *save, *end;
	const char *word = strtok_r(line, " \n", &save);

	*mapping = (struct mapping){0};
	if (word == NULL)
		return false;
	mapping->start = (uintptr_t)strtoull(word, &end, 16);
	if (*end != '\0')
		return false;
	while ((word = strtok_r(NULL, " \n", &save)) != NULL) {
		uint64_t node, n;

		if (read_number(&word, "N", '=', &node)) {
			if (node < UPF_NODES_MAX && read_number(&word, "=", '\0', &n))
				mapping->octets[node] = n;
		} else if (read_number(&word, "kernelpagesize_kB=", '\0', &n)) {
			mapping->page = n << 10;
		}
	}
	for (unsigned node = 0; node < UPF_NODES_MAX; node++)
		mapping->octets[node] *= mapping->page;
	return true;
}

// The one node that has all its pages.
static uint32_t
only_node(const struct mapping *mapping)
{
	uint32_t only = UPF_NODE_NONE;

	for (uint32_t node = 0; node < UPF_NODES_MAX; node++) {
		if (mapping->octets[node] == 0)
			continue;
		if (only != UPF_NODE_NONE)
			return UPF_NODE_NONE;
		only = node;
	}
	return only;
}

// A mapping ends at the next one's start at the latest.
static void
count_pool(struct upf_topology *topology, const struct mapping *mapping, uintptr_t end,
	const struct topology_region *pool, unsigned n_pool)
{
	uint32_t node = only_node(mapping);

	for (unsigned i = 0; node != UPF_NODE_NONE && i < n_pool; i++) {
		uintptr_t from = RTE_MAX(pool[i].start, mapping->start);
		uintptr_t to = RTE_MIN(pool[i].end, end);

		if (from < to)
			topology->pool[node] += to - from;
	}
}

void
topology_count_pages(struct upf_topology *topology, FILE *numa_maps,
	const struct topology_region *memory, unsigned n_memory, const struct topology_region *pool,
	unsigned n_pool)
{
	struct mapping mapping, before = {0};
	char line[4096];

	while (fgets(line, sizeof(line), numa_maps) != NULL) {
		if (!read_mapping(&mapping, line))
			continue;
		count_pool(topology, &before, mapping.start, pool, n_pool);
		before = mapping;
		for (unsigned i = 0; i < n_memory; i++) {
			if (mapping.start < memory[i].start || mapping.start >= memory[i].end)
				continue;
			for (unsigned node = 0; node < UPF_NODES_MAX; node++)
				topology->memory[node] += mapping.octets[node];
			if (only_node(&mapping) != UPF_NODE_NONE || topology->page == 0)
				topology->page = (uint32_t)mapping.page;
		}
	}
	count_pool(topology, &before, UINTPTR_MAX, pool, n_pool);
}

struct regions {
	struct topology_region region[REGIONS_MAX];
	unsigned n;
};

static int
add_memory(const struct rte_memseg_list *list, void *argument)
{
	struct regions *regions = argument;

	if (regions->n < REGIONS_MAX)
		regions->region[regions->n++] = (struct topology_region){
			(uintptr_t)list->base_va, (uintptr_t)list->base_va + list->len};
	return 0;
}

static void
add_chunk(
	struct rte_mempool *pool, void *argument, struct rte_mempool_memhdr *chunk, unsigned index)
{
	struct regions *regions = argument;

	(void)pool;
	(void)index;
	if (regions->n < REGIONS_MAX)
		regions->region[regions->n++] = (struct topology_region){
			(uintptr_t)chunk->addr, (uintptr_t)chunk->addr + chunk->len};
}

static void
fill_memory(struct upf_topology *topology, struct rte_mempool *pool, struct topology_region shared)
{
	static struct regions memory, chunks;
	uint64_t octets = rte_eal_get_physmem_size() + (shared.end - shared.start);
	FILE *file = fopen("/proc/self/numa_maps", "re");

	memory = (struct regions){.region = {shared}, .n = 1};
	chunks.n = 0;
	rte_memseg_list_walk(add_memory, &memory);
	rte_mempool_mem_iter(pool, add_chunk, &chunks);
	if (file != NULL) {
		topology_count_pages(
			topology, file, memory.region, memory.n, chunks.region, chunks.n);
		fclose(file);
	} else if (topology->nodes == 1) { // a kernel without NUMA has no such file
		topology->memory[0] = octets;
	} else {
		topology->memory_unknown = octets;
	}
}

// ---- threads and ports -----------------------------------------------------------------------

static struct upf_thread_place
thread_place(int cpu)
{
	return (struct upf_thread_place){(uint32_t)cpu, topology_cpu_node(SYSFS, (unsigned)cpu)};
}

static void
fill_port(struct upf_port_place *place, const struct config_interface *in, uint16_t ethdev)
{
	struct rte_eth_dev_info info = {0};
	struct rte_ether_addr mac = {0};
	int node = rte_eth_dev_socket_id(ethdev);

	snprintf((char *)place->device, sizeof(place->device), "%s", in->device);
	if (rte_eth_dev_info_get(ethdev, &info) == 0 && info.driver_name != NULL)
		snprintf((char *)place->driver, sizeof(place->driver), "%s", info.driver_name);
	if (rte_eth_macaddr_get(ethdev, &mac) == 0)
		memcpy(place->mac, mac.addr_bytes, sizeof(mac.addr_bytes));
	place->vlan = in->vlan;
	if (rte_eth_dev_get_mtu(ethdev, &place->mtu) != 0)
		place->mtu = in->mtu;
	if (in->driver != CONFIG_VFIO) // DPDK's device is virtual, the kernel's may be real
		place->node = topology_interface_node(SYSFS, in->device);
	else
		place->node =
			node >= 0 && node < (int)UPF_NODES_MAX ? (uint32_t)node : UPF_NODE_NONE;
}

void
topology_fill(struct upf_topology *topology, const struct config *config, const uint16_t *ethdev,
	struct rte_mempool *pool, struct topology_region shared)
{
	memset(topology, 0, sizeof(*topology));
	topology->nodes = topology_nodes(SYSFS);
	topology->control = thread_place(config->control_cpu);
	for (unsigned i = 0; i < config->workers; i++)
		topology->worker[i] = thread_place(config->worker_cpu[i]);
	for (unsigned port = 0; port < config->ports; port++) {
		if (config->interface[port].present)
			fill_port(&topology->port[port], &config->interface[port], ethdev[port]);
	}
	fill_memory(topology, pool, shared);
}
