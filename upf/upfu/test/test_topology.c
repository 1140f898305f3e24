// Where CPUs, ports and memory are, from a sysfs and a numa_maps made up for a machine with two nodes.
#include "process/topology.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "tests.h"

static void
put(const char *root, const char *path, const char *content)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	if (content == NULL) {
		assert_int_equal(mkdir(full, 0700), 0);
	} else {
		FILE *file = fopen(full, "we");

		assert_non_null(file);
		fputs(content, file);
		fclose(file);
	}
}

static void
remove_all(const char *root)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void
cpus_and_devices(void **state)
{
	char root[] = "/tmp/upfu-topology-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(topology_nodes(root), 1); // a kernel without NUMA
	assert_int_equal(topology_cpu_node(root, 3), 0);
	put(root, "devices/system/node/node0/cpu0", NULL);
	put(root, "devices/system/node/node1/cpu3", NULL);
	put(root, "class/net/n3/device/numa_node", "1\n");
	put(root, "class/net/n6/device/numa_node", "-1\n");
	assert_int_equal(topology_nodes(root), 2);
	assert_int_equal(topology_cpu_node(root, 0), 0);
	assert_int_equal(topology_cpu_node(root, 3), 1);
	assert_int_equal(topology_interface_node(root, "n3"), 1);
	assert_int_equal(topology_interface_node(root, "n6"), UPF_NODE_NONE);
	assert_int_equal(topology_interface_node(root, "veth"), UPF_NODE_NONE);
	remove_all(root);
}

static void
count(struct upf_topology *t, const char *maps)
{
	static const struct topology_region memory[] = {
		{0x10000000, 0x20000000}, {0x40000000, 0x40400000}};
	static const struct topology_region pool[] = {{0x10200000, 0x10500000}};
	FILE *file = fmemopen((void *)(uintptr_t)maps, strlen(maps), "r");

	memset(t, 0, sizeof(*t));
	assert_non_null(file);
	topology_count_pages(t, file, memory, RTE_DIM(memory), pool, RTE_DIM(pool));
	fclose(file);
}

static void
pages(void **state)
{
	struct upf_topology t;

	(void)state;
	count(&t,
		"00400000 default file=/usr/bin/upf-u mapped=9 N0=9 kernelpagesize_kB=4\n"
		"10000000 default file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N1=3 "
		"kernelpagesize_kB=2048\n"
		"10600000 default\n"
		"30000000 default huge anon=1 N0=1 kernelpagesize_kB=2048\n"
		"40000000 default file=/memfd:upf-shm huge dirty=2 N1=2 kernelpagesize_kB=2048\n"
		"7ffc0000 default stack anon=3 N0=3 kernelpagesize_kB=4\n");
	assert_int_equal(t.memory[0], 0); // the program's own is not upf-u's packets
	assert_int_equal(t.memory[1], 5u << 21);
	assert_int_equal(t.pool[1], 0x300000);
	assert_int_equal(t.page, 1u << 21);

	// The pool's pages are on either node: nobody knows which.
	count(&t, "10000000 default huge anon=3 N0=1 N1=2 kernelpagesize_kB=2048\n");
	assert_int_equal(t.memory[0], 1u << 21);
	assert_int_equal(t.memory[1], 2u << 21);
	assert_int_equal(t.pool[0] + t.pool[1], 0);

	count(&t, "nonsense\n\n10000000\n10000000 default N99=1 N0=x kernelpagesize_kB=4\n");
	for (unsigned node = 0; node < UPF_NODES_MAX; node++)
		assert_int_equal(t.memory[node] + t.pool[node], 0);
}

int
test_topology(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_and_devices),
		cmocka_unit_test(pages),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
