// A worker's loop, and the way of a packet in one function.
#include "packet/worker.h"

#include <sched.h>
#include <sys/prctl.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_rcu_qsbr.h>

#include "link/gateways.h"
#include "link/neigh.h"
#include "link/neigh_message.h"
#include "packet/bridge.h"
#include "packet/buffer.h"
#include "packet/commands.h"
#include "packet/detection.h"
#include "packet/end_marker.h"
#include "packet/events.h"
#include "packet/forwards_only.h"
#include "packet/handoff.h"
#include "packet/icmp_error.h"
#include "packet/nat.h"
#include "packet/outbox.h"
#include "packet/own_packets.h"
#include "packet/packet.h"
#include "packet/reassembly.h"
#include "packet/receive.h"
#include "packet/send.h"
#include "packet/shaper.h"
#include "packet/silence.h"
#include "packet/sleep.h"
#include "packet/stages.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/qer_clock.h"

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
	if (unlikely(w->nat != NULL))
		nat_fetch_out(w, b);
	qer_burst(w, b);
	trace_stage(w, b, UPF_STAGE_QER);
	worker_leave(w, b);
}

// Packets with a key, which seem to be at home here.
static void
worker_serve(struct worker *w, struct burst *b)
{
	lookup_burst(w, b);
	handoff_burst(w, b);
	worker_forward(w, b);
	if (unlikely(w->end_markers.n != 0))
		end_markers_leave(w);
}

// What other workers have handed over.
static unsigned
worker_take_over(struct worker *w, struct burst *b)
{
	unsigned work = 0, n;

	while ((n = handoff_take(w, b)) != 0) {
		work += n;
		worker_serve(w, b);
	}
	return work;
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
	w->next_tick = w->now + w->tsc_hz / WORKER_TICKS_PER_SECOND;
	for (enum upf_port port = 0; port < w->ports && !worker_forwards_only(w); port++)
		neigh_tick(w, port);
	if (!worker_forwards_only(w))
		gateways_tick(w);
	reassembly_tick(w);
	nat_tick(w);
	detection_tick(w);
	bridge_tick(w);
	buffer_tick(w);
	silence_tick(w);
	if (w->index == 0)
		qer_sweep(&w->sweeper, &w->slots, w->now, w->tsc_hz);
}

unsigned
worker_poll(struct worker *w)
{
	struct burst *b = &w->burst;
	unsigned work = 0;

	w->now = rte_rdtsc();
	if (silence_holds(w)) {
		work = silence_poll(w);
		rte_rcu_qsbr_quiescent(w->sessions->qsbr, w->index);
		return work;
	}
	work += worker_take_commands(w);
	if (unlikely(w->shaper.packets != 0))
		work += worker_release(w, b);
	if (w->workers > 1)
		work += worker_take_over(w, b);
	for (unsigned i = 0; i < w->devices; i++) {
		worker_rx(w, b, w->device[i]);
		trace_rx(w, b);
		work += b->n;
		parse_burst(w, b, w->device[i]);
		if (w->workers > 1)
			handoff_guess_burst(w, b);
		worker_serve(w, b);
	}
	if (unlikely(w->unreachable.n != 0))
		icmp_tell_unreachable(w);
	if (unlikely(w->own.n != 0)) {
		work += own_packets_take(w, b);
		parse_any_burst(w, b);
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
		if (w->tx[port].n != 0)
			worker_flush(w, port);
	if (unlikely(w->buffers.changed))
		buffer_show_waiting(w);
	if (unlikely(w->shaper.changed))
		shaper_show_waiting(w);
	if (w->workers > 1)
		outbox_pass(w);
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
	for (enum upf_port port = 0; port < w->ports && !w->silent; port++)
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
