// Package pfcp is the N4 endpoint of one SMF shard (TS 29.244): associations with UPF units, requests for sessions, and
// what units report.
//
// Endpoint is a state machine without I/O: no goroutine, no lock, no clock of its own. Whoever drives it gives it the
// datagrams that came (Receive) and the time (Tick, when NextDeadline has come), and it sends by Config.Send and tells by
// Config.Handle and by the functions that requests are given. Socket drives one in production, over UDP; a simulation
// drives many, one after the other, with a clock of its own.
//
//	unit       what is known of a UPF unit, its state, its queue
//	association, heartbeat, stamp, features   how units are met, watched, and met again
//	transaction   requests of ours: repeated N1 times every T1, answered once
//	session    requests for sessions, and what became of them
//	incoming   requests of units: each handed on once, its answer kept for its repetitions
//	report     what is in Session Reports, usage in Usage Reports, node in Node Reports
//
// What a request became is one of three (Outcome): it was answered; it was sent and nobody knows (NoAnswerError), the unit
// may have done it or may still do it; it never left (NotSentError). Each request ends in exactly one call, when the
// endpoint is closed at the latest. A closed endpoint sends nothing any more: a shard that was lost is another's.
//
// Units are met with an Association Update where there should be an association already: the shard has a new holder,
// whose requests come from another address, and the unit learns it from this message. A unit that has no association is
// set up, and asked to retain the sessions that it has (TS 29.244 7.4.4.1). Before a unit is used its Recovery Time
// Stamp has been seen, so that one that has restarted while nobody looked is known to have.
//
// A datagram can come by way of another pod: units send reports to the shard's Service, and who received one that is not
// for it gives it to the holder's Receive, with the address that it came from. The answer leaves from the holder.
// upf-c takes an answer from any address, matching it by its sequence number; a unit that does not has its report
// acknowledged when it repeats it to a pod that holds the shard. Answers to requests of ours come to the address that
// they left from and need no passing on.
package pfcp
