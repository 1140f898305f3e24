#include "control/show.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ring_elem.h>

#include "control/transaction.h"
#include "packet/detection_state.h"
#include "packet/message.h"
#include "packet/sleep.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/qer_clock.h"
#include "rules/session.h"

#define DETECTED_ROOM (PDR_ROOM + 1024u) // the longest entry, and what is behind it
#define PDR_ROOM 16384u // of the longest PDR (QERs, URRs, copies and a URL), and the BARs

struct text {
	char *at;
	size_t room, length;
	bool first; // of a list: no comma yet
	const struct rule_base *base;
	const struct part *part;
	uint64_t now;
};

__attribute__((format(printf, 2, 3))) static void
say(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at + t->length, t->room - t->length, format, args);
	va_end(args);
	if (n > 0)
		t->length = t->length + (size_t)n < t->room ? t->length + (size_t)n : t->room - 1;
}

static void
say_element(struct text *t)
{
	if (!t->first)
		say(t, ",");
	t->first = false;
}

// The names of the bits that are set, as a list.
static void
say_flags(struct text *t, const char *name, unsigned flags, const char *const names[], unsigned n)
{
	bool first = true;

	say(t, "\"%s\":[", name);
	for (unsigned i = 0; i < n; i++) {
		if ((flags >> i & 1) != 0) {
			say(t, "%s\"%s\"", first ? "" : ",", names[i]);
			first = false;
		}
	}
	say(t, "]");
}

static const char *
ipv4_text(rte_be32_t addr, char buffer[INET6_ADDRSTRLEN])
{
	return inet_ntop(AF_INET, &addr, buffer, INET6_ADDRSTRLEN);
}

static const char *
ipv6_text(const void *addr, char buffer[INET6_ADDRSTRLEN])
{
	return inet_ntop(AF_INET6, addr, buffer, INET6_ADDRSTRLEN);
}

