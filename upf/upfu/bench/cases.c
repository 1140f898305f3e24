// The cases of the benchmark and of the instruction gate.
#include "traffic.h"

#define PDRS(i) .population = POPULATION_PDRS, .first = (i), .sessions = 1, .size = 800

// Where sessions is 0: the whole population.
struct traffic_case traffic_cases[] = {
	{.name = "ring", .population = POPULATION_NEC, .size = 800, .ul = 1, .forward_only = true},
	{.name = "nec", .population = POPULATION_NEC, .size = 800, .ul = 1},
	{.name = "nec", .population = POPULATION_NEC, .size = 800, .dl = 1},
	{.name = "nec", .population = POPULATION_NEC, .size = 800, .ul = 1, .dl = 3},
	{.name = "floor", .population = POPULATION_NEC, .size = 800, .ul = 1, .floor = true},
	{.name = "floor", .population = POPULATION_NEC, .size = 800, .dl = 1, .floor = true},
	{.name = "burst-1", .population = POPULATION_NEC, .size = 800, .ul = 1, .burst = 1},
	{.name = "burst-1", .population = POPULATION_NEC, .size = 800, .dl = 1, .burst = 1},
	{.name = "burst-4", .population = POPULATION_NEC, .size = 800, .ul = 1, .burst = 4},
	{.name = "burst-4", .population = POPULATION_NEC, .size = 800, .dl = 1, .burst = 4},
	{.name = "burst-8", .population = POPULATION_NEC, .size = 800, .ul = 1, .burst = 8},
	{.name = "burst-8", .population = POPULATION_NEC, .size = 800, .dl = 1, .burst = 8},
	{.name = "size", .population = POPULATION_NEC, .size = 64, .ul = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 64, .dl = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 128, .ul = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 128, .dl = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 512, .ul = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 512, .dl = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 1400, .ul = 1},
	{.name = "size", .population = POPULATION_NEC, .size = 1400, .dl = 1},
	{.name = "hot", .population = POPULATION_NEC, .sessions = 1000, .size = 800, .ul = 1},
	{.name = "hot", .population = POPULATION_NEC, .sessions = 1000, .size = 800, .dl = 1},
	{.name = "skt1", .population = POPULATION_SKT, .ul = 17, .dl = 23},
	{.name = "skt2", .population = POPULATION_SKT, .ul = 2, .dl = 3},
	{.name = "skt3", .population = POPULATION_SKT, .ul = 1, .dl = 3},
	{.name = "skt4", .population = POPULATION_SKT, .ul = 1, .dl = 9},
	{.name = "pdrs-2", PDRS(0), .ul = 1},
	{.name = "pdrs-2", PDRS(0), .dl = 1},
	{.name = "pdrs-16", PDRS(1), .ul = 1},
	{.name = "pdrs-16", PDRS(1), .dl = 1},
	{.name = "pdrs-128", PDRS(2), .ul = 1},
	{.name = "pdrs-128", PDRS(2), .dl = 1},
	{.name = "pdrs-1024", PDRS(3), .ul = 1},
	{.name = "pdrs-1024", PDRS(3), .dl = 1},
	{.name = "ipv6", .population = POPULATION_IPV6, .size = 800, .ul = 1},
	{.name = "ipv6", .population = POPULATION_IPV6, .size = 800, .dl = 1},
	{.name = "shared", .population = POPULATION_SHARED, .size = 800, .ul = 1},
	{.name = "shared", .population = POPULATION_SHARED, .size = 800, .dl = 1},
	{.name = "features", .population = POPULATION_FEATURES, .size = 800, .ul = 1},
	{.name = "features", .population = POPULATION_FEATURES, .size = 800, .dl = 1},
	{.name = "domains", .population = POPULATION_DOMAINS, .size = 800, .ul = 1},
	{.name = "domains", .population = POPULATION_DOMAINS, .size = 800, .dl = 1},
	{.name = "nat44", .population = POPULATION_NAT44, .size = 800, .ul = 1},
	{.name = "nat44", .population = POPULATION_NAT44, .size = 800, .dl = 1},
};
const unsigned traffic_cases_n = sizeof(traffic_cases) / sizeof(traffic_cases[0]);
static_assert(sizeof(traffic_cases) / sizeof(traffic_cases[0]) <= TRAFFIC_CASES_MAX, "cases");

void
traffic_cases_settle(void)
{
	for (unsigned i = 0; i < traffic_cases_n; i++) {
		struct traffic_case *c = &traffic_cases[i];
		uint32_t all = population_sessions(c->population);

		if (c->sessions == 0 || c->sessions > all)
			c->sessions = all;
	}
}

const char *
traffic_direction_name(const struct traffic_case *c)
{
	return c->ul != 0 && c->dl != 0 ? "mix" : c->ul != 0 ? "ul" : "dl";
}
