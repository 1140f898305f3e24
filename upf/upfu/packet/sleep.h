// Idle: a worker that finds nothing must cost nothing, and still be there for the next packet.
//
// After some empty polls the worker listens instead of polling: every port has something that wakes
// it (an rx interrupt where the driver has one; for a kernel interface a second packet socket, which
// holds an octet of a frame or two and is only there to be readable), and an eventfd stands for the
// rings that others fill. Before it waits it forgets old wakes, says that it is asleep, and polls once
// more: whatever came before is found, whatever comes later wakes it. For that the packet socket must
// get a frame after the driver's ring has got it; the kernel hands a frame to the socket that was
// bound first last, so these sockets are opened before the driver's.
//
// Where some port cannot wake it, the worker sleeps instead, twice as long each time up to the
// configured maximum; the first packet ends that.
//
// Asleep it is offline for QSBR, so that nobody waits for it.
#ifndef UPFU_SLEEP_H
#define UPFU_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "packet/sleep_state.h"

struct config;
struct worker;

// Opens what wakes a worker, before EAL probes the drivers. Returns -1 without descriptors; a port
// that cannot wake only means that the worker does not listen.
int sleep_init(struct sleeper *sleeper, const struct config *config);
void sleep_free(struct sleeper *sleeper);
// In the worker's own thread, before its first poll.
void sleep_begin(struct worker *w);
void sleep_after_empty_poll(struct worker *w);
void sleep_ring(struct sleeper *sleeper);

static inline void
sleep_after_work(struct sleeper *sleeper)
{
	sleeper->empty_polls = 0;
	sleeper->next_us = 1;
	// Relaxed: who rings takes it back as well.
	if (unlikely(__atomic_load_n(&sleeper->asleep, __ATOMIC_RELAXED) != 0))
		__atomic_store_n(&sleeper->asleep, 0, __ATOMIC_RELAXED);
}

// After something was put into rings of workers, before sleep_wake_fenced() for each of them.
static inline void
sleep_wake_fence(void)
{
	// Sequentially consistent: pairs with the fence in sleep_after_empty_poll(). Either the worker's
	// last poll sees what was put, or the load behind this sees that it is asleep.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void
sleep_wake_fenced(struct sleeper *sleeper)
{
	if (unlikely(__atomic_load_n(&sleeper->asleep, __ATOMIC_RELAXED) != 0))
		sleep_ring(sleeper);
}

// After something was put into a ring of the worker whose sleeper this is.
static inline void
sleep_wake(struct sleeper *sleeper)
{
	sleep_wake_fence();
	sleep_wake_fenced(sleeper);
}

#endif
