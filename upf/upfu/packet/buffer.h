// Packets that wait because their FAR says BUFF: downlink for an idle UE (TS 23.501 5.8.3.2), and
// either direction while a tunnel on N9 moves.
//
// A session has a queue for each direction, so that neither holds up or displaces the other. A queue
// belongs to the session's home worker; nobody else touches it. While a queue is not empty, every
// later packet of its session and direction joins its end, so that order holds; when the rules change
// (a command says so) or a packet finds a FAR that forwards, the queue goes on the release list and
// its packets take the normal way again from PDR matching, their QERs being done. That is a round,
// of a burst a poll, and the queues on the list take turns. What meets a FAR that buffers is put back:
// behind what was put back before in this round, in front of what is still to be taken out, which is
// in front of what has come since. So the queue is in order of arrival at any time. A queue remembers
// the incarnation of its session: packets of one that went away are dropped.
//
// The BAR of a FAR (TS 29.244 7.5.2.6) bounds how many packets wait by it and how long, and how long
// the Downlink Data event waits; where it does not say how long, the configuration does. The event is
// about downlink packets alone (TS 29.244 8.2.26). It is raised once for each BAR, and once for FARs
// without one, for as long as packets may wait: whoever sends after that wants the UE to be paged
// again. A packet that left because its FAR forwards ends that time, too. When upf-c has gone and its
// successor knows all sessions, the queues of which the former was told go through a round that tells
// of them anew, for it may not have got the report through. What was raised while there was none is
// still in the ring of events and reaches the successor.
//
// Packets and octets are bounded, of a queue and of the worker; octets are those of the users'
// packets. What a full buffer drops is the packet that comes or, oldest first, those of its queue.
#ifndef UPFU_BUFFER_H
#define UPFU_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

struct buffer_bounds;
struct buffer_store;
struct burst;
struct pkt;
struct worker;

int buffer_init(struct buffer_store *store, const struct buffer_bounds *bounds);
void buffer_free(struct buffer_store *store);

// Does the session have packets waiting in p's direction? Then p must join them.
bool buffer_is_waiting(const struct buffer_store *store, const struct pkt *p);
// Takes p for later. notify: raise the Downlink Data event for the first downlink packet. Returns a
// verdict.
int buffer_hold(struct worker *w, struct pkt *p, bool notify);
// A packet that waited goes on.
void buffer_passed(struct worker *w, const struct pkt *p);
// The session's rules changed or went.
void buffer_rules_changed(struct worker *w, uint32_t session);
// Drops what waits of the session.
void buffer_forget(struct worker *w, uint32_t session);
// Fills the burst with packets that go on, up to its size.
void buffer_take(struct worker *w, struct burst *b);
// Events whose delay is over or that are to be raised anew, packets that waited too long.
void buffer_tick(struct worker *w);
// Tells the statistics how much waits now.
void buffer_show_waiting(struct worker *w);

#endif
