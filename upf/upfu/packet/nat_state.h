// The mappings of NAT44 (nat.h) of one worker.
#ifndef UPFU_NAT_STATE_H
#define UPFU_NAT_STATE_H

#include <assert.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "upf_abi.h"

enum nat_timeout { NAT_TCP_ESTABLISHED, NAT_TCP_TRANSITORY, NAT_UDP, NAT_ICMP, NAT_TIMEOUTS };

// Of TCP, since the last SYN, FIN or RST: who has sent.
#define SENT_IN 0x01u  // the UE
#define SENT_OUT 0x02u // the other side
#define SENT_BOTH (SENT_IN | SENT_OUT)

struct nat_mapping {
	uint32_t next_in, next_out; // of the chains; free: next_in is the next free one
	uint32_t session, incarnation;
	rte_be32_t addr; // inside
	rte_be16_t port; // inside, or the identifier of an ICMP query
	uint16_t outer;  // the public port
	uint64_t until;  // TSC; 0: it is free
	uint8_t proto;
	uint8_t sent; // SENT_*
	uint8_t reserved[6];
};
static_assert(sizeof(struct nat_mapping) == 40, "nat_mapping");

struct nat_full { // a block in which nothing was free
	uint32_t session, incarnation;
	uint64_t until; // when it is worth another look
	uint8_t proto;
};

#define NAT_FULL_BITS 12u

struct nat {
	struct nat_mapping *mapping; // [size]
	uint32_t *in, *out;          // heads of chains, [1 << bits]
	unsigned bits;
	uint32_t size;
	uint32_t free; // the first
	uint32_t used;
	uint32_t look; // where nat_tick() goes on
	uint64_t secret;
	uint64_t timeout[UPF_NETWORKS][NAT_TIMEOUTS]; // TSC cycles
	struct nat_full full[1u << NAT_FULL_BITS];    // by a hash
};

#endif
