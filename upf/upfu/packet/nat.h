// NAT44: the UEs of a network instance share public IPv4 addresses (RFC 3022; of what is shared by many RFC 6888).
//
// upf-c gives each session a block of ports of one public address, which stands in its rules (part_more) and in its
// record: whoever has a public address, a port and a time knows the UE, without a record of each connection.
//
// What leaves to the data network is translated last, in nat_out(): PDRs, filters, QERs, URRs and copies see the UE's own
// address. What comes to a public address is translated first, in nat_in(), where the look for a UE's address has
// found nobody; so a packet of a network instance without NAT44 never asks.
//
//	mapping      of an address and port inside, whatever is outside (RFC 4787 REQ-1, RFC 5382 REQ-1); the lowest bits of the port
//	             are kept where that port is free, so that after a restart or a takeover a UE that goes on mostly has the
//	             same mapping again
//	filtering    none beyond the mapping (endpoint-independent: RFC 4787 REQ-8, RFC 5382 REQ-3)
//	lifetime     UDP and ICMP: from the UE's last packet; TCP: from the last one of either side, and much longer while a
//	             connection is established: both sides have sent since the last SYN, FIN or RST. RFC 7857 2: a RST alone
//	             ends nothing.
//	hairpinning  a UE's packet to a public address of its network instance is another UE's: it leaves to the gateway, translated,
//	             which sends it back, or is refused as all between UEs is (ue_to_ue)
//	ICMP         queries by their identifier; of errors the quoted packet is translated as well (RFC 5508 REQ-4, REQ-5). All other
//	             protocols are refused, nat_protocol
//	fragments    are put together before, both ways
//
// The mappings are a worker's own, of the sessions that are at home with it: a table of fixed size, found by what is
// inside and by what is outside, in chains. Mappings of a session that has ended are found by nobody, and given back by
// nat_tick(), which looks at some of them at a time. A UE whose block is full is not looked after again for a second.
#ifndef UPFU_NAT_H
#define UPFU_NAT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/session.h"
#include "upf_abi.h"

struct burst;
struct pkt;

// -1: out of memory.
int nat_init(struct worker *w);
void nat_free(struct worker *w);
void nat_tick(struct worker *w);

// A user's IPv4 packet on its way out of a network instance with NAT44; nothing refuses it behind this. PKT_NEXT, or a drop
// reason, of which UPF_DROP_UE_TO_UE is told to the UE.
int nat_out(struct worker *w, struct pkt *p);
// A packet from N6 that is to no UE's address. PKT_NEXT: it has its part, and where that is at home here it is translated.
// Else a verdict.
int nat_in(struct worker *w, struct pkt *p);
// What these two read of a burst's packets is cold with many sessions, and each line says where the next is: fetched ahead, a step
// for all packets at a time. A packet that is missed here is translated all the same. nat_fetch_out() is of packets with a
// PDR, nat_fetch_in() of packets with a key; both are called where there is a table.
void nat_fetch_out(struct worker *w, const struct burst *b);
void nat_fetch_in(struct worker *w, const struct burst *b);
// The packet, which had come by N6 and is on its way to a UE, as whoever sent it knows it.
void nat_hide(struct worker *w, enum upf_port n6, void *packet, uint16_t length);

// Is this a public address of the network instance's NAT44?
static inline bool
nat_owns(const struct worker *w, enum upf_port n6, rte_be32_t addr)
{
	return config_nat_owns(&w->config->interface[n6].nat, rte_be_to_cpu_32(addr));
}

// The key of the block with this public port.
static inline uint64_t
nat_block_of(const struct worker *w, enum upf_port n6, uint64_t key)
{
	return key & ~(uint64_t)(w->config->interface[n6].nat.ports - 1);
}

#endif
