#include "traffic.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_gtp.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>
#include <rte_udp.h>

#include "bench/floor.h"
#include "bench/stages.h"

#define IN_FLIGHT 512u
#define AHEAD 4u // bursts that wait for the worker
#define WARM_UP 64u

// ---- frames --------------------------------------------------------------------------------------

struct psc { // TS 38.415 5.5.2.2, behind the optional fields of TS 29.281 5.1
	uint8_t sequence[2], npdu, next;
	uint8_t length, type, qfi, last;
};

static unsigned
put_ipv4(uint8_t *at, uint32_t src_be, uint32_t dst_be, unsigned total)
{
	struct rte_ipv4_hdr h = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)total),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = src_be,
		.dst_addr = dst_be,
	};

	h.hdr_checksum = rte_ipv4_cksum(&h);
	memcpy(at, &h, sizeof(h));
	return sizeof(h);
}

static unsigned
put_udp(uint8_t *at, uint16_t sport, uint16_t dport, unsigned length, rte_be16_t sum)
{
	struct rte_udp_hdr h = {
		.src_port = rte_cpu_to_be_16(sport),
		.dst_port = rte_cpu_to_be_16(dport),
		.dgram_len = rte_cpu_to_be_16((uint16_t)length),
		.dgram_cksum = sum,
	};

	memcpy(at, &h, sizeof(h));
	return sizeof(h);
}

static unsigned
put_user(uint8_t *at, const struct user_packet *p, bool ul, uint32_t size)
{
	const uint8_t *src = ul ? p->ue : p->remote, *dst = ul ? p->remote : p->public;
	uint16_t sport = ul ? p->local_port : p->remote_port;
	uint16_t dport = ul ? p->remote_port : p->public_port;
	uint32_t src_be, dst_be;
	unsigned n;

	if (p->ip6) {
		struct rte_ipv6_hdr h = {
			.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
			.payload_len = rte_cpu_to_be_16((uint16_t)(size - sizeof(h))),
			.proto = IPPROTO_UDP,
			.hop_limits = 64,
		};

		memcpy(&h.src_addr, src, 16);
		memcpy(&h.dst_addr, dst, 16);
		memcpy(at, &h, sizeof(h));
		n = sizeof(h);
	} else {
		memcpy(&src_be, src, 4);
		memcpy(&dst_be, dst, 4);
		n = put_ipv4(at, src_be, dst_be, size);
	}
	return n + put_udp(at + n, sport, dport, size - n, p->sum);
}

// Writes a whole frame for this packet. Returns its length.
static unsigned
write_frame(const struct rig *rig, uint8_t *to, const struct user_packet *packet,
	enum upf_direction direction, uint32_t size)
{
	bool ul = direction == UPF_UL;
	struct rte_ether_hdr eth = {
		.dst_addr = rig->worker[0]->port[ul ? UPF_PORT_N3 : UPF_PORT_N6].mac,
		.src_addr = ul ? rig_gnb_mac : rig_gateway_mac,
		.ether_type = rte_cpu_to_be_16(
			packet->ip6 && !ul ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4),
	};
	unsigned n = sizeof(eth);

	memcpy(to, &eth, sizeof(eth));
	if (ul) {
		struct psc psc = {.next = 0x85, .length = 1, .type = 0x10, .qfi = packet->qfi};
		unsigned gtpu = sizeof(struct rte_gtp_hdr) + sizeof(psc) + size;
		struct rte_gtp_hdr gtp = {
			.gtp_hdr_info = 0x34,
			.msg_type = 255,
			.plen = rte_cpu_to_be_16((uint16_t)(gtpu - sizeof(gtp))),
			.teid = rte_cpu_to_be_32(packet->teid),
		};

		n += put_ipv4(to + n, rte_cpu_to_be_32(RIG_GNB), rte_cpu_to_be_32(RIG_N3_ADDR),
			(unsigned)sizeof(struct rte_ipv4_hdr) +
				(unsigned)sizeof(struct rte_udp_hdr) + gtpu);
		n += put_udp(to + n, RTE_GTPU_UDP_PORT, RTE_GTPU_UDP_PORT,
			(unsigned)sizeof(struct rte_udp_hdr) + gtpu, 0);
		memcpy(to + n, &gtp, sizeof(gtp));
		n += sizeof(gtp);
		memcpy(to + n, &psc, sizeof(psc));
		n += sizeof(psc);
	}
	put_user(to + n, packet, ul, size);
	return n + size;
}

