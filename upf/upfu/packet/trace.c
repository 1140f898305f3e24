#include "packet/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include "packet/message.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

#define TRACE_RING (1u << 20) // octets, a power of two
#define NO_SESSION UINT32_MAX

// In the mbuf of a followed packet. A mark of an earlier order is nobody's any more.
struct mark {
	uint64_t packet; // order in the upper 16 bits, worker in the next 8
	uint32_t session;
	uint16_t pdr_id;
	uint8_t port; // by which it came
	uint8_t sent; // whoever bears the mark now is another packet in the same memory
};
static_assert(sizeof(struct mark) == 16, "mbufs have 36 octets for such fields");

struct trace {
	// The worker's. Positions in the ring only grow.
	uint64_t head;
	uint32_t *budget; // packets that may still be followed: worker 0's, for all
	uint32_t flags;   // UPF_TRACE_*
	uint32_t session;
	uint32_t packets;       // numbered so far
	int field;              // the mark's offset in an mbuf
	uint32_t shared_budget; // worker 0's
	uint16_t order;
	uint16_t snap;
	// The control thread's:
	uint64_t tail;
	uint16_t orders; // worker 0's: how many there were
	uint8_t ring[TRACE_RING] __rte_cache_aligned;
};

// ---- the ring ----------------------------------------------------------------------------------

static void
ring_write(struct trace *t, uint64_t at, const void *data, size_t length)
{
	size_t from = at & (TRACE_RING - 1), first = RTE_MIN(length, TRACE_RING - from);

	memcpy(t->ring + from, data, first);
	memcpy(t->ring, (const uint8_t *)data + first, length - first);
}

static void
ring_read(const struct trace *t, uint64_t at, void *data, size_t length)
{
	size_t from = at & (TRACE_RING - 1), first = RTE_MIN(length, TRACE_RING - from);

	memcpy(data, t->ring + from, first);
	memcpy((uint8_t *)data + first, t->ring, length - first);
}

static struct mark *
mark_of(const struct trace *t, struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, t->field, struct mark *);
}

static bool
is_followed(const struct trace *t, const struct mark *mark)
{
	return mark->packet >> 48 == t->order && mark->sent == 0;
}

// octets: of the frame that go along, at most.
static void
record(struct worker *w, struct rte_mbuf *m, enum upf_stage stage, enum upf_port port,
	enum upf_drop reason, uint32_t octets)
{
	struct trace *t = w->trace;
	const struct mark *mark = mark_of(t, m);
	uint8_t scratch[TRACE_SNAP_MAX + 8];
	uint32_t captured = RTE_MIN(octets, rte_pktmbuf_pkt_len(m));
	uint32_t length = (uint32_t)(sizeof(struct upf_ev_trace) + captured + 7) & ~UINT32_C(7);
	struct upf_ev_trace event = {
		.rec = {.type = UPF_REC_EV_TRACE, .length = length},
		.tsc = rte_rdtsc(),
		.packet = mark->packet,
		.session = mark->session,
		.pdr_id = mark->pdr_id,
		.stage = (uint8_t)stage,
		.port = (uint8_t)port,
		.drop = (uint16_t)reason,
		.worker = (uint16_t)w->index,
		.length = (uint16_t)rte_pktmbuf_pkt_len(m),
		.captured = (uint16_t)captured,
	};
	size_t padded = length - sizeof(event);

	// Acquire: pairs with trace_done(); what was read may be overwritten.
	if (t->head + length - __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) > TRACE_RING) {
		shm_add(&w->stats->local.trace_lost, 1);
		return;
	}
	ring_write(t, t->head, &event, sizeof(event));
	if (captured != 0) {
		const void *data = rte_pktmbuf_read(m, 0, captured, scratch);

		if (data != scratch)
			memcpy(scratch, data, captured);
		memset(scratch + captured, 0, padded - captured);
		ring_write(t, t->head + sizeof(event), scratch, padded);
	}
	// Release: pairs with trace_peek().
	__atomic_store_n(&t->head, t->head + length, __ATOMIC_RELEASE);
	w->events_raised = true;
}

// ---- the worker --------------------------------------------------------------------------------

void
trace_take_order(struct worker *w, const struct command *command)
{
	struct trace *t = w->trace_memory;

	if (command->trace.flags == 0) {
		w->trace = NULL;
		return;
	}
	t->flags = command->trace.flags;
	t->session = command->session;
	t->snap = command->trace.snap;
	t->order = command->trace.order;
	t->budget = &w->peers[0]->trace_memory->shared_budget;
	t->packets = 0;
	w->trace = t;
}

