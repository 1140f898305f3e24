// The session table's single writer: publication and deferred freeing. See session.h.
#include "rules/session.h"

#include <sched.h>
#include <stdlib.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/domains.h"

#define NETS 65536u

// Room for framed routes in a network instance: few sessions have any.
#define ROUTES_SHARE 16u // one for so many sessions
#define ROUTES_LEAST 1024u

struct session_trash {
	struct session_trash *next;
	uint64_t token;
	arena_ref part[2];
};

static int
ue_nets_init(struct ue_nets *nets)
{
	nets->bits = rte_zmalloc("ue_nets", NETS / 8, 64);
	nets->count = calloc(NETS, sizeof(*nets->count));
	return nets->bits != NULL && nets->count != NULL ? 0 : -1;
}

static void
ue_nets_free(struct ue_nets *nets)
{
	rte_free(nets->bits);
	free(nets->count);
}

int
session_table_init(struct session_table *table, uint32_t max, unsigned workers, unsigned networks)
{
	int rc = 0;

	memset(table, 0, sizeof(*table));
	table->max = max;
	table->state = malloc((size_t)max * sizeof(*table->state));
	table->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(workers), 64);
	for (uint32_t i = 0; table->state != NULL && i < max; i++)
		table->state[i] = (struct session_state){.part = {ARENA_NONE, ARENA_NONE}};
	if (table->state == NULL || table->qsbr == NULL ||
		rte_rcu_qsbr_init(table->qsbr, workers) != 0 || arena_init(&table->arena) < 0 ||
		ue_nets_init(&table->nets4) < 0 || ue_nets_init(&table->nets6) < 0 ||
		// Two F-TEIDs a session: N3 and N9, or the old path of a handover; and two UE IP
		// addresses at most, of which most have one.
		bucketmap_init(&table->n3, 2 * max) < 0)
		rc = -1;
	for (unsigned port = 0; port < UPF_PORT_N6; port++)
		table->by_port[port] = &table->n3;
	for (unsigned i = 0; rc == 0 && i < networks; i++) {
		rc = bucketmap_init(&table->ue[i], max);
		table->by_port[UPF_PORT_N6 + i] = &table->ue[i];
		if (rc == 0)
			rc = bucketmap_init(
				&table->route[i], RTE_MAX(max / ROUTES_SHARE, ROUTES_LEAST));
	}
	if (rc < 0)
		session_table_free(table);
	return rc;
}

int
session_table_add_nat(struct session_table *table, unsigned network)
{
	return bucketmap_init(&table->nat[network], table->max);
}

int
session_table_add_bridge(struct session_table *table, unsigned network)
{
	struct session_members *members = rte_zmalloc("members", sizeof(*members), 64);

	table->members[network] = members;
	if (members == NULL)
		return -1;
	members->at = rte_zmalloc("members", table->max * sizeof(*members->at), 64);
	members->place = rte_zmalloc("members", table->max * sizeof(*members->place), 64);
	return members->at != NULL && members->place != NULL ? 0 : -1;
}

void
session_table_free(struct session_table *table)
{
	for (uint32_t i = 0; table->state != NULL && i < table->max; i++) {
		session_discard(table, table->state[i].part);
		free(table->state[i].blob);
	}
	while (table->trash != NULL) {
		struct session_trash *trash = table->trash;

		table->trash = trash->next;
		session_discard(table, trash->part);
		free(trash);
	}
	for (unsigned i = 0; i < UPF_NETWORKS; i++) {
		bucketmap_free(&table->ue[i]);
		bucketmap_free(&table->route[i]);
		bucketmap_free(&table->nat[i]);
		if (table->members[i] != NULL) {
			rte_free(table->members[i]->at);
			rte_free(table->members[i]->place);
			rte_free(table->members[i]);
		}
	}
	bucketmap_free(&table->n3);
	domains_free(table->domains);
	ue_nets_free(&table->nets6);
	ue_nets_free(&table->nets4);
	arena_free_all(&table->arena);
	rte_free(table->qsbr);
	free(table->state);
	memset(table, 0, sizeof(*table));
}

size_t
part_size(const struct part *part)
{
	return part->more != 0 ? part_more(part)->size
			       : sizeof(*part) + part->n_pdr * sizeof(struct pdr);
}

