// Package nrf keeps network function profiles registered with the NRF (Nnrf_NFManagement, TS 29.510):
// it registers them, sends heart-beats, registers again when the NRF has forgotten them or when what they
// offer has changed, and deregisters them at the end, unless another process goes on with the instance.
package nrf
