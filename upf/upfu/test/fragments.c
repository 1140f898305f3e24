#include "fragments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/fragment_table.h"

#define PACKETS 24u   // so that a sender has three
#define FRAGMENTS 40u // in all
#define LIFETIME 100u
#define SENDERS 12u
#define KEPT 65536u // fragments in one run
#define LONGEST 66000u

struct held {
	uint32_t from, to;
	bool last;
	uint8_t content;
	unsigned number; // of the fragment in this run
};

struct naive_packet {
	bool used;
	struct fragment_key key;
	uint64_t until, begun;
	int spoiled; // enum upf_drop, or -1
	struct held held[FRAGMENT_PIECES_MOST + 1];
	unsigned n;
	bool here[LONGEST];
};

struct naive {
	struct naive_packet packet[PACKETS];
	uint64_t changed[SENDERS]; // when the number of the sender's packets did
	uint64_t clock;
};

// What one of the two said.
struct account {
	int verdict;
	int given_up[KEPT]; // by number of the fragment: enum upf_drop, or -1
};

static struct naive naive;
static struct account theirs, ours;

#define MUST(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "fragments: line %d: %s\n", __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

static uint8_t
sender_of(const struct fragment_key *key)
{
	return (uint8_t)key->sender[0];
}

static unsigned
count_of(unsigned sender)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PACKETS; i++)
		n += naive.packet[i].used && sender_of(&naive.packet[i].key) == sender;
	return n;
}

static void
naive_give_up(struct naive_packet *p, enum upf_drop reason)
{
	for (unsigned i = 0; i < p->n; i++)
		theirs.given_up[p->held[i].number] = (int)reason;
	p->n = 0;
}

static void
naive_remove(struct naive_packet *p)
{
	p->used = false;
	naive.changed[sender_of(&p->key)] = ++naive.clock;
}

static struct naive_packet *
oldest_of(int sender) // -1: of any
{
	struct naive_packet *oldest = NULL;

	for (unsigned i = 0; i < PACKETS; i++) {
		struct naive_packet *p = &naive.packet[i];

		if (p->used && (sender < 0 || sender_of(&p->key) == sender) &&
			(oldest == NULL || p->begun < oldest->begun))
			oldest = p;
	}
	return oldest;
}

static unsigned
most_of_any(void)
{
	unsigned most = 0;

	for (unsigned s = 0; s < SENDERS; s++)
		most = count_of(s) > most ? count_of(s) : most;
	return most;
}

// Of those that have the most, the sender for which that is so the longest.
static unsigned
sender_with_most(void)
{
	unsigned most = most_of_any(), found = SENDERS;

	for (unsigned s = 0; s < SENDERS; s++) {
		if (count_of(s) == most &&
			(found == SENDERS || naive.changed[s] < naive.changed[found]))
			found = s;
	}
	return found;
}

static unsigned
fragments_here(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PACKETS; i++)
		n += naive.packet[i].used ? naive.packet[i].n : 0;
	return n;
}

static bool
naive_make_room(const struct naive_packet *p)
{
	while (fragments_here() == FRAGMENTS) {
		unsigned gives = sender_of(&p->key), n = count_of(gives);
		struct naive_packet *oldest;

		if (n != most_of_any() || n == 1)
			gives = sender_with_most();
		oldest = oldest_of((int)gives);
		naive_give_up(oldest, UPF_DROP_REASSEMBLY_FULL);
		naive_remove(oldest);
		if (oldest == p)
			return false;
	}
	return true;
}

