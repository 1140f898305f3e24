// GTP-U packets as they come in, the signalling messages among them, and the outer headers that go
// in front of what leaves into a tunnel (TS 29.281).
#include "packet/gtpu.h"

#include <string.h>

#include "link/neigh.h"
#include "link/port.h"
#include "packet/drop.h"
#include "packet/events.h"
#include "packet/gtpu_header.h"
#include "packet/ipv6.h"
#include "packet/message.h"
#include "packet/packet.h"
#include "packet/send.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"

// ---- extension headers -------------------------------------------------------------------------

// Those that say nothing to a UPF, but must not stop a packet: between RAN nodes they mean something.
static bool
extension_is_known(uint8_t type)
{
	return type == GTPU_EXT_RAN_CONTAINER || type == GTPU_EXT_LONG_PDCP_REQUIRED ||
		type == GTPU_EXT_XW_RAN_CONTAINER || type == GTPU_EXT_NR_RAN_CONTAINER ||
		type == GTPU_EXT_PDCP;
}

struct extensions {   // what walk_extensions() found
	bool unknown; // one that has to be comprehended (TS 29.281 5.2.1) and is not
};

// Walks the extension headers behind the optional word, in any order. Returns a drop reason, or
// PKT_NEXT with *at behind the last of them.
static int
walk_extensions(struct pkt *p, const uint8_t *header, uint32_t *at, uint32_t end, uint8_t next,
	struct extensions *found)
{
	while (next != GTPU_EXT_NONE) {
		uint32_t octets;

		if (*at + 4 > end)
			return UPF_DROP_MALFORMED_GTPU;
		octets = (uint32_t)header[*at] * 4;
		if (octets == 0 || *at + octets > end)
			return UPF_DROP_MALFORMED_GTPU;
		if (next == GTPU_EXT_PDU_SESSION_CONTAINER) { // TS 38.415 5.5.2
			p->qfi = header[*at + 2] & GTPU_PSC_QFI;
			if (header[*at + 1] >> 4 == 0)
				p->rqi = header[*at + 2] & GTPU_PSC_RQI;
		} else if ((next & GTPU_EXT_REQUIRED) != 0 && !extension_is_known(next)) {
			found->unknown = true;
		}
		next = header[*at + octets - 1];
		*at += octets;
	}
	return PKT_NEXT;
}

// ---- answers -----------------------------------------------------------------------------------

struct way { // of a message that came, seen from us
	enum upf_port port;
	bool ip6;
	struct rte_ether_addr mac;
	upf_addr us, them;
	uint16_t their_port;
};

// The frame was parsed: one IP header of valid length, UDP in it.
static struct way
way_of(const struct pkt *p)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	struct way way = {
		.port = (enum upf_port)p->port, .ip6 = p->outer6 != 0, .mac = eth->src_addr};
	const struct rte_udp_hdr *udp;

	if (way.ip6) {
		const struct ipv6_header *ip = (const struct ipv6_header *)(eth + 1);
		struct ipv6_chain chain;

		ipv6_walk(ip, (uint16_t)(sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len)), &chain);
		memcpy(way.us, ip->dst, sizeof(way.us));
		memcpy(way.them, ip->src, sizeof(way.them));
		udp = (const struct rte_udp_hdr *)((const uint8_t *)ip + chain.l4);
	} else {
		const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);

		memcpy(way.us, &ip->dst_addr, sizeof(ip->dst_addr));
		memcpy(way.them, &ip->src_addr, sizeof(ip->src_addr));
		udp = (const struct rte_udp_hdr *)((const uint8_t *)ip + rte_ipv4_hdr_len(ip));
	}
	way.their_port = rte_be_to_cpu_16(udp->src_port);
	return way;
}

static uint32_t
headers_length(bool ip6)
{
	return (uint32_t)(sizeof(struct rte_ether_hdr) + sizeof(struct rte_udp_hdr) +
		(ip6 ? sizeof(struct ipv6_header) : sizeof(struct rte_ipv4_hdr)));
}

