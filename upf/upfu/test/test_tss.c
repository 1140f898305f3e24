// Tuple space search against a naive matcher, on random PDRs and packets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "classify.h"
#include "tests.h"

static void
agrees_with_a_naive_matcher(void **state)
{
	static uint8_t octets[65536];
	struct classify_counts counts = {0};

	(void)state;
	srandom(3);
	for (unsigned i = 0; i < 1500; i++) {
		for (size_t j = 0; j < sizeof(octets); j++)
			octets[j] = (uint8_t)random();
		classify_both_ways(octets, sizeof(octets), &counts);
	}
	// Both answers are exercised, and filters by themselves.
	assert_in_range(counts.matched, counts.packets / 10, counts.packets * 9 / 10);
	assert_in_range(counts.by_sdf, counts.packets / 20, counts.packets);
}

int
test_tss(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_naive_matcher),
	};

	return cmocka_run_group_tests_name("tss", tests, NULL, NULL);
}
