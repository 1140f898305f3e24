// QoS enforcement: gates and maximum bit rates (TS 29.244 5.4).
//
// A token bucket is a virtual clock: `tat` is the time at which everything sent so far would have
// left at exactly the maximum rate. A packet conforms when the clock is at most one burst ahead of
// the present, and then advances it by its octets times the cost of an octet. The cost is computed
// when the rules are compiled (the only division), in TSC cycles with 32 fractional bits: exact to
// 10^-9 at 100 Gbit/s, and 128 bits wide, so that 10 kbit/s do not overflow either.
//
// Buckets live under the QER's slot and survive a replacement of the rules. They start anew when
// the rate changes or another session takes the slot: debt at an old rate means nothing at a new one.
#ifndef UPFU_QER_H
#define UPFU_QER_H

#include <assert.h>
#include <stdint.h>

struct qer_bucket {
	__extension__ unsigned __int128 tat; // TSC cycles, 32 fractional bits
	uint64_t cost;
	uint32_t incarnation;
	uint32_t reserved;
};
static_assert(sizeof(struct qer_bucket) * 2 == 64, "both directions of a QER in one cache line");

#define QER_COST_BLOCKED UINT64_MAX // a rate of 0: nothing passes

// The cost of an octet at rate bit/s.
uint64_t qer_cost(uint64_t rate, uint64_t tsc_hz);

#endif
