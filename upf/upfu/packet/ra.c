// The router's part of Neighbour Discovery towards UEs (RFC 4861 6.2; TS 29.061 11.2.1.3.2): inside
// the tunnel the UPF is the UE's only neighbour. A Router Solicitation is answered with the prefix of
// the PDU session, a Neighbour Solicitation for our own link-local address with an advertisement.
// These packets are of the link: no PDR matches them and no URR counts them.
#include "packet/ra.h"

#include "link/icmp6.h"
#include "link/port.h"
#include "packet/drop.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/rewrite.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/bucketmap.h"
#include "rules/session.h"

#define HOP_LIMIT 255u
#define RA_MANAGED 0x80u
#define RA_OTHER 0x40u
#define OPTION_PREFIX 3u
#define OPTION_MTU 5u
#define PREFIX_AUTONOMOUS 0x40u // and not on-link: the UE sends everything to us

struct router_advertisement { // RFC 4861 4.2, 4.6.2, 4.6.4
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	uint8_t hop_limit;
	uint8_t flags;
	rte_be16_t lifetime;
	rte_be32_t reachable, retransmit;
	uint8_t prefix_option, prefix_units;
	uint8_t prefix_len;
	uint8_t prefix_flags;
	rte_be32_t valid, preferred;
	rte_be32_t reserved;
	upf_addr prefix;
	uint8_t mtu_option, mtu_units; // from here on only with an MTU
	rte_be16_t reserved2;
	rte_be32_t mtu;
};
static_assert(sizeof(struct router_advertisement) == 16 + 32 + 8, "as on the wire");

struct neighbour_advertisement { // without an address of a link that has none
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	uint8_t flags;
	uint8_t reserved[3];
	upf_addr target;
};
static_assert(sizeof(struct neighbour_advertisement) == 24, "RFC 4861 4.4");

// The way to the UE: the PDR that takes what no filter asks for, else any with a tunnel.
static const struct pdr *
tunnel_of(const struct part *part)
{
	const struct pdr *found = NULL;

	for (unsigned i = 0; i < part->n_pdr; i++) {
		const struct pdr *pdr = &part->pdr[i];

		if ((pdr->action & UPF_FAR_FORW) == 0 ||
			(pdr->ohc != UPF_OHC_GTPU4 && pdr->ohc != UPF_OHC_GTPU6))
			continue;
		if ((pdr->flags & PDR_SDF) == 0)
			return pdr;
		if (found == NULL)
			found = pdr;
	}
	return found;
}

// Sends an ICMPv6 message from our link-local address through the tunnel of the session.
static void
send_to_ue(struct worker *w, const struct part *uplink, const uint8_t *to, void *message,
	uint16_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct pkt p = {
		.m = m, .ip6 = 1, .ip_len = (uint16_t)(sizeof(struct ipv6_header) + length)};
	uint32_t ref = session_find_ue6(w->sessions, (enum upf_port)uplink->n6, uplink->ue6);
	struct ipv6_header *ip;
	int verdict;

	if (m == NULL) {
		worker_count_drops(w, UPF_PORT_N3, uplink->group, UPF_DROP_NO_MBUF, 1);
		return;
	}
	if (ref != BUCKETMAP_NONE) {
		p.part = session_part(w->sessions, ref);
		p.pdr = tunnel_of(p.part);
	}
	if (p.pdr == NULL) {
		worker_drop_of(w, UPF_PORT_N3, uplink->group, m, UPF_DROP_FAR_NO_TUNNEL);
		return;
	}
	ip = (void *)rte_pktmbuf_append(m, p.ip_len);
	if (ip == NULL) {
		worker_drop_of(w, UPF_PORT_N3, uplink->group, m, UPF_DROP_NO_MBUF);
		return;
	}
	*ip = (struct ipv6_header){
		.version_class_flow = rte_cpu_to_be_32(UINT32_C(0x60000000)),
		.payload_len = rte_cpu_to_be_16(length),
		.next = IPV6_ICMP,
		.hop_limit = HOP_LIMIT,
	};
	port_link_local(&w->port[uplink->n6], ip->src);
	memcpy(ip->dst, to, sizeof(ip->dst));
	memcpy(ip + 1, message, length);
	((rte_be16_t *)(void *)(ip + 1))[1] =
		(rte_be16_t)~ipv6_upper_sum(ip, ip + 1, length, IPV6_ICMP);
	verdict = rewrite_packet(w, &p);
	if (verdict != PKT_TAKEN)
		worker_drop_of(w, UPF_PORT_N3, uplink->group, p.m, (enum upf_drop)verdict);
}

