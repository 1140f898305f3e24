// How a packet is dropped: each time with a name and a count.
#ifndef UPFU_DROP_H
#define UPFU_DROP_H

#include <rte_mbuf.h>

#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "upf_abi.h"

// Each drop counts twice: by interface, and by the session's group.
static inline void
worker_count_drops(
	struct worker *w, enum upf_port port, unsigned group, enum upf_drop reason, uint64_t n)
{
	shm_add(&w->stats->drops[port].reason[reason], n);
	shm_add(&w->group[group].reason[reason], n);
}

static inline void
worker_drop_of(struct worker *w, enum upf_port port, unsigned group, struct rte_mbuf *m,
	enum upf_drop reason)
{
	if (unlikely(w->trace != NULL))
		trace_dropped(w, m, reason);
	worker_count_drops(w, port, group, reason, 1);
	rte_pktmbuf_free(m);
}

// A frame of no session, or whose session is not known any more on its way out.
static inline void
worker_drop(struct worker *w, enum upf_port port, struct rte_mbuf *m, enum upf_drop reason)
{
	worker_drop_of(w, port, 0, m, reason);
}

#endif
