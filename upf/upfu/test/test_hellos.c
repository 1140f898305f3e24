// What is read of ClientHellos, of QUIC's Initial packets and of DNS messages: each by an example, cut at every octet,
// and with what makes it none.
#include <string.h>

#include "hellos.h"
#include "packet/dns_message.h"
#include "packet/quic_initial.h"
#include "packet/tls_hello.h"
#include "rig.h"
#include "tests.h"

static bool
name_is(const struct domain_name *name, const char *text)
{
	return name->length == strlen(text) && memcmp(name->text, text, name->length) == 0;
}

// ---- names -------------------------------------------------------------------------------------

static void
names_are_read_or_refused(void **state)
{
	static const struct {
		const char *text, *want; // NULL: refused
	} cases[] = {
		{"example.com", "example.com"},
		{"WWW.Example.COM", "www.example.com"},
		{"example.com.", "example.com"},
		{"_dns.x-1.example", "_dns.x-1.example"},
		{"localhost", "localhost"},
		{"", NULL},
		{".", NULL},
		{".example.com", NULL},
		{"example..com", NULL},
		{"example.com..", NULL},
		{"exa mple.com", NULL},
		{"example.com/", NULL},
		{"ex\xc3\xa4mple.com", NULL},
		{"a123456789a123456789a123456789a123456789a123456789a123456789abc.de",
			"a123456789a123456789a123456789a123456789a123456789a123456789abc.de"},
		{"a123456789a123456789a123456789a123456789a123456789a123456789abcd.de", NULL},
	};
	struct domain_name name;
	uint8_t longest[255];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool read = domain_name_read(
			&name, (const uint8_t *)cases[i].text, strlen(cases[i].text));

		assert_int_equal(read, cases[i].want != NULL);
		assert_true(!read || name_is(&name, cases[i].want));
	}
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 49; i < sizeof(longest); i += 50)
		longest[i] = '.';
	assert_true(domain_name_read(&name, longest, DOMAIN_NAME_MAX));
	assert_false(domain_name_read(&name, longest, DOMAIN_NAME_MAX + 1));
}

// ---- TLS ---------------------------------------------------------------------------------------

static void
a_client_hello_tells_its_server(void **state)
{
	struct octets message, stream;
	struct domain_name name;

	(void)state;
	hello_tls(&message, "www.Example.com", 100, 200);
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NAME);
	assert_true(name_is(&name, "www.example.com"));
	// In one record, and in several.
	for (size_t record = 1; record <= message.n; record++) {
		hello_records(&stream, &message, record);
		assert_int_equal(tls_hello_read_stream(stream.at, stream.n, &name), TLS_HELLO_NAME);
		assert_true(name_is(&name, "www.example.com"));
	}
	// What the client sends next is none of it.
	hello_records(&stream, &message, message.n);
	memset(stream.at + stream.n, 0xff, 64);
	assert_int_equal(tls_hello_read_stream(stream.at, stream.n + 64, &name), TLS_HELLO_NAME);
	hello_tls(&message, NULL, 100, 0);
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NAMELESS);
	hello_tls(&message, "192.0.2.1 ", 0, 0);
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NAMELESS);
	assert_int_equal(tls_hello_read(hello_rfc9001 + 4, 241, &name), TLS_HELLO_NAME);
	assert_true(name_is(&name, "example.com"));
}

// Whatever is there of it, nothing but the name is said, and that as soon as it is there.
static void
a_client_hello_that_is_cut_wants_more(void **state)
{
	static const size_t records[] = {7, 64, 4096};
	struct octets message, stream;
	struct domain_name name;
	size_t named = 0;

	(void)state;
	hello_tls(&message, "www.example.com", 1200, 300);
	for (size_t n = 0; n <= message.n; n++) {
		enum tls_hello verdict = tls_hello_read(message.at, n, &name);

		assert_int_equal(verdict,
			named == 0 && verdict != TLS_HELLO_NAME ? TLS_HELLO_MORE : TLS_HELLO_NAME);
		if (verdict == TLS_HELLO_NAME && named == 0)
			named = n;
	}
	assert_int_equal(named, message.n - 304); // of the extension behind it nothing is wanted
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		bool was_named = false;

		hello_records(&stream, &message, records[i]);
		for (size_t n = 0; n <= stream.n; n++) {
			enum tls_hello verdict = tls_hello_read_stream(stream.at, n, &name);

			was_named |= verdict == TLS_HELLO_NAME;
			assert_int_equal(verdict, was_named ? TLS_HELLO_NAME : TLS_HELLO_MORE);
		}
		assert_true(was_named);
	}
}

