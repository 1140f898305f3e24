#ifndef UPFU_URR_H
#define UPFU_URR_H

struct pkt;
struct worker;

// Counts a packet in the URRs that measure before QoS enforcement; may lead the packet to the FAR for quota action.
int urr_before_qos(struct worker *w, struct pkt *p);

// What urr_burst() does, of one packet.
int urr_apply(struct worker *w, struct pkt *p);

#endif
