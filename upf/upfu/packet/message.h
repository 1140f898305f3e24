// What the control thread and a worker say to each other, through two rings: commands in, events out.
#ifndef UPFU_MESSAGE_H
#define UPFU_MESSAGE_H

#include <assert.h>
#include <stdint.h>

#include "upf_abi.h"

enum command_op {
	COMMAND_RULES_CHANGED, // look after what is buffered for the session
	COMMAND_END_MARKER,
	COMMAND_ECHO,
	COMMAND_TRACE, // trace.h
	COMMAND_DROP_BUFFERED,
	COMMAND_URR_LOOK,      // a URR was armed that may be past its thresholds already
	COMMAND_SHOW_DETECTED, // detection_show()
	COMMAND_STATION,       // bridge_know()
};

struct command {     // control thread → worker
	uint32_t op; // enum command_op
	uint32_t session;
	union {
		uint32_t slot; // COMMAND_URR_LOOK
		uint32_t from; // COMMAND_SHOW_DETECTED
		struct upf_end_marker end_marker;
		struct upf_echo echo;
		struct upf_ev_mac station;
		struct {
			uint32_t flags; // UPF_TRACE_*
			uint16_t order, snap;
		} trace;
	};
};
static_assert(sizeof(struct command) == 64, "rte_ring elements");

struct event { // worker → control thread: one record of an EVENT datagram
	union {
		struct upf_record rec;
		struct upf_ev_urr urr;
		struct upf_ev_dl_data dl_data;
		struct upf_ev_error_ind error_ind;
		struct upf_echo echo;
		struct upf_ev_mac mac;
		struct upf_ev_flow flow;
	};
};
static_assert(sizeof(struct event) == 64, "rte_ring elements");

#endif