// A change of any octet in front of the name makes no reader leave what is there (the sanitizers look), and the lengths are
// believed only where they fit.
static void
what_is_no_client_hello_is_none(void **state)
{
	struct octets message, stream;
	struct domain_name name;

	(void)state;
	hello_tls(&message, "www.example.com", 0, 0);
	message.at[0] = 2; // ServerHello
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NOT);
	hello_tls(&message, "www.example.com", 0, 0);
	message.at[4] = 2; // its version
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NOT);
	hello_tls(&message, "www.example.com", 0, 0);
	message.at[38] = 255; // longer than there is
	assert_int_equal(tls_hello_read(message.at, message.n, &name), TLS_HELLO_NOT);
	hello_records(&stream, &message, 4096);
	stream.at[0] = 23;
	assert_int_equal(tls_hello_read_stream(stream.at, stream.n, &name), TLS_HELLO_NOT);
	assert_int_equal(tls_hello_read_stream((const uint8_t *)"GET / HTTP/1.1\r\n", 16, &name),
		TLS_HELLO_NOT);
	for (size_t i = 0; i < message.n; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			hello_tls(&message, "www.example.com", 10, 10);
			message.at[i] ^= (uint8_t)(1u << bit);
			tls_hello_read(message.at, message.n, &name);
		}
	}
}

// ---- QUIC --------------------------------------------------------------------------------------

struct pieces {
	struct octets message;
	size_t first, n; // of the last piece
	unsigned told;
};

static void
take_piece(void *context, uint64_t offset, const uint8_t *octets, size_t n)
{
	struct pieces *p = context;

	p->told++;
	p->first = (size_t)offset;
	p->n = n;
	assert_true(offset < 4096 && n < 2048);
	memcpy(p->message.at + offset, octets, n);
	if (offset + n > p->message.n)
		p->message.n = offset + n;
}

// RFC 9001 A.2, RFC 9369 A.2: what of the protected packets is compared was computed by others.
static void
the_examples_of_the_rfcs_are_read(void **state)
{
	static const uint8_t want[2][38] = {
		{0xc0, 0x00, 0x00, 0x00, 0x01, 0x08, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08,
			0x00, 0x00, 0x44, 0x9e, 0x7b, 0x9a, 0xec, 0x34, 0xd1, 0xb1, 0xc9, 0x8d,
			0xd7, 0x68, 0x9f, 0xb8, 0xec, 0x11, 0xd2, 0x42, 0xb1, 0x23, 0xdc, 0x9b},
		{0xd7, 0x6b, 0x33, 0x43, 0xcf, 0x08, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08,
			0x00, 0x00, 0x44, 0x9e, 0xa0, 0xc9, 0x5e, 0x82, 0xff, 0xe6, 0x7b, 0x6a,
			0xbc, 0xdb, 0x42, 0x98, 0xb4, 0x85, 0xdd, 0x04, 0xde, 0x80, 0x60, 0x71},
	};
	static const uint8_t tag[16] = {0xe2, 0x21, 0xaf, 0x44, 0x86, 0x00, 0x18, 0xab, 0x08, 0x56,
		0x97, 0x2e, 0x19, 0x4c, 0xd9, 0x34};
	struct quic_crypto *crypto = quic_crypto_create();
	struct octets frames = {.n = sizeof(hello_rfc9001)}, datagram;
	struct domain_name name;

	(void)state;
	assert_non_null(crypto);
	memcpy(frames.at, hello_rfc9001, sizeof(hello_rfc9001));
	for (unsigned version = 1; version <= 2; version++) {
		struct pieces p = {0};

		hello_quic(&datagram, version, 2, &frames, 1200);
		assert_memory_equal(datagram.at, want[version - 1], sizeof(want[0]));
		if (version == 1)
			assert_memory_equal(datagram.at + 1184, tag, sizeof(tag));
		assert_true(quic_initial_seems(datagram.at, datagram.n));
		assert_int_equal(quic_initial_read(crypto, datagram.at, datagram.n, take_piece, &p),
			QUIC_INITIAL_READ);
		assert_int_equal(p.told, 1);
		assert_int_equal(tls_hello_read(p.message.at, p.message.n, &name), TLS_HELLO_NAME);
		assert_true(name_is(&name, "example.com"));
	}
	quic_crypto_free(crypto);
}

