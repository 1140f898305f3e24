#include "packet/receive.h"

#include "link/vlan.h"

void
receive_sort(struct worker *w, struct burst *b, enum upf_port device)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct pkt *p = &b->pkt[i];
		uint16_t vlan = vlan_of(p->m);
		enum upf_port port = device;

		while (port < w->ports &&
			(w->port[port].ethdev != w->port[device].ethdev ||
				w->port[port].vlan != vlan))
			port++;
		p->port = (uint8_t)(port < w->ports ? port : device);
		shm_add(&w->stats->port[p->port].rx_packets, 1);
		shm_add(&w->stats->port[p->port].rx_bytes, rte_pktmbuf_pkt_len(p->m));
	}
}
