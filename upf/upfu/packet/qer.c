// QoS enforcement: gates, maximum and guaranteed bit rates (TS 29.244 5.4).

#include "packet/packet.h"
#include "packet/shaper.h"
#include "packet/stages.h"
#include "packet/urr.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/qer_clock.h"
#include "rules/session.h"

static inline uint64_t
clock_at(const uint64_t *tat)
{
	// Relaxed: pairs with clocks_start() and, in another worker, qer_sweep().
	return __atomic_load_n(tat, __ATOMIC_RELAXED);
}

static inline bool
is_due(const uint64_t *tat, uint64_t clock, uint64_t depth)
{
	// Signed: the difference of two clocks that wrap.
	return (int64_t)(clock_at(tat) - clock) <= (int64_t)depth;
}

static inline bool
conforms(const uint64_t *tat, uint64_t clock, uint64_t cost, uint64_t depth)
{
	return cost != QER_COST_BLOCKED && is_due(tat, clock, depth);
}

static inline void
charge(uint64_t *tat, uint64_t clock, uint64_t octets, uint64_t cost)
{
	uint64_t at = clock_at(tat), from = (int64_t)(at - clock) > 0 ? at : clock;

	// Relaxed: pairs with qer_sweep().
	__atomic_store_n(tat, from + octets * cost, __ATOMIC_RELAXED);
}

// How far a clock is ahead of what its bucket's depth allows; not above 0: the packet may pass.
static inline int64_t
excess(const uint64_t *tat, uint64_t clock, uint64_t depth)
{
	return (int64_t)(clock_at(tat) - clock) - (int64_t)depth;
}

// What the QERs of a PDR say of a packet.
struct opinion {
	bool has_gbr;    // one of them guarantees a rate
	bool guaranteed; // and the packet is within it
	bool blocked;    // the rate of one of them is 0
	int64_t own;     // excess of the MBRs of those that guarantee a rate, the greatest
	int64_t others;  // of the other MBRs
};

static struct opinion
ask(struct worker *w, const struct pdr *pdr, const struct pdr_qer *qer, uint64_t clock)
{
	struct opinion o = {0};

	for (unsigned i = 0; i < pdr->n_qer; i++) {
		int64_t *most = qer[i].gbr_cost != 0 ? &o.own : &o.others;
		int64_t above;

		if (qer[i].gbr_cost != 0) {
			o.has_gbr = true;
			o.guaranteed |=
				conforms(qer_tat(&w->slots, qer[i].gbr_slot, pdr->direction), clock,
					qer[i].gbr_cost, qer[i].depth);
		}
		if (qer[i].cost == QER_COST_BLOCKED)
			o.blocked = true;
		if (qer[i].cost == 0 || qer[i].cost == QER_COST_BLOCKED)
			continue;
		above = excess(
			qer_tat(&w->slots, qer[i].slot, pdr->direction), clock, qer[i].depth);
		*most = RTE_MAX(*most, above);
	}
	return o;
}

static void
charge_long(struct worker *w, const struct pkt *p, const struct pdr_qer *qer, uint64_t clock)
{
	const struct pdr *pdr = p->pdr;

	for (unsigned i = 0; i < pdr->n_qer; i++) {
		uint64_t *gbr = qer_tat(&w->slots, qer[i].gbr_slot, pdr->direction);

		// What is beyond the GBR does not use it up.
		if (qer[i].gbr_cost != 0 && conforms(gbr, clock, qer[i].gbr_cost, qer[i].depth))
			charge(gbr, clock, p->ip_len, qer[i].gbr_cost);
		if (qer[i].cost != 0 && qer[i].cost != QER_COST_BLOCKED)
			charge(qer_tat(&w->slots, qer[i].slot, pdr->direction), clock, p->ip_len,
				qer[i].cost);
	}
}

// With more than two QERs, guaranteed bit rates, an Averaging Window, or a rate of 0. A packet within a GBR is
// charged to all of its QERs, and those of others do not hold it up (TS 23.501 5.7.1.6: guaranteed flows
// come first). Of a flow with a GBR all packets, within it and beyond, wait for the flow's own MBR alone: that
// is how they stay in order.
static int
enforce_long(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	const struct pdr_qer *qer = part_at(p->part, pdr_more(p->part, pdr)->qer);
	const uint64_t clock = w->now << QER_FRACTION;
	struct opinion o = ask(w, pdr, qer, clock);
	int64_t wait = o.has_gbr ? o.own : o.others;
	bool held;

	if (!o.guaranteed && (o.blocked || (o.has_gbr && o.others > 0)))
		return UPF_DROP_MBR_EXCEEDED;
	if (o.guaranteed)
		wait = RTE_MIN(wait, (int64_t)w->shaper.longest);
	held = wait > 0 && shaper_has_room(&w->shaper, p, (uint64_t)wait);
	if (wait > 0 && !held && !o.guaranteed)
		return UPF_DROP_MBR_EXCEEDED;
	charge_long(w, p, qer, clock);
	return held ? shaper_hold(w, p, (uint64_t)wait) : PKT_NEXT;
}

// One of the usual QERs is ahead of its rate: the packet waits until none is, or goes.
static __attribute__((noinline)) int
enforce_later(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	const uint64_t clock = w->now << QER_FRACTION;
	int64_t wait = 0;

	for (unsigned i = 0; i < pdr->n_qer; i++) {
		int64_t above = excess(shm_at(&w->slots, pdr->qer_at[i]), clock, w->qer_burst);

		wait = RTE_MAX(wait, above);
	}
	if (!shaper_has_room(&w->shaper, p, (uint64_t)wait))
		return UPF_DROP_MBR_EXCEEDED;
	for (unsigned i = 0; i < pdr->n_qer; i++)
		charge(shm_at(&w->slots, pdr->qer_at[i]), clock, p->ip_len, pdr->cost[i]);
	return shaper_hold(w, p, (uint64_t)wait);
}

// All QERs of the PDR must let the packet pass before any of them is charged.
static inline __attribute__((always_inline)) int
enforce(struct worker *w, struct pkt *p)
{
	const struct pdr *pdr = p->pdr;
	const uint64_t clock = w->now << QER_FRACTION;
	uint64_t *tat[PDR_INLINE_QERS] = {0};

	if (unlikely((pdr->flags & PDR_BEFORE_QOS) != 0)) {
		int verdict = urr_before_qos(w, p);

		if (verdict != PKT_NEXT)
			return verdict;
		pdr = p->pdr;
	}
	if (unlikely((pdr->flags & PDR_GATE_CLOSED) != 0))
		return UPF_DROP_GATE_CLOSED;
	if (unlikely(pdr->more != 0 && pdr_more(p->part, pdr)->qer != 0))
		return enforce_long(w, p);
	for (unsigned i = 0; i < pdr->n_qer; i++) {
		tat[i] = shm_at(&w->slots, pdr->qer_at[i]);
		if (unlikely(!is_due(tat[i], clock, w->qer_burst)))
			return enforce_later(w, p);
	}
	for (unsigned i = 0; i < pdr->n_qer; i++)
		charge(tat[i], clock, p->ip_len, pdr->cost[i]);
	return PKT_NEXT;
}

static inline __attribute__((always_inline)) int
qer_enforce(struct worker *w, struct pkt *p)
{
	// What comes from a downlink buffer was enforced on arrival.
	return unlikely(p->released) ? PKT_NEXT : enforce(w, p);
}

int
qer_apply(struct worker *w, struct pkt *p)
{
	return qer_enforce(w, p);
}

void
qer_burst(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, qer_enforce);
}
