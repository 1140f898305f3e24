// GTP-U packets as they come in, the signalling messages among them, and the outer headers that go
// in front of what leaves into a tunnel (TS 29.281).
#include "gtpu.h"

#include <string.h>

#include "shm.h"
#include "stages.h"

// Extension header types that a receiver may skip without knowing them have the high bit clear;
// of the others these are known to be harmless to skip here (TS 29.281 5.2.1, figure 5.2.1-3).
static bool
extension_may_be_skipped(uint8_t type)
{
	return (type & 0x80) == 0 || (type >= 0x81 && type <= 0x84) || type == 0xc0;
}

// Walks the extension headers behind the optional word. Returns the drop reason, or PKT_NEXT with
// *at behind the last of them.
static int
walk_extensions(struct pkt *p, const uint8_t *header, uint32_t *at, uint32_t end, uint8_t next)
{
	while (next != 0) {
		uint32_t units, octets;

		if (*at + 4 > end)
			return UPF_DROP_MALFORMED_GTPU;
		units = header[*at];
		octets = units * 4;
		if (units == 0 || *at + octets > end)
			return UPF_DROP_MALFORMED_GTPU;
		if (next == GTPU_EXT_PDU_SESSION_CONTAINER)
			p->qfi = header[*at + 2] & 0x3f; // TS 38.415 5.5.2
		else if (!extension_may_be_skipped(next))
			return UPF_DROP_UNSUPPORTED_GTPU;
		next = header[*at + octets - 1];
		*at += octets;
	}
	return PKT_NEXT;
}

// Sends the UDP datagram in m back to where it came from; ip_payload: octets behind the IP header.
static int
answer(struct worker *w, struct rte_mbuf *m, uint16_t payload)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	rte_be32_t to = ip->src_addr;
	rte_be16_t to_port = udp->src_port;

	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + sizeof(*udp) + payload)),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = ip->dst_addr,
		.dst_addr = to,
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	*udp = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16(GTPU_PORT),
		.dst_port = to_port,
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*udp) + payload)),
	};
	eth->dst_addr = eth->src_addr;
	eth->src_addr = w->port[UPF_PORT_N3].mac;
	worker_send(w, UPF_PORT_N3, m);
	return PKT_TAKEN;
}

// Makes the frame hold exactly an IPv4 header without options, UDP and payload octets.
static bool
resize_for_answer(struct rte_mbuf *m, uint16_t payload)
{
	uint16_t want = (uint16_t)(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) +
		sizeof(struct rte_udp_hdr) + payload);
	uint16_t have = rte_pktmbuf_data_len(m);

	if (have < want)
		return rte_pktmbuf_append(m, (uint16_t)(want - have)) != NULL;
	rte_pktmbuf_trim(m, (uint16_t)(have - want));
	return true;
}

static uint8_t *
answer_payload(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, uint8_t *,
		sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) +
			sizeof(struct rte_udp_hdr));
}

// TS 29.281 7.2.2: the same sequence number, and a Recovery that a receiver ignores.
static int
answer_echo(struct worker *w, struct rte_mbuf *m, const struct rte_gtp_hdr *gtp)
{
	struct echo {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
		uint8_t recovery[2];
	} __attribute__((packed)) echo = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1 | GTPU_FLAG_S,
				.msg_type = GTPU_ECHO_RESPONSE,
				.plen = rte_cpu_to_be_16(sizeof(echo) - sizeof(echo.gtp)),
			},
		.recovery = {GTPU_IE_RECOVERY, 0},
	};

	if ((gtp->gtp_hdr_info & GTPU_FLAG_S) != 0)
		memcpy(&echo.word.sqn, gtp + 1, sizeof(echo.word.sqn));
	shm_add(&w->stats->local.gtpu_echo_requests, 1);
	if (!resize_for_answer(m, sizeof(echo)))
		return UPF_DROP_NO_MBUF;
	memcpy(answer_payload(m), &echo, sizeof(echo));
	return answer(w, m, sizeof(echo));
}

// TS 29.281 7.3.1: the peer has no tunnel with this TEID at its address.
static int
take_error_indication(struct worker *w, struct rte_mbuf *m, const uint8_t *ie, uint32_t len)
{
	struct event event = {
		.error_ind = {
			.rec = {.type = UPF_REC_EV_ERROR_IND, .length = sizeof(event.error_ind)},
			.ohc = UPF_OHC_GTPU4,
		}};
	bool has_teid = false, has_peer = false;

	shm_add(&w->stats->local.error_indications_received, 1);
	while (len > 0 && !(has_teid && has_peer)) {
		uint32_t octets;

		if (ie[0] < 128) { // type-value, TS 29.281 8.1
			octets = ie[0] == GTPU_IE_TEID_DATA_I ? 5
				: ie[0] == GTPU_IE_RECOVERY   ? 2
							      : 0;
			if (octets == 0 || octets > len)
				return UPF_DROP_MALFORMED_GTPU;
			if (ie[0] == GTPU_IE_TEID_DATA_I) {
				event.error_ind.teid = (uint32_t)ie[1] << 24 |
					(uint32_t)ie[2] << 16 | (uint32_t)ie[3] << 8 | ie[4];
				has_teid = true;
			}
		} else {
			if (len < 3)
				return UPF_DROP_MALFORMED_GTPU;
			octets = 3 + ((uint32_t)ie[1] << 8 | ie[2]);
			if (octets > len)
				return UPF_DROP_MALFORMED_GTPU;
			if (ie[0] == GTPU_IE_PEER_ADDRESS && octets == 7) {
				memcpy(event.error_ind.peer_addr, ie + 3, 4);
				has_peer = true;
			}
		}
		ie += octets;
		len -= octets;
	}
	if (!has_teid || !has_peer)
		return UPF_DROP_MALFORMED_GTPU;
	if (!worker_raise(w, &event))
		return UPF_DROP_RATE_LIMITED;
	rte_pktmbuf_free(m);
	return PKT_TAKEN;
}

