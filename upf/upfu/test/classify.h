// Packets and PDRs made from octets, classified twice: by tss_match.c and, word by word, by a naive
// matcher. Unit tests give random octets, the fuzzer its own.
#ifndef UPFU_TEST_CLASSIFY_H
#define UPFU_TEST_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

struct classify_counts {
	unsigned packets, matched;
	unsigned by_sdf; // matched a PDR with SDF filters
};

// Aborts with a message when the two differ.
void classify_both_ways(const uint8_t *octets, size_t n, struct classify_counts *counts);

#endif
