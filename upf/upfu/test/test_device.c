// The device that a device plugin gave to the container, and what the process may do with it.
#include "process/device.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/privileges.h"
#include "rig.h"
#include "tests.h"

#define A(...) ((char *const[]){__VA_ARGS__, NULL})

static void
expect(char *const *environment, const char *resource, unsigned nth, const char *want)
{
	char device[64] = "", error[320] = "";
	int rc = device_of_resource(
		environment, resource, nth, device, sizeof(device), error, sizeof(error));

	assert_int_equal(rc, want != NULL ? 0 : -1);
	if (want != NULL)
		assert_string_equal(device, want);
	else
		assert_non_null(strstr(error, resource));
}

static void
of_environment(void **state)
{
	char *const *two = A("PATH=/bin", "PCIDEVICE_CORE5G_DEV_N3_SOCKET1=0000:81:10.0",
		"PCIDEVICE_CORE5G_DEV_N6_SOCKET1=0000:82:10.0,0000:82:10.2",
		"PCIDEVICE_CORE5G_DEV_N3_SOCKET1_INFO={}", "PCIDEVICE_INTEL_COM_VF=");

	(void)state;
	expect(two, "core5g.dev/n3_socket1", 0, "0000:81:10.0");
	expect(two, "core5g.dev/n3_socket{cell}", 0, "0000:81:10.0");
	expect(two, "core5g.dev/n6_socket{cell}", 0, "0000:82:10.0");
	expect(two, "core5g.dev/n6_socket{cell}", 1, "0000:82:10.2");
	expect(two, "core5g.dev/n6_socket{cell}", 2, NULL);
	expect(two, "core5g.dev/n3_socket0", 0, NULL);
	expect(two, "core5g.dev/n3_socket", 0, NULL);
	expect(two, "core5g.dev/n3_socket12", 0, NULL);
	expect(two, "intel.com/vf", 0, NULL); // names none
	expect(A("PCIDEVICE_MY-CORP_COM_VF=0000:01:10.0"), "my-corp.com/vf", 0, "0000:01:10.0");
	expect(A("PCIDEVICE_MY_CORP_COM_VF=0000:01:10.0"), "my-corp.com/vf", 0, "0000:01:10.0");
	expect(A("PCIDEVICE_A_B1=0000:01:10.0", "PCIDEVICE_A_B2=0000:81:10.0"), "a/b{cell}", 1,
		"0000:81:10.0"); // a device of either cell
	expect(A("PATH=/bin"), "core5g.dev/n3", 0, NULL);
}

static void
longer_than_an_address(void **state)
{
	char text[128] = "PCIDEVICE_A_B=";

	(void)state;
	memset(text + strlen(text), 'x', 100);
	expect(A(text), "a/b", 0, NULL);
}

// A folder that is a sysfs with two devices: one of vfio-pci, one of mlx5_core.
static const char *
sysfs_of_two(void)
{
	static char root[] = "/tmp/upf-sysfs-XXXXXX";
	static const char *const links[][2] = {
		{"0000:81:10.0", "../../../../bus/pci/drivers/vfio-pci"},
		{"0000:af:00.2", "../../../../bus/pci/drivers/mlx5_core"},
	};
	char path[128];

	assert_non_null(mkdtemp(root));
	for (unsigned i = 0; i < 2; i++) {
		static const char *const folders[] = {"bus", "bus/pci", "bus/pci/devices"};

		for (unsigned k = 0; i == 0 && k < 3; k++) {
			snprintf(path, sizeof(path), "%s/%s", root, folders[k]);
			assert_int_equal(mkdir(path, 0700), 0);
		}
		snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", root, links[i][0]);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", root, links[i][0]);
		assert_int_equal(symlink(links[i][1], path), 0);
	}
	return root;
}

static void
remove_sysfs(const char *root)
{
	static const char *const names[] = {"/bus/pci/devices/0000:81:10.0/driver",
		"/bus/pci/devices/0000:81:10.0", "/bus/pci/devices/0000:af:00.2/driver",
		"/bus/pci/devices/0000:af:00.2", "/bus/pci/devices", "/bus/pci", "/bus", ""};
	char path[128];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		assert_int_equal(remove(path), 0);
	}
}

static void
capabilities(void **state)
{
	struct config config = {.ports = 2};
	const uint64_t lock = UINT64_C(1) << CAP_IPC_LOCK;
	const uint64_t net = UINT64_C(1) << CAP_NET_RAW | UINT64_C(1) << CAP_NET_ADMIN;
	const char *sysfs = sysfs_of_two();

	(void)state;
	config.interface[0].present = config.interface[1].present = true;
	config.interface[0].driver = config.interface[1].driver = CONFIG_VFIO;
	assert_int_equal(privileges_needed(&config, sysfs), lock); // no such device
	strcpy(config.interface[0].device, "0000:81:10.0");
	assert_int_equal(privileges_needed(&config, sysfs), lock);
	strcpy(config.interface[1].device, "0000:af:00.2");
	assert_int_equal(privileges_needed(&config, sysfs), lock | net);
	config.interface[1].driver = CONFIG_AF_PACKET;
	assert_int_equal(privileges_needed(&config, sysfs), lock | net);
	config.interface[0].driver = CONFIG_TAP;
	assert_int_equal(privileges_needed(&config, sysfs), net);
	remove_sysfs(sysfs);
}

int
test_device(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_environment),
		cmocka_unit_test(longer_than_an_address),
		cmocka_unit_test(capabilities),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
