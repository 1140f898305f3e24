// How EAL is started matters: without hugetlbfs, telemetry sockets or root; with an explicit memory
// limit, since EAL would otherwise take what the host shows and not what the cgroup allows.
#define _GNU_SOURCE
#include "link/eal.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "packet/packet.h"
#include "process/config.h"
#include "process/shm.h"
#include "process/topology.h"

#define ARGS_MAX 48
#define TEXT_MAX 768
#define DESCRIPTORS 1024

struct arguments {
	char text[ARGS_MAX][TEXT_MAX];
	char *argv[ARGS_MAX + 1];
	int n;
};

__attribute__((format(printf, 2, 3))) static void
argument(struct arguments *a, const char *format, ...)
{
	va_list args;

	if (a->n == ARGS_MAX)
		return;
	va_start(args, format);
	vsnprintf(a->text[a->n], sizeof(a->text[0]), format, args);
	va_end(args);
	a->argv[a->n] = a->text[a->n];
	a->n++;
}

static void
interface_arguments(struct arguments *a, const struct config *config, enum upf_port port)
{
	const struct config_interface *in = &config->interface[port];
	uint32_t frame = config_frame_size(config_device_mtu(config, port));

	if (!in->present || in->device_of != port)
		return;
	switch (in->driver) {
	case CONFIG_AF_PACKET:
		// A frame of the ring holds what the kernel puts in front of the packet, too. A queue of
		// 1024 rides out a sleep.
		argument(a,
			"--vdev=net_af_packet%u,iface=%s,qdisc_bypass=1,qpairs=%u,framesz=%u,"
			"blocksz=%u,framecnt=1024",
			port, in->device, config->workers, frame, 4 * frame);
		break;
	case CONFIG_AF_XDP:
		argument(a, "--vdev=net_af_xdp%u,iface=%s,queue_count=%u", port, in->device,
			config->workers);
		break;
	case CONFIG_TAP:
		argument(a, "--vdev=net_tap%u,iface=%s", port, in->device);
		break;
	case CONFIG_VFIO:
		argument(a, "--allow=%s", in->device);
		break;
	}
}

// In the place of libnuma's, which in Debian 12 takes a seccomp profile's refusal for consent: without
// CAP_SYS_NICE the usual ones forbid memory policies, and EAL would end. Without policies memory comes from
// the nodes that the cpuset allows.
int numa_available(void);
int
numa_available(void)
{
	return syscall(SYS_get_mempolicy, NULL, NULL, 0, 0, 0) < 0 ? -1 : 0;
}

static unsigned worker_lcore[UPF_WORKERS_MAX];

unsigned
eal_worker_lcore(unsigned worker)
{
	return worker_lcore[worker];
}

// DPDK takes an lcore to be on the NUMA node of the CPU with the same number, whatever CPU it is bound
// to, and memory from the nodes of its lcores. So each thread has the number of its CPU, or of another
// CPU of that node where the number is taken, or beyond what DPDK counts.
static unsigned
choose_lcore(bool *taken, int cpu)
{
	uint32_t node = topology_cpu_node("/sys", (unsigned)cpu);
	unsigned lcore = (unsigned)cpu;

	if (lcore >= RTE_MAX_LCORE || taken[lcore]) {
		lcore = 0;
		while (lcore < RTE_MAX_LCORE &&
			(taken[lcore] || topology_cpu_node("/sys", lcore) != node))
			lcore++;
	}
	if (lcore == RTE_MAX_LCORE) { // no number of that node is left
		lcore = 0;
		while (taken[lcore])
			lcore++;
	}
	taken[lcore] = true;
	return lcore;
}

static void
lcores_argument(struct arguments *a, const struct config *config)
{
	bool taken[RTE_MAX_LCORE] = {false};
	char lcores[TEXT_MAX - 16];
	unsigned control;
	int n = 0;

	static_assert(RTE_MAX_LCORE > UPF_WORKERS_MAX, "an lcore for each thread");
	for (unsigned i = 0; i < config->workers && n < (int)sizeof(lcores); i++) {
		worker_lcore[i] = choose_lcore(taken, config->worker_cpu[i]);
		n += snprintf(lcores + n, sizeof(lcores) - (size_t)n, "%u@%d,", worker_lcore[i],
			config->worker_cpu[i]);
	}
	control = choose_lcore(taken, config->control_cpu);
	argument(a, "--lcores=%s%u@%d", lcores, control, config->control_cpu);
	argument(a, "--main-lcore=%u", control);
}

