#include "rules/tss_compile.h"

#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_ip.h>

#include "rules/lanes.h"
#include "rules/tss_layout.h"

// ---- from PDRs to entries ------------------------------------------------------------------------

static void
prefix_mask(uint8_t mask[16], unsigned length)
{
	for (unsigned i = 0; i < 16; i++, length -= length < 8 ? length : 8)
		mask[i] = length >= 8 ? 0xff : (uint8_t)(0xff00 >> length);
}

// An IPv6 address of a flow lies in two pieces.
static void
set_addr6(uint32_t *first, uint8_t *rest, const upf_addr addr, const upf_addr mask)
{
	uint8_t masked[16];

	for (unsigned i = 0; i < 16; i++)
		masked[i] = addr[i] & mask[i];
	memcpy(first, masked, 4);
	memcpy(rest, masked + 4, 12);
}

// Adds the UE IP address to what the SDF filter says of the local side. False: they exclude each
// other.
static bool
narrow_local(struct tss_entry *e, const uint8_t ue[16], const uint8_t ue_mask[16])
{
	struct tss_flow key = {0}, mask = {0};

	set_addr6(&key.local_be, key.local_rest, ue, ue_mask);
	set_addr6(&mask.local_be, mask.local_rest, ue_mask, ue_mask);
	for (unsigned i = 0; i < TSS_WORDS; i++) {
		if (((key.word[i] ^ e->key.word[i]) & mask.word[i] & e->mask.word[i]) != 0)
			return false;
		e->key.word[i] |= key.word[i];
		e->mask.word[i] |= mask.word[i];
	}
	return true;
}

static bool
narrow_to_ue(struct tss_entry *e, const struct upf_pdr *pdr, bool framed)
{
	uint8_t ue[16] = {0}, mask[16];

	if ((pdr->flags & (UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6)) == 0)
		return true;
	if (framed) // to its version
		return (pdr->flags & (e->family == TSS_IPV4 ? UPF_PDR_UE_IPV4 : UPF_PDR_UE_IPV6)) !=
			0;
	if (e->family == TSS_IPV4) {
		memcpy(ue, &pdr->ue_addr_be, 4);
		prefix_mask(mask, 32);
		return (pdr->flags & UPF_PDR_UE_IPV4) != 0 && narrow_local(e, ue, mask);
	}
	prefix_mask(mask, pdr->ue_prefix_len);
	return (pdr->flags & UPF_PDR_UE_IPV6) != 0 && narrow_local(e, pdr->ue_prefix, mask);
}

// What both kinds of SDF filters say in the same words.
static void
narrow_to_transport(struct tss_entry *e, uint8_t flags, uint8_t proto, uint8_t tos,
	uint8_t tos_mask, uint32_t spi, const uint16_t ports[4])
{
	if ((flags & UPF_SDF_PROTO) != 0) {
		e->key.proto = proto;
		e->mask.proto = 0xff;
	}
	if ((flags & UPF_SDF_TOS) != 0) {
		e->key.tos = tos & tos_mask;
		e->mask.tos = tos_mask;
	}
	if ((flags & UPF_SDF_SPI) != 0) {
		e->key.spi = spi;
		e->mask.spi = UINT32_MAX;
		e->key.has |= TSS_HAS_SPI;
		e->mask.has |= TSS_HAS_SPI;
	}
	if ((flags & UPF_SDF_PORTS) != 0) {
		e->key.has |= TSS_HAS_PORTS;
		e->mask.has |= TSS_HAS_PORTS;
		for (size_t i = 0; i < 2; i++) {
			e->port_lo[i] = ports[2 * i];
			e->port_hi[i] = ports[2 * i + 1];
		}
	}
}

static void
narrow_to_sdf(struct tss_entry *e, const struct upf_sdf *sdf)
{
	const uint16_t ports[4] = {
		sdf->remote_port_lo, sdf->remote_port_hi, sdf->local_port_lo, sdf->local_port_hi};

	e->family = TSS_IPV4;
	e->key.remote_be = sdf->remote_addr_be & sdf->remote_mask_be;
	e->mask.remote_be = sdf->remote_mask_be;
	e->key.local_be = sdf->local_addr_be & sdf->local_mask_be;
	e->mask.local_be = sdf->local_mask_be;
	narrow_to_transport(e, sdf->flags, sdf->proto, sdf->tos, sdf->tos_mask, sdf->spi, ports);
}

