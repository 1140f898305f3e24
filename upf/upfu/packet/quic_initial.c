#include "packet/quic_initial.h"

#include <stdlib.h>
#include <string.h>

#define OPENSSL_SUPPRESS_DEPRECATED // SHA256_Init() and its like: of OpenSSL 3.0 EVP_DigestInit_ex2() allocates
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "packet/reader.h"

#define SHA256_OCTETS 32u
#define SHA256_BLOCK 64u
#define KEY_OCTETS 16u
#define IV_OCTETS 12u
#define TAG_OCTETS 16u
#define SAMPLE_OCTETS 16u
#define CONNECTION_ID_MAX 20u

struct quic_crypto {
	EVP_CIPHER *gcm, *ecb;
	EVP_CIPHER_CTX *open, *mask;
	uint8_t frames[QUIC_DATAGRAM_MAX];
};

// What a version has of its own.
struct version {
	uint32_t number;
	uint8_t type; // of an Initial packet, as it stands in the first octet
	uint8_t salt[20];
	const char *key, *iv, *hp;
};

static const struct version versions[] = {
	{.number = 1, // RFC 9001 5.2, 5.1
		.type = 0x00,
		.salt = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6,
			0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a},
		.key = "tls13 quic key",
		.iv = "tls13 quic iv",
		.hp = "tls13 quic hp"},
	{.number = 0x6b3343cf, // RFC 9369 3.1, 3.2, 3.3
		.type = 0x10,
		.salt = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe,
			0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9},
		.key = "tls13 quicv2 key",
		.iv = "tls13 quicv2 iv",
		.hp = "tls13 quicv2 hp"},
};

// ---- the primitives ----------------------------------------------------------------------------

struct quic_crypto *
quic_crypto_create(void)
{
	static const uint8_t nothing[KEY_OCTETS];
	struct quic_crypto *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	OPENSSL_init_crypto(
		OPENSSL_INIT_NO_LOAD_CONFIG, NULL); // a machine's policies are not for this
	c->gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
	c->ecb = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
	c->open = EVP_CIPHER_CTX_new();
	c->mask = EVP_CIPHER_CTX_new();
	// What names the algorithm allocates; later the key alone is given.
	if (c->gcm == NULL || c->ecb == NULL || c->open == NULL || c->mask == NULL ||
		EVP_DecryptInit_ex2(c->open, c->gcm, nothing, nothing, NULL) != 1 ||
		EVP_EncryptInit_ex2(c->mask, c->ecb, nothing, NULL, NULL) != 1) {
		quic_crypto_free(c);
		return NULL;
	}
	return c;
}

void
quic_crypto_free(struct quic_crypto *c)
{
	if (c == NULL)
		return;
	EVP_CIPHER_CTX_free(c->mask);
	EVP_CIPHER_CTX_free(c->open);
	EVP_CIPHER_free(c->ecb);
	EVP_CIPHER_free(c->gcm);
	free(c);
}

static void
sha256(const uint8_t *pad, const uint8_t *octets, size_t n, uint8_t *out)
{
	SHA256_CTX state;

	SHA256_Init(&state);
	SHA256_Update(&state, pad, SHA256_BLOCK);
	SHA256_Update(&state, octets, n);
	SHA256_Final(out, &state);
}

// RFC 2104. The key is no longer than a block.
static void
hmac(const uint8_t *key, size_t key_n, const uint8_t *octets, size_t n, uint8_t out[SHA256_OCTETS])
{
	uint8_t pad[SHA256_BLOCK] = {0}, inner[SHA256_OCTETS];

	memcpy(pad, key, key_n);
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	sha256(pad, octets, n, inner);
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256(pad, inner, sizeof(inner), out);
}

// HKDF-Expand-Label without a context (RFC 8446 7.1, RFC 5869 2.3): one round is enough for these.
static void
expand(const uint8_t secret[SHA256_OCTETS], const char *label, size_t n, uint8_t out[SHA256_OCTETS])
{
	uint8_t info[64];
	size_t length = strlen(label);

	info[0] = 0;
	info[1] = (uint8_t)n;
	info[2] = (uint8_t)length;
	memcpy(info + 3, label, length);
	info[3 + length] = 0;
	info[4 + length] = 1;
	hmac(secret, SHA256_OCTETS, info, 5 + length, out);
}

struct keys {
	uint8_t key[SHA256_OCTETS], iv[SHA256_OCTETS],
		hp[SHA256_OCTETS]; // KEY_OCTETS, IV_OCTETS, KEY_OCTETS
};

