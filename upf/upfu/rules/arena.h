// Memory for compiled rules: objects of whole 64-octet units, named by a 32-bit reference, so that a
// map's value can be one.
//
// One thread allocates and frees; readers only resolve references. Chunks come from DPDK's heap, on
// hugepages where there are, and stay. An object of up to ARENA_CLASS_UNITS units comes from the free
// list of its size or from the chunk in use, without a header of its own; a larger one is an
// allocation of its own. Who frees an object has waited until no reader holds it (session.h).
#ifndef UPFU_ARENA_H
#define UPFU_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_UNIT 64u
#define ARENA_CLASSES 20u
#define ARENA_NONE UINT32_MAX

typedef uint32_t arena_ref;

struct arena {
	// Reader's: a reference counts units from here. Not an address of an object.
	uintptr_t base;
	// The writer's own:
	uint8_t *chunk; // unused rest of the chunk in use
	size_t chunk_left;
	void *free[ARENA_CLASSES]; // linked by their first word
	void **chunks;             // all of them, to give them back
	uint32_t chunks_n, chunks_size;
	uint64_t in_use; // octets of objects
};

int arena_init(struct arena *arena);
void arena_free_all(struct arena *arena);

// Octets are rounded up to units. ARENA_NONE: no memory. The object's content is undefined.
arena_ref arena_alloc(struct arena *arena, size_t octets);
// octets: as it was allocated.
void arena_free(struct arena *arena, arena_ref ref, size_t octets);

static inline void *
arena_at(const struct arena *arena, arena_ref ref)
{
	return (void *)(arena->base + (uintptr_t)ref * ARENA_UNIT);
}

#endif
