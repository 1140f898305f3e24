// The way of an Ethernet PDU session's frame once its session is known (TS 23.501 5.6.10.2): what PDR, QER, FAR, URR and
// rewrite are to an IP packet, one frame after the other. pdr.c sends frames here, so that those stages are of IP alone, and
// an IP packet pays nothing.
#ifndef UPFU_ETHERNET_H
#define UPFU_ETHERNET_H

struct pkt;
struct worker;

// A frame of p->part, which is Ethernet's, from a tunnel, a bridge or a buffer. A verdict, never PKT_NEXT.
int ethernet_take(struct worker *w, struct pkt *p);
// The same behind its QERs: from the shaper.
int ethernet_leave(struct worker *w, struct pkt *p);
// As far_apply().
int ethernet_far(struct worker *w, struct pkt *p);

#endif
