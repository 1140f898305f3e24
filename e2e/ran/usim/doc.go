// Package usim is the simulated subscriber identity module: 5G-AKA with Milenage (TS 35.206, through
// free5gc/util), the sequence number check and resynchronisation of TS 33.102 Annex C, the key
// hierarchy of TS 33.501 Annex A, and SUCI concealment (TS 33.501 Annex C).
//
// K, OPc and every key derived from them stay inside values whose String and LogValue say
// "redacted"; nothing here logs.
package usim