static void
narrow_to_sdf6(struct tss_entry *e, const struct upf_sdf6 *sdf)
{
	const uint16_t ports[4] = {
		sdf->remote_port_lo, sdf->remote_port_hi, sdf->local_port_lo, sdf->local_port_hi};
	uint8_t mask[16];

	e->family = TSS_IPV6;
	prefix_mask(mask, sdf->remote_len);
	set_addr6(&e->key.remote_be, e->key.remote_rest, sdf->remote_addr, mask);
	set_addr6(&e->mask.remote_be, e->mask.remote_rest, mask, mask);
	prefix_mask(mask, sdf->local_len);
	set_addr6(&e->key.local_be, e->key.local_rest, sdf->local_addr, mask);
	set_addr6(&e->mask.local_be, e->mask.local_rest, mask, mask);
	narrow_to_transport(e, sdf->flags, sdf->proto, sdf->tos, sdf->tos_mask, sdf->spi, ports);
	if ((sdf->flags & UPF_SDF_FLOW_LABEL) != 0) {
		e->key.flow_label = sdf->flow_label;
		e->mask.flow_label = UINT32_MAX;
	}
}

unsigned
tss_entries_of_pdr(struct tss_entry *to, uint16_t order, const struct upf_pdr *pdr,
	const struct upf_sdf *sdf, const struct upf_sdf6 *sdf6, uint64_t fteid, bool framed)
{
	struct tss_entry any = {.port_hi = {UINT16_MAX, UINT16_MAX}, .order = order};
	unsigned n = 0;

	any.key.fteid = (pdr->flags & UPF_PDR_TEID) != 0 ? fteid : 0;
	any.mask.fteid = UINT64_MAX;
	if ((pdr->flags & UPF_PDR_QFI) != 0) {
		any.key.qfi = pdr->qfi;
		any.mask.qfi = 0xff;
	}
	if ((pdr->flags & UPF_PDR_SDF) == 0) {
		for (unsigned family = 0; family < TSS_FAMILIES; family++) {
			to[n] = any;
			to[n].family = (uint8_t)family;
			n += narrow_to_ue(&to[n], pdr, framed);
		}
		return n;
	}
	for (unsigned i = 0; i < pdr->sdf_count; i++) {
		to[n] = any;
		narrow_to_sdf(&to[n], &sdf[pdr->sdf_first + i]);
		n += narrow_to_ue(&to[n], pdr, framed);
	}
	for (unsigned i = 0; i < pdr->sdf6_count; i++) {
		to[n] = any;
		narrow_to_sdf6(&to[n], &sdf6[pdr->sdf6_first + i]);
		n += narrow_to_ue(&to[n], pdr, framed);
	}
	for (unsigned family = 0; pdr->application != 0 && family < TSS_FAMILIES; family++) {
		unsigned word = TSS_APPLICATIONS(family);

		to[n] = any;
		to[n].family = (uint8_t)family;
		to[n].key.word[word] = to[n].mask.word[word] = UINT32_C(1)
			<< (pdr->application - 1);
		n += narrow_to_ue(&to[n], pdr, framed);
	}
	return n;
}

// ---- compiler ------------------------------------------------------------------------------------
//
// Twice the same plan: to know the size, and to write. A plan gives each entry of a family its hash
// mask and groups entries by it. What is hashed and what stays in the list, and whether prefixes
// are hashed whole or in steps of eight bits (fewer tuples, longer buckets), is decided by cost.

// TSC cycles with all in the caches (bench: case=pdrs). A mispredicted branch is most of COST_LIST.
#define COST_PROBE 18u
#define COST_BLOCK 4u // each further one of a bucket
#define COST_ONE_BLOCK 14u
#define COST_LIST 24u
#define COST_LIST_BLOCK 3u

#define HASHED_FROM (LANES / 2 + 1) // entries: two buckets

struct group {
	uint32_t mask[TSS_WORDS]; // of the hash; of the list nothing
	unsigned first, n;        // in plan.member[]
	unsigned bits;
	unsigned cost;
	uint16_t best;
	bool list;
};

