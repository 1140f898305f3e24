#include "link/neigh.h"

#include <string.h>

#include <rte_arp.h>
#include <rte_malloc.h>

#include "link/neigh_message.h"
#include "link/neigh_table.h"
#include "packet/departure.h"
#include "packet/send.h"
#include "packet/worker_state.h"
#include "rules/session.h"

#define TRIES 5u
// In tenths of a second:
#define ASK_EVERY 2u
#define GOOD_FOR 300u
#define DEAD_FOR 10u

static uint64_t
tenths(const struct worker *w, unsigned n)
{
	return w->tsc_hz / 10 * n;
}

static struct neigh *
neigh_place(struct neigh_table *table, rte_be32_t addr, unsigned probe)
{
	uint32_t hash = addr * UINT32_C(0x9e3779b1) >> 16;

	return &table->entry[(hash + probe) & (NEIGH_ENTRIES - 1)];
}

static struct neigh *
neigh_find(struct neigh_table *table, rte_be32_t addr)
{
	for (unsigned i = 0; i < NEIGH_PROBES; i++) {
		struct neigh *n = neigh_place(table, addr, i);

		if (likely(n->addr == addr && n->state != NEIGH_FREE))
			return n;
	}
	return NULL;
}

static uint32_t
hash6(const uint8_t *addr)
{
	uint32_t word[4];

	memcpy(word, addr, sizeof(word));
	return ((word[0] * UINT32_C(0x85ebca6b) ^ word[1]) * UINT32_C(0xc2b2ae35) ^ word[2]) *
		UINT32_C(0x27d4eb2f) ^
		word[3];
}

static struct neigh *
neigh_find6(struct neigh_table *table, const uint8_t *addr)
{
	uint32_t hash = hash6(addr);

	for (unsigned i = 0; i < NEIGH_PROBES; i++) {
		struct neigh *n = neigh_place(table, hash, i);

		if (n->addr == hash && n->state != NEIGH_FREE &&
			memcmp(n->addr6, addr, sizeof(n->addr6)) == 0)
			return n;
	}
	return NULL;
}

static void
held_add(struct worker *w, struct neigh *n, struct rte_mbuf *m)
{
	m->next = NULL;
	if (n->held_n++ == 0)
		n->first = m;
	else
		n->last->next = m;
	n->last = m;
	w->held++;
}

// The first that waits; NULL: none does.
static struct rte_mbuf *
held_take(struct worker *w, struct neigh *n)
{
	struct rte_mbuf *m = n->first;

	if (n->held_n == 0)
		return NULL;
	n->held_n--;
	w->held--;
	n->first = m->next;
	m->next = NULL;
	return m;
}

static void
held_drop(struct worker *w, enum upf_port port, struct neigh *n)
{
	struct rte_mbuf *m;

	while ((m = held_take(w, n)) != NULL)
		departure_give_up(w, port, m);
}

static bool
held_has_room(const struct worker *w, const struct neigh *n)
{
	return n->held_n < NEIGH_HELD_SURE || (n->held_n < NEIGH_HELD && w->held < w->held_max);
}

// A place for addr: free, or that of the unresolved entry whose timer is nearest. Resolved ones stay:
// UEs must not be able to push the gateway out by sending to addresses that nobody has.
static struct neigh *
neigh_add(struct worker *w, enum upf_port port, struct neigh_table *table, rte_be32_t addr)
{
	struct neigh *best = NULL;

	for (unsigned i = 0; i < NEIGH_PROBES; i++) {
		struct neigh *n = neigh_place(table, addr, i);

		if (n->state == NEIGH_FREE) {
			best = n;
			break;
		}
		if ((n->state == NEIGH_ASKING || n->state == NEIGH_DEAD) &&
			(best == NULL || n->due < best->due))
			best = n;
	}
	if (best != NULL) {
		held_drop(w, port, best);
		memset(best, 0, sizeof(*best));
		best->addr = addr;
	}
	return best;
}

static struct neigh *
neigh_add6(struct worker *w, enum upf_port port, const uint8_t *addr)
{
	struct neigh *n = neigh_add(w, port, w->neigh6[port], hash6(addr));

	if (n != NULL)
		memcpy(n->addr6, addr, sizeof(n->addr6));
	return n;
}

static bool
is_ipv6(const struct worker *w, enum upf_port port, const struct neigh *n)
{
	return n < w->neigh[port]->entry || n >= w->neigh[port]->entry + NEIGH_ENTRIES;
}

