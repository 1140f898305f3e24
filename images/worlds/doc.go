// Package worlds is what the simulations of session and access management are made of: worlds of one seed, each with a clock that jumps from event to
// event and a store that is unkind, in which pods that hold shards die at any step. What happens is the same for the same seed, so that a fault
// that was found once is found again.
//
//	clock.go    events in the order of their times      story.go    what has happened, and what was wrong
//	store.go    a session store that is away, is slow,  pod.go      a pod, and the shards that its keeper has it hold
//	            forgets, or does not say whether it
//	            has written
//	run.go      many worlds, until one goes wrong       mutants.go  deliberate faults, each of which the worlds must find
package worlds
