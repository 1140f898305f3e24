// Package runner does what package procedure says, for the sessions of one shard: it alone talks to the session store, N4, N2, SBI
// and clock, through a World.
//
// For every event of a session the runner asks procedure.Handle, writes the record that it returned, and then, never before, does
// the effects. What is asked brings an event back, for which the same holds. One event at a time; while a procedure is under
// way, what else happens to the session waits in its queue.
//
//	intent   the record says what is about to be asked, and is marked in the store (OpenIntent)
//	N4, N2   it is asked
//	commit   the record has the answer
//	answer   whoever waits is told
//
// A unit that lists its sessions, and chooses all that a session has, may be asked for one while the intent is written (procedure.Output.Ahead): its answer waits, and
// what a holder that died before left there is found in the list, which a new one has half a minute later (sweep).
//
// A write that nobody knows the outcome of is repeated until it is known. A lease that has ended stops the runner before the
// next effect: from then on it says nothing to anybody, and another one goes on from the store (Start).
//
// A runner is not safe for concurrent use: its World calls it, and what it has handed to the World, on one loop. It has no goroutine and no clock,
// so that a simulation can be that World.
//
//	world.go    what a runner needs                    runner.go     events to sessions, the order above
//	stored.go   a record in the store                  start.go      what a new holder does first, and what is due
//	cache.go    what is in memory                      walk.go       an event for every session of a group
//	units.go    a unit that was met, or has restarted  elsewhere.go  a session that another shard has
//	departing.go  units that are left, and peers that are not reached
//	leaving.go  a shard that is given up on purpose
//	numbers.go  SEIDs                              settings.go   what sessions follow of the configuration
package runner
