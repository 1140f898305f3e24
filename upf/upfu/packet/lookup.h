#ifndef UPFU_LOOKUP_H
#define UPFU_LOOKUP_H

#include "rules/arena.h"

struct pkt;
struct worker;

// The part of one packet, BUCKETMAP_NONE when it has none.
arena_ref lookup_key(const struct worker *w, const struct pkt *p);

#endif