static struct naive_packet *
naive_begin(const struct fragment_key *key, uint64_t now)
{
	unsigned total = 0, mine = count_of(sender_of(key)), gives = SENDERS;

	for (unsigned s = 0; s < SENDERS; s++)
		total += count_of(s);
	if (mine == PACKETS / 8 || (total == PACKETS && mine == most_of_any()))
		gives = sender_of(key);
	else if (total == PACKETS)
		gives = sender_with_most();
	if (gives != SENDERS) {
		struct naive_packet *p = oldest_of((int)gives);

		naive_give_up(p, UPF_DROP_REASSEMBLY_FULL);
		naive_remove(p);
	}
	for (unsigned i = 0; i < PACKETS; i++) {
		struct naive_packet *p = &naive.packet[i];

		if (p->used)
			continue;
		memset(p, 0, sizeof(*p));
		p->used = true;
		p->key = *key;
		p->until = now + LIFETIME;
		p->begun = ++naive.clock;
		p->spoiled = -1;
		naive.changed[sender_of(key)] = ++naive.clock;
		return p;
	}
	abort();
}

static int
naive_spoil(struct naive_packet *p, enum upf_drop reason)
{
	naive_give_up(p, reason);
	p->spoiled = (int)reason;
	return (int)reason;
}

// Where the packet ends, 0: nobody has said.
static uint32_t
naive_end(const struct naive_packet *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->held[i].last)
			return p->held[i].to;
	}
	return 0;
}

static int
naive_add(const struct fragment_key *key, const struct held *f, uint16_t header, uint64_t now,
	struct naive_packet **whole)
{
	struct naive_packet *p = NULL;
	uint32_t end;

	if (f->to <= f->from || (!f->last && (f->to - f->from) % 8 != 0) || header + f->to > 65535)
		return UPF_DROP_MALFORMED_FRAGMENT;
	for (unsigned i = 0; i < PACKETS; i++) {
		if (naive.packet[i].used && memcmp(&naive.packet[i].key, key, sizeof(*key)) == 0)
			p = &naive.packet[i];
	}
	if (p != NULL && p->until <= now) {
		naive_give_up(p, UPF_DROP_REASSEMBLY_TIMEOUT);
		naive_remove(p);
		p = NULL;
	}
	if (p == NULL)
		p = naive_begin(key, now);
	if (p->spoiled >= 0)
		return p->spoiled;
	if (header + f->to > FRAGMENT_WHOLE_MOST)
		return naive_spoil(p, UPF_DROP_REASSEMBLY_TOO_BIG);
	for (unsigned i = 0; i < p->n; i++) {
		const struct held *h = &p->held[i];

		if (h->from == f->from && h->to == f->to && h->last == f->last &&
			h->content == f->content)
			return UPF_DROP_DUPLICATE_FRAGMENT;
	}
	end = naive_end(p);
	for (uint32_t at = f->from; at < (f->last ? LONGEST : f->to); at++) {
		if (p->here[at])
			return naive_spoil(p, UPF_DROP_OVERLAPPING_FRAGMENT);
	}
	if (end != 0 && (f->last || f->to > end))
		return naive_spoil(p, UPF_DROP_OVERLAPPING_FRAGMENT);
	if (p->n == FRAGMENT_PIECES_MOST)
		return naive_spoil(p, UPF_DROP_REASSEMBLY_TOO_BIG);
	if (!naive_make_room(p))
		return UPF_DROP_REASSEMBLY_FULL;
	p->held[p->n++] = *f;
	memset(p->here + f->from, true, f->to - f->from);
	end = naive_end(p);
	for (uint32_t at = 0; at < end; at++) {
		if (!p->here[at])
			return FRAGMENT_WAITS;
	}
	if (end == 0)
		return FRAGMENT_WAITS;
	*whole = p;
	return FRAGMENT_LAST;
}

static void
naive_expire(uint64_t now)
{
	struct naive_packet *p;

	while ((p = oldest_of(-1)) != NULL && p->until <= now) {
		naive_give_up(p, UPF_DROP_REASSEMBLY_TIMEOUT);
		naive_remove(p);
	}
}

static void
note_given_up(void *context, const struct fragment *f, enum upf_drop reason)
{
	(void)context;
	ours.given_up[(uintptr_t)f->packet] = (int)reason;
}

