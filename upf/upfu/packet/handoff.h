// A session's packets, up and down, belong to one worker: its home (home.h), which the rules name. So
// token buckets, counters and downlink buffers have one writer, without a lock, and IPv4 and IPv6 of a
// UE meet there.
//
// The worker that received a packet parses it, and guesses its home by what stands in it: the TEID that the
// UPF has chosen, or the UE's address. A stray goes to its home unseen by any table, and is looked up
// there alone. Where the guess was wrong, for its session has another home, it goes on from there: what the
// lookup says is so. What parsing found travels in the packet buffer's private area.
//
// It goes through the rings of outbox.h. Before a worker receives packets it empties those to it: what others have
// done work for comes first, and no load of its own lets the rings fill up.
//
// What is heard of neighbours takes the same rings (hearsay.h).
#ifndef UPFU_HANDOFF_H
#define UPFU_HANDOFF_H

struct burst;
struct worker;

// Passes on what seems to be at home elsewhere, before any lookup; the burst keeps the rest.
void handoff_guess_burst(struct worker *w, struct burst *b);
// Passes on what is at home elsewhere; the burst keeps the rest.
void handoff_burst(struct worker *w, struct burst *b);

// Fills the burst with parsed packets out of the rings, and returns how many buffers it took, which counts
// what others have heard on links, too. Called until it returns 0, it goes through all rings once: what was
// in each when it came there.
unsigned handoff_take(struct worker *w, struct burst *b);

#endif
