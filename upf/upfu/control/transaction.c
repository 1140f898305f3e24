// Transactions in two passes.
//
// The first pass walks the records in order against an overlay: what the sessions and keys would be
// after the records before. It allocates everything that the second pass needs. The second pass
// publishes and cannot fail. So a refused transaction leaves no trace, and no reader ever saw one.
//
// When rules were replaced or removed, the answer waits until no worker uses the old ones: a counter
// that upf-c reads after the answer is final.
#include "control/transaction.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "packet/message.h"
#include "packet/sleep.h"
#include "packet/trace.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/compile.h"
#include "rules/qer_clock.h"
#include "rules/session.h"

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
	arena_ref part[2]; // of a SESSION_PUT
	uint8_t *blob;
	uint32_t blob_len;
	bool armed; // of a URR_ARM: the SESSION_PUT before it has done so
};

struct plan {
	struct rule_base *base;
	struct overlay overlay;
	struct op *op;
	uint32_t n;
	uint32_t new_keys[2]; // by enum key_space: that will be added
	uint32_t commands;    // at most, to each worker
	uint32_t key_refused; // enum upf_refusal of an EEXIST
	uint32_t session;     // of the record being planned
	uint32_t key_holder;  // the session that has the key
};

// The session's parts after the records before; NULL: it is absent.
static const arena_ref *
parts_after_plan(const struct plan *plan, uint32_t session)
{
	const uint64_t *value = overlay_get(&plan->overlay, OVERLAY_SESSION, session);
	const struct session_state *state = &plan->base->sessions->state[session];

	if (value != NULL)
		return (const arena_ref *)(uintptr_t)*value;
	return state->part[0] != ARENA_NONE ? state->part : NULL;
}

static const struct part *
part_of(const struct plan *plan, arena_ref ref)
{
	return session_part(plan->base->sessions, ref);
}

static enum overlay_space
overlay_of(enum key_space space)
{
	return space == KEY_N3 ? OVERLAY_N3 : OVERLAY_UE;
}

// The session that a key belongs to after the records before, UINT32_MAX: none.
static uint32_t
owner_after_plan(const struct plan *plan, enum key_space space, uint64_t key)
{
	const struct session_table *sessions = plan->base->sessions;
	const uint64_t *value = overlay_get(&plan->overlay, overlay_of(space), key);
	arena_ref ref;

	if (value != NULL)
		return (uint32_t)*value;
	ref = bucketmap_lookup(space == KEY_N3 ? &sessions->n3 : &sessions->ue, key);
	return ref != BUCKETMAP_NONE ? part_of(plan, ref)->session : UINT32_MAX;
}

static int
plan_key(void *context, enum key_space space, uint64_t key)
{
	struct plan *plan = context;
	uint32_t owner = owner_after_plan(plan, space, key);

	if (owner == plan->session)
		return 0;
	if (owner != UINT32_MAX) {
		plan->key_refused = space == KEY_N3 ? UPF_REFUSED_FTEID : UPF_REFUSED_UE_IP;
		plan->key_holder = owner;
		return EEXIST;
	}
	plan->new_keys[space]++;
	return overlay_set(&plan->overlay, overlay_of(space), key, plan->session);
}

static int
plan_release_key(void *context, enum key_space space, uint64_t key)
{
	struct plan *plan = context;

	return overlay_set(&plan->overlay, overlay_of(space), key, UINT32_MAX);
}

