// From PDRs to a table for tuple space search (tss.h): the control thread's part.
#ifndef UPFU_TSS_COMPILE_H
#define UPFU_TSS_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/tss.h"
#include "upf_abi.h"

struct tss_entry {
	struct tss_flow key, mask;       // ports excepted
	uint16_t port_lo[2], port_hi[2]; // remote, local; inclusive
	uint16_t order;                  // index of the PDR by precedence
	uint8_t family;                  // enum tss_family
};

// How many entries one PDR may become.
static inline unsigned
tss_entries_max(const struct upf_pdr *pdr)
{
	return 4u + pdr->sdf_count + pdr->sdf6_count;
}

// Appends the PDR's entries; returns how many (0: it can match nothing). sdf and sdf6 are the
// session's arrays, fteid what tss_flow.fteid will be for packets to its F-TEID. A PDR without one
// matches packets without one. framed: who asks has seen to it that the UE's side is the UE's address or behind it.
unsigned tss_entries_of_pdr(struct tss_entry *to, uint16_t order, const struct upf_pdr *pdr,
	const struct upf_sdf *sdf, const struct upf_sdf6 *sdf6, uint64_t fteid, bool framed);

// Entries come sorted by order. The size is a multiple of TSS_ALIGN; 0: out of memory for the
// planning. tss_compile() gets as many octets, aligned to TSS_ALIGN, and false means the same.
size_t tss_size(const struct tss_entry *entries, unsigned n);
bool tss_compile(struct tss *to, const struct tss_entry *entries, unsigned n);

#endif
