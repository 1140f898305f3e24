#include "packet/dns_message.h"

#include "packet/reader.h"

#define HEADER 12u
#define TYPE_A 1u
#define TYPE_CNAME 5u
#define TYPE_AAAA 28u
#define CLASS_IN 1u
#define ALIASES 8u  // CNAMEs one behind the other that are followed
#define RECORDS 64u // of an answer that are looked at
#define POINTER 0xc0u

// The name at *at, which is then behind it. 1: it is in *name; 0: it is of other octets than names of hosts; -1: it is malformed.
// Each pointer leads before the one that it was reached by, so that there is an end.
static int
read_name(const uint8_t *octets, size_t n, size_t *at, struct domain_name *name)
{
	size_t i = *at, before = *at;
	bool jumped = false;
	int verdict = 1;

	name->length = 0;
	for (;;) {
		if (i >= n)
			return -1;
		if (octets[i] == 0) {
			if (!jumped)
				*at = i + 1;
			return name->length != 0 ? verdict : 0;
		}
		if ((octets[i] & POINTER) == POINTER) {
			size_t to;

			if (n - i < 2)
				return -1;
			to = octets2(octets + i) & 0x3fff;
			if (to >= before)
				return -1;
			if (!jumped)
				*at = i + 2;
			jumped = true;
			i = before = to;
			continue;
		}
		if ((octets[i] & POINTER) != 0 || n - i - 1 < octets[i])
			return -1;
		if (verdict == 1 && !domain_name_add_label(name, octets + i + 1, octets[i]))
			verdict = 0;
		i += 1u + octets[i];
	}
}

bool
dns_message_read(struct dns_message *m, const uint8_t *octets, size_t n)
{
	size_t at = HEADER;

	if (n < HEADER)
		return false;
	*m = (struct dns_message){.id = (uint16_t)octets2(octets), .octets = octets, .length = n};
	m->answers = (octets[2] & 0x80) != 0;
	// Of an ordinary query (OPCODE 0), with one question. Of an answer: not truncated, and no error.
	if ((octets[2] & 0x78) != 0 || octets2(octets + 4) != 1)
		return false;
	if (m->answers && ((octets[2] & 0x02) != 0 || (octets[3] & 0x0f) != 0))
		return false;
	m->records = octets2(octets + 6);
	if (read_name(octets, n, &at, &m->name) != 1 || n - at < 4)
		return false;
	m->type = (uint16_t)octets2(octets + at);
	m->at = at + 4;
	return (m->type == TYPE_A || m->type == TYPE_AAAA) && octets2(octets + at + 2) == CLASS_IN;
}

struct record {
	struct domain_name owner;
	bool named;
	unsigned type;
	uint32_t ttl;
	size_t data, length;
};

// False: there is none, or it is malformed.
static bool
next_record(const struct dns_message *m, size_t *at, struct record *r)
{
	const uint8_t *head;
	int named = read_name(m->octets, m->length, at, &r->owner);

	if (named < 0 || m->length - *at < 10)
		return false;
	head = m->octets + *at;
	r->named = named == 1 && octets2(head + 2) == CLASS_IN;
	r->type = octets2(head);
	r->ttl = (uint32_t)octets2(head + 4) << 16 | octets2(head + 6);
	if (r->ttl > INT32_MAX) // RFC 2181 8
		r->ttl = 0;
	r->length = octets2(head + 8);
	r->data = *at + 10;
	if (m->length - r->data < r->length)
		return false;
	*at = r->data + r->length;
	return true;
}

// The alias of a name; false: it has none.
static bool
follow(const struct dns_message *m, struct domain_name *name, uint32_t *ttl)
{
	size_t at = m->at;
	struct record r;

	for (unsigned i = 0; i < m->records && i < RECORDS && next_record(m, &at, &r); i++) {
		size_t data = r.data;
		struct domain_name to;

		if (r.type != TYPE_CNAME || !r.named || !domain_name_is(&r.owner, name))
			continue;
		if (read_name(m->octets, m->length, &data, &to) != 1)
			return false;
		*name = to;
		*ttl = r.ttl < *ttl ? r.ttl : *ttl;
		return true;
	}
	return false;
}

unsigned
dns_message_addresses(const struct dns_message *m, struct dns_address address[DNS_ADDRESSES])
{
	unsigned width = m->type == TYPE_A ? 4 : 16, n = 0;
	struct domain_name name = m->name;
	uint32_t ttl = UINT32_MAX;
	size_t at = m->at;
	struct record r;

	for (unsigned i = 0; i < ALIASES && follow(m, &name, &ttl); i++)
		;
	for (unsigned i = 0;
		i < m->records && i < RECORDS && n < DNS_ADDRESSES && next_record(m, &at, &r);
		i++) {
		if (r.type != m->type || !r.named || r.length != width ||
			!domain_name_is(&r.owner, &name))
			continue;
		address[n] =
			(struct dns_address){.ip6 = width == 16, .ttl = r.ttl < ttl ? r.ttl : ttl};
		memcpy(address[n++].addr, m->octets + r.data, width);
	}
	return n;
}