struct plan {
	enum tss_family family;
	unsigned words;
	uint16_t otherwise;
	struct uniform common[TSS_WORDS];
	unsigned commons;
	struct tss_entry *entry;         // by order, without what is common to all
	unsigned *of;                    // [n], the group of each
	const struct tss_entry **member; // by group, in a group by order
	unsigned n;
	struct group *group; // in the end by best order
	unsigned groups;
	unsigned cost;
	uint32_t *load;  // of the buckets of one group
	uint32_t *index; // of group masks
	unsigned index_size;
};

// How many lower bits of a port the hash leaves out: so many that the range has at most two pieces.
// In steps of four, so that ranges of similar lengths share a tuple.
static unsigned
range_shift(uint16_t lo, uint16_t hi)
{
	unsigned shift = 0;

	while (shift < 16 && (unsigned)(hi >> shift) - (lo >> shift) > (shift == 0 ? 0u : 1u))
		shift += 4;
	return shift;
}

// Leaves whole octets of the addresses.
static void
round_address(uint8_t *mask, unsigned octets)
{
	for (unsigned i = 0; i < octets; i++)
		mask[i] = mask[i] == 0xff ? 0xff : 0;
}

static void
hash_mask(const struct tss_entry *e, bool whole_octets, uint32_t mask[TSS_WORDS])
{
	struct tss_flow m = e->mask;

	if (whole_octets) {
		round_address((uint8_t *)&m.remote_be, 4);
		round_address((uint8_t *)&m.local_be, 4);
		round_address(m.remote_rest, sizeof(m.remote_rest));
		round_address(m.local_rest, sizeof(m.local_rest));
	}
	memcpy(mask, m.word, sizeof(m.word));
	mask[2] = 0;
	for (unsigned i = 0; i < 2; i++) {
		unsigned shift = range_shift(e->port_lo[i], e->port_hi[i]);

		mask[2] |= (0xffffu << shift & 0xffffu) << 16 * i;
	}
}

static bool
matches_everything(const struct tss_entry *e)
{
	static const struct tss_flow zero;

	return memcmp(&e->mask, &zero, sizeof(zero)) == 0 && e->port_lo[0] == 0 &&
		e->port_lo[1] == 0 && e->port_hi[0] == UINT16_MAX && e->port_hi[1] == UINT16_MAX;
}

// The index of the group with this mask, a new one if there is none.
static unsigned
find_group(struct plan *plan, const uint32_t mask[TSS_WORDS])
{
	static const struct tss_flow all = {.word = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u,
						    ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u}};
	unsigned last = plan->index_size - 1, at = tss_hash(mask, all.word, TSS_WORDS) & last;

	for (; plan->index[at] != 0; at = (at + 1) & last) {
		if (memcmp(plan->group[plan->index[at] - 1].mask, mask, sizeof(all.word)) == 0)
			return plan->index[at] - 1;
	}
	plan->group[plan->groups] = (struct group){0};
	memcpy(plan->group[plan->groups].mask, mask, sizeof(all.word));
	plan->index[at] = ++plan->groups;
	return plan->groups - 1;
}

// The hashes of a member: one for each piece of its port ranges.
static unsigned
member_buckets(const struct plan *plan, const struct group *g, const struct tss_entry *e,
	uint32_t bucket[4])
{
	struct tss_flow flow = e->key;
	unsigned n = 0;

	if (g->bits == 0) {
		bucket[0] = 0;
		return 1;
	}
	for (unsigned i = 0; i < 4; i++) {
		uint32_t h;
		unsigned seen = 0;

		flow.remote_port = i % 2 == 0 ? e->port_lo[0] : e->port_hi[0];
		flow.local_port = i / 2 == 0 ? e->port_lo[1] : e->port_hi[1];
		h = tss_hash(flow.word, g->mask, plan->words) >> (32 - g->bits);
		while (seen < n && bucket[seen] != h)
			seen++;
		if (seen == n)
			bucket[n++] = h;
	}
	return n;
}

// How many blocks a group needs. Fills plan->load.
static unsigned
count_blocks(struct plan *plan, const struct group *g)
{
	unsigned blocks = 1u << g->bits;

	memset(plan->load, 0, sizeof(*plan->load) << g->bits);
	for (unsigned i = 0; i < g->n; i++) {
		uint32_t bucket[4];
		unsigned n = member_buckets(plan, g, plan->member[g->first + i], bucket);

		for (unsigned b = 0; b < n; b++) {
			uint32_t *load = &plan->load[bucket[b]];

			if (*load != 0 && *load % LANES == 0)
				blocks++;
			(*load)++;
		}
	}
	return blocks;
}

