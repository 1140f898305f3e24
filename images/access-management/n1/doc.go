// Package n1 is the 5GMM part of NAS (TS 24.501 5 and 8.2, Release 16): what a UE and the AMF say to each other. Octets
// become plain Go structs and back; nothing here decides anything, and nothing here knows a key.
//
// Decode reads a message of either side and answers what is wrong with it as a *Fault, with the 5GMM cause to answer with
// (TS 24.501 7). It trusts no length; of elements it does not know it passes over those that may be passed over
// (TS 24.007 11.2.4), an optional one with a wrong content is as if it were not there, of one that comes twice the first
// counts, and their order does not matter. What was read shares memory with the octets. Encode writes, and refuses values
// that cannot be said. Every message names its elements once, for both (elements, in the message's file).
//
// A message is plain, or in an envelope with a message authentication code (envelope.go), which package security opens.
//
//	message.go    types, directions, Decode, Encode, faults
//	codec.go      how elements lie in a message; iei.go has their identifiers
//	envelope.go   security header types
//	cause.go      5GMM causes
//	registration.go deregistration.go service.go configuration.go authentication.go identification.go
//	securitymode.go transport.go notification.go status.go    the messages
//	identity.go tai.go slice.go capability.go sessions.go timer.go network.go area.go access.go    the elements
package n1
