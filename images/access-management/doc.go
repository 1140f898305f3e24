// Package accessmanagement is core5g's own AMF: its design.
//
//	n1        NAS of mobility management        security  NAS security contexts
//	n2        NGAP                              record    what is kept of a UE
//	procedure (record, event) → (record, effects)
//	runner    does what a procedure says, for the UEs of a shard
//	terminator  the end of N2 that gNBs see      link  what terminators and workers say to each other
//	worker    a pod that holds shards: the runners' world, with its connections to terminators and other functions
//	configuration  what is written of the network; configuration/cluster reads it from the Core5G
//	namf        what others ask of the AMF       nausf, nudm, npcf, nsmf  what it asks of others
//	inspection shows UEs to people, and what is said for one (signalling)
//	conformance holds docs/amf-conformance.md against the tests
//	simulation runs all of it in worlds of one seed
//
// The files of this folder are the worker's program: cmd/access-management. terminator/program is the other one, cmd/n2-terminator, which knows nothing of
// Kubernetes. docs/registration-walk.md follows a UE through both.
//
// # Terminators and workers
//
// SCTP ends in an N2 terminator, which hands octets to workers and reads of them no more than what it needs to find one. A worker holds shards, by leases
// in the session store, as an SMF's pod does; a UE is a record of one shard, and the holder of that shard alone acts for the UE.
//
// # A UE's record, and its shard
//
// A record is the UE context of TS 23.502 5.2.2.2.2 as far as nobody else has it: identities, security contexts with their COUNTs, where the UE is
// connected and was last, its registration area, what of its subscription was granted, its PDU sessions by their SMFs' names of them, and what is under
// way. Its key is the SUPI. 5G-TMSIs are found by an index that changes with the record.
//
// The number of the shard is in the AMF UE NGAP ID and in the 5G-TMSI (record/numbers.go), so that a terminator routes:
//
//	a message with an AMF UE NGAP ID     to its shard
//	an Initial UE Message with a         to the shard of the 5G-TMSI; where no record has that one, the UE is asked for its SUCI there
//	5G-S-TMSI of this set
//	another Initial UE Message           to a shard that is held, each in its turn
//	a message of a gNB                   to the association's shard, always the same one, in the order in which they came
//
// Authentication may find a SUPI whose record is another shard's. The shard where the UE is takes it over (procedure.AskNamed): the other holder brings it to
// rest, gives it up (procedure.Taken) and answers for it no more; the record is written under the new shard with the old revision as its predecessor, and the
// store refuses whoever is late. There is one UE, and one record, at any time. Its sessions stay where the UE says that it has them, and end where it
// registers for the first time. Those that a UE has no more are in its record until their SMFs have said so, which may be all
// that it still has of a UE (procedure/ending.go). An old 5G-TMSI leads to a shard that has nothing of it, which asks for the SUCI.
//
// # N2 attachments
//
// An attachment (record.Attachment) is the terminator, the association, the gNB's name and the UE's two NGAP IDs on it. It is in the record: a new holder of
// the shard goes on with the UE by the same association. A new connection is a new AMF UE NGAP ID, since the one of before may still be in use with another
// gNB. Not kept are the stream (it follows from the AMF UE NGAP ID, so that all of a UE's messages take the same one, above 0: TS 38.412 7), the gNB's
// address, and its radio capability of the UE, which is in memory: a gNB that is not told asks the UE.
//
// An attachment ends with the UE's release, with another attachment (the old gNB is told to let go), or with an NG Reset. An association that is lost does not
// end it at once: the gNB may have kept the UE. It is waited for (procedure.RetainTime), and FARs forward meanwhile. Where its next NG Setup has UE Retention
// Information, and the loss is known, its UEs go on by the new association; else, or where it stays away, the attachment is lost. Then the UE is idle, every
// SMF with a user plane there is told until it has heard (Silent), packets wait in the UPF, and the UE is paged.
//
// # gNBs
//
// What a gNB has said of itself in NG Setup and configuration updates (record.GNB: tracking areas, PLMNs, slices, DRX) is worked out by a worker
// (procedure.HandleGNB) and kept by the association's terminator, as octets that it does not read; it tells them every worker that connects. So all
// workers know all gNBs, for slice selection, registration areas, paging and handover, no store is asked, and what is known of a gNB ends with its
// association. What it has heard of the AMF is noted there, too: an AMF Configuration Update that was lost, since the shard has moved just then, the next
// holder repeats (runner/announce.go).
//
// # Order
//
// Intent → N2 or SBI → commit → answer, as in session management: the record is written, then the effects are done, their answers are events. An answer that only
// leads to the next question of the procedure that is written, which whoever takes it up asks again (procedure.Repeats), is written with what follows. Reserved
// ahead in blocks, in the record or the store, is what must not run backwards:
//
//	downlink NAS COUNT     16 at a time, in the record; a UE that may be more than 240 behind is authenticated anew (record.Security)
//	5G-TMSI                by the shard, in the store; permuted, since it is not to be guessed
//	AMF UE NGAP ID         by the shard, in the store
//
// Uplink COUNTs and the chain of next hops are committed before use. After lost writes (another generation of the store) UEs are authenticated before anything
// is ciphered for them.
package accessmanagement
