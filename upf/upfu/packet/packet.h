// A packet on its way through a worker, and a burst of them.
#ifndef UPFU_PACKET_H
#define UPFU_PACKET_H

#include <assert.h>
#include <stdint.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

struct part;
struct pdr;

#define BURST 32u

enum pkt_fragment { // of the user's packet
	PKT_WHOLE,
	PKT_FIRST,
	PKT_LATER,       // without ports
	PKT_REASSEMBLED, // was put together here, so it may be cut again
};

// In a hand-off ring.
#define PKT_KIND_USER 0u
#define PKT_KIND_HEARSAY 1u // + the port: hearsay.h

#define PKT_HELD_FAR 0x01u // its FAR buffers; else it only stands behind others
#define PKT_HELD_BAR 0x02u // a BAR said how long

// One packet of a burst, between parsing and transmission.
#define PKT_END_MARKER 2u

struct pkt {
	struct rte_mbuf *m;
	union {
		const struct part *part;
		struct {
			uint32_t session, incarnation;
		} of; // in the shaper: whose it is
	};
	union {
		const struct pdr *pdr;
		struct {
			uint16_t index, id;
		} by; // in the shaper: its PDR
	};
	uint64_t key; // of the map that leads to the part
	union {
		uint32_t bucket; // of that map
		uint32_t bar;    // in a downlink buffer: the BAR's index, or none (buffer.c)
	};
	uint16_t ip;     // offset of the user's IP header in the packet's data
	uint16_t ip_len; // total length of the user's packet
	uint8_t tunnel; // it came in GTP-U; PKT_END_MARKER: it is a message, without a packet of a user
	uint8_t qfi;      // of the PDU Session Container received
	uint8_t rqi;      // likewise, as it stands there
	uint8_t ip6;      // the user's packet is IPv6
	uint8_t released; // comes from a downlink buffer: its QERs were applied on arrival
	uint8_t kind;     // in a hand-off ring: PKT_KIND_*
	uint8_t port;     // enum upf_port by which it came
	uint8_t outer6;   // in GTP-U over IPv6
	uint8_t fragment; // enum pkt_fragment
	uint8_t proto;    // IPv6: last header of the chain
	uint8_t group;    // while the packet waits: the session's, by which its drop is counted
	uint8_t held;     // in a downlink buffer: PKT_HELD_*
	uint16_t l4;    // IPv6: offset of the upper-layer header from `ip`, 0: in another fragment
	uint64_t until; // in a downlink buffer: TSC at which it has waited too long
};
static_assert(sizeof(struct pkt) == 64, "one cache line");

struct burst {
	unsigned n;              // packets still under way
	struct pkt *live[BURST]; // in order of arrival
	struct pkt pkt[BURST];
};

// What a stage says of one packet: a drop reason, or one of these.
#define PKT_NEXT -1  // on to the next stage
#define PKT_TAKEN -2 // it belongs to somebody else now

static inline struct rte_ipv4_hdr *
pkt_ip(const struct pkt *p)
{
	return rte_pktmbuf_mtod_offset(p->m, struct rte_ipv4_hdr *, p->ip);
}

#endif