static void
neigh_ask(struct worker *w, enum upf_port port, struct neigh *n, const struct rte_ether_addr *to)
{
	n->tries++;
	n->due = w->now + tenths(w, ASK_EVERY);
	if (is_ipv6(w, port, n))
		nd_solicit(w, port, n->addr6, to);
	else
		arp_send(w, port, RTE_ARP_OP_REQUEST, to, rte_cpu_to_be_32(w->port[port].own),
			n->addr);
}

// n is not resolved, or NULL when the table has no place for it.
static void
neigh_hold(struct worker *w, enum upf_port port, struct neigh *n, struct rte_mbuf *m,
	const struct pdr *pdr)
{
	if (n == NULL || n->state == NEIGH_DEAD) {
		departure_unreachable(w, port, m, pdr);
		return;
	}
	if (n->state == NEIGH_FREE) {
		n->state = NEIGH_ASKING;
		n->tries = 0;
		neigh_ask(w, port, n, NULL);
	}
	if (!held_has_room(w, n)) {
		departure_drop(w, port, m, pdr, UPF_DROP_NO_NEIGHBOUR);
		return;
	}
	departure_hold(w, port, m, pdr);
	held_add(w, n, m);
}

static inline bool
neigh_serves(const struct neigh *n)
{
	return n != NULL && (n->state == NEIGH_GOOD || n->state == NEIGH_STALE);
}

static inline void
send_to(struct worker *w, enum upf_port port, struct rte_mbuf *m, struct neigh *n,
	const struct pdr *pdr)
{
	n->used = 1;
	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = n->mac;
	worker_send_of(w, port, m, pdr);
}

void
neigh_send(struct worker *w, enum upf_port port, struct rte_mbuf *m, rte_be32_t next_hop,
	const struct pdr *pdr)
{
	struct neigh *n = neigh_find(w->neigh[port], next_hop);

	if (likely(neigh_serves(n))) {
		send_to(w, port, m, n, pdr);
		return;
	}
	if (n == NULL)
		n = neigh_add(w, port, w->neigh[port], next_hop);
	else if (n->state == NEIGH_DEAD && n->due <= w->now)
		n->state = NEIGH_FREE; // its second is over: ask again
	neigh_hold(w, port, n, m, pdr);
}

void
neigh_send6(struct worker *w, enum upf_port port, struct rte_mbuf *m, const uint8_t *next_hop,
	const struct pdr *pdr)
{
	struct neigh *n = neigh_find6(w->neigh6[port], next_hop);

	if (likely(neigh_serves(n))) {
		send_to(w, port, m, n, pdr);
		return;
	}
	if (n == NULL)
		n = neigh_add6(w, port, next_hop);
	else if (n->state == NEIGH_DEAD && n->due <= w->now)
		n->state = NEIGH_FREE;
	neigh_hold(w, port, n, m, pdr);
}

static void
neigh_learn(struct worker *w, enum upf_port port, struct neigh *n, const struct rte_ether_addr *mac)
{
	struct rte_mbuf *m;

	n->mac = *mac;
	n->state = NEIGH_GOOD;
	n->tries = 0;
	n->used = 0;
	n->due = w->now + tenths(w, GOOD_FOR);
	while ((m = held_take(w, n)) != NULL) {
		const struct pdr *pdr;

		rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = *mac;
		if (departure_resume(w, port, m, &pdr))
			worker_send_of(w, port, m, pdr);
	}
}

void
neigh_hear4(struct worker *w, enum upf_port port, rte_be32_t addr, const struct rte_ether_addr *mac,
	bool add)
{
	struct neigh *n = neigh_find(w->neigh[port], addr);

	if (n == NULL && add)
		n = neigh_add(w, port, w->neigh[port], addr);
	if (n != NULL)
		neigh_learn(w, port, n, mac);
}

void
neigh_hear6(struct worker *w, enum upf_port port, const uint8_t *addr,
	const struct rte_ether_addr *mac, bool add, bool override)
{
	struct neigh *n = neigh_find6(w->neigh6[port], addr);

	if (n == NULL && add)
		n = neigh_add6(w, port, addr);
	if (n == NULL || (neigh_serves(n) && !override && !rte_is_same_ether_addr(&n->mac, mac)))
		return;
	neigh_learn(w, port, n, mac);
}

