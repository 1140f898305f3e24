// A upf-u with `redundancy` has its addresses only while it is granted an epoch (struct upf_grant): another
// one has them before and after. By the TSC, so that nobody is needed to end a grant.
//
// - What comes while it is silent is dropped at once, unheard: also ARP and Neighbour Discovery.
// - Nothing leaves: send.c looks once more when a batch is sent, for the poll may have been held up since
//   it began.
// - When silence ends, the neighbours are told where the addresses are, three times.
// - Granted with UPF_GRANT_FORWARD it forwards, and says nothing of its addresses: neither ARP nor Neighbour
//   Discovery leaves. What it knows of its neighbours stays as it is meanwhile.
#ifndef UPFU_SILENCE_H
#define UPFU_SILENCE_H

#include <stdbool.h>

#include <rte_branch_prediction.h>

#include "packet/worker_state.h"

// Of a worker with w->granted_until, now: whether it may answer and forward. Says where the addresses are
// when it may again.
bool silence_is_over(struct worker *w);
// What is done in place of a poll. Returns how much there was to do.
unsigned silence_poll(struct worker *w);
// Repeats where the addresses are.
void silence_tick(struct worker *w);

static inline bool
silence_holds(struct worker *w)
{
	return unlikely(w->granted_until != NULL) && !silence_is_over(w);
}

#endif
