// The groups of tests in this program. Each returns how many failed.
#ifndef UPFU_TEST_TESTS_H
#define UPFU_TEST_TESTS_H

int test_arena(void);
int test_bucketmap(void);
int test_buffer(void);
int test_carrier(void);
int test_config(void);
int test_detection(void);
int test_device(void);
int test_drops(void);
int test_duplicate(void);
int test_eal(void);
int test_ethernet(void);
int test_forward(void);
int test_fragments(void);
int test_framed(void);
int test_gateways(void);
int test_handoff(void);
int test_hellos(void);
int test_ipc(void);
int test_link(void);
int test_ways(void);
int test_local(void);
int test_log(void);
int test_nat(void);
int test_neigh(void);
int test_networks(void);
int test_qer(void);
int test_reassembly(void);
int test_redirect(void);
int test_show(void);
int test_silence(void);
int test_spread(void);
int test_topology(void);
int test_tss(void);
int test_trace(void);
int test_urr(void);

struct rte_eth_dev_info;
// Where it is set, it says what rte_eth_dev_info_get() does, of any port (test_eal.c).
extern void (*pretended_info)(struct rte_eth_dev_info *info);

#endif
