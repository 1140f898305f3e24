// Package namf is the service based interface that the AMF serves (TS 29.518): Namf_Communication, Namf_EventExposure,
// Namf_MT and Namf_Location, and the callbacks that it asks SMF, PCF and UDM for. It turns requests into plain structs,
// gives them to handlers, and writes their answers; it decides nothing. Client is what it tells others by itself, and asks
// of other AMFs, in the same structs: each is written and read from one list of its members.
//
// What is not known is passed over, and null counts as absent. A refusal has the form that its operation has for errors.
//
//	serve.go          services, time limits
//	refusal.go        refusals and their causes
//	uecontext.go      a UE as another AMF is told of it
//	contexts.go       UE contexts: create, release, transfer, relocate, EPS bearers
//	transfer.go       N1 and N2 messages to a UE
//	subscriptions.go  N1 and N2 messages of UEs, N2 messages of no UE, the status of AMFs
//	events.go         event exposure
//	reach.go          reachability and location
//	callbacks.go      what others are asked to call
//	client.go         notifications, and what is asked of other AMFs
package namf
