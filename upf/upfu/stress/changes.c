// What the control thread does while packets flow, and what must hold.
//
// Indexes, F-TEIDs and slots are given out again last in, first out: what one session has had, another one
// gets at once.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ring_elem.h>

#include "control/show.h"
#include "control/transaction.h"
#include "packet/message.h"
#include "rules.h"
#include "rules/session.h"
#include "stress.h"

#define SETTLE_SECONDS 30
#define QUOTA 30000u

// A UE, as the control thread knows it.
struct subscriber {
	bool present;
	bool buffers; // downlink
	bool stopped; // a quota of its was used up from the beginning
	uint32_t session, teid;
};

struct change_meter { // of a session's index, which is its slot
	bool still;   // nothing may count: no session, or one that is stopped
	uint64_t at[2];
	uint64_t seen[2];
	uint64_t quota; // of both directions together; UINT64_MAX: none
};

struct changes {
	struct stress *stress;
	struct rig *rig;
	uint32_t chance;
	uint32_t generation; // the last one
	uint64_t made;
	bool keeps;       // no session ends in this round
	uint64_t unknown; // packets of no UE before it
	struct subscriber of[STRESS_LINES];
	uint32_t session[STRESS_SESSIONS], sessions; // free ones
	uint32_t teid[STRESS_TEIDS], teids;          // likewise
	struct change_meter meter[STRESS_SESSIONS];
	struct transaction transaction;
};

struct changes *
changes_create(struct stress *s, uint32_t seed)
{
	struct changes *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->stress = s;
	c->rig = s->rig;
	c->chance = seed * UINT32_C(0x85ebca6b) | 1;
	for (uint32_t i = 0; i < STRESS_SESSIONS; i++) {
		c->session[c->sessions++] = i;
		c->meter[i].still = true;
	}
	for (uint32_t i = 0; i < STRESS_TEIDS; i++)
		c->teid[c->teids++] = 0x100 + i;
	return c;
}

void
changes_free(struct changes *c)
{
	free(c);
}

uint64_t
changes_made(const struct changes *c)
{
	return c->made;
}

static uint32_t
draw(struct changes *c, uint32_t below)
{
	return stress_draw(&c->chance, below);
}

// ---- meters ------------------------------------------------------------------------------------

// As upf-c reads them.
static uint64_t
counted(const struct changes *c, uint32_t session, unsigned direction)
{
	return __atomic_load_n(
		&shm_urr(&c->rig->shm.slots, session, direction)->bytes, __ATOMIC_RELAXED);
}

static uint64_t
counted_both(const struct changes *c, uint32_t session)
{
	return counted(c, session, UPF_UL) + counted(c, session, UPF_DL);
}

static void
meter_is_still(struct changes *c, uint32_t session, bool still)
{
	struct change_meter *meter = &c->meter[session];

	meter->still = still;
	for (unsigned dir = 0; dir < 2; dir++)
		meter->at[dir] = counted(c, session, dir);
}

static void
check_meter(struct changes *c, uint32_t session)
{
	struct change_meter *meter = &c->meter[session];
	uint64_t sum = 0;

	for (unsigned dir = 0; dir < 2; dir++) {
		uint64_t now = counted(c, session, dir);

		if (now < meter->seen[dir])
			stress_fail("slot %u counted back: %lu octets after %lu", session,
				(unsigned long)now, (unsigned long)meter->seen[dir]);
		if (meter->still && now != meter->at[dir])
			stress_fail("slot %u counts, where nothing passes any more: %lu octets "
				    "after %lu",
				session, (unsigned long)now, (unsigned long)meter->at[dir]);
		meter->seen[dir] = now;
		sum += now;
	}
	// The packet that reaches it passes.
	if (meter->quota != UINT64_MAX && sum > meter->quota + STRESS_OCTETS_MAX)
		stress_fail("slot %u counted %lu octets, with a quota of %lu", session,
			(unsigned long)sum, (unsigned long)meter->quota);
}

static struct upf_urr_arm
unarmed(uint32_t session)
{
	return (struct upf_urr_arm){
		.rec = {.type = UPF_REC_URR_ARM, .length = sizeof(struct upf_urr_arm)},
		.slot = session,
		.session = session,
		.total = UINT64_MAX,
		.ul = UINT64_MAX,
		.dl = UINT64_MAX,
		.quota_total = UINT64_MAX,
		.quota_ul = UINT64_MAX,
		.quota_dl = UINT64_MAX,
		.inactivity_ms = 10,
	};
}

