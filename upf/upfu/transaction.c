// Transactions in two passes.
//
// The first pass walks the records in order against an overlay: what the sessions and keys would be
// after the records before. It allocates everything that the second pass needs. The second pass
// publishes and cannot fail. So a refused transaction leaves no trace, and no reader ever saw one.
//
// When rules were replaced or removed, the answer waits until no worker uses the old ones: a counter
// that upf-c reads after the answer is final.
#include "transaction.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "trace.h"
#include "worker.h"

// ---- overlay: a small hash of what this transaction has said so far ------------------------------

enum overlay_space { // which kind of key
	OVERLAY_N3,
	OVERLAY_UE,
	OVERLAY_SESSION,
};

struct overlay_entry {
	uint64_t key;
	uint64_t value;
	uint8_t space;
	bool used;
};

struct overlay {
	struct overlay_entry *entry;
	uint32_t size; // a power of two
	uint32_t used;
};

static struct overlay_entry *
overlay_place(const struct overlay *o, enum overlay_space space, uint64_t key)
{
	uint64_t hash = (key ^ (key >> 32) ^ (uint64_t)space) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 32) & (o->size - 1);

	while (o->entry[i].used && (o->entry[i].key != key || o->entry[i].space != space))
		i = (i + 1) & (o->size - 1);
	return &o->entry[i];
}

static const uint64_t *
overlay_get(const struct overlay *o, enum overlay_space space, uint64_t key)
{
	const struct overlay_entry *e;

	if (o->size == 0)
		return NULL;
	e = overlay_place(o, space, key);
	return e->used ? &e->value : NULL;
}

static int
overlay_grow(struct overlay *o)
{
	struct overlay bigger = {.size = o->size != 0 ? o->size * 2 : 64};

	bigger.entry = calloc(bigger.size, sizeof(*bigger.entry));
	if (bigger.entry == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < o->size; i++) {
		if (o->entry[i].used)
			*overlay_place(&bigger, o->entry[i].space, o->entry[i].key) = o->entry[i];
	}
	bigger.used = o->used;
	free(o->entry);
	*o = bigger;
	return 0;
}

static int
overlay_set(struct overlay *o, enum overlay_space space, uint64_t key, uint64_t value)
{
	struct overlay_entry *e;

	if (o->used * 2 >= o->size && overlay_grow(o) != 0)
		return ENOMEM;
	e = overlay_place(o, space, key);
	o->used += !e->used;
	*e = (struct overlay_entry){.key = key, .value = value, .space = space, .used = true};
	return 0;
}

// ---- first pass ----------------------------------------------------------------------------------

struct op { // a checked record, ready to be applied
	const struct upf_record *record;
	struct rules *rules;
	uint8_t *blob;
	uint32_t blob_len;
};

struct plan {
	struct rule_base *base;
	struct overlay overlay;
	struct op *op;
	uint32_t n;
	uint32_t new_n3, new_ue; // keys that will be added
	uint32_t commands;       // at most, to each worker
	uint32_t key_refused;    // enum upf_refusal of an EEXIST
	uint32_t key_holder;     // the session that has the key
};

static const struct rules *
rules_after_plan(const struct plan *plan, uint32_t session)
{
	const uint64_t *value = overlay_get(&plan->overlay, OVERLAY_SESSION, session);

	return value != NULL ? (const struct rules *)(uintptr_t)*value
			     : plan->base->sessions->state[session].rules;
}

static uint32_t
owner_after_plan(const struct plan *plan, enum overlay_space space, uint64_t key)
{
	const struct session_table *sessions = plan->base->sessions;
	const uint64_t *value = overlay_get(&plan->overlay, space, key);

	if (value != NULL)
		return (uint32_t)*value;
	return bucketmap_lookup(space == OVERLAY_N3 ? &sessions->n3 : &sessions->ue, key);
}

static int
plan_keys(struct plan *plan, enum overlay_space space, const uint64_t *keys, uint32_t n,
	uint32_t session, uint32_t *added)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t owner = owner_after_plan(plan, space, keys[i]);

		if (owner == session)
			continue;
		if (owner != BUCKETMAP_NONE) {
			plan->key_refused =
				space == OVERLAY_N3 ? UPF_REFUSED_FTEID : UPF_REFUSED_UE_IP;
			plan->key_holder = owner;
			return EEXIST;
		}
		++*added;
		if (overlay_set(&plan->overlay, space, keys[i], session) != 0)
			return ENOMEM;
	}
	return 0;
}

