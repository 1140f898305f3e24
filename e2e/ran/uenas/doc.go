// Package uenas is the UE's end of the non-access stratum (TS 24.501): the NAS security context
// with its counts, the messages a UE sends, and the safe decoding of what the network answers
// (by free5gc/nas).
package uenas
