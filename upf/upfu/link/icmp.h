// Pings to the UPF's own addresses, and what else ICMPv6 says to them.
#ifndef UPFU_ICMP_H
#define UPFU_ICMP_H

#include <stdint.h>

#include "upf_abi.h"

struct rte_mbuf;
struct worker;

// Each returns a stage verdict.
int icmp_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, uint16_t ip_len);
// ICMPv6 of `length` octets at icmp, in a frame to an own address or a group.
int icmp6_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, const uint8_t *icmp,
	uint16_t length);

#endif
