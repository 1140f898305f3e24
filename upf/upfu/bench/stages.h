// Cycles by stage of worker_poll(). Only stages-upf-u has them: its linker puts stages.c around each
// stage function, so that the data path itself stays as it is. Elsewhere these are NULL.
#ifndef UPFU_BENCH_STAGES_H
#define UPFU_BENCH_STAGES_H

#include <stdint.h>

struct traffic_case;

// Forgets what was measured.
void stages_begin(void) __attribute__((weak));
// A poll with a full burst is over, it took so many cycles.
void stages_poll(uint64_t cycles) __attribute__((weak));
// A line: medians of single polls, a packet.
void stages_print(const struct traffic_case *c) __attribute__((weak));

#endif
