// Cycles a packet, in one process: this thread is generator and sink, the worker runs on another CPU,
// rings join them. Only full bursts count; p50 and p10 of many. Nothing is hot that would not be: the
// sessions are drawn at random, and the packets were written by another core.
//
//   bench [sessions]        default 100000
//
// A line a case: case, dir, sessions, size of the user's packet, cycles_p50, cycles_p10,
// mpps_per_core. case=ring is the floor: the same loop that only passes packets on.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "frames.h"
#include "gtpu.h"
#include "rules.h"

#define SAMPLES 20000u
#define WARM_UP 2000u
#define IN_FLIGHT 512u
#define UE_BASE RIG_IP(10, 64, 0, 0)
#define TEID_BASE 0x10000u

struct run {
	struct rig *rig;
	enum upf_port in;
	bool forward_only;
	uint32_t n;
	uint64_t cycles[SAMPLES];
};

static void
only_pass_on(struct run *run)
{
	struct worker *w = run->rig->worker[0];
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(w->port[run->in].ethdev, 0, m, BURST);

	rte_eth_tx_burst(w->port[!run->in].ethdev, 0, m, n);
}

static int
measure(void *arg)
{
	struct run *run = arg;
	struct rte_ring *rx = rig_ring(run->in, true);
	unsigned warm = 0;

	while (run->n < SAMPLES) {
		uint64_t began;

		if (rte_ring_count(rx) < BURST) {
			rte_pause();
			continue;
		}
		began = rte_rdtsc_precise();
		if (run->forward_only)
			only_pass_on(run);
		else
			worker_poll(run->rig->worker[0]);
		if (warm++ >= WARM_UP)
			run->cycles[run->n++] = rte_rdtsc_precise() - began;
	}
	return 0;
}

// Turns an mbuf into a fresh packet for a session drawn at random.
static void
write_packet(struct rte_mbuf *m, const struct frame *template, enum upf_port in, uint32_t session)
{
	uint8_t *data;
	struct rte_ipv4_hdr *user;
	rte_be32_t ue = rte_cpu_to_be_32(UE_BASE + session);
	rte_be32_t teid = rte_cpu_to_be_32(TEID_BASE + session);

	rte_pktmbuf_reset(m);
	data = (uint8_t *)rte_pktmbuf_append(m, (uint16_t) template->length);
	if (data == NULL)
		return;
	memcpy(data, template->data, template->length);
	user = (void *)(data + (in == UPF_PORT_N3 ? 14 + sizeof(struct gtpu_outer) : 14));
	if (in == UPF_PORT_N3) {
		memcpy(data + 14 + 28 + 4, &teid, 4);
		user->src_addr = ue;
	} else {
		user->dst_addr = ue;
	}
	user->hdr_checksum = 0;
	user->hdr_checksum = rte_ipv4_cksum(user);
}

