#include "rules/arena.h"

#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#define CHUNK ((size_t)1024 * 1024)
// References reach 2^32 units; the first chunk stands in the middle of them, since later ones may lie
// on either side of it.
#define REACH ((uintptr_t)UINT32_MAX * ARENA_UNIT)

static const uint8_t class_units[ARENA_CLASSES] = {
	1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};

static size_t
units_of(size_t octets)
{
	return octets != 0 ? (octets + ARENA_UNIT - 1) / ARENA_UNIT : 1;
}

// The smallest class that holds the units; ARENA_CLASSES: none.
static unsigned
class_of(size_t units)
{
	unsigned c = 0;

	while (c < ARENA_CLASSES && class_units[c] < units)
		c++;
	return c;
}

static arena_ref
ref_of(const struct arena *arena, const void *object)
{
	return (arena_ref)(((uintptr_t)object - arena->base) / ARENA_UNIT);
}

static bool
in_reach(const struct arena *arena, const void *object, size_t octets)
{
	return (uintptr_t)object >= arena->base && (uintptr_t)object - arena->base + octets < REACH;
}

static void *
heap_alloc(struct arena *arena, size_t octets)
{
	void *memory = rte_malloc("rules", octets, ARENA_UNIT);

	if (memory != NULL && arena->base != 0 && !in_reach(arena, memory, octets)) {
		rte_free(memory);
		return NULL;
	}
	return memory;
}

static void
free_push(struct arena *arena, unsigned c, void *object)
{
	memcpy(object, &arena->free[c], sizeof(void *));
	arena->free[c] = object;
}

// The rest of a chunk that is too short for what is wanted is still good for smaller objects.
static void
chunk_finish(struct arena *arena)
{
	while (arena->chunk_left >= ARENA_UNIT) {
		unsigned c = ARENA_CLASSES;

		while (c > 0 && class_units[c - 1] * (size_t)ARENA_UNIT > arena->chunk_left)
			c--;
		free_push(arena, c - 1, arena->chunk);
		arena->chunk += class_units[c - 1] * (size_t)ARENA_UNIT;
		arena->chunk_left -= class_units[c - 1] * (size_t)ARENA_UNIT;
	}
}

static int
chunk_add(struct arena *arena)
{
	void *chunk;

	if (arena->chunks_n == arena->chunks_size) {
		uint32_t size = arena->chunks_size != 0 ? arena->chunks_size * 2 : 64;
		void **chunks = realloc(arena->chunks, size * sizeof(*chunks));

		if (chunks == NULL)
			return -1;
		arena->chunks = chunks;
		arena->chunks_size = size;
	}
	chunk = heap_alloc(arena, CHUNK);
	if (chunk == NULL)
		return -1;
	chunk_finish(arena);
	arena->chunks[arena->chunks_n++] = chunk;
	arena->chunk = chunk;
	arena->chunk_left = CHUNK;
	return 0;
}

int
arena_init(struct arena *arena)
{
	memset(arena, 0, sizeof(*arena));
	if (chunk_add(arena) < 0)
		return -1;
	arena->base = (uintptr_t)arena->chunk > REACH / 2
		? ((uintptr_t)arena->chunk - REACH / 2) & ~(uintptr_t)(ARENA_UNIT - 1)
		: ARENA_UNIT;
	return 0;
}

void
arena_free_all(struct arena *arena)
{
	for (uint32_t i = 0; i < arena->chunks_n; i++)
		rte_free(arena->chunks[i]);
	free(arena->chunks);
	memset(arena, 0, sizeof(*arena));
}

arena_ref
arena_alloc(struct arena *arena, size_t octets)
{
	size_t units = units_of(octets), size;
	unsigned c = class_of(units);
	void *object;

	if (c == ARENA_CLASSES) {
		size = units * ARENA_UNIT;
		object = heap_alloc(arena, size);
		if (object == NULL)
			return ARENA_NONE;
	} else {
		size = class_units[c] * (size_t)ARENA_UNIT;
		object = arena->free[c];
		if (object != NULL) {
			memcpy(&arena->free[c], object, sizeof(void *));
		} else {
			if (arena->chunk_left < size && chunk_add(arena) < 0)
				return ARENA_NONE;
			object = arena->chunk;
			arena->chunk += size;
			arena->chunk_left -= size;
		}
	}
	arena->in_use += size;
	return ref_of(arena, object);
}

void
arena_free(struct arena *arena, arena_ref ref, size_t octets)
{
	size_t units = units_of(octets);
	unsigned c = class_of(units);

	if (c == ARENA_CLASSES) {
		arena->in_use -= units * ARENA_UNIT;
		rte_free(arena_at(arena, ref));
		return;
	}
	arena->in_use -= class_units[c] * (uint64_t)ARENA_UNIT;
	free_push(arena, c, arena_at(arena, ref));
}
