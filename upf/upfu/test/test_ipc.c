// Transactions: conflicts, all or nothing, and whatever else may come through the socket.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "tests.h"

static struct transaction t; // large

static uint32_t
owner(const struct rig *rig, const struct bucketmap *map, uint64_t key)
{
	arena_ref ref = bucketmap_lookup(map, key);

	return ref != BUCKETMAP_NONE ? session_part(&rig->sessions, ref)->session : BUCKETMAP_NONE;
}

static uint32_t
owner_of_teid(const struct rig *rig, uint32_t teid)
{
	return owner(rig, &rig->sessions.n3, gtpu_key4(RIG_N3_ADDR, teid));
}

static uint32_t
owner_of_ue(const struct rig *rig, uint32_t ue)
{
	return owner(rig, &rig->sessions.ue[0], ue_key(rte_cpu_to_be_32(ue)));
}

static void
keys_follow_the_rules(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	rules_usual(&s, 5, RIG_UE, 0x100);
	rules_install(rig, &s);
	assert_int_equal(owner_of_teid(rig, 0x100), 5);
	assert_int_equal(owner_of_ue(rig, RIG_UE), 5);
	assert_true(session_has_ue(&rig->sessions, UPF_PORT_N6, rte_cpu_to_be_32(RIG_UE)));
	rules_usual(&s, 5, RIG_UE + 1, 0x101);
	rules_install(rig, &s);
	assert_int_equal(owner_of_teid(rig, 0x100), BUCKETMAP_NONE);
	assert_int_equal(owner_of_ue(rig, RIG_UE), BUCKETMAP_NONE);
	assert_int_equal(owner_of_teid(rig, 0x101), 5);
	assert_int_equal(owner_of_ue(rig, RIG_UE + 1), 5);
	assert_int_equal(rig->shm.head->sessions, 1);
	transaction_begin(&t);
	transaction_del(&t, 5);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	assert_int_equal(owner_of_teid(rig, 0x101), BUCKETMAP_NONE);
	assert_false(session_has_ue(&rig->sessions, UPF_PORT_N6, rte_cpu_to_be_32(RIG_UE + 1)));
	assert_int_equal(rig->sessions.nets4.bits[RIG_UE >> 19], 0);
	assert_int_equal(rig->shm.head->sessions, 0);
	rig_free(rig);
}

static void
conflicts_are_refused_with_the_record(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	uint32_t record;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	// Another session's F-TEID, behind a record that is right.
	transaction_begin(&t);
	rules_usual(&s, 2, RIG_UE + 1, 0x101);
	transaction_put(&t, &s);
	rules_usual(&s, 3, RIG_UE + 2, 0x100);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, &record), EEXIST);
	assert_int_equal(record, 1);
	assert_int_equal(rig->refusal.what, UPF_REFUSED_FTEID);
	assert_int_equal(rig->refusal.holder, 1);
	assert_int_equal(owner_of_teid(rig, 0x101), BUCKETMAP_NONE); // nothing of it happened
	assert_int_equal(rig->sessions.present, 1);
	// Another session's UE IP address.
	transaction_begin(&t);
	rules_usual(&s, 2, RIG_UE, 0x101);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, &record), EEXIST);
	// Within one transaction.
	transaction_begin(&t);
	rules_usual(&s, 2, RIG_UE + 1, 0x101);
	transaction_put(&t, &s);
	rules_usual(&s, 3, RIG_UE + 2, 0x101);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, &record), EEXIST);
	assert_int_equal(record, 1);
	// Sequential in meaning: the key is free once its owner is deleted or changed.
	transaction_begin(&t);
	transaction_del(&t, 1);
	rules_usual(&s, 2, RIG_UE, 0x100);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, &record), 0);
	assert_int_equal(owner_of_teid(rig, 0x100), 2);
	assert_int_equal(owner_of_ue(rig, RIG_UE), 2);
	transaction_begin(&t);
	rules_usual(&s, 2, RIG_UE + 9, 0x109);
	transaction_put(&t, &s);
	rules_usual(&s, 1, RIG_UE, 0x100);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, &record), 0);
	assert_int_equal(owner_of_teid(rig, 0x100), 1);
	assert_int_equal(owner_of_teid(rig, 0x109), 2);
	rig_free(rig);
}

