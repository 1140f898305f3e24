// Package terminator is the end of N2 that gNBs see: it has their SCTP associations (TS 38.412), hands what comes by them to AMF workers, and
// sends what these say. It knows nothing of UEs, and changes rarely, because its end costs every gNB its association.
//
// A UE belongs to a shard, whose number is in its AMF UE NGAP ID and 5G-TMSI: so a message finds its shard without a look-up. A worker holds
// shards under epochs, and says so (package link); a message for a shard that nobody holds waits.
//
// What was handed over is kept until the worker has said that it is done with it (Done). Where a worker dies, is drained or is slow, the next holder of the
// shard gets all of that again, in order, marked as Again: messages come at least once, and a worker must recognise what it has seen. What
// workers send leaves under the newest epoch of the shard alone. The first message of a UE that the store does not know yet is kept for longer (Keep): its worker is done with
// it while it lives, and the next holder begins with it again.
//
// Bounds. What waits of one association stops its being read (Pause), so that SCTP slows the gNB down; other associations go on. What has waited
// for a holder longer than a UE does (Patience) is thrown away, counted by name.
//
// Terminator does no I/O, and has no goroutine and no clock: its World does. Run is the program's.
//
//	terminator.go    associations, and messages on their way     workers.go   workers and the shards that they hold
//	setup.go         when an NG Setup is answered                metrics.go   what is counted
//	run.go           sockets
package terminator
