// Package n2 is what an AMF and an NG-RAN node say to each other: the messages of NGAP (TS 38.413 8 and 9, Release 16), octets to
// plain structs and back. Both directions of both: the simulated gNB reads what the AMF writes. Transfers of PDU sessions
// (TS 38.413 9.3.4) and containers of RRC stay octets. Nothing here decides anything.
//
//	Read    octets -> message, or what TS 38.413 10 says to what is wrong with it
//	Write   message -> octets, canonical: IEs in the specification's order and with its criticality
//	Peek    octets -> kind of message and UE, without the rest: for who passes it on
//
// Each message names its IEs once, in the method ies, and each IE its fields once, in a function that begins with code; both
// serve reading and writing. So what is read is what is written, and there is one place to look for each.
//
// Read gives a message, a Fault, or both:
//
//	message  fault        TS 38.413
//	yes      none         as it should be, or what was not understood was to be ignored
//	yes      InResponse   10.3.4.2, 10.3.5: carry it out, and put Fault.InResponse into the response's Criticality Diagnostics
//	yes      otherwise    the same, of a message without response: carry it out, and send Fault.Answer
//	none     Terminated   carry nothing out, and send Fault.Answer, which is nil where nothing is to be said (a response that
//	                      is wrong has failed: 10.3.4.2, 10.5)
//
// A mandatory IE that its sender lets be ignored may not be there: then its field is zero (a UserLocation of kind 0). What is
// not compatible with the receiver's state (10.4), or names a UE that is not known (10.6), only the caller sees:
// NewErrorIndication, and Kind.FromRAN.
//
// The codec is written here and not free5GC's ngap: docs/adr/0016-an-ngap-codec-of-its-own.md says why. Tests compare the two.
//
//	per.go        PER, sequence.go SEQUENCE, CHOICE, lists, extensions
//	exchange.go   IEs of a message: order, presence, criticality
//	read.go, write.go, fault.go, association.go (streams, and who a message is of)
//	procedure.go  procedures, kind.go the kinds of messages, ie.go names of IEs, cause.go, diagnostics.go
//	identity.go, location.go, mobility.go, security.go, paging.go   IEs
//	interface.go, nas.go, context.go, session.go, handover.go, report.go   messages
package n2
