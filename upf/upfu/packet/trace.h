// Tracing: what becomes of single packets, stage by stage, for a human with upfctl.
//
// Nobody looks most of the time. Then worker.trace is NULL, and that is one test a burst and stage;
// no packet is looked at. When somebody looks, a packet that is followed bears a mark in its mbuf (a
// dynamic field), which hand-off, downlink buffers and copies keep. Each stage writes one record for
// each followed packet into the worker's own ring of octets; the control thread sends them to upf-c.
// The ring is bounded and nobody waits for it: a record that does not fit is counted
// (local.trace_lost) and gone. So is the number of packets that an order follows.
//
// An order comes to each worker as a command, so the worker alone writes what it reads here. The
// memory is made by the control thread with the first order and stays until the worker ends.
#ifndef UPFU_TRACE_H
#define UPFU_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/message.h"
#include "packet/worker_state.h"
#include "upf_abi.h"

#define TRACE_SNAP_MAX 2048u

// ---- the control thread's ----------------------------------------------------------------------

// Checks an order and makes the memory that it needs. Returns 0 or a positive errno.
int trace_prepare(struct worker *const *worker, unsigned workers, const struct upf_trace *order);
// The command that carries a prepared order to each of the workers.
struct command trace_command_of(struct worker *const *worker, const struct upf_trace *order);
// Copies whole records into out, as many as there is room for; returns their octets, and how many
// they are. They stay in the ring until trace_done() is told the same number of octets.
size_t trace_peek(const struct worker *w, uint8_t *out, size_t room, uint32_t *records);
void trace_done(struct worker *w, size_t octets);
bool trace_waiting(const struct worker *w);
void trace_free(struct worker *w);

// ---- the worker's ------------------------------------------------------------------------------

void trace_take_order(struct worker *w, const struct command *command);

void trace_burst_received(struct worker *w, const struct burst *b);
void trace_burst(struct worker *w, const struct burst *b, enum upf_stage stage);
void trace_frames_sent(struct worker *w, enum upf_port port, struct rte_mbuf *const *m, unsigned n);
void trace_buffered(struct worker *w, struct rte_mbuf *m);
void trace_shaped(struct worker *w, struct rte_mbuf *m);
void trace_dropped(struct worker *w, struct rte_mbuf *m, enum upf_drop reason);

static inline void
trace_rx(struct worker *w, const struct burst *b)
{
	if (unlikely(w->trace != NULL))
		trace_burst_received(w, b);
}

// Behind a stage: the packets that are still under way have passed it.
static inline void
trace_stage(struct worker *w, const struct burst *b, enum upf_stage stage)
{
	if (unlikely(w->trace != NULL))
		trace_burst(w, b, stage);
}

static inline void
trace_tx(struct worker *w, enum upf_port port, struct rte_mbuf *const *m, unsigned n)
{
	if (unlikely(w->trace != NULL))
		trace_frames_sent(w, port, m, n);
}

#endif
