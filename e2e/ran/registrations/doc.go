// Package registrations tells stories of UEs and gNBs at core5g's own AMF: simulated UEs and gNBs, N2 terminators with SCTP over UDP, workers over a session
// store, the subscriber data functions and the SMF, as they ship, in one process. Workers are killed without a word, drained, and cut off, terminators die, and
// UEs are to notice nothing.
//
//	rig_test.go     the parts, and how they are started, cut and killed
//	fused_test.go   the layout Fused: one process, with redis-server and UPF beside it
//	*_test.go       a subject each
package registrations
