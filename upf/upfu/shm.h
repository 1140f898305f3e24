// The memory segment that upf-c maps read-only: statistics per worker and one slot per URR.
//
// upf-u writes it without locks; every word has one writing thread (upf_abi.h), and readers take
// naturally aligned 64-bit words. The descriptor is sealed so that nobody else can map it writable.
#ifndef UPFU_SHM_H
#define UPFU_SHM_H

#include <stdint.h>

#include "upf_abi.h"

struct shm {
	int fd;
	uint64_t size;
	struct upf_shm *head;
	struct upf_worker_stats *workers;
	struct upf_urr_slot *urr;
};

int shm_init(struct shm *shm, uint32_t workers, uint32_t urr_slots, uint64_t tsc_hz);
void shm_free(struct shm *shm);

// A counter with one writer: a plain add, stored whole for the reader in the other process.
static inline void
shm_add(uint64_t *counter, uint64_t n)
{
	// Relaxed: pairs with the reader's single load; no order among counters is promised.
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
