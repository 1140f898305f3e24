// Duplication (TS 29.244 5.2.3, Apply Action DUPL): a copy of the user's packet to each of the
// Duplicating Parameters' destinations, as it came, whatever becomes of the packet itself.
#ifndef UPFU_DUPLICATE_H
#define UPFU_DUPLICATE_H

struct pkt;
struct worker;

void duplicate_packet(struct worker *w, const struct pkt *p);

#endif
