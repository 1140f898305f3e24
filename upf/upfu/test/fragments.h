// Fragments made from octets, put together twice: by fragment_table.c and by a naive model that has
// a flag for each octet of a packet and looks through everything. Unit tests give random octets,
// the fuzzer its own.
#ifndef UPFU_TEST_FRAGMENTS_H
#define UPFU_TEST_FRAGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "upf_abi.h"

struct fragments_counts {
	unsigned fragments, whole;
	unsigned reason[UPF_DROPS]; // of what was dropped or given up
};

// Aborts with a message when the two differ.
void fragments_both_ways(const uint8_t *octets, size_t n, struct fragments_counts *counts);

#endif