// Makes m a whole frame with this GTP-U message. The destination MAC address stays open.
static bool
write_message(struct worker *w, struct rte_mbuf *m, const struct way *way, const void *message,
	uint16_t length)
{
	const struct port *port = &w->port[way->port];
	uint16_t want = (uint16_t)(headers_length(way->ip6) + length);
	uint16_t udp_length = (uint16_t)(sizeof(struct rte_udp_hdr) + length);
	struct rte_ether_hdr *eth;
	struct rte_udp_hdr *udp;

	rte_pktmbuf_trim(m, rte_pktmbuf_data_len(m));
	eth = (void *)rte_pktmbuf_append(m, want);
	if (eth == NULL)
		return false;
	eth->src_addr = port->mac;
	if (way->ip6) {
		struct ipv6_header *ip = (struct ipv6_header *)(eth + 1);

		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
		udp = (struct rte_udp_hdr *)(ip + 1);
		*ip = (struct ipv6_header){
			.version_class_flow =
				rte_cpu_to_be_32(UINT32_C(0x60000000) | (uint32_t)port->tos << 20),
			.payload_len = rte_cpu_to_be_16(udp_length),
			.next = IPPROTO_UDP,
			.hop_limit = 64,
		};
		memcpy(ip->src, way->us, sizeof(ip->src));
		memcpy(ip->dst, way->them, sizeof(ip->dst));
	} else {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);

		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
		udp = (struct rte_udp_hdr *)(ip + 1);
		*ip = (struct rte_ipv4_hdr){
			.version_ihl = RTE_IPV4_VHL_DEF,
			.type_of_service = port->tos,
			.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + udp_length)),
			.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_UDP,
		};
		memcpy(&ip->src_addr, way->us, sizeof(ip->src_addr));
		memcpy(&ip->dst_addr, way->them, sizeof(ip->dst_addr));
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	// TS 29.281 4.4.2: over IPv4 the UDP checksum may be zero.
	*udp = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16(GTPU_PORT),
		.dst_port = rte_cpu_to_be_16(way->their_port),
		.dgram_len = rte_cpu_to_be_16(udp_length),
	};
	memcpy(udp + 1, message, length);
	if (way->ip6)
		udp->dgram_cksum = udp6_checksum((struct ipv6_header *)(eth + 1), udp);
	return true;
}

// The packet becomes the answer, back to where it came from.
static int
answer(struct worker *w, struct rte_mbuf *m, const struct way *way, const void *message,
	uint16_t length)
{
	if (!write_message(w, m, way, message, length))
		return UPF_DROP_NO_MBUF;
	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = way->mac;
	worker_send(w, way->port, m);
	return PKT_TAKEN;
}

// Sends a message that nobody asked for. way: mac is not used.
static void
send_message(struct worker *w, const struct way *way, const void *message, uint16_t length)
{
	const struct port *port = &w->port[way->port];
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	rte_be32_t them4;

	if (m == NULL) {
		worker_count_drops(w, way->port, 0, UPF_DROP_NO_MBUF, 1);
		return;
	}
	if (!write_message(w, m, way, message, length)) {
		worker_drop(w, way->port, m, UPF_DROP_NO_MBUF);
		return;
	}
	if (way->ip6) {
		const uint8_t *hop = port_next_hop6(port, way->them, 0);

		if (hop == NULL)
			worker_drop(w, way->port, m, UPF_DROP_NO_ROUTE);
		else
			neigh_send6(w, way->port, m, hop, NULL);
		return;
	}
	memcpy(&them4, way->them, sizeof(them4));
	them4 = port_next_hop(port, them4, 0);
	if (them4 == 0)
		worker_drop(w, way->port, m, UPF_DROP_NO_ROUTE);
	else
		neigh_send(w, way->port, m, them4, NULL);
}

// One bucket for all that a peer can make us say: no sender can turn it into a load.
static bool
within_rate(struct worker *w)
{
	if (w->error_cost == 0 || w->error_tat > w->now + w->tsc_hz / 10)
		return false;
	w->error_tat = (w->error_tat > w->now ? w->error_tat : w->now) + w->error_cost;
	return true;
}

