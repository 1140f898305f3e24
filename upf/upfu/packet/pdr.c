// PDR matching (TS 29.244 5.2.1): the PDRs of the part by precedence, the first that matches the
// whole PDI wins. Packets from a tunnel are matched by PDRs with its F-TEID, others by those without.
// A part with SDF filters or many PDRs has a table that finds the same one (tss.h); it lies behind
// the PDRs in memory that is as cold, so the burst then goes through three times.
#include "packet/detection.h"
#include "packet/end_marker.h"
#include "packet/ipv6.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/ra.h"
#include "packet/reassembly.h"
#include "packet/stages.h"
#include "packet/user_header.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"
#include "rules/tss.h"

// What a packet has for the PDRs of its part.
struct finding {
	uint64_t fteid;   // 0: not from a tunnel
	uint8_t families; // PDR_UE_* that the user's address fits, else 0
	const struct rte_ipv4_hdr *ip;
};

// Of a part without a table: none of its PDRs has SDF filters.
static inline bool
pdr_matches(const struct pdr *pdr, const struct pkt *p, const struct finding *f)
{
	if (pdr->fteid != f->fteid)
		return false;
	if ((pdr->flags & PDR_UE) != 0 && (pdr->flags & f->families) == 0)
		return false;
	return (pdr->flags & PDR_QFI) == 0 || pdr->qfi == p->qfi;
}

static inline __attribute__((always_inline)) const struct pdr *
find_in_list(const struct part *part, const struct pkt *p, const struct finding *f)
{
	const struct pdr *pdr = part->pdr, *end = pdr + part->n_pdr;

	while (pdr < end && !pdr_matches(pdr, p, f))
		pdr++;
	return pdr;
}

// `applications`: those of the session that the packet is of (detection.h); mostly the compiler knows that there are none.
static inline __attribute__((always_inline)) const struct pdr *
find_in_table_of(const struct part *part, const struct pkt *p, const struct finding *f,
	enum upf_direction direction, uint32_t applications)
{
	const struct tss *table = part_at(part, part_more(part)->table);
	struct tss_flow flow;
	uint16_t i;

	// Its entries are of no address then.
	if (unlikely((part->flags & PART_FRAMED) != 0) && f->families == 0)
		return &part->pdr[part->n_pdr];

	if (likely(!p->ip6)) {
		tss_flow_ipv4(&flow, f->ip, p->ip_len, direction, p->qfi, f->fteid);
		tss_flow_add_applications(&flow, TSS_IPV4, applications);
		i = tss_match(table, TSS_IPV4, &flow);
	} else {
		tss_flow_ipv6(&flow, (const struct rte_ipv6_hdr *)f->ip, p->ip_len, p->proto, p->l4,
			direction, p->qfi, f->fteid);
		tss_flow_add_applications(&flow, TSS_IPV6, applications);
		i = tss_match(table, TSS_IPV6, &flow);
	}
	return &part->pdr[i != TSS_NONE ? i : part->n_pdr];
}

static inline __attribute__((always_inline)) const struct pdr *
find_in_table(const struct part *part, const struct pkt *p, const struct finding *f,
	enum upf_direction direction)
{
	return find_in_table_of(part, p, f, direction, 0);
}

// Of a PDR with pdr_urr_flags() or PDR_URR_LIST.
static __attribute__((noinline)) void
prefetch_of_urrs(const struct worker *w, const struct pdr *pdr)
{
	if ((pdr->urr_flags & PDR_URR_LIST) != 0) {
		rte_prefetch0(pdr_more(pdr_part(pdr), pdr));
		return;
	}
	// Both slots' times are in one line, as their counters are.
	if (((pdr->urr_flags | pdr->urr_flags >> PDR_URR_BITS) & UPF_URR_TIMED) != 0)
		rte_prefetch0(&w->slots.times[shm_slot(pdr->urr_at[0])]);
}

static inline void
prefetch_slots(struct worker *w, const struct pdr *pdr)
{
	// upf-c gives a session's QERs and URRs the same pairs, so that these are mostly one line.
	if (pdr->n_qer != 0)
		rte_prefetch0(shm_at(&w->slots, pdr->qer_at[0]));
	if (pdr->n_urr != 0)
		rte_prefetch0(shm_at(&w->slots, pdr->urr_at[0]));
	if (unlikely(pdr->urr_flags != 0))
		prefetch_of_urrs(w, pdr);
}

