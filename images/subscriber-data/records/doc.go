// Package records keeps what the functions remember of UEs (registrations, subscriptions, sequence numbers, open
// authentications) in the session store, so that a pod that dies forgets nothing and any replica answers any request.
//
// Who writes. Every replica writes every record. It reads a record, makes another of it, and commits that only where the
// record is still as it was read; otherwise it begins anew with what another replica has made of it (Change). So of two
// changes of one record one comes after the other, whoever makes them, and no request waits for another replica or for a
// lease to end. The store wants a lease with each write: a replica takes one of a few seats (seat.go), which guards nothing.
//
// What a failure means. A change whose fate nobody knows is committed again, as the same, until it is known or its time is
// over; then ErrAway, and whoever asked is told to ask again.
//
//	records.go        reading and changing one record, walking groups
//	packed.go         records as they are in the store
//	seat.go           the lease that writes are made under
//	subscriptions.go  what consumers asked to be told of, a limited number for each owner
package records
