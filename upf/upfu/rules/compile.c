// Nothing in the record is trusted: counts, indexes, addresses and flags are checked before use.
//
// A part is laid out in one pass: the PDRs first, then what they have beyond the usual. Its size is
// counted before by the same walk, with no memory behind it (struct layout).
#include "rules/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/config.h"
#include "process/shm.h"
#include "rules/arena.h"
#include "rules/home.h"
#include "rules/qer_clock.h"
#include "rules/session.h"
#include "rules/tss_compile.h"

#define SDF_BEHIND_IP (UPF_SDF_PORTS | UPF_SDF_SPI)
#define LIST_PDRS 4u   // more of them are found by a table, too
#define TEXT_MAX 1024u // octets of a redirect URL

struct record { // the arrays of one SESSION_PUT
	const struct upf_session_put *put;
	const struct upf_pdr *pdr;
	const struct upf_far *far;
	const struct upf_qer *qer;
	const struct upf_urr *urr;
	const struct upf_bar *bar;
	const struct upf_sdf *sdf;
	const struct upf_sdf6 *sdf6;
	const struct upf_route *route;
	const struct upf_ethernet_filter *ethernet;
	const struct upf_application *application;
	const char *text;
	const uint8_t *blob;
	// Of all PDRs:
	rte_be32_t ue4;
	uint64_t ue6;
	uint8_t ue6_len;
	bool has_ue4, has_ue6;
};

static const void *
take(const uint8_t **at, size_t octets)
{
	const uint8_t *here = *at;

	*at += octets;
	return here;
}

static int
split(const struct upf_session_put *put, struct record *r)
{
	const uint8_t *at = (const uint8_t *)(put + 1);
	uint64_t need;

	if (put->rec.length < sizeof(*put) || put->n_pdr > UPF_SESSION_PDRS ||
		put->n_far > UPF_SESSION_FARS || put->n_qer > UPF_SESSION_QERS ||
		put->n_urr > UPF_SESSION_URRS || put->n_bar > UPF_SESSION_BARS ||
		put->n_sdf > UPF_SESSION_SDFS || put->n_sdf6 > UPF_SESSION_SDFS ||
		put->n_route > UPF_SESSION_ROUTES ||
		put->n_application > UPF_SESSION_APPLICATIONS ||
		put->n_ethernet > UPF_SESSION_ETHERNET_FILTERS || put->group >= UPF_GROUPS)
		return EINVAL;
	need = sizeof(*put) + put->n_pdr * sizeof(*r->pdr) + put->n_far * sizeof(*r->far) +
		put->n_qer * sizeof(*r->qer) + put->n_urr * sizeof(*r->urr) +
		put->n_bar * sizeof(*r->bar) + put->n_sdf * sizeof(*r->sdf) +
		put->n_sdf6 * sizeof(*r->sdf6) + put->n_route * sizeof(*r->route) +
		put->n_ethernet * sizeof(*r->ethernet) +
		put->n_application * sizeof(*r->application) + put->text_len + put->blob_len;
	if (((need + 7) & ~UINT64_C(7)) != put->rec.length)
		return EINVAL;
	r->put = put;
	r->pdr = take(&at, put->n_pdr * sizeof(*r->pdr));
	r->far = take(&at, put->n_far * sizeof(*r->far));
	r->qer = take(&at, put->n_qer * sizeof(*r->qer));
	r->urr = take(&at, put->n_urr * sizeof(*r->urr));
	r->bar = take(&at, put->n_bar * sizeof(*r->bar));
	r->sdf = take(&at, put->n_sdf * sizeof(*r->sdf));
	r->sdf6 = take(&at, put->n_sdf6 * sizeof(*r->sdf6));
	r->route = take(&at, put->n_route * sizeof(*r->route));
	r->ethernet = take(&at, put->n_ethernet * sizeof(*r->ethernet));
	r->application = take(&at, put->n_application * sizeof(*r->application));
	r->text = take(&at, put->text_len);
	r->blob = at;
	return 0;
}

const struct upf_qer *
compile_qers_of(const struct upf_session_put *put)
{
	struct record r;

	return split(put, &r) == 0 ? r.qer : NULL;
}

const struct upf_urr *
compile_urrs_of(const struct upf_session_put *put)
{
	struct record r;

	return split(put, &r) == 0 ? r.urr : NULL;
}

// ---- is it right? ----------------------------------------------------------------------------

static rte_be32_t
ipv4(const upf_addr addr)
{
	rte_be32_t v4;

	memcpy(&v4, addr, sizeof(v4));
	return v4;
}

static bool
is_zero(const upf_addr addr)
{
	static const upf_addr zero;

	return memcmp(addr, zero, sizeof(zero)) == 0;
}

static bool
has_port(uint8_t ohc)
{
	return ohc >= UPF_OHC_GTPU4 && ohc <= UPF_OHC_UDP6;
}

static bool
range_is_valid(uint32_t first, uint32_t count, uint32_t of)
{
	return first <= of && count <= of - first;
}

static bool
tunnel_is_valid(const struct config *config, const struct upf_far *far)
{
	return !is_zero(far->peer_addr) && (!has_port(far->ohc) || far->peer_port != 0) &&
		config_owner(config, outer_is_ipv6(far->ohc), far->local_addr) >= 0;
}

