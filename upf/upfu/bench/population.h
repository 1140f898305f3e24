// The sessions of the benchmark. A population is many sessions with rules of one shape; what
// its packets look like is beside it.
#ifndef UPFU_BENCH_POPULATION_H
#define UPFU_BENCH_POPULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

enum population {
	POPULATION_NEC,    // 2 PDRs, 2 FARs, 2 QERs, 2 URRs: NEC's published work
	POPULATION_SKT,    // two bearers (GBR and MBR) of four flows each: Intel's and SK Telecom's
	POPULATION_PDRS,   // one session for each of population_pdrs[]
	POPULATION_IPV6,   // as NEC, with IPv6 UE addresses
	POPULATION_SHARED, // two uplink PDRs on one F-TEID, as free5GC's SMF makes them
	POPULATION_FEATURES, // all at once: IPv4v6, SDF filters, GBR, marking, before-QoS and timed URRs
	POPULATION_DOMAINS, // as NEC, and an application by domain that no packet is of
	POPULATION_NAT44,   // as NEC, and addresses and ports are translated: in a UPF of its own
	POPULATIONS,
};

#define POPULATION_PDR_SESSIONS 4u
extern const unsigned population_pdrs[POPULATION_PDR_SESSIONS]; // PDRs: half uplink, half downlink

// A packet of a session: what the generator writes.
struct user_packet {
	uint32_t teid; // of the uplink F-TEID
	uint8_t qfi;
	bool ip6;
	upf_addr ue, remote; // as on the wire, IPv4 in the first four octets
	uint16_t remote_port, local_port;
	upf_addr public; // the UE, as the remote knows it
	uint16_t public_port;
	uint16_t sum; // of UDP; 0: it has none
};

// How many sessions each has; the index of its first one follows from those before it.
void population_size(enum population population, uint32_t sessions);
uint32_t population_sessions(enum population population);

// UPFs of the benchmark. One with NAT44 translates all that leaves by its network instance, and a second network instance
// would be one more queue that every poll looks at.
enum population_upf { POPULATION_UPF, POPULATION_UPF_NAT44, POPULATION_UPFS };
enum population_upf population_upf(enum population population);
// What of its configuration follows from the sessions of its populations.
void population_config(enum population_upf upf, struct config *config);

// MiB of memory that they all need, roughly and with room to spare.
unsigned population_memory(void);

// Installs all of a population. False: upf-u refused it (reason in *why).
bool population_install(struct rig *rig, enum population population, const char **why);

// One packet of the n-th session of the population, chosen by `random`: by its two lowest bits alone, which of a NAT44
// mapping's.
#define POPULATION_NAT44_FLOWS 4u // mappings of a session
void population_packet(
	enum population population, uint32_t n, uint32_t random, struct user_packet *packet);

#endif
