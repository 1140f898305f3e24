// The writing side of the map: see bucketmap.h for the order that readers rely on.
#include "rules/bucketmap.h"

#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

int
bucketmap_init(struct bucketmap *map, uint32_t keys_max)
{
	uint32_t buckets = 2;

	memset(map, 0, sizeof(*map));
	map->bits = 1;
	// Two keys a bucket of four on average.
	while (buckets < keys_max / 2 + 1) {
		buckets *= 2;
		map->bits++;
	}
	// 5 % of the buckets overflow at that load; an eighth is room for unlucky keys, and a session of
	// the greatest size must find room in a small map, too.
	map->overflow_count = buckets / 8 + BUCKETMAP_SPARE;
	map->buckets = rte_zmalloc("bucketmap", (size_t)buckets * sizeof(*map->buckets), 64);
	map->overflow =
		rte_zmalloc("bucketmap", (size_t)map->overflow_count * sizeof(*map->overflow), 64);
	map->overflow_free = calloc(map->overflow_count, sizeof(*map->overflow_free));
	if (map->buckets == NULL || map->overflow == NULL || map->overflow_free == NULL) {
		bucketmap_free(map);
		return -1;
	}
	for (uint32_t i = map->overflow_count - 1; i > 0; i--)
		map->overflow_free[map->overflow_left++] = i;
	return 0;
}

void
bucketmap_free(struct bucketmap *map)
{
	rte_free(map->buckets);
	rte_free(map->overflow);
	free(map->overflow_free);
	memset(map, 0, sizeof(*map));
}

uint32_t
bucketmap_room(const struct bucketmap *map)
{
	return map->overflow_left;
}

static void
bucket_fill(struct bucketmap_bucket *b, unsigned i, uint64_t key, uint32_t value)
{
	// Release: pairs with the acquire-load of the value: who sees it no longer finds the key that was
	// here before.
	__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);
	// Release: pairs with the acquire-loads of bucketmap_find(): who sees the key sees its value.
	__atomic_store_n(&b->key[i], key, __ATOMIC_RELEASE);
}

int
bucketmap_put(struct bucketmap *map, uint64_t key, uint32_t value)
{
	struct bucketmap_bucket *b = &map->buckets[bucketmap_index(map, key)];
	struct bucketmap_bucket *free_bucket = NULL;
	unsigned free_place = 0;
	uint32_t fresh;

	for (;;) {
		for (unsigned i = 0; i < BUCKETMAP_KEYS; i++) {
			if (b->key[i] == key) {
				// Release: what the value names is complete.
				__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);
				return 0;
			}
			if (b->key[i] == 0 && free_bucket == NULL) {
				free_bucket = b;
				free_place = i;
			}
		}
		if (b->next == 0)
			break;
		b = &map->overflow[b->next];
	}
	if (free_bucket != NULL) {
		bucket_fill(free_bucket, free_place, key, value);
		map->keys++;
		return 0;
	}
	if (map->overflow_left == 0)
		return -1;
	fresh = map->overflow_free[--map->overflow_left];
	map->keys++;
	bucket_fill(&map->overflow[fresh], 0, key, value);
	// Release: pairs with the acquire-load of next: the linked bucket is filled.
	__atomic_store_n(&b->next, fresh, __ATOMIC_RELEASE);
	return 0;
}

static bool
bucket_is_empty(const struct bucketmap_bucket *b)
{
	for (unsigned i = 0; i < BUCKETMAP_KEYS; i++) {
		if (b->key[i] != 0)
			return false;
	}
	return true;
}

// Takes empty tails off the chain, so that overflow buckets come back.
static void
chain_trim(struct bucketmap *map, struct bucketmap_bucket *home)
{
	for (;;) {
		struct bucketmap_bucket *before = home;
		uint32_t tail = home->next;

		if (tail == 0)
			return;
		while (map->overflow[tail].next != 0) {
			before = &map->overflow[tail];
			tail = map->overflow[tail].next;
		}
		if (!bucket_is_empty(&map->overflow[tail]))
			return;
		// A reader may still stand in the tail: there is nothing to find, and its next stays 0
		// until it is linked anew, in whichever chain: whole keys are compared.
		__atomic_store_n(&before->next, 0, __ATOMIC_RELEASE);
		map->overflow_free[map->overflow_left++] = tail;
	}
}

bool
bucketmap_remove(struct bucketmap *map, uint64_t key)
{
	struct bucketmap_bucket *home = &map->buckets[bucketmap_index(map, key)];
	struct bucketmap_bucket *b = home;

	for (;;) {
		for (unsigned i = 0; i < BUCKETMAP_KEYS; i++) {
			if (b->key[i] != key)
				continue;
			// Release: a reader that still saw the key re-reads it after the value.
			__atomic_store_n(&b->key[i], 0, __ATOMIC_RELEASE);
			map->keys--;
			chain_trim(map, home);
			return true;
		}
		if (b->next == 0)
			return false;
		b = &map->overflow[b->next];
	}
}
