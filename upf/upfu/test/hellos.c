#include "hellos.h"

#include <string.h>

#include <openssl/evp.h>

#include "rig.h"

const uint8_t hello_rfc9001[245] = {0x06, 0x00, 0x40, 0xf1, 0x01, 0x00, 0x00, 0xed, 0x03, 0x03,
	0xeb, 0xf8, 0xfa, 0x56, 0xf1, 0x29, 0x39, 0xb9, 0x58, 0x4a, 0x38, 0x96, 0x47, 0x2e, 0xc4,
	0x0b, 0xb8, 0x63, 0xcf, 0xd3, 0xe8, 0x68, 0x04, 0xfe, 0x3a, 0x47, 0xf0, 0x6a, 0x2b, 0x69,
	0x48, 0x4c, 0x00, 0x00, 0x04, 0x13, 0x01, 0x13, 0x02, 0x01, 0x00, 0x00, 0xc0, 0x00, 0x00,
	0x00, 0x10, 0x00, 0x0e, 0x00, 0x00, 0x0b, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 0x2e,
	0x63, 0x6f, 0x6d, 0xff, 0x01, 0x00, 0x01, 0x00, 0x00, 0x0a, 0x00, 0x08, 0x00, 0x06, 0x00,
	0x1d, 0x00, 0x17, 0x00, 0x18, 0x00, 0x10, 0x00, 0x07, 0x00, 0x05, 0x04, 0x61, 0x6c, 0x70,
	0x6e, 0x00, 0x05, 0x00, 0x05, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x33, 0x00, 0x26, 0x00,
	0x24, 0x00, 0x1d, 0x00, 0x20, 0x93, 0x70, 0xb2, 0xc9, 0xca, 0xa4, 0x7f, 0xba, 0xba, 0xf4,
	0x55, 0x9f, 0xed, 0xba, 0x75, 0x3d, 0xe1, 0x71, 0xfa, 0x71, 0xf5, 0x0f, 0x1c, 0xe1, 0x5d,
	0x43, 0xe9, 0x94, 0xec, 0x74, 0xd7, 0x48, 0x00, 0x2b, 0x00, 0x03, 0x02, 0x03, 0x04, 0x00,
	0x0d, 0x00, 0x10, 0x00, 0x0e, 0x04, 0x03, 0x05, 0x03, 0x06, 0x03, 0x02, 0x03, 0x08, 0x04,
	0x08, 0x05, 0x08, 0x06, 0x00, 0x2d, 0x00, 0x02, 0x01, 0x01, 0x00, 0x1c, 0x00, 0x02, 0x40,
	0x01, 0x00, 0x39, 0x00, 0x32, 0x04, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x05, 0x04, 0x80, 0x00, 0xff, 0xff, 0x07, 0x04, 0x80, 0x00, 0xff, 0xff, 0x08, 0x01, 0x10,
	0x01, 0x04, 0x80, 0x00, 0x75, 0x30, 0x09, 0x01, 0x10, 0x0f, 0x08, 0x83, 0x94, 0xc8, 0xf0,
	0x3e, 0x51, 0x57, 0x08, 0x06, 0x04, 0x80, 0x00, 0xff, 0xff};

static void
add(struct octets *to, const void *octets, size_t n)
{
	assert_true(to->n + n <= sizeof(to->at));
	memcpy(to->at + to->n, octets, n);
	to->n += n;
}