// Each function makes one thing wrong.
#define WRONG(name, change) \
	static void name(struct session_rules_builder *s) \
	{ \
		change; \
	}
WRONG(session_out_of_range, s->session = 1024)
WRONG(far_index, s->pdr[0].far = 2)
WRONG(qer_index, s->pdr[0].qer[0] = 1)
WRONG(urr_index, s->pdr[1].urr[0] = 1)
WRONG(too_many_qers, s->pdr[0].n_qer = 5)
WRONG(too_many_urrs, s->pdr[0].n_urr = UPF_PDR_URRS + 1)
WRONG(sdf_first, s->pdr[0].sdf_first = 1)
WRONG(sdf_count, s->pdr[0].sdf_count = 1)
WRONG(pdr_flags, s->pdr[0].flags |= 0x80)
WRONG(source_interface, s->pdr[0].source_interface = 2)
WRONG(foreign_f_teid, rules_ipv4(s->pdr[0].n3_addr, RIG_GNB))
WRONG(tunnel_kept, s->pdr[0].flags &= (uint8_t)~UPF_PDR_REMOVE)
WRONG(no_tunnel_to_remove, s->pdr[1].flags |= UPF_PDR_REMOVE)
WRONG(no_ue_address, s->pdr[1].ue_addr_be = 0)
WRONG(wide_qfi, s->pdr[0].qfi = 64)
WRONG(not_by_precedence, s->pdr[1].precedence = 1)
WRONG(no_action, s->far[0].action = 0)
WRONG(two_actions, s->far[0].action = UPF_FAR_DROP | UPF_FAR_FORW)
WRONG(notify_without_buffer, s->far[0].action = UPF_FAR_FORW | UPF_FAR_NOCP)
WRONG(unknown_action, s->far[0].action = UPF_FAR_FORW | 0x20)
WRONG(far_flags, s->far[0].flags = 0x80)
WRONG(destination_interface, s->far[0].destination_interface = 3)
WRONG(no_peer, rules_ipv4(s->far[1].peer_addr, 0))
WRONG(no_peer_port, s->far[1].peer_port = 0)
WRONG(foreign_source, rules_ipv4(s->far[1].local_addr, RIG_GNB))
WRONG(qer_slot, s->qer[0].slot = 2048)
WRONG(qer_flags, s->qer[0].flags = 0x80)
WRONG(qer_qfi, s->qer[0].qfi = 64)
WRONG(urr_slot, s->urr[0].slot = 2048)
WRONG(many_pdrs, s->n_pdr = UPF_SESSION_PDRS + 1)
// One F-TEID cannot be both the access's and the core's.
WRONG(f_teid_of_both_sides, s->pdr[1] = s->pdr[0]; s->pdr[1].source_interface = UPF_IF_CORE;
	s->pdr[1].pdr_id = 2)
WRONG(two_ue_addresses, s->pdr[1].ue_addr_be = rte_cpu_to_be_32(RIG_UE + 1))
WRONG(ue_prefix_too_long, s->pdr[1].flags |= UPF_PDR_UE_IPV6; s->pdr[1].ue_prefix[0] = 0x20;
	s->pdr[1].ue_prefix_len = 65)
WRONG(ue_prefix_missing, s->pdr[1].flags |= UPF_PDR_UE_IPV6; s->pdr[1].ue_prefix_len = 64)
WRONG(bar_index, s->far[1].bar = 0)
WRONG(quota_far_index, s->urr[0].quota_far = 2)
WRONG(urr_flags, s->urr[0].flags = 0x80)
WRONG(gbr_slot, s->qer[0].flags = UPF_QER_GBR; s->qer[0].gbr_slot = 2048)
WRONG(gbr_slot_is_the_slot, s->qer[0].flags = UPF_QER_GBR; s->qer[0].gbr_slot = s->qer[0].slot)
WRONG(wide_ppi, s->qer[0].ppi = 8)
WRONG(wide_removal, s->pdr[0].removal = 7)
WRONG(removal_of_another_family, s->pdr[0].removal = 1)

