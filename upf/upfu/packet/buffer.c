#include "packet/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "packet/buffer_state.h"
#include "packet/drop.h"
#include "packet/events.h"
#include "packet/lookup.h"
#include "packet/message.h"
#include "packet/packet.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/session.h"

#define NO_BAR UPF_SESSION_BARS
#define LOOKS_PER_TICK 4096u // at queues, and at packets that may have waited too long

int
buffer_init(struct buffer_store *store, const struct buffer_bounds *bounds)
{
	uint32_t packets_max = bounds->packets;
	uint32_t size = 2;

	while (size < packets_max * 2)
		size *= 2;
	memset(store, 0, sizeof(*store));
	store->bounds = *bounds;
	store->index_mask = size - 1;
	store->index = calloc(size, sizeof(struct buffer_queue *));
	store->all = calloc(packets_max, sizeof(*store->all));
	store->notice_all = calloc(packets_max, sizeof(*store->notice_all));
	if (store->index == NULL || store->all == NULL || store->notice_all == NULL) {
		buffer_free(store);
		return -1;
	}
	for (uint32_t i = 0; i < packets_max; i++) {
		store->all[i].next = store->free;
		store->free = &store->all[i];
		store->notice_all[i].next = store->notice_free;
		store->notice_free = &store->notice_all[i];
	}
	return 0;
}

void
buffer_free(struct buffer_store *store)
{
	for (uint32_t i = 0; store->all != NULL && i < store->bounds.packets; i++) {
		struct rte_mbuf *m = store->all[i].first, *next;

		for (uint32_t n = store->all[i].n; n > 0; n--, m = next) {
			next = m->next;
			m->next = NULL;
			rte_pktmbuf_free(m);
		}
	}
	free(store->notice_all);
	free(store->all);
	free(store->index);
	memset(store, 0, sizeof(*store));
}

// ---- the index -----------------------------------------------------------------------------------

static struct buffer_queue **
index_place(const struct buffer_store *store, uint32_t session, enum upf_direction direction)
{
	uint32_t key = session * 2 + direction;
	struct buffer_queue **place =
		&store->index[(key * UINT32_C(0x9e3779b1) >> 7) & store->index_mask];

	while (*place != NULL && ((*place)->session != session || (*place)->direction != direction))
		place = &(*place)->same_hash;
	return place;
}

static struct buffer_queue *
queue_find(const struct buffer_store *store, uint32_t session, enum upf_direction direction)
{
	return store->queues != 0 ? *index_place(store, session, direction) : NULL;
}

static struct buffer_queue *
queue_of_part(const struct buffer_store *store, const struct part *part)
{
	return queue_find(store, part->session, (enum upf_direction)part->direction);
}

bool
buffer_is_waiting(const struct buffer_store *store, const struct pkt *p)
{
	const struct buffer_queue *q = queue_of_part(store, p->part);

	return q != NULL && q->n != 0;
}

static struct buffer_queue *
queue_open(struct buffer_store *store, const struct part *part)
{
	struct buffer_queue *q = store->free;

	if (q == NULL)
		return NULL;
	store->free = q->next;
	*q = (struct buffer_queue){
		.session = part->session,
		.incarnation = part->incarnation,
		.direction = (enum upf_direction)part->direction,
		.opened = ++store->opened,
		.due = UINT64_MAX,
		.before = q,
		.after = q,
	};
	*index_place(store, q->session, q->direction) = q;
	if (store->open != NULL) {
		q->after = store->open;
		q->before = store->open->before;
		q->before->after = q;
		q->after->before = q;
	}
	store->open = q;
	store->queues++;
	return q;
}

static void
queue_close(struct buffer_store *store, struct buffer_queue *q)
{
	*index_place(store, q->session, q->direction) = q->same_hash;
	q->before->after = q->after;
	q->after->before = q->before;
	if (store->open == q)
		store->open = q->after != q ? q->after : NULL;
	store->queues--;
	q->next = store->free;
	store->free = q;
}

// ---- packets in and out --------------------------------------------------------------------------

static struct pkt *
saved(const struct rte_mbuf *m)
{
	return rte_mbuf_to_priv((struct rte_mbuf *)(uintptr_t)m);
}