// The URL of a redirection is in the text, and there is one.
static bool
redirect_is_valid(const struct record *r, const struct upf_far *far)
{
	if ((far->flags & UPF_FAR_REDIRECT) == 0)
		return true;
	return (far->action & UPF_FAR_FORW) != 0 && far->text_count != 0 &&
		far->text_count <= TEXT_MAX &&
		range_is_valid(far->text_first, far->text_count, r->put->text_len);
}

// Copies go into outer headers of their own.
static bool
duplicates_are_valid(const struct config *config, const struct record *r, const struct upf_far *far)
{
	if ((far->action & UPF_FAR_DUPL) == 0)
		return far->dup_count == 0;
	if (!range_is_valid(far->dup_first, far->dup_count, r->put->n_far))
		return false;
	for (unsigned i = 0; i < far->dup_count; i++) {
		const struct upf_far *to = &r->far[far->dup_first + i];

		if (to->ohc == UPF_OHC_NONE || to->dup_count != 0 || !tunnel_is_valid(config, to))
			return false;
	}
	return true;
}

static bool
far_is_valid(const struct config *config, const struct record *r, const struct upf_far *far)
{
	uint8_t way = far->action & (UPF_FAR_DROP | UPF_FAR_FORW | UPF_FAR_BUFF);

	if ((far->action &
		    ~(UPF_FAR_DROP | UPF_FAR_FORW | UPF_FAR_BUFF | UPF_FAR_NOCP | UPF_FAR_DUPL)) !=
			0 ||
		(way != UPF_FAR_DROP && way != UPF_FAR_FORW && way != UPF_FAR_BUFF) ||
		((far->action & UPF_FAR_NOCP) != 0 && way != UPF_FAR_BUFF) ||
		(far->flags & ~(UPF_FAR_TOS | UPF_FAR_REDIRECT)) != 0 || far->ohc > UPF_OHC_IP6 ||
		far->destination_interface > UPF_IF_CORE || far->network >= config->networks ||
		!redirect_is_valid(r, far) || !duplicates_are_valid(config, r, far) ||
		(far->bar != UPF_NONE16 && far->bar >= r->put->n_bar))
		return false;
	// While it buffers or drops, the tunnel may still be that of before, or none.
	return way != UPF_FAR_FORW || far->ohc == UPF_OHC_NONE || tunnel_is_valid(config, far);
}

static bool
qer_is_valid(const struct config *config, const struct upf_qer *qer)
{
	const uint8_t known = UPF_QER_GATE_UL_CLOSED | UPF_QER_GATE_DL_CLOSED | UPF_QER_MBR |
		UPF_QER_GBR | UPF_QER_RQI | UPF_QER_TOS | UPF_QER_PPI;

	return qer->slot < config->limits.qer_slots && qer->qfi <= 0x3f &&
		(qer->flags & ~known) == 0 && qer->ppi <= 7 &&
		qer->window_ms <= UPF_WINDOW_MAX_MS &&
		((qer->flags & UPF_QER_GBR) == 0 ||
			(qer->gbr_slot < config->limits.qer_slots && qer->gbr_slot != qer->slot));
}

static bool
urr_is_valid(const struct config *config, const struct record *r, const struct upf_urr *urr)
{
	return urr->slot < config->limits.urr_slots &&
		(urr->flags & ~(UPF_URR_BEFORE_QOS | UPF_URR_TIMED)) == 0 &&
		(urr->quota_far == UPF_NONE16 || urr->quota_far < r->put->n_far);
}

static bool
sdfs_are_valid(const struct record *r)
{
	const uint8_t known = UPF_SDF_PROTO | UPF_SDF_TOS | UPF_SDF_SPI | UPF_SDF_PORTS;

	for (unsigned i = 0; i < r->put->n_sdf; i++) {
		if ((r->sdf[i].flags & ~known) != 0)
			return false;
	}
	for (unsigned i = 0; i < r->put->n_sdf6; i++) {
		const struct upf_sdf6 *sdf = &r->sdf6[i];

		if ((sdf->flags & ~(known | UPF_SDF_FLOW_LABEL)) != 0 || sdf->remote_len > 128 ||
			sdf->local_len > 128)
			return false;
	}
	return true;
}

static bool
indexes_are_valid(const uint16_t *index, unsigned n, unsigned max, unsigned of)
{
	if (n > max)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (index[i] >= of)
			return false;
	}
	return true;
}

// One UE IPv4 address and one IPv6 prefix a session (TS 23.501 5.8.2.2), whichever PDR names them.
static bool
note_ue(struct record *r, const struct upf_pdr *pdr)
{
	if ((pdr->flags & UPF_PDR_UE_IPV6) != 0) {
		uint64_t prefix;

		if (pdr->ue_prefix_len < 1 || pdr->ue_prefix_len > 64)
			return false;
		prefix = ue_key6(pdr->ue_prefix) & ue6_mask(pdr->ue_prefix_len);
		if (prefix >> 32 == 0 ||
			(r->has_ue6 && (r->ue6 != prefix || r->ue6_len != pdr->ue_prefix_len)))
			return false;
		r->ue6 = prefix;
		r->ue6_len = pdr->ue_prefix_len;
		r->has_ue6 = true;
	}
	if ((pdr->flags & UPF_PDR_UE_IPV4) != 0) {
		if (pdr->ue_addr_be == 0 || (r->has_ue4 && r->ue4 != pdr->ue_addr_be))
			return false;
		r->ue4 = pdr->ue_addr_be;
		r->has_ue4 = true;
	}
	return true;
}

