// ICMP and ICMPv6 errors about packets that cannot go on (RFC 792, RFC 1812 4.3, RFC 4443): to the
// sender on N6, and through the tunnel to a UE.
//
// An error for a UE enters like a packet from N6 (own_packets.h): the UE's session decides its way,
// so it is subject to gates and rates and is counted as any packet for the UE. Errors are sent within a
// rate, one bucket a worker; never about an ICMP error, a fragment beyond the first, or a packet whose
// source or destination is not one host.
#ifndef UPFU_ICMP_ERROR_H
#define UPFU_ICMP_ERROR_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "upf_abi.h"

struct worker;
struct pkt;

// For the stages: tells the sender why p is dropped, where a host can make use of it, and returns
// the reason. The packet is still as it came.
int icmp_refuse(struct worker *w, const struct pkt *p, enum upf_drop reason);
// The same for TOO_BIG: mtu is the greatest packet of the user that would go.
int icmp_too_big(struct worker *w, const struct pkt *p, uint16_t mtu);
// Tells the senders of the frames that have found nobody on the link since the last time. Not at once, for
// the answer may have to find somebody on a link itself.
void icmp_tell_unreachable(struct worker *w);
// Of a worker that ends.
void icmp_forget_unreachable(struct worker *w);

#endif