// before: the packet in front of it, NULL for the first.
static void
queue_link(struct buffer_store *store, struct buffer_queue *q, struct rte_mbuf *before,
	struct rte_mbuf *m)
{
	struct rte_mbuf **at = before == NULL ? &q->first : &before->next;

	m->next = *at;
	*at = m;
	if (q->last == before)
		q->last = m;
	q->held[saved(m)->bar]++;
	q->n++;
	q->octets += saved(m)->ip_len;
	if (q->due > saved(m)->until)
		q->due = saved(m)->until;
	store->packets++;
	store->octets += saved(m)->ip_len;
	store->changed = true;
}

static void
queue_unlink(struct buffer_store *store, struct buffer_queue *q, struct rte_mbuf *before,
	struct rte_mbuf *m)
{
	if (before == NULL)
		q->first = m->next;
	else
		before->next = m->next;
	if (q->last == m)
		q->last = before;
	if (q->kept_last == m)
		q->kept_last = before;
	m->next = NULL;
	q->held[saved(m)->bar]--;
	q->n--;
	q->octets -= saved(m)->ip_len;
	store->packets--;
	store->octets -= saved(m)->ip_len;
	store->changed = true;
}

// The next one of the round.
static struct rte_mbuf *
queue_take(struct buffer_store *store, struct buffer_queue *q)
{
	struct rte_mbuf *m = q->kept_last != NULL ? q->kept_last->next : q->first;

	q->release--;
	queue_unlink(store, q, q->kept_last, m);
	return m;
}

// Its part may be gone.
static void
drop_saved(struct worker *w, struct rte_mbuf *m, enum upf_drop reason)
{
	const struct pkt *p = saved(m);

	worker_drop_of(w, (enum upf_port)p->port, p->group, m, reason);
}

static void
queue_drop(struct worker *w, struct buffer_queue *q)
{
	while (q->n != 0) {
		struct rte_mbuf *m = q->first;

		queue_unlink(&w->buffers, q, NULL, m);
		drop_saved(w, m, UPF_DROP_BUFFER_RELEASED);
	}
	q->kept = q->release = 0;
}

// Drops the packets that `is_wanted` says, at most max; keeps the round's counts.
static void
queue_filter(struct worker *w, struct buffer_queue *q, uint32_t max, enum upf_drop reason,
	bool (*is_wanted)(const struct worker *w, const struct pkt *p, uint8_t bar), uint8_t bar)
{
	struct rte_mbuf *before = NULL, *m = q->first, *next;
	uint32_t kept = q->kept, release = q->release; // of those not looked at yet

	for (; m != NULL && max > 0; m = next) {
		bool drop = is_wanted(w, saved(m), bar);

		next = m->next;
		if (drop) {
			queue_unlink(&w->buffers, q, before, m);
			drop_saved(w, m, reason);
			q->kept -= kept > 0;
			q->release -= kept == 0 && release > 0;
			max--;
		} else {
			before = m;
		}
		if (kept > 0)
			kept--;
		else
			release -= release > 0;
	}
}

static bool
is_of_bar(const struct worker *w, const struct pkt *p, uint8_t bar)
{
	(void)w;
	return p->bar == bar;
}

static bool
is_any(const struct worker *w, const struct pkt *p, uint8_t bar)
{
	(void)w;
	(void)p;
	(void)bar;
	return true;
}

static bool
has_expired(const struct worker *w, const struct pkt *p, uint8_t bar)
{
	(void)bar;
	return w->now >= p->until;
}

static void
release_list_add(struct buffer_store *store, struct buffer_queue *q)
{
	q->next = NULL;
	if (store->release_first == NULL)
		store->release_first = q;
	else
		store->release_last->next = q;
	store->release_last = q;
}

// Begins a round with all that waits.
static void
queue_release(struct buffer_store *store, struct buffer_queue *q)
{
	q->kept = 0;
	q->kept_last = NULL;
	q->release = q->n;
	if (!q->releasing)
		release_list_add(store, q);
	q->releasing = true;
}

// Lets the last one out. What this round has put back already stays: begun anew with each packet, no
// round would come to its end.
static void
queue_release_last(struct buffer_store *store, struct buffer_queue *q)
{
	if (q->releasing)
		q->release = q->n - q->kept;
	else
		queue_release(store, q);
}