// Used up, by the one volume or by the others.
static struct upf_urr_arm
exhausted(struct changes *c, uint32_t session)
{
	struct upf_urr_arm arm = unarmed(session);

	if (draw(c, 2) == 0)
		arm.quota_total = 0;
	else
		arm.quota_ul = arm.quota_dl = 0;
	return arm;
}

// A quota that is above what there was, and a threshold on the way.
static struct upf_urr_arm
limited(struct changes *c, uint32_t session)
{
	struct upf_urr_arm arm = unarmed(session);
	uint64_t had = counted_both(c, session), before = c->meter[session].quota;

	arm.quota_total = RTE_MAX(had, before != UINT64_MAX ? before : 0) + QUOTA;
	arm.total = had + draw(c, QUOTA);
	arm.dl = counted(c, session, UPF_DL) + draw(c, QUOTA);
	return arm;
}

// ---- rules -------------------------------------------------------------------------------------

// Before the downlink PDR, whose protocols no packet is of: none, some, or so many that the part has an
// allocation of its own.
static void
add_filters(struct changes *c, struct session_rules_builder *s, uint32_t ue)
{
	const struct upf_pdr downlink = s->pdr[--s->n_pdr];
	static const unsigned some[] = {0, 0, 1, 3, 12, 60};
	unsigned n = some[draw(c, RTE_DIM(some))];

	s->pdr[0].precedence = 0;
	for (unsigned i = 0; i < n; i++) {
		s->pdr[s->n_pdr++] = (struct upf_pdr){
			.precedence = i,
			.pdr_id = (uint16_t)(10 + i),
			.source_interface = UPF_IF_CORE,
			.flags = UPF_PDR_UE_IPV4 | UPF_PDR_SDF,
			.ue_addr_be = rte_cpu_to_be_32(ue),
			.far = 1,
			.sdf_first = (uint16_t)s->n_sdf,
			.sdf_count = 1,
		};
		s->sdf[s->n_sdf++] = (struct upf_sdf){
			.flags = UPF_SDF_PROTO,
			.proto = (uint8_t)(150 + i),
			.remote_port_hi = UINT16_MAX,
			.local_port_hi = UINT16_MAX,
		};
	}
	s->pdr[s->n_pdr++] = downlink;
}

// PDRs of an application by domain before those of both directions, with the same marks.
static void
add_application(struct session_rules_builder *s)
{
	struct upf_pdr *last = &s->pdr[s->n_pdr], *first = &s->pdr[0];

	*last = last[-1];
	last[-1].precedence--;
	memmove(first + 1, first, s->n_pdr * sizeof(*first) + sizeof(*first));
	s->n_pdr += 2;
	for (unsigned i = 0; i < 2; i++) {
		struct upf_pdr *pdr = i == 0 ? first : &s->pdr[s->n_pdr - 2];

		pdr->pdr_id = (uint16_t)(3 + i);
		pdr->flags |= UPF_PDR_SDF;
		pdr->application = 1;
	}
	s->n_application = 1;
	s->application[0] = STRESS_APPLICATION;
}

static void
set_tunnel(struct upf_far *far, uint32_t session, uint32_t generation)
{
	far->ohc = UPF_OHC_GTPU4;
	far->peer_port = 2152;
	far->teid = stress_out_teid(session, generation);
	far->flags = UPF_FAR_TOS;
	far->tos = stress_tos(generation);
	far->tos_mask = 0xfc;
	rules_ipv4(far->peer_addr, RIG_GNB);
	rules_ipv4(far->local_addr, stress_local(generation));
}

static void
add_put(struct changes *c, unsigned k)
{
	const struct subscriber *of = &c->of[k];
	uint32_t ue = stress_ue(k);
	struct session_rules_builder s;

	rules_usual(&s, of->session, ue, of->teid);
	for (unsigned i = 0; i < 2; i++)
		set_tunnel(&s.far[i], of->session, c->generation);
	if (of->buffers)
		s.far[1].action = UPF_FAR_BUFF | UPF_FAR_NOCP;
	s.qer[0].qfi = stress_qfi(c->generation);
	if (draw(c, 3) == 0) {
		s.qer[0].flags |= UPF_QER_MBR;
		s.qer[0].mbr_ul = s.qer[0].mbr_dl = UINT64_C(1000000) << draw(c, 8);
	}
	if (draw(c, 2) == 0)
		s.urr[0].flags |= UPF_URR_TIMED;
	add_filters(c, &s, ue);
	if (draw(c, 2) == 0)
		add_application(&s);
	transaction_put(&c->transaction, &s);
}

