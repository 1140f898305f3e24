// Idle back-off. A poll that finds nothing costs as much as one that does, and a core that polls
// for nothing takes the power, the SMT sibling and (on a one-CPU unit) the control thread's time.
//
// After some empty polls the worker sleeps, twice as long each time up to the configured maximum;
// the first packet ends that. While asleep it is offline for QSBR, so that nobody waits for it.
#ifndef UPFU_SLEEP_H
#define UPFU_SLEEP_H

#include <stdint.h>

struct worker;

struct sleeper {
	uint32_t empty_polls;
	uint32_t next_us;
	uint32_t max_us; // 0: never sleep
};

void sleep_init(struct sleeper *sleeper, uint32_t max_us);
void sleep_after_empty_poll(struct worker *w);

static inline void
sleep_after_work(struct sleeper *sleeper)
{
	sleeper->empty_polls = 0;
	sleeper->next_us = 1;
}

#endif
