// What a worker knows of the gateways of interfaces that have two: gateways.h.
#ifndef UPFU_GATEWAYS_STATE_H
#define UPFU_GATEWAYS_STATE_H

#include <stdint.h>

#include "upf_abi.h"

#define GATEWAY_ASK_TICKS 5u // of the workers' timers
#define GATEWAY_TRIES 4u

struct gateways {
	// In shared memory; NULL: no interface has two.
	struct upf_gateway_state (*state)[UPF_GATEWAYS]; // [UPF_PORTS]
	// The first worker's:
	uint8_t ticks;
	uint8_t unanswered[UPF_PORTS][UPF_GATEWAYS]; // requests since the last answer
};

#endif
