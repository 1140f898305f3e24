// Package gnb is the simulated gNB: NG Setup and the UE-associated procedures of N2 (TS 38.413)
// towards one AMF at a time, with reconnection; and the tunnels of N3. UEs attach to it through the
// UE interface, which stands for the radio.
package gnb
