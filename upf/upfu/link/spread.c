// Drivers want a rule for the same hash in one of two ways (DPDK's guides of mlx5, ice and iavf, and what they check):
// mlx5 has key and queues in the rule, and the level of the header; Intel's have one key and one table of queues for the
// port, refuse rules that name them, and take the level from the pattern's last header.
#include "link/spread.h"

#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "packet/gtpu_header.h"
#include "rules/home.h"

#define KEY_MAX 64u
#define KEY_IN_RULE 40u // octets; mlx5 takes no other length
#define TABLE_MAX 2048u
#define RULES_MAX 12u
#define ITEMS_MAX 7u

static const uint8_t key_octets[] = {HOME_KEY_3};

// A rule of a pattern: the headers of a frame, and what of the last of them, or of the one before it, is hashed.
struct wish {
	bool ip6;         // of the address that is hashed
	bool optional;    // a NIC without it does well enough
	bool outer6, psc; // of tunnels
	uint8_t l4;       // of a network: IPPROTO_UDP, IPPROTO_TCP, 0: any
};

enum way {
	IN_RULE, // key, queues and level stand in the rule
	OF_PORT, // in the port, which must be told before
	WAYS,
};

struct made {
	struct rte_flow *rule[RULES_MAX];
	unsigned n;
};

const char *
spread_name(enum upf_spread spread)
{
	static const char *const names[] = {
		[UPF_SPREAD_UNKNOWN] = "",
		[UPF_SPREAD_SOFTWARE] = "software",
		[UPF_SPREAD_OUTER] = "outer",
		[UPF_SPREAD_UE4] = "ue_ipv4",
		[UPF_SPREAD_UE] = "ue",
	};

	return names[spread];
}

enum spread_side
spread_side_of(const struct config *config, enum upf_port device)
{
	if (config->interface[device].driver != CONFIG_VFIO)
		return SPREAD_AS_IT_IS;
	if (device < UPF_PORT_N6)
		return SPREAD_TUNNELS;
	for (enum upf_port port = UPF_PORT_N6; port < config->ports; port++) {
		const struct config_interface *in = &config->interface[port];

		if (in->present && in->device_of == device && (in->ethernet || in->nat.ports != 0))
			return SPREAD_AS_IT_IS;
	}
	return SPREAD_NETWORK;
}

// ---- rules -------------------------------------------------------------------------------------

// What must be had stands first: packets of 5G have the PDU Session Container (TS 38.415), and IPv4 counts
// where a session has both.
static unsigned
wishes_of(enum spread_side side, enum way way, bool outer6, struct wish *wish)
{
	unsigned n = 0;

	for (unsigned ip6 = 0; ip6 < 2; ip6++) {
		if (side == SPREAD_NETWORK) {
			wish[n++] = (struct wish){.ip6 = ip6 != 0};
			// Those of UDP and TCP have a hash of their own from the port's start.
			if (way == OF_PORT) {
				wish[n++] = (struct wish){.ip6 = ip6 != 0, .l4 = IPPROTO_UDP};
				wish[n++] = (struct wish){.ip6 = ip6 != 0, .l4 = IPPROTO_TCP};
			}
			continue;
		}
		for (unsigned outer = 0; outer <= (outer6 ? 1u : 0u); outer++) {
			wish[n++] =
				(struct wish){.ip6 = ip6 != 0, .outer6 = outer != 0, .psc = true};
			wish[n++] = (struct wish){
				.ip6 = ip6 != 0, .outer6 = outer != 0, .optional = true};
		}
	}
	return n;
}

static uint64_t
types_of(const struct wish *wish, enum spread_side side)
{
	uint64_t types = side == SPREAD_TUNNELS ? RTE_ETH_RSS_L3_SRC_ONLY : RTE_ETH_RSS_L3_DST_ONLY;

	// An IPv6 UE is its prefix.
	if (wish->ip6)
		types |= RTE_ETH_RSS_L3_PRE64;
	if (wish->l4 == IPPROTO_UDP)
		types |= wish->ip6 ? RTE_ETH_RSS_NONFRAG_IPV6_UDP : RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	else if (wish->l4 == IPPROTO_TCP)
		types |= wish->ip6 ? RTE_ETH_RSS_NONFRAG_IPV6_TCP : RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	else
		types |= wish->ip6 ? RTE_ETH_RSS_IPV6 : RTE_ETH_RSS_IPV4;
	return types;
}

static enum rte_flow_item_type
ip_item(bool ip6)
{
	return ip6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
}

static void
fill_pattern(
	struct rte_flow_item *item, const struct wish *wish, enum spread_side side, enum way way)
{
	static const struct rte_flow_item_udp port = {.hdr = {.dst_port = RTE_BE16(GTPU_PORT)}};
	static const struct rte_flow_item_udp port_mask = {.hdr = {.dst_port = RTE_BE16(0xffff)}};
	unsigned n = 0;

	memset(item, 0, ITEMS_MAX * sizeof(*item));
	item[n++].type = RTE_FLOW_ITEM_TYPE_ETH;
	if (side == SPREAD_TUNNELS) {
		item[n++].type = ip_item(wish->outer6);
		item[n].type = RTE_FLOW_ITEM_TYPE_UDP;
		if (way == IN_RULE) {
			item[n].spec = &port;
			item[n].mask = &port_mask;
		}
		n++;
		item[n++].type = way == IN_RULE ? RTE_FLOW_ITEM_TYPE_GTP : RTE_FLOW_ITEM_TYPE_GTPU;
		if (wish->psc)
			item[n++].type = RTE_FLOW_ITEM_TYPE_GTP_PSC;
	}
	item[n++].type = ip_item(wish->ip6);
	if (wish->l4 != 0)
		item[n++].type =
			wish->l4 == IPPROTO_UDP ? RTE_FLOW_ITEM_TYPE_UDP : RTE_FLOW_ITEM_TYPE_TCP;
	item[n].type = RTE_FLOW_ITEM_TYPE_END;
}

