// What tells the name of a server, by hand: TLS ClientHellos, QUIC Initial packets, DNS messages.
#ifndef UPFU_TEST_HELLOS_H
#define UPFU_TEST_HELLOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct octets {
	size_t n;
	uint8_t at[8192];
};

// A ClientHello as a handshake message. `before` octets of another extension stand before the name, `behind` ones behind it.
// name NULL: it tells none.
void hello_tls(struct octets *to, const char *name, size_t before, size_t behind);
// A handshake message in TLS records of so many octets each.
void hello_records(struct octets *to, const struct octets *message, size_t record);
// The first message of the examples in RFC 9001 A.2 and RFC 9369 A.2: it asks for example.com.
extern const uint8_t hello_rfc9001[245];
// A CRYPTO frame with a part of a message.
void hello_crypto_frame(struct octets *to, const struct octets *message, size_t offset, size_t n);
// An Initial packet with these frames, padded to `datagram` octets, by the examples' connection ID and keys. version 1 or 2.
void hello_quic(struct octets *to, unsigned version, uint32_t number, const struct octets *frames,
	size_t datagram);

// A question for the addresses of a name (type 1 or 28).
void hello_dns_question(struct octets *to, uint16_t id, uint16_t type, const char *name);
// Makes it the answer, without records yet.
void hello_dns_answer(struct octets *to);
// Adds a record with these data; owner NULL: the name that was asked for, by a pointer.
void hello_dns_record(struct octets *to, const char *owner, uint16_t type, uint32_t ttl,
	const void *data, size_t n);
void hello_dns_alias(struct octets *to, const char *owner, uint32_t ttl, const char *target);

#endif
