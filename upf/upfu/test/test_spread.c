// What is asked of NICs, so that a UE's packets come in at its home. Debian's packages hold no headers for drivers, so
// the linker puts the __wrap_ functions in the place of DPDK's (--wrap), and they are NICs: each refuses what the
// drivers of its kind refuse, keeps the rules that it takes, and hashes packets as they say.
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_thash.h>

#include "link/spread.h"
#include "rig.h"
#include "rules/home.h"
#include "tests.h"

#define KEPT_MAX 16u
#define ITEMS 8u
#define ETHDEV 9

enum kind {
	MLX5,     // key, queues and level in the rule; no prefixes
	INTEL,    // iavf, ice: of the port
	CARELESS, // ixgbe, igb: looks at no pattern, and hashes all of the outer header
};

struct nic {
	const char *name;
	enum kind kind;
	bool no_tunnels;  // its firmware knows no GTP-U
	bool no_psc;      // nor what stands behind its header
	bool no_prefixes; // of IPv6 addresses
	bool no_rss;
	uint16_t table; // of queues
	uint8_t key;    // octets of it
	int key_answer, table_answer;
};

struct kept {
	enum rte_flow_item_type item[ITEMS];
	uint64_t types;
	uint8_t key[40];
	uint16_t queue[HOME_BUCKETS];
};

static const struct nic *nic;
static struct kept kept[KEPT_MAX];
static unsigned n_kept;
static uint8_t port_key[64];
static uint16_t port_table[2048];

static void
info(struct rte_eth_dev_info *of)
{
	of->reta_size = nic->table;
	of->hash_key_size = nic->key;
}

int __real_rte_eth_dev_conf_get(uint16_t ethdev, struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_conf_get(uint16_t ethdev, struct rte_eth_conf *conf);
int
__wrap_rte_eth_dev_conf_get(uint16_t ethdev, struct rte_eth_conf *conf)
{
	if (nic == NULL)
		return __real_rte_eth_dev_conf_get(ethdev, conf);
	memset(conf, 0, sizeof(*conf));
	conf->rxmode.mq_mode = nic->no_rss ? RTE_ETH_MQ_RX_NONE : RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	return 0;
}

int __wrap_rte_eth_dev_rss_hash_update(uint16_t ethdev, struct rte_eth_rss_conf *conf);
int
__wrap_rte_eth_dev_rss_hash_update(uint16_t ethdev, struct rte_eth_rss_conf *conf)
{
	assert_int_equal(ethdev, ETHDEV);
	assert_int_equal(n_kept, 0); // some drivers forget rules by it
	assert_int_equal(conf->rss_key_len, nic->key);
	assert_int_equal(conf->rss_hf, RTE_ETH_RSS_IPV4); // what it hashed goes on
	memcpy(port_key, conf->rss_key, conf->rss_key_len);
	return nic->key_answer;
}

int __wrap_rte_eth_dev_rss_reta_update(
	uint16_t ethdev, struct rte_eth_rss_reta_entry64 *table, uint16_t size);
int
__wrap_rte_eth_dev_rss_reta_update(
	uint16_t ethdev, struct rte_eth_rss_reta_entry64 *table, uint16_t size)
{
	assert_int_equal(ethdev, ETHDEV);
	assert_int_equal(size, nic->table);
	for (unsigned i = 0; i < size; i++) {
		assert_true((table[i / 64].mask >> i % 64 & 1) != 0);
		port_table[i] = table[i / 64].reta[i % 64];
	}
	return nic->table_answer;
}

static const char *
refuse(const struct rte_flow_item *pattern, const struct rte_flow_action_rss *rss)
{
	bool tunnel = false;

	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++) {
		tunnel |= pattern->type == RTE_FLOW_ITEM_TYPE_GTP ||
			pattern->type == RTE_FLOW_ITEM_TYPE_GTPU;
		if (nic->kind == CARELESS)
			continue;
		if (pattern->type ==
			(nic->kind == MLX5 ? RTE_FLOW_ITEM_TYPE_GTPU : RTE_FLOW_ITEM_TYPE_GTP))
			return "not a header that it knows";
		if (pattern->type == RTE_FLOW_ITEM_TYPE_GTP_PSC && nic->no_psc)
			return "no PSC";
	}
	switch (nic->kind) {
	case CARELESS:
		return rss->level != 0 ? "a level" : rss->queue_num == 0 ? "no queues" : NULL;
	case MLX5:
		if (rss->queue_num != HOME_BUCKETS || rss->key_len != 40)
			return "no queues";
		if (rss->level != (tunnel ? 2 : 1))
			return "no such level";
		break;
	case INTEL:
		if (rss->level != 0 || rss->key_len != 0 || rss->queue_num != 0 ||
			rss->queue != NULL)
			return "level, key or queues";
		break;
	}
	if (tunnel && nic->no_tunnels)
		return "no tunnels";
	if ((rss->types & RTE_ETH_RSS_L3_PRE64) != 0 && nic->no_prefixes)
		return "no prefixes";
	return NULL;
}

