// A upf-u with UPF_GRANT_FORWARD: silence.h.
#ifndef UPFU_FORWARDS_ONLY_H
#define UPFU_FORWARDS_ONLY_H

#include <stdbool.h>

#include <rte_branch_prediction.h>

#include "packet/worker_state.h"

// Whether a worker may say nothing of its addresses.
static inline bool
worker_forwards_only(const struct worker *w)
{
	// Relaxed: pairs with apply_grant(), which waits until no worker is in a poll of before.
	return unlikely(w->forwards_only != NULL) &&
		__atomic_load_n(w->forwards_only, __ATOMIC_RELAXED) != 0;
}

#endif
