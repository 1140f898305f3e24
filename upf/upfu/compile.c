// Nothing in the record is trusted: counts, indexes, addresses and flags are checked before use.
#include "compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "qer.h"

struct parts { // of one SESSION_PUT
	const struct upf_session_put *put;
	const struct upf_pdr *pdr;
	const struct upf_far *far;
	const struct upf_qer *qer;
	const struct upf_urr *urr;
	const struct upf_sdf *sdf;
	const uint8_t *blob;
};

static int
split(const struct upf_session_put *put, struct parts *parts)
{
	const uint8_t *at = (const uint8_t *)(put + 1);
	uint64_t need;

	if (put->rec.length < sizeof(*put) || put->n_pdr > UPF_SESSION_PDRS ||
		put->n_far > UPF_SESSION_FARS || put->n_qer > UPF_SESSION_QERS ||
		put->n_urr > UPF_SESSION_URRS || put->n_sdf > UPF_SESSION_SDFS || put->n_bar != 0 ||
		put->n_sdf6 != 0 || put->text_len != 0)
		return EINVAL;
	need = sizeof(*put) + put->n_pdr * sizeof(struct upf_pdr) +
		put->n_far * sizeof(struct upf_far) + put->n_qer * sizeof(struct upf_qer) +
		put->n_urr * sizeof(struct upf_urr) + put->n_sdf * sizeof(struct upf_sdf) +
		put->blob_len;
	if (((need + 7) & ~UINT64_C(7)) != put->rec.length)
		return EINVAL;
	parts->put = put;
	parts->pdr = (const void *)at;
	at += put->n_pdr * sizeof(struct upf_pdr);
	parts->far = (const void *)at;
	at += put->n_far * sizeof(struct upf_far);
	parts->qer = (const void *)at;
	at += put->n_qer * sizeof(struct upf_qer);
	parts->urr = (const void *)at;
	at += put->n_urr * sizeof(struct upf_urr);
	parts->sdf = (const void *)at;
	at += put->n_sdf * sizeof(struct upf_sdf);
	parts->blob = at;
	return 0;
}

static rte_be32_t
ipv4(const upf_addr addr)
{
	rte_be32_t v4;

	memcpy(&v4, addr, sizeof(v4));
	return v4;
}

static bool
owns_n3(const struct config *config, rte_be32_t addr)
{
	const struct config_interface *n3 = &config->interface[UPF_PORT_N3];
	uint32_t mask = n3->block_len == 0 ? 0 : UINT32_MAX << (32 - n3->block_len);

	return ((rte_be_to_cpu_32(addr) ^ n3->address) & mask) == 0;
}

static bool
far_is_valid(const struct config *config, const struct upf_far *far)
{
	uint8_t way = far->action & (UPF_FAR_DROP | UPF_FAR_FORW | UPF_FAR_BUFF);

	if ((far->action & ~(UPF_FAR_DROP | UPF_FAR_FORW | UPF_FAR_BUFF | UPF_FAR_NOCP)) != 0 ||
		(way != UPF_FAR_DROP && way != UPF_FAR_FORW && way != UPF_FAR_BUFF) ||
		((far->action & UPF_FAR_NOCP) != 0 && way != UPF_FAR_BUFF) ||
		(far->flags & ~UPF_FAR_TOS) != 0 || far->ohc > UPF_OHC_GTPU4 ||
		far->bar != UPF_NONE16 || far->dup_count != 0 ||
		far->destination_interface > UPF_IF_CORE)
		return false;
	// While it buffers or drops, the tunnel may still be that of before, or none.
	if (way != UPF_FAR_FORW || far->ohc == UPF_OHC_NONE)
		return true;
	return ipv4(far->peer_addr) != 0 && far->peer_port != 0 &&
		owns_n3(config, ipv4(far->local_addr));
}

