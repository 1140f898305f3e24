// Nobody else decides how much is logged.
#include "process/log.h"
#include "rig.h"
#include "tests.h"

static void
bounded_a_second(void **state)
{
	struct log_limit limit = {0};
	unsigned kept = 99, logged = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		logged += log_within(&limit, 5, &kept);
	assert_int_equal(logged, LOG_LIMIT);
	assert_int_equal(kept, 0);
	assert_true(log_within(&limit, 6, &kept));
	assert_int_equal(kept, 1000 - LOG_LIMIT);
	assert_true(log_within(&limit, 6, &kept));
	assert_int_equal(kept, 0); // told once
}

int
test_log(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounded_a_second),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
