#include "packet/send.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "link/vlan.h"
#include "packet/departure.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// Of a upf-u that is silent (silence.h).
static void
drop_batch(struct worker *w, enum upf_port port)
{
	struct tx_batch *tx = &w->tx[port];

	for (unsigned i = 0; i < tx->n; i++)
		departure_drop(w, port, tx->m[i], tx->pdr[i], UPF_DROP_SILENT);
	tx->n = 0;
}

void
worker_flush(struct worker *w, enum upf_port port)
{
	struct upf_port_stats *stats = &w->stats->port[port];
	struct tx_batch *tx = &w->tx[port];
	uint64_t bytes = 0;
	unsigned sent;

	// Relaxed: as silence_is_over().
	if (unlikely(w->granted_until != NULL) &&
		rte_rdtsc() >= __atomic_load_n(w->granted_until, __ATOMIC_RELAXED)) {
		drop_batch(w, port);
		return;
	}
	for (unsigned i = 0; i < tx->n; i++)
		bytes += rte_pktmbuf_pkt_len(tx->m[i]);
	trace_tx(w, port, tx->m, tx->n);
	sent = rte_eth_tx_burst(w->port[port].ethdev, (uint16_t)w->index, tx->m, (uint16_t)tx->n);
	for (unsigned i = sent; i < tx->n; i++) {
		bytes -= rte_pktmbuf_pkt_len(tx->m[i]);
		departure_drop(w, port, tx->m[i], tx->pdr[i], UPF_DROP_TX_FULL);
	}
	tx->n = 0;
	shm_add(&stats->tx_packets, sent);
	shm_add(&stats->tx_bytes, bytes);
}

void
worker_send_tagged(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	if (vlan_push(&w->port[port], m))
		worker_queue(w, port, m, pdr);
	else
		departure_drop(w, port, m, pdr, UPF_DROP_NO_MBUF);
}
