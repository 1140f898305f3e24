// Frames on their way out: queued by interface, sent when the batch is full or the poll ends. What the
// driver does not take is dropped (departure.h).
#ifndef UPFU_SEND_H
#define UPFU_SEND_H

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "packet/worker_state.h"
#include "upf_abi.h"

struct pdr;

// Sends what is queued, which is something.
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