static struct frame
template_of(const struct rig *rig, enum upf_port in, uint32_t size)
{
	struct frame f;
	struct ip_fields ip = {.src = RIG_UE, .dst = RIG_REMOTE, .payload = size - 28};

	if (in == UPF_PORT_N3) {
		frame_gpdu(&f, RIG_N3_ADDR, 0, 9, &ip);
	} else {
		ip = (struct ip_fields){.src = RIG_REMOTE, .dst = RIG_UE, .payload = size - 28};
		frame_eth_ip(&f, &ip);
	}
	memcpy(f.data, &rig->worker[0]->port[in].mac, 6);
	return f;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
run_case(struct rig *rig, const char *name, enum upf_port in, bool forward_only, uint32_t sessions,
	uint32_t size)
{
	static struct run run;
	static struct rte_mbuf *free_mbuf[IN_FLIGHT];
	struct rte_ring *rx = rig_ring(in, true), *tx = rig_ring((enum upf_port) !in, false);
	struct frame template = template_of(rig, in, size);
	unsigned n_free = 0;
	const uint64_t *median = &run.cycles[SAMPLES / 2], *tenth = &run.cycles[SAMPLES / 10];
	double p50, p10;

	run = (struct run){.rig = rig, .in = in, .forward_only = forward_only};
	while (n_free < IN_FLIGHT && (free_mbuf[n_free] = rte_pktmbuf_alloc(rig_pool())) != NULL)
		n_free++;
	rte_eal_remote_launch(measure, &run, 1);
	while (rte_eal_get_lcore_state(1) == RUNNING) {
		struct rte_mbuf *burst[BURST];
		unsigned n = rte_ring_dequeue_burst(tx, (void **)burst, BURST, NULL);

		for (unsigned i = 0; i < n; i++)
			free_mbuf[n_free++] = burst[i];
		if (n_free < BURST)
			continue;
		n_free -= BURST;
		for (unsigned i = 0; i < BURST; i++)
			write_packet(free_mbuf[n_free + i], &template, in,
				(uint32_t)random() % sessions);
		rte_ring_enqueue_bulk(rx, (void **)&free_mbuf[n_free], BURST, NULL);
	}
	rte_eal_wait_lcore(1);
	for (unsigned i = 0; i < n_free; i++)
		rte_pktmbuf_free(free_mbuf[i]);
	while (rte_ring_count(rx) != 0)
		worker_poll(rig->worker[0]);
	rig_count_sent(rig, (enum upf_port) !in);
	qsort(run.cycles, run.n, sizeof(run.cycles[0]), compare);
	p50 = (double)*median / BURST;
	p10 = (double)*tenth / BURST;
	printf("case=%s dir=%s sessions=%u size=%u cycles_p50=%.0f cycles_p10=%.0f "
	       "mpps_per_core=%.2f\n",
		name, in == UPF_PORT_N3 ? "ul" : "dl", sessions, size, p50, p10,
		(double)rte_get_tsc_hz() / p50 / 1e6);
	fflush(stdout);
	if (!forward_only)
		rig_assert_no_other_drops(rig);
}

// As NEC's published work: 2 PDRs, 2 FARs, 2 QERs and 2 URRs a session.
static void
install(struct rig *rig, uint32_t session)
{
	static struct session_rules_builder s;

	rules_usual(&s, session, UE_BASE + session, TEID_BASE + session);
	s.n_qer = s.n_urr = 2;
	for (unsigned i = 0; i < 2; i++) {
		s.qer[i] = (struct upf_qer){
			.qer_id = i + 1,
			.slot = session * 2 + i,
			.qfi = 9,
			.flags = UPF_QER_MBR,
			.mbr_ul = UINT64_C(100000000000),
			.mbr_dl = UINT64_C(100000000000),
		};
		s.urr[i] = (struct upf_urr){.urr_id = i + 1, .slot = session * 2 + i};
		s.pdr[0].qer[i] = s.pdr[1].qer[i] = (uint16_t)i;
		s.pdr[0].urr[i] = s.pdr[1].urr[i] = (uint16_t)i;
	}
	for (unsigned i = 0; i < 2; i++)
		s.pdr[i].n_qer = s.pdr[i].n_urr = 2;
	rules_install(rig, &s);
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

int
main(int argc, char **argv)
{
	uint32_t sessions = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
	bool no_huge = argc > 2 && strcmp(argv[2], "no-huge") == 0;
	struct config config = rig_config();
	int cpu = other_cpu();
	struct rig *rig;
	uint64_t began;

	if (cpu < 0 || sessions == 0) {
		fprintf(stderr, "usage: bench [sessions [no-huge]]; it needs two CPUs\n");
		return EXIT_FAILURE;
	}
	if (!rig_start_eal(128 + sessions / 500, !no_huge, 4096, cpu)) {
		fprintf(stderr,
			"no memory: %u MiB of 2 MiB hugepages, or \"no-huge\" as second argument\n",
			128 + sessions / 500);
		return EXIT_FAILURE;
	}
	config.limits.sessions_max = sessions;
	config.limits.qer_slots = config.limits.urr_slots = sessions * 2;
	rig = rig_create_with(&config, 1, true);
	began = rte_rdtsc();
	for (uint32_t i = 0; i < sessions; i++)
		install(rig, i);
	printf("sessions=%u installed_per_second=%.0f pages=%s\n", sessions,
		(double)sessions * (double)rte_get_tsc_hz() / (double)(rte_rdtsc() - began),
		no_huge ? "4K" : "2M");
	for (unsigned round = 0; round < 2; round++) {
		run_case(rig, "ring", UPF_PORT_N3, true, sessions, 800);
		run_case(rig, "nec", UPF_PORT_N3, false, sessions, 800);
		run_case(rig, "nec", UPF_PORT_N6, false, sessions, 800);
		run_case(rig, "hot", UPF_PORT_N3, false, sessions < 1000 ? sessions : 1000, 800);
		run_case(rig, "hot", UPF_PORT_N6, false, sessions < 1000 ? sessions : 1000, 800);
	}
	return EXIT_SUCCESS;
}
