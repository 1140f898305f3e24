#include "packet/bridge.h"

#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "link/vlan.h"
#include "packet/drop.h"
#include "packet/ethernet_frame.h"
#include "packet/events.h"
#include "packet/packet.h"
#include "packet/send.h"
#include "packet/stages.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "process/shm.h"
#include "rules/home.h"
#include "rules/session.h"

#define OF_N6 UINT32_MAX // in place of a session
#define NONE UINT32_MAX

struct station {
	uint64_t key;     // MAC address and VLAN
	uint64_t seen;    // TSC
	uint32_t session; // or OF_N6
	uint32_t incarnation;
	uint32_t next; // of the same bucket, or free
	uint32_t told; // 1 + of which upf-c (rule_base.listener); 0: it has not been told
	uint16_t c_vid, s_vid;
	uint8_t tags; // UPF_MAC_C_TAG, UPF_MAC_S_TAG
	bool used;
};

struct bridge {
	enum upf_port n6;
	uint32_t max;         // of station[]
	uint32_t of_n6_max;   // that may be N6's
	uint32_t per_session; // that may be a session's
	uint32_t copies;      // of a frame to all, at most
	uint32_t used, of_n6;
	uint32_t free; // first of a list
	uint32_t bucket_mask;
	uint32_t swept;       // where bridge_tick() goes on
	uint32_t turn;        // of the sessions, who is first with the next frame to all
	uint64_t ageing;      // TSC cycles
	uint32_t *bucket;     // first station
	uint16_t *of_session; // [sessions_max]: how many it has
	struct station station[];
};

// ---- the table -----------------------------------------------------------------------------------

static uint64_t
key_of(const struct rte_ether_addr *addr, uint16_t vid)
{
	const uint8_t *a = addr->addr_bytes;

	return (uint64_t)a[0] << 52 | (uint64_t)a[1] << 44 | (uint64_t)a[2] << 36 |
		(uint64_t)a[3] << 28 | (uint64_t)a[4] << 20 | (uint64_t)a[5] << 12 | vid;
}

static uint32_t *
place_of(struct bridge *b, uint64_t key)
{
	uint32_t *place = &b->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> 40 & b->bucket_mask];

	while (*place != NONE && b->station[*place].key != key)
		place = &b->station[*place].next;
	return place;
}

// The session's part, NULL: it is gone.
static const struct part *
part_of(const struct worker *w, const struct station *s, enum upf_direction direction)
{
	const struct part *part = session_current(w->sessions, s->session, direction);

	return part != NULL && part->incarnation == s->incarnation ? part : NULL;
}

// Which upf-c listens, as station.told; listening: it knows all sessions.
static uint32_t
upfc_now(const struct worker *w, bool *listening)
{
	// Relaxed: it carries nothing but itself.
	uint32_t listener =
		w->listener != NULL ? __atomic_load_n(w->listener, __ATOMIC_RELAXED) : 1;

	*listening = listener % 2 != 0;
	return listener / 2 + 1;
}

static bool
tell_mac(struct worker *w, const struct upf_ev_mac *mac)
{
	struct event event = {.mac = *mac};

	event.mac.rec = (struct upf_record){.type = UPF_REC_EV_MAC, .length = sizeof(event.mac)};
	return worker_raise(w, &event);
}

static bool
tell(struct worker *w, const struct station *s, uint16_t flags)
{
	struct upf_ev_mac mac = {
		.session = s->session,
		.flags = (uint16_t)(flags | s->tags),
		.c_vid = s->c_vid,
		.s_vid = s->s_vid,
	};

	for (unsigned i = 0; i < sizeof(mac.mac); i++)
		mac.mac[i] = (uint8_t)(s->key >> (52 - 8 * i));
	return tell_mac(w, &mac);
}

// It is there: whoever listens is told, if the ring of events has room; else bridge_tick() tries again.
static void
tell_of(struct worker *w, struct station *s)
{
	bool listening;
	uint32_t upfc = upfc_now(w, &listening);

	if (s->session != OF_N6)
		s->told = tell(w, s, 0) ? upfc : 0;
}

