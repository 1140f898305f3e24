// Package registration keeps a free5GC network function known to the NRF (TS 29.510 5.2.2.2).
//
// The functions register once, when they start, under an instance id that is new each time. An NRF that
// lost its profiles, because it or its database was restarted, would never hear of them again; and a
// function that was killed leaves a profile behind for ever. So the mains in the neighbouring folders
// give each function an instance id that stays, withdraw what an earlier life left, and register again
// whenever the NRF does not know the id any more.
package registration
