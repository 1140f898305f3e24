// Package addresses chooses what CP functions leave to the UPF: F-TEIDs (TS 29.244 5.5.3), with the home of the session in
// them so that upf-u knows whose a packet is, and UE IP addresses (5.21), out of the pools of the configuration or out of
// those that a CP function names.
//
// A session is an index here, and a network of N6 a number. Package sessions says when something may be chosen, and which
// rules came into force.
package addresses
