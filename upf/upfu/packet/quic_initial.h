// What a QUIC client sends first: Initial packets of version 1 (RFC 9000 17.2.2, RFC 9001 5) or 2 (RFC 9369). They are
// encrypted by keys that follow from what stands in them, so that whoever sees them can read them.
//
// The primitives are OpenSSL's. Everything it needs is made at the beginning: reading a packet allocates nothing.
#ifndef UPFU_QUIC_INITIAL_H
#define UPFU_QUIC_INITIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// RFC 9000 14.1: a client's datagram with an Initial packet is padded to this; what is shorter is no server's to answer.
#define QUIC_DATAGRAM_MIN 1200u
#define QUIC_DATAGRAM_MAX 1500u // longer ones are not looked at
#define QUIC_PACKETS_MAX 3u     // of a datagram

enum quic_initial {
	QUIC_INITIAL_NOT,  // no Initial packet of a version that is known
	QUIC_INITIAL_BAD,  // one that is malformed, or not encrypted by its keys
	QUIC_INITIAL_READ, // each piece of its CRYPTO frames was told
};

// A piece of the TLS handshake.
typedef void quic_piece_fn(void *context, uint64_t offset, const uint8_t *octets, size_t n);

struct quic_crypto;
// NULL: out of memory, or OpenSSL has not what it takes.
struct quic_crypto *quic_crypto_create(void);
void quic_crypto_free(struct quic_crypto *crypto);

// By its first octets, without a key. Cheap, for what comes all the time.
static inline bool
quic_initial_seems(const uint8_t *datagram, size_t n)
{
	uint32_t version;

	if (n < QUIC_DATAGRAM_MIN || n > QUIC_DATAGRAM_MAX || (datagram[0] & 0xc0) != 0xc0)
		return false;
	version = (uint32_t)datagram[1] << 24 | (uint32_t)datagram[2] << 16 |
		(uint32_t)datagram[3] << 8 | datagram[4];
	return (version == 1 && (datagram[0] & 0x30) == 0) ||
		(version == 0x6b3343cf && (datagram[0] & 0x30) == 0x10);
}

// Of a UDP datagram from a client: the Initial packets that it begins with.
enum quic_initial quic_initial_read(struct quic_crypto *crypto, const uint8_t *datagram, size_t n,
	quic_piece_fn *piece, void *context);
// Of the frames of one, decrypted. False: they are malformed; what came before was told.
bool quic_frames_read(const uint8_t *frames, size_t n, quic_piece_fn *piece, void *context);

#endif
