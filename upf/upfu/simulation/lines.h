// Which cache lines are written by whom. The compiler's -fsanitize=thread puts a call before every access to
// memory; here these calls note the line and the worker whose poll it is, instead of looking for races.
// What is on the stack, and what is done outside of a poll, does not count.
#ifndef UPFU_SIMULATION_LINES_H
#define UPFU_SIMULATION_LINES_H

#include <stddef.h>
#include <stdint.h>

// Forgets all lines and regions.
void lines_reset(void);
// Memory with a name. Of two that overlap the earlier one has it; what is in none is "elsewhere".
void lines_region(const char *name, const void *at, size_t octets);

// Until lines_end() all that is written is this worker's.
void lines_begin(unsigned worker);
void lines_end(void);

// Calls each() for every region: how many lines of it two workers or more have written, and how often one
// was written by another worker than the time before.
void lines_each(void (*each)(void *context, const char *region, uint64_t shared, uint64_t moved),
	void *context);

#endif
