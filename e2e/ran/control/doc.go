// Package control is the API of a running simulation, over HTTP on loopback or a Unix socket, and its
// client, the `ran ctl` commands.
package control
