// Package nausf is what the AMF, as SEAF, asks of an AUSF: Nausf_UEAuthentication (TS 29.509 5.2.2), with 5G-AKA and
// EAP-AKA' (TS 33.501 6.1.3).
//
// An authentication is a Challenge, of which the AUSF keeps the other half; it ends with Confirm or EAP, once, or is
// given up. Keys are plain arrays, and are in no error and no log.
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown. ReasonOf sorts them by what a UE is told.
package nausf
