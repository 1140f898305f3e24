#include "packet/tls_hello.h"

#include "packet/reader.h"

#define CLIENT_HELLO 1u
#define HANDSHAKE 22u
#define RECORD_HEADER 5u
#define RECORD_MAX 16384u
#define EXTENSION_SERVER_NAME 0u
#define NAME_TYPE_HOST 0u

// What to say of something that does not fit what is left. `whole`: nothing comes behind that.
static enum tls_hello
short_of(bool whole)
{
	return whole ? TLS_HELLO_NOT : TLS_HELLO_MORE;
}

// A vector with a length of one or two octets in front.
static bool
skip_vector(struct reader *r, size_t width)
{
	if (r->n < width)
		return false;
	return reader_skip(r, width + (width == 1 ? r->at[0] : octets2(r->at)));
}

// RFC 6066 3: server_name_list; there is one entry for each type, and one type.
static enum tls_hello
read_server_name(const uint8_t *list, size_t n, struct domain_name *name)
{
	if (n < 5 || octets2(list) != n - 2 || list[2] != NAME_TYPE_HOST ||
		octets2(list + 3) > n - 5 || !domain_name_read(name, list + 5, octets2(list + 3)))
		return TLS_HELLO_NAMELESS;
	return TLS_HELLO_NAME;
}

static enum tls_hello
read_extensions(struct reader *r, bool whole, struct domain_name *name)
{
	while (r->n != 0) {
		unsigned type, length;

		if (r->n < 4)
			return short_of(whole);
		type = octets2(r->at);
		length = octets2(r->at + 2);
		if (r->n - 4 < length)
			return short_of(whole);
		if (type == EXTENSION_SERVER_NAME)
			return read_server_name(r->at + 4, length, name);
		reader_skip(r, 4 + length);
	}
	return whole ? TLS_HELLO_NAMELESS : TLS_HELLO_MORE;
}

enum tls_hello
tls_hello_read(const uint8_t *message, size_t n, struct domain_name *name)
{
	struct reader r = {message, n};
	bool whole = false;
	size_t length;

	if (n != 0 && message[0] != CLIENT_HELLO)
		return TLS_HELLO_NOT;
	if (n < 4)
		return TLS_HELLO_MORE;
	length = (size_t)message[1] << 16 | octets2(message + 2);
	reader_skip(&r, 4);
	if (length <= r.n) {
		r.n = length;
		whole = true;
	}
	// legacy_version 3.x, random, legacy_session_id, cipher_suites, legacy_compression_methods
	if (r.n != 0 && r.at[0] != 3)
		return TLS_HELLO_NOT;
	if (!reader_skip(&r, 2 + 32) || !skip_vector(&r, 1) || !skip_vector(&r, 2) ||
		!skip_vector(&r, 1))
		return short_of(whole);
	if (r.n == 0 && whole) // RFC 5246 7.4.1.2: there may be no extensions
		return TLS_HELLO_NAMELESS;
	if (r.n < 2)
		return short_of(whole);
	length = octets2(r.at);
	reader_skip(&r, 2);
	if (whole && length != r.n)
		return TLS_HELLO_NOT;
	return read_extensions(&r, whole, name);
}

enum tls_hello
tls_hello_read_stream(const uint8_t *stream, size_t n, struct domain_name *name)
{
	uint8_t message[TLS_HELLO_MAX];
	size_t have = 0;

	while (n != 0) {
		size_t length, here;

		if (stream[0] != HANDSHAKE || (n > 1 && stream[1] != 3))
			return TLS_HELLO_NOT;
		if (n < RECORD_HEADER)
			break;
		length = octets2(stream + 3);
		if (length == 0 || length > RECORD_MAX)
			return TLS_HELLO_NOT;
		here = n - RECORD_HEADER < length ? n - RECORD_HEADER : length;
		if (have == 0 && here < length) // most have one record
			return tls_hello_read(stream + RECORD_HEADER, here, name);
		if (here > sizeof(message) - have)
			here = sizeof(message) - have;
		memcpy(message + have, stream + RECORD_HEADER, here);
		have += here;
		if (here < length || have == sizeof(message))
			break;
		stream += RECORD_HEADER + length;
		n -= RECORD_HEADER + length;
		// A whole message: what comes behind it is another's.
		if (have >= 4 && have - 4 >= ((size_t)message[1] << 16 | octets2(message + 2)))
			break;
	}
	return tls_hello_read(message, have, name);
}
