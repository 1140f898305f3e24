// Package nchf is what the SMF asks of a CHF (Nchf_ConvergedCharging, TS 32.290, TS 32.291 6.1): quotas for online
// charging, and reports of usage for both kinds.
//
// Requests are numbered by their sender (Sequence): the same number again is the same report, so that a CHF counts it
// once when it is marked as Again (TS 32.290 5.4). Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown.
//
//	charging.go   create, update, release
//	report.go     what is reported and asked for
//	quota.go      what is granted
//	callback.go   what a CHF calls back with
package nchf
