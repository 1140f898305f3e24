// NIC queues and N workers in one thread, step by step: which worker polls next, in which queue a packet
// comes in, and whose it is, follow from the seed alone. So what N workers do to each other can be counted
// where there are not N CPUs.
//
// The NIC never lets a worker wait: before each of its polls its queues are filled up. A packet comes in at
// its session's home, or, so many of a hundred, at another worker.
#ifndef UPFU_SIMULATION_FABRIC_H
#define UPFU_SIMULATION_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/population.h"

#define FABRIC_SESSIONS 128u // of each worker, on average

struct fabric_case {
	unsigned workers;
	unsigned astray; // of a hundred packets
	uint32_t polls;  // of each worker, on average
	uint32_t seed;
};

struct fabric_result {
	uint64_t offered;     // packets that workers took out of queues
	uint64_t astray;      // of them: at another worker than their session's
	uint64_t handed_over; // packets, each time that they were put into a ring
	uint64_t forwarded;
	uint64_t elsewhere; // of them: by another worker than their session's
	uint64_t dropped;   // and counted
	uint64_t lost;      // neither forwarded nor counted
};

// Around every poll of a worker, where there is somebody to look.
struct fabric_watch {
	void (*poll_begins)(unsigned worker);
	void (*poll_ends)(void);
};

// Populations are sized, EAL runs with that many queues: the sessions of a case are installed in a fresh
// rig, which the caller frees.
struct rig *fabric_create(unsigned workers);
// Lets them work until nothing is under way any more. The first tenth of the polls goes by unwatched.
void fabric_run(struct rig *rig, const struct fabric_case *c, const struct fabric_watch *watch,
	struct fabric_result *result);

#endif
