#include "link/gateways.h"

#include <arpa/inet.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_cycles.h>

#include "link/gateways_state.h"
#include "link/neigh.h"
#include "link/neigh_message.h"
#include "link/port.h"
#include "packet/ipv6.h"
#include "packet/worker_state.h"
#include "process/log.h"
#include "process/shm.h"

#define FIRST6 2u // of the gateways of IPv6 among all of an interface
static_assert(2 * FIRST6 == UPF_GATEWAYS && FIRST6 == CONFIG_GATEWAYS, "upf_gateway_state");

static bool
has_two4(const struct config_interface *in)
{
	return in->present && in->gateway[1] != 0;
}

static bool
has_two6(const struct config_interface *in)
{
	return in->present && !ipv6_is_unspecified(in->gateway6[1]);
}

static bool
answers(const struct upf_gateway_state *gateway)
{
	// Relaxed: pairs with note(); it carries nothing but itself.
	return __atomic_load_n(&gateway->state, __ATOMIC_RELAXED) == UPF_GATEWAY_ANSWERS;
}

// Which of a pair takes what was to go by `wanted`.
static unsigned
leads_to(const struct upf_gateway_state pair[2], unsigned wanted)
{
	return !answers(&pair[wanted]) && answers(&pair[!wanted]) ? !wanted : wanted;
}

static void
choose(struct worker *w, enum upf_port port)
{
	const struct config_interface *in = &w->config->interface[port];
	const struct upf_gateway_state *state = w->gateways.state[port];

	for (unsigned i = 0; i < CONFIG_GATEWAYS; i++) {
		if (has_two4(in))
			w->port[port].gateway[i] =
				rte_cpu_to_be_32(in->gateway[leads_to(state, i)]);
		if (has_two6(in))
			memcpy(w->port[port].gateway6[i], in->gateway6[leads_to(&state[FIRST6], i)],
				sizeof(upf_addr));
	}
}

static void
note(struct worker *w, enum upf_port port, unsigned which, enum upf_gateway now)
{
	struct upf_gateway_state *gateway = &w->gateways.state[port][which];

	if (gateway->state == now)
		return;
	if (gateway->state == UPF_GATEWAY_ANSWERS)
		shm_add(&gateway->losses, 1);
	// Relaxed: pairs with answers() and the reader's single loads; no order among the words is promised.
	__atomic_store_n(&gateway->since, rte_rdtsc(), __ATOMIC_RELAXED);
	__atomic_store_n(&gateway->state, now, __ATOMIC_RELAXED);
	choose(w, port);
}

// At first where it was last seen, then everybody: it may have moved.
static void
ask(struct worker *w, enum upf_port port, unsigned which)
{
	const struct config_interface *in = &w->config->interface[port];
	uint8_t *unanswered = &w->gateways.unanswered[port][which];
	const struct rte_ether_addr *mac = NULL;

	if (*unanswered == GATEWAY_TRIES)
		note(w, port, which, UPF_GATEWAY_SILENT);
	else
		++*unanswered;
	if (which < FIRST6) {
		rte_be32_t addr = rte_cpu_to_be_32(in->gateway[which]);

		if (*unanswered <= GATEWAY_TRIES / 2)
			mac = neigh_mac4(w, port, addr);
		arp_send(w, port, RTE_ARP_OP_REQUEST, mac, rte_cpu_to_be_32(w->port[port].own),
			addr);
	} else {
		const uint8_t *addr = in->gateway6[which - FIRST6];

		if (*unanswered <= GATEWAY_TRIES / 2)
			mac = neigh_mac6(w, port, addr);
		nd_solicit(w, port, addr, mac);
	}
}

void
gateways_init(struct worker *w, struct upf_gateway_state (*state)[UPF_GATEWAYS])
{
	for (enum upf_port port = 0; port < w->ports; port++) {
		const struct config_interface *in = &w->config->interface[port];

		if (!has_two4(in) && !has_two6(in))
			continue;
		w->gateways.state = state;
		for (unsigned i = 0; i < CONFIG_GATEWAYS && w->index == 0; i++) {
			rte_be32_t addr = rte_cpu_to_be_32(in->gateway[i]);

			if (has_two4(in))
				memcpy(state[port][i].address, &addr, sizeof(addr));
			if (has_two6(in))
				memcpy(state[port][FIRST6 + i].address, in->gateway6[i],
					sizeof(upf_addr));
		}
	}
}

void
gateways_tick(struct worker *w)
{
	bool asks = w->index == 0 && w->gateways.ticks == 0;

	if (likely(w->gateways.state == NULL))
		return;
	w->gateways.ticks = (uint8_t)((w->gateways.ticks + 1) % GATEWAY_ASK_TICKS);
	for (enum upf_port port = 0; port < w->ports; port++) {
		const struct config_interface *in = &w->config->interface[port];

		for (unsigned i = 0; i < CONFIG_GATEWAYS && asks; i++) {
			if (has_two4(in))
				ask(w, port, i);
			if (has_two6(in))
				ask(w, port, FIRST6 + i);
		}
		choose(w, port);
	}
}

static void
heard(struct worker *w, enum upf_port port, unsigned which)
{
	if (w->index != 0)
		return;
	w->gateways.unanswered[port][which] = 0;
	note(w, port, which, UPF_GATEWAY_ANSWERS);
}

bool
gateways_heard4(struct worker *w, enum upf_port port, rte_be32_t addr)
{
	const struct config_interface *in = &w->config->interface[port];

	for (unsigned i = 0; i < CONFIG_GATEWAYS && has_two4(in); i++) {
		if (addr == rte_cpu_to_be_32(in->gateway[i])) {
			heard(w, port, i);
			return true;
		}
	}
	return false;
}

bool
gateways_heard6(struct worker *w, enum upf_port port, const uint8_t *addr)
{
	const struct config_interface *in = &w->config->interface[port];

	for (unsigned i = 0; i < CONFIG_GATEWAYS && has_two6(in); i++) {
		if (memcmp(addr, in->gateway6[i], sizeof(upf_addr)) == 0) {
			heard(w, port, FIRST6 + i);
			return true;
		}
	}
	return false;
}

static void
log_one(const struct gateways_log *log, unsigned port, unsigned which, enum upf_gateway now)
{
	const struct upf_gateway_state *gateway = &log->state[port][which];
	const char *name = config_port_name(port), *network = log->config->interface[port].network;
	char address[INET6_ADDRSTRLEN];

	inet_ntop(which < FIRST6 ? AF_INET : AF_INET6, gateway->address, address, sizeof(address));
	if (now == UPF_GATEWAY_SILENT)
		log_warning("gateway does not answer",
			"interface=%s network_instance=\"%s\" gateway=%s advice=\"look at the "
			"router; "
			"packets go by the other gateway while that one answers\"",
			name, network, address);
	else
		log_info("gateway answers", "interface=%s network_instance=\"%s\" gateway=%s", name,
			network, address);
}

void
gateways_log(struct gateways_log *log)
{
	for (unsigned port = 0; log->state != NULL && port < log->config->ports; port++) {
		for (unsigned which = 0; which < UPF_GATEWAYS; which++) {
			// Relaxed: pairs with note().
			uint64_t now =
				__atomic_load_n(&log->state[port][which].state, __ATOMIC_RELAXED);

			if (now == log->logged[port][which])
				continue;
			log->logged[port][which] = (uint8_t)now;
			log_one(log, port, which, (enum upf_gateway)now);
		}
	}
}
