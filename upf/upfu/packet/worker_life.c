#include "packet/worker_life.h"

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "link/eal.h"
#include "link/gateways.h"
#include "link/neigh.h"
#include "link/port.h"
#include "packet/bridge.h"
#include "packet/buffer.h"
#include "packet/buffer_state.h"
#include "packet/icmp_error.h"
#include "packet/message.h"
#include "packet/mss.h"
#include "packet/detection.h"
#include "packet/nat.h"
#include "packet/outbox.h"
#include "packet/own_packets.h"
#include "packet/packet.h"
#include "packet/reassembly.h"
#include "packet/shaper.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/qer_clock.h"

#define RING_SIZE 16384u
#define HELD_SHARE 16u // of the packet buffers wait for neighbours at most, with all workers

// Its name is no other's: a process may have workers of several UPFs, as the benchmark does.
static struct rte_ring *
create_ring(
	const char *what, const struct worker *w, unsigned element, unsigned places, unsigned flags)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "%s-%p", what, (const void *)w);
	return rte_ring_create_elem(name, element, places, (int)rte_socket_id(), flags);
}

struct worker *
worker_create(unsigned index, const struct worker_shared *shared)
{
	const struct config *config = shared->config;
	const struct config_limits *limits = &config->limits;
	struct worker *w = rte_zmalloc("worker", sizeof(*w), RTE_CACHE_LINE_SIZE);

	if (w == NULL)
		return NULL;
	w->index = index;
	w->workers = config->workers;
	w->peers = shared->peers;
	w->tsc_hz = rte_get_tsc_hz();
	w->ue_to_ue_allowed = config->ue_to_ue_allowed;
	w->shares_cpu = config->worker_cpu[index] == config->control_cpu;
	w->qer_burst = qer_depth(config->qer.burst_ms, w->tsc_hz);
	w->sessions = shared->sessions;
	w->slots = shared->slots;
	w->stats = &shared->stats[index];
	w->group = &shared->groups[(size_t)index * UPF_GROUPS];
	w->pool = shared->pool;
	w->wake_fd = shared->wake_fd;
	w->control_waits = shared->control_waits;
	w->stop = shared->stop;
	w->synced = shared->synced;
	w->listener = shared->listener;
	if (config->redundancy) {
		w->granted_until = shared->granted_until;
		w->forwards_only = shared->forwards_only;
	}
	w->silent = config->redundancy;
	w->sleeper = shared->sleepers[index];
	if (limits->error_indications != 0)
		w->error_cost = w->tsc_hz / limits->error_indications;
	if (limits->icmp_errors != 0)
		w->icmp_cost = w->tsc_hz / limits->icmp_errors;
	w->config = config;
	w->mss_room = mss_room(config);
	w->held_max = limits->mbufs / HELD_SHARE / config->workers;
	w->ports = config->ports;
	for (enum upf_port port = 0; port < w->ports; port++) {
		port_init(&w->port[port], port, config);
		if (!w->port[port].present)
			continue;
		w->port[port].ethdev = shared->ethdev[port];
		if (config->interface[port].device_of == port)
			w->device[w->devices++] = port;
		rte_eth_macaddr_get(shared->ethdev[port], &w->port[port].mac);
		w->port[port].vlan_offload = eal_port_inserts_vlan(shared->ethdev[port]);
		if (neigh_init(w, port) < 0) {
			worker_free(w);
			return NULL;
		}
	}
	gateways_init(w, shared->gateways);
	if (config->reassembly.packets != 0) {
		w->reassembly = reassembly_create(w);
		if (w->reassembly == NULL) {
			worker_free(w);
			return NULL;
		}
	}
	if (nat_init(w) < 0 || bridge_init(w) < 0) {
		worker_free(w);
		return NULL;
	}
	w->commands = create_ring(
		"commands", w, sizeof(struct command), RING_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ);
	w->events = create_ring(
		"events", w, sizeof(struct event), RING_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (w->commands == NULL || w->events == NULL || outbox_init(w, config) < 0 ||
		shaper_init(&w->shaper, config, w->tsc_hz) < 0 ||
		buffer_init(&w->buffers,
			&(struct buffer_bounds){
				.packets = limits->buffer_packets,
				.session_packets = limits->buffer_packets_per_session,
				.octets = limits->buffer_bytes,
				.session_octets = limits->buffer_bytes_per_session,
				.duration = w->tsc_hz * limits->buffer_duration_s,
				.drop_oldest = config->buffer_drop_oldest,
			}) < 0) {
		worker_free(w);
		return NULL;
	}
	return w;
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	for (enum upf_port port = 0; port < w->ports; port++)
		neigh_free(w, port);
	own_packets_free(&w->own);
	icmp_forget_unreachable(w);
	reassembly_free(w->reassembly);
	nat_free(w);
	bridge_free(w);
	detection_free(w);
	trace_free(w);
	buffer_free(&w->buffers);
	shaper_free(&w->shaper);
	outbox_free(w);
	rte_ring_free(w->events);
	rte_ring_free(w->commands);
	rte_free(w);
}
