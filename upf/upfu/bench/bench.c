// Cycles a packet of one worker core, case by case. run.py starts this program, one a revision, and
// speaks to it on standard input, so that cases and revisions take turns:
//
//   run CASE N    measures N more bursts of a case, answers "ok"
//   stages CASE N the same, and prints what each stage of worker_poll() took (stages-upf-u)
//   report        prints a line a case and what was skipped, answers "ok"
//
//   bench-upf-u [--no-huge] SESSIONS
//   bench-upf-u --need SESSIONS          prints how many MiB it takes
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bench/stages.h"
#include "traffic.h"

static struct samples *samples[TRAFFIC_CASES_MAX];
static const char *refused[POPULATIONS]; // why upf-u does not take their rules
static bool lost[TRAFFIC_CASES_MAX];

// ---- report --------------------------------------------------------------------------------------

static int
compare_float(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
compare_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
print_case(const struct traffic_case *c, struct samples *s)
{
	double hz = (double)rte_get_tsc_hz(), p50, p10;
	char size[16] = "mix";

	if (c->size != 0)
		snprintf(size, sizeof(size), "%u", c->size);
	qsort(s->cycles, s->n, sizeof(s->cycles[0]), compare_float);
	qsort(s->burst_cycles, s->bursts, sizeof(s->burst_cycles[0]), compare_u32);
	p50 = (double)s->cycles[s->n / 2];
	p10 = (double)s->cycles[s->n / 10];
	printf("case=%s dir=%s sessions=%u size=%s cycles_p50=%.0f cycles_p10=%.0f "
	       "mpps_per_core=%.2f burst_p99_us=%.1f\n",
		c->name, traffic_direction_name(c), c->sessions, size, p50, p10, hz / p50 / 1e6,
		(double)s->burst_cycles[s->bursts / 100 * 99] / hz * 1e6);
}

static void
report(void)
{
	for (unsigned i = 0; i < traffic_cases_n; i++) {
		const struct traffic_case *c = &traffic_cases[i];

		if (refused[c->population] != NULL)
			printf("SKIP case=%s dir=%s: its rules are refused: %s\n", c->name,
				traffic_direction_name(c), refused[c->population]);
		else if (lost[i])
			printf("FAIL case=%s dir=%s: packets were lost\n", c->name,
				traffic_direction_name(c));
		else if (samples[i] != NULL && samples[i]->n != 0)
			print_case(c, samples[i]);
	}
}

static void
print_drops(const struct rig *rig)
{
#define UPF_DROP_NAME(symbol, label, help) label,
	static const char *const name[] = {UPF_DROP_REASONS(UPF_DROP_NAME)};
#undef UPF_DROP_NAME

	for (unsigned i = 0; i < UPF_DROPS; i++) {
		if (rig->shm.workers[0].drops[i] != 0)
			fprintf(stderr, "dropped as %s: %lu\n", name[i],
				(unsigned long)rig->shm.workers[0].drops[i]);
	}
}

// ---- run -----------------------------------------------------------------------------------------

static void
run(struct rig *rig, unsigned i, uint32_t bursts)
{
	uint32_t n;

	if (i >= traffic_cases_n || refused[traffic_cases[i].population] != NULL || lost[i])
		return;
	if (samples[i] == NULL)
		samples[i] = calloc(1, sizeof(*samples[i]));
	assert_non_null(samples[i]);
	n = bursts / (traffic_cases[i].ul + traffic_cases[i].dl);
	if (!traffic_run(rig, &traffic_cases[i], n == 0 ? 1 : n, samples[i])) {
		lost[i] = true;
		print_drops(rig);
	}
}

static void
obey(struct rig *rig)
{
	char line[64];
	unsigned i, n;

	printf("cases %u\n", traffic_cases_n);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "run %u %u", &i, &n) == 2) {
			run(rig, i, n);
		} else if (sscanf(line, "stages %u %u", &i, &n) == 2 && stages_print != NULL) {
			run(rig, i, n);
			if (i < traffic_cases_n && samples[i] != NULL && !lost[i])
				stages_print(&traffic_cases[i]);
		} else if (strcmp(line, "report\n") == 0) {
			report();
		}
		printf("ok\n");
		fflush(stdout);
	}
}

static int
other_cpu(void)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && cpu != sched_getcpu())
			return cpu;
	}
	return -1;
}

static void
install(struct rig *rig, enum population population)
{
	uint32_t n = population_sessions(population);
	uint64_t began = rte_rdtsc();

	if (!population_install(rig, population, &refused[population]))
		return;
	printf("installed=%u per_second=%.0f\n", n,
		(double)n * (double)rte_get_tsc_hz() / (double)(rte_rdtsc() - began));
	traffic_prime(rig, population);
}

int
main(int argc, char **argv)
{
	uint32_t sessions = argc > 1 ? (uint32_t)strtoul(argv[argc - 1], NULL, 10) : 0;
	bool huge = argc < 3 || strcmp(argv[1], "--no-huge") != 0;
	struct config config = rig_config6();
	int cpu = other_cpu();
	struct rig *rig;

	if (cpu < 0 || sessions == 0) {
		fprintf(stderr, "bench-upf-u: it needs two CPUs, and a number of sessions\n");
		return EXIT_FAILURE;
	}
	population_size(POPULATION_NEC, sessions);
	population_size(POPULATION_SKT, sessions / 4 + 1);
	population_size(POPULATION_PDRS, POPULATION_PDR_SESSIONS);
	population_size(POPULATION_IPV6, sessions / 4 + 1);
	population_size(POPULATION_SHARED, sessions / 4 + 1);
	population_size(POPULATION_FEATURES, sessions / 40 + 1);
	config.limits.sessions_max = population_all();
	config.limits.qer_slots = config.limits.urr_slots = population_all() * UPF_LINE_SLOTS;
	config.hugepages = huge;
	config.memory_mib = UINT32_MAX; // the segment of slots is counted apart
	if (strcmp(argv[1], "--need") == 0) {
		printf("%u\n", population_memory() + shm_hugepage_mib(&config));
		return EXIT_SUCCESS;
	}
	if (!rig_start_eal(population_memory(), huge, 4096, cpu)) {
		fprintf(stderr, "bench-upf-u: cannot have %u MiB of %s\n", population_memory(),
			huge ? "2 MiB hugepages" : "memory");
		return EXIT_FAILURE;
	}
	rig = rig_create_with(&config, 1, true);
	for (unsigned p = 0; p < POPULATIONS; p++)
		install(rig, (enum population)p);
	traffic_cases_settle();
	printf("pages=%s slots=%s\n", huge ? "2M" : "4K", rig->shm.hugepages ? "2M" : "4K");
	obey(rig);
	return EXIT_SUCCESS;
}