int
eal_check_mtus(const struct config *config, char *error, size_t error_size)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	for (unsigned port = 0; fd >= 0 && rc == 0 && port < UPF_PORTS && port < config->ports;
		port++) {
		const struct config_interface *in = &config->interface[port];
		struct ifreq request = {0};

		if (!in->present || (in->driver != CONFIG_AF_PACKET && in->driver != CONFIG_AF_XDP))
			continue;
		strncpy(request.ifr_name, in->device, sizeof(request.ifr_name) - 1);
		if (ioctl(fd, SIOCGIFMTU, &request) < 0 || request.ifr_mtu >= in->mtu)
			continue;
		snprintf(error, error_size,
			"%s: mtu %u is above that of the device %s, %d, which would drop what is "
			"longer; write mtu: %d, or raise the device's: ip link set %s mtu %u",
			config_port_name(port), in->mtu, in->device, request.ifr_mtu,
			request.ifr_mtu, in->device, in->mtu);
		rc = -1;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static unsigned
read_count(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[32] = "";

	if (file == NULL)
		return 0;
	if (fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	fclose(file);
	return (unsigned)strtoul(text, NULL, 10);
}

#define HUGEPAGES "/sys/kernel/mm/hugepages/hugepages-2048kB/"

// What to do when EAL had too little memory.
static void
advise_memory(const struct config *config, char *error, size_t error_size)
{
	unsigned need = (config->memory_mib + 1) / 2;
	unsigned all = read_count(HUGEPAGES "nr_hugepages");
	unsigned unused = read_count(HUGEPAGES "free_hugepages");
	size_t n = strlen(error);

	if (!config->hugepages)
		snprintf(error + n, error_size - n, "; it needs %u MiB of memory (memory:)",
			config->memory_mib);
	else if (unused < need)
		snprintf(error + n, error_size - n,
			"; it needs %u hugepages of 2 MiB (memory: %u), and %u of this machine's "
			"%u are free: as root, echo %u > " HUGEPAGES
			"nr_hugepages; or write hugepages: false, which is slower",
			need, config->memory_mib, unused, all, all + need - unused);
	else
		snprintf(error + n, error_size - n,
			"; the %u hugepages of 2 MiB that it needs (memory: %u) are free, so this "
			"process may not have them: raise the hugetlb limit of its cgroup, in "
			"Kubernetes the container's limit of hugepages-2Mi",
			need, config->memory_mib);
}

int
eal_start(const struct config *config, const char *program, char *error, size_t error_size)
{
	bool pci = false;
	static struct arguments a; // EAL keeps pointers into it

	argument(&a, "%s", program);
	lcores_argument(&a, config);
	argument(&a, "-m");
	// The shared segment is part of what the process may have (shm.c).
	argument(&a, "%u", config->memory_mib - shm_hugepage_mib(config));
	if (config->hugepages) {
		argument(&a, "--in-memory");
	} else {
		argument(&a, "--no-huge");
		argument(&a, "--no-shconf");
	}
	argument(&a, "--iova-mode=va");
	argument(&a, "--no-telemetry");
	argument(&a, "--log-level=lib.*:error");
	for (enum upf_port port = 0; port < config->ports; port++) {
		interface_arguments(&a, config, port);
		pci |= config->interface[port].present &&
			config->interface[port].driver == CONFIG_VFIO;
	}
	if (!pci)
		argument(&a, "--no-pci");
	if (rte_eal_init(a.n, a.argv) < 0) {
		snprintf(error, error_size, "DPDK does not start: %s", rte_strerror(rte_errno));
		advise_memory(config, error, error_size);
		return -1;
	}
	return 0;
}

uint32_t
eal_held_by_devices(const struct config *config)
{
	// A receive queue is full of empty buffers, and a transmit queue gives back what it has sent
	// when it needs the place. The kernel's packet socket copies; AF_XDP's queues are twice as long.
	static const uint32_t per_queue_pair[] = {
		[CONFIG_AF_PACKET] = 0,
		[CONFIG_AF_XDP] = 4 * DESCRIPTORS,
		[CONFIG_TAP] = DESCRIPTORS,
		[CONFIG_VFIO] = 2 * DESCRIPTORS,
	};
	uint32_t held = 0;

	for (unsigned port = 0; port < config->ports; port++) {
		const struct config_interface *in = &config->interface[port];

		if (in->present && in->device_of == port)
			held += config->workers * per_queue_pair[in->driver];
	}
	return held;
}

struct rte_mempool *
eal_create_pool(uint32_t mbufs, unsigned workers, uint16_t mtu)
{
	return rte_pktmbuf_pool_create("packets", mbufs + workers * 512, 256,
		RTE_ALIGN_CEIL(sizeof(struct pkt), RTE_MBUF_PRIV_ALIGN),
		(uint16_t)(RTE_PKTMBUF_HEADROOM + config_frame_size(mtu)), (int)rte_socket_id());
}

int
eal_find_port(const struct config *config, enum upf_port port, uint16_t *ethdev)
{
	static const char *const names[] = {
		[CONFIG_AF_PACKET] = "net_af_packet%u",
		[CONFIG_AF_XDP] = "net_af_xdp%u",
		[CONFIG_TAP] = "net_tap%u",
	};
	char name[64];

	port = config->interface[port].device_of;
	if (config->interface[port].driver == CONFIG_VFIO)
		snprintf(name, sizeof(name), "%s", config->interface[port].device);
	else
		snprintf(name, sizeof(name), names[config->interface[port].driver], port);
	return rte_eth_dev_get_port_by_name(name, ethdev);
}

// A virtual function drops tagged frames until it has asked its NIC for their VLAN. A port that has no such
// filter lets them all in, and the worker drops those of other VLANs (vlan.h).
static int
let_in(uint16_t ethdev, uint16_t vlan, char *error, size_t error_size)
{
	int rc = rte_eth_dev_vlan_filter(ethdev, vlan, 1);

	if (rc == 0 || rc == -ENOTSUP)
		return 0;
	snprintf(error, error_size,
		"the device refuses frames of VLAN %u: %s; a virtual function must have no VLAN of "
		"its own on the node: ip link set PF vf N vlan 0",
		vlan, rte_strerror(-rc));
	return -1;
}

int
eal_start_port(uint16_t ethdev, unsigned workers, uint16_t mtu, uint16_t vlan,
	struct rte_mempool *pool, char *error, size_t error_size)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
	const char *step = "rte_eth_dev_info_get";
	int rc = rte_eth_dev_info_get(ethdev, &info);

	if (rc == 0 && (info.max_rx_queues < workers || info.max_tx_queues < workers)) {
		snprintf(error, error_size,
			"%s has %u rx and %u tx queues, and each of %u workers needs one of both; "
			"write workers: %u, or give the device more",
			info.driver_name, info.max_rx_queues, info.max_tx_queues, workers,
			RTE_MIN(info.max_rx_queues, info.max_tx_queues));
		return -1;
	}
	if (rc == 0 && mtu != 0 && info.max_mtu != 0 && mtu > info.max_mtu) {
		snprintf(error, error_size,
			"mtu %u is above what the device can, %u; write mtu: %u at most", mtu,
			info.max_mtu, info.max_mtu);
		return -1;
	}
	// A kernel interface keeps its own MTU, which eal_check_mtus() has looked at.
	conf.rxmode.mtu = mtu != 0 ? mtu : RTE_ETHER_MTU;
	// Tags are the port's work where it can do it (vlan.h).
	if (rc == 0 && vlan != 0) {
		conf.rxmode.offloads = info.rx_offload_capa &
			(RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
		conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	}
	// What RSS brings home need not be handed off; the hand-off does the rest (handoff.h).
	if (rc == 0 && workers > 1 && info.flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP) &
			info.flow_type_rss_offloads;
	}
	if (rc == 0) {
		step = "configure its queues";
		// An idle worker waits for an rx interrupt where the driver has them (sleep.h).
		conf.intr_conf.rxq = 1;
		rc = rte_eth_dev_configure(ethdev, (uint16_t)workers, (uint16_t)workers, &conf);
		if (rc < 0) {
			conf.intr_conf.rxq = 0;
			rc = rte_eth_dev_configure(
				ethdev, (uint16_t)workers, (uint16_t)workers, &conf);
		}
	}
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(ethdev, &rx, &tx);
	for (uint16_t queue = 0; rc == 0 && queue < workers; queue++) {
		step = "set up its queues";
		rc = rte_eth_rx_queue_setup(ethdev, queue, rx, SOCKET_ID_ANY, NULL, pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(ethdev, queue, tx, SOCKET_ID_ANY, NULL);
	}
	if (rc == 0) {
		step = "start it";
		rc = rte_eth_dev_start(ethdev);
	}
	if (rc < 0) {
		snprintf(error, error_size, "cannot %s: %s", step, rte_strerror(-rc));
		return -1;
	}
	// Only now: some drivers reset the device when they start it, and with it what it was asked for.
	if ((conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0)
		return let_in(ethdev, vlan, error, error_size);
	return 0;
}

int
eal_add_vlan(uint16_t ethdev, uint16_t vlan, char *error, size_t error_size)
{
	struct rte_eth_conf conf;

	if (vlan == 0 || rte_eth_dev_conf_get(ethdev, &conf) != 0 ||
		(conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
		return 0;
	return let_in(ethdev, vlan, error, error_size);
}

bool
eal_port_inserts_vlan(uint16_t ethdev)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(ethdev, &conf) == 0 &&
		(conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
}

void
eal_hear_groups(uint16_t ethdev)
{
	if (rte_eth_allmulticast_enable(ethdev) != 0)
		rte_eth_promiscuous_enable(ethdev);
}

int
eal_hear_all(uint16_t ethdev, char *error, size_t error_size)
{
	int rc = rte_eth_promiscuous_enable(ethdev);

	// Group addresses are heard with the others.
	if (rc == 0)
		return 0;
	snprintf(error, error_size,
		"the device does not hear frames to others, as an Ethernet network instance must: "
		"%s; a "
		"virtual function must be trusted: ip link set PF vf N trust on, and spoofchk off",
		rte_strerror(-rc));
	return -1;
}
