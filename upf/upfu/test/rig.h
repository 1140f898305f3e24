// A UPF without wires: the tables, one worker and its two ports as rings, driven by the test thread.
// A test puts frames in, polls, and takes frames out; nothing sleeps and nothing runs beside it.
#ifndef UPFU_TEST_RIG_H
#define UPFU_TEST_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/control.h"
#include "packet/message.h"
#include "packet/worker.h"
#include "packet/worker_state.h"

#define RIG_WORKERS 2u
#define RIG_NETWORKS 3u // as many network instances as have devices of their own
#define RIG_PORTS (UPF_PORT_N6 + RIG_NETWORKS)
#define RIG_WORKERS_MAX 16u // as many queues as a net_ring port has

struct rig {
	struct config config;
	struct session_table sessions;
	struct shm shm;
	struct rule_base base;
	struct worker *worker[RIG_WORKERS_MAX];
	struct refusal refusal; // of the last transaction
	uint32_t control_waits, stop;
	int wake_fd;
	uint64_t dropped_before[UPF_DROPS];
};

// RTE_IPV4() shifts into the sign of an int.
#define RIG_IP(a, b, c, d) \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#define RIG_N3_ADDR RIG_IP(172, 30, 3, 17)
#define RIG_N6_ADDR RIG_IP(172, 30, 6, 2)
#define RIG_GNB RIG_IP(172, 30, 3, 100)
#define RIG_GATEWAY RIG_IP(172, 30, 6, 1)
#define RIG_UE RIG_IP(10, 45, 0, 1)
#define RIG_REMOTE RIG_IP(8, 8, 8, 8)

extern const struct rte_ether_addr rig_gnb_mac, rig_gateway_mac;
// In IPv6: our GTP-U and N6 addresses, the gNB, the gateway, a UE's address in its prefix, a remote.
extern const upf_addr rig_n3_addr6, rig_n6_addr6, rig_gnb6, rig_gateway6, rig_ue6, rig_remote6;

// Once a process. Lcore 1 is on CPU worker_cpu. Returns false when there is not enough memory.
bool rig_start_eal(unsigned memory_mib, bool hugepages, uint32_t mbufs, int worker_cpu);
// Queues for so many workers, and an lcore for each: 1 + i is on CPU worker_cpu[i].
bool rig_start_eal_workers(unsigned memory_mib, bool hugepages, uint32_t mbufs,
	const int *worker_cpu, unsigned workers);
// The first worker's.
struct rte_ring *rig_ring(enum upf_port port, bool rx);
struct rte_ring *rig_ring_of(unsigned worker, enum upf_port port, bool rx);
// A fresh UPF; with_neighbours: gNB and gateway are known already.
struct rig *rig_create(unsigned workers, bool with_neighbours);
struct rig *rig_create_with(const struct config *config, unsigned workers, bool with_neighbours);
struct config rig_config(void);
// So many network instances, whose interfaces have the same addresses. Each has its gateway at RIG_GATEWAY.
void rig_add_networks(struct config *config, unsigned networks);
struct rte_ether_addr rig_gateway_mac_of(unsigned network);
// The same with IPv6 beside IPv4, an N9, fragments, and errors sent.
struct config rig_config6(void);
void rig_free(struct rig *rig);

// To the first worker's queue.
void rig_inject(struct rig *rig, enum upf_port port, const void *frame, size_t length);
void rig_inject_to(
	struct rig *rig, unsigned worker, enum upf_port port, const void *frame, size_t length);
// Polls all workers until nothing moves any more.
void rig_poll(struct rig *rig);
// The next frame sent, of any worker, NULL when there is none; the caller frees it.
struct rte_mbuf *rig_sent(struct rig *rig, enum upf_port port);
// How many frames were sent; they are freed.
unsigned rig_count_sent(struct rig *rig, enum upf_port port);
// Drops of this reason since the rig began or since the last call for it.
uint64_t rig_dropped(struct rig *rig, enum upf_drop reason);
// Nothing was dropped that no rig_dropped() has asked for.
void rig_assert_no_other_drops(struct rig *rig);
// The next event of a worker; false when there is none.
bool rig_event(struct rig *rig, struct event *event);
// The counters of a URR slot.
static inline const struct upf_urr_counter *
rig_urr(const struct rig *rig, uint32_t slot, enum upf_direction direction)
{
	return shm_urr(&rig->shm.slots, slot, direction);
}
// Packet buffers that nobody has given back.
unsigned rig_mbufs_in_use(void);
struct rte_mempool *rig_pool(void);

#endif