void
session_discard(struct session_table *table, const arena_ref part[2])
{
	for (unsigned dir = 0; dir < 2; dir++) {
		if (part[dir] != ARENA_NONE)
			arena_free(&table->arena, part[dir],
				part_size(session_part(table, part[dir])));
	}
}

// The downlink part is found by the session's UE IP address when some PDR without F-TEID asks for it.
static uint8_t
ue_families(const struct part *part)
{
	uint8_t families = 0;

	if (part->direction != UPF_DL)
		return 0;
	for (unsigned i = 0; i < part->n_pdr && families != PDR_UE; i++) {
		if (part->pdr[i].fteid == 0)
			families |= part->pdr[i].flags & PDR_UE;
	}
	return families;
}

// The framed routes by which the part is found: those of the versions in which it is found by the UE's address.
// Calls each() for them; stops and returns what it returns when that is not 0.
static int
each_route(const struct part *part, int (*each)(void *context, const struct part_route *route),
	void *context)
{
	uint8_t families = ue_families(part);
	int rc = 0;

	if ((part->flags & PART_FRAMED) == 0)
		return 0;
	for (unsigned i = 0; rc == 0 && i < part_routes(part)->n; i++) {
		const struct part_route *route = &part_routes(part)->route[i];

		if ((families & (route->ip6 ? PDR_UE_IPV6 : PDR_UE_IPV4)) != 0)
			rc = each(context, route);
	}
	return rc;
}

struct route_keys {
	int (*each)(void *context, enum key_space space, uint64_t key);
	void *context;
	unsigned network;
};

static int
key_of_route(void *context, const struct part_route *route)
{
	const struct route_keys *keys = context;
	enum key_space space = (enum key_space)(KEY_ROUTE + keys->network);

	if (!route->ip6)
		return keys->each(
			keys->context, space, route_key4((uint32_t)route->prefix, route->len));
	if (route->len == 64)
		return keys->each(
			keys->context, (enum key_space)(KEY_UE + keys->network), route->prefix);
	return keys->each(keys->context, space, route_key6(route->prefix, route->len));
}

int
part_each_key(const struct part *part,
	int (*each)(void *context, enum key_space space, uint64_t key), void *context)
{
	enum key_space ue = (enum key_space)(KEY_UE + (part->n6 - UPF_PORT_N6));
	uint8_t families = ue_families(part);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < part->n_pdr; i++) {
		uint64_t fteid = part->pdr[i].fteid;

		if (fteid != 0 && (i == 0 || fteid != part->pdr[i - 1].fteid))
			rc = each(context, KEY_N3, fteid);
	}
	if (rc == 0 && (families & PDR_UE_IPV4) != 0)
		rc = each(context, ue, ue_key(part->ue4));
	if (rc == 0 && (families & PDR_UE_IPV6) != 0)
		rc = each(context, ue, part->ue6);
	if (rc == 0) {
		struct route_keys keys = {each, context, part->n6 - (unsigned)UPF_PORT_N6};

		rc = each_route(part, key_of_route, &keys);
	}
	if (rc == 0 && part->direction == UPF_DL && (part->flags & PART_NAT) != 0)
		rc = each(context, (enum key_space)(KEY_NAT + (part->n6 - UPF_PORT_N6)),
			nat_key(part_more(part)->nat_addr, part_more(part)->nat_port));
	return rc;
}

// ---- publication -----------------------------------------------------------------------------

static void
ue_net_change(struct ue_nets *nets, uint16_t net, int change)
{
	uint8_t bit = (uint8_t)(1u << (net & 7));
	uint8_t byte = nets->bits[net >> 3];

	nets->count[net] += (uint32_t)change;
	byte = nets->count[net] != 0 ? byte | bit : (uint8_t)(byte & ~bit);
	// Relaxed: a hint; a packet in the instant of the change may miss the new UE.
	__atomic_store_n(&nets->bits[net >> 3], byte, __ATOMIC_RELAXED);
}

static void
len_change(uint64_t *lens, uint32_t count[], unsigned len, int change)
{
	uint64_t bit = UINT64_C(1) << (len - 1);

	count[len - 1] += (uint32_t)change;
	__atomic_store_n(lens, count[len - 1] != 0 ? *lens | bit : *lens & ~bit, __ATOMIC_RELAXED);
}