int
gtpu_input(struct worker *w, struct pkt *p, struct rte_ipv4_hdr *ip, uint16_t ip_len)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)((uint8_t *)ip + rte_ipv4_hdr_len(ip));
	struct rte_gtp_hdr *gtp = (struct rte_gtp_hdr *)(udp + 1);
	uint32_t udp_room = ip_len - rte_ipv4_hdr_len(ip);
	uint32_t at = sizeof(*gtp), end;
	uint8_t flags;

	if (unlikely(udp_room < sizeof(*udp) || rte_be_to_cpu_16(udp->dgram_len) > udp_room ||
		    rte_be_to_cpu_16(udp->dgram_len) < sizeof(*udp)))
		return UPF_DROP_MALFORMED_IP;
	if (unlikely(udp->dst_port != rte_cpu_to_be_16(GTPU_PORT))) {
		// Answers to us come to any port; ours all leave from GTP-U's.
		return UPF_DROP_UNKNOWN_PORT;
	}
	if (unlikely(rte_be_to_cpu_16(udp->dgram_len) < sizeof(*udp) + sizeof(*gtp)))
		return UPF_DROP_MALFORMED_GTPU;
	flags = gtp->gtp_hdr_info;
	end = sizeof(*gtp) + rte_be_to_cpu_16(gtp->plen);
	if (unlikely((flags & 0xf0) != GTPU_VERSION_1 ||
		    end > rte_be_to_cpu_16(udp->dgram_len) - sizeof(*udp)))
		return UPF_DROP_MALFORMED_GTPU;
	p->qfi = 0;
	if ((flags & (GTPU_FLAG_E | GTPU_FLAG_S | GTPU_FLAG_PN)) != 0) {
		const struct rte_gtp_hdr_ext_word *word = (const void *)(gtp + 1);
		int verdict = PKT_NEXT;

		at += sizeof(*word);
		if (unlikely(at > end))
			return UPF_DROP_MALFORMED_GTPU;
		if ((flags & GTPU_FLAG_E) != 0)
			verdict =
				walk_extensions(p, (const uint8_t *)gtp, &at, end, word->next_ext);
		if (unlikely(verdict != PKT_NEXT))
			return verdict;
	}
	p->ip = (uint16_t)((uint8_t *)gtp + at - rte_pktmbuf_mtod(p->m, uint8_t *));
	if (likely(gtp->msg_type == GTPU_G_PDU)) {
		// Behind the G-PDU nothing is the user's.
		rte_pktmbuf_trim(
			p->m, (uint16_t)(ip_len - rte_ipv4_hdr_len(ip) - sizeof(*udp) - end));
		p->tunnel = 1;
		p->key = n3_key(ip->dst_addr, rte_be_to_cpu_32(gtp->teid));
		return PKT_NEXT;
	}
	switch (gtp->msg_type) {
	case GTPU_ECHO_REQUEST:
		return answer_echo(w, p->m, gtp);
	case GTPU_ECHO_RESPONSE:
		shm_add(&w->stats->local.gtpu_echo_responses, 1);
		break;
	case GTPU_ERROR_INDICATION:
		return take_error_indication(w, p->m, (const uint8_t *)gtp + at, end - at);
	case GTPU_END_MARKER:
		shm_add(&w->stats->local.end_markers_received, 1);
		break;
	default:
		return UPF_DROP_UNSUPPORTED_GTPU;
	}
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}

