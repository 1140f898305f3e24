#define _GNU_SOURCE
#include "rig.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "link/eal.h"
#include "link/neigh.h"
#include "packet/packet.h"
#include "packet/worker_life.h"

#define RIG_RING 1024u

const struct rte_ether_addr rig_gnb_mac = {{2, 0, 0, 0, 3, 100}};
const struct rte_ether_addr rig_gateway_mac = {{2, 0, 0, 0, 6, 1}};
const upf_addr rig_n3_addr6 = {0xfd, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11};
const upf_addr rig_n6_addr6 = {0xfd, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
const upf_addr rig_gnb6 = {0xfd, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
const upf_addr rig_gateway6 = {0xfd, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const upf_addr rig_ue6 = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99};
const upf_addr rig_remote6 = {0x26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53};

// Ports live as long as the process: ethdevs of rings cannot be made twice under one name.
static struct rte_ring *rx_ring[RIG_PORTS][RIG_WORKERS_MAX], *tx_ring[RIG_PORTS][RIG_WORKERS_MAX];
static uint16_t ethdev[RIG_PORTS];
static struct rte_mempool *pool;

static bool
start(unsigned memory_mib, bool hugepages, uint32_t mbufs, const int *worker_cpu, unsigned cpus,
	unsigned queues)
{
	static const char *const names[RIG_PORTS] = {"n3", "n9", "n6", "n6-1", "n6-2"};
	char memory[16], lcores[256], name[32], error[256];
	char *argv[] = {"rig", "-m", memory, "--no-pci", "--no-telemetry", lcores, "--main-lcore=0",
		"--iova-mode=va", "--log-level=lib.*:error",
		hugepages ? "--in-memory" : "--no-huge", "--no-shconf"};
	int argc = (int)(sizeof(argv) / sizeof(argv[0])) - (hugepages ? 1 : 0), length;

	snprintf(memory, sizeof(memory), "%u", memory_mib);
	length = snprintf(lcores, sizeof(lcores), "--lcores=0@%d", sched_getcpu());
	for (unsigned i = 0; i < cpus; i++)
		length += snprintf(lcores + length, sizeof(lcores) - (size_t)length, ",%u@%d",
			i + 1, worker_cpu[i]);
	if (rte_eal_init(argc, argv) < 0)
		return false;
	pool = eal_create_pool(mbufs, queues, 1500);
	assert_non_null(pool);
	for (unsigned port = 0; port < RIG_PORTS; port++) {
		int rc;

		for (unsigned w = 0; w < queues; w++) {
			snprintf(name, sizeof(name), "%s-rx%u", names[port], w);
			rx_ring[port][w] = rte_ring_create(name, RIG_RING, SOCKET_ID_ANY, 0);
			snprintf(name, sizeof(name), "%s-tx%u", names[port], w);
			tx_ring[port][w] = rte_ring_create(name, RIG_RING, SOCKET_ID_ANY, 0);
		}
		rc = rte_eth_from_rings(
			names[port], rx_ring[port], queues, tx_ring[port], queues, 0);
		assert_true(rc >= 0);
		ethdev[port] = (uint16_t)rc;
		if (eal_start_port(ethdev[port], queues, 1500, 0, pool, error, sizeof(error)) < 0)
			fail_msg("%s", error);
	}
	return true;
}

bool
rig_start_eal(unsigned memory_mib, bool hugepages, uint32_t mbufs, int worker_cpu)
{
	return start(memory_mib, hugepages, mbufs, &worker_cpu, 1, RIG_WORKERS);
}

bool
rig_start_eal_workers(unsigned memory_mib, bool hugepages, uint32_t mbufs, const int *worker_cpu,
	unsigned workers)
{
	return start(memory_mib, hugepages, mbufs, worker_cpu, workers, workers);
}

struct rte_ring *
rig_ring_of(unsigned worker, enum upf_port port, bool rx)
{
	return rx ? rx_ring[port][worker] : tx_ring[port][worker];
}

struct rte_ring *
rig_ring(enum upf_port port, bool rx)
{
	return rig_ring_of(0, port, rx);
}

struct rte_mempool *
rig_pool(void)
{
	return pool;
}

unsigned
rig_mbufs_in_use(void)
{
	return rte_mempool_in_use_count(pool);
}

struct config
rig_config(void)
{
	return (struct config){
		.workers = 1,
		.networks = 1,
		.ports = UPF_PORT_N6 + 1,
		.control_cpu = 0,
		.worker_cpu = {1, 1},
		.limits =
			{
				.sessions_max = 1024,
				.urr_slots = 2048,
				.qer_slots = 2048,
				.mbufs = 1u
					<< 20, // rings as long as they can be; the pool is the rig's
				.buffer_packets = 64,
				.buffer_packets_per_session = 16,
				.buffer_bytes = 64 * 2048,
				.buffer_bytes_per_session = 16 * 2048,
				.buffer_duration_s = 60,
				.error_indications = 100,
			},
		.interface =
			{
				[UPF_PORT_N3] = {.present = true,
					.device_of = UPF_PORT_N3,
					.address = RIG_IP(172, 30, 3, 16),
					.block_len = 28,
					.prefix_len = 24,
					.mtu = 1500},
				[UPF_PORT_N6] = {.present = true,
					.device_of = UPF_PORT_N6,
					.address = RIG_N6_ADDR,
					.block_len = 32,
					.prefix_len = 24,
					.gateway = {RIG_GATEWAY},
					.mtu = 1500},
			},
		.qer = {.burst_ms = 10},
	};
}

static void
set_addr(upf_addr to, const upf_addr from, uint8_t last)
{
	memcpy(to, from, sizeof(upf_addr));
	to[15] = last;
}

struct config
rig_config6(void)
{
	struct config config = rig_config();
	struct config_interface *in = config.interface;

	set_addr(in[UPF_PORT_N3].address6, rig_n3_addr6, 0x10);
	in[UPF_PORT_N3].block_len6 = 124;
	in[UPF_PORT_N3].prefix_len6 = 64;
	set_addr(in[UPF_PORT_N6].address6, rig_n6_addr6, 2);
	in[UPF_PORT_N6].block_len6 = 128;
	in[UPF_PORT_N6].prefix_len6 = 64;
	set_addr(in[UPF_PORT_N6].gateway6[0], rig_gateway6, 1);
	config.limits.icmp_errors = 100;
	config.limits.detected = 1024;
	config.udp6_zero_checksum = true;
	config.reassembly = (struct config_reassembly){.packets = 16, .timeout_ms = 1000};
	config.ra.lifetime_s = 65535;
	return config;
}

void
rig_add_networks(struct config *config, unsigned networks)
{
	for (unsigned i = 1; i < networks; i++) {
		struct config_interface *in = &config->interface[config_port_of(i)];

		*in = config->interface[UPF_PORT_N6];
		in->device_of = config_port_of(i);
		snprintf(in->network, sizeof(in->network), "network-%u", i);
	}
	config->networks = networks;
	config->ports = config_port_of(networks);
}

struct rte_ether_addr
rig_gateway_mac_of(unsigned network)
{
	struct rte_ether_addr mac = rig_gateway_mac;

	mac.addr_bytes[2] = (uint8_t)network;
	return mac;
}

static void
know(struct worker *w, enum upf_port port, uint32_t addr, const struct rte_ether_addr *mac)
{
	struct neigh *n =
		&w->neigh[port]->entry[(rte_cpu_to_be_32(addr) * UINT32_C(0x9e3779b1) >> 16) &
			(NEIGH_ENTRIES - 1)];

	n->addr = rte_cpu_to_be_32(addr);
	n->mac = *mac;
	n->state = NEIGH_GOOD;
	n->due = UINT64_MAX;
}

static void
know6(struct worker *w, enum upf_port port, const upf_addr addr, const struct rte_ether_addr *mac)
{
	if (w->neigh6[port] == NULL)
		return;
	neigh_hear6(w, port, addr, mac, true, true);
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++)
		w->neigh6[port]->entry[i].due = UINT64_MAX;
}

struct rig *
rig_create_with(const struct config *config, unsigned workers, bool with_neighbours)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct sleeper no_sleep[RIG_WORKERS_MAX];
	struct worker_shared shared;

	assert_non_null(rig);
	rig->config = *config;
	rig->config.workers = workers;
	rig->wake_fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(session_table_init(&rig->sessions, config->limits.sessions_max, workers,
				 config->networks),
		0);
	for (unsigned i = 0; i < config->networks; i++) {
		if (config->interface[config_port_of(i)].nat.ports != 0)
			assert_int_equal(session_table_add_nat(&rig->sessions, i), 0);
		if (config->interface[config_port_of(i)].ethernet)
			assert_int_equal(session_table_add_bridge(&rig->sessions, i), 0);
	}
	assert_int_equal(shm_init(&rig->shm, &rig->config, rte_get_tsc_hz()), 0);
	for (unsigned i = 0; i < workers; i++)
		no_sleep[i] = (struct sleeper){.event_fd = -1};
	shared = (struct worker_shared){
		.config = &rig->config,
		.sessions = &rig->sessions,
		.slots = rig->shm.slots,
		.stats = rig->shm.workers,
		.groups = rig->shm.groups,
		.gateways = rig->shm.gateways,
		.pool = pool,
		.peers = rig->worker,
		.sleepers = no_sleep,
		.wake_fd = rig->wake_fd,
		.control_waits = &rig->control_waits,
		.listener = &rig->base.listener,
		.granted_until = &rig->base.granted_until,
		.forwards_only = &rig->base.forwards_only,
		.stop = &rig->stop,
	};
	for (unsigned port = 0; port < config->ports; port++)
		shared.ethdev[port] = ethdev[config->interface[port].device_of];
	for (unsigned i = 0; i < workers; i++) {
		rig->worker[i] = worker_create(i, &shared);
		assert_non_null(rig->worker[i]);
		if (with_neighbours) {
			know(rig->worker[i], UPF_PORT_N3, RIG_GNB, &rig_gnb_mac);
			know6(rig->worker[i], UPF_PORT_N3, rig_gnb6, &rig_gnb_mac);
			for (unsigned n = 0; n < config->networks; n++) {
				struct rte_ether_addr mac = rig_gateway_mac_of(n);

				know(rig->worker[i], config_port_of(n), RIG_GATEWAY, &mac);
				know6(rig->worker[i], config_port_of(n), rig_gateway6, &mac);
			}
		}
	}
	// The test thread is control thread and workers in one, so a grace period has no one to wait for:
	// the workers are not registered with QSBR.
	rig->base = (struct rule_base){
		.compile = {&rig->config, &rig->sessions.arena, rte_get_tsc_hz()},
		.sessions = &rig->sessions,
		.shm = &rig->shm,
		.worker = rig->worker,
		.workers = workers,
	};
	return rig;
}

