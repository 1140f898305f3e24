#include "packet/detection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_random.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "packet/detection_state.h"
#include "packet/dns_message.h"
#include "packet/events.h"
#include "packet/ipv6.h"
#include "packet/packet.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/session.h"

#define NONE 0u
#define TCP_IDLE_S 3600u
#define TCP_CLOSING_S 30u
#define UDP_IDLE_S 120u
#define ADDRESS_IDLE_S 120u
#define QUESTION_S 10u
#define HELLO_S 5u
#define TTL_MOST_S 86400u
#define LOOKS 256u // entries that detection_tick() looks at
#define QUIET_MS 30000u

// ---- the table ---------------------------------------------------------------------------------

int
detection_prepare(struct worker *w)
{
	struct detection *d;

	if (w->detection != NULL)
		return 0;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return ENOMEM;
	d->size = w->config->limits.detected / w->workers + 1;
	d->bits = 32 - (unsigned)__builtin_clz(d->size);
	d->of_session = RTE_MAX(d->size / 16, DETECTED_LEAST);
	d->secret = rte_rand();
	d->entry = calloc(d->size, sizeof(*d->entry));
	d->head = calloc((size_t)1 << d->bits, sizeof(*d->head));
	d->crypto = quic_crypto_create();
	if (d->entry == NULL || d->head == NULL || d->crypto == NULL) {
		quic_crypto_free(d->crypto);
		free(d->head);
		free(d->entry);
		free(d);
		return ENOMEM;
	}
	d->free = d->size > 1 ? 1 : NONE;
	for (uint32_t i = 1; i + 1 < d->size; i++)
		d->entry[i].next = i + 1;
	d->instance = (uint32_t)rte_rand();
	d->quic_left = WORKER_QUIC;
	// Release: pairs with the loads of the worker.
	__atomic_store_n(&w->detection, d, __ATOMIC_RELEASE);
	return 0;
}

void
detection_free(struct worker *w)
{
	struct detection *d = w->detection;

	if (d == NULL)
		return;
	w->detection = NULL;
	quic_crypto_free(d->crypto);
	free(d->head);
	free(d->entry);
	free(d);
}

static uint64_t
mix(uint64_t x, uint64_t k)
{
	x = (x ^ k) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 32;
}

static uint32_t *
chain(const struct detection *d, const struct detected_key *key)
{
	uint64_t x = d->secret, word;

	for (size_t at = 0; at < sizeof(*key); at += sizeof(word)) {
		memcpy(&word, (const uint8_t *)key + at, sizeof(word));
		x = mix(x, word);
	}
	return &d->head[(x * UINT64_C(0xd6e8feb86659fd93)) >> (64 - d->bits)];
}

static struct session_look *
look_of(struct detection *d, uint32_t session)
{
	return &d->session[mix(d->secret, session) >> (64 - SESSION_BITS)];
}

static void
show_used(struct worker *w, const struct detection *d)
{
	__atomic_store_n(&w->stats->local.detected_now, d->used, __ATOMIC_RELAXED);
}

// upf-c hears that traffic of the entry's j-th application has begun, or ended. False: there is no room for the event.
static bool
tell(struct worker *w, const struct detected *e, unsigned j, uint8_t flags)
{
	struct event event = {
		.flow = {
			.rec = {.type = UPF_REC_EV_FLOW, .length = sizeof(event.flow)},
			.application = e->application[j],
			.session = e->key.session,
			.instance = e->instance,
			.remote_port = rte_be_to_cpu_16(e->key.remote_port),
			.local_port = rte_be_to_cpu_16(e->key.local_port),
			.proto = e->key.proto,
			.flags = flags,
		}};

	if ((e->key.kind & DETECTED_IPV6) != 0)
		event.flow.flags |= UPF_FLOW_IPV6;
	if ((e->key.kind & ~DETECTED_IPV6) == DETECTED_ADDRESS)
		event.flow.flags |= UPF_FLOW_ADDRESS;
	memcpy(event.flow.remote, e->key.remote, sizeof(event.flow.remote));
	memcpy(event.flow.local, e->key.local, sizeof(event.flow.local));
	return worker_raise(w, &event);
}