static bool
pdr_is_valid(const struct config *config, const struct parts *parts, const struct upf_pdr *pdr)
{
	const struct upf_session_put *put = parts->put;

	if ((pdr->flags &
		    ~(UPF_PDR_TEID | UPF_PDR_UE_IPV4 | UPF_PDR_QFI | UPF_PDR_REMOVE |
			    UPF_PDR_SDF)) != 0 ||
		pdr->source_interface > UPF_IF_CORE || pdr->far >= put->n_far ||
		pdr->sdf_first > put->n_sdf || pdr->sdf_count > put->n_sdf - pdr->sdf_first ||
		pdr->n_qer > UPF_PDR_QERS || pdr->n_urr > UPF_PDR_URRS || pdr->qfi > 0x3f)
		return false;
	for (unsigned i = 0; i < pdr->n_qer; i++) {
		if (pdr->qer[i] >= put->n_qer)
			return false;
	}
	for (unsigned i = 0; i < pdr->n_urr; i++) {
		if (pdr->urr[i] >= put->n_urr)
			return false;
	}
	// An F-TEID is one of ours, and what comes by it is always taken out of its tunnel.
	if ((pdr->flags & UPF_PDR_TEID) != 0)
		return owns_n3(config, ipv4(pdr->n3_addr)) && (pdr->flags & UPF_PDR_REMOVE) != 0 &&
			(pdr->removal == 0 || pdr->removal == 6) &&
			!((pdr->flags & UPF_PDR_UE_IPV4) != 0 && pdr->ue_addr_be == 0);
	return (pdr->flags & UPF_PDR_REMOVE) == 0 &&
		!((pdr->flags & UPF_PDR_UE_IPV4) != 0 && pdr->ue_addr_be == 0);
}

static bool
parts_are_valid(const struct compile_context *context, const struct parts *parts)
{
	const struct config_limits *limits = &context->config->limits;

	for (unsigned i = 0; i < parts->put->n_far; i++) {
		if (!far_is_valid(context->config, &parts->far[i]))
			return false;
	}
	for (unsigned i = 0; i < parts->put->n_qer; i++) {
		const struct upf_qer *qer = &parts->qer[i];

		if (qer->slot >= limits->qer_slots || qer->qfi > 0x3f ||
			(qer->flags &
				~(UPF_QER_GATE_UL_CLOSED | UPF_QER_GATE_DL_CLOSED | UPF_QER_MBR)) !=
				0)
			return false;
	}
	for (unsigned i = 0; i < parts->put->n_urr; i++) {
		if (parts->urr[i].slot >= limits->urr_slots ||
			(parts->urr[i].flags & ~UPF_URR_TIMED) != 0 ||
			parts->urr[i].quota_far != UPF_NONE16)
			return false;
	}
	for (unsigned i = 0; i < parts->put->n_sdf; i++) {
		if ((parts->sdf[i].flags &
			    ~(UPF_SDF_PROTO | UPF_SDF_TOS | UPF_SDF_SPI | UPF_SDF_PORTS)) != 0)
			return false;
	}
	for (unsigned i = 0; i < parts->put->n_pdr; i++) {
		if (!pdr_is_valid(context->config, parts, &parts->pdr[i]) ||
			(i > 0 && parts->pdr[i].precedence < parts->pdr[i - 1].precedence))
			return false;
	}
	return true;
}

static void
compile_qers(const struct compile_context *context, const struct parts *parts,
	const struct upf_pdr *from, struct pdr *to)
{
	bool ul = to->direction == UPF_UL;

	for (unsigned i = 0; i < from->n_qer; i++) {
		const struct upf_qer *qer = &parts->qer[from->qer[i]];

		if ((qer->flags & (ul ? UPF_QER_GATE_UL_CLOSED : UPF_QER_GATE_DL_CLOSED)) != 0)
			to->gate_closed = 1;
		if (to->out_qfi == 0)
			to->out_qfi = qer->qfi;
		if ((qer->flags & UPF_QER_MBR) != 0)
			to->qer[to->n_qer++] = (struct pdr_qer){
				.cost = qer_cost(ul ? qer->mbr_ul : qer->mbr_dl, context->tsc_hz),
				.slot = qer->slot,
			};
	}
}

static void
compile_far(const struct upf_far *far, struct pdr *to)
{
	to->action = far->action;
	to->ohc = far->ohc;
	to->tos = (far->flags & UPF_FAR_TOS) != 0 ? far->tos : 0;
	to->peer_addr = ipv4(far->peer_addr);
	to->local_addr = ipv4(far->local_addr);
	to->out_teid = rte_cpu_to_be_32(far->teid);
	to->peer_port = far->peer_port;
	// To access only a tunnel leads. SMFs send such a FAR first and update it when the gNB's
	// tunnel is known.
	if (far->destination_interface == UPF_IF_ACCESS && far->ohc == UPF_OHC_NONE &&
		(far->action & UPF_FAR_FORW) != 0)
		to->action = 0;
}

