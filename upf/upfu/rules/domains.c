#include "rules/domains.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rules/domain_name.h"

#define LABELS_MAX 128u // of a name of 253 octets

struct domains {
	uint32_t n;
	unsigned bits;
	uint32_t *head; // [1 << bits], 1 + index into domain[]; 0: none
	uint32_t *next; // [n] likewise
	char *text;
	struct upf_domain domain[];
};

// From the last octet to the first, so that the hash of a domain is part of those of the names below it.
static uint64_t
hash_octet(uint64_t h, uint8_t c)
{
	return (h ^ c) * UINT64_C(0x100000001b3);
}

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static uint32_t
place(const struct domains *d, uint64_t h)
{
	return (uint32_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> (64 - d->bits));
}

static bool
is_valid(const struct upf_domain *domain, const char *text, uint32_t text_len)
{
	const uint8_t by = UPF_DOMAIN_DNS | UPF_DOMAIN_TLS,
		      what = UPF_DOMAIN_ITSELF | UPF_DOMAIN_BELOW;

	if ((domain->flags & ~(by | what)) != 0 || (domain->flags & by) == 0 ||
		(domain->flags & what) == 0 || domain->text_len == 0 ||
		domain->text_len > DOMAIN_NAME_MAX || domain->text_first > text_len ||
		domain->text_len > text_len - domain->text_first)
		return false;
	for (unsigned i = 0; i < domain->text_len; i++) {
		char c = text[domain->text_first + i];

		if (!domain_name_has((uint8_t)c) && c != '.')
			return false;
	}
	return true;
}

static void
enter(struct domains *d, uint32_t i)
{
	const struct upf_domain *domain = &d->domain[i];
	uint64_t h = HASH_BEGIN;
	uint32_t *head;

	for (unsigned at = domain->text_len; at-- != 0;)
		h = hash_octet(h, (uint8_t)d->text[domain->text_first + at]);
	head = &d->head[place(d, h)];
	d->next[i] = *head;
	*head = i + 1;
}

int
domains_compile(const struct upf_domains *record, struct domains **to)
{
	const struct upf_domain *domain = (const void *)(record + 1);
	const char *text = (const char *)(domain + record->n);
	uint64_t need = sizeof(*record) + record->n * (uint64_t)sizeof(*domain) + record->text_len;
	struct domains *d;

	*to = NULL;
	if (record->n > UPF_DOMAINS_MAX || ((need + 7) & ~UINT64_C(7)) != record->rec.length)
		return EINVAL;
	for (uint32_t i = 0; i < record->n; i++) {
		if (!is_valid(&domain[i], text, record->text_len))
			return EINVAL;
	}
	if (record->n == 0)
		return 0;
	d = calloc(1, sizeof(*d) + record->n * sizeof(*domain));
	if (d == NULL)
		return ENOMEM;
	d->n = record->n;
	d->bits = 33 - (unsigned)__builtin_clz(record->n);
	d->head = calloc((size_t)1 << d->bits, sizeof(*d->head));
	d->next = calloc(d->n, sizeof(*d->next));
	d->text = malloc(record->text_len);
	if (d->head == NULL || d->next == NULL || d->text == NULL) {
		domains_free(d);
		return ENOMEM;
	}
	memcpy(d->text, text, record->text_len);
	memcpy(d->domain, domain, d->n * sizeof(*domain));
	for (uint32_t i = 0; i < d->n; i++)
		enter(d, i);
	*to = d;
	return 0;
}

void
domains_free(struct domains *d)
{
	if (d == NULL)
		return;
	free(d->head);
	free(d->next);
	free(d->text);
	free(d);
}

static bool
is_of(const struct part_applications *of, uint64_t application)
{
	for (unsigned i = 0; i < of->n; i++) {
		if (of->application[i].number == application)
			return true;
	}
	return false;
}

unsigned
domains_add(uint64_t found[DOMAINS_FOUND], unsigned n, uint64_t application)
{
	for (unsigned i = 0; i < n; i++) {
		if (found[i] == application)
			return n;
	}
	if (n == DOMAINS_FOUND)
		return n;
	found[n] = application;
	return n + 1;
}

unsigned
domains_find(const struct domains *d, const uint8_t *name, size_t n, uint8_t by,
	const struct part_applications *of, uint64_t found[DOMAINS_FOUND])
{
	struct {
		uint64_t hash;
		size_t at;
	} label[LABELS_MAX];
	uint64_t h = HASH_BEGIN;
	unsigned labels = 0, so_far = 0;

	if (d == NULL)
		return 0;
	for (size_t at = n; at-- != 0 && labels < LABELS_MAX;) {
		h = hash_octet(h, name[at]);
		if (at == 0 || name[at - 1] == '.') {
			label[labels].hash = h;
			label[labels++].at = at;
		}
	}
	while (labels-- != 0) {
		size_t at = label[labels].at;
		uint8_t what = at == 0 ? UPF_DOMAIN_ITSELF : UPF_DOMAIN_BELOW;

		for (uint32_t i = d->head[place(d, label[labels].hash)]; i != 0;
			i = d->next[i - 1]) {
			const struct upf_domain *domain = &d->domain[i - 1];

			if ((domain->flags & by) != 0 && (domain->flags & what) != 0 &&
				domain->text_len == n - at &&
				memcmp(d->text + domain->text_first, name + at, n - at) == 0 &&
				is_of(of, domain->application))
				so_far = domains_add(found, so_far, domain->application);
		}
	}
	return so_far;
}
