#include "packet/silence.h"

#include "link/neigh_message.h"
#include "packet/commands.h"
#include "packet/drop.h"
#include "packet/forwards_only.h"
#include "packet/handoff.h"
#include "packet/own_packets.h"
#include "packet/packet.h"
#include "packet/receive.h"
#include "packet/send.h"

#define ANNOUNCEMENTS 3u

static void
announce(struct worker *w)
{
	for (enum upf_port port = 0; port < w->ports; port++)
		neigh_announce(w, port);
}

bool
silence_is_over(struct worker *w)
{
	// Relaxed: pairs with apply_grant(); it carries nothing but itself.
	if (w->now >= __atomic_load_n(w->granted_until, __ATOMIC_RELAXED)) {
		w->silent = true;
		return false;
	}
	if (unlikely(w->silent)) {
		w->silent = false;
		// One says it for all.
		w->announcements = w->index == 0 ? ANNOUNCEMENTS : 0;
		silence_tick(w);
	}
	return true;
}

void
silence_tick(struct worker *w)
{
	if (worker_forwards_only(w))
		w->announcements = 0;
	if (w->announcements == 0)
		return;
	w->announcements--;
	announce(w);
}

static void
drop_burst(struct worker *w, struct burst *b)
{
	for (unsigned i = 0; i < b->n; i++)
		worker_drop(w, (enum upf_port)b->pkt[i].port, b->pkt[i].m, UPF_DROP_SILENT);
	b->n = 0;
}

unsigned
silence_poll(struct worker *w)
{
	struct burst *b = &w->burst;
	unsigned work = worker_take_commands(w), taken;

	for (unsigned i = 0; i < w->devices; i++) {
		worker_rx(w, b, w->device[i]);
		work += b->n;
		drop_burst(w, b);
	}
	while (w->workers > 1 && (taken = handoff_take(w, b)) != 0) {
		work += taken;
		drop_burst(w, b);
	}
	if (w->own.n != 0) {
		work += own_packets_take(w, b);
		drop_burst(w, b);
	}
	for (enum upf_port port = 0; port < w->ports; port++)
		if (w->tx[port].n != 0)
			worker_flush(w, port);
	// Timers rest, and whoever sleeps until the next one must not find it long due.
	w->next_tick = w->now + w->tsc_hz / WORKER_TICKS_PER_SECOND;
	return work;
}
