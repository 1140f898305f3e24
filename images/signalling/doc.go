// Package signalling keeps what is said for a UE while somebody wants to see it: NAS, NGAP, SBI and PFCP, with times and causes, without keys.
//
// Who looks asks every pod that may come to have the UE, again and again: a trace begins with the first question, and ends by itself a while after the last, so
// that nothing is left behind by who has gone. Every pod keeps what it does for the UE, so that a trace goes on where the UE's shard goes. What a UE says before
// anybody knows who it is is kept for a short while, as long as there is any trace, and belongs to the trace once its SUPI is known.
//
// Where nothing is traced, a program asks Active, one read of a word, and that is all.
//
//	entry.go  what was said     tracer.go  who is traced, and a ring for each
package signalling
