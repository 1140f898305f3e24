#include "link/carrier.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "process/config.h"
#include "process/log.h"
#include "process/shm.h"

// Is it a socket with a ring of frames of this interface? Those that wake a worker (sleep.h) have none.
static bool
is_ring_of(int fd, unsigned interface)
{
	struct sockaddr_ll address;
	socklen_t size = sizeof(int);
	int value;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &size) < 0 || value != AF_PACKET)
		return false;
	size = sizeof(value);
	if (getsockopt(fd, SOL_PACKET, PACKET_VERSION, &value, &size) < 0 || value == TPACKET_V1)
		return false;
	size = sizeof(address);
	return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
		(unsigned)address.sll_ifindex == interface;
}

static unsigned
find_rings(const char *device, int ring[UPF_WORKERS_MAX])
{
	unsigned interface = if_nametoindex(device), n = 0;
	DIR *fds = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (fds != NULL && interface != 0 && n < UPF_WORKERS_MAX &&
		(entry = readdir(fds)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && is_ring_of(fd, interface))
			ring[n++] = fd;
	}
	if (fds != NULL)
		closedir(fds);
	return n;
}

void
carriers_init(struct carriers *carriers, const struct config *config, const uint16_t *ethdev,
	struct upf_link_state *state)
{
	*carriers = (struct carriers){.state = state};
	carriers->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (carriers->fd < 0) {
		log_warning("nobody looks at the links", "error=\"%s\"", strerror(errno));
		return;
	}
	carriers->ports = config->ports;
	for (unsigned port = 0; port < config->ports; port++) {
		const struct config_interface *in = &config->interface[port];

		carriers->port[port].present = in->present;
		carriers->port[port].own_device = in->device_of == port;
		carriers->port[port].network = in->network;
		carriers->port[port].ethdev = ethdev[port];
		carriers->port[port].device = in->driver != CONFIG_VFIO ? in->device : NULL;
		if (in->present && in->device_of == port && in->driver == CONFIG_AF_PACKET)
			carriers->port[port].rings =
				find_rings(in->device, carriers->port[port].ring);
	}
}

void
carriers_free(struct carriers *carriers)
{
	if (carriers->ports != 0)
		close(carriers->fd);
	carriers->ports = 0;
}

// DPDK's drivers of kernel interfaces say up whatever happens. A device that is gone has no flags.
static bool
kernel_says_up(int fd, const char *device)
{
	struct ifreq request = {0};

	strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0 &&
		(request.ifr_flags & IFF_RUNNING) != 0;
}

static bool
port_says_up(uint16_t ethdev)
{
	struct rte_eth_link link = {0};

	return rte_eth_link_get_nowait(ethdev, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static void
note(struct carriers *carriers, unsigned port, enum upf_link now)
{
	struct upf_link_state *state = &carriers->state[port];
	enum upf_link before = (enum upf_link)state->state;
	const char *name = config_port_name(port), *network = carriers->port[port].network;

	if (now == before)
		return;
	if (now == UPF_LINK_DOWN) {
		shm_add(&state->downs, 1);
		log_warning("link is down",
			"interface=%s network_instance=\"%s\" advice=\"look at the cable, the "
			"switch "
			"port, or the bridge\"",
			name, network);
	} else if (before == UPF_LINK_DOWN) {
		log_info("link is up", "interface=%s network_instance=\"%s\"", name, network);
	}
	// Relaxed: pairs with the reader's single loads; no order among the words is promised.
	if (before != UPF_LINK_UNKNOWN)
		__atomic_store_n(&state->since, rte_rdtsc(), __ATOMIC_RELAXED);
	__atomic_store_n(&state->state, now, __ATOMIC_RELAXED);
}

// What got lost since the kernel was last asked.
static uint64_t
ring_drops(int fd)
{
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);

	return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops
										 : 0;
}

static void
count_missed(struct carriers *carriers, unsigned port)
{
	uint64_t *missed = &carriers->state[port].missed;
	struct rte_eth_stats stats;

	for (unsigned i = 0; i < carriers->port[port].rings; i++)
		shm_add(missed, ring_drops(carriers->port[port].ring[i]));
	if (carriers->port[port].rings == 0 &&
		rte_eth_stats_get(carriers->port[port].ethdev, &stats) == 0)
		__atomic_store_n(missed, stats.imissed, __ATOMIC_RELAXED);
}

void
carriers_look(struct carriers *carriers)
{
	for (unsigned port = 0; port < carriers->ports && port < UPF_PORTS; port++) {
		const char *device = carriers->port[port].device;
		bool up;

		if (!carriers->port[port].present)
			continue;
		up = device != NULL ? kernel_says_up(carriers->fd, device)
				    : port_says_up(carriers->port[port].ethdev);
		note(carriers, port, up ? UPF_LINK_UP : UPF_LINK_DOWN);
		if (carriers->port[port].own_device) // what it missed had no VLAN yet
			count_missed(carriers, port);
	}
}