static void
count_off(struct bridge *b, const struct station *s)
{
	if (s->session == OF_N6)
		b->of_n6--;
	else
		b->of_session[s->session]--;
}

static void
forget(struct worker *w, struct bridge *b, struct station *s)
{
	uint32_t *place = place_of(b, s->key);

	// Of a session that ended nobody asks.
	if (s->session != OF_N6 && s->told != 0 && part_of(w, s, UPF_UL) != NULL)
		tell(w, s, UPF_MAC_GONE);
	count_off(b, s);
	*place = s->next;
	s->used = false;
	s->next = b->free;
	b->free = (uint32_t)(s - b->station);
	b->used--;
}

static bool
has_room(const struct bridge *b, uint32_t session)
{
	return session == OF_N6 ? b->of_n6 < b->of_n6_max : b->of_session[session] < b->per_session;
}

// A free place that is `key`'s from now on. There is one.
static struct station *
enter(struct bridge *b, uint64_t key)
{
	uint32_t *place = place_of(b, key);
	struct station *s = &b->station[b->free];

	*place = b->free;
	b->free = s->next;
	s->next = NONE;
	s->key = key;
	s->used = true;
	b->used++;
	return s;
}

// It is of this session, or N6's (part NULL).
static void
settle(struct worker *w, struct bridge *b, struct station *s, const struct part *part)
{
	s->session = part != NULL ? part->session : OF_N6;
	s->incarnation = part != NULL ? part->incarnation : 0;
	s->seen = w->now;
	s->told = 0;
	if (part == NULL)
		b->of_n6++;
	else
		b->of_session[s->session]++;
}

// The frame's source is there. part NULL: at N6.
static void
learn(struct worker *w, struct bridge *b, const struct ethernet_frame *frame,
	const struct part *part)
{
	uint32_t session = part != NULL ? part->session : OF_N6;
	uint64_t key = key_of(&frame->header->src_addr, ethernet_frame_vid(frame));
	uint32_t *place = place_of(b, key);
	struct station *s = *place != NONE ? &b->station[*place] : NULL;
	struct upf_local_stats *stats = &w->stats->local;

	if (likely(s != NULL && s->session == session &&
		    (part == NULL || s->incarnation == part->incarnation))) {
		s->seen = w->now;
		return;
	}
	if (!has_room(b, session) || (s == NULL && b->free == NONE)) {
		// Where it was it is no more.
		if (s != NULL)
			forget(w, b, s);
		shm_add(&stats->bridge_full, 1);
		return;
	}
	if (s != NULL) {
		if (s->session != OF_N6 && s->told != 0 && part_of(w, s, UPF_UL) != NULL)
			tell(w, s, UPF_MAC_GONE);
		count_off(b, s);
		shm_add(&stats->bridge_moved, 1);
	} else {
		s = enter(b, key);
		shm_add(&stats->bridge_learned, 1);
	}
	settle(w, b, s, part);
	s->tags =
		(uint8_t)((frame->has_c ? UPF_MAC_C_TAG : 0) | (frame->has_s ? UPF_MAC_S_TAG : 0));
	s->c_vid = frame->c_tag & VLAN_ID;
	s->s_vid = frame->s_tag & VLAN_ID;
	tell_of(w, s);
}

void
bridge_know(struct worker *w, const struct upf_ev_mac *known)
{
	const struct part *part = session_current(w->sessions, known->session, UPF_UL);
	struct upf_ev_mac gone = *known;
	struct rte_ether_addr addr;
	struct bridge *b;
	struct station *s;
	uint32_t place;
	uint64_t key;
	bool listening;

	// The session may have ended since, and another have its index.
	if (part == NULL || !part->ethernet || part->home != w->index)
		return;
	b = w->bridge[part->n6 - UPF_PORT_N6];
	if (b == NULL)
		return;
	memcpy(&addr, known->mac, sizeof(addr));
	key = key_of(&addr,
		(known->flags & UPF_MAC_S_TAG) != 0           ? known->s_vid
			: (known->flags & UPF_MAC_C_TAG) != 0 ? known->c_vid
							      : 0);
	place = *place_of(b, key);
	if (place != NONE && b->station[place].session != OF_N6 &&
		part_of(w, &b->station[place], UPF_UL) == NULL) {
		forget(w, b, &b->station[place]);
		place = NONE;
	}
	if (place != NONE && b->station[place].session == part->session)
		return;
	if (place != NONE || b->free == NONE || !has_room(b, part->session)) {
		gone.flags |= UPF_MAC_GONE;
		tell_mac(w, &gone);
		if (place == NONE)
			shm_add(&w->stats->local.bridge_full, 1);
		return;
	}
	s = enter(b, key);
	settle(w, b, s, part);
	s->told = upfc_now(w, &listening);
	s->tags = (uint8_t)(known->flags & (UPF_MAC_C_TAG | UPF_MAC_S_TAG));
	s->c_vid = known->c_vid;
	s->s_vid = known->s_vid;
	shm_add(&w->stats->local.bridge_learned, 1);
}

