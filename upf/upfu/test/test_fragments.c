// The table of fragments by itself, and against a naive model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fragments.h"
#include "packet/fragment_table.h"
#include "tests.h"

#define LIFETIME 100u
#define FRAGMENTS 256u

static const uint64_t secret[2] = {1, 2};
static const uint8_t zeros[65536];

struct lab {
	struct fragment_table table;
	unsigned given_up[UPF_DROPS];
	unsigned last_given_up; // number of the fragment
};

static void
note(void *context, const struct fragment *f, enum upf_drop reason)
{
	struct lab *lab = context;

	lab->given_up[reason]++;
	lab->last_given_up = (unsigned)(uintptr_t)f->packet;
}

static void
lab_init(struct lab *lab, uint32_t packets)
{
	memset(lab, 0, sizeof(*lab));
	assert_int_equal(
		fragment_table_init(&lab->table, packets, FRAGMENTS, LIFETIME, secret, note, lab),
		0);
}

// Octets from .. to of packet `id` of a sender, at time `now`. A packet that gets whole is taken
// out.
static int
add_at(struct lab *lab, uint64_t now, uint64_t sender, uint32_t id, uint32_t from, uint32_t to,
	bool last)
{
	const struct fragment_key key = {.sender = {sender}, .id = id};
	struct fragment f = {.packet = (void *)(uintptr_t)id,
		.data = zeros,
		.from = from,
		.to = to,
		.header = 20,
		.last = last};
	struct fragment_packet *whole;
	int verdict = fragment_table_add(&lab->table, &key, &f, now, &whole);

	if (verdict == FRAGMENT_LAST)
		fragment_table_remove(&lab->table, whole);
	return verdict;
}

static int
add(struct lab *lab, uint64_t sender, uint32_t id, uint32_t from, uint32_t to, bool last)
{
	return add_at(lab, 0, sender, id, from, to, last);
}

static void
agrees_with_a_naive_model(void **state)
{
	static uint8_t octets[7 * 2000];
	struct fragments_counts counts = {0};

	(void)state;
	srandom(5);
	for (unsigned i = 0; i < 60; i++) {
		unsigned keys = 1 + i % 12;

		for (size_t j = 0; j < sizeof(octets); j++)
			octets[j] = (uint8_t)random();
		// Few keys in some rounds, so that packets get whole; many in others, so that they
		// give way.
		for (size_t j = 0; j < sizeof(octets); j += 7) {
			octets[j] = (uint8_t)(octets[j] % keys);
			if (i % 3 == 0)
				octets[j + 2] &= 3;
		}
		fragments_both_ways(octets, sizeof(octets), &counts);
	}
	assert_true(counts.whole > 1000);
	assert_true(counts.reason[UPF_DROP_OVERLAPPING_FRAGMENT] > 1000);
	assert_true(counts.reason[UPF_DROP_DUPLICATE_FRAGMENT] > 100);
	assert_true(counts.reason[UPF_DROP_MALFORMED_FRAGMENT] > 100);
	assert_true(counts.reason[UPF_DROP_REASSEMBLY_TIMEOUT] > 100);
	assert_true(counts.reason[UPF_DROP_REASSEMBLY_FULL] > 100);
	assert_true(counts.reason[UPF_DROP_REASSEMBLY_TOO_BIG] > 10);
}

// Whoever has much gives way to whoever has little, and never the other way round.
static void
a_flood_takes_nobodys_place(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 64); // eight a sender
	assert_int_equal(add(&lab, 1, 7, 0, 8, false), FRAGMENT_WAITS);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(add(&lab, 2, 100 + i, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_FULL], 1000 - 8);
	assert_int_equal(lab.last_given_up, 100 + 1000 - 8 - 1); // its own, oldest first
	// Twenty that flood do not push it out either: the table is full, and each has more.
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(add(&lab, 10 + i % 20, 5000 + i, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 1, 7, 8, 9, true), FRAGMENT_LAST);
	// And one who comes when it is full gets a place.
	assert_int_equal(add(&lab, 3, 1, 0, 8, false), FRAGMENT_WAITS);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(add(&lab, 10 + i % 20, 9000 + i, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 3, 1, 8, 9, true), FRAGMENT_LAST);
	fragment_table_free(&lab.table);
}

// Buffers are bounded as places are.
static void
many_fragments_take_nobodys_place(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 128); // 16 a sender
	assert_int_equal(add(&lab, 1, 7, 0, 8, false), FRAGMENT_WAITS);
	for (uint32_t i = 0; i < 800; i++) {
		// Eight pieces of each packet, of three that flood.
		assert_int_equal(
			add(&lab, 2 + i / 8 % 3, 100 + i / 24, i % 8 * 16, i % 8 * 16 + 8, false),
			FRAGMENT_WAITS);
		assert_in_range(lab.table.fragments, 1, FRAGMENTS);
	}
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_FULL] + lab.table.fragments, 801);
	assert_int_equal(add(&lab, 1, 7, 8, 9, true), FRAGMENT_LAST);
	fragment_table_free(&lab.table);
}