struct rte_flow *__wrap_rte_flow_create(uint16_t ethdev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct rte_flow_error *error);
struct rte_flow *
__wrap_rte_flow_create(uint16_t ethdev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct rte_flow_error *error)
{
	const struct rte_flow_action_rss *rss = actions[0].conf;
	struct kept *k = &kept[n_kept];

	assert_int_equal(ethdev, ETHDEV);
	assert_true(attr->ingress);
	assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_RSS);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	error->message = refuse(pattern, rss);
	if (error->message != NULL)
		return NULL;
	assert_in_range(n_kept, 0, KEPT_MAX - 1);
	memset(k, 0, sizeof(*k));
	for (unsigned i = 0; pattern[i].type != RTE_FLOW_ITEM_TYPE_END; i++)
		k->item[i] = pattern[i].type;
	k->types = rss->types;
	if (rss->key_len != 0)
		memcpy(k->key, rss->key, sizeof(k->key));
	if (rss->queue_num != 0)
		memcpy(k->queue, rss->queue, sizeof(k->queue));
	n_kept++;
	return (struct rte_flow *)k;
}

int __wrap_rte_flow_destroy(uint16_t ethdev, struct rte_flow *rule, struct rte_flow_error *error);
int
__wrap_rte_flow_destroy(uint16_t ethdev, struct rte_flow *rule, struct rte_flow_error *error)
{
	(void)error;
	assert_int_equal(ethdev, ETHDEV);
	assert_ptr_equal(rule, &kept[n_kept - 1]);
	n_kept--;
	return 0;
}

static enum upf_spread
ask(const struct nic *of, unsigned workers, enum spread_side side, bool outer6, char *refused,
	size_t size)
{
	enum upf_spread spread;

	nic = of;
	pretended_info = info;
	n_kept = 0;
	memset(port_key, 0xa5, sizeof(port_key));
	spread = spread_by_ue(ETHDEV, workers, side, outer6, refused, size);
	nic = NULL;
	pretended_info = NULL;
	return spread;
}

// ---- what a NIC does with a packet -------------------------------------------------------------

struct addresses { // host order: an IPv4 address is the first word
	uint32_t source[4], destination[4];
};

// The queue of a packet whose headers are these and no others, -1: no rule matches. Toeplitz over what the rule's
// types leave of its last IP header.
static int
queue_of_packet(
	const struct nic *of, const enum rte_flow_item_type *item, const struct addresses *a)
{
	for (unsigned i = 0; i < n_kept; i++) {
		const struct kept *k = &kept[i];
		bool ip6 = (k->types &
				   (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP |
					   RTE_ETH_RSS_NONFRAG_IPV6_TCP)) != 0;
		unsigned words = !ip6 ? 1 : (k->types & RTE_ETH_RSS_L3_PRE64) != 0 ? 2 : 4;
		uint32_t input[4];
		uint32_t hash;

		if (memcmp(k->item, item, ITEMS * sizeof(*item)) != 0)
			continue;
		assert_true((k->types & RTE_ETH_RSS_L3_SRC_ONLY) == 0 ||
			(k->types & RTE_ETH_RSS_L3_DST_ONLY) == 0);
		memcpy(input,
			(k->types & RTE_ETH_RSS_L3_SRC_ONLY) != 0 ? a->source : a->destination,
			sizeof(input));
		hash = rte_softrss(input, words, of->kind == MLX5 ? k->key : port_key);
		return of->kind == MLX5 ? k->queue[hash % HOME_BUCKETS]
					: port_table[hash % of->table];
	}
	return -1;
}