// What upf-c has heard the begin of is over. False: there is no room for the events, and some of it still is to be told.
static bool
tell_end(struct worker *w, struct detected *e)
{
	const struct part *part = session_current(w->sessions, e->key.session, UPF_UL);

	// Of a session that ended nobody asks.
	if (part == NULL || part->incarnation != e->key.incarnation)
		e->told = 0;
	for (unsigned j = 0; e->told != 0 && j < e->n; j++) {
		if ((e->told & RTE_BIT32(j)) == 0)
			continue;
		if (!tell(w, e, j, UPF_FLOW_GONE))
			return false;
		e->told &= (uint8_t)~RTE_BIT32(j);
	}
	return true;
}

static void
remove_entry(struct worker *w, struct detection *d, struct detected *e)
{
	uint32_t *at = chain(d, &e->key), i = (uint32_t)(e - d->entry);

	tell_end(w, e);
	while (*at != i)
		at = &d->entry[*at].next;
	*at = e->next;
	look_of(d, e->key.session)->entries--;
	if (e->hello != 0 && d->hello[e->hello - 1].owner == i)
		d->hello[e->hello - 1].owner = NONE;
	e->until = 0;
	e->next = d->free;
	d->free = i;
	d->used--;
	show_used(w, d);
}

// NULL: there is none that lives.
static struct detected *
find(struct worker *w, struct detection *d, const struct detected_key *key)
{
	for (uint32_t i = *chain(d, key); i != NONE; i = d->entry[i].next) {
		struct detected *e = &d->entry[i];

		if (memcmp(&e->key, key, sizeof(*key)) != 0)
			continue;
		if (e->until > w->now)
			return e;
		remove_entry(w, d, e);
		return NULL;
	}
	return NULL;
}

// How long one without packets has to be quiet before its end is told. Applications of a session that differ in it have the shortest.
static uint64_t
quiet_of(const struct worker *w, const struct detected *e, const struct part *part)
{
	const struct part_applications *of;
	uint64_t quiet = QUIET_MS;

	if ((part->flags & PART_DOMAINS) == 0)
		return 0;
	of = part_applications(part);
	for (unsigned i = 0; i < of->n; i++) {
		for (unsigned j = 0; j < e->n; j++) {
			if (of->application[i].quiet_ms != 0 &&
				of->application[i].number == e->application[j])
				quiet = RTE_MIN(quiet, of->application[i].quiet_ms);
		}
	}
	return w->tsc_hz / 1000 * quiet;
}

// One that is over, or whose session is, is given back; of one that upf-c hears of it hears when it is quiet.
static void
look_after(struct worker *w, struct detection *d, struct detected *e)
{
	const struct part *part = session_current(w->sessions, e->key.session, UPF_UL);
	bool over = part == NULL || part->incarnation != e->key.incarnation;

	if (over || e->until <= w->now) {
		if (tell_end(w, e)) // else it is looked at once more
			remove_entry(w, d, e);
	} else if (e->told != 0 && w->now - e->seen >= quiet_of(w, e, part)) {
		tell_end(w, e);
	}
}

static void
sweep(struct worker *w, struct detection *d, unsigned looks)
{
	for (unsigned n = 0; n < looks && n < d->highest; n++) {
		d->look = d->look < d->highest ? d->look + 1 : 1;
		if (d->entry[d->look].until != 0)
			look_after(w, d, &d->entry[d->look]);
	}
}

void
detection_tick(struct worker *w)
{
	// Acquire: pairs with detection_prepare().
	struct detection *d = __atomic_load_n(&w->detection, __ATOMIC_ACQUIRE);
	uint32_t second;

	if (d == NULL || d->size < 2)
		return;
	second = (uint32_t)(w->now / w->tsc_hz);
	if (second != d->second) {
		d->second = second;
		d->quic_left = WORKER_QUIC;
	}
	sweep(w, d, LOOKS);
}

