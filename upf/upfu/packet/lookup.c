// From a key to the session's part. Two loads from memory that is cold with many sessions: the map's
// line, and the part with its first PDR in two adjacent lines. So the burst goes through twice, and
// each pass fetches what the next one reads.
#include "packet/lookup.h"

#include "packet/bridge.h"
#include "packet/gtpu.h"
#include "packet/nat.h"
#include "packet/packet.h"
#include "packet/stages.h"
#include "packet/worker_state.h"
#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/session.h"

static __attribute__((noinline)) int
lookup_unknown(struct worker *w, struct pkt *p)
{
	if (p->tunnel)
		return gtpu_unknown_teid(w, p);
	if (w->port[p->port].bridge)
		return bridge_from_n6(w, p);
	return w->nat != NULL ? nat_in(w, p) : UPF_DROP_UNKNOWN_UE;
}

// What came by N6 is looked for among the UEs of that network instance, and nowhere else.
static inline const struct bucketmap *
lookup_map(const struct worker *w, const struct pkt *p)
{
	return w->sessions->by_port[p->port];
}

// Of an Ethernet session, whose frame waited; of a frame that has not been at its bridge yet there is none.
static arena_ref
bridge_session(const struct worker *w, const struct pkt *p)
{
	if (p->key >= BRIDGE_KEY)
		return BUCKETMAP_NONE;
	// Acquire: pairs with session_publish(): the part is complete.
	return __atomic_load_n(
		&w->sessions->state[(uint32_t)p->key].part[UPF_DL], __ATOMIC_ACQUIRE);
}

// Where the map has not what came by N6: of IPv6 the whole upper half was tried, and a UE's prefix may be shorter; or it is
// behind a UE. What is to a public address of NAT44 is nat_in()'s, who comes last.
static __attribute__((noinline)) arena_ref
lookup_wider(const struct worker *w, const struct pkt *p)
{
	enum upf_port n6 = (enum upf_port)p->port;

	if (!p->ip6 && p->key >= BRIDGE_KEY_SESSION)
		return bridge_session(w, p);
	if (!p->ip6 && p->key >= NAT_KEY) // it waited, translated
		return session_find_nat(w->sessions, n6, nat_block_of(w, n6, p->key));
	return p->ip6 ? session_find_ue6(w->sessions, n6, p->key)
		      : session_find_route4(w->sessions, n6, (uint32_t)p->key);
}

arena_ref
lookup_key(const struct worker *w, const struct pkt *p)
{
	arena_ref ref = bucketmap_lookup(lookup_map(w, p), p->key);

	return ref == BUCKETMAP_NONE && !p->tunnel ? lookup_wider(w, p) : ref;
}

static int
lookup_part(struct worker *w, struct pkt *p)
{
	arena_ref ref = bucketmap_find(lookup_map(w, p), p->bucket, p->key);

	if (unlikely(ref == BUCKETMAP_NONE && !p->tunnel))
		ref = lookup_wider(w, p);
	if (unlikely(ref == BUCKETMAP_NONE))
		return lookup_unknown(w, p);
	p->part = session_part(w->sessions, ref);
	rte_prefetch0(p->part);
	rte_prefetch0((const uint8_t *)p->part + RTE_CACHE_LINE_SIZE);
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
	if (unlikely(w->nat != NULL))
		nat_fetch_in(w, b);
	burst_each(w, b, lookup_part);
}
