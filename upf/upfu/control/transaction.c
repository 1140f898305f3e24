// Transactions in two passes.
//
// The first pass (plan.h) checks all records and allocates everything that the second pass needs. The
// second pass, here, publishes and cannot fail. So a refused transaction leaves no trace, and no reader
// ever saw one.
//
// When rules were replaced or removed, the answer waits until no worker uses the old ones: a counter
// that upf-c reads after the answer is final.
#include "control/transaction.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "control/meter.h"
#include "control/plan.h"
#include "control/rule_base.h"
#include "packet/message.h"
#include "packet/sleep.h"
#include "packet/trace.h"
#include "packet/worker_state.h"
#include "process/log.h"
#include "process/shm.h"
#include "rules/arena.h"
#include "rules/compile.h"
#include "rules/session.h"

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
	return base->sessions->state[session].home;
}

static void
tell_rules_changed(struct rule_base *base, uint32_t session)
{
	struct command command = {.op = COMMAND_RULES_CHANGED, .session = session};

	send_command(base, home_of(base, session), &command);
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
		meter_write(base, &unarmed, UINT64_MAX);
		return;
	}
	arming->armed = true;
	meter_write(base, (const void *)arming->record, 0);
}

static void
note_used(struct rule_base *base, uint32_t slot)
{
	uint32_t pair = slot / UPF_LINE_SLOTS;

	if (pair >= base->shm->pairs_used)
		__atomic_store_n(&base->shm->pairs_used, pair + 1, __ATOMIC_RELAXED);
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
	clocks_start(base, &now);
	session_publish(sessions, put->session, op->part);
	if (replaced && now.n != 0) {
		// A worker may have charged the old rate meanwhile.
		session_wait_for_workers(sessions);
		clocks_start(base, &now);
	}
	op->part[0] = op->part[1] = ARENA_NONE;
	replace_blob(base, put->session, op);
	if (buffered)
		tell_rules_changed(base, put->session);
	free(before.clock);
	free(now.clock);
	return replaced;
}

static void
apply_arm(struct rule_base *base, const struct upf_urr_arm *arm, bool armed)
{
	struct command look = {.op = COMMAND_URR_LOOK, .session = arm->session, .slot = arm->slot};

	if (!armed)
		meter_write(base, arm, 0);
	// There may be no further packet to notice it. Not for every arming: a new session would wake
	// its worker for nothing.
	if (meter_is_near(base, arm))
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

// No worker says anything of its addresses any more that it began to say before: it has ended its poll since. One that
// does not come to that is to be silent.
static bool
workers_know(struct rule_base *base)
{
	uint64_t token = rte_rcu_qsbr_start(base->sessions->qsbr);
	uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz() / 10;

	while (rte_rcu_qsbr_check(base->sessions->qsbr, token, false) != 1) {
		if (rte_rdtsc() >= deadline)
			return false;
		sched_yield();
	}
	return true;
}

// What is left of a grant is reckoned by the machine's clock, which upf-c has, too, and then counted by ours.
static void
apply_grant(struct rule_base *base, const struct upf_grant *grant)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t before = base->granted_until, until = UINT64_MAX, now_ns;
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	if (grant->until_ns <= now_ns)
		until = 0;
	else if (grant->until_ns != UPF_GRANT_ALWAYS)
		until = rte_rdtsc() +
			(uint64_t)((wide)(grant->until_ns - now_ns) * rte_get_tsc_hz() / NS_PER_S);
	if (grant->until_ns != 0)
		base->epoch = grant->epoch;
	// Relaxed: they carry nothing but themselves. The sessions came with their own release-stores.
	__atomic_store_n(&base->forwards_only, grant->flags & UPF_GRANT_FORWARD, __ATOMIC_RELAXED);
	if (base->forwards_only != 0 && !workers_know(base))
		until = 0;
	__atomic_store_n(&base->granted_until, until, __ATOMIC_RELAXED);
	if ((before <= rte_rdtsc()) == (until == 0))
		return;
	if (until != 0)
		log_info("this upf-u serves", "epoch=%" PRIu64, base->epoch);
	else
		log_info("this upf-u is silent", "epoch=%" PRIu64, base->epoch);
	for (unsigned i = 0; i < base->workers; i++)
		sleep_wake(&base->worker[i]->sleeper);
}

static void
apply_domains(struct rule_base *base, struct op *op)
{
	struct domains *before = base->sessions->domains;

	// Release: pairs with the load in detection.c.
	__atomic_store_n(&base->sessions->domains, op->domains, __ATOMIC_RELEASE);
	op->domains = before; // plan_free() frees it, when no worker can have it any more
}

static void
apply_station(struct rule_base *base, const struct upf_ev_mac *station)
{
	struct command command = {
		.op = COMMAND_STATION, .session = station->session, .station = *station};

	send_command(base, home_of(base, station->session), &command);
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
	case UPF_REC_DOMAINS:
		apply_domains(base, op);
		return true;
	case UPF_REC_STATION:
		apply_station(base, (const void *)record);
		return false;
	case UPF_REC_GRANT:
		apply_grant(base, (const void *)record);
		// Silent at once: no worker sends any more when the answer says so.
		return ((const struct upf_grant *)(const void *)record)->until_ns == 0;
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
	plan_free(&plan);
	return rc;
}
