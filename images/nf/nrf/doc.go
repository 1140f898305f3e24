// Package nrf keeps network function profiles registered with the NRF (Nnrf_NFManagement, TS 29.510):
// it registers them, sends heart-beats, registers again when the NRF has forgotten them, and deregisters
// them at the end. The profiles are those of the four functions that subscriber-data serves.
package nrf