static int
plan_keys(struct plan *plan, const arena_ref part[2],
	int (*each)(void *context, enum key_space space, uint64_t key))
{
	int rc = 0;

	for (unsigned dir = 0; rc == 0 && part != NULL && dir < 2; dir++)
		rc = part_each_key(part_of(plan, part[dir]), each, plan);
	return rc;
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

static bool
buffers(const struct plan *plan, const arena_ref part[2])
{
	return part != NULL && (part_of(plan, part[0])->flags & PART_BUFFERS) != 0;
}

static int
plan_put(struct plan *plan, struct op *op)
{
	const struct upf_session_put *put = (const void *)op->record;
	struct session_table *sessions = plan->base->sessions;
	const arena_ref *old;
	const uint8_t *blob;
	uint32_t incarnation;
	int rc;

	if (put->session >= sessions->max)
		return EINVAL;
	rc = compile_session(&plan->base->compile, put, op->part, &blob);
	if (rc == 0)
		rc = copy_blob(op, blob, put->blob_len);
	if (rc != 0)
		return rc;
	plan->session = put->session;
	old = parts_after_plan(plan, put->session);
	incarnation = old != NULL ? part_of(plan, old[0])->incarnation : ++sessions->incarnations;
	for (unsigned dir = 0; dir < 2; dir++) {
		struct part *part = arena_at(&sessions->arena, op->part[dir]);

		part->incarnation = incarnation;
	}
	plan->commands += buffers(plan, old);
	rc = plan_keys(plan, old, plan_release_key);
	if (rc == 0)
		rc = plan_keys(plan, op->part, plan_key);
	if (rc == 0)
		rc = overlay_set(
			&plan->overlay, OVERLAY_SESSION, put->session, (uintptr_t)op->part);
	if (rc == 0 &&
		(plan->new_keys[KEY_N3] > bucketmap_room(&sessions->n3) ||
			plan->new_keys[KEY_UE] > bucketmap_room(&sessions->ue)))
		rc = ENOMEM;
	return rc;
}

static int
plan_del(struct plan *plan, const struct upf_session_ref *ref)
{
	const arena_ref *old;
	int rc;

	if (ref->session >= plan->base->sessions->max || ref->blob_len != 0)
		return EINVAL;
	old = parts_after_plan(plan, ref->session);
	if (old == NULL)
		return ENOENT;
	plan->commands++;
	rc = plan_keys(plan, old, plan_release_key);
	return rc != 0 ? rc : overlay_set(&plan->overlay, OVERLAY_SESSION, ref->session, 0);
}

static int
plan_drop_buffered(struct plan *plan, const struct upf_session_ref *ref)
{
	if (ref->session >= plan->base->sessions->max || ref->blob_len != 0)
		return EINVAL;
	plan->commands++;
	return parts_after_plan(plan, ref->session) != NULL ? 0 : ENOENT;
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
		if (parts_after_plan(plan, ref->session) == NULL)
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
	if (marker->session >= plan->base->sessions->max || marker->peer_port == 0 ||
		marker->qfi > 0x3f ||
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
	case UPF_REC_DROP_BUFFERED:
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
	case UPF_REC_DROP_BUFFERED:
		return plan_drop_buffered(plan, (const void *)record);
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
		plan->op[i] = (struct op){.record = record, .part = {ARENA_NONE, ARENA_NONE}};
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

static unsigned
home_of(const struct rule_base *base, uint32_t session)
{
	return session % base->workers; // as compile.c
}

static void
tell_rules_changed(struct rule_base *base, uint32_t session)
{
	struct command command = {.op = COMMAND_RULES_CHANGED, .session = session};

	send_command(base, home_of(base, session), &command);
}

// From here on `generation` says how far the writing is, to whoever reads what is written from here
// on.
static void
meter_goes_on(struct upf_urr_meter *meter, uint32_t generation)
{
	// Release: what was written before is seen by whoever sees this.
	__atomic_store_n(&meter->generation, generation, __ATOMIC_RELEASE);
	// Release: pairs with the fence of quotas_read(); what is written behind is seen by nobody
	// who does not see this.
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

// The worker may need the quotas at any moment of this. While they shrink, what passes is within
// the old ones, while they grow within the new ones; so a control thread that loses its CPU here
// opens nothing.
static void
write_quotas(struct upf_urr_meter *meter, const struct upf_urr_arm *arm, uint32_t generation)
{
	uint64_t *quota[] = {&meter->quota_total, &meter->quota_ul, &meter->quota_dl};
	const uint64_t next[] = {arm->quota_total, arm->quota_ul, arm->quota_dl};

	for (unsigned i = 0; i < 3; i++) {
		if (generation == 0 || next[i] < *quota[i]) // never armed: no limits yet
			__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);
	}
	meter_goes_on(meter, generation + METER_GROWS);
	for (unsigned i = 0; i < 3; i++)
		__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);
}

// Writes a meter so that the worker sees the old values or the new ones (usage.c), and makes it look.
static void
write_meter(struct rule_base *base, const struct upf_urr_arm *arm, uint64_t look_at)
{
	const struct shm_slots *slots = &base->shm->slots;
	struct upf_urr_meter *meter = &slots->meter[arm->slot];
	uint32_t generation = meter->generation;

	meter_goes_on(meter, generation + METER_SHRINKS);
	__atomic_store_n(&meter->total, arm->total, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->ul, arm->ul, __ATOMIC_RELAXED);
	__atomic_store_n(&meter->dl, arm->dl, __ATOMIC_RELAXED);
	write_quotas(meter, arm, generation);
	__atomic_store_n(&meter->session, arm->session, __ATOMIC_RELAXED);
	__atomic_store_n(
		&slots->times[arm->slot].inactivity_ms, arm->inactivity_ms, __ATOMIC_RELAXED);
	// Release: pairs with the acquire-load in arming_read(). 0 means never armed.
	generation += METER_STEP;
	__atomic_store_n(
		&meter->generation, generation != 0 ? generation : METER_STEP, __ATOMIC_RELEASE);
	// Sequentially consistent: pairs with the fence of urr_look().
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned dir = 0; dir < 2; dir++)
		__atomic_store_n(
			&shm_urr(slots, arm->slot, dir)->look_at, look_at, __ATOMIC_RELAXED);
}

// Whose the slot is: another URR finds nothing armed and no times.
static uint32_t
slot_tag(const struct upf_urr *urr, uint32_t incarnation)
{
	return incarnation * UINT32_C(0x9e3779b1) ^ urr->urr_id;
}

// The arming of this slot among those that follow a SESSION_PUT, NULL: none.
static struct op *
arming_behind(struct op *put, uint32_t session, uint32_t slot)
{
	for (struct op *op = put + 1; op->record != NULL && op->record->type == UPF_REC_URR_ARM;
		op++) {
		const struct upf_urr_arm *arm = (const void *)op->record;

		if (arm->session == session && arm->slot == slot)
			return op;
	}
	return NULL;
}

// A new URR is armed before its first packet can come: nothing passes a quota that is used up from
// the beginning.
static void
give_out_urr(struct rule_base *base, const struct upf_urr *urr, uint32_t session,
	uint32_t incarnation, struct op *put)
{
	struct upf_urr_meter *meter = &base->shm->slots.meter[urr->slot];
	uint32_t tag = slot_tag(urr, incarnation);
	struct upf_urr_arm unarmed = {
		.slot = urr->slot,
		.session = session,
		.total = UINT64_MAX,
		.ul = UINT64_MAX,
		.dl = UINT64_MAX,
		.quota_total = UINT64_MAX,
		.quota_ul = UINT64_MAX,
		.quota_dl = UINT64_MAX,
	};
	struct op *arming;

	if (meter->generation != 0 && meter->session == session && meter->reserved == tag)
		return;
	meter->reserved = tag;
	base->shm->slots.times[urr->slot] = (struct upf_urr_times){0};
	arming = arming_behind(put, session, urr->slot);
	if (arming == NULL) {
		write_meter(base, &unarmed, UINT64_MAX);
		return;
	}
	arming->armed = true;
	write_meter(base, (const void *)arming->record, 0);
}

static void
note_used(struct rule_base *base, uint32_t slot)
{
	uint32_t pair = slot / UPF_LINE_SLOTS;

	if (pair >= base->shm->pairs_used)
		__atomic_store_n(&base->shm->pairs_used, pair + 1, __ATOMIC_RELAXED);
}

// ---- token buckets -------------------------------------------------------------------------------

struct clock { // a token bucket that a part uses
	uint64_t cost;
	uint32_t slot;
	uint32_t direction;
};

struct clocks {
	struct clock *clock;
	uint32_t n, size;
};

static void
clocks_add(struct clocks *c, uint32_t slot, unsigned direction, uint64_t cost)
{
	if (cost == 0)
		return;
	if (c->n == c->size) {
		uint32_t size = c->size != 0 ? c->size * 2 : 16;
		struct clock *clock = realloc(c->clock, size * sizeof(*clock));

		if (clock == NULL)
			return; // the bucket keeps its debt
		c->clock = clock;
		c->size = size;
	}
	c->clock[c->n++] = (struct clock){cost, slot, direction};
}

static void
clocks_of(struct clocks *c, const struct part *part)
{
	for (unsigned i = 0; i < part->n_pdr; i++) {
		const struct pdr *pdr = &part->pdr[i];
		const struct pdr_qer *qer = NULL;

		if (pdr->more != 0 && pdr_more(part, pdr)->qer != 0)
			qer = part_at(part, pdr_more(part, pdr)->qer);
		for (unsigned q = 0; q < pdr->n_qer; q++) {
			if (qer == NULL) {
				clocks_add(
					c, shm_slot(pdr->qer_at[q]), pdr->direction, pdr->cost[q]);
				continue;
			}
			clocks_add(c, qer[q].slot, pdr->direction, qer[q].cost);
			clocks_add(c, qer[q].gbr_slot, pdr->direction, qer[q].gbr_cost);
		}
	}
}

static int
compare_clocks(const void *a, const void *b)
{
	const struct clock *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	return (x->cost > y->cost) - (x->cost < y->cost);
}

// Keeps of `now` those that are not in `old`, at the same rate.
static void
clocks_subtract(struct clocks *now, struct clocks *old)
{
	uint32_t kept = 0;

	if (old->n == 0)
		return;
	qsort(old->clock, old->n, sizeof(*old->clock), compare_clocks);
	for (uint32_t i = 0; i < now->n; i++) {
		if (bsearch(&now->clock[i], old->clock, old->n, sizeof(*old->clock),
			    compare_clocks) == NULL)
			now->clock[kept++] = now->clock[i];
	}
	now->n = kept;
}

static void
start_clocks(struct rule_base *base, const struct clocks *clocks)
{
	uint64_t present = rte_rdtsc() << QER_FRACTION;

	for (uint32_t i = 0; i < clocks->n; i++) {
		const struct clock *c = &clocks->clock[i];

		__atomic_store_n(qer_tat(&base->shm->slots, c->slot, c->direction), present,
			__ATOMIC_RELAXED);
	}
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
	const struct upf_session_put *put = (const void *)op->record;
	const struct upf_qer *qer = compile_qers_of(put);
	const struct upf_urr *urr = compile_urrs_of(put);
	struct session_table *sessions = base->sessions;
	const struct part *old = session_present(sessions, put->session, UPF_UL);
	bool replaced = old != NULL, buffered = replaced && (old->flags & PART_BUFFERS) != 0;
	uint32_t incarnation = session_part(sessions, op->part[UPF_UL])->incarnation;
	struct clocks before = {0}, now = {0};

	for (unsigned i = 0; i < put->n_qer; i++) {
		note_used(base, qer[i].slot);
		if ((qer[i].flags & UPF_QER_GBR) != 0)
			note_used(base, qer[i].gbr_slot);
	}
	for (unsigned i = 0; i < put->n_urr; i++) {
		note_used(base, urr[i].slot);
		give_out_urr(base, &urr[i], put->session, incarnation, op);
	}
	for (unsigned dir = 0; dir < 2; dir++) {
		if (replaced)
			clocks_of(&before,
				session_present(sessions, put->session, (enum upf_direction)dir));
		clocks_of(&now, session_part(sessions, op->part[dir]));
	}
	clocks_subtract(&now, &before);
	start_clocks(base, &now);
	session_publish(sessions, put->session, op->part);
	if (replaced && now.n != 0) {
		// A worker may have charged the old rate meanwhile.
		session_wait_for_workers(sessions);
		start_clocks(base, &now);
	}
	op->part[0] = op->part[1] = ARENA_NONE;
	replace_blob(base, put->session, op);
	if (buffered)
		tell_rules_changed(base, put->session);
	free(before.clock);
	free(now.clock);
	return replaced;
}

// Volumes that a worker may have counted without looking, while the meter was written: a burst.
#define UNSEEN UINT64_C(1048576)

static bool
is_near(uint64_t volume, uint64_t at)
{
	return at != UINT64_MAX && volume + UNSEEN >= at;
}

static bool
arm_is_near(const struct rule_base *base, const struct upf_urr_arm *arm)
{
	const struct shm_slots *slots = &base->shm->slots;
	uint64_t ul = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_UL)->bytes, __ATOMIC_RELAXED);
	uint64_t dl = __atomic_load_n(&shm_urr(slots, arm->slot, UPF_DL)->bytes, __ATOMIC_RELAXED);

	return is_near(ul + dl, arm->total) || is_near(ul, arm->ul) || is_near(dl, arm->dl) ||
		is_near(ul + dl, arm->quota_total) || is_near(ul, arm->quota_ul) ||
		is_near(dl, arm->quota_dl);
}

