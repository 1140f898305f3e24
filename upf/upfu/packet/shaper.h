// Packets above the maximum bit rate of a QER that wait for their time instead of being dropped.
//
// A token bucket is a virtual clock (qer_clock.h), so it tells by itself when a packet may go: its QERs are
// charged when it comes, and it leaves when none of their clocks is further ahead of the present than its
// depth. Nothing is asked a second time. The queue of a QER is thus nothing but the lead of its clock: flows
// that share it share the wait, in order of arrival, and none waits longer than qer.queue_ms. Whoever
// would is dropped (mbr_exceeded).
//
// Packets that wait hang in a wheel, by the time at which they leave: a slot is a list, some microseconds
// long. Their times follow each other as their arrivals do, of all packets with the same QERs, and what is
// due leaves at the begin of a poll, so that no packet of a flow overtakes another. (But once, when the SMF
// changes the rate: the clocks then begin anew.) A packet leaves a slot's length early at most, and late by
// what the worker sleeps or is kept from its CPU; it was charged, so that no rate is lost.
//
// All of it belongs to the session's home worker. In the wheel a packet does not hold its rules: they are
// looked up again, and it goes on by what its PDR says then.
#ifndef UPFU_SHAPER_H
#define UPFU_SHAPER_H

#include <stdbool.h>
#include <stdint.h>

struct burst;
struct config;
struct pkt;
struct shaper;
struct worker;

// -1: no memory.
int shaper_init(struct shaper *shaper, const struct config *config, uint64_t tsc_hz);
void shaper_free(struct shaper *shaper);

// Does p find room, if it has to wait so long, in units of the QERs' clocks?
bool shaper_has_room(const struct shaper *shaper, const struct pkt *p, uint64_t wait);
// Takes p, which found room and was charged, until then. Returns PKT_TAKEN.
int shaper_hold(struct worker *w, struct pkt *p, uint64_t wait);
// Fills the burst with packets that are due, up to its size, with their PDRs; empty: none is.
void shaper_take(struct worker *w, struct burst *b);
// TSC at which the next packet is due; UINT64_MAX: none waits.
uint64_t shaper_due(const struct shaper *shaper);
// Tells the statistics how many wait now.
void shaper_show_waiting(struct worker *w);

#endif