struct route_note {
	struct session_table *table;
	int change;
};

static int
note_route(void *context, const struct part_route *route)
{
	const struct route_note *note = context;
	struct session_table *table = note->table;
	unsigned len = route->len;

	if (!route->ip6) {
		unsigned first = (unsigned)(route->prefix >> 16);
		unsigned nets = len < 16 ? 1u << (16 - len) : 1;

		for (unsigned i = 0; i < nets; i++)
			ue_net_change(&table->nets4, (uint16_t)(first + i), note->change);
		len_change(&table->route4_lens, table->route4_count, len, note->change);
		return 0;
	}
	// As session_has_ue6() looks.
	if (len < 40)
		len_change(&table->ue6_lens, table->ue6_count, len, note->change);
	else
		ue_net_change(&table->nets6, ue_net6(route->prefix), note->change);
	if (len < 64)
		len_change(&table->route6_lens, table->route6_count, len, note->change);
	return 0;
}

// Notes or forgets what is found by the UE's addresses, beside the map.
static void
note_ue(struct session_table *table, const struct part *part, int change)
{
	uint8_t families = ue_families(part);

	if ((families & PDR_UE_IPV4) != 0)
		ue_net_change(&table->nets4, (uint16_t)(rte_be_to_cpu_32(part->ue4) >> 16), change);
	if ((families & PDR_UE_IPV6) != 0) {
		ue_net_change(&table->nets6, ue_net6(part->ue6), change);
		len_change(&table->ue6_lens, table->ue6_count, part->ue6_len, change);
	}
	each_route(part, note_route, &(struct route_note){table, change});
}

struct publication {
	struct session_table *table;
	arena_ref part;
};

static int
put_key(void *context, enum key_space space, uint64_t key)
{
	const struct publication *p = context;

	// Release, in there: pairs with the acquire-load of bucketmap_find(): the part is complete.
	bucketmap_put(session_map(p->table, space), key, p->part);
	return 0;
}

// A key that leads elsewhere meanwhile is one of the new part's.
static int
remove_key(void *context, enum key_space space, uint64_t key)
{
	const struct publication *p = context;
	struct bucketmap *map = session_map(p->table, space);

	if (bucketmap_lookup(map, key) == p->part)
		bucketmap_remove(map, key);
	return 0;
}

static void
trash_add(struct session_table *table, const arena_ref part[2])
{
	struct session_trash *trash = malloc(sizeof(*trash));

	if (trash == NULL) { // wait here instead of later
		session_wait_for_workers(table);
		session_discard(table, part);
		return;
	}
	*trash = (struct session_trash){
		.token = rte_rcu_qsbr_start(table->qsbr),
		.part = {part[0], part[1]},
	};
	if (table->trash == NULL)
		table->trash = trash;
	else
		table->trash_last->next = trash;
	table->trash_last = trash;
}

// The list of sessions in which a part's stands; NULL: in none.
static struct session_members *
members_of(const struct session_table *table, arena_ref ref)
{
	const struct part *part = ref != ARENA_NONE ? session_part(table, ref) : NULL;

	return part != NULL && part->ethernet ? table->members[part->n6 - UPF_PORT_N6] : NULL;
}

static void
member_add(struct session_members *members, uint32_t session)
{
	__atomic_store_n(&members->place[session], members->n, __ATOMIC_RELAXED);
	__atomic_store_n(&members->at[members->n], session, __ATOMIC_RELAXED);
	// Release: pairs with session_members().
	__atomic_store_n(&members->n, members->n + 1, __ATOMIC_RELEASE);
}

static void
member_remove(struct session_members *members, uint32_t session)
{
	uint32_t place = members->place[session], last = members->at[members->n - 1];

	__atomic_store_n(&members->n, members->n - 1, __ATOMIC_RELEASE);
	__atomic_store_n(&members->place[last], place, __ATOMIC_RELAXED);
	__atomic_store_n(&members->at[place], last, __ATOMIC_RELAXED);
}

// An Ethernet session keeps its network instance (plan.c).
static void
change_members(struct session_table *table, uint32_t session, arena_ref old, arena_ref new)
{
	struct session_members *before = members_of(table, old), *now = members_of(table, new);

	if (before == now)
		return;
	if (before != NULL)
		member_remove(before, session);
	if (now != NULL)
		member_add(now, session);
}

