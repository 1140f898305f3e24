// From a SESSION_PUT record to the two parts of a session (session.h).
#ifndef UPFU_COMPILE_H
#define UPFU_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "process/config.h"
#include "rules/session.h"
#include "upf_abi.h"

struct compile_context {
	const struct config *config;
	struct arena *arena;
	uint64_t tsc_hz;
};

// Checks the record (put->rec.length octets, already known to be there) and compiles it. Returns 0
// and new parts, whose incarnation is still 0 and whose home is that of a new session, or a positive errno: EINVAL for what is not right,
// ENOMEM. The blob stands in the record at *blob.
int compile_session(const struct compile_context *context, const struct upf_session_put *put,
	arena_ref part[2], const uint8_t **blob);

// The URRs and QERs of a record that compile_session() has accepted.
const struct upf_qer *compile_qers_of(const struct upf_session_put *put);
const struct upf_urr *compile_urrs_of(const struct upf_session_put *put);

#endif
