// Package nudm is what the AMF asks of a UDM: that it serves a UE (Nudm_UECM, TS 29.503 5.3), what the UE is subscribed
// to, and to be told of changes (Nudm_SDM, 5.2); and what the UDM calls back with.
//
// Errors are a *sbi.Refused, a *sbi.NotSent, or a *sbi.Unknown. ServedElsewhere and NotSubscribed sort refusals.
//
//	registration.go   which AMF serves a UE
//	data.go           access and mobility data, slices, DNNs, the SMFs of sessions
//	callback.go       what the UDM tells by itself
package nudm
