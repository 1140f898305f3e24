// What waits between workers: outbox.h and handoff.h.
#ifndef UPFU_HANDOFF_STATE_H
#define UPFU_HANDOFF_STATE_H

#include <assert.h>
#include <stdint.h>

#include "packet/packet.h"
#include "rules/home.h"
#include "upf_abi.h"

struct rte_ring;

struct outbox { // packets for one other worker, until they are put into its ring
	unsigned n;
	struct rte_mbuf *m[BURST];
};

struct handoff {
	struct rte_ring **from; // [workers] what each of the others has put here; NULL: this worker
	struct outbox *outbox;  // [workers]
	uint8_t home[HOME_BUCKETS]; // worker by bucket
	uint64_t filled;            // bit: worker whose outbox is not empty
	uint64_t told; // bit: worker in whose ring something was put since the last fence
	// Emptying the rings: where handoff_take() goes on, and what is left of that ring.
	unsigned at, left;
};
static_assert(UPF_WORKERS_MAX <= 64, "a bit for each worker");

#endif
