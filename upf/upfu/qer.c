#include "qer.h"

#include "stages.h"

uint64_t
qer_cost(uint64_t rate, uint64_t tsc_hz)
{
	__extension__ unsigned __int128 cost;

	if (rate == 0)
		return QER_COST_BLOCKED;
	cost = ((__extension__(unsigned __int128)(tsc_hz * 8) << 32) + rate / 2) / rate;
	if (cost == 0)
		cost = 1;
	return cost < QER_COST_BLOCKED ? (uint64_t)cost : QER_COST_BLOCKED - 1;
}

static inline struct qer_bucket *
qer_bucket_of(struct worker *w, const struct pkt *p, const struct pdr_qer *qer)
{
	struct qer_bucket *bucket = &w->qer[qer->slot][p->pdr->direction];

	if (unlikely(bucket->cost != qer->cost || bucket->incarnation != p->rules->incarnation)) {
		bucket->tat = 0;
		bucket->cost = qer->cost;
		bucket->incarnation = p->rules->incarnation;
	}
	return bucket;
}

// All QERs of the PDR must let the packet pass before any of them is charged.
static int
qer_enforce(struct worker *w, struct pkt *p)
{
	__extension__ typedef unsigned __int128 clock_q32;
	const struct pdr *pdr = p->pdr;
	const clock_q32 now = (clock_q32)w->now << 32;
	const clock_q32 latest = now + ((clock_q32)w->qer_burst << 32);

	if (unlikely(p->released))
		return PKT_NEXT;
	if (unlikely(pdr->gate_closed))
		return UPF_DROP_GATE_CLOSED;
	for (unsigned i = 0; i < pdr->n_qer; i++) {
		if (unlikely(pdr->qer[i].cost == QER_COST_BLOCKED ||
			    qer_bucket_of(w, p, &pdr->qer[i])->tat > latest))
			return UPF_DROP_MBR_EXCEEDED;
	}
	for (unsigned i = 0; i < pdr->n_qer; i++) {
		struct qer_bucket *bucket = &w->qer[pdr->qer[i].slot][pdr->direction];

		if (bucket->tat < now)
			bucket->tat = now;
		bucket->tat += (clock_q32)p->ip_len * pdr->qer[i].cost;
	}
	return PKT_NEXT;
}

void
qer_burst(struct worker *w, struct burst *b)
{
	burst_each(w, b, qer_enforce);
}