// ---- messages that come ------------------------------------------------------------------------

// TS 29.281 7.2.2: the same sequence number, and a Recovery that a receiver ignores.
static int
answer_echo(struct worker *w, struct pkt *p, const struct rte_gtp_hdr *gtp)
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
	struct way way = way_of(p);

	if ((gtp->gtp_hdr_info & GTPU_FLAG_S) != 0)
		memcpy(&echo.word.sqn, gtp + 1, sizeof(echo.word.sqn));
	shm_add(&w->stats->local.gtpu_echo_requests, 1);
	return answer(w, p->m, &way, &echo, sizeof(echo));
}

// TS 29.281 7.2.2: for upf-c, which asked and knows its sequence numbers.
static int
take_echo_response(struct worker *w, struct pkt *p, const struct rte_gtp_hdr *gtp)
{
	struct way way = way_of(p);
	struct event event = {
		.echo = {
			.rec = {.type = UPF_REC_EV_ECHO, .length = sizeof(event.echo)},
			.ohc = way.ip6 ? UPF_OHC_GTPU6 : UPF_OHC_GTPU4,
		}};
	const uint8_t *sequence = (const uint8_t *)(gtp + 1);

	shm_add(&w->stats->local.gtpu_echo_responses, 1);
	if ((gtp->gtp_hdr_info & GTPU_FLAG_S) == 0)
		return UPF_DROP_MALFORMED_GTPU; // 7.2.2: it answers a request, by its number
	event.echo.sequence = (uint16_t)(sequence[0] << 8 | sequence[1]);
	memcpy(event.echo.peer_addr, way.them, sizeof(way.them));
	memcpy(event.echo.local_addr, way.us, sizeof(way.us));
	if (!worker_raise(w, &event))
		return UPF_DROP_RATE_LIMITED;
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}

// Length of the information element at ie, 0: it cannot be read (TS 29.281 8.1).
static uint32_t
element_length(const uint8_t *ie, uint32_t room)
{
	uint32_t octets;

	if (ie[0] < 128) // type-value
		octets = ie[0] == GTPU_IE_TEID_DATA_I ? 5 : ie[0] == GTPU_IE_RECOVERY ? 2 : 0;
	else if (ie[0] == GTPU_IE_EXTENSION_TYPES) // its length has one octet (8.5)
		octets = room < 2 ? 0 : 2 + (uint32_t)ie[1];
	else
		octets = room < 3 ? 0 : 3 + ((uint32_t)ie[1] << 8 | ie[2]);
	return octets <= room ? octets : 0;
}

// TS 29.281 7.3.1: the peer has no tunnel with this TEID at its address.
static int
take_error_indication(struct worker *w, struct rte_mbuf *m, const uint8_t *ie, uint32_t len)
{
	struct event event = {
		.error_ind = {
			.rec = {.type = UPF_REC_EV_ERROR_IND, .length = sizeof(event.error_ind)},
		}};
	struct upf_ev_error_ind *e = &event.error_ind;
	bool has_teid = false;

	shm_add(&w->stats->local.error_indications_received, 1);
	while (len > 0) {
		uint32_t octets = element_length(ie, len);

		if (octets == 0)
			return UPF_DROP_MALFORMED_GTPU;
		if (ie[0] == GTPU_IE_TEID_DATA_I && !has_teid) {
			e->teid = (uint32_t)ie[1] << 24 | (uint32_t)ie[2] << 16 |
				(uint32_t)ie[3] << 8 | ie[4];
			has_teid = true;
		} else if (ie[0] == GTPU_IE_PEER_ADDRESS && e->ohc == 0) {
			if (octets != 3 + 4 && octets != 3 + 16)
				return UPF_DROP_MALFORMED_GTPU;
			e->ohc = octets == 3 + 4 ? UPF_OHC_GTPU4 : UPF_OHC_GTPU6;
			memcpy(e->peer_addr, ie + 3, octets - 3);
		}
		ie += octets;
		len -= octets;
	}
	if (!has_teid || e->ohc == 0)
		return UPF_DROP_MALFORMED_GTPU;
	if (!worker_raise(w, &event))
		return UPF_DROP_RATE_LIMITED;
	rte_pktmbuf_free(m);
	return PKT_TAKEN;
}