static bool
pdr_is_valid(const struct config *config, struct record *r, const struct upf_pdr *pdr)
{
	const struct upf_session_put *put = r->put;
	bool from_tunnel = (pdr->flags & UPF_PDR_TEID) != 0;
	bool n3_ipv6 = (pdr->flags & UPF_PDR_N3_IPV6) != 0;

	if ((n3_ipv6 && !from_tunnel) || pdr->source_interface > UPF_IF_CORE ||
		pdr->far >= put->n_far ||
		!range_is_valid(pdr->sdf_first, pdr->sdf_count,
			(pdr->flags & UPF_PDR_ETHERNET) != 0 ? put->n_ethernet : put->n_sdf) ||
		!range_is_valid(pdr->sdf6_first, pdr->sdf6_count, put->n_sdf6) ||
		!indexes_are_valid(pdr->qer, pdr->n_qer, UPF_PDR_QERS, put->n_qer) ||
		!indexes_are_valid(pdr->urr, pdr->n_urr, UPF_PDR_URRS, put->n_urr) ||
		pdr->application > put->n_application ||
		(pdr->application != 0 && (pdr->flags & UPF_PDR_SDF) == 0) || pdr->qfi > 0x3f ||
		pdr->removal > 6 || !note_ue(r, pdr))
		return false;
	// An F-TEID is one of ours, and what comes by it is always taken out of its tunnel. Where
	// there is no tunnel, UDP/IP or IP may be what is to be removed.
	if (from_tunnel)
		return config_owner(config, n3_ipv6, pdr->n3_addr) >= 0 &&
			(pdr->flags & UPF_PDR_REMOVE) != 0 &&
			(pdr->removal == 6 || pdr->removal == (n3_ipv6 ? 1 : 0));
	return (pdr->flags & UPF_PDR_REMOVE) == 0 || (pdr->removal >= 2 && pdr->removal <= 5);
}

// What of the route is its prefix, as struct part_route.
static struct part_route
route_of(const struct upf_route *route)
{
	struct part_route to = {.len = route->len, .ip6 = route->ip6};

	if (route->ip6) {
		to.mask = ue6_mask(route->len);
		to.prefix = ue_key6(route->addr);
	} else {
		to.mask = UINT32_MAX & UINT64_C(0xffffffff) << (32 - route->len);
		to.prefix = ue_key(ipv4(route->addr));
	}
	return to;
}

static bool
route_is_valid(const struct record *r, const struct upf_route *route)
{
	upf_addr rest;
	struct part_route to;

	if (route->ip6 > 1 || route->len < 1 || route->len > (route->ip6 ? 64 : 32) ||
		!(route->ip6 ? r->has_ue6 : r->has_ue4))
		return false;
	memcpy(rest, route->addr, sizeof(rest));
	memset(rest, 0, route->ip6 ? 8 : 4);
	to = route_of(route);
	return is_zero(rest) && (to.prefix & ~to.mask) == 0 &&
		(!route->ip6 || to.prefix >> 33 != 0);
}

static bool
routes_are_valid(const struct record *r)
{
	for (unsigned i = 0; i < r->put->n_route; i++) {
		if (!route_is_valid(r, &r->route[i]))
			return false;
	}
	for (unsigned i = 0; r->put->n_route != 0 && i < r->put->n_pdr; i++) {
		if ((r->pdr[i].flags & (UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6)) == 0)
			return false;
	}
	return true;
}

// The block is one of the network instance's, and the UE has an address to be hidden.
static bool
nat_is_valid(const struct config *config, const struct record *r)
{
	const struct upf_session_put *put = r->put;
	const struct config_nat *nat = &config->interface[config_port_of(put->network)].nat;

	if (put->nat_addr_be == 0)
		return put->nat_port == 0;
	return nat->ports != 0 && r->has_ue4 &&
		config_nat_owns(nat, rte_be_to_cpu_32(put->nat_addr_be)) &&
		put->nat_port >= UPF_NAT_FIRST_PORT && (put->nat_port & (nat->ports - 1)) == 0;
}

static bool
is_ethernet(const struct record *r)
{
	return (r->put->flags & UPF_SESSION_ETHERNET) != 0;
}

// A frame is of its own filters; into tunnels and to its bridge is where it may go.
static bool
ethernet_pdr_is_valid(const struct upf_pdr *pdr)
{
	return (pdr->flags & (UPF_PDR_UE_IPV4 | UPF_PDR_UE_IPV6 | UPF_PDR_SDF)) == 0 &&
		((pdr->flags & UPF_PDR_TEID) != 0 || (pdr->flags & UPF_PDR_REMOVE) == 0);
}

static bool
ethernet_far_is_valid(
	const struct config *config, const struct record *r, const struct upf_far *far)
{
	bool bridge = config->interface[config_port_of(r->put->network)].ethernet;

	if (far->ohc > UPF_OHC_GTPU6 || (far->action & UPF_FAR_DUPL) != 0 ||
		(far->flags & UPF_FAR_REDIRECT) != 0)
		return false;
	return far->ohc != UPF_OHC_NONE || (far->action & UPF_FAR_FORW) == 0 ||
		far->destination_interface != UPF_IF_CORE ||
		(bridge && far->network == r->put->network);
}

