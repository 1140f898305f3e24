// Meters and token buckets as the control thread writes them while workers use them: the thresholds and
// quotas of URRs (usage.c reads them), and the clocks of QERs (qer_clock.h).
#ifndef UPFU_METER_H
#define UPFU_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "control/rule_base.h"
#include "upf_abi.h"

// Writes a meter so that the worker sees the old values or the new ones (usage.c), and makes it look.
void meter_write(struct rule_base *base, const struct upf_urr_arm *arm, uint64_t look_at);
// Volumes are so near to what is armed that the worker may have to look without a further packet.
bool meter_is_near(const struct rule_base *base, const struct upf_urr_arm *arm);

struct clock { // a token bucket that a part uses
	uint64_t cost;
	uint32_t slot;
	uint32_t direction;
};

struct clocks {
	struct clock *clock;
	uint32_t n, size;
};

// Adds the token buckets that a part uses.
void clocks_of(struct clocks *c, const struct part *part);
// Keeps of `now` those that are not in `old`, at the same rate.
void clocks_subtract(struct clocks *now, struct clocks *old);
// Debt at an old rate means nothing at a new one: they begin at the present.
void clocks_start(struct rule_base *base, const struct clocks *clocks);

#endif
