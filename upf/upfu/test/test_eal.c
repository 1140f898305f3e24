// What eal.c asks of a port with a VLAN. The port is a ring, which knows no VLANs: the linker puts the
// __wrap_ functions in the place of DPDK's (--wrap), and while a port is pretended they know them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_ring.h>

#include "link/eal.h"
#include "rig.h"
#include "tests.h"

#define VLAN_OFFLOADS (RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_VLAN_STRIP)

static struct {
	bool on;
	uint64_t capa;  // of receiving, that the port says it has
	int answer;     // to rte_eth_dev_vlan_filter()
	uint64_t asked; // offloads that it was configured with
	bool started;
	unsigned filters;
	uint16_t vlan;
} pretended;

void (*pretended_info)(struct rte_eth_dev_info *info);

int __real_rte_eth_dev_info_get(uint16_t ethdev, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t ethdev, struct rte_eth_dev_info *info);
int
__wrap_rte_eth_dev_info_get(uint16_t ethdev, struct rte_eth_dev_info *info)
{
	int rc;

	if (pretended_info != NULL) {
		memset(info, 0, sizeof(*info));
		pretended_info(info);
		return 0;
	}
	rc = __real_rte_eth_dev_info_get(ethdev, info);
	if (rc == 0 && pretended.on)
		info->rx_offload_capa |= pretended.capa;
	return rc;
}

int __real_rte_eth_dev_configure(
	uint16_t ethdev, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_configure(
	uint16_t ethdev, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int
__wrap_rte_eth_dev_configure(
	uint16_t ethdev, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	struct rte_eth_conf real = *conf;

	if (pretended.on) {
		pretended.asked = conf->rxmode.offloads;
		real.rxmode.offloads &= ~VLAN_OFFLOADS;
	}
	return __real_rte_eth_dev_configure(ethdev, rx, tx, &real);
}

int __real_rte_eth_dev_start(uint16_t ethdev);
int __wrap_rte_eth_dev_start(uint16_t ethdev);
int
__wrap_rte_eth_dev_start(uint16_t ethdev)
{
	pretended.started = true;
	return __real_rte_eth_dev_start(ethdev);
}

int __wrap_rte_eth_dev_vlan_filter(uint16_t ethdev, uint16_t vlan, int on);
int
__wrap_rte_eth_dev_vlan_filter(uint16_t ethdev, uint16_t vlan, int on)
{
	(void)ethdev;
	assert_true(pretended.on);
	assert_true(pretended.started); // a start may reset the device
	assert_int_equal(on, 1);
	pretended.filters++;
	pretended.vlan = vlan;
	return pretended.answer;
}

static void
a_port_lets_its_vlan_in(void **state)
{
	static const struct {
		const char *name;
		uint16_t vlan;
		uint64_t capa, asked;
		int answer;
		unsigned filters;
		const char *said; // NULL: it starts
	} cases[] = {
		{"one that filters", 30, VLAN_OFFLOADS, VLAN_OFFLOADS, 0, 1, NULL},
		{"one that filters and strips not", 4094, RTE_ETH_RX_OFFLOAD_VLAN_FILTER,
			RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 0, 1, NULL},
		{"one that does not filter", 30, RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
			RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0, 0, NULL},
		{"one whose NIC knows no filters", 30, VLAN_OFFLOADS, VLAN_OFFLOADS, -ENOTSUP, 1,
			NULL},
		{"one whose NIC refuses", 30, VLAN_OFFLOADS, VLAN_OFFLOADS, -EINVAL, 1,
			"refuses frames of VLAN 30: Invalid argument; a virtual function must have "
			"no VLAN"},
		{"an untagged one", 0, VLAN_OFFLOADS, 0, 0, 0, NULL},
	};
	struct rte_ring *ring = rte_ring_create("vlan", 64, SOCKET_ID_ANY, 0);
	char error[256] = "";
	int ethdev;

	(void)state;
	assert_non_null(ring);
	ethdev = rte_eth_from_rings("vlan", &ring, 1, &ring, 1, 0);
	assert_true(ethdev >= 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc;

		memset(&pretended, 0, sizeof(pretended));
		pretended.on = true;
		pretended.capa = cases[i].capa;
		pretended.answer = cases[i].answer;
		rc = eal_start_port(
			(uint16_t)ethdev, 1, 1600, cases[i].vlan, rig_pool(), error, sizeof(error));
		pretended.on = false;
		if (rc != (cases[i].said == NULL ? 0 : -1) || pretended.asked != cases[i].asked ||
			pretended.filters != cases[i].filters)
			fail_msg("%s: %d, offloads %#llx, %u filters", cases[i].name, rc,
				(unsigned long long)pretended.asked, pretended.filters);
		if (pretended.filters != 0)
			assert_int_equal(pretended.vlan, cases[i].vlan);
		if (cases[i].said != NULL && strstr(error, cases[i].said) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", error, cases[i].said);
		assert_int_equal(rte_eth_dev_stop((uint16_t)ethdev), 0);
	}
	rte_eth_dev_close((uint16_t)ethdev);
	rte_ring_free(ring);
}

static void
buffers_in_devices_come_on_top(void **state)
{
	static const struct {
		enum config_driver n3, n6;
		unsigned workers;
		uint32_t want;
	} cases[] = {
		{CONFIG_AF_PACKET, CONFIG_AF_PACKET, 4, 0},
		{CONFIG_VFIO, CONFIG_VFIO, 1, 2 * 2048},
		{CONFIG_VFIO, CONFIG_VFIO, 4, 4 * 2 * 2048},
		{CONFIG_VFIO, CONFIG_AF_PACKET, 2, 2 * 2048},
		{CONFIG_AF_XDP, CONFIG_TAP, 1, 4096 + 1024},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config = rig_config();

		config.workers = cases[i].workers;
		config.interface[UPF_PORT_N3].driver = cases[i].n3;
		config.interface[UPF_PORT_N6].driver = cases[i].n6;
		assert_int_equal(eal_held_by_devices(&config), cases[i].want);
	}
}

// What a driver can say something with is there where the driver is.
static void
the_drivers_of_nics_are_linked_in(void **state)
{
	static const char *const drivers[] = {"pmd.net.e1000", "pmd.net.ixgbe", "pmd.net.i40e",
		"pmd.net.ice", "pmd.net.iavf", "pmd.net.mlx5"};
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);

	(void)state;
	assert_non_null(file);
	rte_log_dump(file);
	fclose(file);
	for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (strstr(said, drivers[i]) == NULL)
			fail_msg("no %s", drivers[i]);
	}
	free(said);
}

int
test_eal(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_lets_its_vlan_in),
		cmocka_unit_test(buffers_in_devices_come_on_top),
		cmocka_unit_test(the_drivers_of_nics_are_linked_in),
	};

	return cmocka_run_group_tests_name("eal", tests, NULL, NULL);
}
