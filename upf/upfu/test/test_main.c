#define _GNU_SOURCE
#include <sched.h>

#include "rig.h"
#include "tests.h"

int
main(void)
{
	int failed = 0;

	if (!rig_start_eal(192, false, 4096, sched_getcpu()))
		return 1;
	failed += test_config();
	failed += test_arena();
	failed += test_log();
	failed += test_bucketmap();
	failed += test_fragments();
	failed += test_hellos();
	failed += test_topology();
	failed += test_tss();
	failed += test_qer();
	failed += test_forward();
	failed += test_drops();
	failed += test_carrier();
	failed += test_local();
	failed += test_link();
	failed += test_reassembly();
	failed += test_ways();
	failed += test_neigh();
	failed += test_gateways();
	failed += test_networks();
	failed += test_framed();
	failed += test_nat();
	failed += test_detection();
	failed += test_urr();
	failed += test_buffer();
	failed += test_handoff();
	failed += test_ipc();
	failed += test_trace();
	failed += test_show();
	failed += test_silence();
	failed += test_redirect();
	failed += test_device();
	failed += test_duplicate();
	failed += test_eal();
	failed += test_spread();
	failed += test_ethernet();
	return failed != 0;
}
