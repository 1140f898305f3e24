// The token buckets of QERs (TS 29.244 5.4). The stage that asks them is qer.c.
//
// A token bucket is a virtual clock: `tat` is the time at which everything sent so far would have
// left at exactly the rate. A packet conforms when the clock is at most the bucket's depth ahead of the
// present, and then advances it by its octets times the cost of an octet. The cost is computed when
// the rules are compiled (the only division). Time is in TSC cycles with 16 fractional bits, and 19 where
// the counter is slow (arm64: 25 MHz to 1 GHz): exact to 10^-4 at 100 Gbit/s of 2 GHz, to 10^-3 of 25 MHz.
//
// The depth is a time: what may pass at once after a pause is the rate for so long. It is the Averaging
// Window (TS 29.244 8.2.115) over which the SMF wants the QER's rates measured; where it names none, the
// configured qer.burst_ms. So over any time T no more than the rate for T + depth passes, and a packet.
//
// So the clock wraps within hours, and only differences count. A bucket that nobody used for
// hours would look like one far ahead; qer_sweep() brings such clocks up to the present.
//
// Buckets live under the QER's slot (upf_abi.h) and survive a replacement of the rules. They start
// anew when the rate changes or another session takes the slot: debt at an old rate means nothing at
// a new one.
#ifndef UPFU_QER_CLOCK_H
#define UPFU_QER_CLOCK_H

#include <stdint.h>

#include "process/shm.h"

#if defined(__aarch64__)
#define QER_FRACTION 19
#else
#define QER_FRACTION 16
#endif
#define QER_COST_BLOCKED UINT64_MAX // a rate of 0: nothing passes

// The cost of an octet at rate bit/s, never 0. The lowest rates, of some tens of bit/s, are taken for
// higher ones, so that no packet's debt is longer than the clock.
uint64_t qer_cost(uint64_t rate, uint64_t tsc_hz);

// A time in units of the clocks.
static inline uint64_t
qer_depth(uint32_t ms, uint64_t tsc_hz)
{
	return tsc_hz / 1000 * ms << QER_FRACTION;
}

struct qer_sweeper {
	uint64_t last; // TSC
	uint64_t at;   // the next clock, counted over all slots and directions
};

// Brings clocks that lie in the past up to now, the next few of them; one worker calls it now and
// then, at least every hour. Clocks of other workers' sessions are changed by compare-and-swap: a
// clock in the past says nothing but "idle", so its owner does not miss what it was.
void qer_sweep(
	struct qer_sweeper *sweeper, const struct shm_slots *slots, uint64_t now, uint64_t tsc_hz);

static inline uint64_t *
qer_tat(const struct shm_slots *slots, uint32_t slot, unsigned direction)
{
	return &slots->pair[slot / UPF_LINE_SLOTS].dir[direction].tat[slot % UPF_LINE_SLOTS];
}

#endif
