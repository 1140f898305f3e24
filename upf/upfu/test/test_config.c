// upf-u.yaml: what is taken, and what is said of what is not.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/config.h"
#include "rig.h"
#include "tests.h"

#define INTERFACES \
	"interfaces:\n" \
	"  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n" \
	"  n6: {device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}\n"

static int
read_text(const char *text, struct config *config, char *error, size_t error_size)
{
	char path[] = "/tmp/upfu-config-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	rc = config_read(config, path, error, error_size);
	unlink(path);
	return rc;
}

static void
takes_a_whole_file(void **state)
{
	struct config c;
	char error[512];

	(void)state;
	if (read_text("memory: 64\nhugepages: false\nsocket: /run/x.sock\n"
		      "limits: {sessions_max: 10, urr_slots: 7, buffer_packets: 9, "
		      "buffer_duration_s: 30}\n" INTERFACES
		      "routes:\n  - {interface: n6, prefix: 10.0.0.0/8, via: 172.30.6.9}\n"
		      "ue_to_ue: allow\nsleep: {max_us: 0}\nqer: {burst_ms: 20}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(c.memory_mib, 64);
	assert_false(c.hugepages);
	assert_string_equal(c.socket, "/run/x.sock");
	assert_int_equal(c.limits.sessions_max, 10);
	assert_int_equal(c.limits.urr_slots, 7);
	assert_int_equal(c.limits.qer_slots, 20);
	// As much as the packets may have.
	assert_int_equal(c.limits.buffer_duration_s, 30);
	assert_int_equal(c.limits.buffer_bytes, 9 * 2048);
	assert_int_equal(c.limits.buffer_bytes_per_session, 128 * 2048);
	assert_int_equal(c.interface[UPF_PORT_N3].address, RIG_IP(172, 30, 3, 16));
	assert_int_equal(c.interface[UPF_PORT_N3].block_len, 28);
	assert_int_equal(c.interface[UPF_PORT_N3].prefix_len, 24);
	assert_int_equal(c.interface[UPF_PORT_N6].gateway[0], RIG_IP(172, 30, 6, 1));
	assert_int_equal(c.interface[UPF_PORT_N6].mtu, 1500);
	assert_int_equal(c.routes, 1);
	assert_int_equal(c.route[0].via, RIG_IP(172, 30, 6, 9));
	assert_true(c.ue_to_ue_allowed);
	assert_int_equal(c.sleep_max_us, 0);
	assert_int_equal(c.qer.burst_ms, 20);
	assert_int_equal(c.qer.queue_ms, 150);
	assert_int_equal(c.qer.queue_packets, 16384 / 8);
	assert_int_equal(c.workers, 1);
}

static void
bounds_buffers_in_octets(void **state)
{
	struct config c;
	char error[512];

	(void)state;
	if (read_text(INTERFACES "limits: {buffer_bytes: 5000000000, "
				 "buffer_bytes_per_session: 1500}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(c.limits.buffer_duration_s, 60);
	assert_int_equal(c.limits.buffer_bytes, UINT64_C(5000000000));
	assert_int_equal(c.limits.buffer_bytes_per_session, 1500);
	// Nothing said, long packets, and a product of more than 32 bits.
	if (read_text("interfaces:\n"
		      "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		      "  n6: {device: n6, address: 172.30.6.2/24, mtu: 9600}\n"
		      "limits: {mbufs: 2097152, buffer_packets: 1048576}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(c.limits.buffer_bytes, UINT64_C(1048576) * 10240);
	assert_int_equal(c.limits.buffer_bytes_per_session, 128 * 10240);
}

// The text of n workers, all on one of the CPUs that there are.
static const char *
workers_text(char *text, size_t size, unsigned n, const char *limits)
{
	int cpu = sched_getcpu();
	size_t length = (size_t)snprintf(text, size,
		INTERFACES "limits: {%s}\nlcores: {control: %d, workers: [%d", limits, cpu, cpu);

	for (unsigned i = 1; i < n; i++)
		length += (size_t)snprintf(text + length, size - length, ", %d", cpu);
	snprintf(text + length, size - length, "]}\n");
	return text;
}

static void
workers_share_the_packet_buffers(void **state)
{
	static const struct {
		unsigned workers;
		const char *limits;
		uint32_t want;    // packets that may wait, a worker
		const char *said; // NULL: it is taken
	} cases[] = {
		{1, "sessions_max: 9", 4096, NULL},
		{2, "sessions_max: 9", 4096, NULL},
		{3, "sessions_max: 9", 2730, NULL},
		{16, "sessions_max: 9", 512, NULL},
		{64, "mbufs: 2048", 16, NULL},
		{4, "mbufs: 32768", 4096, NULL},
		{4, "buffer_packets: 2048", 2048, NULL},
		{4, "buffer_packets: 2049", 0,
			"buffer_packets 2049 for each of 4 worker(s) is over half of mbufs 16384; "
			"raise mbufs to 16392, or write buffer_packets: 2048"},
		{4, "mbufs: 16392, buffer_packets: 2049", 2049, NULL},
	};
	static char text[2048];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config c;
		char error[512] = "";
		int rc = read_text(
			workers_text(text, sizeof(text), cases[i].workers, cases[i].limits), &c,
			error, sizeof(error));

		if (rc != (cases[i].said == NULL ? 0 : -1) ||
			(cases[i].said != NULL && strstr(error, cases[i].said) == NULL))
			fail_msg("case %u: %d, \"%s\"", i, rc, error);
		if (rc == 0) {
			assert_int_equal(c.limits.buffer_packets, cases[i].want);
			assert_int_equal(c.limits.buffer_bytes, (uint64_t)cases[i].want * 2048);
		}
	}
}

static void
takes_devices_of_a_device_plugin(void **state)
{
	struct config c;
	char error[512];

	(void)state;
	setenv("PCIDEVICE_CORE5G_DEV_VF_SOCKET1", "0000:81:10.0,0000:81:10.2", 1);
	if (read_text("interfaces:\n"
		      "  n3: {driver: vfio, resource: 'core5g.dev/vf_socket{cell}', addresses: "
		      "172.30.3.16/28, prefix_length: 24}\n"
		      "  n6: {driver: vfio, resource: 'core5g.dev/vf_socket{cell}', address: "
		      "172.30.6.2/24}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	unsetenv("PCIDEVICE_CORE5G_DEV_VF_SOCKET1");
	assert_string_equal(c.interface[UPF_PORT_N3].device, "0000:81:10.0");
	assert_string_equal(c.interface[UPF_PORT_N6].device, "0000:81:10.2");
}

static void
takes_ipv6_vlans_and_a_third_interface(void **state)
{
	static const upf_addr last = {0xfd, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2f};
	static const upf_addr beyond = {0xfd, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x30};
	static const upf_addr n3 = {172, 30, 3, 31};
	struct config c;
	char error[512];
	uint64_t key;

	(void)state;
	if (read_text(
		    "interfaces:\n"
		    "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24, vlan: 30,"
		    " dscp: 46}\n"
		    "  n6: {device: n6, address6: 'fd00:6::2/64', gateway6: 'fe80::1'}\n"
		    "  n9: {device: n9, addresses6: 'fd00:9::20/124', prefix_length6: 64}\n"
		    "routes:\n"
		    "  - {interface: n6, prefix: '2001:db8::/32', via: 'fd00:6::9'}\n"
		    "mss_clamp: true\nredundancy: true\nudp6_zero_checksum: false\nfragmentation: "
		    "outer\n"
		    "reassembly: {packets: 7, timeout_ms: 50}\nbuffer_full: drop_oldest\n"
		    "router_advertisement: {managed: true, other: true, lifetime_s: 9, mtu: 1400}\n"
		    "limits: {icmp_errors: 5, detected: 2048}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(c.networks, 1);
	assert_true(c.interface[UPF_PORT_N9].present);
	assert_int_equal(c.interface[UPF_PORT_N3].vlan, 30);
	assert_int_equal(c.interface[UPF_PORT_N3].dscp, 46);
	assert_int_equal(c.interface[UPF_PORT_N3].block_len6, 0);
	assert_int_equal(c.interface[UPF_PORT_N6].block_len, 0);
	assert_int_equal(c.interface[UPF_PORT_N6].block_len6, 128);
	assert_int_equal(c.interface[UPF_PORT_N6].prefix_len6, 64);
	assert_int_equal(c.interface[UPF_PORT_N9].block_len6, 124);
	assert_true(c.route[0].ip6);
	assert_true(c.mss_clamp);
	assert_true(c.redundancy);
	assert_false(c.udp6_zero_checksum);
	assert_int_equal(c.fragmentation, CONFIG_FRAGMENT_OUTER);
	assert_int_equal(c.reassembly.packets, 7);
	assert_true(c.buffer_drop_oldest);
	assert_true(c.ra.managed && c.ra.other);
	assert_int_equal(c.ra.lifetime_s, 9);
	assert_int_equal(c.ra.mtu, 1400);
	assert_int_equal(c.limits.icmp_errors, 5);
	assert_int_equal(c.limits.detected, 2048);
	// Whose address is it, and no two F-TEIDs share a key.
	assert_int_equal(config_owner(&c, true, last), UPF_PORT_N9);
	assert_int_equal(config_owner(&c, true, beyond), -1);
	assert_int_equal(config_owner(&c, false, n3), UPF_PORT_N3);
	assert_int_equal(config_owner(&c, false, last), -1);
	assert_true(config_gtpu_key(&c, true, last, 7, &key));
	assert_int_equal(key, UINT64_C(0xf001002f00000007));
	assert_true(config_gtpu_key(&c, false, n3, 7, &key));
	assert_int_equal(key, UINT64_C(0xac1e031f00000007));
	assert_false(config_gtpu_key(&c, true, beyond, 7, &key));
}

#define N3 "interfaces:\n  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"

// Each a world of its own: addresses may be the same.
static void
takes_several_network_instances(void **state)
{
	const struct config_interface *n6;
	struct config c;
	char error[512];

	(void)state;
	if (read_text(N3
		    "  n6:\n"
		    "    - {device: n6, address: 10.1.0.2/24, gateway: 10.1.0.1, vlan: 100, mtu: "
		    "9000, network_instance: internet}\n"
		    "    - {address: 10.1.0.2/24, gateway: 10.1.0.1, vlan: 200, "
		    "network_instance: ims}\n"
		    "    - {device: other, address: 10.1.0.2/24}\n"
		    "    - {device: other, address6: 'fd00::2/64', vlan: 7, mtu: 1400, "
		    "network_instance: a.b}\n"
		    "routes:\n"
		    "  - {interface: n6, network_instance: ims, prefix: 10.0.0.0/8, via: "
		    "10.1.0.9}\n"
		    "  - {interface: n6, prefix: 10.0.0.0/8, via: 10.1.0.9}\n"
		    "  - {interface: n3, prefix: 10.0.0.0/8, via: 172.30.3.1}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(c.networks, 4);
	assert_int_equal(c.ports, UPF_PORT_N6 + 4);
	assert_false(c.interface[UPF_PORT_N9].present);
	n6 = &c.interface[UPF_PORT_N6];
	assert_string_equal(n6[0].network, "internet");
	assert_string_equal(n6[1].network, "ims");
	assert_string_equal(n6[2].network, "");
	assert_string_equal(n6[1].device, "n6");
	assert_int_equal(n6[1].mtu, 9000);
	assert_int_equal(n6[1].vlan, 200);
	assert_int_equal(n6[0].device_of, UPF_PORT_N6);
	assert_int_equal(n6[1].device_of, UPF_PORT_N6);
	assert_int_equal(n6[2].device_of, UPF_PORT_N6 + 2);
	assert_int_equal(n6[3].device_of, UPF_PORT_N6 + 2);
	assert_int_equal(config_device_mtu(&c, config_port_of(0)), 9000);
	assert_int_equal(config_device_mtu(&c, config_port_of(2)), 1500);
	assert_int_equal(c.route[0].port, UPF_PORT_N6 + 1);
	assert_int_equal(c.route[1].port, UPF_PORT_N6 + 2);
	assert_int_equal(c.route[2].port, UPF_PORT_N3);
}

static void
says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"", ":1: the file is empty"},
		{"memory: [", "not YAML"},
		{INTERFACES "memroy: 64\n",
			":4: upf-u: unknown key \"memroy\"; known here are: workers"},
		{INTERFACES "memory: lots\n", ":4: memory: must be a whole number from 32"},
		{INTERFACES "memory: 64\nmemory: 64\n", ":5: upf-u: key \"memory\" is given twice"},
		{INTERFACES "hugepages: perhaps\n", ":4: hugepages: must be true or false"},
		{INTERFACES "ue_to_ue: no\n", ":4: ue_to_ue: must be deny or allow"},
		{INTERFACES "limits: {sessions_max: 0}\n",
			":4: sessions_max: must be a whole number"},
		{INTERFACES "limits: {mbufs: 4096, buffer_packets: 4096}\n", "raise mbufs"},
		{INTERFACES "limits: {buffer_bytes: 0}\n",
			":4: buffer_bytes: must be a whole number of octets from 1 to "
			"1099511627776"},
		{INTERFACES "limits: {buffer_bytes_per_session: 2MiB}\n",
			":4: buffer_bytes_per_session: must be a whole number of octets"},
		{INTERFACES "limits: {buffer_bytes: 1099511627777}\n", "from 1 to 1099511627776"},
		{INTERFACES "limits: {buffer_duration_s: 0}\n",
			":4: buffer_duration_s: must be a whole number from 1 to 86400"},
		{INTERFACES "limits: {buffer_bytes: 1499}\n",
			"limits: buffer_bytes 1499 is less than one packet of the largest mtu; "
			"write 1500 at least"},
		{INTERFACES "limits: {buffer_bytes_per_session: 1499}\n",
			"limits: buffer_bytes_per_session 1499 is less than"},
		{INTERFACES "routes: [{interface: n6, prefix: 10.0.0.1/8, via: 172.30.6.9}]\n",
			"write 10.0.0.0/8"},
		{INTERFACES "routes: [{interface: n4, prefix: 10.0.0.0/8, via: 172.30.6.9}]\n",
			"must be n3, n6 or n9"},
		{"interfaces:\n  n3: {addresses: 172.30.3.16/28, prefix_length: 24}\n",
			"n3: give either device, or the resource of a device plugin"},
		{"interfaces:\n  n3: {device: n3, resource: a/b, driver: vfio, addresses: "
		 "172.30.3.16/28, prefix_length: 24}\n",
			"n3: give either device, or the resource of a device plugin"},
		{"interfaces:\n  n3: {resource: a/b, addresses: 172.30.3.16/28, "
		 "prefix_length: 24}\n",
			"n3: resource needs \"driver: vfio\""},
		{"interfaces:\n"
		 "  n3: {driver: vfio, resource: a/none, addresses: 172.30.3.16/28, "
		 "prefix_length: 24}\n"
		 "  n6: {driver: vfio, resource: a/none, address: 172.30.6.2/24}\n",
			"the environment names 0 device(s) of resource a/none, and 1 are needed"},
		{"interfaces:\n  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: interfaces: key \"n3\" is missing; write for example \"n3: {device: "
			"n3"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.17/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: addresses: 172.30.3.17/28 has bits beyond its prefix; write "
			"172.30.3.16/28"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.0.0/16, prefix_length: 24}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: n3: addresses /16 is wider than the subnet's prefix_length 24"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: "
		 "1.2.3.4}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			"gateway must be an address of the interface's own subnet"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address: here}\n",
			":3: address: must be an IPv4 prefix such as 172.30.6.2/24"},
		{"interfaces:\n"
		 "  n3: {device: n3, prefix_length: 24}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: n3: key \"addresses\" is missing; write for example \"addresses: "
			"172.30.3.16/28\""},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: n3: key \"prefix_length\" is missing"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses6: 'fd00:3::11/124', prefix_length6: 64}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: addresses6: fd00:3::11/124 has bits beyond its prefix; write "
			"fd00:3::10/124"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses6: 'fd00:3::/64', prefix_length6: 64}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: n3: addresses6: a block of own addresses is /112 at most"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses6: 'fe80::10/124', prefix_length6: 64}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			"must be global or unique local"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address6: 'fd00:6::2/64', gateway6: 'fd00:7::1'}\n",
			":3: n6: gateway6 must be a link-local address or one of"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, "
		    "172.30.7.1]}\n",
			":3: n6: gateway must be an address of the interface's own subnet"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, "
		    "172.30.6.1]}\n",
			":3: n6: gateway has one address twice; keep one of them"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, "
		    "172.30.6.2]}\n",
			":3: n6: gateway must not be one of the UPF's own addresses"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, 172.30.6.3, "
		    "172.30.6.4]}\n",
			":3: gateway: must be one address, or a list of two"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: []}\n",
			":3: gateway: must be one address, or a list of two"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, "
		    "'fd00::1']}\n",
			":3: gateway: must be an IPv4 address"},
		{N3 "  n6: {device: n6, address: 172.30.6.2/24, gateway: [0.0.0.0, 172.30.6.1]}\n",
			":3: gateway: must be addresses of routers"},
		{N3 "  n6: {device: n6, address6: 'fd00:6::2/64', gateway6: ['fe80::1', "
		    "'fe80::1']}\n",
			":3: n6: gateway6 has one address twice; keep one of them"},
		{N3 "  n6: {device: n6, address6: 'fd00:6::2/64', gateway6: ['fe80::1', "
		    "'fd00:7::1']}\n",
			":3: n6: gateway6 must be a link-local address or one of"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address6: 'fd00:6::2/64', mtu: 1000}\n",
			":3: n6: IPv6 wants an mtu of 1280 at least"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24, vlan: 4095}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24}\n",
			":2: vlan: must be a whole number from 1 to 4094"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address: 172.30.6.2/24, mtu: 9601}\n",
			":3: mtu: must be a whole number from 576 to 9600"},
		{INTERFACES "  n9: {device: n9, addresses: 172.30.3.0/24, prefix_length: 24}\n",
			"n3 and n9 have own addresses in common"},
		{INTERFACES "  n9: {device: n3, addresses: 172.30.9.0/28, prefix_length: 24}\n",
			":2: interfaces: n3 and n9 both have device n3; give each one of its own"},
		{INTERFACES "  n9: {device: n9, addresses: 172.30.3.64/28, prefix_length: 24}\n",
			"interfaces: n3 and n9 are in one subnet; give each a subnet of its own"},
		{INTERFACES "  n9: {device: n9, addresses: 172.30.6.0/28, prefix_length: 28}\n",
			"interfaces: n9 and n6 have own addresses in common"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		 "  n6: {device: n6, address: 172.30.3.2/16}\n",
			"interfaces: n3 and n6 are in one subnet"},
		{"interfaces:\n"
		 "  n3: {driver: vfio, device: '0000:81:10.0', addresses: 172.30.3.16/28, "
		 "prefix_length: 24}\n"
		 "  n6: {driver: vfio, device: '0000:81:10.0', address: 172.30.6.2/24}\n",
			"interfaces: n3 and n6 both have device 0000:81:10.0"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses6: 'fd00:3::10/124', prefix_length6: 64}\n"
		 "  n6: {device: n6, address6: 'fd00:3::12/64'}\n",
			"n3 and n6 have own IPv6 addresses in common"},
		{"interfaces:\n"
		 "  n3: {device: n3, addresses6: 'fd00:3::10/124', prefix_length6: 64}\n"
		 "  n6: {device: n6, address6: 'fd00:3::2/64'}\n",
			"n3 and n6 are in one IPv6 subnet"},
		{INTERFACES "routes: [{interface: n6, prefix: 10.0.0.0/8, via: 'fd00::1'}]\n",
			":4: routes: prefix and via must be of one family; write an IPv4 address"},
		{INTERFACES "routes: [{interface: n6, prefix: '2001:db8::/32', via: 'fd00::1'}]\n",
			":4: routes: the interface has no IPv6 address"},
		{INTERFACES "routes: [{interface: n6, prefix: 10.0.0.0/8, via: 10.1.1.1}]\n",
			":4: routes: via must be a neighbour"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {}}\n",
			":3: nat44: key \"addresses\" is missing; write for example \"addresses: "
			"[203.0.113.0/28]\""},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: []}}\n",
			":3: addresses: at least one prefix, such as [203.0.113.0/28]"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: 203.0.113.1}}\n",
			":3: addresses: must be a list of IPv4 prefixes such as [203.0.113.0/28]"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: "
		    "[203.0.113.1/28]}}\n",
			":3: addresses: 203.0.113.1/28 has bits beyond its prefix; write "
			"203.0.113.0/28"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [203.0.0.0/15]}}\n",
			":3: addresses: 203.0.0.0/15 is none of a /16 to a /32 of unicast"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [224.0.0.0/28]}}\n",
			":3: addresses: 224.0.0.0/28 is none of a /16 to a /32 of unicast"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [203.0.113.0/28, "
		    "203.0.113.8/32]}}\n",
			":3: addresses: 203.0.113.8/32 overlaps another one of the list"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [203.0.113.0/28], "
		    "ports: 1000}}\n",
			":3: nat44: ports 1000 is no power of two; write for example 1024"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [203.0.113.0/28], "
		    "udp_s: 119}}\n",
			":3: udp_s: must be a whole number from 120 to 86400"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, nat44: {addresses: [10.1.0.64/28]}}\n",
			":3: n6: nat44 has addresses of the interface's own subnet; write others"},
		{N3 "  n6: {device: a, address6: 'fd00:6::2/64', nat44: {addresses: "
		    "[203.0.113.0/28]}}\n",
			":3: n6: nat44 wants an IPv4 address"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24, nat44: {addresses: "
		    "[203.0.113.0/28]}}\n"
		    "    - {device: b, address: 10.1.0.2/24, network_instance: x, nat44: "
		    "{addresses: "
		    "[203.0.113.8/30]}}\n",
			"interfaces: nat44 of two network instances has addresses in common"},
		{INTERFACES
			"  n9: {device: n9, addresses: 172.30.9.0/28, prefix_length: 24, nat44: "
			"{}}\n",
			"n9: unknown key \"nat44\""},
		{N3 "  n6: []\n", ":3: n6: must have one interface at least"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24, network_instance: x}\n"
		    "    - {device: b, address: 10.1.0.2/24, network_instance: x}\n",
			"interfaces: n6 has network_instance x twice; keep one"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24}\n"
		    "    - {device: b, address: 10.1.0.2/24}\n",
			"interfaces: n6 has two entries without network_instance; name all but "
			"one"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24, vlan: 3}\n"
		    "    - {address: 10.1.0.2/24, network_instance: x, vlan: 3}\n",
			"interfaces: n6 has device a twice in the same VLAN"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24}\n"
		    "    - {device: a, driver: tap, address: 10.1.0.2/24, network_instance: x, "
		    "vlan: 3}\n",
			"interfaces: n6 has device a with two drivers"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24}\n"
		    "    - {driver: tap, address: 10.1.0.2/24, network_instance: x, vlan: 3}\n",
			":5: n6: driver belongs to a device; leave it out"},
		{N3 "  n6:\n    - {address: 10.1.0.2/24}\n",
			":4: n6: give either device, or the resource of a device plugin; write for "
			"example"},
		{N3 "  n6:\n    - {device: n3, address: 10.1.0.2/24}\n",
			"interfaces: n3 and n6 both have device n3"},
		{N3 "  n6: {device: a, address: 10.1.0.2/24, network_instance: 'a b'}\n",
			":3: network_instance: must be a name of 1 to 103 letters"},
		{N3 "  n6:\n    - {device: a, address: 10.1.0.2/24, network_instance: x}\n"
		    "    - {device: b, address: 10.1.0.2/24, network_instance: y}\n"
		    "routes: [{interface: n6, prefix: 10.0.0.0/8, via: 10.1.0.9}]\n",
			":6: routes: key \"network_instance\" is missing"},
		{INTERFACES
			"routes: [{interface: n6, network_instance: x, prefix: 10.0.0.0/8, via: "
			"172.30.6.9}]\n",
			":4: routes: no n6 has network_instance x"},
		{INTERFACES
			"routes: [{interface: n3, network_instance: x, prefix: 10.0.0.0/8, via: "
			"172.30.3.1}]\n",
			":4: routes: network_instance goes with \"interface: n6\" alone"},
		{INTERFACES "fragmentation: both\n", ":4: fragmentation: must be inner or outer"},
		{INTERFACES "buffer_full: drop\n",
			":4: buffer_full: must be drop_newest or drop_oldest"},
		{INTERFACES "reassembly: {timeout_ms: 1}\n",
			":4: timeout_ms: must be a whole number from 10"},
		{INTERFACES "router_advertisement: {mtu: 500}\n",
			":4: mtu: must be a whole number from 1280"},
		{INTERFACES "workers: 1\nlcores: {control: 0, workers: [0]}\n",
			"give workers or lcores, not both"},
		{INTERFACES "workers: 64\n", "write workers: "},
		{INTERFACES "qer: {queue_ms: 2000}\n",
			":4: queue_ms: must be a whole number from 0 to 1000"},
		{INTERFACES "qer: {queue_packets: 9000}\n",
			"qer: queue_packets 9000 of 1 worker(s) are over a quarter of mbufs 16384; "
			"raise mbufs or write 4097 at most"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config c;
		char error[512] = "";

		assert_int_equal(read_text(cases[i].text, &c, error, sizeof(error)), -1);
		if (strstr(error, cases[i].said) == NULL)
			fail_msg("case %u: \"%s\" does not say \"%s\"", i, error, cases[i].said);
	}
}

