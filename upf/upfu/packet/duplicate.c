#include "packet/duplicate.h"

#include "packet/drop.h"
#include "packet/packet.h"
#include "packet/rewrite.h"
#include "packet/worker_state.h"
#include "process/shm.h"
#include "rules/session.h"

// A copy that cannot be made or sent is counted, and nothing else comes of it: the packet goes its
// way, and neither its sender nor its session's account learns of it.
static void
send_copy(struct worker *w, const struct pkt *p, const struct pdr *to)
{
	struct pkt copy = *p;
	int verdict;

	copy.m = rte_pktmbuf_copy(p->m, w->pool, p->ip, p->ip_len);
	if (unlikely(copy.m == NULL)) {
		worker_count_drops(w, (enum upf_port)p->port, 0, UPF_DROP_DUPLICATION, 1);
		return;
	}
	copy.ip = 0;
	copy.pdr = to;
	verdict = rewrite_packet(w, &copy);
	if (verdict == PKT_TAKEN)
		shm_add(&w->stats->local.duplicated, 1);
	else
		worker_drop(w, (enum upf_port)p->port, copy.m, UPF_DROP_DUPLICATION);
}

void
duplicate_packet(struct worker *w, const struct pkt *p)
{
	const struct pdr_more *more = pdr_more(p->part, p->pdr);
	const struct pdr *to = part_at(p->part, more->dup);

	for (unsigned i = 0; i < more->n_dup; i++)
		send_copy(w, p, &to[i]);
}