static void
headers(enum rte_flow_item_type *item, const struct nic *of, bool tunnel, bool outer6, bool psc,
	bool ip6, uint8_t l4)
{
	unsigned n = 0;

	memset(item, 0, ITEMS * sizeof(*item));
	item[n++] = RTE_FLOW_ITEM_TYPE_ETH;
	if (tunnel) {
		item[n++] = outer6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
		item[n++] = RTE_FLOW_ITEM_TYPE_UDP;
		item[n++] = of->kind == MLX5 ? RTE_FLOW_ITEM_TYPE_GTP : RTE_FLOW_ITEM_TYPE_GTPU;
		if (psc)
			item[n++] = RTE_FLOW_ITEM_TYPE_GTP_PSC;
	}
	item[n++] = ip6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
	// mlx5 takes those with any header behind; Intel's have their own rules where they are told of UDP and TCP.
	if (l4 != 0 && !tunnel && of->kind == INTEL)
		item[n++] = l4 == IPPROTO_UDP ? RTE_FLOW_ITEM_TYPE_UDP : RTE_FLOW_ITEM_TYPE_TCP;
}

static const struct nic e810 = {"E810", INTEL, .table = 64, .key = 52};
static const struct nic connectx = {"ConnectX", MLX5, .no_prefixes = true, .table = 8, .key = 40};

// Up and down, over IPv4 and IPv6, with and without the container: one queue, which is the worker that software sends
// the UE's packets to.
static void
both_directions_come_in_at_the_home(void **state)
{
	const struct {
		const struct nic *nic;
		enum upf_spread spread;
	} cases[] = {
		{&e810, UPF_SPREAD_UE},
		{&(const struct nic){"large", INTEL, .table = 2048, .key = 40}, UPF_SPREAD_UE},
		{&connectx, UPF_SPREAD_UE4},
		{&(const struct nic){"both", MLX5, .table = 8, .key = 40}, UPF_SPREAD_UE},
	};
	static const unsigned workers[] = {2, 3, 5, 16};
	uint32_t random = 7;
	char refused[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned k = 0; k < 4 * 2; k++) {
			enum spread_side side = k < 4 ? SPREAD_TUNNELS : SPREAD_NETWORK;
			unsigned n = workers[k % 4];
			bool seen[16] = {false};

			assert_int_equal(ask(cases[i].nic, n, side, true, refused, sizeof(refused)),
				cases[i].spread);
			assert_string_equal(refused,
				cases[i].spread == UPF_SPREAD_UE ? "" : "IPv6: no prefixes");
			for (unsigned p = 0; p < 400; p++) {
				bool ip6 = cases[i].spread == UPF_SPREAD_UE && p % 2 != 0;
				static const uint8_t l4[] = {0, IPPROTO_UDP, IPPROTO_TCP};
				enum rte_flow_item_type item[ITEMS];
				struct addresses a;
				uint32_t ue[4];
				unsigned bucket;

				for (unsigned w = 0; w < 4; w++) {
					random = random * 1664525 + 1013904223;
					ue[w] = random;
					a.source[w] = a.destination[w] = ~random;
				}
				memcpy(side == SPREAD_TUNNELS ? a.source : a.destination, ue,
					sizeof(ue));
				bucket = ip6 ? home_bucket6((uint64_t)ue[0] << 32 | ue[1])
					     : home_bucket4(rte_cpu_to_be_32(ue[0]));
				headers(item, cases[i].nic, side == SPREAD_TUNNELS, p % 4 > 1,
					p % 8 > 3, ip6, l4[p % 3]);
				assert_int_equal(queue_of_packet(cases[i].nic, item, &a),
					home_worker(bucket, n));
				seen[home_worker(bucket, n)] = true;
			}
			for (unsigned w = 0; w < n; w++)
				assert_true(seen[w]);
		}
	}
}