static int
plan_release_keys(struct plan *plan, const struct rules *old)
{
	for (uint32_t i = 0; old != NULL && i < old->n_n3_key; i++) {
		if (overlay_set(&plan->overlay, OVERLAY_N3, old->n3_key[i], BUCKETMAP_NONE) != 0)
			return ENOMEM;
	}
	for (uint32_t i = 0; old != NULL && i < old->n_ue_key; i++) {
		if (overlay_set(&plan->overlay, OVERLAY_UE, old->ue_key[i], BUCKETMAP_NONE) != 0)
			return ENOMEM;
	}
	return 0;
}

static int
copy_blob(struct op *op, const uint8_t *blob, uint32_t len)
{
	op->blob = malloc(len != 0 ? len : 1);
	if (op->blob == NULL)
		return ENOMEM;
	memcpy(op->blob, blob, len);
	op->blob_len = len;
	return 0;
}

static int
plan_put(struct plan *plan, struct op *op)
{
	const struct upf_session_put *put = (const void *)op->record;
	const struct rules *old;
	const uint8_t *blob;
	int rc;

	if (put->session >= plan->base->sessions->max)
		return EINVAL;
	rc = compile_session(&plan->base->compile, put, &op->rules, &blob);
	if (rc == 0)
		rc = copy_blob(op, blob, put->blob_len);
	if (rc != 0)
		return rc;
	old = rules_after_plan(plan, put->session);
	op->rules->incarnation =
		old != NULL ? old->incarnation : ++plan->base->sessions->incarnations;
	plan->commands += old != NULL && old->buffers;
	rc = plan_release_keys(plan, old);
	if (rc == 0)
		rc = plan_keys(plan, OVERLAY_N3, op->rules->n3_key, op->rules->n_n3_key,
			put->session, &plan->new_n3);
	if (rc == 0)
		rc = plan_keys(plan, OVERLAY_UE, op->rules->ue_key, op->rules->n_ue_key,
			put->session, &plan->new_ue);
	if (rc == 0)
		rc = overlay_set(
			&plan->overlay, OVERLAY_SESSION, put->session, (uintptr_t)op->rules);
	if (rc == 0 &&
		(plan->new_n3 > bucketmap_room(&plan->base->sessions->n3) ||
			plan->new_ue > bucketmap_room(&plan->base->sessions->ue)))
		rc = ENOMEM;
	return rc;
}

static int
plan_del(struct plan *plan, const struct upf_session_ref *ref)
{
	const struct rules *old;
	int rc;

	if (ref->session >= plan->base->sessions->max || ref->blob_len != 0)
		return EINVAL;
	old = rules_after_plan(plan, ref->session);
	if (old == NULL)
		return ENOENT;
	plan->commands++;
	rc = plan_release_keys(plan, old);
	return rc != 0 ? rc : overlay_set(&plan->overlay, OVERLAY_SESSION, ref->session, 0);
}

static int
plan_blob(struct plan *plan, struct op *op)
{
	const struct upf_session_ref *ref = (const void *)op->record;

	if (((sizeof(*ref) + (uint64_t)ref->blob_len + 7) & ~UINT64_C(7)) != ref->rec.length)
		return EINVAL;
	if (ref->rec.type == UPF_REC_SESSION_STATE) {
		if (ref->session >= plan->base->sessions->max)
			return EINVAL;
		if (rules_after_plan(plan, ref->session) == NULL)
			return ENOENT;
	}
	return copy_blob(op, (const uint8_t *)(ref + 1), ref->blob_len);
}

static int
plan_arm(struct plan *plan, const struct upf_urr_arm *arm)
{
	plan->commands++;
	return arm->slot < plan->base->shm->head->pairs * UPF_LINE_SLOTS &&
			arm->session < plan->base->sessions->max
		? 0
		: EINVAL;
}

