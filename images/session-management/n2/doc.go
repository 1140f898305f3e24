// Package n2 is what an SMF and an access network say to each other about a PDU session: the transfers of NGAP
// (TS 38.413 9.3.4), which the AMF passes on without a look.
package n2
