// upf-u: the user plane function's data plane. Start: configuration, EAL, tables, ports, workers;
// then the main thread is the control thread until a signal ends it.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "control/control.h"
#include "link/carrier.h"
#include "link/eal.h"
#include "link/spread.h"
#include "packet/sleep.h"
#include "packet/sleep_state.h"
#include "packet/worker.h"
#include "packet/worker_life.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/device.h"
#include "process/log.h"
#include "process/notify.h"
#include "process/privileges.h"
#include "process/shm.h"
#include "process/topology.h"
#include "rules/compile.h"
#include "rules/session.h"

struct upf_u {
	struct sleeper sleeper[UPF_WORKERS_MAX]; /* first, for each has a line of its own */
	struct config config;
	struct control control;
	struct session_table sessions;
	struct shm shm;
	struct rte_mempool *pool;
	struct worker *worker[UPF_WORKERS_MAX];
	bool started[UPF_PORTS]; // the device of this interface
	enum upf_spread spread[UPF_PORTS];
	uint32_t stop;
	uint16_t ethdev[UPF_PORTS];
};

static int
start_memory(struct upf_u *u)
{
	const struct config_limits *limits = &u->config.limits;
	const struct config_interface *in = u->config.interface;
	uint16_t mtu = 0;

	for (enum upf_port port = 0; port < u->config.ports; port++) {
		if (in[port].present)
			mtu = RTE_MAX(mtu, in[port].mtu);
	}
	u->pool = eal_create_pool(
		limits->mbufs + eal_held_by_devices(&u->config), u->config.workers, mtu);
	if (u->pool == NULL ||
		session_table_init(&u->sessions, limits->sessions_max, u->config.workers,
			u->config.networks) < 0) {
		log_error("out of memory",
			"memory_mib=%u mbufs=%u in_devices=%u sessions_max=%u "
			"advice=\"raise memory or lower limits\"",
			u->config.memory_mib, limits->mbufs, eal_held_by_devices(&u->config),
			limits->sessions_max);
		return -1;
	}
	for (unsigned i = 0; i < u->config.networks; i++) {
		if (u->config.interface[config_port_of(i)].nat.ports != 0 &&
			session_table_add_nat(&u->sessions, i) < 0) {
			log_error("out of memory", "memory_mib=%u advice=\"raise memory\"",
				u->config.memory_mib);
			return -1;
		}
	}
	for (unsigned i = 0; i < u->config.networks; i++) {
		if (u->config.interface[config_port_of(i)].ethernet &&
			session_table_add_bridge(&u->sessions, i) < 0) {
			log_error("out of memory", "memory_mib=%u advice=\"raise memory\"",
				u->config.memory_mib);
			return -1;
		}
	}
	if (shm_init(&u->shm, &u->config, rte_get_tsc_hz()) < 0) {
		log_error("no shared memory for counters", "error=\"%s\" urr_slots=%u",
			strerror(errno), limits->urr_slots);
		return -1;
	}
	return 0;
}

// A VLAN of the device that interfaces share, 0: it has none.
static uint16_t
vlan_of_device(const struct config *config, enum upf_port device)
{
	for (enum upf_port port = device; port < config->ports; port++) {
		if (config->interface[port].device_of == device &&
			config->interface[port].vlan != 0)
			return config->interface[port].vlan;
	}
	return 0;
}

// Whom of the workers a NIC gives a packet to.
static void
spread(struct upf_u *u, enum upf_port device)
{
	const struct config_interface *in = &u->config.interface[device];
	char refused[256];

	u->spread[device] = spread_by_ue(u->ethdev[device], u->config.workers,
		spread_side_of(&u->config, device), in->block_len6 != 0, refused, sizeof(refused));
	if (u->spread[device] != UPF_SPREAD_UNKNOWN)
		log_info("packets are spread over workers",
			"interface=%s device=%s hash=%s refused=\"%s\"", config_port_name(device),
			in->device, spread_name(u->spread[device]), refused);
}

static int
start_device(struct upf_u *u, enum upf_port port, char *error, size_t error_size)
{
	const struct config_interface *in = &u->config.interface[port];

	if (eal_start_port(u->ethdev[port], u->config.workers,
		    in->driver == CONFIG_VFIO ? config_device_mtu(&u->config, port) : 0,
		    vlan_of_device(&u->config, port), u->pool, error, error_size) < 0)
		return -1;
	u->started[port] = true;
	spread(u, port);
	return 0;
}

