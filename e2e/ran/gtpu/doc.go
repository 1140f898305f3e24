// Package gtpu is the gNB's end of N3: GTP-U over UDP (TS 29.281) with the PDU Session Container
// (TS 38.415), over a socket of the kernel.
package gtpu
