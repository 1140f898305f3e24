// How much is in a ring, for the thread sanitizer; before every file that is compiled for it.
//
// DPDK reads head and tail as volatile words, and other threads store them atomically. On what upf-u is
// compiled for that is a relaxed load, which the sanitizer can only know when it is written as one.
#ifndef UPFU_STRESS_RING_COUNT_H
#define UPFU_STRESS_RING_COUNT_H

#include <rte_ring.h>

static inline unsigned
ring_count(const struct rte_ring *r)
{
	uint32_t put = __atomic_load_n(&r->prod.tail, __ATOMIC_RELAXED);
	uint32_t taken = __atomic_load_n(&r->cons.tail, __ATOMIC_RELAXED);

	return RTE_MIN((put - taken) & r->mask, r->capacity);
}

static inline unsigned
ring_free_count(const struct rte_ring *r)
{
	return r->capacity - ring_count(r);
}

#define rte_ring_count ring_count
#define rte_ring_free_count ring_free_count
#define rte_ring_empty(r) (ring_count(r) == 0)

#endif