static void
a_table_of_one_works(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 1);
	assert_int_equal(add(&lab, 1, 1, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 2, 1, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_FULL], 1);
	assert_int_equal(add(&lab, 2, 1, 8, 16, true), FRAGMENT_LAST);
	assert_int_equal(add(&lab, 1, 1, 8, 16, true), FRAGMENT_WAITS);
	fragment_table_free(&lab.table);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_TIMEOUT], 1); // at the end
}

// RFC 5722: what came and what still comes, until its time is over.
static void
an_overlap_spoils_the_rest_too(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 64);
	assert_int_equal(add(&lab, 1, 1, 0, 16, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 1, 1, 24, 32, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 1, 1, 8, 24, false), UPF_DROP_OVERLAPPING_FRAGMENT);
	assert_int_equal(lab.given_up[UPF_DROP_OVERLAPPING_FRAGMENT], 2);
	assert_int_equal(add(&lab, 1, 1, 0, 16, false), UPF_DROP_OVERLAPPING_FRAGMENT);
	assert_int_equal(add(&lab, 1, 1, 16, 17, true), UPF_DROP_OVERLAPPING_FRAGMENT);
	assert_int_equal(
		add_at(&lab, LIFETIME - 1, 1, 1, 16, 17, true), UPF_DROP_OVERLAPPING_FRAGMENT);
	// Then the identification may be another packet's.
	assert_int_equal(add_at(&lab, LIFETIME, 1, 1, 16, 17, true), FRAGMENT_WAITS);
	assert_int_equal(add_at(&lab, LIFETIME, 1, 1, 0, 16, false), FRAGMENT_LAST);
	fragment_table_free(&lab.table);
}

static void
lengths_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t from, to;
		bool last;
		int want;
	} cases[] = {
		{"nothing in it", 8, 8, false, UPF_DROP_MALFORMED_FRAGMENT},
		{"nothing in the last", 8, 8, true, UPF_DROP_MALFORMED_FRAGMENT},
		{"not a multiple of eight", 0, 12, false, UPF_DROP_MALFORMED_FRAGMENT},
		{"the last may be", 8, 12, true, FRAGMENT_WAITS},
		{"ends at 65,536", 65512, 65516, true, UPF_DROP_MALFORMED_FRAGMENT},
		{"begins at the end of all", 65528, 65536, true, UPF_DROP_MALFORMED_FRAGMENT},
		{"ends at 65,535", 65512, 65515, true, UPF_DROP_REASSEMBLY_TOO_BIG},
		{"longer than is put together", 10216, 10224, false, UPF_DROP_REASSEMBLY_TOO_BIG},
		{"as long as is put together", 10208, 10220, true, FRAGMENT_WAITS},
	};
	struct lab lab;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lab_init(&lab, 8);
		if (add(&lab, 1, 1, cases[i].from, cases[i].to, cases[i].last) != cases[i].want)
			fail_msg("%s", cases[i].what);
		fragment_table_free(&lab.table);
	}
}

static void
what_is_in_too_many_pieces_is_given_up(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 8);
	for (uint32_t i = 0; i < FRAGMENT_PIECES_MOST; i++)
		assert_int_equal(add(&lab, 1, 1, i * 16, i * 16 + 8, false), FRAGMENT_WAITS);
	assert_int_equal(add(&lab, 1, 1, 800, 801, true), UPF_DROP_REASSEMBLY_TOO_BIG);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_TOO_BIG], FRAGMENT_PIECES_MOST);
	fragment_table_free(&lab.table);
}

static void
only_what_is_too_old_expires(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 64);
	assert_int_equal(add_at(&lab, 0, 1, 1, 0, 8, false), FRAGMENT_WAITS);
	assert_int_equal(add_at(&lab, 60, 1, 1, 16, 24, true), FRAGMENT_WAITS);
	assert_int_equal(add_at(&lab, 60, 2, 1, 0, 8, false), FRAGMENT_WAITS);
	fragment_table_expire(&lab.table, LIFETIME - 1);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_TIMEOUT], 0);
	fragment_table_expire(&lab.table, LIFETIME);
	assert_int_equal(lab.given_up[UPF_DROP_REASSEMBLY_TIMEOUT], 2);
	assert_int_equal(add_at(&lab, LIFETIME, 2, 1, 8, 16, true), FRAGMENT_LAST);
	fragment_table_free(&lab.table);
}

int
test_fragments(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_naive_model),
		cmocka_unit_test(a_flood_takes_nobodys_place),
		cmocka_unit_test(many_fragments_take_nobodys_place),
		cmocka_unit_test(a_table_of_one_works),
		cmocka_unit_test(an_overlap_spoils_the_rest_too),
		cmocka_unit_test(lengths_that_cannot_be_are_refused),
		cmocka_unit_test(what_is_in_too_many_pieces_is_given_up),
		cmocka_unit_test(only_what_is_too_old_expires),
	};

	return cmocka_run_group_tests_name("fragments", tests, NULL, NULL);
}
