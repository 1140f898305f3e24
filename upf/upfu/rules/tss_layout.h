// The memory of a table for tuple space search: what tss_compile.c writes and tss_match.c reads.
#ifndef UPFU_TSS_LAYOUT_H
#define UPFU_TSS_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rules/lanes.h"
#include "rules/tss.h"

// Offsets are octets from the start of struct tss.
struct tss {
	struct {
		uint16_t otherwise; // order of the entry that asks for no more than is common
		uint8_t common;     // words that all entries ask for alike
		uint8_t reserved;
		uint32_t tuples;
		uint32_t
			first; // offset: struct uniform[common], then the tuples one after the other
		uint32_t reserved2;
	} family[TSS_FAMILIES];
};
static_assert(sizeof(struct tss) == 32, "half a line");

// A word in which all entries of a tuple, or of the family, agree is compared once, here.
struct uniform {
	uint32_t word, key, mask;
};

static inline size_t
tss_uniforms_size(unsigned n)
{
	return (n * sizeof(struct uniform) + 31) / 32 * 32;
}

struct tuple {
	uint16_t best;   // order: no entry has a lower one
	uint16_t size;   // octets up to the next tuple
	uint16_t block;  // octets of a block
	uint8_t columns; // how many words stand in columns
	uint8_t uniforms;
	uint32_t blocks; // offset of the first bucket's block
	uint8_t bits;    // of the bucket's index; 0: a list, not hashed
	uint8_t ports;   // the last column has port ranges
	uint8_t reserved[2];
	uint8_t column[TSS_WORDS]; // which words
	// uint32_t mask[8 or 16]: of the bits that are hashed, when bits is not 0
	// struct uniform[uniforms]
};
static_assert(sizeof(struct tuple) == 32, "aligned masks behind it");

// Eight entries, by order; those that are not there have order TSS_NONE, and may match.
struct block {
	uint16_t order[LANES];
	uint32_t next; // offset of a further block of the bucket, 0: none
	uint32_t reserved[3];
	struct column {
		uint32_t key[LANES];  // of ports: lower ends, local in the upper half
		uint32_t mask[LANES]; // of ports: upper ends
	} column[];
};
static_assert(sizeof(struct block) == 32, "columns within lines");

static inline unsigned
tss_words_of(enum tss_family family)
{
	return family == TSS_IPV4 ? TSS_WORDS_IPV4 : TSS_WORDS;
}

// CRC spreads what differs in few bits, the multiplication makes it unlinear; the upper bits count.
static inline __attribute__((always_inline)) uint32_t
tss_hash(const uint32_t *flow, const uint32_t *mask, unsigned words)
{
	uint64_t crc[2] = {0, UINT32_C(0x9e3779b1)};

	for (unsigned i = 0; i < words; i += 2) {
		uint64_t f, m;

		memcpy(&f, flow + i, sizeof(f));
		memcpy(&m, mask + i, sizeof(m));
		crc[i / 2 % 2] = lanes_crc32c(crc[i / 2 % 2], f & m);
	}
	return ((uint32_t)crc[0] ^ (uint32_t)crc[1] << 1) * UINT32_C(0x9e3779b1);
}

#endif
