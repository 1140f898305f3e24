#include "link/arp.h"

#include <rte_arp.h>

#include "link/gateways.h"
#include "link/hearsay.h"
#include "link/neigh.h"
#include "link/neigh_message.h"
#include "link/port.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"

static bool
arp_is_valid(const struct port *in, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)(eth + 1);

	if (rte_pktmbuf_data_len(m) < sizeof(*eth) + sizeof(*arp) ||
		arp->arp_hardware != rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) ||
		arp->arp_protocol != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
		arp->arp_hlen != RTE_ETHER_ADDR_LEN || arp->arp_plen != sizeof(rte_be32_t) ||
		(arp->arp_opcode != rte_cpu_to_be_16(RTE_ARP_OP_REQUEST) &&
			arp->arp_opcode != rte_cpu_to_be_16(RTE_ARP_OP_REPLY)))
		return false;
	// Our own frames come back on some links; a multicast MAC is nobody's.
	return !rte_is_same_ether_addr(&arp->arp_data.arp_sha, &in->mac) &&
		rte_is_unicast_ether_addr(&arp->arp_data.arp_sha) &&
		!port_owns(in, arp->arp_data.arp_sip);
}

// RFC 826: update whom we know; add who talks to us. Only who belongs on this link: other subnets'
// addresses do not. A gateway that answers is known before a packet has to go by it.
void
arp_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m)
{
	const struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(
		m, const struct rte_arp_hdr *, sizeof(struct rte_ether_hdr));
	const struct port *in = &w->port[port];
	rte_be32_t from = arp->arp_data.arp_sip;
	struct rte_ether_addr mac = arp->arp_data.arp_sha;

	bool add = arp->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REPLY)
		? gateways_heard4(w, port, from)
		: port_owns(in, arp->arp_data.arp_tip) &&
			(rte_be_to_cpu_32(from) & in->subnet_mask) == in->subnet;

	neigh_hear4(w, port, from, &mac, add);
}

int
arp_input(struct worker *w, enum upf_port port, struct rte_mbuf *m)
{
	const struct rte_arp_hdr *arp;
	struct upf_local_stats *local = &w->stats->local;

	if (!arp_is_valid(&w->port[port], m))
		return UPF_DROP_MALFORMED_ARP;
	arp = rte_pktmbuf_mtod_offset(m, const struct rte_arp_hdr *, sizeof(struct rte_ether_hdr));
	arp_hear(w, port, m);
	if (w->workers > 1)
		hearsay_pass(w, port, m);
	if (arp->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REQUEST)) {
		struct rte_ether_addr mac = arp->arp_data.arp_sha;

		shm_add(&local->arp_requests, 1);
		if (port_owns(&w->port[port], arp->arp_data.arp_tip))
			arp_send(w, port, RTE_ARP_OP_REPLY, &mac, arp->arp_data.arp_tip,
				arp->arp_data.arp_sip);
	} else {
		shm_add(&local->arp_replies, 1);
	}
	rte_pktmbuf_free(m);
	return PKT_TAKEN;
}
