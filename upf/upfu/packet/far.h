#ifndef UPFU_FAR_H
#define UPFU_FAR_H

struct pkt;
struct worker;

// What the FAR of p->pdr says of one packet. Returns a stage verdict.
int far_apply(struct worker *w, struct pkt *p);

#endif
