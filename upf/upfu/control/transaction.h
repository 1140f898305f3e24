// One TRANSACTION datagram: every record is checked and prepared first, then all are applied; if one
// is refused, nothing has changed.
#ifndef UPFU_TRANSACTION_H
#define UPFU_TRANSACTION_H

#include <stddef.h>
#include <stdint.h>

#include "control/rule_base.h"
#include "upf_abi.h"

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
