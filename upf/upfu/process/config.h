// upf-u.yaml, read once at the start. Addresses are in host order, so that masks are plain
// arithmetic; the wire's order begins in port.c.
#ifndef UPFU_CONFIG_H
#define UPFU_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upf_abi.h"

#define CONFIG_ROUTES_MAX 64u
#define CONFIG_GATEWAYS 2u // of one IP version

enum config_driver {
	CONFIG_AF_PACKET,
	CONFIG_AF_XDP,
	CONFIG_TAP,
	CONFIG_VFIO,
};

// NAT44 of a network instance.
struct config_nat {
	unsigned prefixes;
	struct {
		uint32_t address;
		uint8_t len;
	} prefix[UPF_NAT_PREFIXES];
	uint32_t ports;             // of a UE's block, a power of two; 0: there is no NAT44
	uint32_t mappings;          // that there is room for, with all workers
	uint32_t tcp_established_s; // how long a mapping lives without packets
	uint32_t tcp_transitory_s;
	uint32_t udp_s;
	uint32_t icmp_s;
};

// The bridge of an Ethernet network instance.
struct config_bridge {
	uint32_t stations;             // MAC addresses that it knows at most
	uint32_t stations_per_session; // of a PDU session
	uint32_t ageing_s;             // how long one is known that is silent
	uint32_t copies;               // of a frame to all, at most
};

struct config_interface {
	bool present;
	// N6: its Network Instance; empty: it serves all that no other one is named for.
	char network[UPF_NETWORK_NAME];
	// The interface whose device it has: itself, or one of N6 before it, which has another VLAN.
	enum upf_port device_of;
	enum config_driver driver;
	char device[64];    // kernel interface name, or PCI address for vfio
	char resource[254]; // of a device plugin: device is what the environment names for it
	uint32_t address;   // first own address; with block_len 0 there is no IPv4
	uint8_t block_len;  // prefix length of the block of own addresses: 32 for one
	uint8_t prefix_len; // of the subnet on the link
	uint32_t gateway[CONFIG_GATEWAYS]; // 0: none; the second alone is never there
	upf_addr address6;                 // the same in IPv6; with block_len6 0 there is none
	uint8_t block_len6;
	uint8_t prefix_len6;
	upf_addr gateway6[CONFIG_GATEWAYS]; // all zero: none
	uint16_t mtu;
	uint16_t vlan; // VLAN id of all frames, 0: untagged; no two of one device have the same
	uint8_t dscp;  // of what upf-u says of its own accord
	struct config_nat nat; // of N6
	bool ethernet;         // N6: a bridge for Ethernet PDU sessions, without addresses
	struct config_bridge bridge;
};

struct config_route {
	enum upf_port port;
	bool ip6;
	uint8_t prefix_len;
	uint32_t prefix;
	uint32_t via;
	upf_addr prefix6;
	upf_addr via6;
	char network[UPF_NETWORK_NAME]; // of N6, as the file has it
};

struct config_limits {
	uint32_t sessions_max;
	uint32_t urr_slots;
	uint32_t qer_slots;
	uint32_t mbufs;                      // packet buffers of the UPF, beside those in devices
	uint32_t buffer_packets;             // held for idle UEs, a worker
	uint32_t buffer_packets_per_session; // of them for one direction of a PDU session
	uint64_t buffer_bytes;               // the same in octets of the users' packets
	uint64_t buffer_bytes_per_session;
	uint32_t buffer_duration_s; // of packets whose BAR does not say how long
	uint32_t error_indications; // sent a second, a worker
	uint32_t icmp_errors;       // sent a second, a worker
	uint32_t detected;          // entries of packet/detection.h, in all
};

enum config_fragmentation {    // of IPv4 packets without DF that do not fit into the tunnel
	CONFIG_FRAGMENT_INNER, // the user's packet: each fragment goes in a G-PDU of its own
	CONFIG_FRAGMENT_OUTER, // the packet that carries it, which the peer puts together again
};

struct config_reassembly { // a worker
	uint32_t
		packets; // under way at once, of each interface and of users; 0: fragments are dropped
	uint32_t timeout_ms;
};

struct config_router_advertisement { // to UEs, RFC 4861 4.2
	bool managed;                // M: addresses by DHCPv6
	bool other;                  // O: other information by DHCPv6
	uint32_t lifetime_s;
	uint32_t mtu; // option MTU, 0: without
};

struct config_qer {
	uint32_t burst_ms;      // depth of the buckets without an Averaging Window
	uint32_t queue_ms;      // how long a packet above its rate waits at most, 0: it is dropped
	uint32_t queue_packets; // that wait, a worker
	uint32_t queue_packets_per_session;
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
	unsigned networks; // of N6
	unsigned ports;    // of interface[], N9 may be absent: UPF_PORT_N6 + networks
	struct config_route route[CONFIG_ROUTES_MAX];
	unsigned routes;
	bool ue_to_ue_allowed;
	bool redundancy;         // silent until upf-c grants an epoch: silence.h
	bool mss_clamp;          // of TCP connections through tunnels
	bool udp6_zero_checksum; // RFC 6935: GTP-U over IPv6 is sent and taken without UDP checksum
	bool buffer_drop_oldest; // when a downlink buffer is full; else the newest
	enum config_fragmentation fragmentation;
	struct config_reassembly reassembly;
	struct config_router_advertisement ra;
	uint32_t sleep_max_us; // 0: never sleep
	struct config_qer qer;
};

// Of a frame in the kernel's packet ring, where four make whole pages, and in a packet buffer.
static inline uint32_t
config_frame_size(uint16_t mtu)
{
	return mtu > 1800 ? 10240 : 2048;
}

// The interface of N6 that a network (upf_abi.h) has.
static inline enum upf_port
config_port_of(unsigned network)
{
	return (enum upf_port)(UPF_PORT_N6 + network);
}

// Is this one of the public addresses (host order) of a network instance's NAT44?
static inline bool
config_nat_owns(const struct config_nat *nat, uint32_t address)
{
	for (unsigned i = 0; i < nat->prefixes; i++) {
		if (((address ^ nat->prefix[i].address) >> (32 - nat->prefix[i].len)) == 0)
			return true;
	}
	return false;
}

// n3, n9 or n6.
static inline const char *
config_port_name(unsigned port)
{
	return port == UPF_PORT_N3 ? "n3" : port == UPF_PORT_N9 ? "n9" : "n6";
}

// The largest mtu of the interfaces of a device.
uint16_t config_device_mtu(const struct config *config, enum upf_port device);

// Reads the file at path. On failure returns -1 and leaves one sentence for the reader in error:
// file, line, key and what to write instead.
int config_read(struct config *config, const char *path, char *error, size_t error_size);

// The interface with this GTP-U address of ours (network order), -1: it is none of ours.
int config_owner(const struct config *config, bool ip6, const upf_addr addr);

// The key of an F-TEID. IPv4: address and TEID. IPv6: own addresses are a /112 at most (config_read
// sees to it), so interface and 16 bits stand for the address; no IPv4 address begins with 0xf.
static inline uint64_t
gtpu_key4(uint32_t addr, uint32_t teid)
{
	return (uint64_t)addr << 32 | teid;
}

static inline uint64_t
gtpu_key6(enum upf_port port, const upf_addr addr, uint32_t teid)
{
	return (uint64_t)(0xf000u | (unsigned)port) << 48 | (uint64_t)addr[14] << 40 |
		(uint64_t)addr[15] << 32 | teid;
}

// False: the address is none of ours.
bool config_gtpu_key(
	const struct config *config, bool ip6, const upf_addr addr, uint32_t teid, uint64_t *key);

#endif
