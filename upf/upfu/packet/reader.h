// What is left of octets that a stranger sends, read from the front.
#ifndef UPFU_READER_H
#define UPFU_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *at;
	size_t n;
};

static inline unsigned
octets2(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

// False: there is less, and nothing is skipped.
static inline bool
reader_skip(struct reader *r, size_t n)
{
	if (r->n < n)
		return false;
	r->at += n;
	r->n -= n;
	return true;
}

#endif
