// The links of the interfaces, of ports whose links can be set.
#include <rte_ethdev.h>

#include "link/carrier.h"
#include "rig.h"
#include "tests.h"

static uint64_t pretended_missed;

int __real_rte_eth_stats_get(uint16_t ethdev, struct rte_eth_stats *stats);
int __wrap_rte_eth_stats_get(uint16_t ethdev, struct rte_eth_stats *stats);
int
__wrap_rte_eth_stats_get(uint16_t ethdev, struct rte_eth_stats *stats)
{
	int rc = __real_rte_eth_stats_get(ethdev, stats);

	stats->imissed = pretended_missed; // a ring of this process loses nothing
	return rc;
}

static void
what_the_port_lost_is_told(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct carriers carriers;
	uint16_t ethdev[UPF_PORTS];

	(void)state;
	for (enum upf_port port = 0; port < rig->config.ports; port++) {
		ethdev[port] = rig->worker[0]->port[port].ethdev;
		rig->config.interface[port].driver = CONFIG_VFIO;
	}
	carriers_init(&carriers, &rig->config, ethdev, rig->shm.links);
	carriers_look(&carriers);
	assert_int_equal(rig->shm.links[UPF_PORT_N3].missed, 0);
	pretended_missed = 7;
	carriers_look(&carriers);
	carriers_look(&carriers);
	assert_int_equal(rig->shm.links[UPF_PORT_N3].missed, 7);
	assert_int_equal(rig->shm.links[UPF_PORT_N6].missed, 7);
	pretended_missed = 0;
	carriers_free(&carriers);
	rig_free(rig);
}

static void
a_link_goes_and_comes_back(void **state)
{
	struct rig *rig = rig_create(1, true);
	struct carriers carriers;
	uint16_t ethdev[UPF_PORTS];
	const struct upf_link_state *n3 = &rig->shm.links[UPF_PORT_N3];
	const struct upf_link_state *n6 = &rig->shm.links[UPF_PORT_N6];

	(void)state;
	for (enum upf_port port = 0; port < rig->config.ports; port++) {
		ethdev[port] = rig->worker[0]->port[port].ethdev;
		rig->config.interface[port].driver = CONFIG_VFIO;
	}
	carriers_init(&carriers, &rig->config, ethdev, rig->shm.links);
	assert_int_equal(n6->state, UPF_LINK_UNKNOWN);
	carriers_look(&carriers);
	assert_int_equal(n3->state, UPF_LINK_UP);
	assert_int_equal(n6->state, UPF_LINK_UP);
	assert_int_equal(n6->since, 0);

	assert_int_equal(rte_eth_dev_set_link_down(ethdev[UPF_PORT_N6]), 0);
	carriers_look(&carriers);
	carriers_look(&carriers);
	assert_int_equal(n3->state, UPF_LINK_UP);
	assert_int_equal(n6->state, UPF_LINK_DOWN);
	assert_int_equal(n6->downs, 1);
	assert_int_not_equal(n6->since, 0);

	assert_int_equal(rte_eth_dev_set_link_up(ethdev[UPF_PORT_N6]), 0);
	carriers_look(&carriers);
	assert_int_equal(n6->state, UPF_LINK_UP);
	assert_int_equal(n6->downs, 1);
	assert_int_equal(rig->shm.links[UPF_PORT_N9].state, UPF_LINK_UNKNOWN);
	carriers_free(&carriers);
	rig_free(rig);
}

static void
a_device_that_is_gone_is_down(void **state)
{
	struct rig *rig = rig_create(1, true);
	const uint16_t ethdev[UPF_PORTS] = {RTE_MAX_ETHPORTS - 1};
	struct carriers carriers;

	(void)state;
	rig->config.interface[UPF_PORT_N3].driver = CONFIG_VFIO;
	rig->config.interface[UPF_PORT_N6].driver = CONFIG_AF_PACKET;
	snprintf(rig->config.interface[UPF_PORT_N6].device,
		sizeof(rig->config.interface[UPF_PORT_N6].device), "nobody0");
	carriers_init(&carriers, &rig->config, ethdev, rig->shm.links);
	carriers_look(&carriers);
	for (enum upf_port port = 0; port < rig->config.ports; port++) {
		assert_int_equal(rig->shm.links[port].state,
			port == UPF_PORT_N9 ? UPF_LINK_UNKNOWN : UPF_LINK_DOWN);
		assert_int_equal(rig->shm.links[port].since, 0); // it never was up
	}
	carriers_free(&carriers);
	rig_free(rig);
}

int
test_carrier(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_port_lost_is_told),
		cmocka_unit_test(a_link_goes_and_comes_back),
		cmocka_unit_test(a_device_that_is_gone_is_down),
	};

	return cmocka_run_group_tests_name("carrier", tests, NULL, NULL);
}
