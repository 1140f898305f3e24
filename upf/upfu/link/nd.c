#include "link/nd.h"

#include "link/gateways.h"
#include "link/hearsay.h"
#include "link/icmp6.h"
#include "link/neigh.h"
#include "link/neigh_message.h"
#include "link/port.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/shm.h"

// The link-layer address option of this kind; *mac stays when there is none. False: malformed options.
static bool
find_option(const uint8_t *icmp, uint16_t length, uint8_t kind, const struct rte_ether_addr **mac)
{
	uint32_t at = ND_FIXED;

	while (at < length) {
		uint32_t octets;

		if (at + 8 > length)
			return false;
		octets = (uint32_t)icmp[at + 1] * 8;
		if (octets == 0 || at + octets > length)
			return false;
		if (icmp[at] == kind)
			*mac = (const struct rte_ether_addr *)(const void *)(icmp + at + 2);
		at += octets;
	}
	return *mac == NULL || rte_is_unicast_ether_addr(*mac);
}

// RFC 4861 7.1.1, 7.1.2.
static bool
nd_is_valid(const struct ipv6_header *ip, const uint8_t *icmp, uint16_t length,
	const struct rte_ether_addr **mac)
{
	const struct nd_message *message = (const void *)icmp;
	bool ns = icmp[0] == ICMP6_NEIGHBOUR_SOLICITATION;

	*mac = NULL;
	if (ip->hop_limit != ND_HOP_LIMIT || length < ND_FIXED || message->code != 0 ||
		ipv6_is_multicast(message->target) ||
		!find_option(icmp, length, ns ? ND_OPTION_SOURCE : ND_OPTION_TARGET, mac))
		return false;
	if (ns)
		return !ipv6_is_multicast(ip->src) &&
			!(ipv6_is_unspecified(ip->src) &&
				(*mac != NULL || !ipv6_is_multicast(ip->dst)));
	return !ipv6_is_multicast(ip->src) && !ipv6_is_unspecified(ip->src) &&
		!(ipv6_is_multicast(ip->dst) && (message->flags & ND_NA_SOLICITED) != 0);
}

static bool
owns(const struct worker *w, enum upf_port port, const uint8_t *addr)
{
	upf_addr link_local;

	port_link_local(&w->port[port], link_local);
	return port_owns6(&w->port[port], addr) ||
		memcmp(addr, link_local, sizeof(link_local)) == 0;
}

static void
learn(struct worker *w, enum upf_port port, const struct ipv6_header *ip, const uint8_t *icmp,
	const struct rte_ether_addr *mac)
{
	const struct nd_message *message = (const void *)icmp;
	const struct port *in = &w->port[port];
	bool gateway;

	if (message->type == ICMP6_NEIGHBOUR_SOLICITATION) {
		// Who asks for us will be sent to; strangers to the link are not learnt.
		if (mac != NULL && owns(w, port, message->target) && !owns(w, port, ip->src) &&
			(prefix6_has(&in->subnet6, ip->src) || ipv6_is_link_local(ip->src)))
			neigh_hear6(w, port, ip->src, mac, true, true);
		return;
	}
	if (owns(w, port, message->target))
		return; // somebody else has our address: RFC 4862 leaves that to the operator
	gateway = (message->flags & ND_NA_SOLICITED) != 0 &&
		gateways_heard6(w, port, message->target);
	if (mac != NULL)
		neigh_hear6(w, port, message->target, mac, gateway,
			(message->flags & ND_NA_OVERRIDE) != 0);
	else if ((message->flags & ND_NA_SOLICITED) != 0)
		neigh_confirm6(w, port, message->target);
}

int
nd_input(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct ipv6_header *ip,
	const uint8_t *icmp, uint16_t length)
{
	const struct nd_message *message = (const void *)icmp;
	const struct rte_ether_addr *mac;

	if (!nd_is_valid(ip, icmp, length, &mac))
		return UPF_DROP_MALFORMED_ND;
	learn(w, port, ip, icmp, mac);
	if (w->workers > 1)
		hearsay_pass(w, port, m);
	if (message->type == ICMP6_NEIGHBOUR_SOLICITATION) {
		shm_add(&w->stats->local.nd_solicitations, 1);
		if (owns(w, port, message->target))
			nd_answer(w, port,
				&rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->src_addr, ip,
				message->target, mac);
	} else {
		shm_add(&w->stats->local.nd_advertisements, 1);
	}
	rte_pktmbuf_free(m);
	return PKT_TAKEN;
}

void
nd_hear(struct worker *w, enum upf_port port, const struct rte_mbuf *m)
{
	// nd_input() of another worker found it valid, without extension headers.
	const struct ipv6_header *ip = rte_pktmbuf_mtod_offset(
		m, const struct ipv6_header *, sizeof(struct rte_ether_hdr));
	const uint8_t *icmp = (const uint8_t *)(ip + 1);
	const struct rte_ether_addr *mac;

	if (nd_is_valid(ip, icmp, rte_be_to_cpu_16(ip->payload_len), &mac))
		learn(w, port, ip, icmp, mac);
}
