// The first pass of a transaction: it walks the records in order against an overlay: what the sessions
// and keys would be after the records before. It allocates everything that the second pass
// (transaction.c) needs, so that that one cannot fail.
#ifndef UPFU_PLAN_H
#define UPFU_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/rule_base.h"
#include "rules/arena.h"
#include "rules/session.h"
#include "upf_abi.h"

// What this transaction has said so far, in a small hash. Its spaces: enum key_space, and sessions.
#define OVERLAY_SESSION ((unsigned)KEY_SPACES)

struct overlay_entry {
	uint64_t key;
	uint64_t value;
	uint8_t space;
	bool used;
};

struct overlay {
	struct overlay_entry *entry;
	uint32_t size; // a power of two
	uint32_t used;
};

struct op { // a checked record, ready to be applied
	const struct upf_record *record;
	arena_ref part[2]; // of a SESSION_PUT
	uint8_t *blob;
	uint32_t blob_len;
	struct domains *domains; // of DOMAINS; once that is applied, those before
	bool armed;              // of a URR_ARM: the SESSION_PUT before it has done so
};

struct plan {
	struct rule_base *base;
	struct overlay overlay;
	struct op *op;
	uint32_t n;
	uint32_t new_keys[KEY_SPACES]; // that will be added
	uint32_t commands;             // at most, to each worker
	uint32_t key_refused;          // enum upf_refusal of an EEXIST
	uint32_t session;              // of the record being planned
	uint32_t key_holder;           // the session that has the key
};

// Checks and prepares the records of msg, length octets; plan->base is set, plan->op has a place for each
// and one more. Returns 0 or a positive errno; then *refused is the index of the record.
int plan_all(struct plan *plan, const struct upf_msg *msg, size_t length, uint32_t *refused);
// What the second pass has not taken over.
void plan_free(struct plan *plan);

#endif
