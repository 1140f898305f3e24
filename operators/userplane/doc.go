// Package userplane keeps the user plane of a running SMF as it should be: which UPFs it has, and each
// one's part of the UE pools, through the user-plane API of free5GC's SMF (/upi/v1/upNodesLinks).
//
// That API believes what it is told: two UPFs with overlapping pools end the process. A topology is
// therefore checked before any of it is sent, and what has to go is taken out before something is put in.
// The API knows no change of a UPF, only its end, which releases its PDU sessions, and its beginning.
//
// An SMF that has restarted has the topology of its configuration file; comparing and sending what is
// missing replays what has been done since.
package userplane