static int
start_port(struct upf_u *u, enum upf_port port)
{
	const struct config_interface *in = &u->config.interface[port];
	char error[256];
	int rc;

	// A device that fails to probe does not stop EAL.
	if (eal_find_port(&u->config, port, &u->ethdev[port]) != 0) {
		log_error("no such device", "interface=%s device=%s advice=\"%s\"",
			config_port_name(port), in->device,
			in->driver != CONFIG_VFIO
				? "the device must exist; kernel interfaces need CAP_NET_RAW and "
				  "CAP_NET_ADMIN"
				: device_is_kernels("/sys", in->device)
				? "its kernel interface must be in this network namespace, its "
				  "/dev/infiniband/uverbs be given to this process, and "
				  "CAP_NET_RAW, "
				  "CAP_NET_ADMIN and CAP_IPC_LOCK be allowed"
				: "it must be bound to vfio-pci, its /dev/vfio group be given to "
				  "this process, readable for its user, and locked memory be "
				  "unlimited or CAP_IPC_LOCK be allowed");
		return -1;
	}
	rc = in->device_of == port ? start_device(u, port, error, sizeof(error))
				   : eal_add_vlan(u->ethdev[port], in->vlan, error, sizeof(error));
	if (rc < 0) {
		log_error("device does not start", "interface=%s device=%s error=\"%s\"",
			config_port_name(port), in->device, error);
		return -1;
	}
	if (in->block_len6 != 0)
		eal_hear_groups(u->ethdev[port]);
	if (in->ethernet && eal_hear_all(u->ethdev[port], error, sizeof(error)) < 0) {
		log_error("device does not start", "interface=%s device=%s error=\"%s\"",
			config_port_name(port), in->device, error);
		return -1;
	}
	return 0;
}

static int
start_ports(struct upf_u *u)
{
	int rc = 0;

	for (enum upf_port port = 0; rc == 0 && port < u->config.ports; port++) {
		if (u->config.interface[port].present)
			rc = start_port(u, port);
	}
	return rc;
}

static int
start_workers(struct upf_u *u)
{
	struct worker_shared shared = {
		.config = &u->config,
		.sessions = &u->sessions,
		.slots = u->shm.slots,
		.stats = u->shm.workers,
		.groups = u->shm.groups,
		.gateways = u->shm.gateways,
		.pool = u->pool,
		.peers = u->worker,
		.sleepers = u->sleeper,
		.wake_fd = u->control.wake_fd,
		.control_waits = &u->control.waits,
		.synced = &u->control.base.synced,
		.listener = &u->control.base.listener,
		.granted_until = &u->control.base.granted_until,
		.forwards_only = &u->control.base.forwards_only,
		.stop = &u->stop,
	};

	memcpy(shared.ethdev, u->ethdev, sizeof(shared.ethdev));
	for (unsigned i = 0; i < u->config.workers; i++) {
		u->worker[i] = worker_create(i, &shared);
		if (u->worker[i] == NULL) {
			log_error("out of memory", "worker=%u memory_mib=%u", i,
				u->config.memory_mib);
			return -1;
		}
	}
	u->control.base.compile =
		(struct compile_context){&u->config, &u->sessions.arena, rte_get_tsc_hz()};
	u->control.base.sessions = &u->sessions;
	u->control.base.shm = &u->shm;
	u->control.base.worker = u->worker;
	u->control.base.workers = u->config.workers;
	for (unsigned i = 0; i < u->config.workers; i++) {
		if (rte_eal_remote_launch(worker_run, u->worker[i], eal_worker_lcore(i)) != 0) {
			log_error("worker does not start", "worker=%u", i);
			return -1;
		}
	}
	return 0;
}

// What upf-c reads with HELLO.
static void
tell_places(struct upf_u *u)
{
	const struct upf_topology *t = u->shm.topology;
	uintptr_t shared = (uintptr_t)u->shm.head;

	topology_fill(u->shm.topology, &u->config, u->ethdev, u->pool,
		(struct topology_region){shared, shared + u->shm.size});
	for (unsigned port = 0; port < u->config.ports; port++) {
		if (u->config.interface[port].present)
			u->shm.topology->port[port].spread =
				(uint8_t)u->spread[u->config.interface[port].device_of];
	}
	log_info("places",
		"nodes=%u control_cpu=%u control_node=%d worker_cpu=%u worker_node=%d "
		"n3_node=%d n6_node=%d",
		t->nodes, t->control.cpu, (int)t->control.node, t->worker[0].cpu,
		(int)t->worker[0].node, (int)t->port[UPF_PORT_N3].node,
		(int)t->port[UPF_PORT_N6].node);
}