static void
add_number(struct octets *to, uint32_t v, unsigned width)
{
	uint8_t octets[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	add(to, octets + 4 - width, width);
}

static void
add_fill(struct octets *to, uint8_t octet, size_t n)
{
	assert_true(to->n + n <= sizeof(to->at));
	memset(to->at + to->n, octet, n);
	to->n += n;
}

static void
set_number(struct octets *to, size_t at, uint32_t v, unsigned width)
{
	struct octets number = {0};

	add_number(&number, v, width);
	memcpy(to->at + at, number.at, width);
}

// ---- TLS ---------------------------------------------------------------------------------------

void
hello_tls(struct octets *to, const char *name, size_t before, size_t behind)
{
	size_t extensions, length = name != NULL ? strlen(name) : 0;

	to->n = 0;
	add_number(to, 0x01000000, 4);
	add_number(to, 0x0303, 2);
	add_fill(to, 0x5a, 32);
	add_number(to, 32, 1);
	add_fill(to, 0xa5, 32);
	add_number(to, 4, 2);
	add_number(to, 0x13011302, 4);
	add_number(to, 0x0100, 2);
	extensions = to->n;
	add_number(to, 0, 2);
	if (before != 0) {
		add_number(to, 51, 2);
		add_number(to, (uint32_t)before, 2);
		add_fill(to, 0x33, before);
	}
	if (name != NULL) {
		add_number(to, 0, 2);
		add_number(to, (uint32_t)length + 5, 2);
		add_number(to, (uint32_t)length + 3, 2);
		add_number(to, 0, 1);
		add_number(to, (uint32_t)length, 2);
		add(to, name, length);
	}
	if (behind != 0) {
		add_number(to, 21, 2);
		add_number(to, (uint32_t)behind, 2);
		add_fill(to, 0, behind);
	}
	set_number(to, extensions, (uint32_t)(to->n - extensions - 2), 2);
	set_number(to, 1, (uint32_t)to->n - 4, 3);
}

void
hello_records(struct octets *to, const struct octets *message, size_t record)
{
	to->n = 0;
	for (size_t at = 0; at < message->n; at += record) {
		size_t n = message->n - at < record ? message->n - at : record;

		add_number(to, 0x160301, 3);
		add_number(to, (uint32_t)n, 2);
		add(to, message->at + at, n);
	}
}

// ---- QUIC --------------------------------------------------------------------------------------

void
hello_crypto_frame(struct octets *to, const struct octets *message, size_t offset, size_t n)
{
	add_number(to, 6, 1);
	add_number(to, 0x80000000u | (uint32_t)offset, 4);
	add_number(to, 0x4000u | (uint32_t)n, 2);
	add(to, message->at + offset, n);
}

// RFC 9001 A.1 and RFC 9369 A.1: what follows from the connection ID 8394c8f03e515708.
struct example {
	uint8_t first;
	uint8_t version[4];
	uint8_t key[16], iv[12], hp[16];
};

static const struct example examples[2] = {
	{.first = 0xc0,
		.version = {0, 0, 0, 1},
		.key = {0x1f, 0x36, 0x96, 0x13, 0xdd, 0x76, 0xd5, 0x46, 0x77, 0x30, 0xef, 0xcb,
			0xe3, 0xb1, 0xa2, 0x2d},
		.iv = {0xfa, 0x04, 0x4b, 0x2f, 0x42, 0xa3, 0xfd, 0x3b, 0x46, 0xfb, 0x25, 0x5c},
		.hp = {0x9f, 0x50, 0x44, 0x9e, 0x04, 0xa0, 0xe8, 0x10, 0x28, 0x3a, 0x1e, 0x99, 0x33,
			0xad, 0xed, 0xd2}},
	{.first = 0xd0,
		.version = {0x6b, 0x33, 0x43, 0xcf},
		.key = {0x8b, 0x1a, 0x0b, 0xc1, 0x21, 0x28, 0x42, 0x90, 0xa2, 0x9e, 0x09, 0x71,
			0xb5, 0xcd, 0x04, 0x5d},
		.iv = {0x91, 0xf7, 0x3e, 0x23, 0x51, 0xd8, 0xfa, 0x91, 0x66, 0x0e, 0x90, 0x9f},
		.hp = {0x45, 0xb9, 0x5e, 0x15, 0x23, 0x5d, 0x6f, 0x45, 0xa6, 0xb1, 0x9c, 0xbc, 0xb0,
			0x29, 0x4b, 0xa9}},
};

void
hello_quic(struct octets *to, unsigned version, uint32_t number, const struct octets *frames,
	size_t datagram)
{
	static const uint8_t id[] = {8, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08};
	const struct example *e = &examples[version - 1];
	EVP_CIPHER_CTX *gcm = EVP_CIPHER_CTX_new(), *ecb = EVP_CIPHER_CTX_new();
	uint8_t nonce[12], mask[32];
	size_t payload = datagram - 22 - 16, header;
	int n;

	assert_non_null(gcm);
	assert_non_null(ecb);
	assert_true(frames->n <= payload);
	to->n = 0;
	add_number(to, e->first | 3u, 1);
	add(to, e->version, 4);
	add(to, id, sizeof(id));
	add_number(to, 0, 2); // no source connection ID, no token
	add_number(to, 0x4000u | (uint32_t)(4 + payload + 16), 2);
	add_number(to, number, 4);
	header = to->n;
	assert_int_equal(header, 22);
	add(to, frames->at, frames->n);
	add_fill(to, 0, payload - frames->n);
	memcpy(nonce, e->iv, sizeof(nonce));
	for (unsigned i = 0; i < 4; i++)
		nonce[8 + i] ^= to->at[header - 4 + i];
	assert_int_equal(EVP_EncryptInit_ex2(gcm, EVP_aes_128_gcm(), e->key, nonce, NULL), 1);
	assert_int_equal(EVP_EncryptUpdate(gcm, NULL, &n, to->at, (int)header), 1);
	assert_int_equal(
		EVP_EncryptUpdate(gcm, to->at + header, &n, to->at + header, (int)payload), 1);
	assert_int_equal(EVP_EncryptFinal_ex(gcm, to->at + header + payload, &n), 1);
	assert_int_equal(
		EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_GET_TAG, 16, to->at + header + payload), 1);
	to->n += 16;
	assert_int_equal(EVP_EncryptInit_ex2(ecb, EVP_aes_128_ecb(), e->hp, NULL, NULL), 1);
	assert_int_equal(EVP_EncryptUpdate(ecb, mask, &n, to->at + header, 16), 1);
	to->at[0] ^= mask[0] & 0x0f;
	for (unsigned i = 0; i < 4; i++)
		to->at[header - 4 + i] ^= mask[1 + i];
	EVP_CIPHER_CTX_free(ecb);
	EVP_CIPHER_CTX_free(gcm);
}

