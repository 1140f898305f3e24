// upf-u.yaml, read once at the start. Addresses are in host order, so that masks are plain
// arithmetic; the wire's order begins in port.c.
#ifndef UPFU_CONFIG_H
#define UPFU_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upf_abi.h"

#define CONFIG_ROUTES_MAX 64u

enum config_driver {
	CONFIG_AF_PACKET,
	CONFIG_AF_XDP,
	CONFIG_TAP,
	CONFIG_VFIO,
};

struct config_interface {
	enum config_driver driver;
	char device[64];    // kernel interface name, or PCI address for vfio
	uint32_t address;   // first own address
	uint8_t block_len;  // prefix length of the block of own addresses: 32 for one
	uint8_t prefix_len; // of the subnet on the link
	uint32_t gateway;   // 0: none
	uint16_t mtu;
};

struct config_route {
	enum upf_port port;
	uint32_t prefix;
	uint8_t prefix_len;
	uint32_t via;
};

struct config_limits {
	uint32_t sessions_max;
	uint32_t urr_slots;
	uint32_t qer_slots;
	uint32_t mbufs;                      // packet buffers of the whole UPF
	uint32_t buffer_packets;             // held for idle UEs, a worker
	uint32_t buffer_packets_per_session; // of them for one PDU session
	uint32_t error_indications;          // sent a second, a worker
};

struct config {
	unsigned workers;
	int control_cpu; // host CPU of the control thread
	int worker_cpu[UPF_WORKERS_MAX];
	uint32_t memory_mib;
	bool hugepages;
	char socket[108];
	struct config_limits limits;
	struct config_interface interface[UPF_PORTS];
	unsigned ports; // of interface[]: N9 comes last and may be absent
	struct config_route route[CONFIG_ROUTES_MAX];
	unsigned routes;
	bool ue_to_ue_allowed;
	uint32_t sleep_max_us; // 0: never sleep
	uint32_t qer_burst_ms;
};

// Reads the file at path. On failure returns -1 and leaves one sentence for the reader in error:
// file, line, key and what to write instead.
int config_read(struct config *config, const char *path, char *error, size_t error_size);

#endif
