// Package n4 says one thing to a UPF on behalf of an SMF that is gone: that its association is over
// (TS 29.244 6.2.8). free5GC's SMF does not say so when it stops, and without it the UPF would keep the
// PDU sessions of a deleted Slice, and their F-TEIDs, until it gives the path up.
package n4
