// Package sbimemory is the service based interface between functions that are in one program: requests go through memory, by call of the handler that
// serves the authority of their URI, and no socket has any part in it. To an sbi.Client and to an sbi.Router it is as a network is: a call ends when its context
// does, its handler is told, whoever does not serve yet, or no more, is not reached.
//
//	network.go    who serves what, and until when
//	transport.go  the http.RoundTripper of callers
//	answer.go     what a handler writes
//	directory.go  which functions there are, in place of an NRF
package sbimemory
