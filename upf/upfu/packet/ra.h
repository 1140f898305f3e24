// The link between a UE and the UPF, where the UPF is the router (RFC 4861 6.2, TS 29.061 11.2.1.3).
#ifndef UPFU_RA_H
#define UPFU_RA_H

struct pkt;
struct worker;

// An IPv6 packet of a UE (p->ip, p->ip_len, p->part) that is of the link: its source is link-local or
// unspecified, or its destination is not unicast. Returns a stage verdict.
int nd_from_ue(struct worker *w, struct pkt *p);

#endif
