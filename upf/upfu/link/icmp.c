// ICMP and ICMPv6 echo to the UPF's own addresses (RFC 792, RFC 4443 4), so that a site can see that a
// link works.
#include "link/icmp.h"

#include <rte_icmp.h>

#include "link/icmp6.h"
#include "link/nd.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/send.h"
#include "packet/worker_state.h"
#include "process/shm.h"

#define ECHO_REPLY 0 // RFC 792; DPDK changed its own names between releases
#define ECHO_REQUEST 8

int
icmp_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, uint16_t ip_len)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_icmp_hdr *icmp = (struct rte_icmp_hdr *)((uint8_t *)ip + rte_ipv4_hdr_len(ip));
	rte_be32_t from = ip->src_addr;
	uint32_t sum;

	if (ip_len < rte_ipv4_hdr_len(ip) + sizeof(*icmp))
		return UPF_DROP_MALFORMED_IP;
	if (icmp->icmp_type != ECHO_REQUEST || icmp->icmp_code != 0)
		return UPF_DROP_UNKNOWN_PORT;
	icmp->icmp_type = ECHO_REPLY;
	// The type was 8 in the high octet of the first word (RFC 1624).
	sum = (uint32_t)icmp->icmp_cksum + rte_cpu_to_be_16(ECHO_REQUEST << 8);
	icmp->icmp_cksum = (rte_be16_t)(sum + (sum >> 16));
	ip->src_addr = ip->dst_addr;
	ip->dst_addr = from;
	ip->time_to_live = 64;
	ip->fragment_offset = 0;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
	eth->dst_addr = eth->src_addr;
	eth->src_addr = w->port[port].mac;
	shm_add(&w->stats->local.icmp_echo, 1);
	worker_send(w, port, m);
	return PKT_TAKEN;
}

static int
echo6(struct worker *w, struct rte_mbuf *m, enum upf_port port, uint8_t *icmp, uint16_t length)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct ipv6_header *ip = (struct ipv6_header *)(eth + 1);
	rte_be16_t *sum = (rte_be16_t *)(void *)(icmp + 2);
	upf_addr from;

	// To a group (RFC 4443 4.2 lets us), or from nobody: not answered.
	if (ipv6_is_multicast(ip->dst) || ipv6_is_unspecified(ip->src) ||
		(const uint8_t *)(ip + 1) != icmp)
		return UPF_DROP_UNKNOWN_PORT;
	memcpy(from, ip->src, sizeof(from));
	memcpy(ip->src, ip->dst, sizeof(ip->src));
	memcpy(ip->dst, from, sizeof(ip->dst));
	ip->hop_limit = 64;
	icmp[0] = ICMP6_ECHO_REPLY;
	*sum = 0;
	*sum = (rte_be16_t)~ipv6_upper_sum(ip, icmp, length, IPV6_ICMP);
	eth->dst_addr = eth->src_addr;
	eth->src_addr = w->port[port].mac;
	shm_add(&w->stats->local.icmp_echo, 1);
	worker_send(w, port, m);
	return PKT_TAKEN;
}

int
icmp6_input(struct worker *w, struct rte_mbuf *m, enum upf_port port, const uint8_t *icmp,
	uint16_t length)
{
	const struct ipv6_header *ip =
		rte_pktmbuf_mtod_offset(m, const struct ipv6_header *, RTE_ETHER_HDR_LEN);

	if (length < 8 || ipv6_upper_sum(ip, icmp, length, IPV6_ICMP) != 0xffff)
		return UPF_DROP_MALFORMED_IP;
	switch (icmp[0]) {
	case ICMP6_ECHO_REQUEST:
		return icmp[1] == 0 ? echo6(w, m, port, (uint8_t *)(uintptr_t)icmp, length)
				    : UPF_DROP_UNKNOWN_PORT;
	case ICMP6_NEIGHBOUR_SOLICITATION:
	case ICMP6_NEIGHBOUR_ADVERTISEMENT:
		// Behind extension headers Neighbour Discovery is nothing that a neighbour sends.
		return (const uint8_t *)(ip + 1) == icmp ? nd_input(w, port, m, ip, icmp, length)
							 : UPF_DROP_MALFORMED_ND;
	default:
		return ipv6_is_multicast(ip->dst) ? UPF_DROP_NOT_FOR_US : UPF_DROP_UNKNOWN_PORT;
	}
}
