// The map against the plainest model: an array of keys and values.
#include <stdlib.h>

#include "rig.h"
#include "rules/bucketmap.h"
#include "tests.h"

#define KEYS 2000u

static void
agrees_with_a_plain_array(void **state)
{
	static uint64_t key[KEYS];
	static uint32_t value[KEYS];
	struct bucketmap map;
	uint32_t present = 0;

	(void)state;
	srandom(1);
	assert_int_equal(bucketmap_init(&map, 1024), 0);
	for (unsigned i = 0; i < KEYS; i++) {
		// A third of the keys share few home buckets, so that chains grow and shrink.
		key[i] = i % 3 == 0 ? (uint64_t)i * 7 + 1
				    : ((uint64_t)random() << 33 | (uint64_t)random() << 2 | 1);
		value[i] = BUCKETMAP_NONE;
	}
	for (unsigned step = 0; step < 200000; step++) {
		unsigned i = (unsigned)random() % KEYS;
		uint32_t v = (uint32_t)random() % 1000;

		if (present < 1000 && random() % 2 != 0) {
			assert_int_equal(bucketmap_put(&map, key[i], v), 0);
			present += value[i] == BUCKETMAP_NONE;
			value[i] = v;
		} else {
			assert_int_equal(
				bucketmap_remove(&map, key[i]), value[i] != BUCKETMAP_NONE);
			present -= value[i] != BUCKETMAP_NONE;
			value[i] = BUCKETMAP_NONE;
		}
		i = (unsigned)random() % KEYS;
		assert_int_equal(bucketmap_lookup(&map, key[i]), value[i]);
		assert_int_equal(map.keys, present);
	}
	for (unsigned i = 0; i < KEYS; i++) {
		assert_int_equal(bucketmap_lookup(&map, key[i]), value[i]);
		bucketmap_remove(&map, key[i]);
	}
	assert_int_equal(map.keys, 0);
	assert_int_equal(bucketmap_room(&map), map.overflow_count - 1);
	bucketmap_free(&map);
}

// 50 keys for one home bucket: found by trying.
static void
one_bucket_overflows_and_comes_back(void **state)
{
	struct bucketmap map;
	uint64_t key[50];
	unsigned n = 0;
	uint32_t room;

	(void)state;
	assert_int_equal(bucketmap_init(&map, 256), 0);
	room = bucketmap_room(&map);
	for (uint64_t k = 1; n < 50; k++) {
		if (bucketmap_index(&map, k) == 3)
			key[n++] = k;
	}
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(bucketmap_put(&map, key[i], i), 0);
	assert_int_equal(room - bucketmap_room(&map), (50 - 4 + 3) / 4);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(bucketmap_lookup(&map, key[i]), i);
	for (unsigned i = 0; i < 50; i++)
		assert_true(bucketmap_remove(&map, key[i]));
	assert_int_equal(bucketmap_room(&map), room);
	bucketmap_free(&map);
}

static void
says_when_it_is_full(void **state)
{
	struct bucketmap map;
	uint64_t k = 0;
	unsigned put = 0;

	(void)state;
	assert_int_equal(bucketmap_init(&map, 8), 0);
	for (unsigned i = 0; i < 100000; i++) {
		while (bucketmap_index(&map, ++k) != 0)
			;
		if (bucketmap_put(&map, k, 1) != 0)
			break;
		put++;
	}
	assert_int_equal(put, (map.overflow_count - 1) * 4 + 4);
	assert_int_equal(bucketmap_lookup(&map, k), BUCKETMAP_NONE);
	bucketmap_free(&map);
}

int
test_bucketmap(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_plain_array),
		cmocka_unit_test(one_bucket_overflows_and_comes_back),
		cmocka_unit_test(says_when_it_is_full),
	};

	return cmocka_run_group_tests_name("bucketmap", tests, NULL, NULL);
}
