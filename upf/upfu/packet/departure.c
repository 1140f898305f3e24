#include "packet/departure.h"

#include "packet/drop.h"
#include "packet/outer.h"
#include "packet/packet.h"
#include "packet/usage.h"
#include "packet/worker_state.h"
#include "process/config.h"
#include "rules/session.h"

struct held { // in the mbuf's private area
	uint32_t session;
	uint32_t incarnation;
	uint16_t pdr_id;
	uint16_t octets;   // of the user's packet
	uint8_t direction; // of the part
	bool counted;      // by URRs, so that it is to be counted again
	bool copy;
	uint8_t n6; // n6_of()
};
static_assert(sizeof(struct held) <= sizeof(struct pkt), "the private area");

static struct held *
held_of(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
}

// The frame is the user's, but for a tag of the interface's own.
static uint16_t
ethernet_octets(const struct worker *w, const struct rte_mbuf *m, const struct pdr *pdr)
{
	const struct port *port = &w->port[pdr->port];

	return (uint16_t)(rte_pktmbuf_data_len(m) -
		(port->vlan != 0 && !port->vlan_offload ? RTE_VLAN_HLEN : 0));
}

// Octets of the user's packet in a frame that bears it whole, by this PDR.
static uint16_t
user_octets(const struct worker *w, const struct rte_mbuf *m, const struct pdr *pdr)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint32_t at = sizeof(*eth);

	if (pdr->ohc == UPF_OHC_NONE && pdr_part(pdr)->ethernet)
		return ethernet_octets(w, m, pdr);
	if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		at += RTE_VLAN_HLEN;
	at += outer_of_frame(pdr->ohc, (const uint8_t *)eth + at);
	return (uint16_t)(rte_pktmbuf_data_len(m) - at);
}

static void
drop_copy(struct worker *w, enum upf_port port, struct rte_mbuf *m)
{
	worker_drop(w, port, m, UPF_DROP_DUPLICATION);
}

void
departure_drop(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr,
	enum upf_drop reason)
{
	if (pdr != NULL && pdr->copy) {
		drop_copy(w, port, m);
		return;
	}
	if (pdr != NULL)
		urr_take_back(w, pdr_part(pdr), pdr, user_octets(w, m, pdr));
	worker_drop(w, port, m, reason);
}

// N6 of the network instance whose packet a frame on its way out of `port` bears; UPF_PORTS: that is not known.
static enum upf_port
n6_of(const struct worker *w, enum upf_port port, const struct pdr *pdr)
{
	if (pdr != NULL && !pdr->copy)
		return (enum upf_port)pdr_part(pdr)->n6;
	if (port >= UPF_PORT_N6)
		return port;
	return w->config->networks == 1 ? UPF_PORT_N6 : UPF_PORTS;
}

// Keeps the frame, beyond its drop, for who tells its sender. Of more in a poll than have room nobody is
// told: so many ICMP errors are not within their rate either.
static void
note_unreachable(struct worker *w, enum upf_port port, enum upf_port n6, struct rte_mbuf *m)
{
	struct unreachable *u = &w->unreachable;

	if (u->n == UNREACHABLE_MAX)
		return;
	rte_mbuf_refcnt_update(m, 1);
	u->frame[u->n].m = m;
	u->frame[u->n].n6 = n6;
	u->frame[u->n++].port = port;
}

void
departure_unreachable(
	struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	if (pdr == NULL || !pdr->copy)
		note_unreachable(w, port, n6_of(w, port, pdr), m);
	departure_drop(w, port, m, pdr, UPF_DROP_NO_NEIGHBOUR);
}

void
departure_hold(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr *pdr)
{
	struct held *held = held_of(m);

	*held = (struct held){.n6 = (uint8_t)n6_of(w, port, pdr)};
	if (pdr == NULL)
		return;
	held->copy = pdr->copy;
	if (pdr->n_urr == 0)
		return;
	*held = (struct held){
		.session = pdr_part(pdr)->session,
		.incarnation = pdr_part(pdr)->incarnation,
		.pdr_id = pdr->pdr_id,
		.octets = user_octets(w, m, pdr),
		.direction = pdr_part(pdr)->direction,
		.counted = true,
		.n6 = held->n6,
	};
	urr_take_back(w, pdr_part(pdr), pdr, held->octets);
}

// The PDR as it is now; NULL: it or its session is gone.
static const struct pdr *
present_pdr(const struct worker *w, const struct held *held)
{
	const struct part *part =
		session_current(w->sessions, held->session, (enum upf_direction)held->direction);

	if (part == NULL || part->incarnation != held->incarnation)
		return NULL;
	for (unsigned i = 0; i < part->n_pdr; i++) {
		if (part->pdr[i].pdr_id == held->pdr_id)
			return &part->pdr[i];
	}
	return NULL;
}

static const struct pdr any_copy = {.copy = 1};

bool
departure_resume(struct worker *w, enum upf_port port, struct rte_mbuf *m, const struct pdr **pdr)
{
	const struct held *held = held_of(m);

	*pdr = held->copy ? &any_copy : NULL;
	if (!held->counted)
		return true;
	*pdr = present_pdr(w, held);
	if (*pdr == NULL) {
		worker_drop(w, port, m, UPF_DROP_BUFFER_RELEASED);
		return false;
	}
	urr_count_late(w, pdr_part(*pdr), *pdr, held->octets);
	return true;
}

void
departure_give_up(struct worker *w, enum upf_port port, struct rte_mbuf *m)
{
	if (held_of(m)->copy) {
		drop_copy(w, port, m);
		return;
	}
	note_unreachable(w, port, (enum upf_port)held_of(m)->n6, m);
	worker_drop(w, port, m, UPF_DROP_NO_NEIGHBOUR);
}
