// The program, and what the thread sanitizer cannot know of DPDK.
//
//   stress-upf-u [SECONDS [SEED]]
//
// DPDK's inline functions (RCU, rings, packet buffers) are compiled here, so that the sanitizer sees their
// atomic accesses. Its libraries are not; where they bring order between threads, this file says so:
// the memory pool, by packet buffer, and the end of a worker. Nothing is suppressed.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <sanitizer/tsan_interface.h>

#include "packet/outbox.h"
#include "packet/sleep.h"
#include "stress.h"

#define MBUFS 8192u
#define MEMORY_MIB 256u
#define FAILURES_MOST 10u
#define ROUND_NS INT64_C(700000000)
#define NS INT64_C(1000000000)

// ---- what the sanitizer is told ----------------------------------------------------------------

const char *__tsan_default_options(void);
const char *
__tsan_default_options(void)
{
	return "exitcode=66:history_size=4:second_deadlock_stack=0:report_signal_unsafe=0";
}

static atomic_uint failures;

// The sanitizer calls it for each race that it reports.
void __tsan_on_report(void *report);
void
__tsan_on_report(void *report)
{
	(void)report;
	atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
}

static rte_mempool_enqueue_t pool_enqueue;
static rte_mempool_dequeue_t pool_dequeue;

static int
enqueue(struct rte_mempool *pool, void *const *object, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__tsan_release(object[i]);
	return pool_enqueue(pool, object, n);
}

static int
dequeue(struct rte_mempool *pool, void **object, unsigned n)
{
	int rc = pool_dequeue(pool, object, n);

	for (unsigned i = 0; rc == 0 && i < n; i++)
		__tsan_acquire(object[i]);
	return rc;
}

static void
pool_watch(const struct rte_mempool *pool)
{
	struct rte_mempool_ops *ops = &rte_mempool_ops_table.ops[pool->ops_index];

	pool_enqueue = ops->enqueue;
	pool_dequeue = ops->dequeue;
	ops->enqueue = enqueue;
	ops->dequeue = dequeue;
}

// ---- failures ----------------------------------------------------------------------------------

void
stress_fail(const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "  %s\n", line);
	if (atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed) + 1 >= FAILURES_MOST) {
		fprintf(stderr, "  and that is enough\n");
		_Exit(EXIT_FAILURE);
	}
}

// ---- sleeping workers --------------------------------------------------------------------------

// The queues ring when they have rested; until then a worker that sleeps is woken by others, or by its timer.
int __wrap_rte_eth_dev_rx_intr_ctl_q(uint16_t port, uint16_t queue, int epfd, int op, void *data);
int __wrap_rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue);
int __wrap_rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue);
int __real_rte_epoll_wait(int epfd, struct rte_epoll_event *events, int max, int ms);
int __wrap_rte_epoll_wait(int epfd, struct rte_epoll_event *events, int max, int ms);

int
__wrap_rte_eth_dev_rx_intr_ctl_q(uint16_t port, uint16_t queue, int epfd, int op, void *data)
{
	(void)port, (void)queue, (void)epfd, (void)op, (void)data;
	return 0;
}

int
__wrap_rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	return 0;
}

int
__wrap_rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	return 0;
}

static struct stress stress;
static uint64_t sleeps;

static bool
something_waits_for(const struct worker *w)
{
	for (unsigned i = 0; i < w->workers; i++) {
		if (w->handoff.from[i] != NULL && rte_ring_count(w->handoff.from[i]) != 0)
			return true;
	}
	return rte_ring_count(w->commands) != 0;
}

// A worker whose time is over while something lies in its rings was not woken, or is just about to be: then
// the ring comes, and this returns at once.
#define RING_COMES_MS 10000

int
__wrap_rte_epoll_wait(int epfd, struct rte_epoll_event *events, int max, int ms)
{
	const struct worker *w = stress.rig->worker[rte_lcore_id() - 1];
	int n = __real_rte_epoll_wait(
		epfd, events, max, RTE_MIN(ms, nic_rests_ms(&stress.queues[w->index])));

	__atomic_fetch_add(&sleeps, 1, __ATOMIC_RELAXED);
	if (n != 0 || !something_waits_for(w))
		return n;
	n = __real_rte_epoll_wait(epfd, events, max, RING_COMES_MS);
	if (n == 0)
		stress_fail("worker %u slept on what was handed to it, and nobody rang", w->index);
	return n;
}

