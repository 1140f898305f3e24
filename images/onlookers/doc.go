// Package onlookers lets people look into a pod that keeps records in the session store: at lists of them, page by page, and at one, as JSON. The SMF's and the
// AMF's package inspection say what is shown.
//
// What is shown is what the session store has, whichever pod holds the shard, so that every pod tells the same. It is only read: no runner hears of it,
// nothing is loaded, no event comes to be. A request reads about a page of records at most, and few run at a time.
//
// A pod listens on a socket in the abstract namespace, which processes in the pod's own network namespace reach and nobody else: whoever may exec into the
// pod may look, as with upf-c. The program's own subcommands ask there.
//
//	socket.go  the socket, requests, refusals    client.go  who asks there
//	walk.go    pages of records                  trace.go   what is said for a UE (package signalling)
package onlookers
