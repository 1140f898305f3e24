// Package n1 is the 5GSM part of NAS (TS 24.501 6 and 8.3): what a UE and the SMF say to each other about a PDU session.
//
// Decode reads what a UE sent and answers what is wrong with it as a *Fault with the 5GSM cause that the UE is to be
// told (TS 24.501 7). It trusts no length, passes over information elements that it does not know by their format
// (TS 24.007 11.2.4), and keeps of one that comes twice the first. Messages to the UE are structs with an Encode.
//
//	message.go   headers, elements, what a UE sends
//	reply.go     what the network sends
//	qos.go       QoS rules, QoS flow descriptions, bit rates
//	options.go   protocol configuration options
package n1