// TS 29.281 7.2.3: an extension header that we had to comprehend, and do not. The packet goes.
static int
refuse_extension(struct worker *w, struct pkt *p)
{
	static const uint8_t types[] = {GTPU_EXT_PDU_SESSION_CONTAINER, GTPU_EXT_UDP_PORT,
		GTPU_EXT_PDCP, GTPU_EXT_LONG_PDCP_REQUIRED, GTPU_EXT_RAN_CONTAINER,
		GTPU_EXT_XW_RAN_CONTAINER, GTPU_EXT_NR_RAN_CONTAINER};
	struct notification {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
		uint8_t type, length;
		uint8_t types[sizeof(types)];
	} __attribute__((packed)) notification = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1 | GTPU_FLAG_S,
				.msg_type = GTPU_SUPPORTED_EXTENSIONS,
				.plen = rte_cpu_to_be_16(
					sizeof(notification) - sizeof(notification.gtp)),
			},
		.type = GTPU_IE_EXTENSION_TYPES,
		.length = sizeof(types),
	};
	struct way way = way_of(p);

	if (within_rate(w)) {
		memcpy(notification.types, types, sizeof(types));
		way.their_port = GTPU_PORT; // 4.4.2.5
		shm_add(&w->stats->local.supported_extensions_sent, 1);
		send_message(w, &way, &notification, sizeof(notification));
	}
	return UPF_DROP_UNSUPPORTED_GTPU;
}

// It goes the way of the packets in front of it (end_marker.h).
static int
take_end_marker(struct pkt *p, const struct rte_gtp_hdr *gtp, uint32_t address, uint32_t at)
{
	p->ip = (uint16_t)((const uint8_t *)gtp + at - rte_pktmbuf_mtod(p->m, uint8_t *));
	rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip));
	p->tunnel = PKT_END_MARKER;
	p->key = (uint64_t)address << 32 | rte_be_to_cpu_32(gtp->teid);
	return PKT_NEXT;
}

static __attribute__((noinline)) int
take_signalling(struct worker *w, struct pkt *p, const struct rte_gtp_hdr *gtp, uint32_t address,
	uint32_t at, uint32_t end)
{
	switch (gtp->msg_type) {
	case GTPU_ECHO_REQUEST:
		return answer_echo(w, p, gtp);
	case GTPU_ECHO_RESPONSE:
		return take_echo_response(w, p, gtp);
	case GTPU_ERROR_INDICATION:
		return take_error_indication(w, p->m, (const uint8_t *)gtp + at, end - at);
	case GTPU_SUPPORTED_EXTENSIONS:
		// 7.2.3: who sends it lacks a header of ours. All that we send is the container
		// that the SMF asks for by a QFI, so there is nothing to do.
		shm_add(&w->stats->local.supported_extensions_received, 1);
		break;
	case GTPU_END_MARKER:
		shm_add(&w->stats->local.end_markers_received, 1);
		return take_end_marker(p, gtp, address, at);
	default:
		return UPF_DROP_UNSUPPORTED_GTPU;
	}
	rte_pktmbuf_free(p->m);
	return PKT_TAKEN;
}

