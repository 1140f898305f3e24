// Cycles a packet of one worker core, case by case. run.py starts this program, one a revision, and
// speaks to it on standard input, so that cases and revisions take turns:
//
//   run CASE N    measures N more bursts of a case, answers "ok"
//   stages CASE N the same, and prints what each stage of worker_poll() took (stages-upf-u)
//   report        prints a line a case and what was skipped, answers "ok"
//
//   bench-upf-u [--no-huge] [--workers N] SESSIONS
//   bench-upf-u --need [--workers N] SESSIONS    prints how many MiB it takes
//
// With --workers its cases are those of scaling: 1 to N workers. Each worker has a quarter of SESSIONS
// at home, however many workers there are. Where the CPUs do not suffice, threads share them.
#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bench/stages.h"
#include "traffic.h"

static struct traffic_case *cases = traffic_cases;
static unsigned cases_n;
static struct samples *samples[TRAFFIC_CASES_MAX];
static const char *refused[POPULATIONS]; // why upf-u does not take their rules
static bool lost[TRAFFIC_CASES_MAX];
static unsigned cpus;                       // that we may use
static struct rig *rig_of[POPULATION_UPFS]; // NULL: it has no sessions

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

// Millions of packets a second of all workers, in the median round; 0: not measured.
static double
mpps_of(unsigned i)
{
	struct samples *s = samples[i];

	if (s == NULL || s->bursts == 0 || lost[i])
		return 0;
	qsort(s->burst_cycles, s->bursts, sizeof(s->burst_cycles[0]), compare_u32);
	return (double)cases[i].workers * ROUND_BURSTS * BURST * (double)rte_get_tsc_hz() /
		(double)s->burst_cycles[s->bursts / 2] / 1e6;
}

static void
print_scaling(unsigned i)
{
	const struct traffic_case *c = &cases[i];
	struct samples *s = samples[i];
	double p50, one = 0;

	for (unsigned j = 0; j < cases_n; j++) {
		if (cases[j].workers == 1 && cases[j].ul == c->ul && cases[j].dl == c->dl)
			one = mpps_of(j);
	}
	qsort(s->cycles, s->n, sizeof(s->cycles[0]), compare_float);
	p50 = (double)s->cycles[s->n / 2];
	printf("case=%s workers=%u dir=%s sessions=%u size=%u cycles_p50=%.0f cycles_p10=%.0f "
	       "mpps_per_core=%.2f mpps=%.2f",
		c->name, c->workers, traffic_direction_name(c), c->sessions, c->size, p50,
		(double)s->cycles[s->n / 10], (double)rte_get_tsc_hz() / p50 / 1e6, mpps_of(i));
	if (one > 0)
		printf(" linear=%.2f", mpps_of(i) / (c->workers * one));
	printf("%s\n", c->workers + 1u > cpus ? " oversubscribed=yes" : "");
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
	for (unsigned i = 0; i < cases_n; i++) {
		const struct traffic_case *c = &cases[i];

		if (refused[c->population] != NULL)
			printf("SKIP case=%s dir=%s: its rules are refused: %s\n", c->name,
				traffic_direction_name(c), refused[c->population]);
		else if (lost[i] && c->workers != 0)
			printf("FAIL case=%s workers=%u dir=%s: packets were lost, or came out at "
			       "another worker\n",
				c->name, c->workers, traffic_direction_name(c));
		else if (lost[i])
			printf("FAIL case=%s dir=%s: packets were lost\n", c->name,
				traffic_direction_name(c));
		else if (samples[i] != NULL && samples[i]->n != 0)
			c->workers != 0 ? print_scaling(i) : print_case(c, samples[i]);
	}
}

static void
print_drops(const struct rig *rig)
{
#define UPF_DROP_NAME(symbol, label, help) label,
	static const char *const name[] = {UPF_DROP_REASONS(UPF_DROP_NAME)};
#undef UPF_DROP_NAME

	for (unsigned i = 0; i < UPF_DROPS * rig->config.workers; i++) {
		const struct upf_worker_stats *stats = &rig->shm.workers[i / UPF_DROPS];
		uint64_t drops = 0;

		for (unsigned port = 0; port < UPF_PORTS; port++)
			drops += stats->drops[port].reason[i % UPF_DROPS];

		if (drops != 0)
			fprintf(stderr, "worker %u dropped as %s: %lu\n", (unsigned)(i / UPF_DROPS),
				name[i % UPF_DROPS], (unsigned long)drops);
	}
}