static bool
ethernet_is_valid(const struct config *config, const struct record *r)
{
	const struct upf_session_put *put = r->put;

	if ((put->flags & ~UPF_SESSION_ETHERNET) != 0)
		return false;
	if (!is_ethernet(r)) {
		for (unsigned i = 0; i < put->n_pdr; i++) {
			if ((r->pdr[i].flags & UPF_PDR_ETHERNET) != 0)
				return false;
		}
		// No IP packet gets into a bridge.
		for (unsigned i = 0; i < put->n_far; i++) {
			const struct upf_far *far = &r->far[i];

			if (far->ohc == UPF_OHC_NONE && (far->action & UPF_FAR_FORW) != 0 &&
				far->destination_interface == UPF_IF_CORE &&
				config->interface[config_port_of(far->network)].ethernet)
				return false;
		}
		return put->n_ethernet == 0 &&
			!config->interface[config_port_of(put->network)].ethernet;
	}
	if (put->n_route != 0 || put->n_application != 0 || put->nat_addr_be != 0)
		return false;
	for (unsigned i = 0; i < put->n_pdr; i++) {
		if (!ethernet_pdr_is_valid(&r->pdr[i]))
			return false;
	}
	for (unsigned i = 0; i < put->n_far; i++) {
		if (!ethernet_far_is_valid(config, r, &r->far[i]))
			return false;
	}
	for (unsigned i = 0; i < put->n_ethernet; i++) {
		const struct upf_ethernet_filter *f = &r->ethernet[i];

		if ((f->flags & ~0x3fu) != 0 ||
			!range_is_valid(f->sdf_first, f->sdf_count, put->n_sdf) ||
			!range_is_valid(f->sdf6_first, f->sdf6_count, put->n_sdf6))
			return false;
	}
	return true;
}

static bool
record_is_valid(const struct config *config, struct record *r)
{
	const struct upf_session_put *put = r->put;

	if (put->network >= config->networks)
		return false;
	for (unsigned i = 0; i < put->n_far; i++) {
		if (!far_is_valid(config, r, &r->far[i]))
			return false;
	}
	for (unsigned i = 0; i < put->n_qer; i++) {
		if (!qer_is_valid(config, &r->qer[i]))
			return false;
	}
	for (unsigned i = 0; i < put->n_urr; i++) {
		if (!urr_is_valid(config, r, &r->urr[i]))
			return false;
	}
	for (unsigned i = 0; i < put->n_pdr; i++) {
		if (!pdr_is_valid(config, r, &r->pdr[i]) ||
			(i > 0 && r->pdr[i].precedence < r->pdr[i - 1].precedence))
			return false;
	}
	return sdfs_are_valid(r) && routes_are_valid(r) && nat_is_valid(config, r) &&
		ethernet_is_valid(config, r);
}

// ---- the parts -------------------------------------------------------------------------------

// Memory of a part as it is laid out. Without base only the size is counted.
struct layout {
	const struct compile_context *context;
	const struct record *r;
	const struct table *table;
	uint8_t *base;
	uint32_t used;
	// For what is written while nothing is laid out.
	struct pdr_more scratch;
};

// Where the next octets of this kind stand, as an offset in the part.
static uint32_t
reserve(struct layout *l, size_t octets)
{
	uint32_t at = l->used;

	l->used += (uint32_t)(octets + 7) & ~7u;
	return at;
}

static void
put_at(struct layout *l, uint32_t at, const void *from, size_t octets)
{
	if (l->base != NULL && octets != 0)
		memcpy(l->base + at, from, octets);
}

// By the UE's address, so that a UE's packets keep their order, or by the session's index where it has none.
static bool
goes_by_second_gateway(const struct record *r)
{
	if (r->has_ue6 && !r->has_ue4)
		return r->ue6 * UINT64_C(0x9e3779b97f4a7c15) >> 63 != 0;
	return (r->has_ue4 ? rte_be_to_cpu_32(r->ue4) : r->put->session) * UINT32_C(0x9e3779b1) >>
		31 !=
		0;
}

static void
compile_far(const struct layout *l, const struct upf_far *far, struct pdr *to)
{
	int owner;

	to->far_id = far->far_id;
	to->action = far->action;
	to->ohc = far->ohc;
	to->peer4 = ipv4(far->peer_addr);
	to->local4 = ipv4(far->local_addr);
	to->out_teid = rte_cpu_to_be_32(far->teid);
	to->peer_port = far->peer_port;
	to->bar = far->bar != UPF_NONE16 ? (uint8_t)far->bar : UINT8_MAX;
	if ((far->flags & UPF_FAR_TOS) != 0)
		to->tos = far->tos;
	// The interface whose address the packet carries is the one that it leaves by.
	owner = config_owner(l->context->config, outer_is_ipv6(far->ohc), far->local_addr);
	to->port = (uint8_t)(far->ohc != UPF_OHC_NONE && owner >= 0
			? owner
			: (int)config_port_of(far->network));
	if (goes_by_second_gateway(l->r))
		to->mark |= PDR_SECOND_GATEWAY;
	to->mark &= (uint8_t)~PDR_NAT; // of a quota's FAR: the PDR's may lead elsewhere
	if (far->ohc == UPF_OHC_NONE && far->destination_interface == UPF_IF_CORE &&
		l->context->config->interface[to->port].nat.ports != 0)
		to->mark |= PDR_NAT;
	// To access only a tunnel leads. SMFs send such a FAR first and update it when the gNB's
	// tunnel is known.
	if (far->destination_interface == UPF_IF_ACCESS && far->ohc == UPF_OHC_NONE &&
		(far->action & UPF_FAR_FORW) != 0)
		to->action = 0;
}