void
session_publish(struct session_table *table, uint32_t session, const arena_ref part[2])
{
	struct session_state *state = &table->state[session];
	const arena_ref old[2] = {state->part[0], state->part[1]};

	for (unsigned dir = 0; dir < 2; dir++) {
		struct publication p = {table, part[dir]};

		if (part[dir] == ARENA_NONE)
			continue;
		note_ue(table, session_part(table, part[dir]), 1);
		part_each_key(session_part(table, part[dir]), put_key, &p);
	}
	for (unsigned dir = 0; dir < 2; dir++) {
		struct publication p = {table, old[dir]};

		if (old[dir] == ARENA_NONE)
			continue;
		part_each_key(session_part(table, old[dir]), remove_key, &p);
		note_ue(table, session_part(table, old[dir]), -1);
	}
	table->present += (uint32_t)(part[0] != ARENA_NONE) - (uint32_t)(old[0] != ARENA_NONE);
	// Release: pairs with session_current().
	__atomic_store_n(&state->part[0], part[0], __ATOMIC_RELEASE);
	__atomic_store_n(&state->part[1], part[1], __ATOMIC_RELEASE);
	change_members(table, session, old[0], part[0]);
	if (part[0] != ARENA_NONE)
		state->home = session_part(table, part[0])->home;
	if (old[0] != ARENA_NONE)
		trash_add(table, old);
}

// The routes of the network instance of this interface.
static const struct bucketmap *
routes_of(const struct session_table *table, enum upf_port n6)
{
	return &table->route[n6 - UPF_PORT_N6];
}

uint32_t
session_find_route4(const struct session_table *table, enum upf_port n6, uint32_t addr)
{
	uint64_t lens = __atomic_load_n(&table->route4_lens, __ATOMIC_RELAXED);

	while (lens != 0) {
		unsigned longest = 63 - (unsigned)__builtin_clzll(lens);
		uint32_t part =
			bucketmap_lookup(routes_of(table, n6), route_key4(addr, longest + 1));

		if (part != BUCKETMAP_NONE)
			return part;
		lens &= ~(UINT64_C(1) << longest);
	}
	return BUCKETMAP_NONE;
}

static uint32_t
find_route6(const struct session_table *table, enum upf_port n6, uint64_t key)
{
	uint64_t lens = __atomic_load_n(&table->route6_lens, __ATOMIC_RELAXED);

	while (lens != 0) {
		unsigned longest = 63 - (unsigned)__builtin_clzll(lens);
		uint32_t part =
			bucketmap_lookup(routes_of(table, n6), route_key6(key, longest + 1));

		if (part != BUCKETMAP_NONE)
			return part;
		lens &= ~(UINT64_C(1) << longest);
	}
	return BUCKETMAP_NONE;
}

uint32_t
session_find_ue6(const struct session_table *table, enum upf_port n6, uint64_t key)
{
	uint64_t lens = __atomic_load_n(&table->ue6_lens, __ATOMIC_RELAXED);

	while (lens != 0) {
		unsigned longest = 63 - (unsigned)__builtin_clzll(lens);
		uint64_t prefix = key & ue6_mask(longest + 1);
		uint32_t part = bucketmap_lookup(table->by_port[n6], prefix);

		// A shorter prefix may be the same key: the part knows its length.
		if (part != BUCKETMAP_NONE && session_part(table, part)->ue6_len <= longest + 1)
			return part;
		lens &= ~(UINT64_C(1) << longest);
	}
	return find_route6(table, n6, key);
}

// ---- grace periods ---------------------------------------------------------------------------

bool
session_trash_collect(struct session_table *table)
{
	while (table->trash != NULL) {
		struct session_trash *trash = table->trash;

		if (rte_rcu_qsbr_check(table->qsbr, trash->token, false) != 1)
			return true;
		table->trash = trash->next;
		session_discard(table, trash->part);
		free(trash);
	}
	return false;
}

void
session_wait_for_workers(struct session_table *table)
{
	uint64_t token = rte_rcu_qsbr_start(table->qsbr);

	// On a one-CPU unit the worker can only finish when it gets the CPU.
	while (rte_rcu_qsbr_check(table->qsbr, token, false) != 1)
		sched_yield();
}
