// Package nsmf is what the AMF asks of SMFs: Nsmf_PDUSession (TS 29.502 5.2.2), a context for each PDU session of a UE.
// The requests and answers are those of the SMF's own package nsmf: both sides of one format.
//
// A context is a sbi.Bound: where the SMF said that it is, and who else of its set knows it. A call about a context whose
// SMF has died goes to another of the set, and the context that comes back says where it is by then.
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown. RefusalOf takes a refusal apart: the N1 message in it is
// what the UE is to hear, whatever the cause.
package nsmf
