// A worker: one thread pinned to one CPU, which takes packets from the wire to the wire, run to
// completion. worker_poll() in worker.c is the whole way of a packet; each stage is a file.
//
// A worker writes nothing that another worker writes. It talks with the control thread through two
// rings (commands in, events out) and by QSBR: worker_poll() ends with "I hold no rules any more".
#ifndef UPFU_WORKER_H
#define UPFU_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "link/neigh.h"
#include "link/port.h"
#include "packet/buffer.h"
#include "packet/own_packets.h"
#include "packet/qer.h"
#include "packet/shaper.h"
#include "packet/sleep.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/session.h"
#include "upf_abi.h"

struct reassembly;
struct rte_ring;

#define BURST 32u
#define TX_BATCH 64u

enum pkt_fragment { // of the user's packet
	PKT_WHOLE,
	PKT_FIRST,
	PKT_LATER,       // without ports
	PKT_REASSEMBLED, // was put together here, so it may be cut again
};

#define PKT_HELD_FAR 0x01u // its FAR buffers; else it only stands behind others
#define PKT_HELD_BAR 0x02u // a BAR said how long

// One packet of a burst, between parsing and transmission.
#define PKT_END_MARKER 2u

struct pkt {
	struct rte_mbuf *m;
	union {
		const struct part *part;
		struct {
			uint32_t session, incarnation;
		} of; // in the shaper: whose it is
	};
	union {
		const struct pdr *pdr;
		struct {
			uint16_t index, id;
		} by; // in the shaper: its PDR
	};
	uint64_t key; // of the map that leads to the part
	union {
		uint32_t bucket; // of that map
		uint32_t bar;    // in a downlink buffer: the BAR's index, or none (buffer.c)
	};
	uint16_t ip;     // offset of the user's IP header in the packet's data
	uint16_t ip_len; // total length of the user's packet
	uint8_t tunnel; // it came in GTP-U; PKT_END_MARKER: it is a message, without a packet of a user
	uint8_t qfi;      // of the PDU Session Container received
	uint8_t rqi;      // likewise, as it stands there
	uint8_t ip6;      // the user's packet is IPv6
	uint8_t released; // comes from a downlink buffer: its QERs were applied on arrival
	uint8_t kind;     // in a hand-off ring: handoff.c
	uint8_t port;     // enum upf_port by which it came
	uint8_t outer6;   // in GTP-U over IPv6
	uint8_t fragment; // enum pkt_fragment
	uint8_t proto;    // IPv6: last header of the chain
	uint8_t group;    // while the packet waits: the session's, by which its drop is counted
	uint8_t held;     // in a downlink buffer: PKT_HELD_*
	uint16_t l4;    // IPv6: offset of the upper-layer header from `ip`, 0: in another fragment
	uint64_t until; // in a downlink buffer: TSC at which it has waited too long
};
static_assert(sizeof(struct pkt) == 64, "one cache line");

struct burst {
	unsigned n;              // packets still under way
	struct pkt *live[BURST]; // in order of arrival
	struct pkt pkt[BURST];
};

struct tx_batch {
	unsigned n;
	struct rte_mbuf *m[TX_BATCH];
	const struct pdr *pdr[TX_BATCH]; // whose packet it is: departure.h
};

enum command_op {
	COMMAND_RULES_CHANGED, // look after what is buffered for the session
	COMMAND_END_MARKER,
	COMMAND_ECHO,
	COMMAND_TRACE, // trace.h
	COMMAND_DROP_BUFFERED,
	COMMAND_URR_LOOK, // a URR was armed that may be past its thresholds already
};

struct command {     // control thread → worker
	uint32_t op; // enum command_op
	uint32_t session;
	union {
		uint32_t slot; // COMMAND_URR_LOOK
		struct upf_end_marker end_marker;
		struct upf_echo echo;
		struct {
			uint32_t flags; // UPF_TRACE_*
			uint16_t order, snap;
		} trace;
	};
};
static_assert(sizeof(struct command) == 64, "rte_ring elements");

struct event { // worker → control thread: one record of an EVENT datagram
	union {
		struct upf_record rec;
		struct upf_ev_urr urr;
		struct upf_ev_dl_data dl_data;
		struct upf_ev_error_ind error_ind;
		struct upf_echo echo;
	};
};
static_assert(sizeof(struct event) == 48, "rte_ring elements");

// Of a burst: end_marker.h.
struct end_markers {
	unsigned n;
	struct upf_end_marker marker[BURST];
};