// The PDR's QERs: gates and marks into the PDR, rates into the list.
static unsigned
compile_qers(const struct layout *l, const struct upf_pdr *from, struct pdr *to,
	struct pdr_qer list[UPF_PDR_QERS])
{
	const struct config *config = l->context->config;
	uint64_t hz = l->context->tsc_hz;
	bool ul = to->direction == UPF_UL;
	unsigned n = 0;

	for (unsigned i = 0; i < from->n_qer; i++) {
		const struct upf_qer *qer = &l->r->qer[from->qer[i]];

		if ((qer->flags & (ul ? UPF_QER_GATE_UL_CLOSED : UPF_QER_GATE_DL_CLOSED)) != 0)
			to->flags |= PDR_GATE_CLOSED;
		if (to->out_qfi == 0)
			to->out_qfi = qer->qfi;
		if (!ul && (qer->flags & UPF_QER_RQI) != 0)
			to->mark |= PDR_RQI;
		if (!ul && (qer->flags & UPF_QER_PPI) != 0) {
			to->mark |= PDR_PPI;
			to->ppi = qer->ppi;
		}
		if (!ul && (qer->flags & UPF_QER_TOS) != 0)
			to->tos = qer->tos;
		if ((qer->flags & (UPF_QER_MBR | UPF_QER_GBR)) != 0)
			list[n++] = (struct pdr_qer){
				.cost = (qer->flags & UPF_QER_MBR) != 0
					? qer_cost(ul ? qer->mbr_ul : qer->mbr_dl, hz)
					: 0,
				.gbr_cost = (qer->flags & UPF_QER_GBR) != 0
					? qer_cost(ul ? qer->gbr_ul : qer->gbr_dl, hz)
					: 0,
				.depth = qer_depth(
					qer->window_ms != 0 ? qer->window_ms : config->qer.burst_ms,
					hz),
				.slot = qer->slot,
				.gbr_slot = qer->gbr_slot,
			};
	}
	return n;
}

static bool
far_has_more(const struct upf_far *far)
{
	return (far->flags & UPF_FAR_REDIRECT) != 0 || far->dup_count != 0 ||
		outer_is_ipv6(far->ohc);
}

static void
compile_far_addresses(const struct upf_far *far, struct pdr_more *more)
{
	if (outer_is_ipv6(far->ohc)) {
		memcpy(more->peer, far->peer_addr, sizeof(more->peer));
		memcpy(more->local, far->local_addr, sizeof(more->local));
	}
}

// Where copies go: PDRs of which nothing but the FAR is looked at.
static void
compile_duplicates(
	struct layout *l, const struct upf_far *far, const struct pdr *of, struct pdr_more *more)
{
	uint32_t at = reserve(l, far->dup_count * sizeof(struct pdr));

	more->dup = at;
	more->n_dup = far->dup_count;
	for (unsigned i = 0; i < far->dup_count; i++) {
		const struct upf_far *copy = &l->r->far[far->dup_first + i];
		struct pdr to = {.pdr_id = of->pdr_id,
			.direction = of->direction,
			.out_qfi = of->out_qfi,
			.copy = 1};

		compile_far(l, copy, &to);
		if (outer_is_ipv6(copy->ohc)) {
			struct pdr_more addresses = {0};

			to.more = reserve(l, sizeof(addresses));
			compile_far_addresses(copy, &addresses);
			put_at(l, to.more, &addresses, sizeof(addresses));
		}
		put_at(l, at, &to, sizeof(to));
		at += sizeof(to);
	}
}

// What of a FAR is not usual.
static void
compile_far_more(struct layout *l, const struct upf_far *far, struct pdr *to, struct pdr_more *more)
{
	compile_far_addresses(far, more);
	if ((far->flags & UPF_FAR_REDIRECT) != 0) {
		to->flags |= PDR_REDIRECT;
		to->action &= UPF_FAR_DUPL; // the packet goes nowhere
		more->text_len = far->text_count;
		more->text = reserve(l, far->text_count);
		put_at(l, more->text, l->r->text + far->text_first, far->text_count);
	}
	if (far->dup_count != 0)
		compile_duplicates(l, far, to, more);
}

// The PDR that a packet follows whose quota is used up: nothing but the FAR for quota action, without
// being limited or counted again.
static uint32_t
compile_quota_pdr(struct layout *l, const struct pdr *of, const struct upf_far *far)
{
	struct pdr pdr = *of;
	uint32_t at = reserve(l, sizeof(pdr));

	pdr.n_qer = pdr.n_urr = 0;
	pdr.flags &= (uint8_t) ~(PDR_GATE_CLOSED | PDR_BEFORE_QOS | PDR_REDIRECT);
	pdr.urr_flags = 0;
	pdr.more = 0;
	pdr.at = at;
	compile_far(l, far, &pdr);
	if (far_has_more(far)) {
		struct pdr_more more = {0};

		pdr.more = reserve(l, sizeof(more));
		compile_far_more(l, far, &pdr, &more);
		put_at(l, pdr.more, &more, sizeof(more));
	}
	put_at(l, at, &pdr, sizeof(pdr));
	return at;
}