static struct station *
find(struct worker *w, struct bridge *b, const struct ethernet_frame *frame)
{
	uint32_t at = *place_of(b, key_of(&frame->header->dst_addr, ethernet_frame_vid(frame)));
	struct station *s = at != NONE ? &b->station[at] : NULL;

	if (s != NULL && s->session != OF_N6 && part_of(w, s, UPF_DL) == NULL) {
		forget(w, b, s);
		return NULL;
	}
	return s;
}

static uint64_t
ageing_of(const struct worker *w, const struct bridge *b, const struct station *s)
{
	const struct part *part = s->session != OF_N6 ? part_of(w, s, UPF_UL) : NULL;

	if (s->session == OF_N6)
		return b->ageing;
	if (part == NULL)
		return 0;
	return part_ethernet(part)->inactivity_s != 0
		? part_ethernet(part)->inactivity_s * w->tsc_hz
		: b->ageing;
}

static void
look_after(struct worker *w, struct bridge *b, struct station *s)
{
	bool listening;
	uint32_t upfc = upfc_now(w, &listening);

	if (w->now - s->seen >= ageing_of(w, b, s)) {
		shm_add(&w->stats->local.bridge_aged, 1);
		forget(w, b, s);
	} else if (s->session != OF_N6 && (s->told == 0 || (listening && s->told != upfc))) {
		tell_of(w, s);
	}
}

void
bridge_tick(struct worker *w)
{
	uint64_t stations = 0;

	if (w->bridges == 0)
		return;
	for (unsigned network = 0; network < UPF_NETWORKS; network++) {
		struct bridge *b = w->bridge[network];

		if (b == NULL)
			continue;
		// All of it in a second.
		for (uint32_t n = b->max / WORKER_TICKS_PER_SECOND + 1; n > 0; n--) {
			struct station *s = &b->station[b->swept];

			if (s->used)
				look_after(w, b, s);
			b->swept = b->swept + 1 < b->max ? b->swept + 1 : 0;
		}
		stations += b->used;
	}
	__atomic_store_n(&w->stats->local.bridge_stations, stations, __ATOMIC_RELAXED);
}

static struct bridge *
create(const struct config *config, enum upf_port n6, uint64_t tsc_hz)
{
	const struct config_bridge *from = &config->interface[n6].bridge;
	uint32_t buckets = 1;
	struct bridge *b =
		rte_zmalloc("bridge", sizeof(*b) + from->stations * sizeof(b->station[0]), 64);

	if (b == NULL)
		return NULL;
	while (buckets < from->stations)
		buckets *= 2;
	b->n6 = n6;
	b->max = from->stations;
	b->of_n6_max = from->stations / 2;
	b->per_session = from->stations_per_session;
	b->copies = from->copies;
	b->ageing = from->ageing_s * tsc_hz;
	b->bucket_mask = buckets - 1;
	b->bucket = rte_malloc("buckets", buckets * sizeof(*b->bucket), 64);
	b->of_session =
		rte_zmalloc("stations", config->limits.sessions_max * sizeof(*b->of_session), 64);
	for (uint32_t i = 0; b->bucket != NULL && i < buckets; i++)
		b->bucket[i] = NONE;
	for (uint32_t i = 0; i < b->max; i++)
		b->station[i].next = i + 1 < b->max ? i + 1 : NONE;
	return b;
}

