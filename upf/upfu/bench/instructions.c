// Instructions a packet, case by case, counted by callgrind: single-threaded, 4 KiB pages, few sessions.
// gate.py starts it under valgrind and reads the dump that each case leaves behind.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ring.h>

#include <valgrind/callgrind.h>

#include "traffic.h"

#define SESSIONS 400u
#define WARM_UP 20u
#define COUNTED 100u // and whole patterns

static void
one_burst(struct rig *rig, const struct traffic_case *c, uint32_t n, bool counted)
{
	struct rte_mbuf *m[BURST];
	enum upf_direction direction = traffic_direction(c, n);

	assert_int_equal(rte_pktmbuf_alloc_bulk(rig_pool(), m, BURST), 0);
	traffic_write_burst(rig, c, direction, m);
	rte_ring_enqueue_bulk(rig_ring(traffic_port(direction), true), (void **)m, BURST, NULL);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	worker_poll(rig->worker[0]);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	if (rig_count_sent(rig, traffic_port(!direction)) != BURST) {
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
		traffic_direction_name(c), c->size, n * BURST);
	CALLGRIND_DUMP_STATS_AT(what);
}

int
main(void)
{
	const char *refused[POPULATIONS] = {NULL};
	struct config config = rig_config6();
	struct rig *rig;

	for (unsigned p = 0; p < POPULATIONS; p++)
		population_size((enum population)p,
			p == POPULATION_PDRS ? POPULATION_PDR_SESSIONS : SESSIONS);
	traffic_cases_settle();
	if (!rig_start_eal(population_memory(), false, 1024, sched_getcpu()))
		return EXIT_FAILURE;
	config.limits.sessions_max = population_all();
	config.limits.qer_slots = config.limits.urr_slots = population_all() * UPF_LINE_SLOTS;
	rig = rig_create_with(&config, 1, true);
	for (unsigned p = 0; p < POPULATIONS; p++) {
		if (population_install(rig, (enum population)p, &refused[p]))
			traffic_prime(rig, (enum population)p);
	}
	// Timers go by the clock, which is not what is counted.
	rig->worker[0]->next_tick = UINT64_MAX;
	for (unsigned i = 0; i < traffic_cases_n; i++) {
		if (!traffic_cases[i].forward_only && refused[traffic_cases[i].population] == NULL)
			count(rig, &traffic_cases[i]);
	}
	return EXIT_SUCCESS;
}