// The next packet raises the event; one that waits for its delay is void.
static void
queue_tell_anew(struct buffer_store *store, struct buffer_queue *q)
{
	memset(q->again, 0, sizeof(q->again));
	q->told = 0;
	q->opened = ++store->opened;
}

static struct buffer_queue *
queue_of(struct worker *w, const struct pkt *p)
{
	struct buffer_queue *q = queue_of_part(&w->buffers, p->part);

	if (q == NULL)
		return queue_open(&w->buffers, p->part);
	if (q->incarnation != p->part->incarnation) {
		// The index was used anew before the command about the old session came.
		queue_drop(w, q);
		q->incarnation = p->part->incarnation;
		queue_tell_anew(&w->buffers, q);
	}
	return q;
}

// ---- Downlink Data events ------------------------------------------------------------------------

static uint32_t
listener_of(const struct worker *w)
{
	// Relaxed: it carries nothing but itself.
	return w->listener != NULL ? __atomic_load_n(w->listener, __ATOMIC_RELAXED) : 0;
}

// As buffer_queue.told.
static uint32_t
upfc_of(uint32_t listener)
{
	return listener / 2 + 1;
}

static bool
raise_dl_data(struct worker *w, struct buffer_queue *q, const struct upf_ev_dl_data *dl_data)
{
	struct event event = {.dl_data = *dl_data};

	if (!worker_raise(w, &event))
		return false;
	q->told = upfc_of(listener_of(w));
	return true;
}

static uint8_t
tos_of(const struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	rte_be32_t first;

	if (p->part->ethernet)
		return 0;
	if (!p->ip6)
		return ip->type_of_service;
	memcpy(&first, ip, sizeof(first));
	return (uint8_t)(rte_be_to_cpu_32(first) >> 20);
}

// duration: TSC cycles for which nothing more is said.
static void
notify(struct worker *w, struct buffer_queue *q, const struct pkt *p, const struct upf_bar *bar,
	uint64_t duration)
{
	struct buffer_store *store = &w->buffers;
	struct buffer_notice *notice = store->notice_free;
	struct upf_ev_dl_data event = {
		.rec = {.type = UPF_REC_EV_DL_DATA, .length = sizeof(event)},
		.session = p->part->session,
		.pdr_id = p->pdr->pdr_id,
		.qfi = p->pdr->out_qfi,
		.tos = tos_of(p),
	};

	if (bar == NULL || bar->delay_ms == 0 || notice == NULL) {
		// If the ring is full, the next packet tries again.
		if (raise_dl_data(w, q, &event))
			q->again[p->bar] = w->now + duration;
		return;
	}
	store->notice_free = notice->next;
	*notice = (struct buffer_notice){
		.next = store->notices,
		.due = w->now + w->tsc_hz / 1000 * bar->delay_ms,
		.opened = q->opened,
		.bar = p->bar,
		.event = event,
	};
	store->notices = notice;
	q->again[p->bar] = notice->due + duration;
	if (w->next_tick > notice->due)
		w->next_tick = notice->due;
}

// Raises what is due, unless packets have passed or the queue was emptied meanwhile.
static void
tick_notices(struct worker *w)
{
	struct buffer_store *store = &w->buffers;
	struct buffer_notice **at = &store->notices;

	while (*at != NULL) {
		struct buffer_notice *notice = *at;
		struct buffer_queue *q = queue_find(store, notice->event.session, UPF_DL);
		bool stale = q == NULL || q->opened != notice->opened || q->n == 0;

		if (!stale && (w->now < notice->due || !raise_dl_data(w, q, &notice->event))) {
			if (w->next_tick > notice->due && notice->due > w->now)
				w->next_tick = notice->due;
			at = &notice->next;
			continue;
		}
		// What it was about is gone before anybody was told: the next packet begins anew.
		if (q != NULL && q->opened == notice->opened && q->n == 0)
			q->again[notice->bar] = 0;
		*at = notice->next;
		notice->next = store->notice_free;
		store->notice_free = notice;
	}
}

// ---- the stages' side ----------------------------------------------------------------------------

static bool
has_room(const struct buffer_store *store, const struct buffer_queue *q, uint32_t octets)
{
	const struct buffer_bounds *bounds = &store->bounds;

	return q->n < bounds->session_packets && store->packets < bounds->packets &&
		q->octets + octets <= bounds->session_octets &&
		store->octets + octets <= bounds->octets;
}

