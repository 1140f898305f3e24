// Package reports tells CP functions what becomes of their sessions when nobody has asked: usage (TS 29.244 5.2.2), downlink
// data that waits (5.2.1), tunnels that a peer does not know (Error Indications), stations and flows that come and go. It
// says when a session is looked at, what is owed then, and has it delivered until it is acknowledged.
//
// No request of a CP function comes here. Who executes those, package sessions, stands above and calls this one. What goes the other way,
// package agent hands over as functions (Owner): the answer to a report may change a BAR, or say that there is no such session.
package reports
