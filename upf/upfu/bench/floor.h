// The least that NEC's work can cost here: case=floor.
#ifndef UPFU_BENCH_FLOOR_H
#define UPFU_BENCH_FLOOR_H

#include "rig.h"

// Takes a burst of the direction that waits, and sends it on: it touches the cold lines that worker_poll()
// touches for a session of POPULATION_NEC (the map's, the two of the part, that of token buckets and
// counters), writes the headers that it writes, and counts. It checks and decides nothing.
void floor_poll(struct rig *rig, enum upf_direction direction);

#endif
