// How a worker comes to be and ends.
#ifndef UPFU_WORKER_LIFE_H
#define UPFU_WORKER_LIFE_H

#include <stdint.h>

#include "packet/sleep_state.h"
#include "process/shm.h"
#include "upf_abi.h"

struct config;
struct rte_mempool;
struct session_table;
struct worker;

// Shared by all workers of the process.
struct worker_shared {
	const struct config *config;
	const struct session_table *sessions;
	struct shm_slots slots;
	struct upf_worker_stats *stats;                     // [workers]
	struct upf_drop_stats *groups;                      // [workers][UPF_GROUPS]
	struct upf_gateway_state (*gateways)[UPF_GATEWAYS]; // [UPF_PORTS]
	struct rte_mempool *pool;
	uint16_t ethdev[UPF_PORTS];
	struct worker **peers;    // [workers], filled as they are created
	struct sleeper *sleepers; // [workers], theirs from then on
	int wake_fd;
	uint32_t *control_waits;
	uint32_t *stop;
	const uint32_t *synced; // struct worker
	const uint32_t *listener;
	const uint64_t *granted_until; // of a upf-u with redundancy
	const uint32_t *forwards_only; // likewise
};

struct worker *worker_create(unsigned index, const struct worker_shared *shared);
void worker_free(struct worker *w);

#endif