static void
what_a_nic_refuses_stays_as_it_was(void **state)
{
	static const struct {
		struct nic nic;
		enum spread_side side;
		unsigned workers;
		enum upf_spread spread;
		unsigned rules;
		const char *refused;
	} cases[] = {
		{{"without GTP-U", INTEL, .no_tunnels = true, .table = 64, .key = 52},
			SPREAD_TUNNELS, 2, UPF_SPREAD_OUTER, 0,
			"not a header that it knows; no tunnels"},
		{{"the same", INTEL, .no_tunnels = true, .table = 64, .key = 52}, SPREAD_NETWORK, 2,
			UPF_SPREAD_UE, 6, ""},
		{{"without PSC", INTEL, .no_psc = true, .table = 64, .key = 52}, SPREAD_TUNNELS, 2,
			UPF_SPREAD_OUTER, 0, "not a header that it knows; no PSC"},
		{{"with IPv4 alone", INTEL, .no_prefixes = true, .table = 64, .key = 52},
			SPREAD_TUNNELS, 2, UPF_SPREAD_UE4, 2, "IPv6: no prefixes"},
		{{"with a small table", INTEL, .table = 16, .key = 52}, SPREAD_NETWORK, 2,
			UPF_SPREAD_OUTER, 0,
			"level, key or queues; its table of queues has not 64 entries, or a larger "
			"power of two"},
		{{"with an odd table", INTEL, .table = 96, .key = 52}, SPREAD_NETWORK, 2,
			UPF_SPREAD_OUTER, 0,
			"level, key or queues; its table of queues has not 64 entries, or a larger "
			"power of two"},
		{{"without a key", INTEL, .table = 64}, SPREAD_NETWORK, 2, UPF_SPREAD_OUTER, 0,
			"level, key or queues; its key cannot be set"},
		{{"that keeps its key", INTEL, .table = 64, .key = 52, .key_answer = -ENOTSUP},
			SPREAD_TUNNELS, 2, UPF_SPREAD_OUTER, 0,
			"not a header that it knows; Operation not supported"},
		{{"that keeps its table", INTEL, .table = 64, .key = 52, .table_answer = -EPERM},
			SPREAD_NETWORK, 2, UPF_SPREAD_OUTER, 0,
			"level, key or queues; Operation not permitted"},
		{{"that looks at no pattern", CARELESS, .table = 128, .key = 40}, SPREAD_TUNNELS, 2,
			UPF_SPREAD_OUTER, 0, "a level; no queues"},
		{{"the same", CARELESS, .table = 128, .key = 40}, SPREAD_NETWORK, 2,
			UPF_SPREAD_OUTER, 0, "a level; no queues"},
		{{"without RSS", INTEL, .no_rss = true, .table = 64, .key = 52}, SPREAD_TUNNELS, 2,
			UPF_SPREAD_SOFTWARE, 0, ""},
		{{"for one worker", INTEL, .table = 64, .key = 52}, SPREAD_TUNNELS, 1,
			UPF_SPREAD_UNKNOWN, 0, ""},
		{{"with others' addresses", INTEL, .table = 64, .key = 52}, SPREAD_AS_IT_IS, 2,
			UPF_SPREAD_OUTER, 0, ""},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char refused[128];
		enum upf_spread spread = ask(&cases[i].nic, cases[i].workers, cases[i].side, false,
			refused, sizeof(refused));

		if (spread != cases[i].spread || n_kept != cases[i].rules ||
			strcmp(refused, cases[i].refused) != 0)
			fail_msg("a NIC %s (%u): %s, %u rules, refused \"%s\"", cases[i].nic.name,
				i, spread_name(spread), n_kept, refused);
	}
}

static void
a_side_follows_from_what_its_device_carries(void **state)
{
	struct config config = rig_config();
	struct config_interface *in = config.interface;

	(void)state;
	assert_int_equal(spread_side_of(&config, UPF_PORT_N6), SPREAD_AS_IT_IS); // the kernel's
	for (unsigned port = 0; port < config.ports; port++)
		in[port].driver = CONFIG_VFIO;
	assert_int_equal(spread_side_of(&config, UPF_PORT_N3), SPREAD_TUNNELS);
	assert_int_equal(spread_side_of(&config, UPF_PORT_N9), SPREAD_TUNNELS);
	assert_int_equal(spread_side_of(&config, UPF_PORT_N6), SPREAD_NETWORK);
	// A VLAN of the same device whose UEs are behind one address, or have none.
	config.ports = UPF_PORT_N6 + 2;
	in[UPF_PORT_N6 + 1] = in[UPF_PORT_N6];
	in[UPF_PORT_N6 + 1].device_of = UPF_PORT_N6;
	in[UPF_PORT_N6 + 1].nat.ports = 1024;
	assert_int_equal(spread_side_of(&config, UPF_PORT_N6), SPREAD_AS_IT_IS);
	in[UPF_PORT_N6 + 1].nat.ports = 0;
	in[UPF_PORT_N6 + 1].ethernet = true;
	assert_int_equal(spread_side_of(&config, UPF_PORT_N6), SPREAD_AS_IT_IS);
	in[UPF_PORT_N6 + 1].device_of = UPF_PORT_N6 + 1;
	assert_int_equal(spread_side_of(&config, UPF_PORT_N6), SPREAD_NETWORK);
}

int
test_spread(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_directions_come_in_at_the_home),
		cmocka_unit_test(what_a_nic_refuses_stays_as_it_was),
		cmocka_unit_test(a_side_follows_from_what_its_device_carries),
	};

	return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
