// ARP (RFC 826) on the UPF's links: what is heard.
#ifndef UPFU_ARP_H
#define UPFU_ARP_H

#include "upf_abi.h"

struct rte_mbuf;
struct worker;

// A frame of ethertype ARP. Returns a stage verdict.
int arp_input(struct worker *w, enum upf_port port, struct rte_mbuf *m);
// A valid one that another worker received: only learn from it. It stays the caller's.
void arp_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m);

#endif
