// What one worker has detected (detection.h).
#ifndef UPFU_DETECTION_STATE_H
#define UPFU_DETECTION_STATE_H

#include <assert.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/quic_initial.h"
#include "packet/tls_hello.h"
#include "rules/domains.h"
#include "upf_abi.h"

enum detected_kind { DETECTED_FLOW = 1, DETECTED_ADDRESS = 2, DETECTED_QUESTION = 3 };
#define DETECTED_IPV6 0x80u // with the kind

struct detected_key {           // what does not tell the kind is 0
	upf_addr remote, local; // IPv4: the first four octets
	uint32_t session, incarnation;
	rte_be16_t remote_port, local_port;
	uint16_t question; // its number
	uint8_t kind;      // enum detected_kind, DETECTED_IPV6
	uint8_t proto;
};
static_assert(sizeof(struct detected_key) == 48, "compared whole");

struct detected {
	struct detected_key key;
	uint32_t next;  // of the chain, or of those that are free
	uint32_t stamp; // part_applications.stamp that `bits` are of
	uint32_t bits;
	uint8_t n; // of application[]
	uint8_t closing;
	uint16_t hello; // not 0: it waits for the rest of a ClientHello there
	uint64_t until; // TSC; 0: it is free
	union {
		uint64_t asked; // of a question: a hash of its name and type
		uint64_t seen;  // TSC of the last packet, of what upf-c hears of
	};
	uint64_t application[DOMAINS_FOUND];
	uint32_t instance; // upf_ev_flow
	uint8_t told; // of application[] those of which upf-c has heard that it began, a bit for each
	uint8_t reserved[3];
};
static_assert(sizeof(struct detected) == 120, "detected");

struct hello {             // a ClientHello in pieces
	uint32_t owner;    // index of its entry; 0: nobody's
	uint32_t sequence; // TCP: of its first octet
	uint16_t size;     // octets that are here without a gap
	uint8_t told;      // there were some
	uint64_t have[TLS_HELLO_MAX / 64];
	uint8_t octets[TLS_HELLO_MAX];
};

#define HELLOS 64u
#define HELLOS_OF_SESSION 8u // a session that has so many places takes none of another
#define DETECTED_LEAST 256u  // entries that any session may have
#define SESSION_BITS 12u     // sessions are counted by a hash of so many bits
#define SESSION_LOOKS 200u   // a second
#define WORKER_QUIC 5000u    // a second

struct session_look {
	uint32_t second;
	uint32_t looks;   // in it
	uint32_t entries; // now
};

// What the control thread shows. It asks piece by piece (COMMAND_SHOW_DETECTED), so that packets do not wait for all of it, and
// reads when `pieces` is another one than before.
#define SHOWN_PIECE 1024u // entries that are looked at
#define SHOWN_MAX 64u
struct detection_view {
	uint32_t pieces; // ever
	uint32_t next;   // from where on the next piece is; 0: there is none
	uint32_t n;
	uint32_t left_out;
	struct detected entry[SHOWN_MAX];
};

struct detection {
	struct detected *entry; // [size]; the first is never used
	uint32_t *head;         // [1 << bits]
	unsigned bits;
	uint32_t size;
	uint32_t free, used;
	uint32_t of_session; // entries that one may have
	uint32_t look;       // where detection_tick() goes on
	uint32_t highest;    // entry that was ever used: there is nothing behind
	uint32_t instance;   // the last one that was given out
	uint32_t second;
	uint32_t quic_left; // packets that are decrypted in this second
	uint32_t next_hello;
	uint64_t secret;
	struct quic_crypto *crypto;
	struct detection_view view;
	struct hello now; // what one datagram tells
	struct hello hello[HELLOS];
	struct session_look session[1u << SESSION_BITS];
};

#endif
