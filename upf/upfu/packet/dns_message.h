// A DNS question for addresses and its answer (RFC 1035 4.1), as they stand in a UDP datagram.
#ifndef UPFU_DNS_MESSAGE_H
#define UPFU_DNS_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "rules/domain_name.h"
#include "upf_abi.h"

#define DNS_PORT 53u
#define DNS_ADDRESSES 16u // that are taken of one answer

struct dns_message {
	uint16_t id;
	uint16_t type; // of the question: A or AAAA
	bool answers;
	struct domain_name name; // that is asked for
	// The rest of an answer
	const uint8_t *octets;
	size_t length, at;
	unsigned records;
};

struct dns_address {
	upf_addr addr; // IPv4: the first four octets
	bool ip6;
	uint32_t ttl; // seconds, the least of what leads to it
};

// Of an ordinary question for addresses, or an answer to one that found something. False: it is none.
bool dns_message_read(struct dns_message *m, const uint8_t *octets, size_t n);
// The addresses that an answer has for the name, by way of its aliases. Returns how many.
unsigned dns_message_addresses(
	const struct dns_message *m, struct dns_address address[DNS_ADDRESSES]);

#endif