static void
apply_arm(struct rule_base *base, const struct upf_urr_arm *arm, bool armed)
{
	struct command look = {.op = COMMAND_URR_LOOK, .session = arm->session, .slot = arm->slot};

	if (!armed)
		write_meter(base, arm, 0);
	// There may be no further packet to notice it. Not for every arming: a new session would wake
	// its worker for nothing.
	if (arm_is_near(base, arm))
		send_command(base, home_of(base, arm->session), &look);
}

void
transaction_listener_gone(struct rule_base *base)
{
	// Relaxed: as where META comes.
	__atomic_store_n(&base->listener, (base->listener | 1) + 1, __ATOMIC_RELAXED);
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
		session_publish(base->sessions, session, (arena_ref[2]){ARENA_NONE, ARENA_NONE});
		op->blob_len = 0;
		replace_blob(base, session, op);
		tell_rules_changed(base, session);
		return true;
	case UPF_REC_SESSION_STATE:
		replace_blob(base, session, op);
		return false;
	case UPF_REC_DROP_BUFFERED:
		send_command(base, home_of(base, session),
			&(struct command){.op = COMMAND_DROP_BUFFERED, .session = session});
		return false;
	case UPF_REC_META:
		free(base->meta);
		base->meta = op->blob;
		base->meta_len = op->blob_len;
		op->blob = NULL;
		// Release: pairs with the load in gtpu_unknown_teid(), after the sessions.
		__atomic_store_n(&base->synced, session != UPF_META_RESTORING, __ATOMIC_RELEASE);
		// Relaxed: it carries nothing but itself. upf-c has all sessions before it writes META.
		__atomic_store_n(&base->listener, base->listener | 1, __ATOMIC_RELAXED);
		return false;
	case UPF_REC_URR_ARM:
		apply_arm(base, (const void *)record, op->armed);
		return false;
	case UPF_REC_TRACE:
		transaction_trace(base, (const void *)record);
		return false;
	default:
		return false; // END_MARKER, ECHO: apply_messages()
	}
}

// After the last packet on the old path, which is certain once no worker has the old rules. An End
// Marker takes the way of those packets: from the session's home worker, through its transmit queue
// and behind what waits there for the neighbour's address.
static void
apply_messages(struct rule_base *base, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct upf_record *record = plan->op[i].record;
		struct command command = {.op = COMMAND_END_MARKER};
		unsigned worker = 0;

		if (record->type == UPF_REC_END_MARKER) {
			memcpy(&command.end_marker, record, sizeof(command.end_marker));
			worker = home_of(base, command.end_marker.session);
		} else if (record->type == UPF_REC_ECHO) {
			command.op = COMMAND_ECHO;
			memcpy(&command.echo, record, sizeof(command.echo));
		} else {
			continue;
		}
		send_command(base, worker, &command);
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
		__atomic_store_n(&base->shm->head->rules_octets, base->sessions->arena.in_use,
			__ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < plan.n; i++) {
		session_discard(base->sessions, plan.op[i].part);
		free(plan.op[i].blob);
	}
	free(plan.overlay.entry);
	free(plan.op);
	return rc;
}