// An IPv6 packet of a UE that does not leave the link: Router and Neighbour Solicitation, multicast.
static inline bool
is_of_the_link(const struct ipv6_header *ip)
{
	return (ip->src[0] == 0xfe && (ip->src[1] & 0xc0) == 0x80) || ip->dst[0] == 0xff ||
		(ip->dst[0] == 0xfe && (ip->dst[1] & 0xc0) == 0x80) ||
		memcmp(ip->src, (upf_addr){0}, sizeof(upf_addr)) == 0;
}

// Of a packet whose address is not the UE's: it may be one behind the UE.
static __attribute__((noinline)) uint8_t
framed_families(const struct part *part, const struct pkt *p, bool uplink)
{
	const struct part_routes *routes = part_routes(part);
	uint64_t addr;

	if (p->ip6) {
		const struct ipv6_header *ip = (const struct ipv6_header *)pkt_ip(p);

		addr = ue_key6(uplink ? ip->src : ip->dst);
	} else {
		const struct rte_ipv4_hdr *ip = pkt_ip(p);

		addr = ue_key(uplink ? ip->src_addr : ip->dst_addr);
	}
	for (unsigned i = 0; i < routes->n; i++) {
		const struct part_route *route = &routes->route[i];

		if (route->ip6 == p->ip6 && ((addr ^ route->prefix) & route->mask) == 0)
			return p->ip6 ? PDR_UE_IPV6 : PDR_UE_IPV4;
	}
	return 0;
}

// The families whose UE address, or framed route, is the packet's: one or none.
static inline __attribute__((always_inline)) uint8_t
families_of(const struct part *part, const struct pkt *p, bool uplink)
{
	if (likely(!p->ip6)) {
		const struct rte_ipv4_hdr *ip = pkt_ip(p);
		rte_be32_t addr = uplink ? ip->src_addr : ip->dst_addr;

		if (likely(addr == part->ue4 && (part->flags & PART_UE_IPV4) != 0))
			return PDR_UE_IPV4;
	} else if ((part->flags & PART_UE_IPV6) != 0) {
		const struct ipv6_header *ip = (const struct ipv6_header *)pkt_ip(p);
		uint64_t key = ue_key6(uplink ? ip->src : ip->dst);

		if (((key ^ part->ue6) & ue6_mask(part->ue6_len)) == 0)
			return PDR_UE_IPV6;
	}
	return unlikely((part->flags & PART_FRAMED) != 0) ? framed_families(part, p, uplink) : 0;
}

// Indirect forwarding (TS 23.502 4.9.1.3, TS 23.501 5.8.2.3): after a handover the source gNB sends
// back, by a tunnel of its own, what was on its way to the UE, and it goes on to the target. That comes from access and is
// the UE's by its destination. Whether the packet is such a one; p->pdr is its PDR then.
static __attribute__((noinline)) bool
find_relaying(struct pkt *p, struct finding *f)
{
	const struct part *part = p->part;

	f->families = families_of(part, p, false);
	if (f->families == 0)
		return false;
	p->pdr = (part->flags & PART_TABLE) != 0 ? find_in_table(part, p, f, UPF_DL)
						 : find_in_list(part, p, f);
	return p->pdr != part->pdr + part->n_pdr && (p->pdr->mark & PDR_RELAYS) != 0;
}

// A fragment where a rule asks for ports. Of a UE's only those from and to its own address are kept, as
// pdr_match() will ask of the whole packet.
static __attribute__((noinline)) int
pdr_make_whole(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;

	if (part->direction == UPF_UL && (part->flags & (PART_UE_IPV4 | PART_UE_IPV6)) != 0 &&
		families_of(part, p, true) == 0 && families_of(part, p, false) == 0)
		return UPF_DROP_SPOOFED_SOURCE;
	return reassembly_take_user(w, p);
}

// What must be so before any PDR is asked. Most packets need nothing of it.
static inline __attribute__((always_inline)) int
pdr_prepare(struct worker *w, struct pkt *p, bool uplink)
{
	if (p->tunnel) {
		int verdict = user_header(p);

		if (unlikely(verdict != PKT_NEXT))
			return p->tunnel == PKT_END_MARKER ? end_marker_take(w, p) : verdict;
		if (unlikely(p->ip6 && uplink) &&
			is_of_the_link((const struct ipv6_header *)pkt_ip(p)))
			return nd_from_ue(w, p);
	}
	// Only the first fragment has the ports.
	if (unlikely((p->fragment == PKT_FIRST || p->fragment == PKT_LATER) &&
		    (p->part->flags & PART_PORTS) != 0))
		return pdr_make_whole(w, p);
	return PKT_NEXT;
}