// What a probe of the group costs a packet that finds one of its entries, any as likely.
static unsigned
probe_cost(struct plan *plan, const struct group *g)
{
	uint64_t copies = 0, further = 0;

	count_blocks(plan, g);
	for (unsigned b = 0; b < 1u << g->bits; b++) {
		uint64_t load = plan->load[b];

		copies += load;
		further += load * (load / LANES);
	}
	return COST_PROBE + (copies == 0 ? 0 : (unsigned)(COST_BLOCK * further / copies));
}

static unsigned
list_cost(unsigned n)
{
	if (n <= LANES)
		return n == 0 ? 0 : COST_ONE_BLOCK;
	return COST_LIST + COST_LIST_BLOCK * n / LANES;
}

static void
fill_groups(struct plan *plan)
{
	unsigned first = 0;

	for (unsigned g = 0; g < plan->groups; g++)
		plan->group[g].n = 0;
	for (unsigned i = 0; i < plan->n; i++)
		plan->group[plan->of[i]].n++;
	for (unsigned g = 0; g < plan->groups; g++) {
		plan->group[g].first = first;
		first += plan->group[g].n;
		plan->group[g].n = 0;
	}
	for (unsigned i = 0; i < plan->n; i++) {
		struct group *g = &plan->group[plan->of[i]];

		if (g->n == 0)
			g->best = plan->entry[i].order;
		plan->member[g->first + g->n++] = &plan->entry[i];
	}
}

static int
compare_sizes(const void *a, const void *b)
{
	const struct group *const *x = a, *const *y = b;

	return ((*x)->n < (*y)->n) - ((*x)->n > (*y)->n);
}

static int
compare_best(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->best > y->best) - (x->best < y->best);
}

// Hashes as many of the largest groups as pay; the entries of the others go to the list, which
// becomes the last group. False: no memory.
static bool
choose_hashed(struct plan *plan)
{
	struct group **by_size = malloc((plan->groups + 1) * sizeof(*by_size));
	unsigned hashed = 0, listed = plan->n, sum = 0;

	if (by_size == NULL)
		return false;
	for (unsigned g = 0; g < plan->groups; g++)
		by_size[g] = &plan->group[g];
	qsort(by_size, plan->groups, sizeof(struct group *), compare_sizes);
	plan->cost = list_cost(plan->n);
	for (unsigned i = 0; i < plan->groups && by_size[i]->n >= HASHED_FROM; i++) {
		struct group *g = by_size[i];

		while (g->n > LANES / 2 << g->bits)
			g->bits++;
		sum += probe_cost(plan, g);
		listed -= g->n;
		if (sum + list_cost(listed) < plan->cost) {
			plan->cost = sum + list_cost(listed);
			hashed = i + 1;
		}
	}
	for (unsigned i = hashed; i < plan->groups; i++)
		by_size[i]->list = true;
	free(by_size);
	for (unsigned i = 0; i < plan->n; i++) {
		if (plan->group[plan->of[i]].list)
			plan->of[i] = plan->groups;
	}
	plan->group[plan->groups++] = (struct group){.list = true};
	return true;
}

// The groups that have entries, by best order.
static void
order_groups(struct plan *plan)
{
	unsigned groups = 0;

	fill_groups(plan);
	for (unsigned g = 0; g < plan->groups; g++) {
		if (plan->group[g].n != 0)
			plan->group[groups++] = plan->group[g];
	}
	plan->groups = groups;
	qsort(plan->group, groups, sizeof(*plan->group), compare_best);
}

static void
plan_free(struct plan *plan)
{
	free(plan->entry);
	free(plan->of);
	free(plan->member);
	free(plan->group);
	free(plan->load);
	free(plan->index);
}

static bool
plan_group(struct plan *plan, bool whole_octets)
{
	plan->groups = 0;
	memset(plan->index, 0, plan->index_size * sizeof(*plan->index));
	for (unsigned i = 0; i < plan->n; i++) {
		uint32_t mask[TSS_WORDS];

		hash_mask(&plan->entry[i], whole_octets, mask);
		plan->of[i] = find_group(plan, mask);
	}
	fill_groups(plan);
	return choose_hashed(plan);
}

