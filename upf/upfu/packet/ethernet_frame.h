// The frame of an Ethernet PDU session (TS 23.501 5.6.10.2): header and VLAN tags (IEEE 802.1Q), and which Ethernet packet
// filters (TS 29.244 5.13.3, 7.5.2.2-3) it is of. What is behind the tags is looked at where a filter asks for it.
#ifndef UPFU_ETHERNET_FRAME_H
#define UPFU_ETHERNET_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "rules/session.h"
#include "upf_abi.h"

struct ethernet_frame {
	const struct rte_ether_hdr *header;
	uint32_t length;
	uint32_t payload; // offset of what is behind the EtherType
	uint16_t type;    // behind the tags; below 0x0600 it is a length (802.3)
	bool has_c, has_s;
	uint16_t c_tag, s_tag; // Tag Control Information, host order
};

// False: it is cut short in its header or a tag. Of two tags the outer one is the S-TAG, whatever its TPID is, for drivers
// that take tags off put them back as C-TAGs. A third one is payload.
bool ethernet_frame_read(struct ethernet_frame *frame, const void *at, uint32_t length);

// The VLAN in which a bridge learns its source, 0: none.
static inline uint16_t
ethernet_frame_vid(const struct ethernet_frame *frame)
{
	return (frame->has_s ? frame->s_tag : frame->has_c ? frame->c_tag : 0) & 0x0fff;
}

// The first PDR of an Ethernet part that the frame matches; NULL: none. fteid 0: it did not come in a tunnel.
const struct pdr *ethernet_find_pdr(
	const struct part *part, const struct ethernet_frame *frame, uint64_t fteid, uint8_t qfi);

#endif
