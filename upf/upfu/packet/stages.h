// The stages of worker_poll(), in the order of a packet's way, and how one goes through a burst. Each is
// described in its own file.
#ifndef UPFU_STAGES_H
#define UPFU_STAGES_H

#include <stdbool.h>

#include "packet/drop.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "rules/session.h"

// parse.c: frames → user packets with a key; ARP, ICMP and GTP-U signalling are answered here.
void parse_burst(struct worker *w, struct burst *b, enum upf_port port);
// The same of frames that came by several interfaces.
void parse_any_burst(struct worker *w, struct burst *b);
// lookup.c: key → the session's part.
void lookup_burst(struct worker *w, struct burst *b);
// handoff.c, before and behind it: packets to the session's home worker, with more than one worker.
// pdr.c: part → the first PDR that matches.
void pdr_burst(struct worker *w, struct burst *b);
// qer.c: gates and rates.
void qer_burst(struct worker *w, struct burst *b);
// far.c: what the FAR says, and whether the packet may go there.
void far_burst(struct worker *w, struct burst *b);
// urr.c: volumes.
void urr_burst(struct worker *w, struct burst *b);
// rewrite.c: headers off, headers on, to the neighbour.
void rewrite_burst(struct worker *w, struct burst *b);

// The way of an Ethernet PDU session's frame once its session is known (TS 23.501 5.6.10.2): what PDR, QER, FAR, URR and
// rewrite are to an IP packet, one frame after the other, in ethernet.c. pdr.c sends frames there, so that those stages are
// of IP alone, and an IP packet pays nothing.
//
// A frame of p->part, which is Ethernet's, from a tunnel, a bridge or a buffer. A verdict, never PKT_NEXT.
int ethernet_take(struct worker *w, struct pkt *p);
// The same behind its QERs: from the shaper.
int ethernet_leave(struct worker *w, struct pkt *p);
// As far_apply().
int ethernet_far(struct worker *w, struct pkt *p);
// What qer_burst() does, of one packet.
int qer_apply(struct worker *w, struct pkt *p);

// Hands the burst to a stage packet by packet; keeps those that go on, in order.
static inline __attribute__((always_inline)) void
burst_through(struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p),
	bool has_part)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct pkt *p = b->live[i];
		int verdict = stage(w, p);

		if (likely(verdict == PKT_NEXT))
			b->live[n++] = p;
		else if (verdict != PKT_TAKEN)
			worker_drop_of(w, (enum upf_port)p->port, has_part ? p->part->group : 0,
				p->m, (enum upf_drop)verdict);
	}
	b->n = n;
}

// Before the session is known.
static inline __attribute__((always_inline)) void
burst_each(struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p))
{
	burst_through(w, b, stage, false);
}

static inline __attribute__((always_inline)) void
burst_each_of_session(
	struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p))
{
	burst_through(w, b, stage, true);
}

#endif