static void
compile_more(struct layout *l, const struct upf_pdr *from, struct pdr *to,
	const struct pdr_qer qer[], const struct pdr_urr urr[], bool long_qers, bool long_urrs)
{
	const struct upf_far *far = &l->r->far[from->far];
	struct pdr_more more = {0};

	if (!long_qers && !long_urrs && !far_has_more(far))
		return;
	to->more = reserve(l, sizeof(more));
	if (long_qers) {
		more.qer = reserve(l, to->n_qer * sizeof(*qer));
		put_at(l, more.qer, qer, to->n_qer * sizeof(*qer));
	}
	if (long_urrs) {
		more.urr = reserve(l, to->n_urr * sizeof(*urr));
		put_at(l, more.urr, urr, to->n_urr * sizeof(*urr));
	}
	compile_far_more(l, far, to, &more);
	put_at(l, to->more, &more, sizeof(more));
}

// What comes from access and goes back there is on its way to the UE.
static bool
relays(const struct layout *l, const struct upf_pdr *pdr)
{
	return pdr->source_interface == UPF_IF_ACCESS &&
		l->r->far[pdr->far].destination_interface == UPF_IF_ACCESS;
}

static struct pdr
compile_pdr(struct layout *l, const struct upf_pdr *from)
{
	bool relay = relays(l, from);
	struct pdr pdr = {
		.qfi = from->qfi,
		.removal = from->removal,
		.pdr_id = from->pdr_id,
		.precedence = from->precedence,
		.direction = from->source_interface == UPF_IF_ACCESS && !relay ? UPF_UL : UPF_DL,
		.mark = relay ? PDR_RELAYS : 0,
		.n_urr = from->n_urr,
	};
	struct pdr_qer qer[UPF_PDR_QERS] = {0};
	struct pdr_urr urr[UPF_PDR_URRS] = {0};
	bool long_qers = false, long_urrs = from->n_urr > PDR_INLINE_URRS;
	uint8_t any = 0;

	if ((from->flags & UPF_PDR_TEID) != 0)
		config_gtpu_key(l->context->config, (from->flags & UPF_PDR_N3_IPV6) != 0,
			from->n3_addr, from->teid, &pdr.fteid);
	pdr.flags = (uint8_t)(((from->flags & UPF_PDR_UE_IPV4) != 0 ? PDR_UE_IPV4 : 0) |
		((from->flags & UPF_PDR_UE_IPV6) != 0 ? PDR_UE_IPV6 : 0) |
		((from->flags & UPF_PDR_QFI) != 0 ? PDR_QFI : 0) |
		((from->flags & (UPF_PDR_SDF | UPF_PDR_ETHERNET)) != 0 ? PDR_SDF : 0) |
		((from->flags & (UPF_PDR_REMOVE | UPF_PDR_TEID)) == UPF_PDR_REMOVE ? PDR_REMOVE
										   : 0));
	if ((from->flags & (UPF_PDR_SDF | UPF_PDR_ETHERNET)) != 0) {
		pdr.sdf_first = from->sdf_first;
		pdr.sdf_count = from->sdf_count;
		pdr.sdf6_first = from->sdf6_first;
		pdr.sdf6_count = from->sdf6_count;
	}
	pdr.n_qer = (uint8_t)compile_qers(l, from, &pdr, qer);
	compile_far(l, &l->r->far[from->far], &pdr);
	for (unsigned i = 0; i < pdr.n_qer; i++) {
		long_qers |= qer[i].gbr_cost != 0 || qer[i].cost == QER_COST_BLOCKED ||
			qer[i].depth !=
				qer_depth(l->context->config->qer.burst_ms, l->context->tsc_hz) ||
			pdr.n_qer > PDR_INLINE_QERS;
		if (i < PDR_INLINE_QERS) {
			pdr.cost[i] = qer[i].cost;
			pdr.qer_at[i] = shm_tat_place(qer[i].slot, pdr.direction);
		}
	}
	for (unsigned i = 0; i < from->n_urr; i++) {
		const struct upf_urr *u = &l->r->urr[from->urr[i]];

		urr[i] = (struct pdr_urr){.slot = u->slot, .flags = u->flags};
		any |= u->flags;
		if (u->quota_far != UPF_NONE16)
			urr[i].quota_pdr = compile_quota_pdr(l, &pdr, &l->r->far[u->quota_far]);
		long_urrs |= u->quota_far != UPF_NONE16;
		if (i < PDR_INLINE_URRS) {
			pdr.urr_at[i] = shm_urr_place(u->slot, pdr.direction);
			pdr.urr_flags |= (uint8_t)(u->flags << i * PDR_URR_BITS);
		}
	}
	if (long_urrs)
		pdr.urr_flags = PDR_URR_LIST;
	if ((any & UPF_URR_BEFORE_QOS) != 0)
		pdr.flags |= PDR_BEFORE_QOS;
	compile_more(l, from, &pdr, qer, urr, long_qers, long_urrs);
	return pdr;
}

static bool
part_has(const struct upf_pdr *pdr, enum upf_direction direction)
{
	return (pdr->source_interface == UPF_IF_ACCESS) == (direction == UPF_UL);
}

// How the PDRs of one direction are found, when they are not simply tried.
struct table {
	struct tss_entry *entry;
	unsigned n;
	size_t size; // 0: there is none
};

static bool
wants_table(const struct record *r, enum upf_direction direction)
{
	unsigned n = 0;

	if (is_ethernet(r))
		return false;
	for (unsigned i = 0; i < r->put->n_pdr; i++) {
		if (!part_has(&r->pdr[i], direction))
			continue;
		// What tells applications is learned where a table is asked.
		if ((r->pdr[i].flags & UPF_PDR_SDF) != 0 || r->put->n_application != 0 ||
			++n > LIST_PDRS)
			return true;
	}
	return false;
}

