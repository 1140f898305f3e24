// A packet that was found a way and does not leave after all: the next hop does not answer, the
// transmit queue is full.
//
// Beside each frame on its way out goes the PDR whose packet it is; NULL: none, upf-u says it
// itself, or it is one of the fragments in which a packet leaves. The batch is sent before the
// worker says that it holds no rules any more, so the PDR is there as long as it may be asked for.
//
// - A user's packet was counted by its URRs when it was certain that its rules let it pass (urr.c).
//   What does not leave was not carried for anybody, so it is taken off; what is measured before QoS
//   enforcement (TS 29.244 8.2.68, MBQE) stays. While a packet waits for its next hop it is not
//   counted; it is when it leaves, by the rules that are then. When its session or PDR went
//   meanwhile, nobody could report it any more, and it goes with them. What leaves in fragments is
//   counted as a whole when it is cut.
// - A copy (duplicate.c) causes nothing: nobody is told that it is lost, and the drop is
//   DUPLICATION, of no session's group.
#ifndef UPFU_DEPARTURE_H
#define UPFU_DEPARTURE_H

#include <stdbool.h>

#include <rte_mbuf.h>

#include "upf_abi.h"

struct pdr;
struct worker;

// Drops a frame that was on its way out of `port`.
void departure_drop(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr,
	enum upf_drop reason);
// The same because nobody is there; the sender is told before the poll ends or in the next one, where
// that is due (icmp_error.h).
void departure_unreachable(
	struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr);
// The frame will wait for its neighbour beyond this poll: what must be known of it then goes along.
void departure_hold(
	struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr);
// The neighbour of a held frame is known. True: it may go now, and *pdr is whose it is.
bool departure_resume(
	struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr **pdr);
// The neighbour of a held frame does not answer.
void departure_give_up(struct worker *w, enum upf_port port, struct rte_mbuf *m);

#endif