static void
damaged_initials_are_refused(void **state)
{
	struct quic_crypto *crypto = quic_crypto_create();
	struct octets frames = {.n = sizeof(hello_rfc9001)}, datagram;
	struct pieces p = {0};

	(void)state;
	assert_non_null(crypto);
	memcpy(frames.at, hello_rfc9001, sizeof(hello_rfc9001));
	hello_quic(&datagram, 1, 2, &frames, 1200);
	for (size_t n = 0; n < datagram.n; n++)
		assert_int_not_equal(quic_initial_read(crypto, datagram.at, n, take_piece, &p),
			QUIC_INITIAL_READ);
	for (size_t i = 0; i < datagram.n; i++) {
		datagram.at[i] ^= 0x10;
		assert_int_not_equal(
			quic_initial_read(crypto, datagram.at, datagram.n, take_piece, &p),
			QUIC_INITIAL_READ);
		datagram.at[i] ^= 0x10;
	}
	assert_int_equal(p.told, 0);
	assert_false(quic_initial_seems(datagram.at, QUIC_DATAGRAM_MIN - 1));
	assert_int_equal(quic_initial_read(crypto, datagram.at, datagram.n, take_piece, &p),
		QUIC_INITIAL_READ);
	quic_crypto_free(crypto);
}

static void
frames_of_an_initial_are_told_apart(void **state)
{
	// ACK with two ranges, ECN counts, PING, PADDING, CRYPTO in two pieces, the second one first; then the connection is closed,
	// and what would come is not looked at.
	static const uint8_t frames[] = {0x02, 0x05, 0x00, 0x01, 0x02, 0x00, 0x01, 0x03, 0x40, 0x05,
		0x00, 0x00, 0x02, 0x01, 0x02, 0x03, 0x01, 0x00, 0x00, 0x06, 0x03, 0x02, 'd', 'e',
		0x06, 0x00, 0x03, 'a', 'b', 'c', 0x1c, 0x06, 0x00, 0x7f};
	static const uint8_t cut[] = {0x06, 0x00, 0x05, 'a', 'b'};
	struct pieces p = {0};

	(void)state;
	assert_true(quic_frames_read(frames, sizeof(frames), take_piece, &p));
	assert_int_equal(p.told, 2);
	assert_int_equal(p.message.n, 5);
	assert_memory_equal(p.message.at, "abcde", 5);
	assert_false(quic_frames_read(cut, sizeof(cut), take_piece, &p));
	assert_int_equal(p.told, 2);
}

// ---- DNS ---------------------------------------------------------------------------------------

static const uint8_t address_a[4] = {198, 51, 100, 7}, address_b[4] = {198, 51, 100, 8};

