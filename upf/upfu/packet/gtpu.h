// GTP-U of the UPF itself (TS 29.281): what comes to its addresses, and what it says.
#ifndef UPFU_GTPU_H
#define UPFU_GTPU_H

#include <stdint.h>

#include "upf_abi.h"

struct pkt;
struct rte_udp_hdr;
struct worker;

// udp: of `room` octets in an IP packet to one of our addresses; address: the upper half of its
// F-TEIDs' keys.
int gtpu_input(struct worker *w, struct pkt *p, const struct rte_udp_hdr *udp, uint16_t room,
	uint32_t address);
int gtpu_unknown_teid(struct worker *w, struct pkt *p);
void gtpu_send_end_marker(struct worker *w, const struct upf_end_marker *marker);
void gtpu_send_echo(struct worker *w, const struct upf_echo *echo);

#endif