// ---- what comes next -------------------------------------------------------------------------------

static uint32_t
chance(void)
{
	static uint32_t x = 0x9e3779b9;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(((uint64_t)chance() * n) >> 32);
}

static uint32_t
size_of_packet(const struct traffic_case *c)
{
	static const uint16_t mix[] = {64, 128, 256, 512, 1024, 1400};

	return c->size != 0 ? c->size : mix[below(RTE_DIM(mix))];
}

enum upf_direction
traffic_direction(const struct traffic_case *c, uint32_t n)
{
	return n % (c->ul + (uint32_t)c->dl) < c->ul ? UPF_UL : UPF_DL;
}

enum upf_port
traffic_port(enum upf_direction direction)
{
	return direction == UPF_UL ? UPF_PORT_N3 : UPF_PORT_N6;
}

static void
write_packet(const struct rig *rig, const struct traffic_case *c, uint32_t n, uint32_t random,
	enum upf_direction direction, struct rte_mbuf *m)
{
	struct user_packet packet;
	unsigned length;

	population_packet(c->population, n, random, &packet);
	rte_pktmbuf_reset(m);
	length = write_frame(
		rig, rte_pktmbuf_mtod(m, uint8_t *), &packet, direction, size_of_packet(c));
	rte_pktmbuf_append(m, (uint16_t)length);
}

void
traffic_write_packet(const struct rig *rig, enum population population, uint32_t n, uint32_t size,
	enum upf_direction direction, struct rte_mbuf *m)
{
	const struct traffic_case c = {.population = population, .size = size};

	write_packet(rig, &c, n, chance(), direction, m);
}

void
traffic_write_burst(const struct rig *rig, const struct traffic_case *c,
	enum upf_direction direction, struct rte_mbuf **m)
{
	for (unsigned i = 0; i < traffic_burst(c); i++)
		write_packet(rig, c, c->first + below(c->sessions), chance(), direction, m[i]);
}

// The first packet of a session finds nothing counted and armed yet, its page untouched, and no NAT44 mapping; that is
// not what is measured.
void
traffic_prime(struct rig *rig, enum population population)
{
	const struct traffic_case c = {.population = population, .size = 64};
	uint32_t n = population_sessions(population);

	for (unsigned pass = 0; pass < 2 * POPULATION_NAT44_FLOWS; pass++) {
		enum upf_direction direction = pass % 2 == 0 ? UPF_UL : UPF_DL;
		uint32_t flow = pass / 2;

		for (uint32_t i = 0; i < n; i++) {
			struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool());

			if (m == NULL)
				return;
			write_packet(rig, &c, i,
				chance() / POPULATION_NAT44_FLOWS * POPULATION_NAT44_FLOWS + flow,
				direction, m);
			rte_ring_enqueue(rig_ring(traffic_port(direction), true), m);
			if (i % BURST == BURST - 1 || i == n - 1) {
				rig_poll(rig);
				rig_count_sent(rig, traffic_port(!direction));
			}
		}
	}
}

// ---- the worker's side -------------------------------------------------------------------------------

struct run {
	struct rig *rig;
	const struct traffic_case *c;
	struct samples *samples;
	uint32_t wanted;
	uint32_t done; // bursts, by the worker
};

static void
only_pass_on(struct rig *rig, enum upf_direction direction)
{
	struct worker *w = rig->worker[0];
	enum upf_port in = traffic_port(direction), out = traffic_port(!direction);
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(w->port[in].ethdev, 0, m, BURST);

	rte_eth_tx_burst(w->port[out].ethdev, 0, m, n);
}

