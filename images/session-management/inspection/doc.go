// Package inspection shows PDU sessions to people: lists of them, and one with its rules and its last procedures, as JSON.
//
// What it shows is what the session store has, whichever pod holds the shard, so that every pod tells the same. It only reads: no runner
// hears of it, no session is loaded, no event comes to be. A request reads about a page of records at most, and few run at a time.
//
// It listens on a socket in the abstract namespace, which processes in the pod's own network namespace reach and nobody else: whoever may exec into
// the pod may look, as with upf-c. `session-management sessions` and `session-management session` ask there (command.go).
//
//	session.go  what is shown of a session     list.go     which sessions, page by page
//	serve.go    the socket, requests           command.go  the two subcommands
package inspection
