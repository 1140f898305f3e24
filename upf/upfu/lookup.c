// From a key to the session's rules. Four loads, each from memory that is cold with many sessions:
// bucket, pointer, head of the rules, PDRs. So the burst goes through four times, and each pass
// fetches what the next one reads.
#include "stages.h"

static int
lookup_unknown(struct worker *w, struct pkt *p)
{
	return p->tunnel ? gtpu_unknown_teid(w, p) : UPF_DROP_UNKNOWN_UE;
}

static inline const struct bucketmap *
lookup_map(const struct worker *w, const struct pkt *p)
{
	return p->tunnel ? &w->sessions->n3 : &w->sessions->ue;
}

static int
lookup_session(struct worker *w, struct pkt *p)
{
	p->session = bucketmap_find(lookup_map(w, p), p->bucket, p->key);
	if (unlikely(p->session == BUCKETMAP_NONE))
		return lookup_unknown(w, p);
	rte_prefetch0(&w->sessions->live[p->session]);
	return PKT_NEXT;
}

static int
lookup_rules(struct worker *w, struct pkt *p)
{
	p->rules = session_rules(w->sessions, p->session);
	if (unlikely(p->rules == NULL))
		return lookup_unknown(w, p);
	rte_prefetch0(p->rules);
	return PKT_NEXT;
}

void
lookup_burst(struct worker *w, struct burst *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct pkt *p = b->live[i];
		const struct bucketmap *map = lookup_map(w, p);

		p->bucket = bucketmap_index(map, p->key);
		bucketmap_prefetch(map, p->bucket);
	}
	burst_each(w, b, lookup_session);
	burst_each(w, b, lookup_rules);
	for (unsigned i = 0; i < b->n; i++) {
		const struct rules *rules = b->live[i]->rules;
		const struct pdr *first = &rules->pdr[b->live[i]->tunnel ? 0 : rules->n_tunnel];

		rte_prefetch0(first);
		rte_prefetch0(first->qer);
	}
}
