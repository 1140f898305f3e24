// ICMP echo to the UPF's own addresses (RFC 792), so that a site can see that a link works.
#include <rte_icmp.h>

#include "shm.h"
#include "stages.h"

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
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
	eth->dst_addr = eth->src_addr;
	eth->src_addr = w->port[port].mac;
	shm_add(&w->stats->local.icmp_echo, 1);
	worker_send(w, port, m);
	return PKT_TAKEN;
}
