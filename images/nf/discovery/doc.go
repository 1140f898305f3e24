// Package discovery finds the services of other functions, as the sbi.Finder of an sbi.Client: it asks the NRF
// (Nnrf_NFDiscovery, TS 29.510 5.3), and remembers what it was told for as long as the NRF allows, 60 s at most.
//
// Questions for the same are one question. The NRF tells of changes where it can (5.2.2.5, 5.2.2.6), so that what has
// changed is asked for anew. While the NRF does not answer, and where it has forgotten what it knew, what it said last
// is used, to us or, by a Memory that they share, to others like us. An endpoint that was not reached is put behind the others, and asked for anew.
//
// Types of functions can be given fixed addresses, in a core without an NRF all of them.
//
//	cache.go          who asks what, when
//	profile.go        what the NRF answers, and where that leads
//	subscriptions.go  what the NRF tells by itself
//	memory.go         what it has said before, for those who come while it is away
package discovery
