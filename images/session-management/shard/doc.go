// Package shard is a pod of the SMF: the shards that it holds, each with a runner, an N4 endpoint and a loop of its own, and what AMFs,
// UPF units and the others say to them.
//
// A shard is an SMF as others see it: an NF instance, a URI, a Node ID. All pods listen for all shards; what comes for one that
// another pod holds is passed on to it, so that no connection, route or EndpointSlice has to be right for anything to arrive. Pods watch each other (nf/shards):
// what one has given up, or has died with, is taken at once.
//
//	effects.go   what a runner wants done, by N4 and SBI, outside of its loop (nf/loop)
//	pod.go       which shards are here; configuration              requests.go  what AMFs ask for
//	shard.go     a shard from lease to lease                       units.go     UPF units: met, watched, restarted
//	associations.go  with whom there are any, for the operator
//	passing.go   what is for another pod                        replaced.go  a session that another shard has under the same name
package shard