// ---- the run -----------------------------------------------------------------------------------

static int
work(void *arg)
{
	struct worker *w = arg;
	int rc = worker_run(w);

	__tsan_release(w);
	return rc;
}

static void
start_workers(void)
{
	for (unsigned i = 0; i < STRESS_WORKERS; i++)
		assert_int_equal(rte_eal_remote_launch(work, stress.rig->worker[i], i + 1), 0);
	// What they announce first has left.
	for (unsigned i = 0; i < STRESS_WORKERS; i++) {
		while (__atomic_load_n(&stress.rig->worker[i]->stats->polls, __ATOMIC_RELAXED) == 0)
			sched_yield();
	}
}

static void
end_workers(void)
{
	__atomic_store_n(&stress.rig->stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < STRESS_WORKERS; i++) {
		struct worker *w = stress.rig->worker[i];

		sleep_wake(&w->sleeper);
		rte_eal_wait_lcore(i + 1);
		__tsan_acquire(w);
	}
}

static struct config
stress_config(void)
{
	struct config config = rig_config();

	config.workers = STRESS_WORKERS;
	config.limits.mbufs = MBUFS;
	config.limits.sessions_max = 64;
	config.sleep_max_us = 1000;
	config.qer.queue_ms = 20;
	config.qer.queue_packets = 64;
	config.qer.queue_packets_per_session = 16;
	// All of them let others have the CPU now and then.
	for (unsigned i = 0; i < STRESS_WORKERS; i++)
		config.worker_cpu[i] = config.control_cpu;
	return config;
}

static void
set_up(uint32_t seed)
{
	const struct config config = stress_config();

	stress.rig = rig_create_with(&config, STRESS_WORKERS, true);
	for (unsigned i = 0; i < STRESS_WORKERS; i++) {
		struct worker *w = stress.rig->worker[i];

		assert_int_equal(sleep_init(&w->sleeper, &stress.rig->config), 0);
		stress.queues[i] = (struct queues){
			.worker = w,
			.stress = &stress,
			.chance = (seed * STRESS_WORKERS + i) * UINT32_C(0x9e3779b1) | 1,
		};
	}
	nic_attach(&stress);
	pool_watch(rig_pool());
}

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static void
choose_cpus(int cpu[STRESS_WORKERS])
{
	cpu_set_t allowed;
	int at = -1;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned i = 0; i < STRESS_WORKERS; i++) {
		do
			at = (at + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(at, &allowed));
		cpu[i] = at;
	}
}

int
main(int argc, char **argv)
{
	int64_t seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 5;
	uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
	uint64_t received = 0, left = 0;
	int cpu[STRESS_WORKERS];
	struct changes *changes;
	cpu_set_t allowed;
	unsigned bad;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	choose_cpus(cpu);
	if (!rig_start_eal_workers(MEMORY_MIB, false, MBUFS, cpu, STRESS_WORKERS))
		return EXIT_FAILURE;
	sched_setaffinity(
		0, sizeof(allowed), &allowed); // the control thread goes where there is room
	set_up(seed);
	changes = changes_create(&stress, seed);
	start_workers();
	for (int64_t end = now_ns() + seconds * NS;
		now_ns() < end && atomic_load(&failures) == 0;) {
		changes_begin(changes);
		for (int64_t round = now_ns() + ROUND_NS; now_ns() < round;)
			changes_step(changes);
		changes_settle(changes);
	}
	end_workers();
	for (unsigned i = 0; i < STRESS_WORKERS; i++) {
		received += stress.queues[i].received;
		left += stress.queues[i].left;
		sleep_free(&stress.rig->worker[i]->sleeper);
	}
	bad = atomic_load(&failures);
	printf("%s case=stress workers=%u seed=%u changes=%lu packets=%lu forwarded=%lu "
	       "handed_over=%lu sleeps=%lu failures=%u\n",
		bad == 0 ? "PASS" : "FAIL", STRESS_WORKERS, seed,
		(unsigned long)changes_made(changes), (unsigned long)received, (unsigned long)left,
		(unsigned long)outbox_count(stress.rig->worker, STRESS_WORKERS),
		(unsigned long)sleeps, bad);
	printf("stress: %d passed, %d failed, 0 skipped\n", bad == 0, bad != 0);
	changes_free(changes);
	rig_free(stress.rig);
	return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