static void
wrong_rules_are_refused(void **state)
{
	static const struct {
		const char *what;
		void (*spoil)(struct session_rules_builder *s);
	} cases[] = {
#define CASE(name) {#name, name}
		CASE(session_out_of_range),
		CASE(far_index),
		CASE(qer_index),
		CASE(urr_index),
		CASE(too_many_qers),
		CASE(too_many_urrs),
		CASE(sdf_first),
		CASE(sdf_count),
		CASE(pdr_flags),
		CASE(source_interface),
		CASE(foreign_f_teid),
		CASE(tunnel_kept),
		CASE(no_tunnel_to_remove),
		CASE(no_ue_address),
		CASE(wide_qfi),
		CASE(not_by_precedence),
		CASE(no_action),
		CASE(two_actions),
		CASE(notify_without_buffer),
		CASE(unknown_action),
		CASE(far_flags),
		CASE(destination_interface),
		CASE(no_peer),
		CASE(no_peer_port),
		CASE(foreign_source),
		CASE(qer_slot),
		CASE(qer_flags),
		CASE(qer_qfi),
		CASE(urr_slot),
		CASE(many_pdrs),
		CASE(f_teid_of_both_sides),
		CASE(two_ue_addresses),
		CASE(ue_prefix_too_long),
		CASE(ue_prefix_missing),
		CASE(bar_index),
		CASE(quota_far_index),
		CASE(urr_flags),
		CASE(gbr_slot),
		CASE(gbr_slot_is_the_slot),
		CASE(wide_ppi),
		CASE(wide_removal),
		CASE(removal_of_another_family),
	};
	static struct session_rules_builder s;
	struct rig *rig = rig_create(1, true);
	uint32_t record;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules_usual(&s, 1, RIG_UE, 0x100);
		cases[i].spoil(&s);
		transaction_begin(&t);
		transaction_blob(&t, UPF_REC_META, 0, "m");
		transaction_put(&t, &s);
		if (transaction_do(rig, &t, &record) != EINVAL || record != 1)
			fail_msg("%s: is not refused", cases[i].what);
		assert_null(rig->base.meta);
		assert_int_equal(rig->sessions.present, 0);
	}
	// What they were made from is right.
	rules_usual(&s, 1, RIG_UE, 0x100);
	rules_install(rig, &s);
	rig_free(rig);
}

