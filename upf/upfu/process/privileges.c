#define _GNU_SOURCE
#include "process/privileges.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/config.h"
#include "process/device.h"

#define BIT(capability) (UINT64_C(1) << (capability))

uint64_t
privileges_needed(const struct config *config, const char *sysfs)
{
	uint64_t needed = 0;

	for (unsigned port = 0; port < config->ports; port++) {
		if (!config->interface[port].present)
			continue;
		switch (config->interface[port].driver) {
		case CONFIG_VFIO: // to lock memory for the device beyond RLIMIT_MEMLOCK
			needed |= BIT(CAP_IPC_LOCK);
			// Queues of raw frames, and what the kernel's interface is set to.
			if (device_is_kernels(sysfs, config->interface[port].device))
				needed |= BIT(CAP_NET_RAW) | BIT(CAP_NET_ADMIN);
			break;
		case CONFIG_AF_XDP:
			needed |= BIT(CAP_SYS_ADMIN) | BIT(CAP_IPC_LOCK);
			// fall through
		case CONFIG_AF_PACKET:
		case CONFIG_TAP:
			needed |= BIT(CAP_NET_RAW) | BIT(CAP_NET_ADMIN);
			break;
		}
	}
	return needed;
}

static bool
only_vfio(const struct config *config)
{
	for (unsigned port = 0; port < config->ports; port++) {
		if (config->interface[port].present &&
			config->interface[port].driver != CONFIG_VFIO)
			return false;
	}
	return true;
}

int
privileges_set(const struct config *config)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint64_t needed = privileges_needed(config, "/sys");

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t word = (uint32_t)(needed >> (32 * i));

		if (only_vfio(config))
			data[i].permitted &= word;
		data[i].effective = (data[i].effective | word) & data[i].permitted;
		data[i].inheritable &= data[i].permitted;
	}
	return (int)syscall(SYS_capset, &head, data);
}
