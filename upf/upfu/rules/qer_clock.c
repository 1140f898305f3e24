#include "rules/qer_clock.h"

#include "process/shm.h"

#define COST_MAX (UINT64_C(1) << 46) // times 2^16 octets is a quarter of the clock
#define SWEEP_SECONDS \
	8192u // for all clocks; they wrap in 15 hours at 2.5 GHz, in 5 on arm64 at 1 GHz

uint64_t
qer_cost(uint64_t rate, uint64_t tsc_hz)
{
	__extension__ unsigned __int128 cost;

	if (rate == 0)
		return QER_COST_BLOCKED;
	cost = ((__extension__(unsigned __int128)(tsc_hz * 8) << QER_FRACTION) + rate / 2) / rate;
	if (cost == 0)
		cost = 1;
	return cost < COST_MAX ? (uint64_t)cost : COST_MAX;
}

void
qer_sweep(struct qer_sweeper *sweeper, const struct shm_slots *slots, uint64_t now, uint64_t tsc_hz)
{
	const uint64_t clock = now << QER_FRACTION;
	uint64_t used = __atomic_load_n(slots->pairs_used, __ATOMIC_RELAXED);
	uint64_t clocks = used * 2 * UPF_LINE_SLOTS;
	uint64_t n = (now - sweeper->last) / (tsc_hz * SWEEP_SECONDS / (clocks + 1) + 1);

	if (n == 0)
		return;
	sweeper->last = now;
	for (n = n < clocks ? n : clocks; n > 0; n--) {
		uint64_t *tat, was;

		if (sweeper->at >= clocks)
			sweeper->at = 0;
		tat = qer_tat(slots, (uint32_t)(sweeper->at / 2), sweeper->at % 2);
		sweeper->at++;
		was = __atomic_load_n(tat, __ATOMIC_RELAXED);
		if ((int64_t)(was - clock) < 0)
			__atomic_compare_exchange_n(
				tat, &was, clock, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}