// A new entry, which is to be filled; NULL: there is no room.
static struct detected *
enter(struct worker *w, struct detection *d, const struct detected_key *key)
{
	struct session_look *session = look_of(d, key->session);
	struct detected *e;
	uint32_t *head;

	if (d->free == NONE && d->size > 1)
		sweep(w, d, LOOKS / 8);
	if (d->free == NONE || session->entries >= d->of_session) {
		shm_add(&w->stats->local.detection_full, 1);
		return NULL;
	}
	e = &d->entry[d->free];
	d->highest = RTE_MAX(d->highest, d->free);
	d->free = e->next;
	head = chain(d, key);
	*e = (struct detected){.key = *key, .next = *head, .until = UINT64_MAX};
	*head = (uint32_t)(e - d->entry);
	session->entries++;
	d->used++;
	show_used(w, d);
	return e;
}

// May another piece of this session be looked at in this second?
static bool
has_looks(struct worker *w, struct detection *d, uint32_t session)
{
	struct session_look *look = look_of(d, session);

	if (look->second != d->second) {
		look->second = d->second;
		look->looks = 0;
	}
	if (look->looks < SESSION_LOOKS) {
		look->looks++;
		return true;
	}
	shm_add(&w->stats->local.detection_limited, 1);
	return false;
}

static void
live(const struct worker *w, struct detected *e, uint64_t seconds)
{
	e->until = w->now + w->tsc_hz * seconds;
}

static void
live_on(const struct worker *w, struct detected *e, uint64_t seconds)
{
	uint64_t until = w->now + w->tsc_hz * seconds;

	e->until = until > e->until ? until : e->until;
}

// ---- applications ------------------------------------------------------------------------------

static void
make_bits(struct detected *e, const struct part_applications *of)
{
	e->bits = 0;
	e->stamp = of->stamp;
	for (unsigned i = 0; i < of->n; i++) {
		for (unsigned j = 0; j < e->n; j++)
			e->bits |=
				of->application[i].number == e->application[j] ? RTE_BIT32(i) : 0;
	}
}

static uint32_t
bits_of(struct detected *e, const struct part_applications *of)
{
	if (unlikely(e->stamp != of->stamp))
		make_bits(e, of);
	return e->bits;
}

// A packet of the entry, whose applications are `bits`, has come. Of some of them upf-c is to hear.
static __attribute__((noinline)) void
note_packet(struct worker *w, struct detection *d, struct detected *e,
	const struct part_applications *of, uint32_t bits)
{
	e->seen = w->now;
	if (e->told == 0)
		e->instance = ++d->instance;
	for (unsigned i = 0; i < of->n; i++) {
		if ((bits & of->told & RTE_BIT32(i)) == 0)
			continue;
		for (unsigned j = 0; j < e->n; j++) {
			// Where there is no room for the event the next packet tries again.
			if (e->application[j] == of->application[i].number &&
				(e->told & RTE_BIT32(j)) == 0 && tell(w, e, j, 0))
				e->told |= (uint8_t)RTE_BIT32(j);
		}
	}
}

static uint32_t
take_packet(struct worker *w, struct detection *d, struct detected *e,
	const struct part_applications *of)
{
	uint32_t bits = bits_of(e, of);

	if (unlikely((bits & of->told) != 0))
		note_packet(w, d, e, of, bits);
	return bits;
}

