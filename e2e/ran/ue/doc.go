// Package ue is the simulated UE: registration, authentication, security mode, sessions, service
// requests, paging and deregistration (TS 24.501), and its user plane through a device.
//
// Each UE is one goroutine that takes events from a queue, so that its procedures need no locks.
// What the UE shall be is kept as wishes (registered; these sessions); after every event the UE
// starts whatever brings it closer to them. That one rule serves starting, recovering from a lost
// AMF or UPF, and commands alike.
package ue