// Takes out the words in which all entries agree, and what can no longer match behind an entry that
// then matches everything.
static void
strip_common(struct plan *plan)
{
	for (unsigned w = 0; w < plan->words && plan->n != 0; w++) {
		uint32_t key = plan->entry[0].key.word[w], mask = plan->entry[0].mask.word[w];
		bool same = mask != 0;

		for (unsigned i = 1; i < plan->n; i++)
			same &= plan->entry[i].key.word[w] == key &&
				plan->entry[i].mask.word[w] == mask;
		if (!same)
			continue;
		plan->common[plan->commons++] = (struct uniform){w, key, mask};
		for (unsigned i = 0; i < plan->n; i++)
			plan->entry[i].key.word[w] = plan->entry[i].mask.word[w] = 0;
	}
	for (unsigned i = 0; i < plan->n; i++) {
		if (matches_everything(&plan->entry[i])) {
			plan->otherwise = plan->entry[i].order;
			plan->n = i;
		}
	}
}

static bool
plan_make(struct plan *plan, enum tss_family family, const struct tss_entry *entries, unsigned n)
{
	unsigned whole_cost, size = 4;

	while (size < 2 * n)
		size *= 2;
	*plan = (struct plan){
		.family = family,
		.words = tss_words_of(family),
		.otherwise = TSS_NONE,
		.entry = aligned_alloc(_Alignof(struct tss_entry), (n + 1) * sizeof(*plan->entry)),
		.of = malloc((n + 1) * sizeof(*plan->of)),
		.member = malloc((n + 1) * sizeof(*plan->member)),
		.group = calloc(n + 1, sizeof(*plan->group)),
		.load = malloc((n + 1) * sizeof(*plan->load)),
		.index = malloc(size * sizeof(*plan->index)),
		.index_size = size,
	};
	if (plan->entry == NULL || plan->of == NULL || plan->member == NULL ||
		plan->group == NULL || plan->load == NULL || plan->index == NULL)
		goto no_memory;
	for (unsigned i = 0; i < n; i++) {
		if (entries[i].family == family)
			plan->entry[plan->n++] = entries[i];
	}
	strip_common(plan);
	if (!plan_group(plan, false))
		goto no_memory;
	if (plan->cost > 2 * COST_PROBE) {
		whole_cost = plan->cost;
		if (!plan_group(plan, true) ||
			(plan->cost >= whole_cost && !plan_group(plan, false)))
			goto no_memory;
	}
	order_groups(plan);
	return true;
no_memory:
	plan_free(plan);
	return false;
}

// Which words of a group's entries need a column, and which are the same in all.
static void
describe(const struct plan *plan, const struct group *g, struct tuple *t,
	struct uniform uniform[TSS_WORDS])
{
	const struct tss_entry *first = plan->member[g->first];

	*t = (struct tuple){.best = g->best, .bits = (uint8_t)g->bits};
	for (unsigned w = 0; w < plan->words; w++) {
		bool same = true, any = false;

		for (unsigned i = 0; i < g->n; i++) {
			const struct tss_entry *e = plan->member[g->first + i];

			any |= e->mask.word[w] != 0;
			same &= e->mask.word[w] == first->mask.word[w] &&
				e->key.word[w] == first->key.word[w];
		}
		if (any && same)
			uniform[t->uniforms++] =
				(struct uniform){w, first->key.word[w], first->mask.word[w]};
		else if (any)
			t->column[t->columns++] = (uint8_t)w;
	}
	for (unsigned i = 0; i < g->n; i++) {
		const struct tss_entry *e = plan->member[g->first + i];

		t->ports |= e->port_lo[0] != 0 || e->port_lo[1] != 0 ||
			e->port_hi[0] != UINT16_MAX || e->port_hi[1] != UINT16_MAX;
	}
	t->block = (uint16_t)(sizeof(struct block) +
		(t->columns + (t->ports ? 1u : 0u)) * sizeof(struct column));
	t->size = (uint16_t)(sizeof(*t) + (g->bits != 0 ? plan->words * sizeof(uint32_t) : 0) +
		tss_uniforms_size(t->uniforms));
}

