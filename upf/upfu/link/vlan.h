// VLAN tags (IEEE 802.1Q). Inside the worker frames have none: vlan_accept() takes the tag off what
// comes, vlan_push() puts it on what leaves. Where the port does one of them itself, the tag travels
// in the mbuf.
#ifndef UPFU_VLAN_H
#define UPFU_VLAN_H

#include <stdbool.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "link/port.h"

#define VLAN_TAG 4u
#define VLAN_ID 0x0fffu

// The frame's VLAN as it came, 0: it has none.
static inline uint16_t
vlan_of(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const uint8_t *tag = (const uint8_t *)(eth + 1);

	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return m->vlan_tci & VLAN_ID;
	if (rte_pktmbuf_data_len(m) < sizeof(*eth) + VLAN_TAG ||
		eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		return 0;
	return (uint16_t)((tag[0] << 8 | tag[1]) & VLAN_ID);
}

// Takes the tag off. False: the frame is of another VLAN. The frame has an Ethernet header.
static inline bool
vlan_accept(const struct port *port, struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint16_t id = 0; // priority tags (802.1Q 9.6) have none either

	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
		id = m->vlan_tci & VLAN_ID;
		m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	} else if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN)) {
		const uint8_t *tag = (const uint8_t *)(eth + 1);

		if (rte_pktmbuf_data_len(m) < sizeof(*eth) + VLAN_TAG)
			return false;
		id = (uint16_t)((tag[0] << 8 | tag[1]) & VLAN_ID);
		memmove(rte_pktmbuf_mtod_offset(m, uint8_t *, VLAN_TAG), eth,
			2 * RTE_ETHER_ADDR_LEN);
		rte_pktmbuf_adj(m, VLAN_TAG);
	}
	return id == port->vlan;
}

// What the driver would have left of a frame of the port's VLAN whose tag it took off.
static inline void
vlan_mark(const struct port *port, struct rte_mbuf *m)
{
	if (port->vlan != 0) {
		m->vlan_tci = port->vlan;
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	}
}

// For ports with a VLAN. False: no room.
static inline bool
vlan_push(const struct port *port, struct rte_mbuf *m)
{
	uint8_t *frame;

	if (port->vlan_offload) {
		m->vlan_tci = port->vlan;
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		return true;
	}
	frame = (uint8_t *)rte_pktmbuf_prepend(m, VLAN_TAG);
	if (unlikely(frame == NULL))
		return false;
	memmove(frame, frame + VLAN_TAG, 2 * RTE_ETHER_ADDR_LEN);
	frame[12] = RTE_ETHER_TYPE_VLAN >> 8;
	frame[13] = RTE_ETHER_TYPE_VLAN & 0xff;
	frame[14] = (uint8_t)(port->vlan >> 8);
	frame[15] = (uint8_t)port->vlan;
	return true;
}

#endif