struct rig *
rig_create(unsigned workers, bool with_neighbours)
{
	struct config config = rig_config();

	return rig_create_with(&config, workers, with_neighbours);
}

void
rig_free(struct rig *rig)
{
	for (unsigned port = 0; port < RIG_PORTS; port++)
		rig_count_sent(rig, (enum upf_port)port);
	for (unsigned i = 0; i < rig->config.workers; i++)
		worker_free(rig->worker[i]);
	assert_int_equal(rig_mbufs_in_use(), 0);
	shm_free(&rig->shm);
	session_table_free(&rig->sessions);
	free(rig->base.meta);
	close(rig->wake_fd);
	free(rig);
}

void
rig_inject_to(
	struct rig *rig, unsigned worker, enum upf_port port, const void *frame, size_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_ether_addr mac = rig->worker[worker]->port[port].mac;
	char *data;

	assert_non_null(m);
	data = rte_pktmbuf_append(m, (uint16_t)length);
	assert_non_null(data);
	memcpy(data, frame, length);
	// An all-zero destination stands for "this port".
	if (length >= sizeof(struct rte_ether_hdr) &&
		rte_is_zero_ether_addr(&((struct rte_ether_hdr *)(void *)data)->dst_addr))
		((struct rte_ether_hdr *)(void *)data)->dst_addr = mac;
	assert_int_equal(rte_ring_enqueue(rx_ring[port][worker], m), 0);
}

