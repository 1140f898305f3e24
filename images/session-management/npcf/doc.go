// Package npcf is what the SMF asks of a PCF (Npcf_SMPolicyControl, TS 29.512): a policy association for each PDU
// session, and what the PCF calls back with.
//
// A decision is plain data. What of it cannot be read is set aside as Invalid, by name, so that it can be reported
// (TS 29.512 4.2.3.16) while the rest is in force. Later decisions say only what has changed, a removal with null: they
// are merged into the one before (RFC 7396) with Merge.
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown.
//
//	association.go   create, update, delete, read
//	decision.go      what a PCF decides
//	flow.go          flow descriptions
//	callback.go      what it calls back with
package npcf