static uint64_t
one_burst(struct run *run, enum upf_direction direction)
{
	struct rte_ring *rx = rig_ring(traffic_port(direction), true);
	uint64_t began, cycles;

	while (rte_ring_count(rx) < traffic_burst(run->c))
		rte_pause();
	began = rte_rdtsc_precise();
	if (run->c->forward_only)
		only_pass_on(run->rig, direction);
	else if (run->c->floor)
		floor_poll(run->rig, direction);
	else
		worker_poll(run->rig->worker[0]);
	cycles = rte_rdtsc_precise() - began;
	if (stages_poll != NULL)
		stages_poll(cycles);
	// Release: pairs with the generator's acquire; the poll is over, the other port may be fed.
	__atomic_store_n(&run->done, run->done + 1, __ATOMIC_RELEASE);
	return cycles;
}

static int
measure(void *arg)
{
	struct run *run = arg;
	const struct traffic_case *c = run->c;
	struct samples *s = run->samples;
	uint32_t bursts = c->ul + (uint32_t)c->dl, k = 0;

	while (k < WARM_UP || k % bursts != 0)
		one_burst(run, traffic_direction(c, k++));
	if (stages_begin != NULL)
		stages_begin();
	while (run->wanted-- > 0 && s->n < SAMPLES_MAX) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < bursts; i++) {
			uint64_t cycles = one_burst(run, traffic_direction(c, k++));

			sum += cycles;
			if (s->bursts < SAMPLES_MAX)
				s->burst_cycles[s->bursts++] = (uint32_t)cycles;
		}
		s->cycles[s->n++] = (float)sum / (float)(bursts * traffic_burst(c));
	}
	return 0;
}

// ---- generator and sink ------------------------------------------------------------------------------

static unsigned
get_buffers(struct rte_mbuf **free_mbuf, unsigned n_free)
{
	while (n_free < IN_FLIGHT && (free_mbuf[n_free] = rte_pktmbuf_alloc(rig_pool())) != NULL)
		n_free++;
	return n_free;
}

static unsigned
collect(enum upf_port port, struct rte_mbuf **free_mbuf, unsigned n_free)
{
	return rte_ring_dequeue_burst(
		rig_ring(port, false), (void **)&free_mbuf[n_free], IN_FLIGHT - n_free, NULL);
}

bool
traffic_run(struct rig *rig, const struct traffic_case *c, uint32_t n, struct samples *samples)
{
	static struct rte_mbuf *free_mbuf[IN_FLIGHT];
	struct run run = {.rig = rig, .c = c, .samples = samples, .wanted = n};
	unsigned n_free = get_buffers(free_mbuf, 0), lost = 0, n_burst = traffic_burst(c);
	// A poll takes all that waits: of small bursts one does.
	uint32_t k = 0, ahead = n_burst == BURST ? AHEAD : 1;

	rte_eal_remote_launch(measure, &run, 1);
	while (rte_eal_get_lcore_state(1) == RUNNING) {
		// Acquire: pairs with the worker's release.
		uint32_t done = __atomic_load_n(&run.done, __ATOMIC_ACQUIRE);
		enum upf_direction direction = traffic_direction(c, k);

		n_free += collect(UPF_PORT_N3, free_mbuf, n_free);
		n_free += collect(UPF_PORT_N6, free_mbuf, n_free);
		if (unlikely(n_free < n_burst &&
			    k == done)) { // the worker kept or dropped the others
			lost += IN_FLIGHT - n_free;
			n_free = get_buffers(free_mbuf, n_free);
		}
		// A poll takes from both ports: never have both directions wait.
		if (n_free < n_burst || k - done >= ahead ||
			(k != done && traffic_direction(c, k - 1) != direction))
			continue;
		n_free -= n_burst;
		traffic_write_burst(rig, c, direction, &free_mbuf[n_free]);
		rte_ring_enqueue_bulk(rig_ring(traffic_port(direction), true),
			(void **)&free_mbuf[n_free], n_burst, NULL);
		k++;
	}
	rte_eal_wait_lcore(1);
	while (rte_ring_count(rig_ring(UPF_PORT_N3, true)) != 0 ||
		rte_ring_count(rig_ring(UPF_PORT_N6, true)) != 0)
		worker_poll(rig->worker[0]);
	n_free += collect(UPF_PORT_N3, free_mbuf, n_free);
	n_free += collect(UPF_PORT_N6, free_mbuf, n_free);
	lost += IN_FLIGHT - n_free;
	for (unsigned i = 0; i < n_free; i++)
		rte_pktmbuf_free(free_mbuf[i]);
	return lost == 0;
}