static void
run(struct changes *c)
{
	uint32_t record = 0;
	int rc = transaction_do(c->rig, &c->transaction, &record);

	if (rc != 0)
		stress_fail("a transaction was refused: %s, record %u", strerror(rc), record);
	c->made++;
}

// What stands in the transaction is the UE's next rule set, of c->generation.
static void
publish(struct changes *c, unsigned k)
{
	struct line *line = &c->stress->line[k];

	stress_store(&line->newest, c->generation);
	run(c);
	stress_store(&line->teid, c->of[k].teid);
	stress_store(&line->oldest, c->generation);
}

// ---- changes -----------------------------------------------------------------------------------

static void
take_keys(struct changes *c, struct subscriber *of)
{
	of->session = c->session[--c->sessions];
	of->teid = c->teid[--c->teids];
}

static void
put_first(struct changes *c, unsigned k, bool takeover)
{
	struct subscriber *of = &c->of[k];
	struct change_meter *meter = &c->meter[of->session];
	struct upf_urr_arm arm = unarmed(of->session);

	of->present = true;
	of->buffers = draw(c, 8) == 0;
	of->stopped = draw(c, 6) == 0;
	meter->quota = UINT64_MAX;
	if (of->stopped) {
		arm = exhausted(c, of->session);
	} else if (draw(c, 3) == 0) {
		arm = limited(c, of->session);
		meter->quota = arm.quota_total;
	}
	check_meter(c, of->session);
	meter_is_still(c, of->session, of->stopped);
	if (!takeover)
		transaction_begin(&c->transaction);
	add_put(c, k);
	transaction_add(&c->transaction, &arm, sizeof(arm));
	publish(c, k);
}

static void
establish(struct changes *c, unsigned k)
{
	c->generation++;
	take_keys(c, &c->of[k]);
	put_first(c, k, false);
}

static void delete (struct changes *c, unsigned k)
{
	struct subscriber *of = &c->of[k];

	transaction_begin(&c->transaction);
	transaction_del(&c->transaction, of->session);
	run(c);
	stress_store(&c->stress->line[k].oldest, ++c->generation);
	meter_is_still(c, of->session, true);
	c->session[c->sessions++] = of->session;
	c->teid[c->teids++] = of->teid;
	of->present = false;
}

// Another session gets the UE's address and F-TEID, in one transaction.
static void
take_over(struct changes *c, unsigned k)
{
	struct subscriber *of = &c->of[k];
	uint32_t before = of->session;

	c->generation++;
	transaction_begin(&c->transaction);
	transaction_del(&c->transaction, before);
	of->session = c->session[--c->sessions];
	put_first(c, k, true);
	meter_is_still(c, before, true);
	c->session[c->sessions++] = before;
}

static void
modify(struct changes *c, unsigned k)
{
	struct subscriber *of = &c->of[k];
	uint32_t before = of->teid;

	c->generation++;
	if (draw(c, 3) == 0) {
		of->teid = c->teid[--c->teids];
		c->teid[c->teids++] = before;
	}
	of->buffers = draw(c, 4) == 0;
	transaction_begin(&c->transaction);
	add_put(c, k);
	publish(c, k);
}

static void
arm(struct changes *c, unsigned k)
{
	const struct subscriber *of = &c->of[k];
	struct change_meter *meter = &c->meter[of->session];
	struct upf_urr_arm next;

	if (of->stopped) {
		next = exhausted(c, of->session);
	} else if (meter->quota != UINT64_MAX) {
		next = limited(c, of->session);
		meter->quota = next.quota_total;
	} else {
		return;
	}
	transaction_begin(&c->transaction);
	transaction_add(&c->transaction, &next, sizeof(next));
	run(c);
}

static void
take_events(struct changes *c)
{
	struct event event;

	while (rig_event(c->rig, &event))
		;
}

