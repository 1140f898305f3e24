// Do rule changes delay packets? One worker polls on a CPU of its own while this thread feeds it
// packets and runs transactions, as the control thread does. What is measured is how long each poll
// took that found packets: no packet waits longer than the poll under way and its own. Polls during
// which the kernel took the CPU away are counted apart; on a busy machine there are many.
//
//   changes-upf-u [--no-huge] SESSIONS SECONDS
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "frames.h"
#include "rules.h"

#define BUCKETS 4096u // of a quarter of a microsecond; the last one holds all that took longer
#define PER_SECOND 50000u
#define GROUP 8u // changes in a datagram, as upf-c sends them under load

struct polls {
	uint64_t bucket[BUCKETS];
	uint64_t n, preempted, longest; // cycles
};

static struct polls polls;
static uint32_t stop;

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

static long
switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static int
work(void *arg)
{
	struct worker *w = arg;
	uint64_t quarter = rte_get_tsc_hz() / 4000000, long_one = rte_get_tsc_hz() / 200000;
	long before = switches();

	// Acquire: pairs with the release in run().
	while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0) {
		uint64_t began = rte_rdtsc(), cycles;

		if (worker_poll(w) == 0)
			continue;
		cycles = rte_rdtsc() - began;
		if (cycles > long_one) { // five microseconds: ask whether it was ours
			long now = switches();

			if (now != before) {
				before = now;
				polls.preempted++;
				continue;
			}
		}
		polls.n++;
		polls.bucket[cycles / quarter < BUCKETS ? cycles / quarter : BUCKETS - 1]++;
		if (cycles > polls.longest)
			polls.longest = cycles;
	}
	return 0;
}

static double
percentile(double p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		sum += polls.bucket[i];
		if ((double)sum >= p * (double)polls.n)
			return (i + 1) / 4.0;
	}
	return 0;
}

// ---- what changes --------------------------------------------------------------------------------

enum change {
	CHANGE_NONE,
	CHANGE_MODIFY,    // rules are replaced, in front of packets that use them
	CHANGE_ESTABLISH, // sessions come and go
};
static const char *const change_name[] = {"none", "modify", "establish+delete"};

static uint32_t sessions;
static struct session_rules_builder rules;

static void
rules_of(uint32_t session)
{
	rules.session = session;
	for (unsigned i = 0; i < 2; i++) {
		rules.pdr[i].ue_addr_be = rte_cpu_to_be_32(RIG_IP(10, 64, 0, 0) + session);
		rules.qer[i].slot = rules.urr[i].slot = UPF_LINE_SLOTS * session + i;
	}
	rules.pdr[0].teid = session + 1;
	rules.far[1].teid++; // another tunnel each time
}

// NEC's session: 2 PDR, 2 FAR, 2 QER, 2 URR.
static void
rules_prepare(void)
{
	rules_usual(&rules, 0, 0, 1);
	rules.n_qer = rules.n_urr = 2;
	rules.qer[1] = rules.qer[0];
	rules.urr[1] = rules.urr[0];
	for (unsigned i = 0; i < 2; i++) {
		rules.qer[i].qer_id = rules.urr[i].urr_id = i + 1;
		rules.qer[i].flags = UPF_QER_MBR;
		rules.qer[i].mbr_ul = rules.qer[i].mbr_dl = UINT64_C(100000000000);
		rules.pdr[i].n_qer = rules.pdr[i].n_urr = 2;
		rules.pdr[i].qer[1] = rules.pdr[i].urr[1] = 1;
	}
	rules.blob = "as many octets as upf-c keeps of such a session: "
		     "................................................................"
		     "................................................................"
		     "................................................................";
}

static void
must(struct rig *rig, struct transaction *t)
{
	int rc = transaction_do(rig, t, NULL);

	if (rc != 0) {
		fprintf(stderr, "changes-upf-u: a transaction is refused: %s\n", strerror(rc));
		exit(EXIT_FAILURE);
	}
}

static void
install(struct rig *rig)
{
	static struct transaction t;

	transaction_begin(&t);
	for (uint32_t i = 0; i < sessions; i++) {
		rules_of(i);
		transaction_put(&t, &rules);
		if (i % 64 == 63 || i + 1 == sessions) {
			must(rig, &t);
			transaction_begin(&t);
		}
	}
}