// Begins to follow a packet, if the order allows one more.
static bool
follow(struct worker *w, struct rte_mbuf *m, uint32_t session, enum upf_port port)
{
	struct trace *t = w->trace;
	uint32_t left = __atomic_load_n(t->budget, __ATOMIC_RELAXED);

	// Relaxed: the number carries nothing but itself.
	do {
		if (left == 0)
			return false;
	} while (!__atomic_compare_exchange_n(
		t->budget, &left, left - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*mark_of(t, m) = (struct mark){
		.packet = (uint64_t)t->order << 48 | (uint64_t)w->index << 40 | ++t->packets,
		.session = session,
		.port = (uint8_t)port,
	};
	shm_add(&w->stats->local.traced, 1);
	return true;
}

void
trace_burst_received(struct worker *w, const struct burst *b)
{
	struct trace *t = w->trace;

	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->live[i]->m;
		enum upf_port port = (enum upf_port)b->live[i]->port;

		*mark_of(t, m) = (struct mark){.port = (uint8_t)port};
		if ((t->flags & UPF_TRACE_ALL) != 0 && follow(w, m, NO_SESSION, port))
			record(w, m, UPF_STAGE_RX, port, 0, t->snap);
	}
}

static void
trace_packet(struct worker *w, const struct pkt *p, enum upf_stage stage)
{
	struct trace *t = w->trace;
	struct mark *mark = mark_of(t, p->m);

	if (!is_followed(t, mark)) {
		enum upf_port port = (enum upf_port)(mark->port < UPF_PORTS ? mark->port : 0);

		// Whose it is comes to light with the session; the frame is still as it was received.
		if ((t->flags & UPF_TRACE_SESSION) == 0 || p->part->session != t->session ||
			!follow(w, p->m, p->part->session, port))
			return;
		record(w, p->m, UPF_STAGE_RX, port, 0, t->snap);
	}
	mark->session = p->part->session;
	if (stage >= UPF_STAGE_PDR)
		mark->pdr_id = p->pdr->pdr_id;
	record(w, p->m, stage, (enum upf_port)mark->port, 0, 0);
}

void
trace_burst(struct worker *w, const struct burst *b, enum upf_stage stage)
{
	for (unsigned i = 0; i < b->n; i++)
		trace_packet(w, b->live[i], stage);
}

void
trace_dropped(struct worker *w, struct rte_mbuf *m, enum upf_drop reason)
{
	struct mark *mark = mark_of(w->trace, m);

	// A packet that the transmit queue refuses has been reported as sent.
	if (mark->packet >> 48 != w->trace->order ||
		(mark->sent != 0 && reason != UPF_DROP_TX_FULL))
		return;
	record(w, m, UPF_STAGE_DROP, (enum upf_port)mark->port, reason, 0);
	mark->sent = 1;
}

static void
record_wait(struct worker *w, struct rte_mbuf *m, enum upf_stage stage)
{
	const struct mark *mark = mark_of(w->trace, m);

	if (is_followed(w->trace, mark))
		record(w, m, stage, (enum upf_port)mark->port, 0, 0);
}

void
trace_buffered(struct worker *w, struct rte_mbuf *m)
{
	record_wait(w, m, UPF_STAGE_BUFFER);
}

void
trace_shaped(struct worker *w, struct rte_mbuf *m)
{
	record_wait(w, m, UPF_STAGE_SHAPER);
}

void
trace_frames_sent(struct worker *w, enum upf_port port, struct rte_mbuf *const *m, unsigned n)
{
	struct trace *t = w->trace;

	for (unsigned i = 0; i < n; i++) {
		struct mark *mark = mark_of(t, m[i]);

		// A frame of our own making, such as an ARP request, begins here.
		if (!is_followed(t, mark) &&
			((t->flags & UPF_TRACE_ALL) == 0 || !follow(w, m[i], NO_SESSION, port)))
			continue;
		record(w, m[i], UPF_STAGE_TX, port, 0, t->snap);
		mark->sent = 1;
	}
}

// ---- the control thread ------------------------------------------------------------------------

static int
create(struct worker *w)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "upf_trace_mark",
		.size = sizeof(struct mark),
		.align = __alignof__(struct mark),
	};
	struct trace *t;

	if (w->trace_memory != NULL)
		return 0;
	t = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*t));
	if (t == NULL)
		return ENOMEM;
	memset(t, 0, sizeof(*t));
	t->field = rte_mbuf_dynfield_register(&field); // the same offset each time
	if (t->field < 0) {
		free(t);
		return ENOMEM;
	}
	w->trace_memory = t;
	return 0;
}

int
trace_prepare(struct worker *const *worker, unsigned workers, const struct upf_trace *order)
{
	if ((order->flags & ~(UPF_TRACE_SESSION | UPF_TRACE_ALL)) != 0 ||
		order->snap > TRACE_SNAP_MAX)
		return EINVAL;
	for (unsigned i = 0; i < workers; i++) {
		int rc = create(worker[i]);

		if (rc != 0)
			return rc;
	}
	return 0;
}

struct command
trace_command_of(struct worker *const *worker, const struct upf_trace *order)
{
	struct trace *first = worker[0]->trace_memory;

	// 0 is what mbufs bear that were never followed.
	if (order->flags != 0 && ++first->orders == 0)
		first->orders = 1;
	// Relaxed: the command's ring orders it before whatever a worker does about this order.
	__atomic_store_n(&first->shared_budget, order->packets, __ATOMIC_RELAXED);
	return (struct command){
		.op = COMMAND_TRACE,
		.session = order->session,
		.trace =
			{
				.flags = order->flags,
				.snap = order->snap,
				.order = first->orders,
			},
	};
}

bool
trace_waiting(const struct worker *w)
{
	const struct trace *t = w->trace_memory;

	return t != NULL && __atomic_load_n(&t->head, __ATOMIC_ACQUIRE) != t->tail;
}

size_t
trace_peek(const struct worker *w, uint8_t *out, size_t room, uint32_t *records)
{
	const struct trace *t = w->trace_memory;
	size_t octets = 0;
	uint64_t end;

	*records = 0;
	if (t == NULL)
		return 0;
	// Acquire: pairs with record().
	end = __atomic_load_n(&t->head, __ATOMIC_ACQUIRE);
	while (t->tail + octets != end) {
		struct upf_record head;

		ring_read(t, t->tail + octets, &head, sizeof(head));
		if (octets + head.length > room)
			break;
		ring_read(t, t->tail + octets, out + octets, head.length);
		octets += head.length;
		++*records;
	}
	return octets;
}

void
trace_done(struct worker *w, size_t octets)
{
	struct trace *t = w->trace_memory;

	// Release: pairs with record().
	__atomic_store_n(&t->tail, t->tail + octets, __ATOMIC_RELEASE);
}

void
trace_free(struct worker *w)
{
	free(w->trace_memory);
	w->trace_memory = NULL;
}
