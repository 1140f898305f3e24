// Package shards keeps shards for a pod: each shard of a set is held by one of its pods, by a lease in the session
// store, and the pods that are there share them evenly.
//
// Who is there. A set has as many seats as shards. A seat is a lease, too, and whoever has one counts; a pod that finds
// none free stands by. Every pod looks at all seats and shards that are not its own, twice in each third of a lease,
// and all come to the same shares (shares.go). A pod takes what is free up to its share, and gives up what is above
// it, to pods that have been there for the life of a lease: one that comes and goes moves nothing.
//
// When a lease ends. It is renewed at a third of its life. The holder counts its end from before it was asked for, by
// its own clocks (the monotonic one, and the wall's, because the former stands still while a machine is suspended),
// and stops a tenth of its life early: clocks need not run alike. Lost is called, and has returned, before a shard is
// given back; where it is given up on purpose, Leaving is called first, and what is there in memory alone, or under way,
// has some time to end. Where a lease ends by itself, Lost is called at that time, and Lease says so whether it was called yet
// or not. So of one shard there are never two holders that act.
//
// When the store has forgotten (another Generation), it may give a shard away that another pod still acts for: for the
// life of a lease a pod takes only what it had itself. Where lost renewals alone are missing, or the pod is new, nobody
// can tell: then two pods may act for a moment, of which the store believes one.
//
// Who calls. Keeper does no I/O and has no goroutine: Step says what is to be asked of the store, Answered takes what
// it said, so that a simulation owns time and order. Run does both for a program. What pods tell each other, so that nobody waits for a look, is in peers.go
// and unreached.go, and how a request comes to the pod that holds its shard in passing.go.
package shards