static void
change(struct rig *rig, enum change what)
{
	static struct transaction t;
	static uint32_t next;

	transaction_begin(&t);
	for (unsigned i = 0; i < GROUP; i++) {
		if (what == CHANGE_MODIFY) {
			rules_of((uint32_t)rand() % (sessions / 2)); // those with packets
			transaction_put(&t, &rules);
		} else if (next % 2 == 0) { // the other half goes and comes
			transaction_del(&t, sessions / 2 + (next / 2 + i) % (sessions / 2));
		} else {
			rules_of(sessions / 2 + (next / 2 + i) % (sessions / 2));
			transaction_put(&t, &rules);
		}
	}
	next += what == CHANGE_ESTABLISH ? (next % 2 == 0 ? 1 : 2 * GROUP - 1) : 0;
	must(rig, &t);
}

// ---- packets -------------------------------------------------------------------------------------

static void
feed(struct rig *rig)
{
	static struct frame frame;
	struct ip_fields ip = {.src = RIG_REMOTE, .sport = 9, .dport = 9, .payload = 64};
	struct rte_ring *rx = rig_ring(UPF_PORT_N6, true);

	rig_count_sent(rig, UPF_PORT_N3);
	if (rte_ring_count(rx) > 2 * BURST)
		return;
	for (unsigned i = 0; i < BURST; i++) {
		ip.dst = RIG_IP(10, 64, 0, 0) + (uint32_t)rand() % (sessions / 2);
		frame_eth_ip(&frame, &ip);
		rig_inject(rig, UPF_PORT_N6, frame.data, frame.length);
	}
}

static void
run(struct rig *rig, enum change what, unsigned seconds)
{
	double hz = (double)rte_get_tsc_hz();
	uint64_t began, changes = 0, end;

	memset(&polls, 0, sizeof(polls));
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED); // the launch below orders it
	rte_eal_remote_launch(work, rig->worker[0], 1);
	began = rte_rdtsc();
	end = began + seconds * rte_get_tsc_hz();
	while (rte_rdtsc() < end) {
		feed(rig);
		if (what != CHANGE_NONE &&
			(double)changes < (double)(rte_rdtsc() - began) / hz * PER_SECOND) {
			change(rig, what);
			changes += GROUP;
		}
	}
	// Release: pairs with the acquire in work().
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	rte_eal_wait_lcore(1);
	if (polls.n == 0)
		return;
	printf("change=%s per_second=%.0f sessions=%u polls=%lu poll_p50_us=%.2f poll_p99_us=%.2f "
	       "poll_p999_us=%.2f poll_max_us=%.1f preempted=%lu\n",
		change_name[what], (double)changes / seconds, sessions, (unsigned long)polls.n,
		percentile(0.5), percentile(0.99), percentile(0.999),
		(double)polls.longest / hz * 1e6, (unsigned long)polls.preempted);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	bool huge = argc < 4 || strcmp(argv[1], "--no-huge") != 0;
	unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[argc - 1], NULL, 10) : 0;
	struct config config = rig_config();
	int cpu = other_cpu();
	struct rig *rig;

	sessions = argc > 2 ? (uint32_t)strtoul(argv[argc - 2], NULL, 10) / 64 * 64 : 0;
	if (cpu < 0 || sessions == 0 || seconds == 0) {
		fprintf(stderr,
			"changes-upf-u: it needs two CPUs, at least 64 sessions, and seconds\n");
		return EXIT_FAILURE;
	}
	config.limits.sessions_max = sessions;
	config.limits.qer_slots = config.limits.urr_slots = sessions * UPF_LINE_SLOTS;
	config.hugepages = false; // the slots; the rules are where EAL's memory is
	if (!rig_start_eal(128 + sessions / 800, huge, 4096, cpu)) {
		fprintf(stderr, "changes-upf-u: cannot have %u MiB of %s\n", 128 + sessions / 800,
			huge ? "2 MiB hugepages" : "memory");
		return EXIT_FAILURE;
	}
	rig = rig_create_with(&config, 1, true);
	rules_prepare();
	install(rig);
	for (enum change what = CHANGE_NONE; what <= CHANGE_ESTABLISH; what++)
		run(rig, what, seconds);
	return EXIT_SUCCESS;
}