// ---- several workers ---------------------------------------------------------------------------------

#define ROUND_PACKETS (ROUND_BURSTS * BURST)
#define WARM_UP_ROUNDS 4u
#define ROUND_SECONDS 10u // a round that takes longer has lost packets
#define ASTRAY (BURST / 4)

struct member {
	struct crew *crew;
	struct worker *w;
	uint64_t busy,
		last;     // of the round: cycles in polls with packets, TSC at the end of the last
	uint64_t handled; // packets ever sent or dropped, as of the last poll without packets
	uint32_t rested;  // the last round that it is done with
} __rte_cache_aligned;

struct crew {
	uint32_t phase; // odd: a round is under way
	bool yield;
	struct member member[RIG_WORKERS_MAX];
};
#define PHASE_END UINT32_C(0)
#define PHASE_BEGIN UINT32_C(2)

static void
rest(const struct crew *crew)
{
	if (crew->yield)
		sched_yield();
	else
		rte_pause();
}

static uint64_t
handled_by(const struct worker *w)
{
	uint64_t sum = 0;

	for (unsigned port = 0; port < UPF_PORTS; port++) {
		sum += w->stats->port[port].tx_packets;
		for (unsigned i = 0; i < UPF_DROPS; i++)
			sum += w->stats->drops[port].reason[i];
	}
	return sum;
}

static int
work_in_rounds(void *arg)
{
	struct member *me = arg;
	struct crew *crew = me->crew;
	uint32_t phase;

	// Acquire: pairs with the generator's release, here and below; the queues are filled.
	while ((phase = __atomic_load_n(&crew->phase, __ATOMIC_ACQUIRE)) != PHASE_END) {
		if (phase % 2 == 0 || phase == me->rested) {
			rest(crew);
			continue;
		}
		me->busy = 0;
		while (__atomic_load_n(&crew->phase, __ATOMIC_ACQUIRE) == phase) {
			uint64_t began = rte_rdtsc();

			if (worker_poll(me->w) != 0) {
				me->last = rte_rdtsc();
				me->busy += me->last - began;
				continue;
			}
			// Release: pairs with round_over(); busy and last are the round's.
			__atomic_store_n(&me->handled, handled_by(me->w), __ATOMIC_RELEASE);
			rest(crew);
		}
		// Release: pairs with round_end(); this worker touches no queue any more.
		__atomic_store_n(&me->rested, phase, __ATOMIC_RELEASE);
	}
	return 0;
}

// The next round's packets of the sessions at home at one worker, out of these buffers.
static void
fill_queues(const struct rig *rig, const struct traffic_case *c, unsigned home, struct rte_mbuf **m)
{
	unsigned astray = c->astray ? ASTRAY : 0;
	uint32_t sessions = population_sessions(c->population);

	for (uint32_t k = 0; k < ROUND_BURSTS; k++, m += BURST) {
		enum upf_direction direction = traffic_direction(c, k);
		enum upf_port port = traffic_port(direction);

		for (unsigned i = 0; i < BURST; i++) {
			uint32_t n;

			do // every worker is home to its part of them
				n = below(sessions);
			while (session_present(&rig->sessions, n, UPF_UL)->home != home);
			write_packet(rig, c, n, chance(), direction, m[i]);
			m[i]->hash.usr = home;
		}
		assert_int_equal(rte_ring_enqueue_bulk(rig_ring_of(home, port, true), (void **)m,
					 BURST - astray, NULL),
			BURST - astray);
		if (astray != 0)
			assert_int_equal(rte_ring_enqueue_bulk(
						 rig_ring_of((home + 1) % c->workers, port, true),
						 (void **)&m[BURST - astray], astray, NULL),
				astray);
	}
}

