// Fragments put together again (RFC 791 3.2, RFC 8200 4.5): outer ones, that carry G-PDUs to us,
// and a user's, where a rule of the session asks for ports.
//
// Each worker has tables of its own (fragment_table.h): all fragments of a packet come to the same
// worker, since no hash looks at ports of fragments, and a user's are handed to the session's home
// before. There is one table an interface, in which a sender is a source address (of IPv6 its upper
// 64 bits), and one for users, in which it is a session and a direction: what a UE sends can
// neither complete another's packet nor take the place of an outer one. So many packets are under
// way at once in each and so long, as the configuration says, and all their fragments together hold
// no more than an eighth of the packet buffers; what is given up says why, by name. A whole packet
// is copied into one buffer, because nothing behind this takes packets in pieces.
//
// DPDK has a library for it. That of 22.11 has none of what was mended in 26.07: it puts
// overlapping fragments together, leaves the protocol out of the key, bounds no length, and its
// hash has no secret.
#ifndef UPFU_REASSEMBLY_H
#define UPFU_REASSEMBLY_H

#include <stdint.h>

struct worker;
struct pkt;
struct reassembly;

// NULL: out of memory.
struct reassembly *reassembly_create(struct worker *w);
void reassembly_free(struct reassembly *r);

// p->m, which came by p->port, holds a fragment of an outer packet whose IP header, of valid
// length, is at `at`. PKT_NEXT: it was the last one missing, and p->m is the whole packet, what
// stood before `at` with it. Else a stage verdict.
int reassembly_take(struct worker *w, struct pkt *p, uint16_t at);
// The same for the user's fragment at p->ip, whose source has been found to be the UE's; p is
// brought up to date.
int reassembly_take_user(struct worker *w, struct pkt *p);
// Gives up what waited too long.
void reassembly_tick(struct worker *w);

#endif
