#include "packet/mss.h"

#include <rte_tcp.h>

#include "packet/ipv6.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MSS 2

uint16_t
mss_room(const struct config *config)
{
	static const enum upf_port gtpu[] = {UPF_PORT_N3, UPF_PORT_N9};
	uint16_t room = UINT16_MAX;

	if (!config->mss_clamp)
		return 0;
	for (unsigned i = 0; i < config->networks; i++)
		room = RTE_MIN(room, config->interface[config_port_of(i)].mtu);
	for (unsigned i = 0; i < sizeof(gtpu) / sizeof(gtpu[0]); i++) {
		const struct config_interface *in = &config->interface[gtpu[i]];
		uint16_t overhead = sizeof(struct outer_gtpu4);

		if (in->block_len6 != 0)
			overhead += sizeof(struct ipv6_header) - sizeof(struct rte_ipv4_hdr);
		if ((in->block_len != 0 || in->block_len6 != 0) && in->mtu - overhead < room)
			room = (uint16_t)(in->mtu - overhead);
	}
	return room;
}

// The MSS option of a TCP header of `length` octets; NULL: there is none.
static uint8_t *
find_option(uint8_t *tcp, uint32_t length)
{
	uint32_t at = sizeof(struct rte_tcp_hdr);

	while (at + 4 <= length && tcp[at] != OPTION_END) {
		if (tcp[at] == OPTION_NOP) {
			at++;
			continue;
		}
		if (tcp[at] == OPTION_MSS)
			return tcp[at + 1] == 4 ? tcp + at : NULL;
		if (tcp[at + 1] < 2)
			return NULL;
		at += tcp[at + 1];
	}
	return NULL;
}

void
mss_clamp(struct worker *w, const struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	uint16_t l4 = p->ip6 ? p->l4 : rte_ipv4_hdr_len(ip);
	uint8_t proto = p->ip6 ? p->proto : ip->next_proto_id;
	uint16_t most = (uint16_t)(w->mss_room - sizeof(struct rte_tcp_hdr) -
		(p->ip6 ? sizeof(struct ipv6_header) : sizeof(struct rte_ipv4_hdr)));
	struct rte_tcp_hdr *tcp;
	uint32_t header, sum;
	uint16_t given, old, new;
	uint8_t *option;

	if (proto != IPPROTO_TCP || p->fragment == PKT_LATER || l4 + sizeof(*tcp) > p->ip_len)
		return;
	tcp = (struct rte_tcp_hdr *)((uint8_t *)(uintptr_t)ip + l4);
	header = (uint32_t)(tcp->data_off >> 4) * 4;
	if ((tcp->tcp_flags & RTE_TCP_SYN_FLAG) == 0 || l4 + header > p->ip_len)
		return;
	option = find_option((uint8_t *)tcp, header);
	if (option == NULL)
		return;
	given = (uint16_t)(option[2] << 8 | option[3]);
	if (given <= most)
		return;
	option[2] = (uint8_t)(most >> 8);
	option[3] = (uint8_t)most;
	// RFC 1624: HC' = ~(~HC + ~m + m'). At an odd offset the octets stand in the other halves.
	old = given;
	new = most;
	if (((option - (uint8_t *)tcp) & 1) != 0) {
		old = rte_bswap16(old);
		new = rte_bswap16(new);
	}
	sum = (uint16_t)~rte_be_to_cpu_16(tcp->cksum);
	sum += (uint16_t)~old;
	sum += new;
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	tcp->cksum = rte_cpu_to_be_16((uint16_t)~sum);
	shm_add(&w->stats->local.mss_clamped, 1);
}
