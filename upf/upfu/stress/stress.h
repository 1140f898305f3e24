// Workers on threads of their own, under the thread sanitizer, while the control thread changes what they
// look up and reads what they count.
//
// The queues of the NIC are functions that the worker itself calls (nic.c): what it receives, it has written,
// and what it sends is looked at and freed there. So packets bring no order between threads but that of
// upf-u's own hand-off. What the control thread tells the queues, it tells by relaxed stores, for the
// same reason.
//
// A rule set's number, its generation, is in everything that a packet gets from it: TEID, QFI, source
// address and ToS of the outer header. So one look at a frame tells by which rules it left, and whether
// by one set of them alone.
#ifndef UPFU_STRESS_H
#define UPFU_STRESS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rig.h"

#define STRESS_WORKERS 3u
#define STRESS_LINES 24u    // UEs
#define STRESS_SESSIONS 40u // indexes: some are free, to be used again soon
#define STRESS_TEIDS 56u    // likewise
#define STRESS_OCTETS_MAX 700u
#define STRESS_DOMAIN "a.example"
#define STRESS_APPLICATION 7u
#define STRESS_DNS 64u // octets that a question or an answer has at most
#define GENERATION_BITS 24u
#define GENERATION_MASK ((1u << GENERATION_BITS) - 1)

// What the queues know of a UE. All by relaxed loads and stores.
struct line {
	// The F-TEID that its uplink packets come with.
	alignas(RTE_CACHE_LINE_SIZE) uint32_t teid;
	uint32_t oldest; // generation: a packet that is received now leaves by no older one
	uint32_t newest; // nor by one above it: it has not been published
};

// One worker's part of the NIC. Written by it alone.
struct queues {
	alignas(RTE_CACHE_LINE_SIZE) struct worker *worker;
	struct stress *stress;
	uint32_t chance;
	uint64_t rests_until; // TSC
	uint64_t received;    // packets of users
	uint64_t left;
	uint64_t left_octets[STRESS_SESSIONS][2]; // by enum upf_direction
};

struct stress {
	alignas(RTE_CACHE_LINE_SIZE) uint32_t open; // packets come in
	struct rig *rig;
	struct line line[STRESS_LINES];
	struct queues queues[STRESS_WORKERS];
};

static inline uint32_t
stress_load(const uint32_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static inline void
stress_store(uint32_t *to, uint32_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static inline uint32_t
stress_draw(uint32_t *chance, uint32_t below)
{
	*chance ^= *chance << 13;
	*chance ^= *chance >> 17;
	*chance ^= *chance << 5;
	return (uint32_t)(((uint64_t)*chance * below) >> 32);
}

static inline uint32_t
stress_ue(unsigned line)
{
	return RIG_IP(10, 45, 0, 1) + line;
}

// What a rule set's packets leave with.
static inline uint32_t
stress_out_teid(uint32_t session, uint32_t generation)
{
	return session << GENERATION_BITS | (generation & GENERATION_MASK);
}

static inline uint8_t
stress_qfi(uint32_t generation)
{
	return (uint8_t)(generation % 63 + 1);
}

static inline uint8_t
stress_tos(uint32_t generation)
{
	return (uint8_t)(generation % 61 << 2);
}

static inline uint32_t
stress_local(uint32_t generation)
{
	return RIG_IP(172, 30, 3, 16) + generation % 13;
}

// One sentence on what must not be; the process ends after some of them.
void stress_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Puts the queues in the place of the rig's, before workers run.
void nic_attach(struct stress *s);
// How long no packet will come in at this worker. By the worker.
int nic_rests_ms(const struct queues *q);

// The control thread's side.
struct changes;
struct changes *changes_create(struct stress *s, uint32_t seed);
void changes_free(struct changes *c);
// Lets packets come in; in every second round all UEs have their sessions, and keep them.
void changes_begin(struct changes *c);
// One change, and a look at everything that must hold at any moment.
void changes_step(struct changes *c);
// Stops the queues and awaits that nothing is under way; looks at what must hold then.
void changes_settle(struct changes *c);
uint64_t changes_made(const struct changes *c);

#endif