// GTP-U from one of our addresses to somebody.
static bool
way_is_valid(const struct config *config, uint8_t ohc, const upf_addr peer, const upf_addr local)
{
	static const upf_addr nobody;

	return (ohc == UPF_OHC_GTPU4 || ohc == UPF_OHC_GTPU6) &&
		memcmp(peer, nobody, sizeof(nobody)) != 0 &&
		config_owner(config, ohc == UPF_OHC_GTPU6, local) >= 0;
}

static int
plan_end_marker(struct plan *plan, const struct upf_end_marker *marker)
{
	if (marker->peer_port == 0 || marker->qfi > 0x3f ||
		!way_is_valid(plan->base->compile.config, marker->ohc, marker->peer_addr,
			marker->local_addr))
		return EINVAL;
	plan->commands++;
	return 0;
}

static int
plan_echo(struct plan *plan, const struct upf_echo *echo)
{
	if (!way_is_valid(plan->base->compile.config, echo->ohc, echo->peer_addr, echo->local_addr))
		return EINVAL;
	plan->commands++;
	return 0;
}

static int
plan_trace(struct plan *plan, const struct upf_trace *order)
{
	plan->commands++;
	return order->session < plan->base->sessions->max
		? trace_prepare(plan->base->worker, plan->base->workers, order)
		: EINVAL;
}

static size_t
least_length(uint16_t type)
{
	switch (type) {
	case UPF_REC_SESSION_PUT:
		return sizeof(struct upf_session_put);
	case UPF_REC_SESSION_DEL:
	case UPF_REC_SESSION_STATE:
	case UPF_REC_META:
		return sizeof(struct upf_session_ref);
	case UPF_REC_URR_ARM:
		return sizeof(struct upf_urr_arm);
	case UPF_REC_END_MARKER:
		return sizeof(struct upf_end_marker);
	case UPF_REC_ECHO:
		return sizeof(struct upf_echo);
	case UPF_REC_TRACE:
		return sizeof(struct upf_trace);
	default:
		return SIZE_MAX;
	}
}

static int
plan_record(struct plan *plan, struct op *op)
{
	const struct upf_record *record = op->record;

	switch (record->type) {
	case UPF_REC_SESSION_PUT:
		return plan_put(plan, op);
	case UPF_REC_SESSION_DEL:
		return plan_del(plan, (const void *)record);
	case UPF_REC_SESSION_STATE:
	case UPF_REC_META:
		return plan_blob(plan, op);
	case UPF_REC_URR_ARM:
		return plan_arm(plan, (const void *)record);
	case UPF_REC_ECHO:
		return plan_echo(plan, (const void *)record);
	case UPF_REC_TRACE:
		return plan_trace(plan, (const void *)record);
	default:
		return plan_end_marker(plan, (const void *)record);
	}
}

// Every worker must be able to take all commands, or the second pass could fail.
static int
wait_for_room(const struct plan *plan)
{
	uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz();

	for (unsigned i = 0; i < plan->base->workers; i++) {
		struct rte_ring *ring = plan->base->worker[i]->commands;

		if (plan->commands > rte_ring_get_capacity(ring))
			return ENOBUFS;
		while (rte_ring_free_count(ring) < plan->commands) {
			if (rte_rdtsc() > deadline)
				return ENOBUFS;
			sched_yield();
		}
	}
	return 0;
}

static int
plan_all(struct plan *plan, const struct upf_msg *msg, size_t length, uint32_t *refused)
{
	const uint8_t *at = (const uint8_t *)(msg + 1);
	size_t left = length - sizeof(*msg);

	for (uint32_t i = 0; i < msg->records; i++) {
		const struct upf_record *record = (const void *)at;
		int rc;

		*refused = i;
		if (left < sizeof(*record) || record->length > left || record->length % 8 != 0 ||
			record->length < least_length(record->type))
			return EINVAL;
		plan->op[i].record = record;
		plan->n = i + 1;
		rc = plan_record(plan, &plan->op[i]);
		if (rc != 0)
			return rc;
		at += record->length;
		left -= record->length;
	}
	if (left != 0)
		return EINVAL;
	return wait_for_room(plan);
}

// ---- second pass ---------------------------------------------------------------------------------