// Whatever the URL's octets are, the text stays JSON.
static void
say_url(struct text *t, const char *url, unsigned length)
{
	for (unsigned i = 0; i < length; i++) {
		uint8_t c = (uint8_t)url[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			say(t, "\\u%04x", c);
		else
			say(t, "%c", c);
	}
}

// ---- rules -------------------------------------------------------------------------------------

static void
say_fteid(struct text *t, uint64_t key)
{
	char addr[INET6_ADDRSTRLEN];

	if (key >> 60 == 0xf) { // gtpu_key6()
		const struct config *config = t->base->compile.config;
		upf_addr own;

		memcpy(own, config->interface[key >> 48 & 0xf].address6, sizeof(own));
		own[14] = (uint8_t)(key >> 40);
		own[15] = (uint8_t)(key >> 32);
		ipv6_text(own, addr);
	} else {
		ipv4_text(rte_cpu_to_be_32((uint32_t)(key >> 32)), addr);
	}
	say(t, ",\"fteid\":\"%s/0x%08" PRIx32 "\"", addr, (uint32_t)key);
}

static void
say_rate(struct text *t, const char *name, uint64_t cost)
{
	__extension__ typedef unsigned __int128 wide;

	if (cost == 0)
		return;
	say(t, ",\"%s_bits_per_second\":%" PRIu64, name,
		cost == QER_COST_BLOCKED
			? 0
			: (uint64_t)(((wide)(rte_get_tsc_hz() * 8) << QER_FRACTION) / cost));
}

static void
say_qer(struct text *t, unsigned direction, uint64_t cost, uint64_t gbr_cost, uint32_t slot)
{
	const uint64_t *tat = qer_tat(&t->base->shm->slots, slot, direction);
	int64_t ahead =
		(int64_t)(__atomic_load_n(tat, __ATOMIC_RELAXED) - (t->now << QER_FRACTION));

	say_element(t);
	say(t, "{\"slot\":%" PRIu32, slot);
	say_rate(t, "mbr", cost);
	say_rate(t, "gbr", gbr_cost);
	// How far what was sent is ahead of the rate.
	say(t, ",\"ahead_us\":%" PRIu64 "}",
		ahead > 0 ? ((uint64_t)ahead >> QER_FRACTION) * 1000000 / rte_get_tsc_hz() : 0);
}

static void
say_qers(struct text *t, const struct pdr *pdr)
{
	const struct pdr_qer *list =
		pdr->more != 0 ? part_at(t->part, pdr_more(t->part, pdr)->qer) : NULL;
	bool inline_qers = list == NULL || pdr_more(t->part, pdr)->qer == 0;

	say(t, ",\"qer\":[");
	t->first = true;
	for (unsigned i = 0; i < pdr->n_qer; i++) {
		if (inline_qers)
			say_qer(t, pdr->direction, pdr->cost[i], 0, shm_slot(pdr->qer_at[i]));
		else
			say_qer(t, pdr->direction, list[i].cost, list[i].gbr_cost, list[i].slot);
	}
	say(t, "]");
}

static void
say_volume(struct text *t, const char *name, const uint64_t *at)
{
	uint64_t volume = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (volume != UINT64_MAX && volume != 0)
		say(t, ",\"%s\":%" PRIu64, name, volume);
}

static void
say_urr(struct text *t, unsigned direction, uint32_t slot, uint8_t flags, uint32_t quota_pdr)
{
	static const char *const names[] = {"before_qos", "times", "inactivity"};
	const struct shm_slots *slots = &t->base->shm->slots;
	const struct upf_urr_counter *c = shm_urr(slots, slot, direction);
	const struct upf_urr_meter *meter = &slots->meter[slot];

	say_element(t);
	say(t, "{\"slot\":%" PRIu32 ",\"octets\":%" PRIu64 ",\"packets\":%" PRIu64, slot,
		__atomic_load_n(&c->bytes, __ATOMIC_RELAXED),
		__atomic_load_n(&c->packets, __ATOMIC_RELAXED));
	say_volume(t, "threshold_total", &meter->total);
	say_volume(t, "threshold_ul", &meter->ul);
	say_volume(t, "threshold_dl", &meter->dl);
	say_volume(t, "quota_total", &meter->quota_total);
	say_volume(t, "quota_ul", &meter->quota_ul);
	say_volume(t, "quota_dl", &meter->quota_dl);
	if (quota_pdr != 0)
		say(t, ",\"quota_far\":%" PRIu32,
			((const struct pdr *)part_at(t->part, quota_pdr))->far_id);
	say(t, ",");
	say_flags(t, "flags", flags, names, 3);
	say(t, "}");
}

static void
say_urrs(struct text *t, const struct pdr *pdr)
{
	const struct pdr_urr *list =
		pdr->more != 0 ? part_at(t->part, pdr_more(t->part, pdr)->urr) : NULL;
	bool inline_urrs = list == NULL || pdr_more(t->part, pdr)->urr == 0;

	say(t, ",\"urr\":[");
	t->first = true;
	for (unsigned i = 0; i < pdr->n_urr; i++) {
		if (inline_urrs)
			say_urr(t, pdr->direction, shm_slot(pdr->urr_at[i]), 0, 0);
		else
			say_urr(t, pdr->direction, list[i].slot, list[i].flags, list[i].quota_pdr);
	}
	say(t, "]");
}

static void
say_way(struct text *t, const struct pdr *pdr)
{
	static const char *const headers[] = {[UPF_OHC_NONE] = "none",
		[UPF_OHC_GTPU4] = "gtpu_ipv4",
		[UPF_OHC_GTPU6] = "gtpu_ipv6",
		[UPF_OHC_UDP4] = "udp_ipv4",
		[UPF_OHC_UDP6] = "udp_ipv6",
		[UPF_OHC_IP4] = "ipv4",
		[UPF_OHC_IP6] = "ipv6"};
	bool ip6 = pdr->ohc == UPF_OHC_GTPU6 || pdr->ohc == UPF_OHC_UDP6 || pdr->ohc == UPF_OHC_IP6;
	char peer[INET6_ADDRSTRLEN], local[INET6_ADDRSTRLEN];

	const char *network = t->base->compile.config->interface[pdr->port].network;

	say(t, "\"interface\":\"%s\"", config_port_name(pdr->port));
	if (network[0] != '\0')
		say(t, ",\"network_instance\":\"%s\"", network);
	say(t, ",\"outer_header\":\"%s\"", headers[pdr->ohc]);
	if (pdr->ohc == UPF_OHC_NONE)
		return;
	if (ip6) {
		ipv6_text(pdr_more(t->part, pdr)->peer, peer);
		ipv6_text(pdr_more(t->part, pdr)->local, local);
	} else {
		ipv4_text(pdr->peer4, peer);
		ipv4_text(pdr->local4, local);
	}
	say(t, ",\"peer\":\"%s\",\"local\":\"%s\",\"port\":%u", peer, local, pdr->peer_port);
	if (pdr->ohc == UPF_OHC_GTPU4 || pdr->ohc == UPF_OHC_GTPU6)
		say(t, ",\"teid\":\"0x%08" PRIx32 "\",\"qfi\":%u", rte_be_to_cpu_32(pdr->out_teid),
			pdr->out_qfi);
	if (pdr->tos != 0)
		say(t, ",\"tos\":%u", pdr->tos);
}

static void
say_far(struct text *t, const struct pdr *pdr)
{
	static const char *const actions[] = {"drop", "forward", "buffer", "notify", "duplicate"};

	say(t, ",\"far\":{\"id\":%" PRIu32 ",", pdr->far_id);
	say_flags(t, "action", pdr->action, actions, 5);
	say(t, ",");
	say_way(t, pdr);
	if (pdr->bar != UINT8_MAX)
		say(t, ",\"bar\":%u", pdr->bar);
	if (pdr->more != 0) {
		const struct pdr_more *more = pdr_more(t->part, pdr);
		const struct pdr *copy = part_at(t->part, more->dup);

		if ((pdr->flags & PDR_REDIRECT) != 0) {
			say(t, ",\"redirect\":\"");
			say_url(t, part_at(t->part, more->text), more->text_len);
			say(t, "\"");
		}
		for (unsigned i = 0; i < more->n_dup && i < 16; i++) {
			say(t, i == 0 ? ",\"duplicates\":[{" : ",{");
			say_way(t, &copy[i]);
			say(t, i + 1 == more->n_dup || i == 15 ? "}]" : "}");
		}
	}
	say(t, "}");
}

static void
say_pdr(struct text *t, const struct pdr *pdr)
{
	static const char *const match[] = {"ue_ipv4", "ue_ipv6", "qfi", "sdf"};

	say(t, "{\"id\":%u,\"precedence\":%" PRIu32, pdr->pdr_id, pdr->precedence);
	if (pdr->fteid != 0)
		say_fteid(t, pdr->fteid);
	say(t, ",");
	say_flags(t, "match", pdr->flags, match, 4);
	if ((pdr->flags & PDR_QFI) != 0)
		say(t, ",\"qfi\":%u", pdr->qfi);
	if ((pdr->flags & PDR_SDF) != 0)
		say(t, ",\"sdf_filters\":%u", pdr->sdf_count + pdr->sdf6_count);
	if (pdr->fteid != 0 || (pdr->flags & PDR_REMOVE) != 0)
		say(t, ",\"outer_header_removal\":%u", pdr->removal);
	say(t, ",\"gate\":\"%s\"", (pdr->flags & PDR_GATE_CLOSED) != 0 ? "closed" : "open");
	say_qers(t, pdr);
	say_urrs(t, pdr);
	say_far(t, pdr);
	say(t, "}");
}

static void
say_bars(struct text *t)
{
	const struct upf_bar *bar = part_at(t->part, part_more(t->part)->bar);

	say(t, ",\"bar\":[");
	for (unsigned i = 0; i < t->part->n_bar; i++)
		say(t,
			"%s{\"index\":%u,\"id\":%" PRIu32
			",\"packets_max\":%u,\"duration_ms\":%" PRIu32 ",\"delay_ms\":%u}",
			i == 0 ? "" : ",", i, bar[i].bar_id, bar[i].packets_max, bar[i].duration_ms,
			bar[i].delay_ms);
	say(t, "]");
}

static void
say_part(struct text *t, enum upf_direction direction)
{
	unsigned shown = 0;

	say(t, "{\"direction\":\"%s\",\"octets\":%zu,\"search\":\"%s\",\"pdr\":[",
		direction == UPF_UL ? "ul" : "dl", part_size(t->part),
		(t->part->flags & PART_TABLE) != 0 && !t->part->ethernet ? "tuple_space" : "list");
	while (shown < t->part->n_pdr && t->room - t->length > PDR_ROOM) {
		say(t, shown == 0 ? "" : ",");
		say_pdr(t, &t->part->pdr[shown++]);
	}
	say(t, "],\"pdrs_not_shown\":%u", t->part->n_pdr - shown);
	if (t->part->n_bar != 0)
		say_bars(t);
	say(t, "}");
}

static void
say_nat(struct text *t)
{
	const struct part_more *more = part_more(t->part);
	char addr[INET6_ADDRSTRLEN];

	if ((t->part->flags & PART_NAT) == 0)
		return;
	say(t, ",\"nat44\":{\"address\":\"%s\",\"ports\":\"%u-%u\"}",
		ipv4_text(more->nat_addr, addr), more->nat_port,
		more->nat_port + t->base->compile.config->interface[t->part->n6].nat.ports - 1);
}

// Asks the session's worker. False: it does not answer.
static bool
look_at_detected(const struct rule_base *base, const struct part *part)
{
	struct worker *w = base->worker[part->home];
	const struct detection_view *view = &w->detection->view;
	struct command command = {.op = COMMAND_SHOW_DETECTED, .session = part->session, .from = 1};
	uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz();

	while (command.from != 0) {
		uint32_t before = view->pieces;

		if (rte_ring_sp_enqueue_elem(w->commands, &command, sizeof(command)) != 0)
			return false;
		sleep_wake(&w->sleeper);
		// Acquire: pairs with the release in detection_show().
		while (__atomic_load_n(&view->pieces, __ATOMIC_ACQUIRE) == before) {
			if (rte_rdtsc() > deadline)
				return false;
			sched_yield();
		}
		command.from = view->next;
	}
	return true;
}

static void
say_detected_entry(struct text *t, const struct detected *e, uint64_t tsc_hz)
{
	static const char *const kinds[] = {[DETECTED_FLOW] = "flow",
		[DETECTED_ADDRESS] = "address",
		[DETECTED_QUESTION] = "question"};
	bool ip6 = (e->key.kind & DETECTED_IPV6) != 0;
	unsigned kind = e->key.kind & ~DETECTED_IPV6;
	rte_be32_t remote4;
	char addr[INET6_ADDRSTRLEN];

	memcpy(&remote4, e->key.remote, sizeof(remote4));
	say(t, "{\"kind\":\"%s\",\"remote\":\"%s\"", kinds[kind],
		ip6 ? ipv6_text(e->key.remote, addr) : ipv4_text(remote4, addr));
	if (kind != DETECTED_ADDRESS)
		say(t, ",\"protocol\":%u,\"remote_port\":%u,\"local_port\":%u", e->key.proto,
			rte_be_to_cpu_16(e->key.remote_port), rte_be_to_cpu_16(e->key.local_port));
	say(t, ",\"applications\":[");
	for (unsigned i = 0; i < e->n; i++)
		say(t, "%s\"%016" PRIx64 "\"", i == 0 ? "" : ",", e->application[i]);
	say(t, "],\"seconds_left\":%" PRIu64 "}",
		e->until > t->now ? (e->until - t->now) / tsc_hz : 0);
}

// Its applications by domain, and what was found to be of them. upf-c puts their names in place of their numbers.
static void
say_applications(struct text *t)
{
	const struct part_applications *of;
	const struct detection_view *view;
	unsigned shown = 0;

	if ((t->part->flags & PART_DOMAINS) == 0 || t->part->ethernet)
		return;
	of = part_applications(t->part);
	for (unsigned i = 0; i < of->n; i++)
		say(t, "%s\"%016" PRIx64 "\"", i == 0 ? ",\"applications\":[" : ",",
			of->application[i].number);
	say(t, "]");
	if (t->base->worker[t->part->home]->detection == NULL)
		return;
	if (!look_at_detected(t->base, t->part)) {
		say(t, ",\"detected\":\"the worker does not answer\"");
		return;
	}
	view = &t->base->worker[t->part->home]->detection->view;
	say(t, ",\"detected\":[");
	for (; shown < view->n && t->room - t->length > DETECTED_ROOM; shown++) {
		say(t, shown == 0 ? "" : ",");
		say_detected_entry(t, &view->entry[shown], rte_get_tsc_hz());
	}
	say(t, "],\"detected_not_shown\":%u", view->n - shown + view->left_out);
}

static void
say_routes(struct text *t)
{
	const struct part_routes *routes = part_routes(t->part);
	char addr[INET6_ADDRSTRLEN];

	if ((t->part->flags & PART_FRAMED) == 0)
		return;
	for (unsigned i = 0; i < routes->n; i++) {
		const struct part_route *route = &routes->route[i];
		rte_be64_t upper = rte_cpu_to_be_64(route->prefix);
		upf_addr prefix = {0};

		memcpy(prefix, &upper, sizeof(upper));
		say(t, "%s\"%s/%u\"", i == 0 ? ",\"framed_routes\":[" : ",",
			route->ip6 ? ipv6_text(prefix, addr)
				   : ipv4_text(rte_cpu_to_be_32((uint32_t)route->prefix), addr),
			route->len);
	}
	say(t, "]");
}

size_t
show_session(const struct rule_base *base, uint32_t session, char *out, size_t room)
{
	struct text t = {.at = out, .room = room, .base = base, .now = rte_rdtsc()};
	char addr[INET6_ADDRSTRLEN];

	if (session >= base->sessions->max ||
		(t.part = session_present(base->sessions, session, UPF_UL)) == NULL)
		return 0;
	say(&t, "{\"session\":%" PRIu32 ",\"incarnation\":%" PRIu32 ",\"home_worker\":%u", session,
		t.part->incarnation, t.part->home);
	if (t.part->ethernet)
		say(&t, ",\"ethernet\":true");
	if ((t.part->flags & PART_UE_IPV4) != 0)
		say(&t, ",\"ue_ipv4\":\"%s\"", ipv4_text(t.part->ue4, addr));
	if ((t.part->flags & PART_UE_IPV6) != 0) {
		upf_addr prefix = {0};
		rte_be64_t upper = rte_cpu_to_be_64(t.part->ue6);

		memcpy(prefix, &upper, sizeof(upper));
		say(&t, ",\"ue_ipv6\":\"%s/%u\"", ipv6_text(prefix, addr), t.part->ue6_len);
	}
	say_nat(&t);
	say_routes(&t);
	say_applications(&t);
	say(&t, ",\"rules\":[");
	say_part(&t, UPF_UL);
	t.part = session_present(base->sessions, session, UPF_DL);
	say(&t, ",");
	say_part(&t, UPF_DL);
	say(&t, "]}");
	return t.length;
}
