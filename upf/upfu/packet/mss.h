// Clamping of the MSS option (RFC 9293 3.7.1) of TCP SYNs, both ways: what an end says it can take is
// lowered to what fits through the tunnel, so that TCP does not depend on ICMP errors coming through.
#ifndef UPFU_MSS_H
#define UPFU_MSS_H

#include <stdint.h>

#include "process/config.h"

struct worker;
struct pkt;

// Octets of the greatest packet of a user that fits through every tunnel and interface; 0: do not clamp.
uint16_t mss_room(const struct config *config);
// p->m is the user's packet from p->ip on, valid and counted.
void mss_clamp(struct worker *w, const struct pkt *p);

#endif
