// One TRANSACTION datagram: every record is checked and prepared first, then all are applied; if one
// is refused, nothing has changed.
#ifndef UPFU_TRANSACTION_H
#define UPFU_TRANSACTION_H

#include <stddef.h>
#include <stdint.h>

#include "compile.h"
#include "session.h"
#include "shm.h"

struct worker;

struct rule_base { // what transactions change
	struct compile_context compile;
	struct session_table *sessions;
	struct shm *shm;
	struct worker **worker;
	unsigned workers;
	uint8_t *meta; // upf-c's META blob
	uint32_t meta_len;
	// Called for an armed volume that has been reached already.
	void (*urr_fired)(void *context, uint32_t session, uint32_t slot);
	void *context;
};

// Runs the transaction in msg, length octets from the socket. Returns 0 or a positive errno; then
// *record is the index of the refused record.
int transaction_run(
	struct rule_base *base, const struct upf_msg *msg, size_t length, uint32_t *record);

#endif
