// The session table's single writer: publication and deferred freeing. See session.h.
#include "session.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

struct session_trash {
	struct session_trash *next;
	uint64_t token;
	void *pointer;
	void (*free_memory)(void *);
};

int
session_table_init(struct session_table *table, uint32_t max, unsigned workers)
{
	memset(table, 0, sizeof(*table));
	table->max = max;
	table->live = rte_zmalloc("sessions", (size_t)max * sizeof(*table->live), 64);
	table->ue_nets = rte_zmalloc("ue_nets", 65536 / 8, 64);
	table->state = calloc(max, sizeof(*table->state));
	table->ue_net_count = calloc(65536, sizeof(*table->ue_net_count));
	table->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(workers), 64);
	if (table->live == NULL || table->ue_nets == NULL || table->state == NULL ||
		table->ue_net_count == NULL || table->qsbr == NULL ||
		rte_rcu_qsbr_init(table->qsbr, workers) != 0 ||
		// Two F-TEIDs a session: N3 and, later, N9 or the old path of a handover.
		bucketmap_init(&table->n3, 2 * max) < 0 || bucketmap_init(&table->ue, max) < 0) {
		session_table_free(table);
		return -1;
	}
	return 0;
}

void
session_table_free(struct session_table *table)
{
	if (table->state != NULL) {
		for (uint32_t i = 0; i < table->max; i++) {
			rte_free(table->state[i].rules);
			free(table->state[i].blob);
		}
	}
	while (table->trash != NULL) {
		struct session_trash *trash = table->trash;

		table->trash = trash->next;
		trash->free_memory(trash->pointer);
		free(trash);
	}
	bucketmap_free(&table->ue);
	bucketmap_free(&table->n3);
	rte_free(table->qsbr);
	free(table->ue_net_count);
	free(table->state);
	rte_free(table->ue_nets);
	rte_free(table->live);
	memset(table, 0, sizeof(*table));
}

static bool
keys_contain(const uint64_t *keys, uint32_t n, uint64_t key)
{
	while (n > 0) { // sorted
		uint32_t half = n / 2;

		if (keys[half] == key)
			return true;
		if (keys[half] < key) {
			keys += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return false;
}

static void
ue_net_add(struct session_table *table, uint64_t key, int change)
{
	uint32_t net = (uint32_t)key >> 16;
	uint8_t bit = (uint8_t)(1u << (net & 7));
	uint8_t byte = table->ue_nets[net / 8];

	table->ue_net_count[net] += (uint32_t)change;
	byte = table->ue_net_count[net] != 0 ? byte | bit : (uint8_t)(byte & ~bit);
	// Relaxed: a hint; a packet in the instant of the change may miss the new UE.
	__atomic_store_n(&table->ue_nets[net / 8], byte, __ATOMIC_RELAXED);
}

void
session_publish(struct session_table *table, uint32_t session, struct rules *rules)
{
	struct session_state *state = &table->state[session];
	struct rules *old = state->rules;

	for (uint32_t i = 0; rules != NULL && i < rules->n_n3_key; i++)
		bucketmap_put(&table->n3, rules->n3_key[i], session);
	for (uint32_t i = 0; rules != NULL && i < rules->n_ue_key; i++) {
		bucketmap_put(&table->ue, rules->ue_key[i], session);
		if (old == NULL || !keys_contain(old->ue_key, old->n_ue_key, rules->ue_key[i]))
			ue_net_add(table, rules->ue_key[i], 1);
	}
	state->rules = rules;
	// Release: pairs with the acquire-load of session_rules(): the rules are complete.
	__atomic_store_n(&table->live[session], rules, __ATOMIC_RELEASE);
	for (uint32_t i = 0; old != NULL && i < old->n_n3_key; i++) {
		if (rules == NULL || !keys_contain(rules->n3_key, rules->n_n3_key, old->n3_key[i]))
			bucketmap_remove(&table->n3, old->n3_key[i]);
	}
	for (uint32_t i = 0; old != NULL && i < old->n_ue_key; i++) {
		if (rules == NULL ||
			!keys_contain(rules->ue_key, rules->n_ue_key, old->ue_key[i])) {
			bucketmap_remove(&table->ue, old->ue_key[i]);
			ue_net_add(table, old->ue_key[i], -1);
		}
	}
	table->present += (uint32_t)(rules != NULL) - (uint32_t)(old != NULL);
	if (old != NULL)
		session_trash_add(table, old, rte_free);
}

void
session_trash_add(struct session_table *table, void *pointer, void (*free_memory)(void *))
{
	struct session_trash *trash = malloc(sizeof(*trash));

	if (trash == NULL) { // wait here instead of later
		session_wait_for_workers(table);
		free_memory(pointer);
		return;
	}
	*trash = (struct session_trash){
		.token = rte_rcu_qsbr_start(table->qsbr),
		.pointer = pointer,
		.free_memory = free_memory,
	};
	if (table->trash == NULL)
		table->trash = trash;
	else
		table->trash_last->next = trash;
	table->trash_last = trash;
}

bool
session_trash_collect(struct session_table *table)
{
	while (table->trash != NULL) {
		struct session_trash *trash = table->trash;

		if (rte_rcu_qsbr_check(table->qsbr, trash->token, false) != 1)
			return true;
		table->trash = trash->next;
		trash->free_memory(trash->pointer);
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