static void
send_command(struct rule_base *base, unsigned worker, const struct command *command)
{
	// There is room: wait_for_room().
	rte_ring_sp_enqueue_elem(
		base->worker[worker]->commands, (void *)(uintptr_t)command, sizeof(*command));
	sleep_wake(&base->worker[worker]->sleeper);
}

static void
tell_rules_changed(struct rule_base *base, uint32_t session)
{
	struct command command = {.op = COMMAND_RULES_CHANGED, .session = session};

	for (unsigned i = 0; i < base->workers; i++)
		send_command(base, i, &command);
}

// Writes a meter so that the worker sees the old values or the new ones (urr.c), and makes it look.
static void
write_meter(struct rule_base *base, const struct upf_urr_arm *arm)
{
	const struct shm_slots *slots = &base->shm->slots;
	struct upf_urr_meter *meter = &slots->meter[arm->slot];
	uint32_t generation = meter->generation;

	__atomic_store_n(&meter->generation, generation + 1, __ATOMIC_RELAXED);
	// Release: no value is written before the odd generation.
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&meter->total, arm->total, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->ul, arm->ul, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->dl, arm->dl, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->quota_total, arm->quota_total, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->quota_ul, arm->quota_ul, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->quota_dl, arm->quota_dl, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->session, arm->session, __ATOMIC_RELAXED);
	__atomic_store_n(
		&slots->times[arm->slot].inactivity_ms, arm->inactivity_ms, __ATOMIC_RELAXED);
	// Release: pairs with the acquire-load in arming_read(). 0 means never armed.
	__atomic_store_n(
		&meter->generation, generation + 2 != 0 ? generation + 2 : 2, __ATOMIC_RELEASE);
	// Sequentially consistent: pairs with the fence of urr_look().
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned dir = 0; dir < 2; dir++)
		__atomic_store_n(&shm_urr(slots, arm->slot, dir)->look_at, 0, __ATOMIC_RELAXED);
}

// What another session armed is nothing to this one.
static void
give_out_slot(struct rule_base *base, uint32_t slot, uint32_t session)
{
	const struct upf_urr_meter *meter = &base->shm->slots.meter[slot];
	struct upf_urr_arm unarmed = {
		.slot = slot,
		.session = session,
		.total = UINT64_MAX,
		.ul = UINT64_MAX,
		.dl = UINT64_MAX,
		.quota_total = UINT64_MAX,
		.quota_ul = UINT64_MAX,
		.quota_dl = UINT64_MAX,
	};

	if (meter->generation != 0 && meter->session == session)
		return;
	base->shm->slots.times[slot] = (struct upf_urr_times){0};
	write_meter(base, &unarmed);
}

static void
replace_blob(struct rule_base *base, uint32_t session, struct op *op)
{
	struct session_state *state = &base->sessions->state[session];

	free(state->blob);
	state->blob = op->blob;
	state->blob_len = op->blob_len;
	op->blob = NULL;
}

// Returns whether workers may still use what was replaced.
static bool
apply_put(struct rule_base *base, struct op *op)
{
	const struct rules *old = base->sessions->state[op->rules->session].rules;
	bool replaced = old != NULL, buffered = old != NULL && old->buffers;
	uint32_t session = op->rules->session;

	for (unsigned i = 0; i < op->rules->n_tunnel + op->rules->n_plain; i++) {
		for (unsigned u = 0; u < op->rules->pdr[i].n_urr; u++)
			give_out_slot(base, op->rules->pdr[i].urr[u].slot, session);
	}
	session_publish(base->sessions, session, op->rules);
	op->rules = NULL;
	replace_blob(base, session, op);
	if (buffered)
		tell_rules_changed(base, session);
	return replaced;
}

static bool
arm_is_reached(const struct rule_base *base, const struct upf_urr_arm *arm)
{
	const struct shm_slots *slots = &base->shm->slots;
	uint64_t ul = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_UL)->bytes, __ATOMIC_RELAXED);
	uint64_t dl = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_DL)->bytes, __ATOMIC_RELAXED);

	return ul + dl >= arm->total || ul >= arm->ul || dl >= arm->dl ||
		ul + dl >= arm->quota_total || ul >= arm->quota_ul || dl >= arm->quota_dl;
}