static void
client_keys(const struct version *v, const uint8_t *id, size_t id_n, struct keys *k)
{
	uint8_t initial[SHA256_OCTETS], client[SHA256_OCTETS];

	hmac(v->salt, sizeof(v->salt), id, id_n, initial);
	expand(initial, "tls13 client in", SHA256_OCTETS, client);
	expand(client, v->key, KEY_OCTETS, k->key);
	expand(client, v->iv, IV_OCTETS, k->iv);
	expand(client, v->hp, KEY_OCTETS, k->hp);
}

static bool
header_mask(struct quic_crypto *c, const uint8_t *hp, const uint8_t *sample,
	uint8_t mask[SAMPLE_OCTETS])
{
	int n = 0;

	return EVP_EncryptInit_ex2(c->mask, NULL, hp, NULL, NULL) == 1 &&
		EVP_CIPHER_CTX_set_padding(c->mask, 0) == 1 &&
		EVP_EncryptUpdate(c->mask, mask, &n, sample, SAMPLE_OCTETS) == 1 &&
		n == SAMPLE_OCTETS;
}

// Into c->frames. `n` octets with the tag, behind `header` octets of associated data.
static bool
unseal(struct quic_crypto *c, const struct keys *k, const uint8_t nonce[IV_OCTETS],
	const uint8_t *header, size_t header_n, const uint8_t *sealed, size_t n)
{
	uint8_t tag[TAG_OCTETS];
	int out = 0, rest = 0;

	memcpy(tag, sealed + n - TAG_OCTETS, sizeof(tag));
	return EVP_DecryptInit_ex2(c->open, NULL, k->key, nonce, NULL) == 1 &&
		EVP_DecryptUpdate(c->open, NULL, &out, header, (int)header_n) == 1 &&
		EVP_DecryptUpdate(c->open, c->frames, &out, sealed, (int)(n - TAG_OCTETS)) == 1 &&
		EVP_CIPHER_CTX_ctrl(c->open, EVP_CTRL_AEAD_SET_TAG, TAG_OCTETS, tag) == 1 &&
		EVP_DecryptFinal_ex(c->open, c->frames + out, &rest) == 1;
}

// ---- packets -----------------------------------------------------------------------------------

// RFC 9000 16
static bool
read_varint(struct reader *r, uint64_t *v)
{
	size_t n;

	if (r->n == 0)
		return false;
	n = (size_t)1 << (r->at[0] >> 6);
	if (r->n < n)
		return false;
	*v = r->at[0] & 0x3f;
	for (size_t i = 1; i < n; i++)
		*v = *v << 8 | r->at[i];
	return reader_skip(r, n);
}

// A connection ID, with its length in front. False: it is too long, or not there.
static bool
read_id(struct reader *r, const uint8_t **id, size_t *n)
{
	if (r->n == 0 || r->at[0] > CONNECTION_ID_MAX)
		return false;
	*n = r->at[0];
	*id = r->at + 1;
	return reader_skip(r, 1 + *n);
}

static const struct version *
version_of(const uint8_t *packet, size_t n)
{
	if (n < 7 || (packet[0] & 0xc0) != 0xc0)
		return NULL;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct version *v = &versions[i];

		if (v->number ==
				((uint32_t)packet[1] << 24 | (uint32_t)packet[2] << 16 |
					(uint32_t)packet[3] << 8 | packet[4]) &&
			(packet[0] & 0x30) == v->type)
			return v;
	}
	return NULL;
}

// RFC 9001 5.4: off with the header's protection. `from` is where the packet number stands, `n` how much there is from there on.
// Returns the octets of the header in `header`, 0: they cannot be had.
static size_t
unmask(struct quic_crypto *c, const struct keys *k, const uint8_t *packet, const uint8_t *from,
	size_t n, uint8_t header[QUIC_DATAGRAM_MAX], uint8_t nonce[IV_OCTETS])
{
	uint8_t mask[SAMPLE_OCTETS];
	size_t front = (size_t)(from - packet), octets;

	if (n < 4 + SAMPLE_OCTETS || !header_mask(c, k->hp, from + 4, mask))
		return 0;
	memcpy(header, packet, front + 4);
	header[0] ^= mask[0] & 0x0f;
	octets = (header[0] & 0x03) + 1u;
	memcpy(nonce, k->iv, IV_OCTETS);
	for (size_t i = 0; i < octets; i++) {
		header[front + i] ^= mask[1 + i];
		nonce[IV_OCTETS - octets + i] ^= header[front + i];
	}
	return front + octets;
}

