// A hash map of 64-bit keys to session indexes, made so that a lookup costs one cache line.
//
// A bucket is one cache line: four whole keys, compared at once (lanes.h), and their values. There
// are at least as many places as keys may be present, twice over, so that nearly every key is found
// in its home bucket; what does not fit goes to a chain of overflow buckets.
//
// One thread writes, any number read without a lock. The order that holds: a key becomes visible
// after its value; a reader reads key, value, and the key again, so that it never takes the value of
// a place that was emptied and filled between. An overflow bucket leaves its chain only when it is
// the empty tail: a reader that stands in it loses nothing.
//
// A lookup has two steps, so that a burst can fetch all its lines before it uses the first:
// bucketmap_index() + bucketmap_prefetch(), then bucketmap_find().
#ifndef UPFU_BUCKETMAP_H
#define UPFU_BUCKETMAP_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "rules/lanes.h"

#define BUCKETMAP_KEYS 4u
#define BUCKETMAP_NONE UINT32_MAX
#define BUCKETMAP_SPARE 1088u // overflow buckets beyond the usual

struct bucketmap_bucket {
	uint64_t key[BUCKETMAP_KEYS]; // 0: free
	uint32_t value[BUCKETMAP_KEYS];
	uint32_t next; // index of an overflow bucket, 0: none
	uint32_t reserved[3];
};
static_assert(sizeof(struct bucketmap_bucket) == 64, "one cache line");

struct bucketmap {
	struct bucketmap_bucket *buckets;  // 1 << bits
	struct bucketmap_bucket *overflow; // [0] is never used
	uint32_t bits;
	uint32_t overflow_count;
	// The writer's own:
	uint32_t *overflow_free; // stack of free overflow buckets, their .next is 0
	uint32_t overflow_left;
	uint32_t keys;
};

// Allocates from DPDK's heap for keys_max keys. Returns 0, or -1 when there is no memory.
int bucketmap_init(struct bucketmap *map, uint32_t keys_max);
void bucketmap_free(struct bucketmap *map);

// How many keys can be added whatever they are.
uint32_t bucketmap_room(const struct bucketmap *map);

// Adds the key, or gives a present one another value. -1: no room. The key is not 0.
int bucketmap_put(struct bucketmap *map, uint64_t key, uint32_t value);
bool bucketmap_remove(struct bucketmap *map, uint64_t key);

static inline uint32_t
bucketmap_index(const struct bucketmap *map, uint64_t key)
{
	return (uint32_t)(((key ^ (key >> 32)) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->bits));
}

static inline void
bucketmap_prefetch(const struct bucketmap *map, uint32_t index)
{
	rte_prefetch0(&map->buckets[index]);
}

static inline uint32_t
bucketmap_find(const struct bucketmap *map, uint32_t index, uint64_t key)
{
	const struct bucketmap_bucket *b = &map->buckets[index];

	for (;;) {
		unsigned hit = lanes_equal_4(b->key, key);
		uint32_t next;

		if (likely(hit != 0)) {
			unsigned i = (unsigned)__builtin_ctz(hit);
			// Acquire: pairs with the release-store of the key in bucketmap_put().
			uint32_t value = __atomic_load_n(&b->value[i], __ATOMIC_ACQUIRE);

			if (likely(__atomic_load_n(&b->key[i], __ATOMIC_ACQUIRE) == key))
				return value;
			continue;
		}
		// Acquire: pairs with the release-store that links a filled overflow bucket.
		next = __atomic_load_n(&b->next, __ATOMIC_ACQUIRE);
		if (likely(next == 0))
			return BUCKETMAP_NONE;
		b = &map->overflow[next];
	}
}

static inline uint32_t
bucketmap_lookup(const struct bucketmap *map, uint64_t key)
{
	return bucketmap_find(map, bucketmap_index(map, key), key);
}

#endif
