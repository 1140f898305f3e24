// Which applications a domain name belongs to (PFDs with domain names: TS 29.244 8.2.39).
//
// upf-c sends the domains of all applications at once (UPF_REC_DOMAINS). They become one immutable table, which takes the
// place of the one before by one release-store; the old one is freed when no worker can hold it any more. A name is looked
// up once for each of its labels, from the whole name to the last label, by a hash that grows with the labels.
//
// A session has a list of the applications that its PDRs name (part_applications); of what a domain belongs to only those
// are found.
#ifndef UPFU_DOMAINS_H
#define UPFU_DOMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "upf_abi.h"

#define DOMAINS_FOUND 4u // applications of one name that are told; the longest domains come first

struct domains;

// The session's applications that are known by domain names; a flow has a bit for each (tss.h).
struct part_applications {
	uint32_t n;
	uint32_t stamp; // other applications, another stamp
	uint32_t told;  // those of which upf-c hears, a bit for each
	uint32_t reserved;
	struct upf_application application[];
};

// EINVAL: the record says what cannot be; ENOMEM. Of a record without domains *to is NULL.
int domains_compile(const struct upf_domains *record, struct domains **to);
void domains_free(struct domains *domains);

// Adds an application where it is not among those found, and there is room. Returns how many there are.
unsigned domains_add(uint64_t found[DOMAINS_FOUND], unsigned n, uint64_t application);

// The applications in `of` that this name is of, by UPF_DOMAIN_DNS or UPF_DOMAIN_TLS. Returns how many.
unsigned domains_find(const struct domains *domains, const uint8_t *name, size_t n, uint8_t by,
	const struct part_applications *of, uint64_t found[DOMAINS_FOUND]);

#endif