// Prefixes of several lengths: the longest that has the address.
static void
ue_prefixes_are_found_by_the_longest(void **state)
{
	static const struct {
		uint8_t prefix[8];
		uint8_t len;
	} ue[] = {
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0, 0}, 48},
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0xff, 0}, 56},
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0xff, 7}, 64},
		{{0x20, 1, 0, 0, 0, 0, 0, 0}, 16},
	};
	static const struct {
		uint8_t address[8];
		uint32_t session;
	} want[] = {
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0xff, 7}, 2},
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0xff, 8}, 1},
		{{0x20, 1, 0xd, 0xb8, 0, 1, 0xfe, 7}, 0},
		{{0x20, 1, 0xd, 0xb9, 0, 1, 0xfe, 7}, 3},
		{{0x20, 2, 0xd, 0xb8, 0, 1, 0xff, 7}, BUCKETMAP_NONE},
	};
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		rules_usual(&s, i, RIG_UE + i, 0x100 + i);
		for (unsigned p = 0; p < 2; p++) {
			s.pdr[p].flags |= UPF_PDR_UE_IPV6;
			memcpy(s.pdr[p].ue_prefix, ue[i].prefix, 8);
			s.pdr[p].ue_prefix_len = ue[i].len;
		}
		rules_install(rig, &s);
	}
	for (unsigned i = 0; i < 5; i++) {
		arena_ref ref =
			session_find_ue6(&rig->sessions, UPF_PORT_N6, ue_key6(want[i].address));

		assert_int_equal(
			ref != BUCKETMAP_NONE ? session_part(&rig->sessions, ref)->session : ref,
			want[i].session);
		assert_int_equal(session_has_ue6(&rig->sessions, UPF_PORT_N6, want[i].address),
			want[i].session != BUCKETMAP_NONE);
	}
	// The same prefix for another session is refused by name.
	rules_usual(&s, 9, RIG_UE + 9, 0x109);
	s.pdr[1].flags |= UPF_PDR_UE_IPV6;
	memcpy(s.pdr[1].ue_prefix, ue[2].prefix, 8);
	s.pdr[1].ue_prefix_len = 64;
	transaction_begin(&t);
	transaction_put(&t, &s);
	assert_int_equal(transaction_do(rig, &t, NULL), EEXIST);
	assert_int_equal(rig->refusal.what, UPF_REFUSED_UE_IP);
	assert_int_equal(rig->refusal.holder, 2);
	for (unsigned i = 0; i < 4; i++) {
		transaction_begin(&t);
		transaction_del(&t, i);
		assert_int_equal(transaction_do(rig, &t, NULL), 0);
	}
	assert_int_equal(rig->sessions.ue6_lens, 0);
	assert_int_equal(rig->sessions.ue[0].keys, 0);
	rig_free(rig);
}

// Replacing rules for ever takes no more memory.
static void
replacement_gives_memory_back(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	uint64_t in_use;

	(void)state;
	rules_usual(&s, 1, RIG_UE, 0x100);
	s.n_urr = 1;
	s.urr[0].flags = UPF_URR_TIMED; // with an extension
	rules_install(rig, &s);
	in_use = rig->sessions.arena.in_use;
	for (unsigned i = 0; i < 1000; i++) {
		s.urr[0].flags = (uint8_t)(i % 2);
		rules_install(rig, &s);
	}
	s.urr[0].flags = UPF_URR_TIMED;
	rules_install(rig, &s);
	assert_int_equal(rig->sessions.arena.in_use, in_use);
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	session_trash_collect(&rig->sessions);
	assert_int_equal(rig->sessions.arena.in_use, 0);
	rig_free(rig);
}

static void
absent_sessions_cannot_be_deleted(void **state)
{
	struct rig *rig = rig_create(1, true);

	(void)state;
	transaction_begin(&t);
	transaction_del(&t, 1);
	assert_int_equal(transaction_do(rig, &t, NULL), ENOENT);
	transaction_begin(&t);
	transaction_del(&t, 1024);
	assert_int_equal(transaction_do(rig, &t, NULL), EINVAL);
	transaction_begin(&t);
	transaction_blob(&t, UPF_REC_SESSION_STATE, 1, "x");
	assert_int_equal(transaction_do(rig, &t, NULL), ENOENT);
	rig_free(rig);
}

static void
blobs_are_kept_and_replaced(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct session_rules_builder s;
	const struct session_state *kept = &rig->sessions.state[3];

	(void)state;
	rules_usual(&s, 3, RIG_UE, 0x100);
	s.blob = "first";
	rules_install(rig, &s);
	assert_int_equal(kept->blob_len, 5);
	assert_memory_equal(kept->blob, "first", 5);
	transaction_begin(&t);
	transaction_blob(&t, UPF_REC_SESSION_STATE, 3, "a longer second one");
	transaction_blob(&t, UPF_REC_META, 0, "meta");
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	assert_int_equal(kept->blob_len, 19);
	assert_memory_equal(rig->base.meta, "meta", 4);
	transaction_begin(&t);
	transaction_del(&t, 3);
	assert_int_equal(transaction_do(rig, &t, NULL), 0);
	assert_null(kept->blob);
	rig_free(rig);
}

