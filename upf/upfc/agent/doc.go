// Package agent is upf-c itself: it executes PFCP requests on sessions, keeps upf-u and its own
// account of the sessions the same, and reports to the CP functions.
//
// What can be understood without the sessions that somebody works on stands below it. None of these packages imports
// this one, nor another of them; what they need of above they are handed as functions:
//
//	link       the connection to upf-u, and what upf-u is granted
//	node       CP functions: associations, who may ask for what, load and overload, Node Reports
//	peers      GTP-U peers, and the paths to them
//	addresses  F-TEIDs and UE addresses that are chosen here
//	pace       when sessions are looked at, and by how many at once
//	store      sessions at rest
//
// Here is what brings them together: requests (requests.go, commit.go), reports (report.go), and the filling of a upf-u
// (fill.go; of a standby's, ahead.go).
//
// Locks are taken in this order: a session's, then the agent's, then those of what it is made of. The agent's lock is
// never held across I/O. A session's is held from the plan of a change to upf-u's answer, so a session changes
// by one transaction at a time and different sessions change at once.
package agent