// Would the packet find room if all that waits for its session went?
static bool
could_have_room(const struct buffer_store *store, const struct buffer_queue *q, uint32_t octets)
{
	const struct buffer_bounds *bounds = &store->bounds;

	return store->packets - q->n < bounds->packets && octets <= bounds->session_octets &&
		store->octets - q->octets + octets <= bounds->octets;
}

// Makes room for a packet by the BAR (NULL: none). False: the packet itself has to go, and nothing
// else went for it.
static bool
make_room(struct worker *w, struct buffer_queue *q, const struct pkt *p, const struct upf_bar *bar)
{
	struct buffer_store *store = &w->buffers;
	bool bar_full = bar != NULL && bar->packets_max != 0 && q->held[p->bar] >= bar->packets_max;

	if (!bar_full && has_room(store, q, p->ip_len))
		return true;
	if (!store->bounds.drop_oldest || !could_have_room(store, q, p->ip_len))
		return false;
	if (bar_full)
		queue_filter(w, q, 1, UPF_DROP_BUFFER_FULL, is_of_bar, p->bar);
	while (!has_room(store, q, p->ip_len))
		queue_filter(w, q, 1, UPF_DROP_BUFFER_FULL, is_any, 0);
	return true;
}

static void
hold_until(struct worker *w, struct buffer_queue *q, struct pkt *p, const struct upf_bar *bar,
	uint64_t duration)
{
	bool by_bar = bar != NULL && bar->duration_ms != 0;

	if (!p->released) {
		p->until = w->now + duration;
		p->held = by_bar ? PKT_HELD_BAR : 0;
		shm_add(&w->stats->local.buffered, 1);
	} else if (by_bar && (p->held & PKT_HELD_BAR) == 0) {
		// The answer to the report brought the duration (TS 29.244 7.5.9.2).
		p->until = w->now + duration;
		p->held |= PKT_HELD_BAR;
		if (q->again[p->bar] != 0)
			q->again[p->bar] = p->until;
	}
	if ((p->pdr->action & UPF_FAR_FORW) == 0)
		p->held |= PKT_HELD_FAR;
}

int
buffer_hold(struct worker *w, struct pkt *p, bool notify_first)
{
	struct buffer_store *store = &w->buffers;
	struct buffer_queue *q = queue_of(w, p);
	const struct upf_bar *bar = NULL;
	uint64_t duration = store->bounds.duration;

	if (q == NULL)
		return UPF_DROP_BUFFER_FULL;
	p->bar = NO_BAR;
	if (p->pdr->bar < p->part->n_bar) {
		p->bar = p->pdr->bar;
		bar = part_at(p->part,
			part_more(p->part)->bar + p->bar * (uint32_t)sizeof(struct upf_bar));
	}
	if (bar != NULL && bar->duration_ms != 0)
		duration = w->tsc_hz / 1000 * bar->duration_ms;
	if (notify_first && q->direction == UPF_DL && w->now >= q->again[p->bar])
		notify(w, q, p, bar, duration);
	if (!make_room(w, q, p, bar))
		return UPF_DROP_BUFFER_FULL;
	hold_until(w, q, p, bar, duration);
	p->group = p->part->group;
	// What parsing found travels with the packet.
	*saved(p->m) = *p;
	if (p->released) {
		queue_link(store, q, q->kept_last, p->m);
		q->kept_last = p->m;
		q->kept++;
	} else {
		queue_link(store, q, q->last, p->m);
	}
	if (unlikely(w->trace != NULL))
		trace_buffered(w, p->m);
	// It met a FAR that forwards while others wait: all of them may go now.
	if ((p->pdr->action & UPF_FAR_FORW) != 0)
		queue_release_last(store, q);
	return PKT_TAKEN;
}

void
buffer_passed(struct worker *w, const struct pkt *p)
{
	struct buffer_queue *q = queue_of_part(&w->buffers, p->part);

	shm_add(&w->stats->local.buffered_released, 1);
	if (q != NULL && (p->held & PKT_HELD_FAR) != 0)
		queue_tell_anew(&w->buffers, q);
}

void
buffer_rules_changed(struct worker *w, uint32_t session)
{
	for (unsigned direction = 0; direction < 2; direction++) {
		struct buffer_queue *q =
			queue_find(&w->buffers, session, (enum upf_direction)direction);

		if (q != NULL)
			queue_release(&w->buffers, q);
	}
}

