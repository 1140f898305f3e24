#ifndef UPFU_QER_H
#define UPFU_QER_H

struct pkt;
struct worker;

// What qer_burst() does, of one packet.
int qer_apply(struct worker *w, struct pkt *p);

#endif
