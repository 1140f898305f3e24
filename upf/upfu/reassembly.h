// Fragments put together again (RFC 791 3.2, RFC 8200 4.5), by DPDK's rte_ip_frag: outer ones, that
// carry G-PDUs to us, and a user's, where a rule of the session asks for ports.
//
// Each worker has a table: all fragments of a packet come to the same worker, since no hash looks
// at ports of fragments. So many packets are under way at once and so long, as the configuration
// says; what is given up is counted as REASSEMBLY. A whole packet is copied into one buffer, because
// nothing behind this takes packets in pieces.
#ifndef UPFU_REASSEMBLY_H
#define UPFU_REASSEMBLY_H

#include <stdint.h>

#include "config.h"

struct worker;
struct pkt;
struct reassembly;

// NULL: out of memory.
struct reassembly *reassembly_create(unsigned worker, const struct config_reassembly *config);
void reassembly_free(struct reassembly *r);

// p->m holds a fragment whose IP header is at `at`. PKT_NEXT: it was the last one missing, and p->m
// is the whole packet, what stood before `at` with it. Else a stage verdict.
int reassembly_take(struct worker *w, struct pkt *p, uint16_t at);
// The same for the user's fragment at p->ip; p is brought up to date.
int reassembly_take_user(struct worker *w, struct pkt *p);
// Gives up what waited too long.
void reassembly_tick(struct worker *w);

#endif