static void
fill_key(uint8_t *key, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		key[i] = key_octets[i % sizeof(key_octets)];
}

// The queue of a hash whose lowest bits are these.
static uint16_t
queue_of(unsigned bits, unsigned workers)
{
	return (uint16_t)home_worker(home_bucket_of_hash(bits), workers);
}

static struct rte_flow *
make_rule(uint16_t ethdev, unsigned workers, enum spread_side side, enum way way,
	const struct wish *wish, const char **why)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_item pattern[ITEMS_MAX];
	uint16_t queue[HOME_BUCKETS];
	uint8_t key[KEY_IN_RULE];
	struct rte_flow_action_rss rss = {.types = types_of(wish, side)};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &rss},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error = {0};
	struct rte_flow *rule;

	fill_pattern(pattern, wish, side, way);
	if (way == IN_RULE) {
		fill_key(key, sizeof(key));
		for (unsigned i = 0; i < HOME_BUCKETS; i++)
			queue[i] = queue_of(i, workers);
		rss.func = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
		// Never 0, with which other drivers take rules of this kind and hash something else.
		rss.level = side == SPREAD_TUNNELS ? 2 : 1;
		rss.key = key;
		rss.key_len = sizeof(key);
		rss.queue = queue;
		rss.queue_num = HOME_BUCKETS;
	}
	rule = rte_flow_create(ethdev, &attr, pattern, actions, &error);
	if (rule == NULL)
		*why = error.message != NULL ? error.message : rte_strerror(rte_errno);
	return rule;
}

// ---- the port ----------------------------------------------------------------------------------

// Key and table of queues of the port itself.
static int
tell_port(uint16_t ethdev, unsigned workers, const char **why)
{
	struct rte_eth_rss_reta_entry64 table[TABLE_MAX / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	uint8_t key[KEY_MAX];
	struct rte_eth_rss_conf rss = {.rss_key = key};
	int rc;

	if (rte_eth_dev_info_get(ethdev, &info) != 0 || rte_eth_dev_conf_get(ethdev, &conf) != 0 ||
		info.hash_key_size == 0 || info.hash_key_size > KEY_MAX) {
		*why = "its key cannot be set";
		return -1;
	}
	if (info.reta_size < HOME_BUCKETS || info.reta_size > TABLE_MAX ||
		(info.reta_size & (info.reta_size - 1)) != 0) {
		*why = "its table of queues has not 64 entries, or a larger power of two";
		return -1;
	}
	fill_key(key, info.hash_key_size);
	rss.rss_key_len = info.hash_key_size;
	rss.rss_hf = conf.rx_adv_conf.rss_conf.rss_hf;
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < info.reta_size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &table[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask = UINT64_MAX;
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = queue_of(i, workers);
	}
	rc = rte_eth_dev_rss_hash_update(ethdev, &rss);
	if (rc == 0)
		rc = rte_eth_dev_rss_reta_update(ethdev, table, info.reta_size);
	if (rc != 0)
		*why = rte_strerror(-rc);
	return rc;
}

static void
undo(uint16_t ethdev, struct made *made)
{
	struct rte_flow_error error;

	while (made->n > 0)
		rte_flow_destroy(ethdev, made->rule[--made->n], &error);
}

struct answer {
	bool ue[2]; // IPv4, IPv6: the NIC hashes the UE's address
	const char *why[2];
};

// All that the NIC takes one way, or nothing: what it does with IPv4 decides.
static void
try_way(uint16_t ethdev, unsigned workers, enum spread_side side, enum way way, bool outer6,
	struct answer *answer)
{
	struct wish wish[RULES_MAX];
	unsigned n = wishes_of(side, way, outer6, wish);
	struct made made = {.n = 0};

	*answer = (struct answer){.ue = {true, true}};
	if (way == OF_PORT && tell_port(ethdev, workers, &answer->why[0]) != 0) {
		answer->ue[0] = false;
		return;
	}
	for (unsigned i = 0; i < n && answer->ue[0]; i++) {
		const char *why = NULL;
		struct rte_flow *rule = make_rule(ethdev, workers, side, way, &wish[i], &why);

		if (rule != NULL) {
			made.rule[made.n++] = rule;
		} else if (!wish[i].optional) {
			answer->ue[wish[i].ip6] = false;
			answer->why[wish[i].ip6] = why;
		}
	}
	if (!answer->ue[0])
		undo(ethdev, &made);
}

enum upf_spread
spread_by_ue(uint16_t ethdev, unsigned workers, enum spread_side side, bool outer6, char *refused,
	size_t refused_size)
{
	struct answer answer[WAYS];
	struct rte_eth_conf conf;

	refused[0] = '\0';
	if (workers < 2)
		return UPF_SPREAD_UNKNOWN;
	if (rte_eth_dev_conf_get(ethdev, &conf) != 0 ||
		(conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) == 0)
		return UPF_SPREAD_SOFTWARE;
	for (enum way way = 0; side != SPREAD_AS_IT_IS && way < WAYS; way++) {
		try_way(ethdev, workers, side, way, outer6, &answer[way]);
		if (!answer[way].ue[0])
			continue;
		if (answer[way].ue[1])
			return UPF_SPREAD_UE;
		snprintf(refused, refused_size, "IPv6: %s", answer[way].why[1]);
		return UPF_SPREAD_UE4;
	}
	if (side != SPREAD_AS_IT_IS)
		snprintf(refused, refused_size, "%s; %s", answer[IN_RULE].why[0],
			answer[OF_PORT].why[0]);
	return UPF_SPREAD_OUTER;
}