static void
an_answer_is_read_with_its_aliases(void **state)
{
	struct dns_address address[DNS_ADDRESSES];
	struct octets m;
	struct dns_message read;
	size_t whole;

	(void)state;
	hello_dns_question(&m, 0x1234, 1, "WWW.example.com");
	assert_true(dns_message_read(&read, m.at, m.n));
	assert_false(read.answers);
	assert_int_equal(read.id, 0x1234);
	assert_int_equal(read.type, 1);
	assert_true(name_is(&read.name, "www.example.com"));
	hello_dns_answer(&m);
	hello_dns_record(&m, "a.cdn.example", 1, 60, address_a, 4); // records come in any order
	hello_dns_alias(&m, NULL, 300, "b.cdn.example");
	hello_dns_alias(&m, "b.cdn.example", 20, "A.cdn.example");
	hello_dns_record(&m, "a.cdn.example", 1, 90, address_b, 4);
	whole = m.n;
	hello_dns_record(&m, "other.example", 1, 90, address_b, 4);
	assert_true(dns_message_read(&read, m.at, m.n));
	assert_true(read.answers);
	assert_int_equal(dns_message_addresses(&read, address), 2);
	assert_memory_equal(address[0].addr, address_a, 4);
	assert_memory_equal(address[1].addr, address_b, 4);
	assert_int_equal(address[0].ttl, 20);
	assert_false(address[0].ip6);
	for (size_t n = 0; n < whole; n++) {
		if (dns_message_read(&read, m.at, n))
			assert_true(dns_message_addresses(&read, address) < 2);
	}
	hello_dns_question(&m, 1, 28, "example.com");
	hello_dns_answer(&m);
	hello_dns_record(&m, NULL, 28, 0x80000000u, rig_remote6, 16);
	hello_dns_record(&m, NULL, 1, 60, address_a, 4);
	assert_true(dns_message_read(&read, m.at, m.n));
	assert_int_equal(dns_message_addresses(&read, address), 1);
	assert_true(address[0].ip6);
	assert_int_equal(address[0].ttl, 0);
	assert_memory_equal(address[0].addr, rig_remote6, 16);
}

static void
what_is_no_question_for_addresses_is_none(void **state)
{
	struct dns_address address[DNS_ADDRESSES];
	struct dns_message read;
	struct octets m;

	(void)state;
	hello_dns_question(&m, 1, 16, "example.com"); // TXT
	assert_false(dns_message_read(&read, m.at, m.n));
	hello_dns_question(&m, 1, 1, "example.com");
	m.at[2] = 0x28; // another OPCODE
	assert_false(dns_message_read(&read, m.at, m.n));
	hello_dns_question(&m, 1, 1, "example.com");
	m.at[5] = 2; // two questions
	assert_false(dns_message_read(&read, m.at, m.n));
	hello_dns_question(&m, 1, 1, "exam ple.com");
	assert_false(dns_message_read(&read, m.at, m.n));
	hello_dns_question(&m, 1, 1, "example.com");
	hello_dns_answer(&m);
	m.at[3] = 0x83; // NXDOMAIN
	assert_false(dns_message_read(&read, m.at, m.n));
	hello_dns_answer(&m);
	m.at[2] |= 0x02; // truncated
	assert_false(dns_message_read(&read, m.at, m.n));
	// Aliases in a ring come to an end, and to no address.
	hello_dns_question(&m, 1, 1, "example.com");
	hello_dns_answer(&m);
	hello_dns_alias(&m, NULL, 60, "b.example");
	hello_dns_alias(&m, "b.example", 60, "example.com");
	hello_dns_record(&m, "c.example", 1, 60, address_a, 4);
	assert_true(dns_message_read(&read, m.at, m.n));
	assert_int_equal(dns_message_addresses(&read, address), 0);
	// A pointer to itself.
	hello_dns_question(&m, 1, 1, "example.com");
	m.at[12] = 0xc0;
	m.at[13] = 12;
	assert_false(dns_message_read(&read, m.at, m.n));
}

int
test_hellos(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_or_refused),
		cmocka_unit_test(a_client_hello_tells_its_server),
		cmocka_unit_test(a_client_hello_that_is_cut_wants_more),
		cmocka_unit_test(what_is_no_client_hello_is_none),
		cmocka_unit_test(the_examples_of_the_rfcs_are_read),
		cmocka_unit_test(damaged_initials_are_refused),
		cmocka_unit_test(frames_of_an_initial_are_told_apart),
		cmocka_unit_test(an_answer_is_read_with_its_aliases),
		cmocka_unit_test(what_is_no_question_for_addresses_is_none),
	};

	return cmocka_run_group_tests_name("hellos", tests, NULL, NULL);
}