static void
compile_pdr(const struct compile_context *context, const struct parts *parts,
	const struct upf_pdr *from, struct pdr *to)
{
	*to = (struct pdr){
		.n3_addr = ipv4(from->n3_addr),
		.teid = from->teid,
		.ue_addr = from->ue_addr_be,
		.flags = from->flags,
		.qfi = from->qfi,
		.pdr_id = from->pdr_id,
		.sdf_first = from->sdf_first,
		.sdf_count = (from->flags & UPF_PDR_SDF) != 0 ? from->sdf_count : 0,
		.direction = from->source_interface == UPF_IF_ACCESS ? UPF_UL : UPF_DL,
		.n_urr = from->n_urr,
	};
	for (unsigned i = 0; i < from->n_urr; i++)
		to->urr[i] = (struct pdr_urr){
			.slot = parts->urr[from->urr[i]].slot,
			.flags = parts->urr[from->urr[i]].flags,
		};
	compile_qers(context, parts, from, to);
	compile_far(&parts->far[from->far], to);
}

static int
compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint32_t
sort_keys(uint64_t *keys, uint32_t n)
{
	uint32_t unique = 0;

	qsort(keys, n, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		if (unique == 0 || keys[unique - 1] != keys[i])
			keys[unique++] = keys[i];
	}
	return unique;
}

// Notes a UE IP address of the session. False: too many.
static bool
add_ue(struct rules *rules, rte_be32_t addr)
{
	for (unsigned i = 0; i < rules->n_ue; i++) {
		if (rules->ue[i] == addr)
			return true;
	}
	if (rules->n_ue == RULES_UES)
		return false;
	rules->ue[rules->n_ue++] = addr;
	return true;
}

int
compile_session(const struct compile_context *context, const struct upf_session_put *put,
	struct rules **compiled, const uint8_t **blob)
{
	struct parts parts;
	unsigned n_tunnel = 0, n_keys = put->n_pdr, tunnel = 0, plain = 0;
	struct rules *rules;
	struct upf_sdf *sdf;
	uint64_t *n3_keys, *ue_keys;

	if (split(put, &parts) != 0 || !parts_are_valid(context, &parts))
		return EINVAL;
	for (unsigned i = 0; i < put->n_pdr; i++)
		n_tunnel += (parts.pdr[i].flags & UPF_PDR_TEID) != 0;
	rules = rte_zmalloc("rules",
		sizeof(*rules) + put->n_pdr * sizeof(struct pdr) + put->n_sdf * sizeof(*sdf) +
			n_keys * sizeof(uint64_t),
		RTE_CACHE_LINE_SIZE);
	if (rules == NULL)
		return ENOMEM;
	rules->session = put->session;
	rules->n_tunnel = (uint16_t)n_tunnel;
	rules->n_plain = (uint16_t)(put->n_pdr - n_tunnel);
	rules->n_sdf = put->n_sdf;
	sdf = (struct upf_sdf *)(rules->pdr + put->n_pdr);
	if (put->n_sdf != 0)
		memcpy(sdf, parts.sdf, put->n_sdf * sizeof(*sdf));
	rules->sdf = sdf;
	n3_keys = (uint64_t *)(sdf + put->n_sdf);
	ue_keys = n3_keys + n_tunnel;
	rules->n3_key = n3_keys;
	rules->ue_key = ue_keys;
	for (unsigned i = 0; i < put->n_pdr; i++) {
		const struct upf_pdr *from = &parts.pdr[i];
		bool has_tunnel = (from->flags & UPF_PDR_TEID) != 0;
		struct pdr *to = &rules->pdr[has_tunnel ? tunnel++ : n_tunnel + plain++];

		compile_pdr(context, &parts, from, to);
		rules->buffers |= (to->action & UPF_FAR_BUFF) != 0;
		if (has_tunnel)
			n3_keys[rules->n_n3_key++] = n3_key(to->n3_addr, to->teid);
		else if ((from->flags & UPF_PDR_UE_IPV4) != 0 && to->direction == UPF_DL)
			ue_keys[rules->n_ue_key++] = ue_key(to->ue_addr);
		if ((from->flags & UPF_PDR_UE_IPV4) != 0 && !add_ue(rules, to->ue_addr)) {
			rte_free(rules);
			return EINVAL;
		}
	}
	rules->n_n3_key = sort_keys(n3_keys, rules->n_n3_key);
	rules->n_ue_key = sort_keys(ue_keys, rules->n_ue_key);
	*compiled = rules;
	*blob = parts.blob;
	return 0;
}
