#include "packet/fragment_table.h"

#include <stdlib.h>
#include <string.h>

#define IP_LONGEST 65535u // RFC 791 3.1
#define SHARE 8u          // a sender has this part of the table

int
fragment_table_init(struct fragment_table *t, uint32_t packets, uint32_t fragments,
	uint64_t lifetime, const uint64_t secret[2], fragment_give_up *give_up, void *context)
{
	uint32_t size = 1;

	while (size < packets)
		size *= 2;
	*t = (struct fragment_table){
		.packets_max = packets,
		.sender_max = packets > SHARE ? packets / SHARE : 1,
		.fragments_max = fragments,
		.lifetime = lifetime,
		.secret = {secret[0], secret[1]},
		.give_up = give_up,
		.context = context,
		.index_mask = size - 1,
		.packet = calloc(packets, sizeof(*t->packet)),
		.sender = calloc(packets, sizeof(*t->sender)),
		.by_key = calloc(size, sizeof(*t->by_key)),
		.by_sender = calloc(size, sizeof(*t->by_sender)),
	};
	TAILQ_INIT(&t->ages);
	t->equals = calloc(t->sender_max + 1, sizeof(*t->equals));
	if (t->packet == NULL || t->sender == NULL || t->by_key == NULL || t->by_sender == NULL ||
		t->equals == NULL) {
		fragment_table_free(t);
		return -1;
	}
	for (uint32_t i = 0; i < packets; i++) {
		t->packet[i].same_hash = t->free_packet;
		t->free_packet = &t->packet[i];
		t->sender[i].same_hash = t->free_sender;
		t->free_sender = &t->sender[i];
	}
	for (uint32_t i = 0; i <= t->sender_max; i++)
		TAILQ_INIT(&t->equals[i]);
	return 0;
}

// ---- the index -----------------------------------------------------------------------------------