static void
apply_arm(struct rule_base *base, const struct upf_urr_arm *arm)
{
	struct command look = {.op = COMMAND_URR_LOOK, .session = arm->session, .slot = arm->slot};

	write_meter(base, arm);
	// There may be no further packet to notice it. Not for every arming: a new session would wake
	// the workers for nothing.
	if (arm_is_reached(base, arm))
		send_command(base, 0, &look);
}

void
transaction_trace(struct rule_base *base, const struct upf_trace *order)
{
	struct command command;

	if (base->workers == 0 || base->worker[0]->trace_memory == NULL)
		return;
	command = trace_command_of(base->worker, order);
	for (unsigned i = 0; i < base->workers; i++)
		send_command(base, i, &command);
}

static bool
apply(struct rule_base *base, struct op *op)
{
	const struct upf_record *record = op->record;
	uint32_t session = ((const struct upf_session_ref *)(const void *)record)->session;

	switch (record->type) {
	case UPF_REC_SESSION_PUT:
		return apply_put(base, op);
	case UPF_REC_SESSION_DEL:
		session_publish(base->sessions, session, NULL);
		op->blob_len = 0;
		replace_blob(base, session, op);
		tell_rules_changed(base, session);
		return true;
	case UPF_REC_SESSION_STATE:
		replace_blob(base, session, op);
		return false;
	case UPF_REC_META:
		free(base->meta);
		base->meta = op->blob;
		base->meta_len = op->blob_len;
		op->blob = NULL;
		return false;
	case UPF_REC_URR_ARM:
		apply_arm(base, (const void *)record);
		return false;
	case UPF_REC_TRACE:
		transaction_trace(base, (const void *)record);
		return false;
	default:
		return false; // END_MARKER, ECHO: apply_messages()
	}
}

// After the last packet on the old path, which is certain once no worker has the old rules.
static void
apply_messages(struct rule_base *base, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct upf_record *record = plan->op[i].record;
		struct command command = {.op = COMMAND_END_MARKER};

		if (record->type == UPF_REC_END_MARKER) {
			memcpy(&command.end_marker, record, sizeof(command.end_marker));
		} else if (record->type == UPF_REC_ECHO) {
			command.op = COMMAND_ECHO;
			memcpy(&command.echo, record, sizeof(command.echo));
		} else {
			continue;
		}
		send_command(base, 0, &command);
	}
}

// EEXIST has been told apart where it arose.
static uint32_t
refusal_of(int rc, uint32_t key_refused)
{
	switch (rc) {
	case 0:
		return 0;
	case EEXIST:
		return key_refused;
	case ENOMEM:
		return UPF_REFUSED_MEMORY;
	case ENOBUFS:
		return UPF_REFUSED_BUSY;
	default:
		return UPF_REFUSED_RECORD;
	}
}

int
transaction_run(
	struct rule_base *base, const struct upf_msg *msg, size_t length, struct refusal *refusal)
{
	struct plan plan = {.base = base};
	bool wait = false;
	int rc = EINVAL;

	*refusal = (struct refusal){.what = UPF_REFUSED_RECORD};
	// A record has 8 octets at least, so that the count cannot ask for more memory than it brings.
	if (msg->records > (length - sizeof(*msg)) / sizeof(struct upf_record))
		return EINVAL;
	plan.op = calloc(msg->records + 1, sizeof(*plan.op));
	if (plan.op == NULL) {
		refusal->what = UPF_REFUSED_MEMORY;
		return ENOMEM;
	}
	rc = plan_all(&plan, msg, length, &refusal->record);
	refusal->what = refusal_of(rc, plan.key_refused);
	refusal->holder = plan.key_holder;
	if (rc == 0) {
		refusal->record = 0;
		for (uint32_t i = 0; i < plan.n; i++)
			wait |= apply(base, &plan.op[i]);
		if (wait)
			session_wait_for_workers(base->sessions);
		apply_messages(base, &plan);
		__atomic_store_n(
			&base->shm->head->sessions, base->sessions->present, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < plan.n; i++) {
		rte_free(plan.op[i].rules);
		free(plan.op[i].blob);
	}
	free(plan.overlay.entry);
	free(plan.op);
	return rc;
}
