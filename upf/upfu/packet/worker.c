// A worker's loop, and the way of a packet in one function. See worker.h.
#include "packet/worker.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "link/eal.h"
#include "link/vlan.h"
#include "packet/departure.h"
#include "packet/end_marker.h"
#include "packet/handoff.h"
#include "packet/mss.h"
#include "packet/reassembly.h"
#include "packet/stages.h"
#include "packet/trace.h"
#include "process/shm.h"

#define RING_SIZE 16384u
#define HANDOFF_LEAST (8 * BURST)
#define TICKS_PER_SECOND 10u
#define COMMANDS_PER_POLL 8u // each may touch cold memory, and packets wait meanwhile

// ---- ports -----------------------------------------------------------------------------------

static void
worker_rx(struct worker *w, struct burst *b, enum upf_port port)
{
	struct upf_port_stats *stats = &w->stats->port[port];
	struct rte_mbuf *m[BURST];
	uint64_t bytes = 0;

	b->n = rte_eth_rx_burst(w->port[port].ethdev, (uint16_t)w->index, m, BURST);
	if (b->n == 0)
		return;
	for (unsigned i = 0; i < b->n; i++)
		rte_prefetch0(m[i]);
	for (unsigned i = 0; i < b->n; i++) {
		uint8_t *data = rte_pktmbuf_mtod(m[i], uint8_t *);

		rte_prefetch0(data);
		// In GTP-U the user's header lies across the second line; without, outer headers
		// will be written in front.
		if (port == UPF_PORT_N6)
			rte_prefetch0_write(data - RTE_CACHE_LINE_SIZE);
		else
			rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
	}
	for (unsigned i = 0; i < b->n; i++) {
		b->pkt[i].m = m[i];
		b->pkt[i].released = 0;
		b->pkt[i].ip6 = 0;
		b->live[i] = &b->pkt[i];
		bytes += rte_pktmbuf_pkt_len(m[i]);
	}
	shm_add(&stats->rx_packets, b->n);
	shm_add(&stats->rx_bytes, bytes);
}

void
worker_flush(struct worker *w, enum upf_port port)
{
	struct upf_port_stats *stats = &w->stats->port[port];
	struct tx_batch *tx = &w->tx[port];
	uint64_t bytes = 0;
	unsigned sent;

	if (tx->n == 0)
		return;
	for (unsigned i = 0; i < tx->n; i++)
		bytes += rte_pktmbuf_pkt_len(tx->m[i]);
	trace_tx(w, port, tx->m, tx->n);
	sent = rte_eth_tx_burst(w->port[port].ethdev, (uint16_t)w->index, tx->m, (uint16_t)tx->n);
	for (unsigned i = sent; i < tx->n; i++) {
		bytes -= rte_pktmbuf_pkt_len(tx->m[i]);
		departure_drop(w, port, tx->m[i], tx->pdr[i], UPF_DROP_TX_FULL);
	}
	tx->n = 0;
	shm_add(&stats->tx_packets, sent);
	shm_add(&stats->tx_bytes, bytes);
}

void
worker_send_tagged(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	if (vlan_push(&w->port[port], m))
		worker_queue(w, port, m, pdr);
	else
		departure_drop(w, port, m, pdr, UPF_DROP_NO_MBUF);
}

// ---- the control thread ------------------------------------------------------------------------

bool
worker_raise(struct worker *w, const struct event *event)
{
	if (rte_ring_sp_enqueue_elem(w->events, (void *)(uintptr_t)event, sizeof(*event)) != 0)
		return false;
	w->events_raised = true;
	return true;
}

// The control thread sleeps in epoll_wait: one system call wakes it, only when there is news.
static void
worker_wake_control(struct worker *w)
{
	uint64_t one = 1;

	w->events_raised = false;
	// Sequentially consistent: pairs with the control thread, which sets the flag and then looks at
	// the rings once more. Either it sees the event or this sees the flag.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(w->control_waits, 0, __ATOMIC_SEQ_CST) != 0 &&
		write(w->wake_fd, &one, sizeof(one)) < 0)
		w->events_raised = true; // try again after the next poll
}

