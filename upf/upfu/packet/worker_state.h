// A worker: one thread pinned to one CPU, which takes packets from the wire to the wire, run to
// completion. This is what it has; worker.h is what it does.
//
// A worker writes nothing that another worker writes. It talks with the control thread through two
// rings (message.h) and by QSBR: worker_poll() ends with "I hold no rules any more".
#ifndef UPFU_WORKER_STATE_H
#define UPFU_WORKER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "link/gateways_state.h"
#include "link/neigh_table.h"
#include "link/port.h"
#include "packet/buffer_state.h"
#include "packet/handoff_state.h"
#include "packet/packet.h"
#include "packet/shaper_state.h"
#include "packet/sleep_state.h"
#include "process/shm.h"
#include "rules/qer_clock.h"
#include "upf_abi.h"

struct config;
struct bridge;
struct detection;
struct nat;
struct reassembly;
struct rte_mempool;
struct rte_ring;
struct session_table;
struct trace;

#define TX_BATCH 64u
#define WORKER_TICKS_PER_SECOND 10u

struct tx_batch {
	unsigned n;
	struct rte_mbuf *m[TX_BATCH];
	const struct pdr *pdr[TX_BATCH]; // whose packet it is: departure.h
};

#define OWN_PACKETS_MAX 64u

struct own_packets { // own_packets.h
	unsigned n;
	struct rte_mbuf *m[OWN_PACKETS_MAX];
	enum upf_port port[OWN_PACKETS_MAX]; // of N6, as if it had come by it
};

// Frames that found nobody on the link; their senders are told once a poll (icmp_error.h).
#define UNREACHABLE_MAX 32u

struct unreachable {
	unsigned n;
	struct {
		struct rte_mbuf *m;
		enum upf_port port; // of which it was on its way out
		enum upf_port n6;   // of the session whose it is; UPF_PORTS: that is not known
	} frame[UNREACHABLE_MAX];
};

// Of a burst: end_marker.h.
struct end_markers {
	unsigned n;
	struct upf_end_marker marker[BURST];
};

struct worker {
	unsigned index;
	unsigned workers;
	unsigned ports;        // of port[], of which N9 may be absent
	struct worker **peers; // [workers], itself among them
	uint64_t now;          // TSC at the start of the poll
	uint64_t tsc_hz;
	bool ue_to_ue_allowed;
	bool shares_cpu;    // with the control thread
	uint64_t qer_burst; // as the token buckets' clocks
	const struct session_table *sessions;
	struct shm_slots slots;
	struct upf_worker_stats *stats;
	struct upf_drop_stats *group; // [UPF_GROUPS]
	struct rte_mempool *pool;
	struct rte_ring *commands;
	struct rte_ring *events;
	struct handoff handoff;
	struct port port[UPF_PORTS];
	struct tx_batch tx[UPF_PORTS];
	// Those that frames are received from: a device has one, whatever VLANs are on it.
	unsigned devices;
	enum upf_port device[UPF_PORTS];
	struct neigh_table *neigh[UPF_PORTS];  // NULL: the port is absent
	struct neigh_table *neigh6[UPF_PORTS]; // NULL: it is, or has no IPv6 addresses
	uint32_t held, held_max;               // packets that wait for neighbours
	struct gateways gateways;
	struct buffer_store buffers;
	struct shaper shaper;
	struct burst burst;
	struct trace *trace; // NULL: nobody looks
	struct trace *trace_memory;
	// Error Indications: a token bucket in TSC cycles.
	uint64_t error_cost, error_tat;
	uint64_t icmp_cost, icmp_tat; // ICMP errors likewise
	struct own_packets own;
	struct unreachable unreachable;
	struct end_markers end_markers;
	struct reassembly *reassembly;       // NULL: fragments are dropped
	struct nat *nat;                     // NULL: no network instance has NAT44
	struct bridge *bridge[UPF_NETWORKS]; // NULL: IP's, or another worker's
	unsigned bridges;
	struct detection *detection; // NULL: no application was known by domains yet
	const struct config *config;
	uint16_t mss_room;    // mss.h, 0: MSS options are left alone
	uint32_t fragment_id; // of the last packet cut into fragments
	uint64_t next_tick;   // of the timers
	uint64_t next_yield;
	struct qer_sweeper sweeper; // the first worker's
	struct sleeper sleeper;
	bool events_raised;      // since the end of the last poll
	int wake_fd;             // wakes the control thread
	uint32_t *control_waits; // the control thread is in epoll_wait
	uint32_t *stop;
	// Not 0: upf-c has given us all sessions since our start. NULL: nobody is to be waited for.
	const uint32_t *synced;
	const uint32_t *listener; // struct rule_base
	// The TSC until which we may answer and forward (silence.h). NULL: always.
	const uint64_t *granted_until;
	// Not 0: we forward, and say nothing of our addresses. NULL as granted_until.
	const uint32_t *forwards_only;
	bool silent;           // in the last poll
	uint8_t announcements; // still to be made
};

#endif
