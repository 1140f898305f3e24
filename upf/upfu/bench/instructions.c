// Instructions a packet, case by case, counted by callgrind: single-threaded, 4 KiB pages, few sessions.
// Cases of several workers are the simulation's: they poll one after the other.
// gate.py starts it under valgrind and reads the dump that each case leaves behind.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ring.h>

#include <valgrind/callgrind.h>

#include "bench/floor.h"
#include "simulation/fabric.h"
#include "traffic.h"

#define SESSIONS 400u
#define WARM_UP 20u
#define COUNTED 100u // and whole patterns

static void
one_burst(struct rig *rig, const struct traffic_case *c, uint32_t n, bool counted)
{
	struct rte_mbuf *m[BURST];
	enum upf_direction direction = traffic_direction(c, n);
	unsigned packets = traffic_burst(c);

	assert_int_equal(rte_pktmbuf_alloc_bulk(rig_pool(), m, packets), 0);
	traffic_write_burst(rig, c, direction, m);
	rte_ring_enqueue_bulk(rig_ring(traffic_port(direction), true), (void **)m, packets, NULL);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	if (c->floor)
		floor_poll(rig, direction);
	else
		worker_poll(rig->worker[0]);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	if (rig_count_sent(rig, traffic_port(!direction)) != packets) {
		fprintf(stderr, "case=%s loses packets\n", c->name);
		exit(EXIT_FAILURE);
	}
}

static void
count(struct rig *rig, const struct traffic_case *c)
{
	uint32_t pattern = c->ul + (uint32_t)c->dl, n = 0;
	char what[64];

	while (n < WARM_UP || n % pattern != 0)
		one_burst(rig, c, n++, false);
	CALLGRIND_ZERO_STATS;
	for (n = 0; n < COUNTED || n % pattern != 0; n++)
		one_burst(rig, c, n, true);
	snprintf(what, sizeof(what), "case=%s dir=%s size=%u packets=%u", c->name,
		traffic_direction_name(c), c->size, n * traffic_burst(c));
	CALLGRIND_DUMP_STATS_AT(what);
}

static void
begin(unsigned worker)
{
	(void)worker;
	CALLGRIND_TOGGLE_COLLECT;
}

static void
end(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

// So many of a hundred packets come in at another worker than their session's.
static void
count_workers(unsigned workers, unsigned astray)
{
	const struct fabric_case c = {
		.workers = workers, .astray = astray, .polls = 320 / workers, .seed = 1};
	struct rig *rig = fabric_create(workers);
	struct fabric_result r;
	char what[64];

	CALLGRIND_ZERO_STATS;
	fabric_run(rig, &c, &(struct fabric_watch){begin, end}, &r);
	snprintf(what, sizeof(what), "case=workers workers=%u astray=%u packets=%lu", workers,
		astray, (unsigned long)r.offered);
	CALLGRIND_DUMP_STATS_AT(what);
	rig_free(rig);
	if (r.forwarded != r.offered) {
		fprintf(stderr, "case=workers workers=%u astray=%u loses packets\n", workers,
			astray);
		exit(EXIT_FAILURE);
	}
}

int
main(void)
{
	int cpus[RIG_WORKERS_MAX];
	const char *refused[POPULATIONS] = {NULL};
	struct rig *rig[POPULATION_UPFS];

	for (unsigned p = 0; p < POPULATIONS; p++)
		population_size((enum population)p,
			p == POPULATION_PDRS ? POPULATION_PDR_SESSIONS : SESSIONS);
	traffic_cases_settle();
	for (unsigned i = 0; i < RIG_WORKERS_MAX; i++)
		cpus[i] = sched_getcpu();
	if (!rig_start_eal_workers(population_memory() + 128, false, 4096, cpus, RIG_WORKERS_MAX))
		return EXIT_FAILURE;
	for (enum population_upf u = 0; u < POPULATION_UPFS; u++) {
		struct config config = rig_config6();

		population_config(u, &config);
		rig[u] = rig_create_with(&config, 1, true);
	}
	for (enum population p = 0; p < POPULATIONS; p++) {
		if (population_install(rig[population_upf(p)], p, &refused[p]))
			traffic_prime(rig[population_upf(p)], p);
	}
	// Timers go by the clock, which is not what is counted.
	for (unsigned u = 0; u < POPULATION_UPFS; u++)
		rig[u]->worker[0]->next_tick = UINT64_MAX;
	for (unsigned i = 0; i < traffic_cases_n; i++) {
		enum population p = traffic_cases[i].population;

		if (!traffic_cases[i].forward_only && refused[p] == NULL)
			count(rig[population_upf(p)], &traffic_cases[i]);
	}
	for (unsigned u = 0; u < POPULATION_UPFS; u++)
		rig_free(rig[u]);
	for (unsigned workers = 1; workers <= RIG_WORKERS_MAX; workers *= 4) {
		count_workers(workers, 0);
		if (workers > 1)
			count_workers(workers, 75);
	}
	return EXIT_SUCCESS;
}
