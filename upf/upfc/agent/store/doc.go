// Package store keeps upf-c's sessions at rest, without pointers, in memory and in the file that survives upf-c, and
// leases them to who works on them. It knows nothing of PFCP, of upf-u's socket, nor of the agent.
package store