static void
add_applications(struct detected *e, const struct part_applications *of,
	const uint64_t application[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		e->n = (uint8_t)domains_add(e->application, e->n, application[i]);
	make_bits(e, of);
}

static unsigned
applications_of(const struct worker *w, const struct domain_name *name, uint8_t by,
	const struct part_applications *of, uint64_t found[DOMAINS_FOUND])
{
	// Acquire: pairs with the release-store of transaction.c: the table is complete.
	const struct domains *domains = __atomic_load_n(&w->sessions->domains, __ATOMIC_ACQUIRE);

	return domains_find(domains, name->text, name->length, by, of, found);
}

// ---- the flow of a packet ----------------------------------------------------------------------

struct flow {
	struct detected_key key; // of DETECTED_FLOW
	const struct part_applications *of;
	bool ports;  // else nothing but the addresses is known
	uint8_t tcp; // flags
	uint32_t sequence;
	const uint8_t *payload;
	uint16_t n;
};

static void
read_flow(struct flow *f, const struct pkt *p, enum upf_direction direction)
{
	const struct part *part = p->part;
	struct detected_key *key = &f->key;
	const uint8_t *ip = (const uint8_t *)pkt_ip(p), *l4;
	uint16_t at, room;

	*f = (struct flow){.of = part_applications(part)};
	key->session = part->session;
	key->incarnation = part->incarnation;
	if (p->ip6) {
		const struct ipv6_header *h = (const void *)ip;

		memcpy(key->remote, direction == UPF_UL ? h->dst : h->src, sizeof(key->remote));
		memcpy(key->local, direction == UPF_UL ? h->src : h->dst, sizeof(key->local));
		key->kind = DETECTED_FLOW | DETECTED_IPV6;
		key->proto = p->proto;
		at = p->l4;
	} else {
		const struct rte_ipv4_hdr *h = (const void *)ip;

		memcpy(key->remote, direction == UPF_UL ? &h->dst_addr : &h->src_addr, 4);
		memcpy(key->local, direction == UPF_UL ? &h->src_addr : &h->dst_addr, 4);
		key->kind = DETECTED_FLOW;
		key->proto = h->next_proto_id;
		at = p->fragment == PKT_LATER ? 0 : rte_ipv4_hdr_len(h);
	}
	room = at == 0 || at > p->ip_len ? 0 : (uint16_t)(p->ip_len - at);
	l4 = ip + at;
	if (key->proto == IPPROTO_TCP && room >= sizeof(struct rte_tcp_hdr)) {
		const struct rte_tcp_hdr *tcp = (const void *)l4;
		uint16_t header = (uint16_t)((tcp->data_off >> 4) * 4);

		f->tcp = tcp->tcp_flags;
		f->sequence = rte_be_to_cpu_32(tcp->sent_seq);
		if (header >= sizeof(*tcp) && header <= room) {
			f->payload = l4 + header;
			f->n = (uint16_t)(room - header);
		}
	} else if (key->proto == IPPROTO_UDP && room >= sizeof(struct rte_udp_hdr)) {
		f->payload = l4 + sizeof(struct rte_udp_hdr);
		f->n = (uint16_t)(room - sizeof(struct rte_udp_hdr));
	} else {
		return;
	}
	f->ports = true;
	memcpy(direction == UPF_UL ? &key->local_port : &key->remote_port, l4, 2);
	memcpy(direction == UPF_UL ? &key->remote_port : &key->local_port, l4 + 2, 2);
}

// ---- ClientHellos ------------------------------------------------------------------------------

static void
hello_clear(struct hello *h, uint32_t owner)
{
	h->owner = owner;
	h->size = 0;
	h->told = 0;
	memset(h->have, 0, sizeof(h->have));
}

// A quic_piece_fn. What came first stays.
static void
hello_take(void *context, uint64_t offset, const uint8_t *octets, size_t n)
{
	struct hello *h = context;

	h->told = 1;
	for (size_t i = 0; i < n && offset + i < TLS_HELLO_MAX; i++) {
		size_t at = (size_t)offset + i;

		if ((h->have[at / 64] & RTE_BIT64(at % 64)) != 0)
			continue;
		h->have[at / 64] |= RTE_BIT64(at % 64);
		h->octets[at] = octets[i];
	}
	while (h->size < TLS_HELLO_MAX && (h->have[h->size / 64] & RTE_BIT64(h->size % 64)) != 0)
		h->size++;
}

static void
count_unread(struct worker *w)
{
	shm_add(&w->stats->local.detection_unread, 1);
}

static uint64_t
idle_of(const struct detected *e)
{
	if (e->key.proto != IPPROTO_TCP)
		return UDP_IDLE_S;
	return e->closing ? TCP_CLOSING_S : TCP_IDLE_S;
}

// The server's name is known. `e` waited for it, or is NULL. Returns the entry of the flow, NULL: it has no application.
static struct detected *
named(struct worker *w, struct detection *d, const struct flow *f, struct detected *e,
	const struct domain_name *name)
{
	uint64_t found[DOMAINS_FOUND];
	unsigned n = applications_of(w, name, UPF_DOMAIN_TLS, f->of, found);

	if (n == 0) {
		if (e != NULL)
			remove_entry(w, d, e);
		return NULL;
	}
	if (e == NULL)
		e = enter(w, d, &f->key);
	if (e == NULL)
		return NULL;
	if (e->hello != 0) {
		d->hello[e->hello - 1].owner = NONE;
		e->hello = 0;
	}
	add_applications(e, f->of, found, n);
	live(w, e, idle_of(e));
	shm_add(f->key.proto == IPPROTO_TCP ? &w->stats->local.detected_tls
					    : &w->stats->local.detected_quic,
		1);
	return e;
}

// A place for a ClientHello in pieces: one that is free, else the one that waits longest, of the session itself where that has many.
static unsigned
place_of_hello(struct worker *w, struct detection *d, uint32_t session)
{
	unsigned place = d->next_hello, own = 0, oldest_own = 0;

	for (unsigned i = 0; i < HELLOS; i++) {
		unsigned at = (d->next_hello + i) % HELLOS;
		uint32_t owner = d->hello[at].owner;

		if (owner == NONE) {
			d->next_hello = (at + 1) % HELLOS;
			return at;
		}
		if (d->entry[owner].key.session != session)
			continue;
		if (own++ == 0)
			oldest_own = at;
	}
	if (own >= HELLOS_OF_SESSION)
		place = oldest_own;
	d->next_hello = (place + 1) % HELLOS;
	count_unread(w);
	return place;
}

// What the flow's ClientHello, of which `h` is here, says so far. An entry that waits for more of it says nothing.
static struct detected *
judge(struct worker *w, struct detection *d, const struct flow *f, struct detected *e,
	const struct hello *h, enum tls_hello verdict, const struct domain_name *name)
{
	struct hello *place;

	if (verdict == TLS_HELLO_NAME)
		return named(w, d, f, e, name);
	if (verdict == TLS_HELLO_MORE && h->size < TLS_HELLO_MAX) {
		if (e != NULL)
			return e;
		e = enter(w, d, &f->key);
		if (e == NULL)
			return NULL;
		place = &d->hello[place_of_hello(w, d, f->key.session)];
		e->hello = (uint16_t)(1 + (place - d->hello));
		*place = *h;
		place->owner = (uint32_t)(e - d->entry);
		live(w, e, HELLO_S);
		return e;
	}
	count_unread(w);
	if (e != NULL)
		remove_entry(w, d, e);
	return NULL;
}

// Where the flow's ClientHello waits for its rest. NULL: its place was taken.
static struct hello *
hello_of(struct detection *d, const struct detected *e)
{
	struct hello *h = &d->hello[e->hello - 1];

	return h->owner == (uint32_t)(e - d->entry) ? h : NULL;
}

// Where what this packet tells is to go: behind what is there of the flow's ClientHello, or, of a flow without an entry, begun anew. NULL: the rest
// had lost its place, and the entry is gone.
static struct hello *
begin_or_go_on(struct worker *w, struct detection *d, const struct flow *f, struct detected *e)
{
	struct hello *h = &d->now;

	if (e != NULL) {
		h = hello_of(d, e);
		if (h == NULL)
			remove_entry(w, d, e);
		return h;
	}
	hello_clear(h, NONE);
	h->sequence = f->sequence;
	return h;
}

static struct detected *
learn_tls(struct worker *w, struct detection *d, const struct flow *f, struct detected *e)
{
	struct domain_name name;
	struct hello *h;

	if (e == NULL && (f->payload[0] != 22 || (f->n > 1 && f->payload[1] != 3)))
		return NULL;
	if (!has_looks(w, d, f->key.session))
		return e;
	h = begin_or_go_on(w, d, f, e);
	if (h == NULL)
		return NULL;
	hello_take(h, f->sequence - h->sequence, f->payload, f->n);
	return judge(w, d, f, e, h, tls_hello_read_stream(h->octets, h->size, &name), &name);
}

static struct detected *
learn_quic(struct worker *w, struct detection *d, const struct flow *f, struct detected *e)
{
	struct domain_name name;
	struct hello *h;

	if (!has_looks(w, d, f->key.session))
		return e;
	if (d->quic_left == 0) {
		shm_add(&w->stats->local.detection_limited, 1);
		return e;
	}
	d->quic_left--;
	h = begin_or_go_on(w, d, f, e);
	if (h == NULL)
		return NULL;
	if (quic_initial_read(d->crypto, f->payload, f->n, hello_take, h) != QUIC_INITIAL_READ) {
		count_unread(w);
		return e;
	}
	if (!h->told) // an acknowledgement
		return e;
	return judge(w, d, f, e, h, tls_hello_read(h->octets, h->size, &name), &name);
}

// ---- DNS ---------------------------------------------------------------------------------------

static uint64_t
hash_question(const struct detection *d, const struct dns_message *m)
{
	uint64_t x = mix(d->secret, m->type);

	for (unsigned i = 0; i < m->name.length; i++)
		x = mix(x, m->name.text[i]);
	return x;
}

static struct detected_key
question_key(const struct flow *f, uint16_t id)
{
	struct detected_key key = f->key;

	key.kind = (uint8_t)(DETECTED_QUESTION | (f->key.kind & DETECTED_IPV6));
	key.question = id;
	return key;
}

static void
learn_question(struct worker *w, struct detection *d, const struct flow *f)
{
	uint64_t found[DOMAINS_FOUND];
	struct detected_key key;
	struct dns_message m;
	struct detected *e;
	unsigned n;

	if (!has_looks(w, d, f->key.session) || !dns_message_read(&m, f->payload, f->n) ||
		m.answers)
		return;
	n = applications_of(w, &m.name, UPF_DOMAIN_DNS, f->of, found);
	if (n == 0)
		return;
	key = question_key(f, m.id);
	e = find(w, d, &key);
	if (e == NULL)
		e = enter(w, d, &key);
	if (e == NULL)
		return;
	e->n = 0;
	add_applications(e, f->of, found, n);
	e->asked = hash_question(d, &m);
	live(w, e, QUESTION_S);
}

static struct detected_key
address_key(const struct flow *f, const uint8_t *addr, bool ip6)
{
	struct detected_key key = {.session = f->key.session, .incarnation = f->key.incarnation};

	memcpy(key.remote, addr, ip6 ? 16 : 4);
	key.kind = ip6 ? DETECTED_ADDRESS | DETECTED_IPV6 : DETECTED_ADDRESS;
	return key;
}

static void
learn_address(struct worker *w, struct detection *d, const struct flow *f,
	const struct dns_address *address, const uint64_t application[], unsigned n)
{
	struct detected_key key = address_key(f, address->addr, address->ip6);
	struct detected *e = find(w, d, &key);

	if (e == NULL) {
		e = enter(w, d, &key);
		if (e == NULL)
			return;
		live(w, e, ADDRESS_IDLE_S);
		shm_add(&w->stats->local.detected_dns, 1);
	}
	add_applications(e, f->of, application, n);
	live_on(w, e, RTE_MIN(address->ttl, TTL_MOST_S));
}

static void
learn_answer(struct worker *w, struct detection *d, const struct flow *f)
{
	struct dns_address address[DNS_ADDRESSES];
	uint64_t application[DOMAINS_FOUND];
	struct detected_key key;
	struct dns_message m;
	struct detected *e;
	unsigned n, applications;

	// The number stands in front: nobody has asked for most.
	if (f->n < 2)
		return;
	key = question_key(f, (uint16_t)(f->payload[0] << 8 | f->payload[1]));
	e = find(w, d, &key);
	if (e == NULL || !dns_message_read(&m, f->payload, f->n) || !m.answers ||
		e->asked != hash_question(d, &m))
		return;
	applications = e->n;
	memcpy(application, e->application, sizeof(application));
	remove_entry(w, d, e);
	n = dns_message_addresses(&m, address);
	for (unsigned i = 0; i < n; i++)
		learn_address(w, d, f, &address[i], application, applications);
}

// ---- packets -----------------------------------------------------------------------------------

// What a packet of the UE tells. `e` is the entry of its flow, NULL: it has none. Returns what it is then.
static struct detected *
learn_up(struct worker *w, struct detection *d, const struct flow *f, struct detected *e)
{
	if (f->key.proto == IPPROTO_TCP) {
		// Another connection with the same ports.
		if (e != NULL &&
			(f->tcp & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) == RTE_TCP_SYN_FLAG) {
			remove_entry(w, d, e);
			return NULL;
		}
		return f->n != 0 && (e == NULL || e->hello != 0) ? learn_tls(w, d, f, e) : e;
	}
	if (f->key.remote_port == rte_cpu_to_be_16(DNS_PORT)) {
		learn_question(w, d, f);
		return e;
	}
	return (e == NULL || e->hello != 0) && quic_initial_seems(f->payload, f->n)
		? learn_quic(w, d, f, e)
		: e;
}

static uint32_t
look_at_flow(
	struct worker *w, struct detection *d, const struct flow *f, enum upf_direction direction)
{
	struct detected *e = find(w, d, &f->key);

	if (direction == UPF_UL)
		e = learn_up(w, d, f, e);
	else if (f->key.proto == IPPROTO_UDP && f->key.remote_port == rte_cpu_to_be_16(DNS_PORT))
		learn_answer(w, d, f);
	if (e == NULL || e->hello != 0)
		return 0;
	if ((f->tcp & (RTE_TCP_FIN_FLAG | RTE_TCP_RST_FLAG)) != 0)
		e->closing = 1;
	live(w, e, idle_of(e));
	return take_packet(w, d, e, f->of);
}

uint32_t
detection_look(struct worker *w, struct pkt *p, enum upf_direction direction)
{
	// Acquire: pairs with detection_prepare().
	struct detection *d = __atomic_load_n(&w->detection, __ATOMIC_ACQUIRE);
	struct detected_key key;
	struct detected *e;
	uint32_t bits = 0;
	struct flow f;

	if (d == NULL)
		return 0;
	read_flow(&f, p, direction);
	if (f.ports)
		bits = look_at_flow(w, d, &f, direction);
	key = address_key(&f, f.key.remote, p->ip6 != 0);
	e = find(w, d, &key);
	if (e == NULL)
		return bits;
	live_on(w, e, ADDRESS_IDLE_S);
	return bits | take_packet(w, d, e, f.of);
}

void
detection_show(struct worker *w, uint32_t session, uint32_t from)
{
	struct detection *d = w->detection;
	struct detection_view *view = &d->view;
	uint32_t end = RTE_MIN(from + SHOWN_PIECE, d->size);

	if (from <= 1)
		view->n = view->left_out = 0;
	for (uint32_t i = from; i < end; i++) {
		const struct detected *e = &d->entry[i];

		if (e->until <= w->now || e->key.session != session || e->n == 0)
			continue;
		if (view->n < SHOWN_MAX)
			view->entry[view->n++] = *e;
		else
			view->left_out++;
	}
	view->next = end < d->size ? end : 0;
	// Release: pairs with the load in show.c: the piece is there.
	__atomic_store_n(&view->pieces, view->pieces + 1, __ATOMIC_RELEASE);
}