// False: no memory.
static bool
plan_table(const struct config *config, const struct record *r, enum upf_direction direction,
	struct table *table)
{
	unsigned room = 0;
	uint16_t order = 0;

	*table = (struct table){0};
	if (!wants_table(r, direction))
		return true;
	for (unsigned i = 0; i < r->put->n_pdr; i++)
		room += part_has(&r->pdr[i], direction) ? tss_entries_max(&r->pdr[i]) : 0;
	table->entry = aligned_alloc(_Alignof(struct tss_entry), room * sizeof(*table->entry));
	if (table->entry == NULL)
		return false;
	for (unsigned i = 0; i < r->put->n_pdr; i++) {
		const struct upf_pdr *pdr = &r->pdr[i];
		uint64_t fteid = 0;

		if (!part_has(pdr, direction))
			continue;
		if ((pdr->flags & UPF_PDR_TEID) != 0)
			config_gtpu_key(config, (pdr->flags & UPF_PDR_N3_IPV6) != 0, pdr->n3_addr,
				pdr->teid, &fteid);
		table->n += tss_entries_of_pdr(table->entry + table->n, order++, pdr, r->sdf,
			r->sdf6, fteid, r->put->n_route != 0);
	}
	table->size = tss_size(table->entry, table->n);
	if (table->size == 0)
		free(table->entry);
	return table->size != 0;
}

// Behind struct part_more, in the next line: part_prefetch_table(). False: no memory.
static bool
compile_table(struct layout *l, struct part_more *more)
{
	l->used = (l->used + TSS_ALIGN - 1) / TSS_ALIGN * TSS_ALIGN;
	more->table = reserve(l, l->table->size);
	return l->base == NULL ||
		tss_compile((struct tss *)(void *)(l->base + more->table), l->table->entry,
			l->table->n);
}

static uint32_t
compile_routes(struct layout *l)
{
	const struct record *r = l->r;
	struct part_routes head = {.n = r->put->n_route};
	uint32_t at = reserve(l, sizeof(head));

	put_at(l, at, &head, sizeof(head));
	for (unsigned i = 0; i < head.n; i++) {
		struct part_route to = route_of(&r->route[i]);

		put_at(l, reserve(l, sizeof(to)), &to, sizeof(to));
	}
	return at;
}

static uint32_t
compile_applications(struct layout *l)
{
	const struct record *r = l->r;
	size_t octets = r->put->n_application * sizeof(*r->application);
	struct part_applications head = {.n = r->put->n_application, .stamp = UINT32_C(0x811c9dc5)};
	uint32_t at = reserve(l, sizeof(head));

	for (unsigned i = 0; i < head.n; i++) {
		uint64_t number = r->application[i].number;

		head.stamp = (head.stamp ^ (uint32_t)(number >> 32) ^ (uint32_t)number) *
			UINT32_C(0x01000193);
		head.told |= r->application[i].quiet_ms != 0 ? UINT32_C(1) << i : 0;
	}
	put_at(l, at, &head, sizeof(head));
	put_at(l, reserve(l, octets), r->application, octets);
	return at;
}

static uint32_t
compile_ethernet(struct layout *l)
{
	const struct record *r = l->r;
	size_t filters = r->put->n_ethernet * sizeof(*r->ethernet);
	struct part_ethernet head = {.n = r->put->n_ethernet};
	uint32_t at = reserve(l, sizeof(head) + filters);

	put_at(l, at + (uint32_t)sizeof(head), r->ethernet, filters);
	head.sdf = reserve(l, r->put->n_sdf * sizeof(*r->sdf));
	put_at(l, head.sdf, r->sdf, r->put->n_sdf * sizeof(*r->sdf));
	head.sdf6 = reserve(l, r->put->n_sdf6 * sizeof(*r->sdf6));
	put_at(l, head.sdf6, r->sdf6, r->put->n_sdf6 * sizeof(*r->sdf6));
	for (unsigned i = 0; i < r->put->n_urr; i++) {
		uint32_t s = r->urr[i].ethernet_inactivity_s;

		if (s != 0 && (head.inactivity_s == 0 || s < head.inactivity_s))
			head.inactivity_s = s;
	}
	put_at(l, at, &head, sizeof(head));
	return at;
}

// All sessions of a bridge have one home: bridge.h.
static unsigned
bucket_of(const struct compile_context *context, const struct record *r)
{
	if (is_ethernet(r) && context->config->interface[config_port_of(r->put->network)].ethernet)
		return r->put->network % HOME_BUCKETS;
	if (r->has_ue4)
		return home_bucket4(r->ue4);
	return r->has_ue6 ? home_bucket6(r->ue6) : r->put->session % HOME_BUCKETS;
}