// Collects what one worker sent. Returns how many of them were of its own sessions.
static unsigned
drain_queues(unsigned worker, struct rte_mbuf **m, unsigned *n)
{
	unsigned own = 0;

	*n = 0;
	for (enum upf_port port = 0; port < RIG_PORTS; port++)
		*n += rte_ring_dequeue_burst(rig_ring_of(worker, port, false), (void **)&m[*n],
			ROUND_PACKETS - *n, NULL);
	for (unsigned i = 0; i < *n; i++)
		own += m[i]->hash.usr == worker;
	return own;
}

// Waits until so many packets were handled; false when they never are.
static bool
round_over(const struct crew *crew, unsigned workers, uint64_t wanted)
{
	uint64_t until = rte_rdtsc() + ROUND_SECONDS * rte_get_tsc_hz();

	while (rte_rdtsc() < until) {
		uint64_t handled = 0;

		// Acquire: pairs with the release in work_in_rounds().
		for (unsigned i = 0; i < workers; i++)
			handled += __atomic_load_n(&crew->member[i].handled, __ATOMIC_ACQUIRE);
		if (handled == wanted)
			return true;
		rest(crew);
	}
	return false;
}

static void
round_end(struct crew *crew, unsigned workers)
{
	uint32_t phase = crew->phase;

	__atomic_store_n(
		&crew->phase, phase + 1, __ATOMIC_RELAXED); // it carries nothing but itself
	for (unsigned i = 0; i < workers; i++) {
		while (__atomic_load_n(&crew->member[i].rested, __ATOMIC_ACQUIRE) != phase)
			rest(crew);
	}
}

static void
keep_round(const struct crew *crew, unsigned workers, uint64_t began, struct samples *s)
{
	uint64_t last = began;

	if (s->n + workers > SAMPLES_MAX || s->bursts == SAMPLES_MAX)
		return;
	for (unsigned i = 0; i < workers; i++) {
		s->cycles[s->n++] = (float)crew->member[i].busy / ROUND_PACKETS;
		last = RTE_MAX(last, crew->member[i].last);
	}
	s->burst_cycles[s->bursts++] = (uint32_t)RTE_MIN(last - began, (uint64_t)UINT32_MAX);
}

bool
traffic_run_workers(struct rig *rig, const struct traffic_case *c, uint32_t n, bool yield,
	struct samples *samples)
{
	static struct crew crew;
	static struct rte_mbuf *m[RIG_WORKERS_MAX][ROUND_PACKETS];
	unsigned count[RIG_WORKERS_MAX], own = c->workers * ROUND_PACKETS;
	uint64_t wanted = 0;
	bool whole = true;

	memset(&crew, 0, sizeof(crew));
	crew.phase = PHASE_BEGIN;
	crew.yield = yield;
	for (unsigned i = 0; i < c->workers; i++) {
		struct worker *w = rig->worker[i];

		crew.member[i] = (struct member){.crew = &crew, .w = w, .handled = handled_by(w)};
		wanted += crew.member[i].handled;
		assert_int_equal(rte_pktmbuf_alloc_bulk(rig_pool(), m[i], ROUND_PACKETS), 0);
		count[i] = ROUND_PACKETS;
		rte_eal_remote_launch(work_in_rounds, &crew.member[i], i + 1);
	}
	for (uint32_t round = 0; whole && round < WARM_UP_ROUNDS + n; round++) {
		uint64_t began;

		for (unsigned i = 0; i < c->workers; i++)
			fill_queues(rig, c, i, m[i]);
		wanted += own;
		began = rte_rdtsc();
		// Release: pairs with the workers' acquire.
		__atomic_store_n(&crew.phase, crew.phase + 1, __ATOMIC_RELEASE);
		whole = round_over(&crew, c->workers, wanted);
		round_end(&crew, c->workers);
		for (unsigned i = 0; i < c->workers; i++)
			whole &= drain_queues(i, m[i], &count[i]) == ROUND_PACKETS;
		if (whole && round >= WARM_UP_ROUNDS)
			keep_round(&crew, c->workers, began, samples);
	}
	__atomic_store_n(&crew.phase, PHASE_END, __ATOMIC_RELAXED); // it carries nothing but itself
	for (unsigned i = 0; i < c->workers; i++) {
		rte_eal_wait_lcore(i + 1);
		rte_pktmbuf_free_bulk(m[i], count[i]);
	}
	return whole;
}
