// The memory segment that upf-c maps read-only: statistics per worker and the slots of
// QERs and URRs.
//
// upf-u writes it without locks; every word has one writing thread (upf_abi.h), and readers take
// naturally aligned 64-bit words. The descriptor is sealed so that nobody else can map it writable.
#ifndef UPFU_SHM_H
#define UPFU_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include "process/config.h"
#include "upf_abi.h"

struct shm_slots {
	struct upf_slot_pair *pair;
	struct upf_urr_meter *meter; // by URR slot
	struct upf_urr_times *times; // by URR slot
	uint64_t tsc_0;
	uint64_t ms_per_tsc;  // 2^64 milliseconds a TSC cycle
	uint32_t *pairs_used; // none at or above it was ever given out
};

// upf_urr_meter.generation: how far the control thread is in writing the meter (usage.c). Multiples
// of the step are whole meters.
#define METER_SHRINKS 1u // each quota becomes the smaller of the old and the new one
#define METER_GROWS 2u   // and then the new one
#define METER_STEP 4u

static inline bool
meter_is_whole(uint32_t generation)
{
	return generation % METER_STEP == 0;
}

struct shm {
	int fd;
	uint64_t size;
	struct upf_shm *head;
	struct upf_worker_stats *workers;
	struct upf_drop_stats *groups;                      // [workers][UPF_GROUPS]
	struct upf_link_state *links;                       // [UPF_PORTS]
	struct upf_gateway_state (*gateways)[UPF_GATEWAYS]; // [UPF_PORTS]
	struct upf_topology *topology;
	struct shm_slots slots;
	uint32_t pairs_used; // written by the control thread
	bool hugepages;
};

// On hugepages where the configuration has them and they can be had within two seconds, else on ordinary
// pages.
int shm_init(struct shm *shm, const struct config *config, uint64_t tsc_hz);
// What of `memory:` the segment takes when it is on hugepages: 0 when it will not be.
uint32_t shm_hugepage_mib(const struct config *config);
void shm_free(struct shm *shm);

static inline struct upf_urr_counter *
shm_urr(const struct shm_slots *slots, uint32_t slot, unsigned direction)
{
	return &slots->pair[slot / UPF_LINE_SLOTS].dir[direction].urr[slot % UPF_LINE_SLOTS];
}

// A token bucket or a counter as a place: 64-bit words from the first pair on. What compiled rules
// hold, so that a packet need not work it out.
#define SHM_WORDS (sizeof(struct upf_slot_line) / sizeof(uint64_t))

static inline uint32_t
shm_tat_place(uint32_t slot, unsigned direction)
{
	return (uint32_t)((slot / UPF_LINE_SLOTS * 2 + direction) * SHM_WORDS +
		slot % UPF_LINE_SLOTS);
}

static inline uint32_t
shm_urr_place(uint32_t slot, unsigned direction)
{
	return (uint32_t)((slot / UPF_LINE_SLOTS * 2 + direction) * SHM_WORDS + UPF_LINE_SLOTS +
		slot % UPF_LINE_SLOTS * (sizeof(struct upf_urr_counter) / sizeof(uint64_t)));
}

static inline void *
shm_at(const struct shm_slots *slots, uint32_t place)
{
	return (uint64_t *)(void *)slots->pair + place;
}

// The slot of a place.
static inline uint32_t
shm_slot(uint32_t place)
{
	uint32_t word = place % (uint32_t)SHM_WORDS;

	if (word >= UPF_LINE_SLOTS)
		word = (word - UPF_LINE_SLOTS) /
			(uint32_t)(sizeof(struct upf_urr_counter) / sizeof(uint64_t));
	return place / (2 * (uint32_t)SHM_WORDS) * UPF_LINE_SLOTS + word;
}

// Milliseconds of upf_urr_times, never 0.
static inline uint32_t
shm_ms(const struct shm_slots *slots, uint64_t tsc)
{
	__extension__ typedef unsigned __int128 wide;

	return (uint32_t)((wide)(tsc - slots->tsc_0) * slots->ms_per_tsc >> 64) + 1;
}

// A counter with one writer: a plain add, stored whole for the reader in the other process.
static inline void
shm_add(uint64_t *counter, uint64_t n)
{
	// Relaxed: pairs with the reader's single load; no order among counters is promised.
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
