#include "control/plan.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ring.h>

#include "link/vlan.h"
#include "packet/detection.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/arena.h"
#include "rules/bucketmap.h"
#include "rules/compile.h"
#include "rules/domains.h"
#include "rules/session.h"

// ---- the overlay -----------------------------------------------------------------------------------

static struct overlay_entry *
overlay_place(const struct overlay *o, unsigned space, uint64_t key)
{
	uint64_t hash = (key ^ (key >> 32) ^ (uint64_t)space) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 32) & (o->size - 1);

	while (o->entry[i].used && (o->entry[i].key != key || o->entry[i].space != space))
		i = (i + 1) & (o->size - 1);
	return &o->entry[i];
}

static const uint64_t *
overlay_get(const struct overlay *o, unsigned space, uint64_t key)
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
overlay_set(struct overlay *o, unsigned space, uint64_t key, uint64_t value)
{
	struct overlay_entry *e;

	if (o->used * 2 >= o->size && overlay_grow(o) != 0)
		return ENOMEM;
	e = overlay_place(o, space, key);
	o->used += !e->used;
	*e = (struct overlay_entry){
		.key = key, .value = value, .space = (uint8_t)space, .used = true};
	return 0;
}

// ---- the records -----------------------------------------------------------------------------------

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

// The session that a key belongs to after the records before, UINT32_MAX: none.
static uint32_t
owner_after_plan(const struct plan *plan, enum key_space space, uint64_t key)
{
	const uint64_t *value = overlay_get(&plan->overlay, space, key);
	arena_ref ref;

	if (value != NULL)
		return (uint32_t)*value;
	ref = bucketmap_lookup(session_map(plan->base->sessions, space), key);
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
		plan->key_refused = space == KEY_N3 ? UPF_REFUSED_FTEID
			: space < KEY_NAT           ? UPF_REFUSED_UE_IP
						    : UPF_REFUSED_NAT;
		plan->key_holder = owner;
		return EEXIST;
	}
	plan->new_keys[space]++;
	return overlay_set(&plan->overlay, space, key, plan->session);
}

static int
plan_release_key(void *context, enum key_space space, uint64_t key)
{
	struct plan *plan = context;

	return overlay_set(&plan->overlay, space, key, UINT32_MAX);
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
	const struct part *kept;
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
	kept = old != NULL ? part_of(plan, old[0])
			   : session_present(sessions, put->session, UPF_UL);
	incarnation = old != NULL ? part_of(plan, old[0])->incarnation : ++sessions->incarnations;
	for (unsigned dir = 0; dir < 2; dir++) {
		struct part *part = arena_at(&sessions->arena, op->part[dir]);

		part->incarnation = incarnation;
		// One writer for slots and buffers; also of one that goes by this very transaction.
		if (kept != NULL)
			part->home = kept->home;
		// The home of an Ethernet session is its bridge's.
		if (kept != NULL && old != NULL &&
			(part->ethernet != kept->ethernet ||
				(part->ethernet && part->n6 != kept->n6)))
			rc = EINVAL;
	}
	plan->commands += buffers(plan, old);
	if (rc == 0)
		rc = plan_keys(plan, old, plan_release_key);
	if (rc == 0)
		rc = plan_keys(plan, op->part, plan_key);
	if (rc == 0)
		rc = overlay_set(
			&plan->overlay, OVERLAY_SESSION, put->session, (uintptr_t)op->part);
	for (unsigned space = 0; rc == 0 && space < KEY_SPACES; space++) {
		if (plan->new_keys[space] != 0 &&
			plan->new_keys[space] >
				bucketmap_room(session_map(sessions, (enum key_space)space)))
			rc = ENOMEM;
	}
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

static int
plan_grant(const struct plan *plan, const struct upf_grant *grant)
{
	if (!plan->base->compile.config->redundancy)
		return EOPNOTSUPP;
	if ((grant->flags & ~UPF_GRANT_FORWARD) != 0)
		return EINVAL;
	return grant->until_ns == 0 || grant->epoch >= plan->base->epoch ? 0 : EPERM;
}

static int
plan_domains(struct plan *plan, struct op *op)
{
	int rc = domains_compile((const void *)op->record, &op->domains);

	for (unsigned i = 0; rc == 0 && op->domains != NULL && i < plan->base->workers; i++)
		rc = detection_prepare(plan->base->worker[i]);
	return rc;
}

static int
plan_station(struct plan *plan, const struct upf_ev_mac *station)
{
	struct rte_ether_addr addr;

	memcpy(&addr, station->mac, sizeof(addr));
	if (station->session >= plan->base->sessions->max ||
		!rte_is_valid_assigned_ether_addr(&addr) ||
		(station->flags & ~(UPF_MAC_C_TAG | UPF_MAC_S_TAG)) != 0 ||
		station->c_vid > VLAN_ID || station->s_vid > VLAN_ID)
		return EINVAL;
	plan->commands++;
	return parts_after_plan(plan, station->session) != NULL ? 0 : ENOENT;
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
	case UPF_REC_GRANT:
		return sizeof(struct upf_grant);
	case UPF_REC_DOMAINS:
		return sizeof(struct upf_domains);
	case UPF_REC_STATION:
		return sizeof(struct upf_ev_mac);
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
	case UPF_REC_GRANT:
		return plan_grant(plan, (const void *)record);
	case UPF_REC_DOMAINS:
		return plan_domains(plan, op);
	case UPF_REC_STATION:
		return plan_station(plan, (const void *)record);
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

int
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

void
plan_free(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		session_discard(plan->base->sessions, plan->op[i].part);
		free(plan->op[i].blob);
		domains_free(plan->op[i].domains);
	}
	free(plan->overlay.entry);
	free(plan->op);
}
