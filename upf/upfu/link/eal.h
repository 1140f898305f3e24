// DPDK's environment: memory, lcores, ethdevs.
#ifndef UPFU_EAL_H
#define UPFU_EAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/config.h"

struct rte_mempool;

// Does every kernel interface carry packets as long as its mtu says? -1: one sentence in error. What is not
// there is none of its business.
int eal_check_mtus(const struct config *config, char *error, size_t error_size);

// Brings up EAL for the configuration. -1: one sentence in error.
int eal_start(const struct config *config, const char *program, char *error, size_t error_size);

// The lcore id of a worker.
unsigned eal_worker_lcore(unsigned worker);

// How many packet buffers the queues of the devices keep, of all workers.
uint32_t eal_held_by_devices(const struct config *config);

// The packet buffers of the whole UPF, for the greatest MTU of its interfaces. Private area: struct
// pkt of a packet that waits.
struct rte_mempool *eal_create_pool(uint32_t mbufs, unsigned workers, uint16_t mtu);

// Sets the ethdev up with one queue pair a worker and starts it; mtu 0: leave it as it is; vlan: the id
// that its frames have, or one of several (eal_add_vlan()), 0: untagged. -1: one sentence in error.
int eal_start_port(uint16_t ethdev, unsigned workers, uint16_t mtu, uint16_t vlan,
	struct rte_mempool *pool, char *error, size_t error_size);
// Lets in another VLAN of a port that was started with one. -1: one sentence in error.
int eal_add_vlan(uint16_t ethdev, uint16_t vlan, char *error, size_t error_size);
// The port writes VLAN tags itself.
bool eal_port_inserts_vlan(uint16_t ethdev);
// Frames to all groups, of which Neighbour Discovery has one an address, shall come; if the port
// cannot be told so, then all frames.
void eal_hear_groups(uint16_t ethdev);

// The ethdev behind an interface of the configuration.
int eal_find_port(const struct config *config, enum upf_port port, uint16_t *ethdev);

// Frames to any address are heard, as a bridge must.
int eal_hear_all(uint16_t ethdev, char *error, size_t error_size);

#endif
