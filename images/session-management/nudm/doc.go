// Package nudm is what the SMF asks of a UDM: the subscription to a data network (Nudm_SDM, TS 29.503 5.2 and 6.1), to
// be told of changes of it, and to be known as the SMF of a PDU session (Nudm_UECM, 5.3 and 6.2).
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown.
package nudm