// False: no memory.
static bool
compile_part(struct layout *l, enum upf_direction direction)
{
	const struct record *r = l->r;
	struct part part = {
		.session = r->put->session,
		.direction = direction,
		.ethernet = is_ethernet(r),
		.n6 = (uint8_t)config_port_of(r->put->network),
		.ue4 = r->ue4,
		.ue6 = r->ue6,
		.ue6_len = r->ue6_len,
		.home = (uint8_t)home_worker(bucket_of(l->context, r), l->context->config->workers),
		.group = (uint8_t)r->put->group,
		.flags = (uint8_t)((r->has_ue4 ? PART_UE_IPV4 : 0) |
			(r->has_ue6 ? PART_UE_IPV6 : 0)),
	};
	struct part_more more = {0};
	uint32_t at;

	for (unsigned i = 0; i < r->put->n_pdr; i++)
		part.n_pdr += part_has(&r->pdr[i], direction);
	for (unsigned i = 0; i < r->put->n_sdf && !is_ethernet(r); i++)
		part.flags |= (r->sdf[i].flags & SDF_BEHIND_IP) != 0 ? PART_PORTS : 0;
	for (unsigned i = 0; i < r->put->n_sdf6 && !is_ethernet(r); i++)
		part.flags |= (r->sdf6[i].flags & SDF_BEHIND_IP) != 0 ? PART_PORTS : 0;
	for (unsigned i = 0; i < r->put->n_far; i++)
		part.flags |= (r->far[i].action & UPF_FAR_BUFF) != 0 ? PART_BUFFERS : 0;
	// Only whole packets have the ports by which they are translated.
	part.flags |= r->put->nat_addr_be != 0 ? PART_NAT | PART_PORTS : 0;
	// And those by which their flow is known.
	if (r->put->n_application != 0 && l->table->size != 0)
		part.flags |= PART_DOMAINS | PART_PORTS;
	reserve(l, sizeof(part));
	at = reserve(l, part.n_pdr * sizeof(struct pdr));
	for (unsigned i = 0; i < r->put->n_pdr; i++) {
		struct pdr pdr;

		if (!part_has(&r->pdr[i], direction))
			continue;
		pdr = compile_pdr(l, &r->pdr[i]);
		pdr.at = at;
		put_at(l, at, &pdr, sizeof(pdr));
		at += sizeof(pdr);
	}
	if (l->used > at || l->table->size != 0 || r->put->n_bar != 0 || r->put->n_route != 0 ||
		(part.flags & PART_NAT) != 0 || is_ethernet(r)) {
		if (r->put->n_route != 0) {
			part.flags |= PART_FRAMED;
			more.route = compile_routes(l);
		}
		if (is_ethernet(r)) {
			part.flags |= PART_ETHERNET;
			more.ethernet = compile_ethernet(l);
		} else if ((part.flags & PART_DOMAINS) != 0)
			more.applications = compile_applications(l);
		more.nat_addr = r->put->nat_addr_be;
		more.nat_port = r->put->nat_port;
		part.n_bar = (uint8_t)r->put->n_bar;
		more.bar = reserve(l, r->put->n_bar * sizeof(*r->bar));
		put_at(l, more.bar, r->bar, r->put->n_bar * sizeof(*r->bar));
		part.more = reserve(l, sizeof(more));
		if (l->table->size != 0) {
			part.flags |= PART_TABLE;
			if (!compile_table(l, &more))
				return false;
		}
		more.size = l->used;
		put_at(l, part.more, &more, sizeof(more));
	}
	put_at(l, 0, &part, sizeof(part));
	return true;
}

// An F-TEID leads to one part: who sends to it is either on the access or on the core side.
static bool
share_fteid(const struct part *ul, const struct part *dl)
{
	for (unsigned i = 0; i < dl->n_pdr; i++) {
		for (unsigned j = 0; dl->pdr[i].fteid != 0 && j < ul->n_pdr; j++) {
			if (dl->pdr[i].fteid == ul->pdr[j].fteid)
				return true;
		}
	}
	return false;
}

static void
give_back(struct arena *arena, arena_ref part[2])
{
	for (unsigned dir = 0; dir < 2; dir++) {
		if (part[dir] != ARENA_NONE)
			arena_free(arena, part[dir], part_size(arena_at(arena, part[dir])));
		part[dir] = ARENA_NONE;
	}
}

// Allocates and fills the part of one direction; ARENA_NONE: no memory.
static arena_ref
make_part(
	const struct compile_context *context, const struct record *r, enum upf_direction direction)
{
	struct table table;
	struct layout count = {.context = context, .r = r, .table = &table};
	struct layout layout = {.context = context, .r = r, .table = &table};
	arena_ref part;

	if (!plan_table(context->config, r, direction, &table))
		return ARENA_NONE;
	compile_part(&count, direction);
	part = arena_alloc(context->arena, count.used);
	if (part != ARENA_NONE) {
		layout.base = arena_at(context->arena, part);
		if (!compile_part(&layout, direction)) {
			arena_free(context->arena, part, count.used);
			part = ARENA_NONE;
		}
	}
	free(table.entry);
	return part;
}

int
compile_session(const struct compile_context *context, const struct upf_session_put *put,
	arena_ref part[2], const uint8_t **blob)
{
	struct record r = {0};

	part[0] = part[1] = ARENA_NONE;
	if (split(put, &r) != 0 || !record_is_valid(context->config, &r))
		return EINVAL;
	for (unsigned dir = 0; dir < 2; dir++) {
		part[dir] = make_part(context, &r, (enum upf_direction)dir);
		if (part[dir] == ARENA_NONE) {
			give_back(context->arena, part);
			return ENOMEM;
		}
	}
	if (share_fteid(arena_at(context->arena, part[UPF_UL]),
		    arena_at(context->arena, part[UPF_DL]))) {
		give_back(context->arena, part);
		return EINVAL;
	}
	*blob = r.blob;
	return 0;
}