// More sessions than there is memory for: refused at the edge, and what was there stays.
static void
memory_runs_out_without_damage(void **state)
{
	static struct session_rules_builder s;
	struct rig *rig = rig_create(1, true);
	uint32_t n, record;
	int rc = 0;

	(void)state;
	for (n = 0; n < 1024 && rc == 0; n++) {
		rules_usual(&s, n, RIG_UE + n, 0x10000 + n * UPF_SESSION_PDRS);
		for (unsigned i = 1; i < UPF_SESSION_PDRS; i++) {
			s.pdr[i] = s.pdr[0];
			s.pdr[i].teid += i;
		}
		s.n_pdr = UPF_SESSION_PDRS;
		transaction_begin(&t);
		transaction_put(&t, &s);
		rc = transaction_do(rig, &t, &record);
	}
	assert_int_equal(rc, ENOMEM); // 2 x 1024 F-TEIDs and some overflow have room
	assert_true(n > 2);
	assert_int_equal(rig->sessions.present, n - 1);
	assert_int_equal(owner_of_teid(rig, 0x10000 + (n - 2) * UPF_SESSION_PDRS), n - 2);
	assert_int_equal(owner_of_teid(rig, 0x10000 + (n - 1) * UPF_SESSION_PDRS), BUCKETMAP_NONE);
	rig_free(rig);
}

// ---- whatever may come ---------------------------------------------------------------------------

static uint32_t
interesting(void)
{
	static const uint32_t values[] = {0, 1, 2, 7, 8, 16, 32, 63, 64, 255, 256, 1023, 1024, 1025,
		2047, 2048, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};

	return values[(unsigned)random() % (sizeof(values) / sizeof(values[0]))];
}

static void
compose(unsigned salt)
{
	struct session_rules_builder s;
	struct upf_urr_arm arm = {
		.rec = {.type = UPF_REC_URR_ARM, .length = sizeof(arm)}, .total = random() % 3};
	struct upf_end_marker marker = {
		.rec = {.type = UPF_REC_END_MARKER, .length = sizeof(marker)},
		.ohc = UPF_OHC_GTPU4,
		.peer_port = 2152,
	};

	rules_ipv4(marker.peer_addr, RIG_GNB);
	transaction_begin(&t);
	for (unsigned i = 0; i < 1 + salt % 5; i++) {
		uint32_t session = (uint32_t)random() % 8;

		switch (random() % 6) {
		case 0:
			transaction_del(&t, session);
			break;
		case 1:
			transaction_blob(&t, UPF_REC_SESSION_STATE, session, "state");
			break;
		case 2:
			transaction_add(&t, &arm, sizeof(arm));
			break;
		case 3:
			transaction_add(&t, &marker, sizeof(marker));
			break;
		default:
			rules_usual(&s, session, RIG_UE + (uint32_t)random() % 8,
				0x100 + (uint32_t)random() % 8);
			s.network = (uint16_t)(random() % (RIG_NETWORKS + 1)); // one there is not
			s.n_sdf = 1;
			s.pdr[0].sdf_count = (uint16_t)(random() % 2);
			s.far[1].action = random() % 2 != 0 ? UPF_FAR_FORW : UPF_FAR_BUFF;
			s.blob = "blob";
			if (random() % 2 != 0) { // of network 1, and right or not
				s.nat_addr = RIG_IP(203, 0, 113, 0) + (uint32_t)random() % 3;
				s.nat_port = (uint16_t)(2048 + random() % 5 * 512);
			}
			transaction_put(&t, &s);
			break;
		}
	}
}

struct walk {
	const struct rig *rig;
	arena_ref ref;
	uint32_t keys[KEY_SPACES];
};

static int
check_key(void *context, enum key_space space, uint64_t key)
{
	struct walk *walk = context;
	struct session_table *sessions = (struct session_table *)(uintptr_t)&walk->rig->sessions;

	assert_int_equal(bucketmap_lookup(session_map(sessions, space), key), walk->ref);
	walk->keys[space]++; // the PDRs of these tests have no key twice
	return 0;
}

