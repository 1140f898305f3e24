// upf-u.yaml: what is taken, and what is said of what is not.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
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
		      "limits: {sessions_max: 10, urr_slots: 7, buffer_packets: 9}\n" INTERFACES
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
	assert_int_equal(c.interface[UPF_PORT_N3].address, RIG_IP(172, 30, 3, 16));
	assert_int_equal(c.interface[UPF_PORT_N3].block_len, 28);
	assert_int_equal(c.interface[UPF_PORT_N3].prefix_len, 24);
	assert_int_equal(c.interface[UPF_PORT_N6].gateway, RIG_IP(172, 30, 6, 1));
	assert_int_equal(c.interface[UPF_PORT_N6].mtu, 1500);
	assert_int_equal(c.routes, 1);
	assert_int_equal(c.route[0].via, RIG_IP(172, 30, 6, 9));
	assert_true(c.ue_to_ue_allowed);
	assert_int_equal(c.sleep_max_us, 0);
	assert_int_equal(c.qer_burst_ms, 20);
	assert_int_equal(c.workers, 1);
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
		{INTERFACES "routes: [{interface: n6, prefix: 10.0.0.1/8, via: 172.30.6.9}]\n",
			"write 10.0.0.0/8"},
		{INTERFACES "routes: [{interface: n4, prefix: 10.0.0.0/8, via: 172.30.6.9}]\n",
			"must be n3 or n6"},
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
		{INTERFACES "workers: 1\nlcores: {control: 0, workers: [0]}\n",
			"give workers or lcores, not both"},
		{INTERFACES "workers: 64\n", "write workers: "},
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

int
test_config(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_whole_file),
		cmocka_unit_test(says_what_is_wrong_and_where),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