int
gtpu_input(struct worker *w, struct pkt *p, const struct rte_udp_hdr *udp, uint16_t room,
	uint32_t address)
{
	const struct rte_gtp_hdr *gtp = (const struct rte_gtp_hdr *)(udp + 1);
	uint32_t at = sizeof(*gtp), end, length;
	uint8_t flags;

	if (unlikely(room < sizeof(*udp)))
		return UPF_DROP_MALFORMED_IP;
	length = rte_be_to_cpu_16(udp->dgram_len);
	if (unlikely(length > room || length < sizeof(*udp)))
		return UPF_DROP_MALFORMED_IP;
	// Answers to us come to any port; ours all leave from GTP-U's.
	if (unlikely(udp->dst_port != rte_cpu_to_be_16(GTPU_PORT)))
		return UPF_DROP_UNKNOWN_PORT;
	if (unlikely(length < sizeof(*udp) + sizeof(*gtp)))
		return UPF_DROP_MALFORMED_GTPU;
	flags = gtp->gtp_hdr_info;
	end = sizeof(*gtp) + rte_be_to_cpu_16(gtp->plen);
	if (unlikely((flags & 0xf0) != GTPU_VERSION_1 || end > length - sizeof(*udp)))
		return UPF_DROP_MALFORMED_GTPU;
	p->qfi = 0;
	p->rqi = 0;
	if ((flags & (GTPU_FLAG_E | GTPU_FLAG_S | GTPU_FLAG_PN)) != 0) {
		const struct rte_gtp_hdr_ext_word *word = (const void *)(gtp + 1);
		struct extensions found = {0};
		int verdict = PKT_NEXT;

		// 5.1: one flag brings all three fields, the others are not to be read.
		at += sizeof(*word);
		if (unlikely(at > end))
			return UPF_DROP_MALFORMED_GTPU;
		if ((flags & GTPU_FLAG_E) != 0)
			verdict = walk_extensions(
				p, (const uint8_t *)gtp, &at, end, word->next_ext, &found);
		if (unlikely(verdict != PKT_NEXT))
			return verdict;
		if (unlikely(found.unknown))
			return refuse_extension(w, p);
	}
	if (unlikely(gtp->msg_type != GTPU_G_PDU))
		return take_signalling(w, p, gtp, address, at, end);
	p->ip = (uint16_t)((const uint8_t *)gtp + at - rte_pktmbuf_mtod(p->m, uint8_t *));
	// Behind the G-PDU nothing is the user's.
	rte_pktmbuf_trim(p->m, (uint16_t)(room - sizeof(*udp) - end));
	p->tunnel = 1;
	p->key = (uint64_t)address << 32 | rte_be_to_cpu_32(gtp->teid);
	return PKT_NEXT;
}

// ---- messages that we send ---------------------------------------------------------------------

// TS 29.281 7.3.1: tell the sender of a G-PDU that there is no such tunnel. The packet itself becomes
// the answer.
int
gtpu_unknown_teid(struct worker *w, struct pkt *p)
{
	struct error_indication {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
		struct gtpu_udp_port port; // of the sender, so that it can tell whose packet it was
		uint8_t teid_type;
		rte_be32_t teid;
		uint8_t address_type;
		rte_be16_t address_len;
		upf_addr address;
	} __attribute__((packed)) error = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1 | GTPU_FLAG_S | GTPU_FLAG_E,
				.msg_type = GTPU_ERROR_INDICATION,
			},
		.word = {.next_ext = GTPU_EXT_UDP_PORT},
		.teid_type = GTPU_IE_TEID_DATA_I,
		.teid = rte_cpu_to_be_32((uint32_t)p->key),
		.address_type = GTPU_IE_PEER_ADDRESS,
	};
	struct way way;
	uint16_t address_len, length;
	int verdict;

	if (p->tunnel == PKT_END_MARKER) {
		rte_pktmbuf_free(p->m);
		return PKT_TAKEN;
	}
	// Just started, the sessions are still on their way, from upf-c or from a CP function: an Error
	// Indication would end them.
	// Acquire: pairs with the store of transaction.c.
	if (w->synced != NULL && __atomic_load_n(w->synced, __ATOMIC_ACQUIRE) == 0)
		return UPF_DROP_UNKNOWN_TEID;
	if (!within_rate(w))
		return UPF_DROP_RATE_LIMITED;
	way = way_of(p);
	address_len = way.ip6 ? 16 : 4;
	length = (uint16_t)(offsetof(struct error_indication, address) + address_len);
	error.gtp.plen = rte_cpu_to_be_16((uint16_t)(length - sizeof(error.gtp)));
	error.port = (struct gtpu_udp_port){1, rte_cpu_to_be_16(way.their_port), GTPU_EXT_NONE};
	error.address_len = rte_cpu_to_be_16(address_len);
	memcpy(error.address, way.us, address_len);
	// 4.4.2.4: to the GTP-U port, wherever the G-PDU came from.
	way.their_port = GTPU_PORT;
	verdict = answer(w, p->m, &way, &error, length);
	if (verdict == PKT_TAKEN) {
		shm_add(&w->stats->local.error_indications_sent, 1);
		worker_count_drops(w, (enum upf_port)p->port, 0, UPF_DROP_UNKNOWN_TEID, 1);
	}
	return verdict;
}

