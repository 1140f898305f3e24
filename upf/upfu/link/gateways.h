// The gateways of an interface that has two of one IP version: which of them answers, and by which packets go.
//
// The packets of a PDU session go by one of the two, which a hash of the UE's address has chosen when its rules
// were compiled (PDR_SECOND_GATEWAY): they keep their order, and meet one firewall. struct port has where each
// choice leads now: to itself while that one answers, else to the other one. When neither answers it is as
// with one gateway: packets wait for it and are dropped as no_neighbour.
//
// The first worker asks both, by ARP or Neighbour Discovery, twice a second. One that has left GATEWAY_TRIES
// requests in a row without an answer counts as gone, 2.5 s after its last word at most; its first answer
// brings it back. What is known is written down in shared memory, where the other workers look ten times a second,
// the control thread for what it logs, and upf-c for people. Requests count, not time: a upf-u that is silent
// or only forwards asks nobody and has everything stay as it is. What answers is the neighbour's ARP: what
// is broken behind it is not seen.
#ifndef UPFU_GATEWAYS_H
#define UPFU_GATEWAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "process/config.h"
#include "upf_abi.h"

struct worker;

// state: where what is known is written down.
void gateways_init(struct worker *w, struct upf_gateway_state (*state)[UPF_GATEWAYS]);
// Asks, and goes by what is known.
void gateways_tick(struct worker *w);
// Somebody on the link has answered. Returns whether it is one of two gateways.
bool gateways_heard4(struct worker *w, enum upf_port port, rte_be32_t addr);
bool gateways_heard6(struct worker *w, enum upf_port port, const uint8_t *addr);

// What the control thread has logged of them.
struct gateways_log {
	const struct config *config;
	const struct upf_gateway_state (*state)[UPF_GATEWAYS];
	uint8_t logged[UPF_PORTS][UPF_GATEWAYS]; // enum upf_gateway
};

// Logs what has changed.
void gateways_log(struct gateways_log *log);

#endif