// ---- DNS ---------------------------------------------------------------------------------------

static void
add_name(struct octets *to, const char *name)
{
	while (*name != 0) {
		size_t n = strcspn(name, ".");

		add_number(to, (uint32_t)n, 1);
		add(to, name, n);
		name += n + (name[n] == '.');
	}
	add_number(to, 0, 1);
}

void
hello_dns_question(struct octets *to, uint16_t id, uint16_t type, const char *name)
{
	to->n = 0;
	add_number(to, id, 2);
	add_number(to, 0x0100, 2);
	add_number(to, 1, 2);
	add_fill(to, 0, 6);
	add_name(to, name);
	add_number(to, type, 2);
	add_number(to, 1, 2);
}

void
hello_dns_answer(struct octets *to)
{
	set_number(to, 2, 0x8180, 2);
}

void
hello_dns_record(struct octets *to, const char *owner, uint16_t type, uint32_t ttl,
	const void *data, size_t n)
{
	set_number(to, 6, (uint32_t)(to->at[6] << 8 | to->at[7]) + 1, 2);
	if (owner != NULL)
		add_name(to, owner);
	else
		add_number(to, 0xc00c, 2);
	add_number(to, type, 2);
	add_number(to, 1, 2);
	add_number(to, ttl, 4);
	add_number(to, (uint32_t)n, 2);
	add(to, data, n);
}

void
hello_dns_alias(struct octets *to, const char *owner, uint32_t ttl, const char *target)
{
	struct octets name = {0};

	add_name(&name, target);
	hello_dns_record(to, owner, 5, ttl, name.at, name.n);
}
