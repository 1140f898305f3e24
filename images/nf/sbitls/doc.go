// Package sbitls protects the service based interface with TLS on both sides (TS 33.501 13.1): who calls
// shows a certificate, who is called shows one, and each checks the other's against the core's own
// certification authority. free5GC does neither by itself: its servers ask for no certificate and its
// clients skip verification.
//
// The files are those of a Kubernetes Secret of type kubernetes.io/tls. They are read again when they
// change, so that a renewed certificate is in use with the next connection and nothing restarts.
//
// All functions call others with a transport of this package, in a core without TLS too: it outlives a lost packet
// at the start of a connection.
package sbitls
