// Package inspection shows PDU sessions to people: lists of them, and one with its rules and its last procedures, as JSON.
//
// Package onlookers says whom that costs what, and who may look: `session-management sessions` and `session-management session` ask in the pod (command.go).
//
//	session.go  what is shown of a session     list.go     which sessions
//	serve.go    requests                       command.go  the two subcommands
package inspection
