// Package inspection shows UEs to people: lists of them, and one with its security algorithms, its sessions and its last procedures, as JSON. Keys are in no
// struct of this package.
//
// What is said for a UE, once that is asked for, is package signalling's; worker/trace.go has it from the procedures.
//
// Package onlookers says whom that costs what, and who may look: `access-management ues` and `access-management ue` ask in the pod (command.go).
//
//	ue.go     what is shown of a UE     list.go     which UEs
//	serve.go  requests                  command.go  the two subcommands
package inspection
