// Fragments whose packet is not whole yet (RFC 791 3.2, RFC 8200 4.5): which belong together, and
// when they are a packet. Of headers and buffers it knows nothing; reassembly.c does.
//
// Anybody can send fragments that nothing follows, so each packet is held for its sender. A sender
// has at most an eighth of the table: beyond that its own oldest packet gives way. When the table
// is full, or has as many fragments as it may hold buffers of, the oldest packet of the sender that
// has the most gives way, so that nobody takes the place of somebody who has less. All of it takes
// the same time however full the table is, and the index's hash has a secret, so that nobody can
// aim at one chain of it.
//
// A packet of which two fragments overlap or contradict each other is never put together: all that
// is here of it goes, and so does what comes until its time is over (RFC 5722 4 for IPv6; as safe
// for IPv4). The exact copy of a fragment goes alone (RFC 8200 4.5).
#ifndef UPFU_FRAGMENT_TABLE_H
#define UPFU_FRAGMENT_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "upf_abi.h"

#define FRAGMENT_WHOLE_MOST 10240u // octets of a packet, as its length field counts them
#define FRAGMENT_PIECES_MOST 9u    // of a packet
static_assert(FRAGMENT_PIECES_MOST * (1280 - 40 - 8) >= FRAGMENT_WHOLE_MOST,
	"the longest packet fits, cut for the least MTU of IPv6");

struct fragment_key {       // fragments with the same one are of the same packet
	uint64_t sender[2]; // whose bound counts
	upf_addr src, dst;
	uint32_t id;
	uint16_t proto; // IPv4 (RFC 791 3.2); 0 in IPv6, whose fragments need not agree on it
	uint16_t ip6;
};
static_assert(sizeof(struct fragment_key) == 56, "no padding: keys are compared as octets");

struct fragment {
	void *packet;        // the caller's
	const uint8_t *data; // what it brings of the packet: to - from octets
	uint32_t from, to;   // which octets behind the headers that is
	uint16_t ip;         // the caller's: where its IP header is
	uint16_t header;     // octets in front of those that the packet's length field counts
	bool last;
	uint8_t port, group; // by which its drop is counted
};

TAILQ_HEAD(fragment_packets, fragment_packet);
TAILQ_HEAD(fragment_senders, fragment_sender);

struct fragment_sender {
	uint64_t key[2];
	uint32_t n;                        // of its packets
	struct fragment_packets packets;   // oldest first
	struct fragment_sender *same_hash; // or the next free one
	TAILQ_ENTRY(fragment_sender) equals;
};

struct fragment_packet {
	struct fragment_key key;
	uint64_t until;   // when its time is over
	uint32_t end;     // where the last fragment ends, 0: it is not here
	uint32_t octets;  // that are here
	uint16_t n;       // fragments that are here
	uint16_t spoiled; // 0, or 1 + the enum upf_drop of all that still comes
	struct fragment_sender *sender;
	struct fragment_packet *same_hash; // or the next free one
	TAILQ_ENTRY(fragment_packet) of_sender, by_age;
	struct fragment fragment[FRAGMENT_PIECES_MOST]; // by place
};

// Takes a fragment back that the table held.
typedef void fragment_give_up(void *context, const struct fragment *f, enum upf_drop reason);

struct fragment_table {
	uint32_t packets_max, sender_max;
	uint32_t fragments, fragments_max;
	uint64_t lifetime;
	uint64_t secret[2];
	fragment_give_up *give_up;
	void *context;
	struct fragment_packet *packet, *free_packet;
	struct fragment_sender *sender, *free_sender;
	uint32_t index_mask;
	struct fragment_packet **by_key;
	struct fragment_sender **by_sender;
	struct fragment_packets ages;    // oldest first
	struct fragment_senders *equals; // [sender_max + 1]: senders by how many packets they have
	uint32_t most;                   // packets of the sender that has the most
};

// For so many packets of so many fragments at once, each for `lifetime` in the unit of `now`.
// 0, or -1: out of memory.
int fragment_table_init(struct fragment_table *t, uint32_t packets, uint32_t fragments,
	uint64_t lifetime, const uint64_t secret[2], fragment_give_up *give_up, void *context);
// Gives up all that is held.
void fragment_table_free(struct fragment_table *t);

#define FRAGMENT_WAITS -1 // the table has it now
#define FRAGMENT_LAST -2  // the packet is whole

// FRAGMENT_WAITS, or FRAGMENT_LAST with *whole, whose fragments lie one behind the other from 0 to
// end: the caller takes them and calls fragment_table_remove(). Else why the fragment is to be
// dropped (enum upf_drop): it stays the caller's.
int fragment_table_add(struct fragment_table *t, const struct fragment_key *key,
	const struct fragment *f, uint64_t now, struct fragment_packet **whole);
// Forgets a packet without giving up what is here of it.
void fragment_table_remove(struct fragment_table *t, struct fragment_packet *packet);
// Gives up what waited too long.
void fragment_table_expire(struct fragment_table *t, uint64_t now);

#endif