static void
write_lane(struct block *b, unsigned lane, const struct tuple *t, const struct tss_entry *e)
{
	b->order[lane] = e->order;
	for (unsigned c = 0; c < t->columns; c++) {
		b->column[c].key[lane] = e->key.word[t->column[c]];
		b->column[c].mask[lane] = e->mask.word[t->column[c]];
	}
	if (t->ports) {
		struct column *c = &b->column[t->columns];

		c->key[lane] = (uint32_t)e->port_lo[1] << 16 | e->port_lo[0];
		c->mask[lane] = (uint32_t)e->port_hi[1] << 16 | e->port_hi[0];
	}
}

static struct block *
empty_block(uint8_t *at, const struct tuple *t)
{
	struct block *b = (void *)at;

	memset(b, 0, t->block);
	for (unsigned i = 0; i < LANES; i++)
		b->order[i] = TSS_NONE;
	return b;
}

// Writes the blocks of a group from `at` on; returns their end.
static uint32_t
write_blocks(
	uint8_t *base, uint32_t at, struct plan *plan, const struct group *g, const struct tuple *t)
{
	uint32_t end = at;

	for (unsigned b = 0; b < 1u << g->bits; b++, end += t->block)
		empty_block(base + end, t);
	memset(plan->load, 0, (sizeof(*plan->load)) << g->bits);
	for (unsigned i = 0; i < g->n; i++) {
		const struct tss_entry *e = plan->member[g->first + i];
		uint32_t bucket[4];
		unsigned n = member_buckets(plan, g, e, bucket);

		for (unsigned j = 0; j < n; j++) {
			struct block *b = (void *)(base + at + (size_t)bucket[j] * t->block);
			uint32_t lane = plan->load[bucket[j]]++;

			while (b->next != 0)
				b = (void *)(base + b->next);
			if (lane != 0 && lane % LANES == 0) {
				b->next = end;
				b = empty_block(base + end, t);
				end += t->block;
			}
			write_lane(b, lane % LANES, t, e);
		}
	}
	return end;
}

static size_t
plan_size(struct plan *plan, size_t *tuples)
{
	size_t blocks = 0;

	*tuples = tss_uniforms_size(plan->commons);
	for (unsigned i = 0; i < plan->groups; i++) {
		struct uniform uniform[TSS_WORDS];
		struct tuple t;

		describe(plan, &plan->group[i], &t, uniform);
		*tuples += t.size;
		blocks += (size_t)count_blocks(plan, &plan->group[i]) * t.block;
	}
	return *tuples + blocks;
}

size_t
tss_size(const struct tss_entry *entries, unsigned n)
{
	size_t size = sizeof(struct tss), tuples;

	for (unsigned family = 0; family < TSS_FAMILIES; family++) {
		struct plan plan;

		if (!plan_make(&plan, (enum tss_family)family, entries, n))
			return 0;
		size += plan_size(&plan, &tuples);
		plan_free(&plan);
	}
	return (size + TSS_ALIGN - 1) / TSS_ALIGN * TSS_ALIGN;
}

bool
tss_compile(struct tss *to, const struct tss_entry *entries, unsigned n)
{
	uint8_t *base = (uint8_t *)to;
	uint32_t end = sizeof(*to);

	memset(to, 0, sizeof(*to));
	for (unsigned family = 0; family < TSS_FAMILIES; family++) {
		struct plan plan;
		uint32_t at = end;
		size_t tuples;

		if (!plan_make(&plan, (enum tss_family)family, entries, n))
			return false;
		to->family[family].otherwise = plan.otherwise;
		to->family[family].common = (uint8_t)plan.commons;
		to->family[family].tuples = plan.groups;
		to->family[family].first = at;
		memcpy(base + at, plan.common, plan.commons * sizeof(*plan.common));
		at += (uint32_t)tss_uniforms_size(plan.commons);
		plan_size(&plan, &tuples);
		end += (uint32_t)tuples;
		for (unsigned i = 0; i < plan.groups; i++) {
			const struct group *g = &plan.group[i];
			struct uniform uniform[TSS_WORDS];
			struct tuple *t = (void *)(base + at);
			uint8_t *rest = base + at + sizeof(*t);

			describe(&plan, g, t, uniform);
			t->blocks = end;
			if (g->bits != 0) {
				memcpy(rest, g->mask, plan.words * sizeof(uint32_t));
				rest += plan.words * sizeof(uint32_t);
			}
			memcpy(rest, uniform, t->uniforms * sizeof(*uniform));
			at += t->size;
			end = write_blocks(base, end, &plan, g, t);
		}
		plan_free(&plan);
	}
	return true;
}
