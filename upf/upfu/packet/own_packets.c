#include "packet/own_packets.h"

#include <string.h>

#include "link/vlan.h"
#include "packet/drop.h"
#include "packet/packet.h"
#include "packet/worker_state.h"

void
own_packets_add(struct worker *w, enum upf_port n6, struct rte_mbuf *m)
{
	struct own_packets *own = &w->own;

	if (own->n == OWN_PACKETS_MAX) {
		worker_drop(w, n6, m, UPF_DROP_RATE_LIMITED);
		return;
	}
	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = w->port[n6].mac;
	vlan_mark(&w->port[n6], m);
	own->port[own->n] = n6;
	own->m[own->n++] = m;
}

unsigned
own_packets_take(struct worker *w, struct burst *b)
{
	struct own_packets *own = &w->own;
	unsigned n = own->n < BURST ? own->n : BURST;

	b->n = n;
	for (unsigned i = 0; i < n; i++) {
		b->pkt[i].m = own->m[i];
		b->pkt[i].port = (uint8_t)own->port[i];
		b->pkt[i].released = 0;
		b->live[i] = &b->pkt[i];
	}
	own->n -= n;
	memmove(own->m, own->m + n, own->n * sizeof(own->m[0]));
	memmove(own->port, own->port + n, own->n * sizeof(own->port[0]));
	return n;
}

void
own_packets_free(struct own_packets *own)
{
	for (unsigned i = 0; i < own->n; i++)
		rte_pktmbuf_free(own->m[i]);
	own->n = 0;
}