// One Initial packet; *used is how much of the datagram it takes.
static enum quic_initial
read_packet(struct quic_crypto *c, const uint8_t *packet, size_t n, size_t *used,
	quic_piece_fn *piece, void *context)
{
	const struct version *v = version_of(packet, n);
	uint8_t header[QUIC_DATAGRAM_MAX], nonce[IV_OCTETS];
	struct reader r = {packet, n};
	const uint8_t *id, *other;
	size_t id_n, other_n, header_n;
	uint64_t token, length;
	struct keys k;

	if (v == NULL)
		return QUIC_INITIAL_NOT;
	if (!reader_skip(&r, 5) || !read_id(&r, &id, &id_n) || !read_id(&r, &other, &other_n) ||
		!read_varint(&r, &token) || token > r.n || !reader_skip(&r, (size_t)token) ||
		!read_varint(&r, &length) || length > r.n || length < 4 + SAMPLE_OCTETS)
		return QUIC_INITIAL_BAD;
	*used = (size_t)(r.at - packet) + (size_t)length;
	client_keys(v, id, id_n, &k);
	header_n = unmask(c, &k, packet, r.at, (size_t)length, header, nonce);
	if (header_n == 0 || *used - header_n < TAG_OCTETS ||
		!unseal(c, &k, nonce, header, header_n, packet + header_n, *used - header_n))
		return QUIC_INITIAL_BAD;
	return quic_frames_read(c->frames, *used - header_n - TAG_OCTETS, piece, context)
		? QUIC_INITIAL_READ
		: QUIC_INITIAL_BAD;
}

enum quic_initial
quic_initial_read(struct quic_crypto *crypto, const uint8_t *datagram, size_t n,
	quic_piece_fn *piece, void *context)
{
	enum quic_initial verdict = QUIC_INITIAL_NOT;

	if (n > QUIC_DATAGRAM_MAX)
		return QUIC_INITIAL_NOT;
	for (unsigned i = 0; i < QUIC_PACKETS_MAX && n != 0; i++) {
		size_t used = 0;
		enum quic_initial now = read_packet(crypto, datagram, n, &used, piece, context);

		if (now !=
			QUIC_INITIAL_READ) // RFC 9000 12.2: one that cannot be read is as if it were not there
			return verdict != QUIC_INITIAL_NOT ? verdict : now;
		verdict = now;
		datagram += used;
		n -= used;
	}
	return verdict;
}

// ---- frames ------------------------------------------------------------------------------------

#define FRAME_PADDING 0x00u
#define FRAME_PING 0x01u
#define FRAME_ACK 0x02u
#define FRAME_ACK_ECN 0x03u
#define FRAME_CRYPTO 0x06u

static bool
skip_varints(struct reader *r, uint64_t n)
{
	uint64_t v;

	for (; n != 0; n--) {
		if (!read_varint(r, &v))
			return false;
	}
	return true;
}

// RFC 9000 19.3: the largest one, the delay, how many ranges, the first range; two of each range; three counts of ECN.
static bool
skip_ack(struct reader *r, bool ecn)
{
	uint64_t ranges;

	return skip_varints(r, 2) && read_varint(r, &ranges) && ranges <= QUIC_DATAGRAM_MAX &&
		skip_varints(r, 1 + 2 * ranges + (ecn ? 3 : 0));
}

// RFC 9000 12.4: what an Initial packet may have. One that closes the connection ends it.
bool
quic_frames_read(const uint8_t *frames, size_t n, quic_piece_fn *piece, void *context)
{
	struct reader r = {frames, n};

	while (r.n != 0) {
		uint8_t type = r.at[0];
		uint64_t offset, length;

		reader_skip(&r, 1);
		switch (type) {
		case FRAME_PADDING:
		case FRAME_PING:
			break;
		case FRAME_ACK:
		case FRAME_ACK_ECN:
			if (!skip_ack(&r, type == FRAME_ACK_ECN))
				return false;
			break;
		case FRAME_CRYPTO:
			if (!read_varint(&r, &offset) || !read_varint(&r, &length) || length > r.n)
				return false;
			piece(context, offset, r.at, (size_t)length);
			reader_skip(&r, (size_t)length);
			break;
		default:
			return true;
		}
	}
	return true;
}
