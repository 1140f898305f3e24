// Package worker is a pod of the AMF: the shards that it holds, each with a runner and a loop of its own, its connections to N2 terminators, what it asks
// of AUSF, UDM, PCF and SMF, and what these ask of it.
//
// The AMF is one NF instance. Any pod takes any request; one for a UE of a shard that another pod holds is passed on to that (passing.go). A pod that has died is
// found by the connections that the others have to it, and its shards are taken at once.
//
//	pod.go        which shards are here             shard.go          a shard from lease to lease
//	effects.go    what a runner wants done, by SBI, outside of its loop (nf/loop)
//	links.go      connections to terminators        associations.go   what is known of associations and gNBs
//	requests.go   what others ask (namf)            passing.go        requests and UEs from pod to pod
//	callbacks.go  what others call back with
//	authentication.go, subscriptions.go, policies.go, sessions.go     the functions that are asked
//	statuses.go   who wants to hear of the AMF's status
//	metrics.go    what is counted                   words.go          the words of records and of SBI
//	complaints.go what others do not do
package worker
