// Packets that the UPF itself has for UEs: ICMP errors, answers in the name of a server. They enter as
// if they came from N6, so that the UE's session decides their way: by the interface of its network instance.
#ifndef UPFU_OWN_PACKETS_H
#define UPFU_OWN_PACKETS_H

#include "upf_abi.h"

struct burst;
struct own_packets;
struct rte_mbuf;
struct worker;

// m is an IPv4 or IPv6 packet behind an Ethernet header of which only the type is set. Takes it.
void own_packets_add(struct worker *w, enum upf_port n6, struct rte_mbuf *m);
// Fills the burst with those that wait, as frames received on N6. Returns how many.
unsigned own_packets_take(struct worker *w, struct burst *b);
void own_packets_free(struct own_packets *own);

#endif