static void
advertise(struct worker *w, const struct part *part, const uint8_t *to)
{
	const struct config_router_advertisement *ra = &w->config->ra;
	rte_be64_t prefix = rte_cpu_to_be_64(part->ue6);
	struct router_advertisement message = {
		.type = ICMP6_ROUTER_ADVERTISEMENT,
		.hop_limit = 64,
		.flags = (uint8_t)((ra->managed ? RA_MANAGED : 0) | (ra->other ? RA_OTHER : 0)),
		.lifetime = rte_cpu_to_be_16((uint16_t)ra->lifetime_s),
		.prefix_option = OPTION_PREFIX,
		.prefix_units = 4,
		.prefix_len = 64, // of a shorter one the UE gets the first /64 for itself
		.prefix_flags = PREFIX_AUTONOMOUS,
		// As long as the session lives.
		.valid = UINT32_MAX,
		.preferred = UINT32_MAX,
		.mtu_option = OPTION_MTU,
		.mtu_units = 1,
		.mtu = rte_cpu_to_be_32(ra->mtu),
	};

	memcpy(message.prefix, &prefix, sizeof(prefix));
	shm_add(&w->stats->local.router_advertisements_sent, 1);
	send_to_ue(w, part, to, &message,
		ra->mtu != 0 ? sizeof(message) : offsetof(struct router_advertisement, mtu_option));
}

static void
answer_neighbour(
	struct worker *w, const struct part *part, const uint8_t *to, const uint8_t *target)
{
	struct neighbour_advertisement message = {
		.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
		.flags = 0xe0, // router, solicited, override
	};

	memcpy(message.target, target, sizeof(message.target));
	send_to_ue(w, part, to, &message, sizeof(message));
}

int
nd_from_ue(struct worker *w, struct pkt *p)
{
	static const upf_addr all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	const struct ipv6_header *ip = (const struct ipv6_header *)pkt_ip(p);
	const uint8_t *icmp = (const uint8_t *)ip + p->l4;
	uint16_t length = (uint16_t)(p->ip_len - p->l4);
	struct ipv6_chain chain;
	upf_addr link_local;

	if (p->proto != IPV6_ICMP || p->fragment != PKT_WHOLE || length < 8 ||
		(icmp[0] != ICMP6_ROUTER_SOLICITATION && icmp[0] != ICMP6_NEIGHBOUR_SOLICITATION) ||
		(p->part->flags & PART_UE_IPV6) == 0)
		return UPF_DROP_LINK_LOCAL;
	// RFC 6980 5: not even with the Fragment header of an atomic fragment.
	if (ip->hop_limit != HOP_LIMIT || icmp[1] != 0 || !ipv6_walk(ip, p->ip_len, &chain) ||
		chain.fragment != 0 || ipv6_upper_sum(ip, icmp, length, IPV6_ICMP) != 0xffff)
		return UPF_DROP_MALFORMED_ND;
	port_link_local(&w->port[p->part->n6], link_local);
	if (icmp[0] == ICMP6_ROUTER_SOLICITATION) {
		shm_add(&w->stats->local.router_solicitations, 1);
		advertise(w, p->part, ipv6_is_unspecified(ip->src) ? all_nodes : ip->src);
	} else {
		// Its search for doubles (RFC 4862 5.4) has nobody to find: TS 29.061 lets us drop it.
		if (length < sizeof(struct neighbour_advertisement) ||
			ipv6_is_unspecified(ip->src) ||
			memcmp(icmp + 8, link_local, sizeof(link_local)) != 0)
			return UPF_DROP_LINK_LOCAL;
		shm_add(&w->stats->local.nd_solicitations, 1);
		answer_neighbour(w, p->part, ip->src, link_local);
	}
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}
