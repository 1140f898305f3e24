// The arena against a plain account of what was given out: nothing overlaps, nothing is lost.
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "rules/arena.h"
#include "tests.h"

#define OBJECTS 500u

static void
objects_never_overlap(void **state)
{
	static struct {
		arena_ref ref;
		uint32_t octets;
		uint8_t content;
	} object[OBJECTS];
	struct arena arena;

	(void)state;
	srandom(7);
	assert_int_equal(arena_init(&arena), 0);
	for (unsigned i = 0; i < OBJECTS; i++)
		object[i].ref = ARENA_NONE;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = (unsigned)random() % OBJECTS;
		uint8_t *at;

		if (object[i].ref != ARENA_NONE) {
			at = arena_at(&arena, object[i].ref);
			for (uint32_t k = 0; k < object[i].octets; k++)
				assert_int_equal(at[k], object[i].content);
			arena_free(&arena, object[i].ref, object[i].octets);
			object[i].ref = ARENA_NONE;
			continue;
		}
		// Mostly usual sessions, now and then a great one.
		object[i].octets = 1 + (uint32_t)random() % (random() % 50 == 0 ? 40000 : 900);
		object[i].content = (uint8_t)random();
		object[i].ref = arena_alloc(&arena, object[i].octets);
		assert_int_not_equal(object[i].ref, ARENA_NONE);
		at = arena_at(&arena, object[i].ref);
		assert_int_equal((uintptr_t)at % ARENA_UNIT, 0);
		memset(at, object[i].content, object[i].octets);
	}
	for (unsigned i = 0; i < OBJECTS; i++) {
		if (object[i].ref != ARENA_NONE)
			arena_free(&arena, object[i].ref, object[i].octets);
	}
	assert_int_equal(arena.in_use, 0);
	arena_free_all(&arena);
}

// What was freed is used again: replacing rules for ever takes no more memory.
static void
freed_objects_are_used_again(void **state)
{
	struct arena arena;
	uint32_t chunks;
	arena_ref kept;

	(void)state;
	assert_int_equal(arena_init(&arena), 0);
	kept = arena_alloc(&arena, 128);
	chunks = arena.chunks_n;
	for (unsigned i = 0; i < 100000; i++) {
		arena_ref fresh = arena_alloc(&arena, 128);

		assert_int_not_equal(fresh, ARENA_NONE);
		arena_free(&arena, kept, 128);
		kept = fresh;
	}
	assert_int_equal(arena.chunks_n, chunks);
	arena_free(&arena, kept, 128);
	arena_free_all(&arena);
}

static void
memory_may_run_out(void **state)
{
	static arena_ref great[4096];
	struct arena arena;
	unsigned n = 0;
	arena_ref ref;

	(void)state;
	assert_int_equal(arena_init(&arena), 0);
	while (n < 4096 && (great[n] = arena_alloc(&arena, 1u << 20)) != ARENA_NONE)
		n++;
	assert_in_range(n, 1, 4095);
	// The first chunk still has room for small ones.
	ref = arena_alloc(&arena, 64);
	assert_int_not_equal(ref, ARENA_NONE);
	arena_free(&arena, ref, 64);
	while (n > 0)
		arena_free(&arena, great[--n], 1u << 20);
	arena_free_all(&arena);
}

int
test_arena(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_never_overlap),
		cmocka_unit_test(freed_objects_are_used_again),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
