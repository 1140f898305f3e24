// Package sessionmanagement is core5g's SMF as a program: what it reads, whom it asks, where it listens.
//
//	config.go     the command line                 program.go   its parts, put together
//	registrar.go  whom it makes itself known to    identity.go  what the shards are to others
//
// A session's way through it: shard (requests.go, units.go) → runner → procedure → runner → shard (effects.go); docs/session-walk.md follows it.
// People look at sessions by package inspection.
package sessionmanagement