int
bridge_init(struct worker *w)
{
	const struct config *config = w->config;

	for (unsigned network = 0; network < config->networks; network++) {
		enum upf_port n6 = config_port_of(network);
		struct bridge *b;

		if (!config->interface[n6].ethernet ||
			home_worker(network % HOME_BUCKETS, config->workers) != w->index)
			continue;
		b = w->bridge[network] = create(config, n6, w->tsc_hz);
		if (b == NULL || b->bucket == NULL || b->of_session == NULL)
			return -1;
		w->bridges++;
	}
	return 0;
}

void
bridge_free(struct worker *w)
{
	for (unsigned network = 0; network < UPF_NETWORKS; network++) {
		struct bridge *b = w->bridge[network];

		if (b == NULL)
			continue;
		rte_free(b->bucket);
		rte_free(b->of_session);
		rte_free(b);
		w->bridge[network] = NULL;
	}
}

// ---- frames --------------------------------------------------------------------------------------

// 01-80-C2-00-00-00 to 0F.
static bool
is_control(const struct rte_ether_addr *addr)
{
	static const uint8_t reserved[] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	return memcmp(addr->addr_bytes, reserved, sizeof(reserved)) == 0 &&
		(addr->addr_bytes[5] & 0xf0) == 0;
}

// To a session, by its rules; what does not get there is dropped. flooded: it is one of many copies.
static void
deliver(struct worker *w, const struct bridge *b, struct rte_mbuf *m, const struct part *part,
	bool flooded)
{
	struct pkt p = {
		.m = m,
		.part = part,
		.key = BRIDGE_KEY_SESSION | part->session,
		.ip_len = (uint16_t)rte_pktmbuf_data_len(m),
		.port = (uint8_t)b->n6,
	};
	int verdict = ethernet_take(w, &p);

	if (verdict == UPF_DROP_NO_PDR && flooded)
		verdict = UPF_DROP_FLOOD_FILTERED;
	if (verdict != PKT_TAKEN)
		worker_drop_of(w, b->n6, part->group, p.m, (enum upf_drop)verdict);
}

// Copies to the sessions of the network instance but one (OF_N6: none). How many there are.
static uint32_t
flood(struct worker *w, struct bridge *b, const struct pkt *p, uint32_t but)
{
	uint32_t n, sent = 0, left_out = 0;
	const uint32_t *member = session_members(w->sessions, b->n6, &n);

	shm_add(&w->stats->local.bridge_flooded, 1);
	b->turn = n != 0 ? (b->turn + 1) % n : 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (b->turn + i) % n;
		// Relaxed: what it leads to is found by session_current().
		uint32_t session = __atomic_load_n(&member[at], __ATOMIC_RELAXED);
		const struct part *part;
		struct rte_mbuf *m;

		if (session == but || !session_is_member_at(w->sessions, b->n6, session, at))
			continue;
		part = session_current(w->sessions, session, UPF_DL);
		if (part == NULL || part->n6 != b->n6 || !part->ethernet || part->n_pdr == 0)
			continue;
		if (sent == b->copies) {
			left_out++;
			continue;
		}
		sent++;
		m = rte_pktmbuf_copy(p->m, w->pool, p->ip, p->ip_len);
		if (unlikely(m == NULL)) {
			worker_count_drops(
				w, (enum upf_port)p->port, part->group, UPF_DROP_NO_MBUF, 1);
			continue;
		}
		shm_add(&w->stats->local.bridge_copies, 1);
		deliver(w, b, m, part, true);
	}
	if (left_out != 0)
		worker_count_drops(w, (enum upf_port)p->port, 0, UPF_DROP_FLOOD_LIMIT, left_out);
	return sent + left_out;
}

