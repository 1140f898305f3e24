// Traffic for workers.
//
// For one worker: this thread is generator and sink, the worker runs on another CPU (lcore 1),
// rings join them; what the worker sent is written anew and comes back. Only full bursts count. Nothing
// is hot that would not be: sessions are drawn at random, and another core wrote the packets.
//
// For several: in rounds, since one generator cannot keep many workers busy. It fills the queues of
// all, lets all begin at once, and collects when everything is out: while packets are being handled,
// all workers are busy, and nobody waits for the generator.
#ifndef UPFU_BENCH_TRAFFIC_H
#define UPFU_BENCH_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/packet.h"
#include "population.h"

#define SAMPLES_MAX 65536u

struct traffic_case {
	const char *name;
	enum population population;
	uint32_t first, sessions; // of the population: those in play
	uint32_t size;            // octets of a user's packet; 0: the mix of Intel and SK Telecom
	uint8_t ul, dl;           // bursts of each in one sample
	bool forward_only;        // the reference: packets are only passed on
	bool floor;               // the reference: memory and headers, and no rules (floor.h)
	uint8_t burst;            // packets that a poll finds; 0: BURST
	uint8_t workers;          // 0: the one of traffic_run()
	bool astray;              // a quarter of the packets comes in at another worker
};

#define TRAFFIC_CASES_MAX 64u
extern struct traffic_case traffic_cases[];
extern const unsigned traffic_cases_n;

// Once the populations have their sizes.
void traffic_cases_settle(void);
const char *traffic_direction_name(const struct traffic_case *c);

struct samples {
	uint32_t n, bursts;
	float cycles[SAMPLES_MAX];          // a packet, mean of one sample
	uint32_t burst_cycles[SAMPLES_MAX]; // of single bursts
};

// Runs the worker until it has taken n more samples; false when packets were lost.
bool traffic_run(
	struct rig *rig, const struct traffic_case *c, uint32_t n, struct samples *samples);

#define ROUND_BURSTS 24u // for each worker

// Runs c->workers workers for n more rounds. A sample is a worker's round: the cycles of its polls, a
// packet; burst_cycles are whole rounds, from the start to the last packet's end. `yield`: there are
// fewer CPUs than threads. False: not every packet came out, at its session's home.
bool traffic_run_workers(struct rig *rig, const struct traffic_case *c, uint32_t n, bool yield,
	struct samples *samples);

// The direction of the n-th burst, and where it comes in.
enum upf_direction traffic_direction(const struct traffic_case *c, uint32_t n);
enum upf_port traffic_port(enum upf_direction direction);

// Sends a few packets through every session.
void traffic_prime(struct rig *rig, enum population population);

// Makes a packet of the n-th session of a population out of this buffer.
void traffic_write_packet(const struct rig *rig, enum population population, uint32_t n,
	uint32_t size, enum upf_direction direction, struct rte_mbuf *m);

// Packets that a poll finds.
static inline unsigned
traffic_burst(const struct traffic_case *c)
{
	return c->burst != 0 ? c->burst : BURST;
}

// Makes a burst of packets of the case, chosen by chance, out of these buffers.
void traffic_write_burst(const struct rig *rig, const struct traffic_case *c,
	enum upf_direction direction, struct rte_mbuf **m);

#endif
