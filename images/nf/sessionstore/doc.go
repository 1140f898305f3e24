// Package sessionstore is where AMF and SMF keep what must outlive their pods: a record for each UE and for each
// PDU session (TS 23.501 5.21.2, 5.21.3: the members of an NF set share their contexts).
//
// Who writes. Records belong to shards. A pod holds a shard by a Lease, and a lease has an epoch: a write under an
// epoch that is not the shard's newest is refused (ErrFenced), so that a pod that was thought dead, and was only
// slow, changes nothing any more. Of one shard there is one writer; readers need no lease. Subscriber data has no
// shards to hold: any replica writes any record, where it is still as it was read (docs/adr/0021).
//
// What a write is. A Change replaces or deletes one record, and in the same step its unique indexes (SUPI, GUTI,
// SEID), its groups (the sessions of a unit), its open intents and the times at which something is due. Either all
// of it happens or nothing. Who deletes a record need not know what another shard has of it: the holder of that one
// takes it away where it finds that the record is gone.
//
// What an answer means. nil: it is written, and as many replicas have it as the store was asked to wait for.
// ErrConflict, ErrTaken, ErrFenced: it is not written, and never will be. ErrUnknown: it may be written, now or
// later; nobody may be told anything before the same Change was committed again and answered otherwise. A Change
// carries its own Revision, so that the repetition of one that was written is recognised and answered nil.
//
// When the store forgets. A store that came back with less than it had acknowledged (power loss between two syncs, a
// replica that was behind when it became the primary) has another Generation. All leases of the generation before
// are void (ErrFenced): holders take their shards anew, with new epochs, and reconcile with what other functions
// hold before they act.
//
//	sessionstore   the interface, the sealing of records
//	redisstore     Redis or Valkey, alone, or with replicas and Sentinel
//	mounted        opens a store from the Secrets that a pod mounts
//	memory         for tests and simulation: a virtual clock, and faults on purpose
//	metered        counts and times what a store is asked
//	conformance    what every store must do, as a test
package sessionstore