// The domain of the application, or none; and what a human sees of it.
static void
describe(struct changes *c)
{
	static const struct domain_of domain = {STRESS_APPLICATION, STRESS_DOMAIN, 0x0f};
	static char text[UPF_MSG_MAX];

	transaction_begin(&c->transaction);
	transaction_domains(&c->transaction, &domain, draw(c, 4) != 0);
	run(c);
	if (draw(c, 16) == 0)
		show_session(&c->rig->base, draw(c, STRESS_SESSIONS), text, sizeof(text));
}

void
changes_step(struct changes *c)
{
	unsigned k = draw(c, STRESS_LINES);

	if (draw(c, 16) == 0)
		describe(c);
	if (!c->of[k].present) {
		establish(c, k);
	} else {
		switch (draw(c, 8) + (c->keeps ? 2 : 0)) {
		case 0:
			delete (c, k);
			break;
		case 1:
			take_over(c, k);
			break;
		case 2:
		case 3:
		case 4:
			arm(c, k);
			break;
		default:
			modify(c, k);
		}
	}
	for (uint32_t i = 0; i < STRESS_SESSIONS; i++)
		check_meter(c, i);
	take_events(c);
}

// ---- when nothing moves ------------------------------------------------------------------------

static uint64_t
dropped_as(const struct changes *c, unsigned first, unsigned behind)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < STRESS_WORKERS * UPF_PORTS; i++) {
		const struct upf_drop_stats *drops =
			&c->rig->shm.workers[i / UPF_PORTS].drops[i % UPF_PORTS];

		for (unsigned reason = first; reason < behind; reason++)
			sum += __atomic_load_n(&drops->reason[reason], __ATOMIC_RELAXED);
	}
	return sum;
}

static uint64_t
dropped(const struct changes *c)
{
	return dropped_as(c, 0, UPF_DROPS);
}

static uint64_t
dropped_of_no_ue(const struct changes *c)
{
	return dropped_as(c, UPF_DROP_UNKNOWN_UE, UPF_DROP_UNKNOWN_UE + 1);
}

// Of a word of the first worker's queues, and of the others'.
static uint64_t
sum_of_queues(const uint64_t *first)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < STRESS_WORKERS; i++)
		sum += __atomic_load_n((const uint64_t *)(const void *)((const uint8_t *)first +
					       i * sizeof(struct queues)),
			__ATOMIC_RELAXED);
	return sum;
}

static void
await_all_out(struct changes *c)
{
	const struct queues *q = c->stress->queues;
	time_t until = time(NULL) + SETTLE_SECONDS;
	uint64_t received = sum_of_queues(&q->received);

	while (sum_of_queues(&q->left) + dropped(c) != received) {
		take_events(c);
		if (time(NULL) > until) {
			stress_fail("%lu packets came in, %lu left and %lu were dropped",
				(unsigned long)received, (unsigned long)sum_of_queues(&q->left),
				(unsigned long)dropped(c));
			return;
		}
		sched_yield();
	}
}

void
changes_settle(struct changes *c)
{
	const struct queues *q = c->stress->queues;

	stress_store(&c->stress->open, 0);
	session_wait_for_workers(&c->rig->sessions);
	for (unsigned k = 0; k < STRESS_LINES; k++) {
		while (c->of[k].present && c->of[k].buffers)
			modify(c, k);
	}
	await_all_out(c);
	for (uint32_t i = 0; i < STRESS_SESSIONS; i++) {
		check_meter(c, i);
		for (unsigned dir = 0; dir < 2; dir++) {
			uint64_t left = sum_of_queues(&q->left_octets[i][dir]);

			if (left != counted(c, i, dir))
				stress_fail("of slot %u %lu octets left, and %lu were counted", i,
					(unsigned long)left, (unsigned long)counted(c, i, dir));
		}
	}
	if (c->keeps && dropped_of_no_ue(c) != c->unknown)
		stress_fail("%lu packets were of no UE, while every UE had its session",
			(unsigned long)(dropped_of_no_ue(c) - c->unknown));
}

void
changes_begin(struct changes *c)
{
	c->keeps = !c->keeps;
	for (unsigned k = 0; c->keeps && k < STRESS_LINES; k++) {
		if (!c->of[k].present)
			establish(c, k);
	}
	c->unknown = dropped_of_no_ue(c);
	stress_store(&c->stress->open, 1);
}
