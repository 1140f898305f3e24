// Package gnb is the simulated gNB: NG Setup and the UE-associated procedures of N2 (TS 38.413)
// towards one AMF at a time, with reconnection; the tunnels of N3; and handover between gNBs of an
// Area. UEs attach to it through the UE interface, which stands for the radio.
//
//	gnb.go, handle.go       the association, and the AMF's messages
//	connection.go           a UE's logical connection
//	resource.go, session.go PDU session resources: set up, modified, released
//	indication.go           what the gNB begins about them
//	handover.go             what both kinds of handover share; xn.go, n2handover.go, area.go
//	forwarding.go           the user plane of a handover
//	behaviour.go, death.go  what a good gNB does not do
package gnb
