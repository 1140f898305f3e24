// A domain name that a packet tells: in lower case, labels of letters, digits, hyphens and underscores with dots between
// them, none at the end.
#ifndef UPFU_DOMAIN_NAME_H
#define UPFU_DOMAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DOMAIN_NAME_MAX 253u // RFC 1035 2.3.4, without the root's label
#define DOMAIN_LABEL_MAX 63u

struct domain_name {
	uint8_t length;
	uint8_t text[DOMAIN_NAME_MAX];
};

// Whether a label may have it, in lower case.
static inline bool
domain_name_has(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// False: it is too long, or of other octets. The name is not begun anew.
static inline bool
domain_name_add_label(struct domain_name *name, const uint8_t *label, size_t n)
{
	uint8_t *to = name->text + name->length;
	size_t dot = name->length != 0;

	if (n == 0 || n > DOMAIN_LABEL_MAX || name->length + dot + n > DOMAIN_NAME_MAX)
		return false;
	if (dot)
		*to++ = '.';
	for (size_t i = 0; i < n; i++) {
		uint8_t c = label[i];

		if (c >= 'A' && c <= 'Z')
			c = (uint8_t)(c - 'A' + 'a');
		if (!domain_name_has(c))
			return false;
		*to++ = c;
	}
	name->length = (uint8_t)(name->length + dot + n);
	return true;
}

// Of text; a dot at the end is left out. False: it is none.
static inline bool
domain_name_read(struct domain_name *name, const uint8_t *text, size_t n)
{
	name->length = 0;
	if (n != 0 && text[n - 1] == '.')
		n--;
	while (n != 0) {
		const uint8_t *dot = memchr(text, '.', n);
		size_t label = dot != NULL ? (size_t)(dot - text) : n;

		if (!domain_name_add_label(name, text, label))
			return false;
		if (dot != NULL && label + 1 == n)
			return false;
		text += dot != NULL ? label + 1 : label;
		n -= dot != NULL ? label + 1 : label;
	}
	return name->length != 0;
}

static inline bool
domain_name_is(const struct domain_name *a, const struct domain_name *b)
{
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

#endif