// ---- run -----------------------------------------------------------------------------------------

static void
run(unsigned i, uint32_t bursts)
{
	const struct traffic_case *c = &cases[i];
	struct rig *rig;
	uint32_t n;

	if (i >= cases_n || refused[c->population] != NULL || lost[i])
		return;
	if (samples[i] == NULL)
		samples[i] = calloc(1, sizeof(*samples[i]));
	assert_non_null(samples[i]);
	rig = rig_of[population_upf(c->population)];
	n = bursts / (c->workers != 0 ? ROUND_BURSTS : c->ul + c->dl);
	n = n == 0 ? 1 : n;
	lost[i] = c->workers != 0
		? !traffic_run_workers(rig, c, n, rig->config.workers + 1 > cpus, samples[i])
		: !traffic_run(rig, c, n, samples[i]);
	if (lost[i])
		print_drops(rig);
}

static void
obey(void)
{
	char line[64];
	unsigned i, n;

	printf("cases %u\n", cases_n);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "run %u %u", &i, &n) == 2) {
			run(i, n);
		} else if (sscanf(line, "stages %u %u", &i, &n) == 2 && stages_print != NULL) {
			run(i, n);
			if (i < cases_n && samples[i] != NULL && !lost[i])
				stages_print(&cases[i]);
		} else if (strcmp(line, "report\n") == 0) {
			report();
		}
		printf("ok\n");
		fflush(stdout);
	}
}

// ---- start ---------------------------------------------------------------------------------------

// The CPUs of n workers: each its own as long as there are some beside the generator's.
static void
choose_cpus(int *worker_cpu, unsigned n)
{
	int cpu[CPU_SETSIZE], generator = sched_getcpu();
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	cpus = 0;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &allowed) && i != generator)
			cpu[cpus++] = i;
	}
	cpu[cpus++] = generator;
	// Not to be moved to a worker's before EAL pins this thread.
	CPU_ZERO(&allowed);
	CPU_SET(generator, &allowed);
	sched_setaffinity(0, sizeof(allowed), &allowed);
	for (unsigned i = 0; i < n; i++)
		worker_cpu[i] = cpu[i % cpus];
}

// 1 to n workers: their own packets alone, in each direction, and a quarter of them astray.
static void
make_scaling_cases(unsigned n)
{
	static const struct {
		uint8_t ul, dl;
		bool astray;
	} what[] = {{1, 0, false}, {0, 1, false}, {1, 3, false}, {1, 3, true}};
	static struct traffic_case scaling[TRAFFIC_CASES_MAX];

	cases = scaling;
	for (unsigned i = 0; i < n * RTE_DIM(what); i++) {
		unsigned workers = i / RTE_DIM(what) + 1, k = i % RTE_DIM(what);

		if (workers == 1 && what[k].astray)
			continue;
		scaling[cases_n++] = (struct traffic_case){
			.name = what[k].astray ? "scaling-astray" : "scaling",
			.population = POPULATION_NEC,
			.sessions = population_sessions(POPULATION_NEC) / n * workers,
			.size = 800,
			.ul = what[k].ul,
			.dl = what[k].dl,
			.workers = (uint8_t)workers,
			.astray = what[k].astray,
		};
	}
}
static_assert(RIG_WORKERS_MAX * 4 <= TRAFFIC_CASES_MAX, "cases of scaling");

static void
install(enum population population)
{
	struct rig *rig = rig_of[population_upf(population)];
	uint32_t n = population_sessions(population);
	uint64_t began = rte_rdtsc();

	if (!population_install(rig, population, &refused[population]))
		return;
	printf("installed=%u per_second=%.0f\n", n,
		(double)n * (double)rte_get_tsc_hz() / (double)(rte_rdtsc() - began));
	traffic_prime(rig, population);
}