// The interface's own tag, where it has one, is not the frame's; any other is. Where a driver took one off, it goes back.
static int
own_vlan(struct worker *w, struct pkt *p)
{
	const struct port *port = &w->port[p->port];
	struct port tag = {.vlan = p->m->vlan_tci};

	if (port->vlan != 0)
		return vlan_accept(port, p->m) ? PKT_NEXT : UPF_DROP_OTHER_VLAN;
	if ((p->m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0)
		return PKT_NEXT;
	p->m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	return vlan_push(&tag, p->m) ? PKT_NEXT : UPF_DROP_NO_MBUF;
}

int
bridge_receive(struct worker *w, struct pkt *p)
{
	int verdict = own_vlan(w, p);

	if (verdict != PKT_NEXT)
		return verdict;
	p->ip = 0;
	p->ip_len = (uint16_t)rte_pktmbuf_data_len(p->m);
	p->tunnel = 0;
	p->qfi = 0;
	p->rqi = 0;
	p->ip6 = 0;
	p->fragment = PKT_WHOLE;
	p->key = BRIDGE_KEY | (unsigned)(p->port - UPF_PORT_N6);
	return PKT_NEXT;
}

int
bridge_from_n6(struct worker *w, struct pkt *p)
{
	struct bridge *b = w->bridge[p->port - UPF_PORT_N6];
	struct ethernet_frame frame;
	struct station *to;

	if (unlikely(b == NULL)) // it was not handed to the bridge's worker
		return UPF_DROP_NOT_FOR_US;
	if (!ethernet_frame_read(&frame, rte_pktmbuf_mtod(p->m, void *), p->ip_len) ||
		rte_is_multicast_ether_addr(&frame.header->src_addr))
		return UPF_DROP_MALFORMED_FRAME;
	if (is_control(&frame.header->dst_addr))
		return UPF_DROP_BRIDGE_CONTROL;
	learn(w, b, &frame, NULL);
	to = rte_is_multicast_ether_addr(&frame.header->dst_addr) ? NULL : find(w, b, &frame);
	if (to == NULL) {
		if (flood(w, b, p, OF_N6) == 0)
			return UPF_DROP_BRIDGE_NO_SESSION;
		rte_pktmbuf_free(p->m);
		return PKT_TAKEN;
	}
	if (to->session == OF_N6)
		return UPF_DROP_BRIDGE_SAME_SIDE;
	p->key = BRIDGE_KEY_SESSION | to->session;
	p->part = part_of(w, to, UPF_DL);
	return PKT_NEXT;
}

// Out of N6, as it is. The packet is the frame alone.
static int
leave(struct worker *w, struct pkt *p, const struct ethernet_frame *frame)
{
	const struct port *port = &w->port[p->pdr->port];

	if (frame->length - frame->payload > port->mtu)
		return UPF_DROP_TOO_BIG;
	worker_send_of(w, (enum upf_port)p->pdr->port, p->m, p->pdr);
	return PKT_TAKEN;
}

// From one session to another: the frame enters as one from N6 would.
static int
switch_over(struct worker *w, struct bridge *b, struct pkt *p, const struct station *to)
{
	if (!w->ue_to_ue_allowed)
		return UPF_DROP_UE_TO_UE;
	shm_add(&w->stats->local.bridge_switched, 1);
	deliver(w, b, p->m, part_of(w, to, UPF_DL), false);
	return PKT_TAKEN;
}

int
bridge_from_session(struct worker *w, struct pkt *p)
{
	struct bridge *b = w->bridge[p->pdr->port - UPF_PORT_N6];
	struct ethernet_frame frame;
	struct station *to = NULL;

	if (unlikely(b == NULL))
		return UPF_DROP_NO_ROUTE;
	if (!ethernet_frame_read(&frame, pkt_ip(p), p->ip_len))
		return UPF_DROP_MALFORMED_FRAME;
	if (is_control(&frame.header->dst_addr))
		return UPF_DROP_BRIDGE_CONTROL;
	learn(w, b, &frame, p->part);
	if (!rte_is_multicast_ether_addr(&frame.header->dst_addr))
		to = find(w, b, &frame);
	if (to != NULL && to->session == p->part->session)
		return UPF_DROP_BRIDGE_SAME_SIDE;
	if (to == NULL && w->ue_to_ue_allowed)
		flood(w, b, p, p->part->session);
	rte_pktmbuf_adj(p->m, p->ip);
	p->ip = 0;
	if (rte_pktmbuf_data_len(p->m) > p->ip_len)
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - p->ip_len));
	frame.header = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	if (to != NULL && to->session != OF_N6)
		return switch_over(w, b, p, to);
	return leave(w, p, &frame);
}
