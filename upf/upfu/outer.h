// Outer Header Creation and Removal (TS 29.244 5.2.3.1, 8.2.56, 8.2.64): what stands around a user's
// packet on N3, N9 and, where a FAR asks for it, on N6.
#ifndef UPFU_OUTER_H
#define UPFU_OUTER_H

#include <assert.h>
#include <stdint.h>

#include "gtpu.h"
#include "ipv6.h"
#include "worker.h"

struct outer_gtpu4 { // by far the most usual
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	struct rte_gtp_hdr gtp;
	struct rte_gtp_hdr_ext_word word; // from here on only with a QFI
	struct gtpu_psc psc;
} __attribute__((packed, aligned(2)));
static_assert(sizeof(struct outer_gtpu4) == 44, "as on the wire");

#define OUTER_PLAIN4 offsetof(struct outer_gtpu4, word)
#define OUTER_PSC (sizeof(struct outer_gtpu4) - OUTER_PLAIN4)
#define OUTER_PPI 4u // the container's second unit

// The QFI that the container carries: a QER's, else the one that came; 0: no container.
static inline uint8_t
outer_qfi(const struct pkt *p)
{
	return p->pdr->out_qfi != 0 ? p->pdr->out_qfi : p->qfi;
}

// Octets that outer_push() will put in front.
static inline uint16_t
outer_length(const struct pkt *p)
{
	static const uint8_t fixed[] = {
		[UPF_OHC_NONE] = 0,
		[UPF_OHC_GTPU4] = OUTER_PLAIN4,
		[UPF_OHC_GTPU6] = OUTER_PLAIN4 + 20,
		[UPF_OHC_UDP4] = 28,
		[UPF_OHC_UDP6] = 48,
		[UPF_OHC_IP4] = 20,
		[UPF_OHC_IP6] = 40,
	};
	const struct pdr *pdr = p->pdr;
	uint16_t length = fixed[pdr->ohc];

	if (pdr->ohc <= UPF_OHC_GTPU6 && pdr->ohc != UPF_OHC_NONE && outer_qfi(p) != 0)
		length += OUTER_PSC + ((pdr->mark & PDR_PPI) != 0 ? OUTER_PPI : 0);
	return length;
}

static inline bool
outer_is_ipv6(uint8_t ohc)
{
	return ohc == UPF_OHC_GTPU6 || ohc == UPF_OHC_UDP6 || ohc == UPF_OHC_IP6;
}

// Puts the outer headers of p->pdr in front of the user's packet, which is all that p->m holds. False:
// no room.
bool outer_push(struct worker *w, struct pkt *p);

// Outer Header Removal of the matched PDR, for what parsing has not taken off already. PKT_NEXT with
// p at the packet inside, or OUTER_HEADER: the packet has other headers.
int outer_remove(struct pkt *p);

#endif