struct worker {
	unsigned index;
	unsigned workers;
	unsigned ports;        // of port[]: N9 comes last and may be absent
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
	struct rte_ring *handoff; // packets at home here that others received
	struct port port[UPF_PORTS];
	struct tx_batch tx[UPF_PORTS];
	struct neigh_table neigh[UPF_PORTS];
	struct neigh_table *neigh6[UPF_PORTS]; // NULL without IPv6 addresses
	struct buffer_store buffers;
	struct shaper shaper;
	struct burst burst;
	struct trace *trace; // NULL: nobody looks
	struct trace *trace_memory;
	// Error Indications: a token bucket in TSC cycles.
	uint64_t error_cost, error_tat;
	uint64_t icmp_cost, icmp_tat; // ICMP errors likewise
	struct own_packets own;
	struct end_markers end_markers;
	struct reassembly *reassembly; // NULL: fragments are dropped
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
};

// Shared by all workers of the process.
struct worker_shared {
	const struct config *config;
	const struct session_table *sessions;
	struct shm_slots slots;
	struct upf_worker_stats *stats; // [workers]
	struct upf_drop_stats *groups;  // [workers][UPF_GROUPS]
	struct rte_mempool *pool;
	uint16_t ethdev[UPF_PORTS];
	struct worker **peers;    // [workers], filled as they are created
	struct sleeper *sleepers; // [workers], theirs from then on
	int wake_fd;
	uint32_t *control_waits;
	uint32_t *stop;
	const uint32_t *synced; // struct worker
	const uint32_t *listener;
};

struct worker *worker_create(unsigned index, const struct worker_shared *shared);
void worker_free(struct worker *w);

// One round: returns how many packets, commands and timers there were.
unsigned worker_poll(struct worker *w);
// Polls until *stop; an rte_eal_remote_launch() function.
int worker_run(void *arg);

// Tells the control thread. False: the ring is full.
bool worker_raise(struct worker *w, const struct event *event);

// ---- for the stages --------------------------------------------------------------------------

// What a stage says of one packet: a drop reason, or one of these.
#define PKT_NEXT -1  // on to the next stage
#define PKT_TAKEN -2 // it belongs to somebody else now

void trace_dropped(struct worker *w, struct rte_mbuf *m, enum upf_drop reason); // trace.h

// Each drop counts twice: by interface, and by the session's group.
static inline void
worker_count_drops(
	struct worker *w, enum upf_port port, unsigned group, enum upf_drop reason, uint64_t n)
{
	shm_add(&w->stats->drops[port].reason[reason], n);
	shm_add(&w->group[group].reason[reason], n);
}

static inline void
worker_drop_of(struct worker *w, enum upf_port port, unsigned group, struct rte_mbuf *m,
	enum upf_drop reason)
{
	if (unlikely(w->trace != NULL))
		trace_dropped(w, m, reason);
	worker_count_drops(w, port, group, reason, 1);
	rte_pktmbuf_free(m);
}

// A frame of no session, or whose session is not known any more on its way out.
static inline void
worker_drop(struct worker *w, enum upf_port port, struct rte_mbuf *m, enum upf_drop reason)
{
	worker_drop_of(w, port, 0, m, reason);
}

// Hands the burst to a stage packet by packet; keeps those that go on, in order.
static inline __attribute__((always_inline)) void
burst_through(struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p),
	bool has_part)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct pkt *p = b->live[i];
		int verdict = stage(w, p);

		if (likely(verdict == PKT_NEXT))
			b->live[n++] = p;
		else if (verdict != PKT_TAKEN)
			worker_drop_of(w, (enum upf_port)p->port, has_part ? p->part->group : 0,
				p->m, (enum upf_drop)verdict);
	}
	b->n = n;
}

// Before the session is known.
static inline __attribute__((always_inline)) void
burst_each(struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p))
{
	burst_through(w, b, stage, false);
}

static inline __attribute__((always_inline)) void
burst_each_of_session(
	struct worker *w, struct burst *b, int (*stage)(struct worker *w, struct pkt *p))
{
	burst_through(w, b, stage, true);
}

static inline struct rte_ipv4_hdr *
pkt_ip(const struct pkt *p)
{
	return rte_pktmbuf_mtod_offset(p->m, struct rte_ipv4_hdr *, p->ip);
}

void worker_flush(struct worker *w, enum upf_port port);
// Puts the VLAN tag on first.
void worker_send_tagged(
	struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr);

// As it is; sent when the batch is full or the poll ends. Nothing is left to do behind a call, so that
// what comes in registers need not be kept.
static inline void
worker_queue(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	struct tx_batch *tx = &w->tx[port];

	tx->m[tx->n] = m;
	tx->pdr[tx->n] = pdr;
	if (unlikely(++tx->n == TX_BATCH))
		worker_flush(w, port);
}

// Queues a whole frame with a packet of this PDR (departure.h).
static inline void
worker_send_of(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	if (unlikely(w->port[port].vlan != 0))
		worker_send_tagged(w, port, m, pdr);
	else
		worker_queue(w, port, m, pdr);
}

// What upf-u says itself.
static inline void
worker_send(struct worker *w, enum upf_port port, struct rte_mbuf *m)
{
	worker_send_of(w, port, m, NULL);
}

#endif