static void
stop(struct upf_u *u)
{
	// Relaxed: the flag carries nothing but itself.
	__atomic_store_n(&u->stop, 1, __ATOMIC_RELAXED);
	rte_eal_mp_wait_lcore();
	control_drop_line(&u->control);
	for (unsigned i = 0; i < u->config.workers; i++)
		worker_free(u->worker[i]);
	for (unsigned i = 0; i < u->config.workers; i++)
		sleep_free(&u->sleeper[i]);
	for (unsigned port = 0; port < UPF_PORTS; port++) {
		if (!u->started[port])
			continue;
		rte_eth_dev_stop(u->ethdev[port]);
		rte_eth_dev_close(u->ethdev[port]);
	}
	shm_free(&u->shm);
	session_table_free(&u->sessions);
	rte_mempool_free(u->pool);
}

// Before any thread exists, so that all of them inherit it: signals come by signalfd.
static void
block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int
run(struct upf_u *u)
{
	int rc = EXIT_FAILURE;

	if (control_init(&u->control, &u->config) == 0 && start_memory(u) == 0 &&
		start_ports(u) == 0 && start_workers(u) == 0) {
		tell_places(u);
		carriers_init(&u->control.carriers, &u->config, u->ethdev, u->shm.links);
		carriers_look(&u->control.carriers);
		u->control.gateways =
			(struct gateways_log){.config = &u->config, .state = u->shm.gateways};
		log_info("upf-u is ready",
			"boot_id=%016llx workers=%u sessions_max=%u socket=%s hugepages=%s "
			"memory_mib=%u slots=%s",
			(unsigned long long)u->shm.head->boot_id, u->config.workers,
			u->config.limits.sessions_max, u->config.socket,
			u->config.hugepages ? "true" : "false", u->config.memory_mib,
			u->shm.hugepages ? "hugepages" : "pages");
		if (notify_ready() < 0)
			log_warning("the service manager is not told of it", "error=\"%s\"",
				strerror(errno));
		control_run(&u->control);
		rc = EXIT_SUCCESS;
	}
	carriers_free(&u->control.carriers);
	stop(u);
	control_free(&u->control);
	return rc;
}

int
main(int argc, char **argv)
{
	static struct upf_u u;
	const char *path = "/etc/core5g/upf-u.yaml";
	char error[512];
	int option;
	bool check = false;

	while ((option = getopt(argc, argv, "c:t")) != -1) {
		if (option == 'c') {
			path = optarg;
		} else if (option == 't') {
			check = true;
		} else {
			fprintf(stderr,
				"usage: upf-u [-t] [-c upf-u.yaml]\n  -t  check the file and "
				"end\n");
			return EXIT_FAILURE;
		}
	}
	if (config_read(&u.config, path, error, sizeof(error)) < 0) {
		log_error("bad configuration", "error=\"%s\"", error);
		return EX_CONFIG; // which trying again does not heal
	}
	if (check)
		return EXIT_SUCCESS;
	control_reserve_line();
	if (control_lock(&u.config, error, sizeof(error)) < 0 ||
		eal_check_mtus(&u.config, error, sizeof(error)) < 0) {
		log_error("cannot start", "error=\"%s\"", error);
		return EXIT_FAILURE;
	}
	if (privileges_set(&u.config) < 0) {
		log_error("cannot set capabilities", "error=\"%s\"", strerror(errno));
		return EXIT_FAILURE;
	}
	block_signals();
	for (unsigned i = 0; i < u.config.workers; i++) {
		if (sleep_init(&u.sleeper[i], &u.config) < 0) {
			log_error(
				"cannot open what wakes a worker", "error=\"%s\"", strerror(errno));
			return EXIT_FAILURE;
		}
	}
	if (eal_start(&u.config, argv[0], error, sizeof(error)) < 0) {
		log_error("cannot start", "error=\"%s\"", error);
		return EXIT_FAILURE;
	}
	option = run(&u);
	rte_eal_cleanup();
	return option;
}