// The PDR is known and its lines are here.
static inline __attribute__((always_inline)) int
pdr_settle(struct worker *w, struct pkt *p)
{
	prefetch_slots(w, p->pdr);
	return (p->pdr->flags & PDR_REMOVE) != 0 ? outer_remove(p) : PKT_NEXT;
}

static int
pdr_settle_table(struct worker *w, struct pkt *p)
{
	return (p->part->flags & PART_TABLE) != 0 ? pdr_settle(w, p) : PKT_NEXT;
}

static int
pdr_match(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;
	bool uplink = part->direction == UPF_UL, table = (part->flags & PART_TABLE) != 0;
	struct finding f = {.fteid = p->tunnel ? p->key : 0};
	int verdict = pdr_prepare(w, p, uplink);

	if (unlikely(verdict != PKT_NEXT))
		return verdict;
	f.ip = pkt_ip(p);
	f.families = families_of(part, p, uplink);
	// A UE may only send from its own address: whatever the PDRs say of it, this is checked for
	// all that comes from access.
	if (unlikely(uplink && f.families == 0 &&
		    (part->flags & (PART_UE_IPV4 | PART_UE_IPV6)) != 0)) {
		if (!find_relaying(p, &f))
			return UPF_DROP_SPOOFED_SOURCE;
	} else {
		p->pdr = unlikely(table)
			? find_in_table(part, p, &f, (enum upf_direction)part->direction)
			: find_in_list(part, p, &f);
		if (unlikely(p->pdr == part->pdr + part->n_pdr))
			return UPF_DROP_NO_PDR;
	}
	if (likely(!table))
		return pdr_settle(w, p);
	rte_prefetch0(p->pdr);
	rte_prefetch0((const uint8_t *)p->pdr + RTE_CACHE_LINE_SIZE);
	return PKT_NEXT;
}

// The same of any session, of those too that have an application by domain: what their packets tell is learned before.
// Frames of Ethernet PDU sessions go another way from here on.
static int
pdr_match_any(struct worker *w, struct pkt *p)
{
	const struct part *part = p->part;
	enum upf_direction direction = (enum upf_direction)part->direction;
	struct finding f = {.fteid = p->tunnel ? p->key : 0};
	uint32_t applications = 0;
	int verdict;

	if (part->ethernet)
		return ethernet_take(w, p);
	verdict = pdr_prepare(w, p, direction == UPF_UL);
	if (verdict != PKT_NEXT)
		return verdict;
	f.ip = pkt_ip(p);
	f.families = families_of(part, p, direction == UPF_UL);
	if (direction == UPF_UL && f.families == 0 &&
		(part->flags & (PART_UE_IPV4 | PART_UE_IPV6)) != 0)
		return find_relaying(p, &f) ? PKT_NEXT : UPF_DROP_SPOOFED_SOURCE;
	if ((part->flags & PART_DOMAINS) != 0)
		applications = detection_look(w, p, direction);
	p->pdr = (part->flags & PART_TABLE) != 0
		? find_in_table_of(part, p, &f, direction, applications)
		: find_in_list(part, p, &f);
	return p->pdr != part->pdr + part->n_pdr ? PKT_NEXT : UPF_DROP_NO_PDR;
}

// A burst with a packet of such a session. Others run what they ran before there were any.
static __attribute__((noinline)) void
pdr_burst_any(struct worker *w, struct burst *b)
{
	burst_each_of_session(w, b, pdr_match_any);
	burst_each_of_session(w, b, pdr_settle);
}

void
pdr_burst(struct worker *w, struct burst *b)
{
	bool tables = false, applications = false;

	for (unsigned i = 0; i < b->n; i++) {
		const struct part *part = b->live[i]->part;

		if (unlikely((part->flags & PART_TABLE) != 0)) {
			part_prefetch_table(part);
			tables = true;
			applications |= (part->flags & PART_DOMAINS) != 0;
		}
	}
	if (unlikely(applications)) {
		pdr_burst_any(w, b);
		return;
	}
	burst_each_of_session(w, b, pdr_match);
	if (unlikely(tables))
		burst_each_of_session(w, b, pdr_settle_table);
}
