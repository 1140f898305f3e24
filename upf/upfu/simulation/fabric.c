#include "simulation/fabric.h"

#include <string.h>

#include <rte_lcore.h>
#include <rte_ring.h>

#include "bench/traffic.h"
#include "packet/outbox.h"
#include "packet/packet.h"

#define SIZE 800u

struct fabric {
	struct rig *rig;
	const struct fabric_case *c;
	struct fabric_result *result;
	uint32_t chance;
};

static uint32_t
draw(struct fabric *f, uint32_t below)
{
	f->chance ^= f->chance << 13;
	f->chance ^= f->chance >> 17;
	f->chance ^= f->chance << 5;
	return (uint32_t)(((uint64_t)f->chance * below) >> 32);
}

struct rig *
fabric_create(unsigned workers)
{
	struct config config = rig_config6();
	const char *refused = NULL;
	struct rig *rig;

	config.workers = workers;
	population_config(POPULATION_UPF, &config);
	config.limits.mbufs = 16384; // what upf-u.yaml has where it says nothing
	rig = rig_create_with(&config, workers, true);
	if (!population_install(rig, POPULATION_NEC, &refused))
		fail_msg("%s", refused);
	// Timers go by the clock.
	for (unsigned i = 0; i < workers; i++)
		rig->worker[i]->next_tick = UINT64_MAX;
	return rig;
}

static unsigned
home_of(const struct fabric *f, uint32_t session)
{
	return session_present(&f->rig->sessions, session, UPF_UL)->home;
}

// ---- the NIC -----------------------------------------------------------------------------------

// A session of this worker's, or of another one's.
static uint32_t
choose_session(struct fabric *f, unsigned worker)
{
	bool astray = draw(f, 100) < f->c->astray && f->c->workers > 1;
	uint32_t session;

	do
		session = draw(f, population_sessions(POPULATION_NEC));
	while ((home_of(f, session) == worker) == astray);
	f->result->astray += astray;
	return session;
}

static void
fill_queue(struct fabric *f, unsigned worker, enum upf_direction direction)
{
	struct rte_ring *queue = rig_ring_of(worker, traffic_port(direction), true);

	while (rte_ring_count(queue) < BURST) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool());
		uint32_t session = choose_session(f, worker);

		assert_non_null(m);
		traffic_write_packet(f->rig, POPULATION_NEC, session, SIZE, direction, m);
		m->hash.usr = home_of(f, session);
		assert_int_equal(rte_ring_enqueue(queue, m), 0);
		f->result->offered++;
	}
}

static void
collect(struct fabric *f, unsigned worker)
{
	for (enum upf_port port = 0; port < RIG_PORTS; port++) {
		struct rte_ring *queue = rig_ring_of(worker, port, false);
		void *m;

		while (rte_ring_dequeue(queue, &m) == 0) {
			f->result->forwarded++;
			f->result->elsewhere += ((struct rte_mbuf *)m)->hash.usr != worker;
			rte_pktmbuf_free(m);
		}
	}
}

// ---- the workers -------------------------------------------------------------------------------

static unsigned
poll_once(struct fabric *f, unsigned worker, const struct fabric_watch *watch)
{
	unsigned work, here = RTE_PER_LCORE(_lcore_id);

	// What DPDK keeps by lcore is each worker's own.
	RTE_PER_LCORE(_lcore_id) = worker + 1;
	if (watch != NULL)
		watch->poll_begins(worker);
	work = worker_poll(f->rig->worker[worker]);
	if (watch != NULL)
		watch->poll_ends();
	RTE_PER_LCORE(_lcore_id) = here;
	collect(f, worker);
	return work;
}

static uint64_t
dropped_by_all(const struct rig *rig)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < rig->config.workers * UPF_PORTS; i++) {
		for (unsigned k = 0; k < UPF_DROPS; k++)
			sum += rig->shm.workers[i / UPF_PORTS].drops[i % UPF_PORTS].reason[k];
	}
	return sum;
}

// All workers poll once a round, in an order of its own: two polls of one may have two of each other one
// between them, or none.
static void
one_round(struct fabric *f, const struct fabric_watch *watch)
{
	unsigned order[RIG_WORKERS_MAX] = {0};

	for (unsigned i = 0; i < f->c->workers; i++) {
		unsigned k = draw(f, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (unsigned i = 0; i < f->c->workers; i++) {
		// NEC's work: three of four packets are downlink.
		fill_queue(f, order[i], UPF_DL);
		if (draw(f, 3) == 0)
			fill_queue(f, order[i], UPF_UL);
		poll_once(f, order[i], watch);
	}
}

static void
settle(struct fabric *f, const struct fabric_watch *watch)
{
	unsigned work;

	do {
		work = 0;
		for (unsigned i = 0; i < f->c->workers; i++)
			work += poll_once(f, i, watch);
	} while (work != 0);
}

void
fabric_run(struct rig *rig, const struct fabric_case *c, const struct fabric_watch *watch,
	struct fabric_result *result)
{
	struct fabric f = {.rig = rig, .c = c, .result = result, .chance = c->seed | 1};
	uint64_t dropped, handed_over;

	memset(result, 0, sizeof(*result));
	for (uint32_t round = 0; round < c->polls / 10; round++)
		one_round(&f, NULL);
	settle(&f, NULL);
	memset(result, 0, sizeof(*result));
	dropped = dropped_by_all(rig);
	handed_over = outbox_count(rig->worker, c->workers);
	for (uint32_t round = 0; round < c->polls; round++)
		one_round(&f, watch);
	settle(&f, watch);
	result->handed_over = outbox_count(rig->worker, c->workers) - handed_over;
	result->dropped = dropped_by_all(rig) - dropped;
	result->lost = result->offered - result->forwarded - result->dropped;
}