void
rig_inject(struct rig *rig, enum upf_port port, const void *frame, size_t length)
{
	rig_inject_to(rig, 0, port, frame, length);
}

void
rig_poll(struct rig *rig)
{
	unsigned work;

	do {
		work = 0;
		for (unsigned i = 0; i < rig->config.workers; i++)
			work += worker_poll(rig->worker[i]);
	} while (work != 0);
}

struct rte_mbuf *
rig_sent(struct rig *rig, enum upf_port port)
{
	void *m;

	for (unsigned i = 0; i < rig->config.workers; i++) {
		if (rte_ring_dequeue(tx_ring[port][i], &m) == 0)
			return m;
	}
	return NULL;
}

unsigned
rig_count_sent(struct rig *rig, enum upf_port port)
{
	struct rte_mbuf *m;
	unsigned n = 0;

	while ((m = rig_sent(rig, port)) != NULL) {
		rte_pktmbuf_free(m);
		n++;
	}
	return n;
}

static uint64_t
drops_of(const struct rig *rig, unsigned reason)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < rig->config.workers * UPF_PORTS; i++)
		sum += rig->shm.workers[i / UPF_PORTS].drops[i % UPF_PORTS].reason[reason];
	return sum;
}

uint64_t
rig_dropped(struct rig *rig, enum upf_drop reason)
{
	uint64_t now = drops_of(rig, reason), since = now - rig->dropped_before[reason];

	rig->dropped_before[reason] = now;
	return since;
}

void
rig_assert_no_other_drops(struct rig *rig)
{
#define UPF_DROP_NAME(symbol, label, help) label,
	static const char *const labels[] = {UPF_DROP_REASONS(UPF_DROP_NAME)};
#undef UPF_DROP_NAME

	for (unsigned i = 0; i < UPF_DROPS; i++) {
		if (drops_of(rig, i) != rig->dropped_before[i])
			fail_msg("dropped as %s", labels[i]);
	}
}

bool
rig_event(struct rig *rig, struct event *event)
{
	for (unsigned i = 0; i < rig->config.workers; i++) {
		if (rte_ring_dequeue_elem(rig->worker[i]->events, event, sizeof(*event)) == 0)
			return true;
	}
	return false;
}
