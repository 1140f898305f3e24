// Package nrf is the operator's view of the NRF: which network functions are registered, the profile
// of each, and putting one back or taking one out (TS 29.510 Nnrf_NFManagement and Nnrf_NFDiscovery).
package nrf
