#include "packet/own_packets.h"

#include <string.h>

#include "link/vlan.h"
#include "packet/drop.h"
#include "packet/packet.h"
#include "packet/worker_state.h"

void
own_packets_add(struct worker *w, struct rte_mbuf *m)
{
	struct own_packets *own = &w->own;

	if (own->n == OWN_PACKETS_MAX) {
		worker_drop(w, UPF_PORT_N6, m, UPF_DROP_RATE_LIMITED);
		return;
	}
	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = w->port[UPF_PORT_N6].mac;
	vlan_mark(&w->port[UPF_PORT_N6], m);
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
		b->pkt[i].released = 0;
		b->live[i] = &b->pkt[i];
	}
	own->n -= n;
	memmove(own->m, own->m + n, own->n * sizeof(own->m[0]));
	return n;
}

void
own_packets_free(struct own_packets *own)
{
	for (unsigned i = 0; i < own->n; i++)
		rte_pktmbuf_free(own->m[i]);
	own->n = 0;
}
