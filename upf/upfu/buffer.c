#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "shm.h"
#include "stages.h"
#include "trace.h"

int
buffer_init(
	struct buffer_store *store, uint32_t sessions, uint32_t packets_max, uint32_t session_max)
{
	memset(store, 0, sizeof(*store));
	store->sessions = sessions;
	store->packets_max = packets_max;
	store->session_max = session_max;
	store->of = calloc(sessions, sizeof(struct buffer_queue *));
	store->all = calloc(packets_max, sizeof(*store->all));
	if (store->of == NULL || store->all == NULL) {
		buffer_free(store);
		return -1;
	}
	for (uint32_t i = 0; i < packets_max; i++) {
		store->all[i].next = store->free;
		store->free = &store->all[i];
	}
	return 0;
}

static struct rte_mbuf *
queue_pop(struct buffer_store *store, struct buffer_queue *q)
{
	struct rte_mbuf *m = q->first;

	q->first = m->next;
	m->next = NULL;
	q->n--;
	store->packets--;
	return m;
}

void
buffer_free(struct buffer_store *store)
{
	for (uint32_t i = 0; store->all != NULL && i < store->packets_max; i++) {
		while (store->all[i].n != 0)
			rte_pktmbuf_free(queue_pop(store, &store->all[i]));
	}
	free(store->all);
	free(store->of);
	memset(store, 0, sizeof(*store));
}

bool
buffer_is_waiting(const struct buffer_store *store, const struct pkt *p)
{
	const struct buffer_queue *q = store->of[p->part->session];

	return q != NULL && q->n != 0;
}

static void
queue_close(struct buffer_store *store, struct buffer_queue *q)
{
	store->of[q->session] = NULL;
	store->queues--;
	q->next = store->free;
	store->free = q;
}

static void
queue_drop(struct worker *w, struct buffer_queue *q)
{
	while (q->n != 0)
		worker_drop(w, queue_pop(&w->buffers, q), UPF_DROP_BUFFER_RELEASED);
	q->release = 0;
}

static void
queue_release(struct buffer_store *store, struct buffer_queue *q)
{
	q->release = q->n;
	if (q->releasing)
		return;
	q->releasing = true;
	q->next = NULL;
	if (store->release_first == NULL)
		store->release_first = q;
	else
		store->release_last->next = q;
	store->release_last = q;
}

static struct buffer_queue *
queue_of(struct worker *w, const struct pkt *p)
{
	struct buffer_store *store = &w->buffers;
	struct buffer_queue *q = store->of[p->part->session];

	if (q == NULL) {
		q = store->free;
		if (q == NULL)
			return NULL;
		store->free = q->next;
		*q = (struct buffer_queue){
			.session = p->part->session,
			.incarnation = p->part->incarnation,
		};
		store->of[p->part->session] = q;
		store->queues++;
	} else if (q->incarnation != p->part->incarnation) {
		// The index was used anew before the command about the old session came.
		queue_drop(w, q);
		q->incarnation = p->part->incarnation;
		q->notified = false;
	}
	return q;
}

static void
notify(struct worker *w, struct buffer_queue *q, const struct pkt *p)
{
	struct event event = {
		.dl_data = {
			.rec = {.type = UPF_REC_EV_DL_DATA, .length = sizeof(event.dl_data)},
			.session = p->part->session,
			.pdr_id = p->pdr->pdr_id,
			.qfi = p->pdr->out_qfi,
			.tos = pkt_ip(p)->type_of_service,
		}};

	// If the ring is full, the next packet tries again.
	q->notified = worker_raise(w, &event);
}

int
buffer_hold(struct worker *w, struct pkt *p, bool notify_first)
{
	struct buffer_store *store = &w->buffers;
	struct buffer_queue *q = queue_of(w, p);

	if (q == NULL)
		return UPF_DROP_BUFFER_FULL;
	if (notify_first && !q->notified)
		notify(w, q, p);
	if (q->n >= store->session_max || store->packets >= store->packets_max)
		return UPF_DROP_BUFFER_FULL;
	// What parsing found travels with the packet.
	*(struct pkt *)rte_mbuf_to_priv(p->m) = *p;
	p->m->next = NULL;
	if (q->n == 0)
		q->first = p->m;
	else
		q->last->next = p->m;
	q->last = p->m;
	q->n++;
	store->packets++;
	if (unlikely(w->trace != NULL))
		trace_buffered(w, p->m);
	if (!p->released)
		shm_add(&w->stats->local.buffered, 1);
	// It met a FAR that forwards while others wait: all of them may go now.
	if ((p->pdr->action & UPF_FAR_FORW) != 0)
		queue_release(store, q);
	return PKT_TAKEN;
}

void
buffer_rules_changed(struct worker *w, uint32_t session)
{
	struct buffer_queue *q = w->buffers.of[session];

	if (q != NULL)
		queue_release(&w->buffers, q);
}

// What to do with a queue whose round is over.
static void
queue_settle(struct buffer_store *store, struct buffer_queue *q)
{
	const struct buffer_queue *next = q->next;

	store->release_first = (struct buffer_queue *)next;
	q->releasing = false;
	q->next = NULL;
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
		q->release--;
		m = queue_pop(store, q);
		*p = *(const struct pkt *)rte_mbuf_to_priv(m);
		p->m = m;
		p->released = 1;
		p->part = part_of(w, q, p);
		if (p->part == NULL)
			worker_drop(w, m, UPF_DROP_BUFFER_RELEASED);
		else
			b->live[b->n++] = p;
	}
}
