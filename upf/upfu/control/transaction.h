// One TRANSACTION datagram: every record is checked and prepared first, then all are applied; if one
// is refused, nothing has changed.
#ifndef UPFU_TRANSACTION_H
#define UPFU_TRANSACTION_H

#include <stddef.h>
#include <stdint.h>

#include "process/shm.h"
#include "rules/compile.h"
#include "rules/session.h"

struct worker;

struct rule_base { // what transactions change
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
};

struct refusal {
	uint32_t record; // index of the refused record
	uint32_t what;   // enum upf_refusal, 0: nothing was refused
	uint32_t holder; // UPF_REFUSED_FTEID, UPF_REFUSED_UE_IP: the session that has it
};

// Runs the transaction in msg, length octets from the socket. Returns 0 or a positive errno; then
// *refusal says what was refused.
int transaction_run(
	struct rule_base *base, const struct upf_msg *msg, size_t length, struct refusal *refusal);

// upf-c went: what it was told it may not have done.
void transaction_listener_gone(struct rule_base *base);

// Begins to trace as a prepared order says, or ends it (no flags).
void transaction_trace(struct rule_base *base, const struct upf_trace *order);

#endif
