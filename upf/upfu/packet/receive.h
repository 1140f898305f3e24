// A burst of frames from an interface.
#ifndef UPFU_RECEIVE_H
#define UPFU_RECEIVE_H

#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "packet/worker_state.h"
#include "process/shm.h"
#include "upf_abi.h"

// Of a device whose VLANs are several network instances: each frame is its VLAN's, or the device's own
// interface's, which will refuse it.
void receive_sort(struct worker *w, struct burst *b, enum upf_port device);

static inline void
worker_rx(struct worker *w, struct burst *b, enum upf_port port)
{
	struct upf_port_stats *stats = &w->stats->port[port];
	struct rte_mbuf *m[BURST];
	uint64_t bytes = 0;

	b->n = rte_eth_rx_burst(w->port[port].ethdev, (uint16_t)w->index, m, BURST);
	if (b->n == 0)
		return;
	for (unsigned i = 0; i < b->n; i++)
		rte_prefetch0(m[i]);
	for (unsigned i = 0; i < b->n; i++) {
		uint8_t *data = rte_pktmbuf_mtod(m[i], uint8_t *);

		rte_prefetch0(data);
		// In GTP-U the user's header lies across the second line; without, outer headers
		// will be written in front.
		if (port >= UPF_PORT_N6)
			rte_prefetch0_write(data - RTE_CACHE_LINE_SIZE);
		else
			rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
	}
	for (unsigned i = 0; i < b->n; i++) {
		b->pkt[i].m = m[i];
		b->pkt[i].port = (uint8_t)port;
		b->pkt[i].released = 0;
		b->pkt[i].ip6 = 0;
		b->live[i] = &b->pkt[i];
		bytes += rte_pktmbuf_pkt_len(m[i]);
	}
	if (unlikely(w->port[port].shared)) {
		receive_sort(w, b, port);
		return;
	}
	shm_add(&stats->rx_packets, b->n);
	shm_add(&stats->rx_bytes, bytes);
}

#endif
