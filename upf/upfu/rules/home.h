// Which worker does a session's packets: its home.
//
// It follows from the UE's address, by a hash that NICs know: Toeplitz, over what stands as the source in an
// uplink packet's inner header, and as the destination in a downlink one. With the key HOME_KEY, whose bits
// come again after six, the lowest six bits of that hash are the address folded up, so that without a NIC they
// cost some shifts. They are the session's bucket, and the workers take the buckets in turn: what a NIC's
// table of queues does, of 64 entries or any larger power of two.
//
// Of a session with IPv4 and IPv6 the IPv4 address counts. One without an address has the bucket of its index.
// A session keeps its home while it lasts, whatever becomes of its rules.
//
// A TEID that the UPF has chosen (upf-c, agent/addresses/choose.go) has its session's bucket in it: the
// highest bit, then six of the bucket. That is a hint; TEIDs of other origin may look the same, and what the
// session's rules say is so.
#ifndef UPFU_HOME_H
#define UPFU_HOME_H

#include <stdint.h>

#include <rte_byteorder.h>

#define HOME_BITS 6u
#define HOME_BUCKETS (1u << HOME_BITS)
#define HOME_TEID_CHOSEN UINT32_C(0x80000000)

// Octets of a Toeplitz key that repeats 000100: whatever its length, a multiple of three.
#define HOME_KEY_3 0x10, 0x41, 0x04

static inline unsigned
home_fold(uint64_t x)
{
	x ^= x >> 48;
	x ^= x >> 24;
	x ^= x >> 12;
	x ^= x >> 6;
	return (unsigned)x & (HOME_BUCKETS - 1);
}

static inline unsigned
home_bucket4(rte_be32_t ue)
{
	uint32_t x = rte_be_to_cpu_32(ue);

	x ^= x >> 24;
	x = (x ^ x >> 12) & 0xfff;
	return (x ^ x >> 6) & (HOME_BUCKETS - 1);
}

// Of an IPv6 prefix: the upper 64 bits, host order. The hash takes 32 bits more than an IPv4 address has, which
// turns the fold by four.
static inline unsigned
home_bucket6(uint64_t prefix)
{
	unsigned x = home_fold(prefix);

	return (x << 4 | x >> 2) & (HOME_BUCKETS - 1);
}

static inline unsigned
home_bucket_of_teid(uint32_t teid)
{
	return teid >> 25 & (HOME_BUCKETS - 1);
}

// The bucket of what a NIC says: its hash has the fold's bits in the opposite order.
static inline unsigned
home_bucket_of_hash(uint32_t hash)
{
	unsigned bucket = 0;

	for (unsigned i = 0; i < HOME_BITS; i++)
		bucket |= (hash >> i & 1u) << (HOME_BITS - 1 - i);
	return bucket;
}

static inline unsigned
home_worker(unsigned bucket, unsigned workers)
{
	return bucket % workers;
}

#endif