static void
takes_two_gateways_of_each_ip_version(void **state)
{
	struct config c;
	char error[512] = "";

	(void)state;
	assert_int_equal(
		read_text("interfaces:\n"
			  "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24, "
			  "gateway: [172.30.3.1, 172.30.3.2]}\n"
			  "  n6: {device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1], "
			  "address6: 'fd00:6::2/64', gateway6: ['fe80::1', 'fd00:6::1']}\n",
			&c, error, sizeof(error)),
		0);
	assert_int_equal(c.interface[UPF_PORT_N3].gateway[0], RIG_IP(172, 30, 3, 1));
	assert_int_equal(c.interface[UPF_PORT_N3].gateway[1], RIG_IP(172, 30, 3, 2));
	assert_int_equal(c.interface[UPF_PORT_N6].gateway[0], RIG_IP(172, 30, 6, 1));
	assert_int_equal(c.interface[UPF_PORT_N6].gateway[1], 0);
	assert_int_equal(c.interface[UPF_PORT_N6].gateway6[0][0], 0xfe);
	assert_int_equal(c.interface[UPF_PORT_N6].gateway6[1][0], 0xfd);
}

static void
takes_nat44_of_a_network_instance(void **state)
{
	const struct config_interface *n6;
	struct config c;
	char error[512];

	(void)state;
	if (read_text(N3
		    "  n6:\n"
		    "    - {device: n6, address: 10.1.0.2/24, nat44: {addresses: [203.0.113.0/28, "
		    "198.51.100.7/32]}}\n"
		    "    - {device: b, address: 10.1.0.2/24, network_instance: ims, nat44: "
		    "{addresses: [192.0.2.0/24], ports: 256, mappings: 4096, tcp_established_s: "
		    "86400, tcp_transitory_s: 241, udp_s: 120, icmp_s: 61}}\n"
		    "    - {device: c, address: 10.1.0.2/24, network_instance: x}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	n6 = &c.interface[UPF_PORT_N6];
	assert_int_equal(n6[0].nat.prefixes, 2);
	assert_int_equal(n6[0].nat.ports, 1024);
	assert_int_equal(n6[0].nat.mappings, 262144);
	// RFC 5382 REQ-5, RFC 4787 REQ-5, RFC 5508 REQ-2.
	assert_int_equal(n6[0].nat.tcp_established_s, 7440);
	assert_int_equal(n6[0].nat.tcp_transitory_s, 240);
	assert_int_equal(n6[0].nat.udp_s, 300);
	assert_int_equal(n6[0].nat.icmp_s, 60);
	assert_true(config_nat_owns(&n6[0].nat, RIG_IP(203, 0, 113, 15)));
	assert_true(config_nat_owns(&n6[0].nat, RIG_IP(198, 51, 100, 7)));
	assert_false(config_nat_owns(&n6[0].nat, RIG_IP(203, 0, 113, 16)));
	assert_false(config_nat_owns(&n6[0].nat, RIG_IP(198, 51, 100, 6)));
	assert_int_equal(n6[1].nat.ports, 256);
	assert_int_equal(n6[1].nat.mappings, 4096);
	assert_int_equal(n6[1].nat.tcp_established_s, 86400);
	assert_int_equal(n6[1].nat.tcp_transitory_s, 241);
	assert_int_equal(n6[1].nat.udp_s, 120);
	assert_int_equal(n6[1].nat.icmp_s, 61);
	assert_int_equal(n6[2].nat.ports, 0);
	assert_false(config_nat_owns(&n6[2].nat, 0));
}

// A bridge: without a place in the IP world, and with bounds of its own.
static void
takes_ethernet_network_instances(void **state)
{
	struct config c;
	char error[512];

	(void)state;
	if (read_text(
		    "memory: 64\ninterfaces:\n"
		    "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
		    "  n6:\n"
		    "    - {device: n6, address: 172.30.6.2/24}\n"
		    "    - {device: lan, network_instance: lan, ethernet: {}}\n"
		    "    - {network_instance: plant, vlan: 7, mtu: 9000, ethernet: {stations: 100, "
		    "stations_per_session: 3, ageing_s: 60, copies: 5}}\n",
		    &c, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_false(c.interface[UPF_PORT_N6].ethernet);
	assert_true(c.interface[config_port_of(1)].ethernet);
	assert_int_equal(c.interface[config_port_of(1)].bridge.stations, 8192);
	assert_int_equal(c.interface[config_port_of(1)].bridge.copies, 256);
	assert_int_equal(c.interface[config_port_of(2)].bridge.stations, 100);
	assert_int_equal(c.interface[config_port_of(2)].bridge.stations_per_session, 3);
	assert_int_equal(c.interface[config_port_of(2)].bridge.ageing_s, 60);
	assert_int_equal(c.interface[config_port_of(2)].bridge.copies, 5);
	assert_int_equal(c.interface[config_port_of(2)].device_of, config_port_of(1));
}

static void
refuses_addresses_of_a_bridge(void **state)
{
	static const char *const extra[] = {"address: 172.30.6.2/24", "address6: fd00:6::2/64",
		"gateway: 172.30.6.1", "gateway6: fe80::1", "dscp: 46",
		"nat44: {addresses: [203.0.113.0/28]}"};

	(void)state;
	for (unsigned i = 0; i < sizeof(extra) / sizeof(extra[0]); i++) {
		char text[512], error[512];
		struct config c;

		snprintf(text, sizeof(text),
			"memory: 64\ninterfaces:\n"
			"  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
			"  n6: {device: n6, ethernet: {}, %s}\n",
			extra[i]);
		assert_int_equal(read_text(text, &c, error, sizeof(error)), -1);
		assert_non_null(strstr(error, "an Ethernet network instance has no address"));
	}
}

int
test_config(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_ethernet_network_instances),
		cmocka_unit_test(refuses_addresses_of_a_bridge),
		cmocka_unit_test(takes_a_whole_file),
		cmocka_unit_test(bounds_buffers_in_octets),
		cmocka_unit_test(workers_share_the_packet_buffers),
		cmocka_unit_test(takes_devices_of_a_device_plugin),
		cmocka_unit_test(takes_ipv6_vlans_and_a_third_interface),
		cmocka_unit_test(takes_several_network_instances),
		cmocka_unit_test(takes_two_gateways_of_each_ip_version),
		cmocka_unit_test(takes_nat44_of_a_network_instance),
		cmocka_unit_test(says_what_is_wrong_and_where),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