// The same fragments, one behind the other.
static void
compare_whole(const struct fragment_packet *packet, const struct naive_packet *p)
{
	uint32_t at = 0;

	MUST(packet->n == p->n && packet->end == naive_end(p));
	for (unsigned i = 0; i < packet->n; i++) {
		const struct fragment *f = &packet->fragment[i];

		MUST(f->from == at);
		at = f->to;
		for (unsigned j = 0; j < p->n; j++) {
			if (p->held[j].number == (uintptr_t)f->packet)
				MUST(p->held[j].from == f->from && p->held[j].to == f->to);
		}
	}
	MUST(at == packet->end);
}

static void
check_senders(const struct fragment_table *t)
{
	MUST(t->most == most_of_any());
	MUST(t->fragments == fragments_here());
}

// Seven octets: key, content and M, place, length, what else.
static void
one_fragment(struct fragment_table *t, const uint8_t *octets, unsigned number, uint64_t now,
	struct fragments_counts *counts)
{
	static uint8_t content[2][LONGEST];
	struct fragment_key key = {
		.sender = {octets[0] % SENDERS}, .id = octets[1] & 3, .proto = octets[1] >> 2 & 1};
	struct held h = {.from = (octets[2] & 15) * 8u,
		.last = (octets[3] & 1) != 0,
		.content = (octets[3] & 0xf0) == 0,
		.number = number};
	struct fragment_packet *whole = NULL;
	struct naive_packet *naive_whole = NULL;
	struct fragment f;
	uint16_t header = 20;

	h.to = h.from + (octets[4] & 3) * 8u + ((octets[3] & 0xe) == 2 ? octets[4] >> 5 : 0);
	if (octets[5] == 1) { // far out
		h.from = (octets[2] << 8 | octets[4]) & 0xfff8;
		h.to = h.from + octets[4];
		header = octets[6];
	}
	if (content[1][0] == 0)
		memset(content[1], 1, sizeof(content[1]));
	f = (struct fragment){.packet = (void *)(uintptr_t)number,
		.data = content[h.content] + h.from % 8,
		.from = h.from,
		.to = h.to,
		.header = header,
		.last = h.last};
	ours.verdict = fragment_table_add(t, &key, &f, now, &whole);
	theirs.verdict = naive_add(&key, &h, header, now, &naive_whole);
	MUST(ours.verdict == theirs.verdict);
	counts->fragments++;
	if (ours.verdict >= 0)
		counts->reason[ours.verdict]++;
	if (ours.verdict != FRAGMENT_LAST)
		return;
	compare_whole(whole, naive_whole);
	fragment_table_remove(t, whole);
	naive_remove(naive_whole);
	counts->whole++;
}

void
fragments_both_ways(const uint8_t *octets, size_t n, struct fragments_counts *counts)
{
	const uint64_t secret[2] = {n, n != 0 ? octets[0] : 0};
	struct fragment_table table;
	uint64_t now = 1000;
	unsigned number = 0;

	memset(&naive, 0, sizeof(naive));
	memset(theirs.given_up, 0xff, sizeof(theirs.given_up));
	memset(ours.given_up, 0xff, sizeof(ours.given_up));
	MUST(fragment_table_init(
		     &table, PACKETS, FRAGMENTS, LIFETIME, secret, note_given_up, NULL) == 0);
	for (; n >= 7 && number < KEPT; octets += 7, n -= 7, number++) {
		one_fragment(&table, octets, number, now, counts);
		check_senders(&table);
		now += octets[6] & 7;
		if ((octets[6] & 0x38) == 0x38) {
			fragment_table_expire(&table, now);
			naive_expire(now);
		}
	}
	for (unsigned i = 0; i < number; i++) {
		MUST(ours.given_up[i] == theirs.given_up[i]);
		if (ours.given_up[i] >= 0)
			counts->reason[ours.given_up[i]]++;
	}
	fragment_table_free(&table);
}
