// From a SESSION_PUT record to the immutable rules of a session.
#ifndef UPFU_COMPILE_H
#define UPFU_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "session.h"
#include "upf_abi.h"

struct compile_context {
	const struct config *config;
	uint64_t tsc_hz;
};

// Checks the record (put->rec.length octets, already known to be there) and compiles it. Returns 0
// and new rules (of DPDK's heap), or a positive errno: EINVAL for what is not right, ENOMEM. The
// blob stands in the record at *blob.
int compile_session(const struct compile_context *context, const struct upf_session_put *put,
	struct rules **compiled, const uint8_t **blob);

#endif