void
buffer_forget(struct worker *w, uint32_t session)
{
	for (unsigned direction = 0; direction < 2; direction++) {
		struct buffer_queue *q =
			queue_find(&w->buffers, session, (enum upf_direction)direction);

		if (q == NULL)
			continue;
		queue_drop(w, q);
		if (!q->releasing)
			queue_close(&w->buffers, q);
	}
}

// What to do with a queue whose round is over.
static void
queue_settle(struct buffer_store *store, struct buffer_queue *q)
{
	store->release_first = q->next;
	q->next = NULL;
	q->releasing = false;
	q->kept = 0;
	q->kept_last = NULL;
	if (q->n == 0)
		queue_close(store, q);
}

// The part that the packet belongs to now; NULL when it went away with its session.
static const struct part *
part_of(const struct worker *w, const struct buffer_queue *q, const struct pkt *p)
{
	arena_ref ref = lookup_key(w, p);
	const struct part *part;

	if (ref == BUCKETMAP_NONE)
		return NULL;
	part = session_part(w->sessions, ref);
	return part->session == q->session && part->incarnation == q->incarnation ? part : NULL;
}

void
buffer_take(struct worker *w, struct burst *b)
{
	struct buffer_store *store = &w->buffers;

	while (b->n < BURST && store->release_first != NULL) {
		struct buffer_queue *q = store->release_first;
		struct pkt *p = &b->pkt[b->n];
		struct rte_mbuf *m;

		if (q->release == 0) {
			// Packets of this very burst may come back to the queue.
			if (b->n != 0)
				break;
			queue_settle(store, q);
			continue;
		}
		m = queue_take(store, q);
		*p = *saved(m);
		p->m = m;
		p->released = 1;
		p->part = part_of(w, q, p);
		if (p->part == NULL)
			drop_saved(w, m, UPF_DROP_BUFFER_RELEASED);
		else if (w->now >= p->until)
			drop_saved(w, m, UPF_DROP_BUFFER_EXPIRED);
		else
			b->live[b->n++] = p;
	}
	// Another queue's turn.
	if (store->release_first != NULL && store->release_first->next != NULL) {
		struct buffer_queue *q = store->release_first;

		store->release_first = q->next;
		release_list_add(store, q);
	}
}

static void
queue_expire(struct worker *w, struct buffer_queue *q)
{
	queue_filter(w, q, UINT32_MAX, UPF_DROP_BUFFER_EXPIRED, has_expired, 0);
	q->due = UINT64_MAX;
	for (const struct rte_mbuf *m = q->first; m != NULL; m = m->next) {
		if (q->due > saved(m)->until)
			q->due = saved(m)->until;
	}
}

// Would a packet of some BAR raise no event now? Then the queue must be remembered though it is empty.
static bool
queue_is_quiet(const struct worker *w, const struct buffer_queue *q)
{
	for (unsigned bar = 0; bar < BUFFER_BARS; bar++) {
		if (w->now < q->again[bar])
			return true;
	}
	return false;
}

void
buffer_tick(struct worker *w)
{
	struct buffer_store *store = &w->buffers;
	uint32_t listener = listener_of(w), queues = store->queues, looks = 0;

	tick_notices(w);
	for (; queues > 0 && looks < LOOKS_PER_TICK && store->open != NULL; queues--) {
		struct buffer_queue *q = store->open;

		store->open = q->after;
		looks++;
		if (w->now >= q->due) {
			looks += q->n;
			queue_expire(w, q);
		}
		if (listener % 2 != 0 && q->told != 0 && q->told != upfc_of(listener)) {
			queue_tell_anew(store, q);
			queue_release(store, q);
		}
		if (q->n == 0 && !q->releasing && !queue_is_quiet(w, q))
			queue_close(store, q);
	}
}

void
buffer_show_waiting(struct worker *w)
{
	struct upf_local_stats *local = &w->stats->local;

	w->buffers.changed = false;
	__atomic_store_n(&local->buffer_waiting, w->buffers.packets, __ATOMIC_RELAXED);
	__atomic_store_n(&local->buffer_waiting_octets, w->buffers.octets, __ATOMIC_RELAXED);
}