static void
choose_populations(uint32_t sessions, unsigned workers)
{
	if (workers != 0) {
		population_size(POPULATION_NEC, (sessions / 4 + 1) * workers);
		make_scaling_cases(workers);
		return;
	}
	population_size(POPULATION_NEC, sessions);
	population_size(POPULATION_SKT, sessions / 4 + 1);
	population_size(POPULATION_PDRS, POPULATION_PDR_SESSIONS);
	population_size(POPULATION_IPV6, sessions / 4 + 1);
	population_size(POPULATION_SHARED, sessions / 4 + 1);
	population_size(POPULATION_FEATURES, sessions / 40 + 1);
	population_size(POPULATION_DOMAINS, sessions / 40 + 1);
	population_size(POPULATION_NAT44, sessions / 4 + 1);
	cases_n = traffic_cases_n;
	traffic_cases_settle();
}

struct options {
	bool huge, need;
	unsigned workers; // 0: the cases of one worker
	uint32_t sessions;
};

static bool
parse_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {{"no-huge", no_argument, NULL, 'h'},
		{"need", no_argument, NULL, 'n'}, {"workers", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0}};
	int c;

	*o = (struct options){.huge = true};
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'h')
			o->huge = false;
		else if (c == 'n')
			o->need = true;
		else if (c != 'w' || (o->workers = (unsigned)strtoul(optarg, NULL, 10)) == 0 ||
			o->workers > RIG_WORKERS_MAX)
			return false;
	}
	o->sessions = optind == argc - 1 ? (uint32_t)strtoul(argv[optind], NULL, 10) : 0;
	return o->sessions != 0;
}

static struct config
config_of(enum population_upf upf, const struct options *o, unsigned workers)
{
	struct config config = rig_config6();

	population_config(upf, &config);
	config.workers = workers;
	config.hugepages = o->huge;
	config.memory_mib = UINT32_MAX; // the segment of slots is counted apart
	return config;
}

int
main(int argc, char **argv)
{
	struct config config[POPULATION_UPFS];
	int worker_cpu[RIG_WORKERS_MAX];
	unsigned memory, workers, slots = 0;
	bool huge = true;
	struct options o;

	if (!parse_options(argc, argv, &o)) {
		fprintf(stderr,
			"usage: bench-upf-u [--no-huge | --need] [--workers 1..%u] SESSIONS\n",
			RIG_WORKERS_MAX);
		return EXIT_FAILURE;
	}
	workers = o.workers == 0 ? 1 : o.workers;
	choose_cpus(worker_cpu, workers);
	if (cpus < 2) {
		fprintf(stderr, "bench-upf-u: it needs two CPUs\n");
		return EXIT_FAILURE;
	}
	choose_populations(o.sessions, o.workers);
	memory = population_memory() + 8 * o.workers; // rings, packets, neighbours
	for (enum population_upf u = 0; u < POPULATION_UPFS; u++) {
		config[u] = config_of(u, &o, workers);
		slots += config[u].limits.sessions_max != 0 ? shm_hugepage_mib(&config[u]) : 0;
	}
	if (o.need) {
		printf("%u\n", memory + slots);
		return EXIT_SUCCESS;
	}
	if (!rig_start_eal_workers(
		    memory, o.huge, 4096 + o.workers * ROUND_BURSTS * BURST, worker_cpu, workers)) {
		fprintf(stderr, "bench-upf-u: cannot have %u MiB of %s\n", memory,
			o.huge ? "2 MiB hugepages" : "memory");
		return EXIT_FAILURE;
	}
	for (enum population_upf u = 0; u < POPULATION_UPFS; u++) {
		if (config[u].limits.sessions_max == 0)
			continue;
		rig_of[u] = rig_create_with(&config[u], workers, true);
		huge &= rig_of[u]->shm.hugepages;
	}
	for (unsigned p = 0; p < POPULATIONS; p++) {
		if (population_sessions((enum population)p) != 0)
			install((enum population)p);
	}
	printf("pages=%s slots=%s\n", o.huge ? "2M" : "4K", huge ? "2M" : "4K");
	obey();
	return EXIT_SUCCESS;
}
