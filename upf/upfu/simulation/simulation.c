// How workers add up: one line a case, and exit status 1 where they do not.
//
//   workers-upf-u [SEED]
//
// It is compiled with the thread sanitizer's calls, which lines.c answers.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lines.h"
#include "packet/worker_state.h"
#include "simulation/fabric.h"

#define POLLS 200u
#define HANDED_OVER "packet buffers" // written where they came in, and at home

static void
name_chunk(struct rte_mempool *pool, void *name, struct rte_mempool_memhdr *chunk, unsigned i)
{
	(void)pool;
	(void)i;
	lines_region(name, chunk->addr, chunk->len);
}

static void
name_regions(const struct rig *rig)
{
	static char buffers[] = HANDED_OVER;

	for (unsigned i = 0; i < rig->config.workers; i++)
		lines_region("workers", rig->worker[i], sizeof(struct worker));
	lines_region("slots", rig->shm.slots.pair,
		(size_t)rig->config.limits.qer_slots / UPF_LINE_SLOTS *
			sizeof(struct upf_slot_pair));
	lines_region("statistics", rig->shm.workers,
		rig->config.workers * sizeof(struct upf_worker_stats));
	rte_mempool_mem_iter(rig_pool(), name_chunk, buffers);
}

struct found {
	uint64_t shared, moved, buffers;
};

static void
note(void *context, const char *region, uint64_t shared, uint64_t moved)
{
	struct found *found = context;

	if (strcmp(region, HANDED_OVER) == 0) {
		found->buffers += moved;
		return;
	}
	found->shared += shared;
	found->moved += moved;
	printf("  lines_written_by_two=%lu writes_after_another=%lu region=%s\n",
		(unsigned long)shared, (unsigned long)moved, region);
}

static bool
run(unsigned workers, unsigned astray, uint32_t seed)
{
	const struct fabric_watch watch = {lines_begin, lines_end};
	const struct fabric_case c = {
		.workers = workers, .astray = astray, .polls = POLLS, .seed = seed};
	struct rig *rig = fabric_create(workers);
	struct fabric_result r;
	struct found found = {0};
	bool good;

	lines_reset();
	name_regions(rig);
	fabric_run(rig, &c, &watch, &r);
	lines_each(note, &found);
	good = r.lost == 0 && r.dropped == 0 && r.elsewhere == 0 && found.shared == 0;
	printf("%s case=workers workers=%u astray=%u seed=%u packets=%lu came_astray=%lu "
	       "handed_over=%lu "
	       "forwarded=%lu dropped=%lu lost=%lu at_another_worker=%lu lines_written_by_two=%lu "
	       "writes_after_another=%lu buffers_written_after_another=%lu\n",
		good ? "PASS" : "FAIL", workers, astray, seed, (unsigned long)r.offered,
		(unsigned long)r.astray, (unsigned long)r.handed_over, (unsigned long)r.forwarded,
		(unsigned long)r.dropped, (unsigned long)r.lost, (unsigned long)r.elsewhere,
		(unsigned long)found.shared, (unsigned long)found.moved,
		(unsigned long)found.buffers);
	rig_free(rig);
	return good;
}

int
main(int argc, char **argv)
{
	static const unsigned workers[] = {1, 4, 16}, astray[] = {0, 25, 75, 94};
	uint32_t seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
	unsigned good = 0, bad = 0;
	const int cpu = sched_getcpu();
	int cpus[RIG_WORKERS_MAX];

	for (unsigned i = 0; i < RIG_WORKERS_MAX; i++)
		cpus[i] = cpu;
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	population_size(POPULATION_NEC, FABRIC_SESSIONS * RIG_WORKERS_MAX);
	if (!rig_start_eal_workers(population_memory() + 128, false, 16384, cpus, RIG_WORKERS_MAX))
		return EXIT_FAILURE;
	for (unsigned i = 0; i < RTE_DIM(workers); i++) {
		for (unsigned k = 0; k < RTE_DIM(astray); k++) {
			if (workers[i] == 1 && astray[k] != 0)
				continue;
			if (run(workers[i], astray[k], seed))
				good++;
			else
				bad++;
		}
	}
	printf("workers: %u passed, %u failed, 0 skipped\n", good, bad);
	return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
