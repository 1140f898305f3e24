// Package pod is what the pods of our own functions have in common, whatever they serve: how they are started, what they answer to those who look after
// them, and by which address they listen and are reached.
//
//	config.go    flags of every pod          member.go   and of those that are members of a core
//	health.go    health and metrics          address.go  listening, and names in leases
//	main.go      main functions              around.go   sockets and an NRF, or memory where functions share a program
//	memory.go    what an NRF has said, for pods that come while it is away
package pod
