#include "link/nd.h"

#include "packet/handoff.h"
#include "packet/ipv6.h"
#include "packet/worker.h"
#include "process/shm.h"

#define HOP_LIMIT 255u // RFC 4861 7.1: nobody off the link can send this

#define OPTION_SOURCE 1u // link-layer address
#define OPTION_TARGET 2u

#define NA_ROUTER 0x80u
#define NA_SOLICITED 0x40u
#define NA_OVERRIDE 0x20u

struct nd_message { // NS and NA with one link-layer address option
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	uint8_t flags;
	uint8_t reserved[3];
	upf_addr target;
	uint8_t option;
	uint8_t units;
	struct rte_ether_addr mac;
};
static_assert(sizeof(struct nd_message) == 32, "RFC 4861 4.3, 4.4");
#define ND_FIXED offsetof(struct nd_message, option)

static const upf_addr all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

// RFC 4291 2.7.1.
static void
solicited_node(const uint8_t *addr, upf_addr group)
{
	const upf_addr made = {
		0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, addr[13], addr[14], addr[15]};

	memcpy(group, made, sizeof(made));
}

// RFC 2464 7.
static struct rte_ether_addr
multicast_mac(const uint8_t *group)
{
	return (struct rte_ether_addr){{0x33, 0x33, group[12], group[13], group[14], group[15]}};
}

static void
nd_send(struct worker *w, enum upf_port port, const struct rte_ether_addr *to_mac,
	const uint8_t *from, const uint8_t *to, struct nd_message *message)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct ipv6_header *ip;
	struct rte_ether_hdr *eth;

	if (m == NULL) {
		worker_count_drops(w, port, 0, UPF_DROP_NO_MBUF, 1);
		return;
	}
	eth = (void *)rte_pktmbuf_append(m, sizeof(*eth) + sizeof(*ip) + sizeof(*message));
	if (eth == NULL) {
		worker_drop(w, port, m, UPF_DROP_NO_MBUF);
		return;
	}
	eth->dst_addr = *to_mac;
	eth->src_addr = w->port[port].mac;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
	ip = (struct ipv6_header *)(eth + 1);
	*ip = (struct ipv6_header){
		.version_class_flow =
			rte_cpu_to_be_32(UINT32_C(0x60000000) | (uint32_t)w->port[port].tos << 20),
		.payload_len = rte_cpu_to_be_16(sizeof(*message)),
		.next = IPV6_ICMP,
		.hop_limit = HOP_LIMIT,
	};
	memcpy(ip->src, from, sizeof(ip->src));
	memcpy(ip->dst, to, sizeof(ip->dst));
	message->units = 1;
	message->mac = w->port[port].mac;
	message->checksum = 0;
	message->checksum = (rte_be16_t)~ipv6_upper_sum(ip, message, sizeof(*message), IPV6_ICMP);
	memcpy(ip + 1, message, sizeof(*message));
	worker_send(w, port, m);
}

void
nd_solicit(
	struct worker *w, enum upf_port port, const uint8_t *addr, const struct rte_ether_addr *to)
{
	struct nd_message message = {.type = ICMP6_NEIGHBOUR_SOLICITATION, .option = OPTION_SOURCE};
	struct rte_ether_addr mac;
	upf_addr from, group;

	memcpy(from, w->port[port].address6, sizeof(from));
	if (ipv6_is_link_local(addr))
		port_link_local(&w->port[port], from);
	memcpy(message.target, addr, sizeof(message.target));
	solicited_node(addr, group);
	mac = to != NULL ? *to : multicast_mac(group);
	nd_send(w, port, &mac, from, to != NULL ? addr : group, &message);
}

void
nd_announce(struct worker *w, enum upf_port port, unsigned max)
{
	const struct port *in = &w->port[port];
	struct rte_ether_addr mac = multicast_mac(all_nodes);
	upf_addr addr;

	memcpy(addr, in->address6, sizeof(addr));
	for (unsigned i = 0; i < max && prefix6_has(&in->own6, addr); i++) {
		struct nd_message message = {
			.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
			.flags = NA_OVERRIDE,
			.option = OPTION_TARGET,
		};

		memcpy(message.target, addr, sizeof(addr));
		nd_send(w, port, &mac, addr, all_nodes, &message);
		// The next address; blocks end within the last two octets (config.h).
		if (++addr[15] == 0 && ++addr[14] == 0)
			break;
	}
}

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
	if (ip->hop_limit != HOP_LIMIT || length < ND_FIXED || message->code != 0 ||
		ipv6_is_multicast(message->target) ||
		!find_option(icmp, length, ns ? OPTION_SOURCE : OPTION_TARGET, mac))
		return false;
	if (ns)
		return !ipv6_is_multicast(ip->src) &&
			!(ipv6_is_unspecified(ip->src) &&
				(*mac != NULL || !ipv6_is_multicast(ip->dst)));
	return !ipv6_is_multicast(ip->src) && !ipv6_is_unspecified(ip->src) &&
		!(ipv6_is_multicast(ip->dst) && (message->flags & NA_SOLICITED) != 0);
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

	if (message->type == ICMP6_NEIGHBOUR_SOLICITATION) {
		// Who asks for us will be sent to; strangers to the link are not learnt.
		if (mac != NULL && owns(w, port, message->target) && !owns(w, port, ip->src) &&
			(prefix6_has(&in->subnet6, ip->src) || ipv6_is_link_local(ip->src)))
			neigh_hear6(w, port, ip->src, mac, true, true);
		return;
	}
	if (owns(w, port, message->target))
		return; // somebody else has our address: RFC 4862 leaves that to the operator
	if (mac != NULL)
		neigh_hear6(
			w, port, message->target, mac, false, (message->flags & NA_OVERRIDE) != 0);
	else if ((message->flags & NA_SOLICITED) != 0)
		neigh_confirm6(w, port, message->target);
}

static void
answer(struct worker *w, enum upf_port port, const struct rte_mbuf *m, const struct ipv6_header *ip,
	const uint8_t *target, const struct rte_ether_addr *mac)
{
	struct nd_message message = {
		.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
		.flags = NA_SOLICITED | NA_OVERRIDE,
		.option = OPTION_TARGET,
	};
	struct rte_ether_addr to =
		mac != NULL ? *mac : rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->src_addr;
	const uint8_t *to_addr = ip->src;

	memcpy(message.target, target, sizeof(message.target));
	if (ipv6_is_unspecified(
		    ip->src)) { // somebody wants to take the address: everybody hears no
		message.flags = NA_OVERRIDE;
		to_addr = all_nodes;
		to = multicast_mac(all_nodes);
	}
	nd_send(w, port, &to, target, to_addr, &message);
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
		handoff_arp(w, port, m);
	if (message->type == ICMP6_NEIGHBOUR_SOLICITATION) {
		shm_add(&w->stats->local.nd_solicitations, 1);
		if (owns(w, port, message->target))
			answer(w, port, m, ip, message->target, mac);
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