static uint32_t
hash(const struct fragment_table *t, const void *octets, size_t n)
{
	__extension__ typedef unsigned __int128 wide;
	const uint8_t *at = octets;
	uint64_t sum = t->secret[0];

	for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
		uint64_t word;
		wide product;

		memcpy(&word, at + i, sizeof(word));
		product = (wide)(word ^ sum) * (t->secret[1] | 1);
		sum = (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	return (uint32_t)(sum ^ sum >> 32) & t->index_mask;
}

static struct fragment_packet **
packet_place(struct fragment_table *t, const struct fragment_key *key)
{
	struct fragment_packet **place = &t->by_key[hash(t, key, sizeof(*key))];

	while (*place != NULL && memcmp(&(*place)->key, key, sizeof(*key)) != 0)
		place = &(*place)->same_hash;
	return place;
}

static struct fragment_sender **
sender_place(struct fragment_table *t, const uint64_t key[2])
{
	struct fragment_sender **place = &t->by_sender[hash(t, key, 2 * sizeof(key[0]))];

	while (*place != NULL && memcmp((*place)->key, key, sizeof((*place)->key)) != 0)
		place = &(*place)->same_hash;
	return place;
}

// ---- senders -------------------------------------------------------------------------------------

static struct fragment_sender *
sender_of(struct fragment_table *t, const uint64_t key[2])
{
	struct fragment_sender **place = sender_place(t, key), *s = *place;

	if (s != NULL)
		return s;
	// There is one: each other sender has a packet, and this one is about to have one, too.
	s = t->free_sender;
	t->free_sender = s->same_hash;
	*s = (struct fragment_sender){.key = {key[0], key[1]}};
	TAILQ_INIT(&s->packets);
	TAILQ_INSERT_TAIL(&t->equals[0], s, equals);
	*place = s;
	return s;
}

// The sender has one packet more (change 1) or less (-1).
static void
sender_change(struct fragment_table *t, struct fragment_sender *s, int change)
{
	TAILQ_REMOVE(&t->equals[s->n], s, equals);
	s->n = (uint32_t)((int)s->n + change);
	if (s->n > t->most)
		t->most = s->n;
	else if (t->most != 0 && TAILQ_EMPTY(&t->equals[t->most]) && s->n != t->most)
		t->most--;
	if (s->n != 0) {
		TAILQ_INSERT_TAIL(&t->equals[s->n], s, equals);
		return;
	}
	*sender_place(t, s->key) = s->same_hash;
	s->same_hash = t->free_sender;
	t->free_sender = s;
}

// ---- packets -------------------------------------------------------------------------------------

void
fragment_table_remove(struct fragment_table *t, struct fragment_packet *packet)
{
	*packet_place(t, &packet->key) = packet->same_hash;
	TAILQ_REMOVE(&t->ages, packet, by_age);
	TAILQ_REMOVE(&packet->sender->packets, packet, of_sender);
	sender_change(t, packet->sender, -1);
	t->fragments -= packet->n;
	packet->same_hash = t->free_packet;
	t->free_packet = packet;
}

static void
give_up_fragments(struct fragment_table *t, struct fragment_packet *packet, enum upf_drop reason)
{
	for (unsigned i = 0; i < packet->n; i++)
		t->give_up(t->context, &packet->fragment[i], reason);
	t->fragments -= packet->n;
	packet->n = 0;
}

static void
give_up(struct fragment_table *t, struct fragment_packet *packet, enum upf_drop reason)
{
	give_up_fragments(t, packet, reason);
	fragment_table_remove(t, packet);
}

void
fragment_table_expire(struct fragment_table *t, uint64_t now)
{
	struct fragment_packet *oldest;

	while ((oldest = TAILQ_FIRST(&t->ages)) != NULL && oldest->until <= now)
		give_up(t, oldest, UPF_DROP_REASSEMBLY_TIMEOUT);
}

void
fragment_table_free(struct fragment_table *t)
{
	if (t->equals != NULL) {
		while (!TAILQ_EMPTY(&t->ages))
			give_up(t, TAILQ_FIRST(&t->ages), UPF_DROP_REASSEMBLY_TIMEOUT);
	}
	free(t->equals);
	free(t->by_sender);
	free(t->by_key);
	free(t->sender);
	free(t->packet);
	*t = (struct fragment_table){0};
}

// A packet of this key that is not here yet. Others may give way. NULL: nobody did.
static struct fragment_packet *
begin(struct fragment_table *t, const struct fragment_key *key, uint64_t now)
{
	const struct fragment_sender *known = *sender_place(t, key->sender);
	struct fragment_packet *packet, **place;
	const struct fragment_sender *gives = NULL;

	if (known != NULL &&
		(known->n == t->sender_max || (t->free_packet == NULL && known->n == t->most)))
		gives = known;
	else if (t->free_packet == NULL)
		gives = TAILQ_FIRST(&t->equals[t->most]);
	if (gives != NULL)
		give_up(t, TAILQ_FIRST(&gives->packets), UPF_DROP_REASSEMBLY_FULL);
	packet = t->free_packet;
	if (packet == NULL) // not so: somebody gave way
		return NULL;
	t->free_packet = packet->same_hash;
	*packet = (struct fragment_packet){
		.key = *key,
		.until = now + t->lifetime,
		.sender = sender_of(t, key->sender),
	};
	place = packet_place(t, key);
	*place = packet;
	TAILQ_INSERT_TAIL(&t->ages, packet, by_age);
	TAILQ_INSERT_TAIL(&packet->sender->packets, packet, of_sender);
	sender_change(t, packet->sender, 1);
	return packet;
}

// Room for one fragment more. False: the packet that it is of gave way itself.
static bool
make_room(struct fragment_table *t, const struct fragment_packet *packet)
{
	while (t->fragments >= t->fragments_max) {
		const struct fragment_sender *gives = packet->sender;
		struct fragment_packet *oldest;

		if (gives->n != t->most || gives->n == 1)
			gives = TAILQ_FIRST(&t->equals[t->most]);
		oldest = TAILQ_FIRST(&gives->packets);
		give_up(t, oldest, UPF_DROP_REASSEMBLY_FULL);
		if (oldest == packet)
			return false;
	}
	return true;
}

static int
spoil(struct fragment_table *t, struct fragment_packet *packet, enum upf_drop reason)
{
	give_up_fragments(t, packet, reason);
	packet->spoiled = (uint16_t)(1 + reason);
	return (int)reason;
}

// RFC 8200 4.5: but for the last one their lengths are multiples of eight, and no packet is longer
// than its length field can say.
static bool
can_be(const struct fragment *f)
{
	return f->from % 8 == 0 && f->to > f->from && (f->last || f->to % 8 == 0) &&
		f->header + f->to <= IP_LONGEST;
}

static bool
is_copy(const struct fragment *f, const struct fragment *of)
{
	return f->from == of->from && f->to == of->to && f->last == of->last &&
		memcmp(f->data, of->data, f->to - f->from) == 0;
}

// Does it say of where the packet ends what the others say?
static bool
agrees(const struct fragment_packet *packet, const struct fragment *f)
{
	if (!f->last)
		return packet->end == 0 || f->to <= packet->end;
	return packet->end == 0 &&
		(packet->n == 0 || packet->fragment[packet->n - 1].to <= f->from);
}

int
fragment_table_add(struct fragment_table *t, const struct fragment_key *key,
	const struct fragment *f, uint64_t now, struct fragment_packet **whole)
{
	struct fragment_packet *packet;
	unsigned at = 0;

	if (!can_be(f))
		return UPF_DROP_MALFORMED_FRAGMENT;
	packet = *packet_place(t, key);
	if (packet != NULL && packet->until <= now) {
		give_up(t, packet, UPF_DROP_REASSEMBLY_TIMEOUT);
		packet = NULL;
	}
	if (packet == NULL)
		packet = begin(t, key, now);
	if (packet == NULL)
		return UPF_DROP_REASSEMBLY_FULL;
	if (packet->spoiled != 0)
		return packet->spoiled - 1;
	if (f->header + f->to > FRAGMENT_WHOLE_MOST)
		return spoil(t, packet, UPF_DROP_REASSEMBLY_TOO_BIG);
	while (at < packet->n && packet->fragment[at].from < f->from)
		at++;
	if (at < packet->n && is_copy(f, &packet->fragment[at]))
		return UPF_DROP_DUPLICATE_FRAGMENT;
	if ((at > 0 && packet->fragment[at - 1].to > f->from) ||
		(at < packet->n && packet->fragment[at].from < f->to) || !agrees(packet, f))
		return spoil(t, packet, UPF_DROP_OVERLAPPING_FRAGMENT);
	if (packet->n == FRAGMENT_PIECES_MOST)
		return spoil(t, packet, UPF_DROP_REASSEMBLY_TOO_BIG);
	if (!make_room(t, packet))
		return UPF_DROP_REASSEMBLY_FULL;
	t->fragments++;
	memmove(&packet->fragment[at + 1], &packet->fragment[at],
		(packet->n - at) * sizeof(packet->fragment[0]));
	packet->fragment[at] = *f;
	packet->n++;
	packet->octets += f->to - f->from;
	if (f->last)
		packet->end = f->to;
	if (packet->end == 0 || packet->octets != packet->end)
		return FRAGMENT_WAITS;
	*whole = packet;
	return FRAGMENT_LAST;
}
