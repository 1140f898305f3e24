// Where upf-u really is: the NUMA nodes of its CPUs, ports and memory, as the kernel tells them. A plan
// says where they should be; what comes from here goes to upf-c, and from there to whoever has to know.
#ifndef UPFU_TOPOLOGY_H
#define UPFU_TOPOLOGY_H

#include <stdint.h>
#include <stdio.h>

#include "process/config.h"
#include "upf_abi.h"

struct rte_mempool;

struct topology_region { // of the address space
	uintptr_t start, end;
};

// How many nodes there are: 1 where the kernel knows none. sysfs is where it is mounted.
uint32_t topology_nodes(const char *sysfs);
// The node of a CPU, 0 where the kernel knows none.
uint32_t topology_cpu_node(const char *sysfs, unsigned cpu);
// The node of a kernel interface's device.
uint32_t topology_interface_node(const char *sysfs, const char *interface);

// Adds up the pages of mappings that begin in the memory's regions, and the pool's regions, which lie
// within them, from numa_maps (proc(5)). A pool's region in a mapping with pages of several nodes is
// nowhere.
void topology_count_pages(struct upf_topology *topology, FILE *numa_maps,
	const struct topology_region *memory, unsigned n_memory, const struct topology_region *pool,
	unsigned n_pool);

// All of it. shared is the segment of shm.h.
void topology_fill(struct upf_topology *topology, const struct config *config,
	const uint16_t *ethdev, struct rte_mempool *pool, struct topology_region shared);

#endif