void
neigh_confirm6(struct worker *w, enum upf_port port, const uint8_t *addr)
{
	struct neigh *n = neigh_find6(w->neigh6[port], addr);

	if (neigh_serves(n)) {
		struct rte_ether_addr mac = n->mac;

		neigh_learn(w, port, n, &mac);
	}
}

// Of a request that is under way already nothing is changed: its last ones go to everybody.
static void
doubt(struct worker *w, enum upf_port port, struct neigh *n)
{
	if (n == NULL || n->state != NEIGH_GOOD)
		return;
	n->state = NEIGH_STALE;
	n->tries = TRIES / 2;
	neigh_ask(w, port, n, NULL);
}

void
neigh_doubt4(struct worker *w, enum upf_port port, rte_be32_t addr)
{
	doubt(w, port, neigh_find(w->neigh[port], addr));
}

void
neigh_doubt6(struct worker *w, enum upf_port port, const uint8_t *addr)
{
	doubt(w, port, neigh_find6(w->neigh6[port], addr));
}

const struct rte_ether_addr *
neigh_mac4(struct worker *w, enum upf_port port, rte_be32_t addr)
{
	const struct neigh *n = neigh_find(w->neigh[port], addr);

	return neigh_serves(n) ? &n->mac : NULL;
}

const struct rte_ether_addr *
neigh_mac6(struct worker *w, enum upf_port port, const uint8_t *addr)
{
	const struct neigh *n = neigh_find6(w->neigh6[port], addr);

	return neigh_serves(n) ? &n->mac : NULL;
}

static void
neigh_timer(struct worker *w, enum upf_port port, struct neigh *n)
{
	switch (n->state) {
	case NEIGH_ASKING:
		if (n->tries < TRIES) {
			neigh_ask(w, port, n, NULL);
		} else {
			n->state = NEIGH_DEAD;
			n->due = w->now + tenths(w, DEAD_FOR);
			held_drop(w, port, n);
		}
		break;
	case NEIGH_GOOD:
		if (n->used) {
			n->state = NEIGH_STALE;
			neigh_ask(w, port, n, &n->mac);
		} else {
			n->state = NEIGH_FREE;
		}
		break;
	case NEIGH_STALE: // the first requests go to the known MAC, the last ones to everybody
		if (n->tries < TRIES) {
			neigh_ask(w, port, n, n->tries < TRIES / 2 ? &n->mac : NULL);
		} else {
			n->state = NEIGH_DEAD;
			n->due = w->now + tenths(w, DEAD_FOR);
		}
		break;
	case NEIGH_DEAD: // nobody asked for it since
		n->state = NEIGH_FREE;
		break;
	default:
		break;
	}
}

static void
tick(struct worker *w, enum upf_port port, struct neigh_table *table)
{
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		struct neigh *n = &table->entry[i];

		if (n->state != NEIGH_FREE && n->due <= w->now)
			neigh_timer(w, port, n);
	}
}

void
neigh_tick(struct worker *w, enum upf_port port)
{
	if (w->neigh[port] != NULL)
		tick(w, port, w->neigh[port]);
	if (w->neigh6[port] != NULL)
		tick(w, port, w->neigh6[port]);
}

int
neigh_init(struct worker *w, enum upf_port port)
{
	w->neigh[port] = rte_zmalloc("neigh", sizeof(struct neigh_table), RTE_CACHE_LINE_SIZE);
	if (w->neigh[port] == NULL)
		return -1;
	if (!w->port[port].ip6)
		return 0;
	w->neigh6[port] = rte_zmalloc("neigh6", sizeof(struct neigh_table), RTE_CACHE_LINE_SIZE);
	return w->neigh6[port] != NULL ? 0 : -1;
}

static void
free_held(struct worker *w, struct neigh_table *table)
{
	for (unsigned i = 0; i < NEIGH_ENTRIES; i++) {
		struct neigh *n = &table->entry[i];
		struct rte_mbuf *m;

		while ((m = held_take(w, n)) != NULL)
			rte_pktmbuf_free(m);
		n->state = NEIGH_FREE;
	}
}

void
neigh_free(struct worker *w, enum upf_port port)
{
	if (w->neigh[port] != NULL)
		free_held(w, w->neigh[port]);
	if (w->neigh6[port] != NULL)
		free_held(w, w->neigh6[port]);
	rte_free(w->neigh[port]);
	rte_free(w->neigh6[port]);
	w->neigh[port] = w->neigh6[port] = NULL;
}
