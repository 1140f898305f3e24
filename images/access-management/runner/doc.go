// Package runner does what package procedure says, for the UEs of one shard: it alone talks to the session store, N2 (by frames of package link), SBI and
// clock, through a World.
//
// For every event of a UE the runner asks procedure.Handle, writes the record that it returned, and then, never before, does the effects. Their answers are
// events, for which the same holds. Events of a UE come one after the other, in the order in which they came; the next waits until what the one before has
// changed is written. What is the same as before is not written: so a downlink message costs a write only where it begins a block of COUNTs. Nor is what only led to
// the next question that whoever takes up the record of before would come to as well (procedure.Repeats), nor what has had SMFs asked to bring a user plane up or
// down by an event that comes to the next holder again (procedure.Idempotent): it is written with what follows. A message of which nothing comes but another record,
// which would come to the next holder again as well, is written with what comes within a moment (togetherFor), or then; never while
// something is asked for the UE by a message, whose COUNT would be written, too, so that it were none when it came again.
//
// A write that nobody knows the outcome of is repeated until it is known. A lease that has ended stops the runner before the next effect: from then on it says
// nothing to anybody, and another one goes on from the store (Start). Messages of gNBs wait until it has taken up what was under way.
//
// A UE is found by AMF UE NGAP ID, 5G-TMSI and SUPI: in memory, else by the store's indexes. One that says none of them is in memory alone until authentication
// has found its SUPI; then it takes over what is kept under that (takeover.go).
//
// A message that a terminator has handed over is done with (link.Done) when all that came of it is in the store, and nothing that was asked for its UE waits for
// an answer: what an SMF has not heard of a gNB, say, it hears from the next holder. A holder that stops says no Done: the next one gets the message again.
// One that leaves on purpose (Leave) takes no messages any more, waits until what is being written is, and terminators have what is sent because of it.
//
// A runner is not safe for concurrent use: its World calls it, and what it has handed to the World, on one loop. It has no goroutine and no clock,
// so that a simulation can be that World.
//
//	world.go     what a runner needs                   runner.go    events to UEs
//	ue.go        a UE in memory, the order above       stored.go    a record in the store, writes
//	n2.go        frames: what comes, what is sent      gnb.go       what concerns gNBs
//	losses.go    associations, and their ends          takeover.go  one UE, one record
//	numbers.go   AMF UE NGAP IDs, 5G-TMSIs             start.go     what a new holder does first, and what is due
//	walk.go      events for all UEs of a group         cache.go     what is in memory
//	announce.go  what gNBs hear of the AMF
//	packed.go    UEs that are idle, as octets          sends.go     what was sent last
//	statuses.go  who wants to hear of the AMF's status
package runner
