// How a worker sleeps, and what wakes it: sleep.h.
#ifndef UPFU_SLEEP_STATE_H
#define UPFU_SLEEP_STATE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_epoll.h>

#include "upf_abi.h"

struct sleeper {
	uint32_t empty_polls;
	uint32_t next_us;
	uint32_t max_us; // 0: never sleep
	bool pauses;     // the CPU waits for a time by itself (WAITPKG)
	bool listens;    // every port can wake
	int event_fd;
	int socket[UPF_PORTS]; // kernel interfaces: the socket that wakes, else -1
	bool interrupt[UPF_PORTS];
	struct rte_epoll_event event_event, socket_event[UPF_PORTS];
	// On a line of its own, since whoever hands something over reads it, and hardly anybody writes it.
	// Others must ring: set before the last poll, taken back by who rings first.
	alignas(RTE_CACHE_LINE_SIZE) uint32_t asleep;
};

#endif