static unsigned
worker_take_commands(struct worker *w)
{
	struct command command;
	unsigned n = 0;

	while (n < COMMANDS_PER_POLL &&
		rte_ring_sc_dequeue_elem(w->commands, &command, sizeof(command)) == 0) {
		switch ((enum command_op)command.op) {
		case COMMAND_RULES_CHANGED:
			buffer_rules_changed(w, command.session);
			break;
		case COMMAND_DROP_BUFFERED:
			buffer_forget(w, command.session);
			break;
		case COMMAND_END_MARKER:
			gtpu_send_end_marker(w, &command.end_marker);
			break;
		case COMMAND_ECHO:
			gtpu_send_echo(w, &command.echo);
			break;
		case COMMAND_TRACE:
			trace_take_order(w, &command);
			break;
		case COMMAND_URR_LOOK:
			urr_look(w, command.session, command.slot);
			break;
		}
		n++;
	}
	return n;
}

// ---- the way of a packet -----------------------------------------------------------------------

// Packets whose rates have been asked.
static void
worker_leave(struct worker *w, struct burst *b)
{
	far_burst(w, b);
	trace_stage(w, b, UPF_STAGE_FAR);
	urr_burst(w, b);
	trace_stage(w, b, UPF_STAGE_URR);
	rewrite_burst(w, b);
}

// From a matched session on, packets from the wire and from downlink buffers go the same way.
static void
worker_forward(struct worker *w, struct burst *b)
{
	trace_stage(w, b, UPF_STAGE_LOOKUP);
	pdr_burst(w, b);
	trace_stage(w, b, UPF_STAGE_PDR);
	qer_burst(w, b);
	trace_stage(w, b, UPF_STAGE_QER);
	worker_leave(w, b);
}

// Packets with a key: what another worker handed over takes this way again, too, for the key may have
// changed hands meanwhile.
static void
worker_serve(struct worker *w, struct burst *b)
{
	lookup_burst(w, b);
	handoff_burst(w, b);
	worker_forward(w, b);
	if (unlikely(w->end_markers.n != 0))
		end_markers_leave(w);
}

// Packets that waited for their rate and are due: before any that come now.
static unsigned
worker_release(struct worker *w, struct burst *b)
{
	unsigned work = 0;

	for (shaper_take(w, b); b->n != 0; shaper_take(w, b)) {
		work += b->n;
		worker_leave(w, b);
	}
	return work;
}

static void
worker_tick(struct worker *w)
{
	w->next_tick = w->now + w->tsc_hz / TICKS_PER_SECOND;
	for (enum upf_port port = 0; port < w->ports; port++)
		neigh_tick(w, port);
	reassembly_tick(w);
	buffer_tick(w);
	if (w->index == 0)
		qer_sweep(&w->sweeper, &w->slots, w->now, w->tsc_hz);
}

unsigned
worker_poll(struct worker *w)
{
	struct burst *b = &w->burst;
	unsigned work = 0;

	w->now = rte_rdtsc();
	work += worker_take_commands(w);
	if (unlikely(w->shaper.packets != 0))
		work += worker_release(w, b);
	for (enum upf_port port = 0; port < w->ports; port++) {
		worker_rx(w, b, port);
		trace_rx(w, b, port);
		work += b->n;
		parse_burst(w, b, port);
		worker_serve(w, b);
	}
	if (w->workers > 1) {
		work += handoff_take(w, b);
		worker_serve(w, b);
	}
	if (unlikely(w->own.n != 0)) {
		work += own_packets_take(w, b);
		parse_burst(w, b, UPF_PORT_N6);
		worker_serve(w, b);
	}
	if (w->now >= w->next_tick)
		worker_tick(w);
	// After the timers, which may release, too.
	if (w->buffers.release_first != NULL) {
		b->n = 0;
		buffer_take(w, b);
		work += b->n;
		worker_forward(w, b);
	}
	for (enum upf_port port = 0; port < w->ports; port++)
		worker_flush(w, port);
	if (unlikely(w->buffers.changed))
		buffer_show_waiting(w);
	if (unlikely(w->shaper.changed))
		shaper_show_waiting(w);
	if (w->events_raised)
		worker_wake_control(w);
	// No rules of any session are held any more: session.h.
	rte_rcu_qsbr_quiescent(w->sessions->qsbr, w->index);
	return work;
}

