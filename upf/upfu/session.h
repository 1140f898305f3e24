// PDU sessions as the data path sees them.
//
// The control thread compiles a SESSION_PUT into one immutable struct rules, and publishes it with
// one release-store into live[]: a packet sees the old rules whole or the new ones whole. Old rules
// are freed after a QSBR grace period (every worker has finished the burst in which it may have
// loaded them). Two maps lead to the session index: F-TEID → session and UE IP address → session.
//
// What changes with packets lives apart and survives the swap: token buckets (qer.h) under the QER's
// slot, volume counters (upf_abi.h) under the URR's slot, downlink buffers (buffer.h).
#ifndef UPFU_SESSION_H
#define UPFU_SESSION_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "bucketmap.h"
#include "upf_abi.h"

struct rte_rcu_qsbr;

// ---- compiled rules --------------------------------------------------------------------------

// What a QER means in the direction of its PDR.
struct pdr_qer {
	uint64_t cost; // TSC cycles an octet, 32 fractional bits; 0: unlimited
	uint32_t slot;
	uint32_t reserved;
};

struct pdr_urr {
	uint32_t slot;
	uint8_t flags; // UPF_URR_*
	uint8_t reserved[3];
};

// A PDR with its FAR, QERs and URRs resolved: all that a packet needs, in two cache lines.
struct pdr {
	// Match
	rte_be32_t n3_addr;
	uint32_t teid;
	rte_be32_t ue_addr;
	uint8_t flags; // UPF_PDR_*
	uint8_t qfi;
	uint16_t pdr_id;
	uint16_t sdf_first;
	uint16_t sdf_count;
	uint8_t direction; // enum upf_direction: UL when the source is access
	uint8_t n_qer;     // those with a rate
	uint8_t n_urr;
	uint8_t gate_closed; // of any QER, in this direction
	// FAR
	uint8_t action; // UPF_FAR_*; FORW to access without an outer header has none
	uint8_t ohc;    // enum upf_ohc
	uint8_t tos;
	uint8_t out_qfi; // of the PDU Session Container written, 0: none
	uint16_t peer_port;
	uint16_t reserved;
	rte_be32_t peer_addr;
	rte_be32_t local_addr;
	rte_be32_t out_teid;
	uint16_t reserved2[10];
	// second line
	struct pdr_qer qer[UPF_PDR_QERS];
	// third line
	struct pdr_urr urr[UPF_PDR_URRS];
};
static_assert(sizeof(struct pdr_qer) == 16, "pdr_qer");
static_assert(offsetof(struct pdr, qer) == 64, "match and FAR in the first line");
static_assert(sizeof(struct pdr) == 192, "three cache lines");

#define RULES_UES 4u // UE IP addresses of one PDU session

struct rules {
	uint32_t session;
	uint32_t incarnation; // kept over replacements, new when the index is used anew
	uint16_t n_tunnel;    // PDRs with an F-TEID, by precedence: pdr[0 ..]
	uint16_t n_plain;     // the others, by precedence: pdr[n_tunnel ..]
	uint16_t n_sdf;
	uint8_t n_ue;
	uint8_t buffers; // some FAR buffers
	rte_be32_t ue[RULES_UES];
	const struct upf_sdf *sdf; // behind the PDRs
	// The control thread's: sorted keys of the two maps, behind the SDF filters.
	const uint64_t *n3_key;
	const uint64_t *ue_key;
	uint32_t n_n3_key;
	uint32_t n_ue_key;
	struct pdr pdr[];
};
static_assert(offsetof(struct rules, pdr) == 64, "one cache line before the PDRs");

static inline uint64_t
n3_key(rte_be32_t addr, uint32_t teid)
{
	return (uint64_t)rte_be_to_cpu_32(addr) << 32 | teid;
}

static inline uint64_t
ue_key(rte_be32_t addr)
{
	return rte_be_to_cpu_32(addr);
}

// ---- the table -------------------------------------------------------------------------------

struct session_state { // the control thread's account of one session
	struct rules *rules;
	uint8_t *blob;
	uint32_t blob_len;
	uint32_t incarnation;
};

struct session_table {
	// Read by workers:
	struct rules **live; // [max], acquire-load
	struct bucketmap n3;
	struct bucketmap ue;
	uint8_t *ue_nets; // bit per /16 that holds a UE of ours: most UL packets need no lookup
	// The control thread's:
	struct session_state *state; // [max]
	uint32_t *ue_net_count;      // per /16
	uint32_t max;
	uint32_t present;
	uint32_t incarnations;
	struct rte_rcu_qsbr *qsbr;
	struct session_trash *trash;
	struct session_trash *trash_last;
};

int session_table_init(struct session_table *table, uint32_t max, unsigned workers);
void session_table_free(struct session_table *table);

static inline const struct rules *
session_rules(const struct session_table *table, uint32_t session)
{
	// Acquire: pairs with the release-store of session_publish().
	return __atomic_load_n(&table->live[session], __ATOMIC_ACQUIRE);
}

// Is there a PDU session with this UE IP address?
static inline bool
session_has_ue(const struct session_table *table, rte_be32_t addr)
{
	uint32_t host = rte_be_to_cpu_32(addr);

	if (likely((__atomic_load_n(&table->ue_nets[host >> 19], __ATOMIC_RELAXED) &
			   1u << (host >> 16 & 7)) == 0))
		return false;
	return bucketmap_lookup(&table->ue, ue_key(addr)) != BUCKETMAP_NONE;
}

// Publishes rules (NULL: the session goes) with their keys. Room in the maps was checked before.
void session_publish(struct session_table *table, uint32_t session, struct rules *rules);

// Frees once no worker can hold the memory any more; free_memory(pointer) does it.
void session_trash_add(struct session_table *table, void *pointer, void (*free_memory)(void *));
// Frees what is due. Returns whether something is still waiting.
bool session_trash_collect(struct session_table *table);
// Returns once every worker has finished what it was doing when this was called.
void session_wait_for_workers(struct session_table *table);

#endif
