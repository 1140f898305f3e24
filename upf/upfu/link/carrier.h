// The links of the interfaces, and what was lost before a worker could take it: the control thread looks at
// them and writes down what upf-c reads (struct upf_link_state). Workers do not care: what they send over a
// link that is down is lost there, and what came while they were busy too long they never see.
#ifndef UPFU_CARRIER_H
#define UPFU_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "process/config.h"
#include "upf_abi.h"

struct carriers {
	unsigned ports;
	int fd; // a socket, to ask the kernel
	struct {
		bool present;
		bool own_device; // else it has a VLAN of another one's
		const char *network;
		uint16_t ethdev;
		const char *device; // the kernel's, NULL: upf-u drives the device itself
		// af_packet: the driver's sockets, which tell what the kernel could not put into
		// their rings. DPDK 22.11's driver does not.
		int ring[UPF_WORKERS_MAX];
		unsigned rings;
	} port[UPF_PORTS];
	struct upf_link_state *state; // [UPF_PORTS] in the shared segment
};

// Without a socket nobody looks, and the links stay unknown.
void carriers_init(struct carriers *carriers, const struct config *config, const uint16_t *ethdev,
	struct upf_link_state *state);
// Looks once, and logs what has changed.
void carriers_look(struct carriers *carriers);
void carriers_free(struct carriers *carriers);

#endif