// Every key leads to the part that has it, and the counts are right.
static void
assert_consistent(const struct rig *rig)
{
	struct walk walk = {.rig = rig};
	uint32_t present = 0;

	for (uint32_t i = 0; i < rig->sessions.max; i++) {
		if (session_present(&rig->sessions, i, UPF_UL) == NULL)
			continue;
		present++;
		for (unsigned dir = 0; dir < 2; dir++) {
			walk.ref = rig->sessions.state[i].part[dir];
			part_each_key(session_part(&rig->sessions, walk.ref), check_key, &walk);
		}
	}
	assert_int_equal(rig->sessions.present, present);
	assert_int_equal(rig->sessions.n3.keys, walk.keys[KEY_N3]);
	for (unsigned i = 0; i < rig->config.networks; i++) {
		assert_int_equal(rig->sessions.ue[i].keys, walk.keys[KEY_UE + i]);
		assert_int_equal(rig->sessions.route[i].keys, walk.keys[KEY_ROUTE + i]);
		assert_int_equal(rig->sessions.nat[i].keys, walk.keys[KEY_NAT + i]);
	}
}

// Good transactions with damage at random places: each ends in 0 or an errno, the tables stay
// consistent, and the sanitizers have nothing to say.
static void
damaged_transactions_do_no_harm(void **state)
{
	struct config config = rig_config();
	unsigned good = 0, rounds = 40000;
	struct rig *rig;

	(void)state;
	rig_add_networks(&config, RIG_NETWORKS);
	config.interface[config_port_of(1)].nat = (struct config_nat){.prefixes = 1,
		.prefix = {{RIG_IP(203, 0, 113, 0), 31}},
		.ports = 1024,
		.mappings = 1024};
	rig = rig_create_with(&config, 1, true);
	srandom(4);
	for (unsigned i = 0; i < rounds; i++) {
		unsigned damage = (unsigned)random() % 4;
		struct refusal refusal;
		uint8_t *copy;
		int rc;

		compose(i);
		for (unsigned d = 0; d < damage; d++) {
			size_t at = sizeof(struct upf_msg) + (size_t)random() % t.length;
			uint32_t value = interesting();

			switch (random() % 4) {
			case 0:
				t.bytes[at] ^= (uint8_t)(1u << random() % 8);
				break;
			case 1:
				at &= ~(size_t)3;
				memcpy(t.bytes + at, &value, 4);
				break;
			case 2:
				t.msg.records = value;
				break;
			default: // cut or stretch
				t.length =
					sizeof(struct upf_msg) + (size_t)random() % (t.length + 64);
				break;
			}
		}
		// Its own allocation, so that a read beyond it is seen.
		copy = malloc(t.length);
		assert_non_null(copy);
		memcpy(copy, t.bytes, t.length);
		rc = transaction_run(&rig->base, (const void *)copy, t.length, &refusal);
		free(copy);
		assert_in_range(rc, 0, 200);
		good += rc == 0;
		if (i % 64 == 0) {
			assert_consistent(rig);
			rig_poll(rig);
			rig_count_sent(rig, UPF_PORT_N3);
			session_trash_collect(&rig->sessions);
		}
	}
	assert_in_range(good, rounds / 40, rounds);
	assert_consistent(rig);
	rig_free(rig);
}

int
test_ipc(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_follow_the_rules),
		cmocka_unit_test(conflicts_are_refused_with_the_record),
		cmocka_unit_test(wrong_rules_are_refused),
		cmocka_unit_test(ue_prefixes_are_found_by_the_longest),
		cmocka_unit_test(replacement_gives_memory_back),
		cmocka_unit_test(absent_sessions_cannot_be_deleted),
		cmocka_unit_test(blobs_are_kept_and_replaced),
		cmocka_unit_test(memory_runs_out_without_damage),
		cmocka_unit_test(damaged_transactions_do_no_harm),
	};

	return cmocka_run_group_tests_name("ipc", tests, NULL, NULL);
}
