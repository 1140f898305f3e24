#include "process/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "PCIDEVICE_"
#define CELL "{cell}"

// core5g.dev/n3_socket{cell} is PCIDEVICE_CORE5G_DEV_N3_SOCKET1 for cell 1. The device plugin leaves
// hyphens as they are.
static bool
names(const char *variable, size_t length, const char *resource)
{
	const char *end = variable + length;

	if (length < sizeof(PREFIX) - 1 || memcmp(variable, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	variable += sizeof(PREFIX) - 1;
	while (*resource != '\0') {
		if (strncmp(resource, CELL, sizeof(CELL) - 1) == 0) {
			const char *digits = variable;

			while (variable < end && isdigit((unsigned char)*variable))
				variable++;
			if (variable == digits)
				return false;
			resource += sizeof(CELL) - 1;
			continue;
		}
		if (variable == end)
			return false;
		if (isalnum((unsigned char)*resource) ? toupper((unsigned char)*resource) !=
					toupper((unsigned char)*variable)
						      : isalnum((unsigned char)*variable))
			return false;
		resource++;
		variable++;
	}
	return variable == end;
}

int
device_of_resource(char *const *environment, const char *resource, unsigned nth, char *device,
	size_t device_size, char *error, size_t error_size)
{
	unsigned seen = 0;

	for (; *environment != NULL; environment++) {
		const char *value = strchr(*environment, '=');

		if (value == NULL || !names(*environment, (size_t)(value - *environment), resource))
			continue;
		for (value++; *value != '\0';) {
			size_t length = strcspn(value, ",");

			if (length > 0 && seen++ == nth) {
				if (length >= device_size)
					break;
				memcpy(device, value, length);
				device[length] = '\0';
				return 0;
			}
			value += length + (value[length] == ',');
		}
	}
	snprintf(error, error_size,
		"the environment names %u device(s) of resource %s, and %u are needed: the "
		"container "
		"must have them in its limits, and their device plugin must set " PREFIX "…",
		seen, resource, nth + 1);
	return -1;
}

bool
device_is_kernels(const char *sysfs, const char *address)
{
	char path[256], driver[256];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", sysfs, address);
	length = readlink(path, driver, sizeof(driver) - 1);
	if (length < 0)
		return false;
	driver[length] = '\0';
	return strcmp(strrchr(driver, '/') != NULL ? strrchr(driver, '/') + 1 : driver,
		       "mlx5_core") == 0;
}