// Busy cycles are those of polls that found something, so that the figure is the true load and not
// the 100 % that a polling core always shows.
int
worker_run(void *arg)
{
	struct worker *w = arg;
	uint64_t last;

	prctl(PR_SET_TIMERSLACK, 1UL);
	w->stats->lcore = rte_lcore_id();
	rte_rcu_qsbr_thread_register(w->sessions->qsbr, w->index);
	rte_rcu_qsbr_thread_online(w->sessions->qsbr, w->index);
	w->now = last = rte_rdtsc();
	sleep_begin(w);
	for (enum upf_port port = 0; port < w->ports; port++)
		neigh_announce(w, port);
	// Relaxed: the flag carries nothing but itself.
	while (__atomic_load_n(w->stop, __ATOMIC_RELAXED) == 0) {
		unsigned work = worker_poll(w);
		uint64_t now;

		if (work == 0)
			sleep_after_empty_poll(w);
		else
			sleep_after_work(&w->sleeper);
		// A busy worker that shares its CPU lets the control thread run now and then.
		if (w->shares_cpu && work != 0 && w->now >= w->next_yield) {
			sched_yield();
			w->next_yield = w->now + w->tsc_hz / 20000;
		}
		now = rte_rdtsc();
		shm_add(work != 0 ? &w->stats->cycles_busy : &w->stats->cycles_idle, now - last);
		shm_add(&w->stats->polls, 1);
		if (work == 0)
			shm_add(&w->stats->polls_empty, 1);
		last = now;
	}
	rte_rcu_qsbr_thread_offline(w->sessions->qsbr, w->index);
	rte_rcu_qsbr_thread_unregister(w->sessions->qsbr, w->index);
	return 0;
}

// ---- life --------------------------------------------------------------------------------------

static struct rte_ring *
create_ring(const char *what, unsigned index, unsigned element, unsigned places, unsigned flags)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "%s%u", what, index);
	return rte_ring_create_elem(name, element, places, (int)rte_socket_id(), flags);
}

// Of a hand-off ring. All of them together take an eighth of the packet buffers, and what waits in
// downlink buffers half of them (config.c), so that a worker that stands still, or UEs that do not
// come, leave some to the packets of others.
static unsigned
handoff_places(const struct config *config)
{
	unsigned places = RING_SIZE;

	while (places > HANDOFF_LEAST &&
		(uint64_t)places * config->workers > config->limits.mbufs / 8)
		places /= 2;
	return places;
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
	w->sleeper = shared->sleepers[index];
	if (limits->error_indications != 0)
		w->error_cost = w->tsc_hz / limits->error_indications;
	if (limits->icmp_errors != 0)
		w->icmp_cost = w->tsc_hz / limits->icmp_errors;
	w->config = config;
	w->mss_room = mss_room(config);
	w->ports = config->ports;
	for (enum upf_port port = 0; port < w->ports; port++) {
		port_init(&w->port[port], port, config);
		w->port[port].ethdev = shared->ethdev[port];
		rte_eth_macaddr_get(shared->ethdev[port], &w->port[port].mac);
		w->port[port].vlan_offload = eal_port_inserts_vlan(shared->ethdev[port]);
		if (w->port[port].ip6 && neigh_init6(w, port) < 0) {
			worker_free(w);
			return NULL;
		}
	}
	if (config->reassembly.packets != 0) {
		w->reassembly = reassembly_create(w);
		if (w->reassembly == NULL) {
			worker_free(w);
			return NULL;
		}
	}
	w->commands = create_ring("commands", index, sizeof(struct command), RING_SIZE,
		RING_F_SP_ENQ | RING_F_SC_DEQ);
	w->events = create_ring(
		"events", index, sizeof(struct event), RING_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ);
	w->handoff = create_ring(
		"handoff", index, sizeof(void *), handoff_places(config), RING_F_SC_DEQ);
	if (w->commands == NULL || w->events == NULL || w->handoff == NULL ||
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
	reassembly_free(w->reassembly);
	trace_free(w);
	buffer_free(&w->buffers);
	shaper_free(&w->shaper);
	if (w->handoff != NULL) {
		void *m;

		while (rte_ring_sc_dequeue(w->handoff, &m) == 0)
			rte_pktmbuf_free(m);
	}
	rte_ring_free(w->handoff);
	rte_ring_free(w->events);
	rte_ring_free(w->commands);
	rte_free(w);
}
