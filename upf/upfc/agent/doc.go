// Package agent is upf-c itself: it executes PFCP requests on sessions, keeps upf-u and its own
// account of the sessions the same, and reports to the CP functions.
//
// Sessions at rest are package store's.
//
// Locks are taken in this order: a session's, then the agent's, then those of what it is made of. The agent's lock is
// never held across I/O. A session's is held from the plan of a change to upf-u's answer, so a session changes
// by one transaction at a time and different sessions change at once.
package agent
