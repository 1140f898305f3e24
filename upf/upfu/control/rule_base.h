// What transactions change.
#ifndef UPFU_RULE_BASE_H
#define UPFU_RULE_BASE_H

#include <stdint.h>

#include "process/shm.h"
#include "rules/compile.h"
#include "rules/session.h"

struct worker;

struct rule_base {
	struct compile_context compile;
	struct session_table *sessions;
	struct shm *shm;
	struct worker **worker;
	unsigned workers;
	// To whom events go: twice the number of upf-cs that went, and one more once the present one has
	// stored META, so that it knows all sessions that an event can be about. Workers read it.
	uint32_t listener;
	uint8_t *meta; // upf-c's META blob
	uint32_t meta_len;
	// There was a META since the start: upf-c stores it when all its sessions are here, so from then
	// on an unknown F-TEID is one. Workers read it.
	uint32_t synced;
	// The last grant (struct upf_grant): its epoch, and the TSC at which it ends. Workers read the latter.
	uint64_t epoch;
	uint64_t granted_until;
	uint32_t forwards_only; // UPF_GRANT_FORWARD; workers read it
};

#endif
