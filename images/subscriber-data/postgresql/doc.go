// Package postgresql keeps subscribers in a PostgreSQL of the site: as many as no API server would take.
//
//	database.go    connections
//	rows.go        a subscriber as a row, sealed and opened
//	rules.go       what a subscriber may say: the rules of the kind Subscriber
//	write.go       many at a time: what is as it was is not written, what cannot be is named
//	served.go      what the functions ask: a bounded cache, kept right by LISTEN
//	follow.go      the connection that listens, and finds out whether the database is there
//
// Who writes: whoever may, of this program's commands or by SQL; a trigger tells of every row. Who reads: each replica for itself.
// What is cached is what the database had when it was read, and no notification has come since. While the listening
// connection is away nobody tells, so everything cached counts as old: it is read again where the database answers, and
// served where it does not; what is not cached is refused then (ErrAway). When the connection is there again, it is as if everything had changed.
package postgresql