// TS 29.281 7.3.1: tell the sender of a G-PDU that there is no such tunnel, within a rate that no
// sender can turn into a load. The packet itself becomes the answer.
int
gtpu_unknown_teid(struct worker *w, struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	struct rte_gtp_hdr *gtp = (struct rte_gtp_hdr *)((uint8_t *)ip + rte_ipv4_hdr_len(ip) +
		sizeof(struct rte_udp_hdr));
	struct error_indication {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
		uint8_t teid_type;
		rte_be32_t teid;
		uint8_t address_type;
		rte_be16_t address_len;
		rte_be32_t address;
	} __attribute__((packed)) error = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1 | GTPU_FLAG_S,
				.msg_type = GTPU_ERROR_INDICATION,
				.plen = rte_cpu_to_be_16(sizeof(error) - sizeof(error.gtp)),
			},
		.teid_type = GTPU_IE_TEID_DATA_I,
		.teid = gtp->teid,
		.address_type = GTPU_IE_PEER_ADDRESS,
		.address_len = rte_cpu_to_be_16(4),
		.address = ip->dst_addr,
	};

	if (w->error_cost == 0 || w->error_tat > w->now + w->tsc_hz / 10)
		return UPF_DROP_RATE_LIMITED;
	w->error_tat = (w->error_tat > w->now ? w->error_tat : w->now) + w->error_cost;
	if (!resize_for_answer(m, sizeof(error)))
		return UPF_DROP_NO_MBUF;
	memcpy(answer_payload(m), &error, sizeof(error));
	// 4.4.2.4: to the GTP-U port, wherever the G-PDU came from.
	((struct rte_udp_hdr *)(ip + 1))->src_port = rte_cpu_to_be_16(GTPU_PORT);
	shm_add(&w->stats->local.error_indications_sent, 1);
	shm_add(&w->stats->drops[UPF_DROP_UNKNOWN_TEID], 1);
	return answer(w, m, sizeof(error));
}

static void
fill_outer_ip(struct gtpu_outer *outer, rte_be32_t from, rte_be32_t to, uint16_t to_port,
	uint8_t tos, uint16_t length)
{
	outer->ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = tos,
		.total_length = rte_cpu_to_be_16(length),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = from,
		.dst_addr = to,
	};
	outer->ip.hdr_checksum = rte_ipv4_cksum(&outer->ip);
	// TS 29.281 4.4.2: over IPv4 the UDP checksum may be zero.
	outer->udp = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16(GTPU_PORT),
		.dst_port = rte_cpu_to_be_16(to_port),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(length - sizeof(struct rte_ipv4_hdr))),
	};
}

bool
gtpu_encapsulate(struct pkt *p, uint16_t ip_len)
{
	const struct pdr *pdr = p->pdr;
	uint8_t qfi = pdr->out_qfi != 0 ? pdr->out_qfi : p->qfi;
	uint16_t overhead = qfi != 0 ? sizeof(struct gtpu_outer) : GTPU_OVERHEAD_PLAIN;
	struct gtpu_outer *outer = (struct gtpu_outer *)(void *)rte_pktmbuf_prepend(p->m, overhead);

	if (unlikely(outer == NULL))
		return false;
	fill_outer_ip(outer, pdr->local_addr, pdr->peer_addr, pdr->peer_port, pdr->tos,
		(uint16_t)(ip_len + overhead));
	outer->gtp.gtp_hdr_info = qfi != 0 ? GTPU_VERSION_1 | GTPU_FLAG_E : GTPU_VERSION_1;
	outer->gtp.msg_type = GTPU_G_PDU;
	outer->gtp.plen = rte_cpu_to_be_16((uint16_t)(ip_len + overhead - GTPU_OVERHEAD_PLAIN));
	outer->gtp.teid = pdr->out_teid;
	if (qfi != 0) {
		outer->word = (struct rte_gtp_hdr_ext_word){
			.next_ext = GTPU_EXT_PDU_SESSION_CONTAINER,
		};
		outer->psc = (struct gtpu_psc){
			.units = 1,
			.type = pdr->direction == UPF_UL ? 0x10 : 0x00,
			.qfi = qfi,
		};
	}
	return true;
}

// TS 29.281 5.1: no payload, no optional fields.
void
gtpu_send_end_marker(struct worker *w, const struct command *command)
{
	struct port *port = &w->port[UPF_PORT_N3];
	rte_be32_t next_hop = port_next_hop(port, command->peer_addr);
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct rte_ether_hdr *eth;
	struct gtpu_outer *outer;

	if (m == NULL) {
		shm_add(&w->stats->drops[UPF_DROP_NO_MBUF], 1);
		return;
	}
	if (next_hop == 0) {
		worker_drop(w, m, UPF_DROP_NO_ROUTE);
		return;
	}
	eth = (void *)rte_pktmbuf_append(m, sizeof(*eth) + GTPU_OVERHEAD_PLAIN);
	if (eth == NULL) {
		worker_drop(w, m, UPF_DROP_NO_MBUF);
		return;
	}
	outer = (struct gtpu_outer *)(eth + 1);
	eth->src_addr = port->mac;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	fill_outer_ip(outer, command->local_addr, command->peer_addr, command->peer_port, 0,
		GTPU_OVERHEAD_PLAIN);
	outer->gtp = (struct rte_gtp_hdr){
		.gtp_hdr_info = GTPU_VERSION_1,
		.msg_type = GTPU_END_MARKER,
		.teid = rte_cpu_to_be_32(command->teid),
	};
	shm_add(&w->stats->local.end_markers_sent, 1);
	neigh_send(w, UPF_PORT_N3, m, next_hop);
}