static struct way
way_to(const struct worker *w, uint8_t ohc, const upf_addr local, const upf_addr peer,
	uint16_t peer_port)
{
	bool ip6 = ohc == UPF_OHC_GTPU6;
	int port = config_owner(w->config, ip6, local);
	struct way way = {
		// plan.c has checked that the address is one of ours.
		.port = port >= 0 ? (enum upf_port)port : UPF_PORT_N3,
		.ip6 = ip6,
		.their_port = peer_port,
	};

	memcpy(way.us, local, sizeof(way.us));
	memcpy(way.them, peer, sizeof(way.them));
	return way;
}

// TS 29.281 5.1, 7.3.2: no payload; the container tells the flow, when the SMF wants that.
void
gtpu_send_end_marker(struct worker *w, const struct upf_end_marker *marker)
{
	struct end_marker {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
		struct gtpu_psc psc;
	} __attribute__((packed)) message = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1,
				.msg_type = GTPU_END_MARKER,
				.teid = rte_cpu_to_be_32(marker->teid),
			},
		.word = {.next_ext = GTPU_EXT_PDU_SESSION_CONTAINER},
		.psc = {.units = 1, .qfi = marker->qfi},
	};
	struct way way =
		way_to(w, marker->ohc, marker->local_addr, marker->peer_addr, marker->peer_port);
	uint16_t length = sizeof(message.gtp);

	if (marker->qfi != 0) {
		length = sizeof(message);
		message.gtp.gtp_hdr_info |= GTPU_FLAG_E;
		message.gtp.plen = rte_cpu_to_be_16(sizeof(message) - sizeof(message.gtp));
	}
	shm_add(&w->stats->local.end_markers_sent, 1);
	send_message(w, &way, &message, length);
}

// A peer on the link itself, which has not answered. Whoever is behind a gateway says nothing of the gateway's address.
static void
doubt_peer(struct worker *w, const struct way *way)
{
	const struct port *port = &w->port[way->port];
	rte_be32_t them4;

	if (way->ip6) {
		const uint8_t *hop = port_next_hop6(port, way->them, 0);

		if (hop != NULL && memcmp(hop, way->them, sizeof(way->them)) == 0)
			neigh_doubt6(w, way->port, hop);
		return;
	}
	memcpy(&them4, way->them, sizeof(them4));
	if (port_next_hop(port, them4, 0) == them4)
		neigh_doubt4(w, way->port, them4);
}

// TS 29.281 7.2.1.
void
gtpu_send_echo(struct worker *w, const struct upf_echo *echo)
{
	struct echo_request {
		struct rte_gtp_hdr gtp;
		struct rte_gtp_hdr_ext_word word;
	} __attribute__((packed)) message = {
		.gtp =
			{
				.gtp_hdr_info = GTPU_VERSION_1 | GTPU_FLAG_S,
				.msg_type = GTPU_ECHO_REQUEST,
				.plen = rte_cpu_to_be_16(sizeof(message.word)),
			},
		.word = {.sqn = rte_cpu_to_be_16(echo->sequence)},
	};
	struct way way = way_to(w, echo->ohc, echo->local_addr, echo->peer_addr, GTPU_PORT);

	if (echo->repeated)
		doubt_peer(w, &way);
	shm_add(&w->stats->local.gtpu_echo_requests_sent, 1);
	send_message(w, &way, &message, sizeof(message));
}
