#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

// clang-format off
#include "packet/stages.h"
#include "traffic.h"
// clang-format on

#define POLLS_MAX 65536u

enum stage { PARSE, HANDOFF, LOOKUP, PDR, QER, FAR, URR, REWRITE, STAGES };
static const char *const stage_name[STAGES] = {
	"parse", "handoff", "lookup", "pdr", "qer", "far", "urr", "rewrite"};

static uint64_t spent[STAGES];                 // in this poll
static uint32_t sample[STAGES + 1][POLLS_MAX]; // the last: whole polls
static uint32_t polls;

// The linker's --wrap turns calls of f into calls of __wrap_f, and __real_f is f.
#define WRAP(stage, f) \
	void __real_##f(struct worker *w, struct burst *b); \
	void __wrap_##f(struct worker *w, struct burst *b); \
	void __wrap_##f(struct worker *w, struct burst *b) \
	{ \
		uint64_t began = rte_rdtsc(); \
\
		__real_##f(w, b); \
		spent[stage] += rte_rdtsc() - began; \
	}

WRAP(HANDOFF, handoff_burst)
WRAP(LOOKUP, lookup_burst)
WRAP(PDR, pdr_burst)
WRAP(QER, qer_burst)
WRAP(FAR, far_burst)
WRAP(URR, urr_burst)
WRAP(REWRITE, rewrite_burst)

void __real_parse_burst(struct worker *w, struct burst *b, enum upf_port port);
void __wrap_parse_burst(struct worker *w, struct burst *b, enum upf_port port);
void
__wrap_parse_burst(struct worker *w, struct burst *b, enum upf_port port)
{
	uint64_t began = rte_rdtsc();

	__real_parse_burst(w, b, port);
	spent[PARSE] += rte_rdtsc() - began;
}

void
stages_begin(void)
{
	polls = 0;
	memset(spent, 0, sizeof(spent));
}

void
stages_poll(uint64_t cycles)
{
	if (polls < POLLS_MAX) {
		for (unsigned i = 0; i < STAGES; i++)
			sample[i][polls] = (uint32_t)spent[i];
		sample[STAGES][polls++] = (uint32_t)cycles;
	}
	memset(spent, 0, sizeof(spent));
}

static int
compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double
median(const struct traffic_case *c, unsigned i)
{
	qsort(sample[i], polls, sizeof(sample[i][0]), compare);
	return (double)sample[i][polls / 2] / traffic_burst(c);
}

void
stages_print(const struct traffic_case *c)
{
	double all = median(c, STAGES), rest = all;

	printf("case=%s dir=%s sessions=%u size=%u stages=%.0f", c->name, traffic_direction_name(c),
		c->sessions, c->size, all);
	for (unsigned i = 0; i < STAGES; i++) {
		double cycles = median(c, i);

		printf(" %s=%.0f", stage_name[i], cycles);
		rest -= cycles;
	}
	printf(" io_and_rest=%.0f\n", rest);
}
