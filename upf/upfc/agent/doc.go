// Package agent is upf-c itself: it serves CP functions with one upf-u. What it does is in packages below it, of which each imports
// those on lower floors alone (imports_test.go), and is handed as functions (Owner) what it needs of above:
//
//	filling       upf-u and our account of the sessions made the same; a standby's upf-u filled ahead
//	sessions      requests, from the plan to the answer; what sessions are compiled of and given; META
//	reports       what CP functions are told on our own initiative: when, of what, and until they have it
//	leases        a session while somebody works on it
//	link          the connection to upf-u, and what upf-u is granted
//	node          CP functions: associations, who may ask for what, load and overload, Node Reports
//	peers         GTP-U peers, and the paths to them
//	addresses     F-TEIDs and UE addresses that are chosen here
//	applications  what CP functions have described to detect applications by
//	pace          when sessions are looked at, and by how many at once
//	store         sessions at rest
//
// Here they are put together (agent.go), started and stopped, PFCP requests (handler.go) and upf-u's events (events.go) handed to them,
// and looked at (inspect.go, trace.go).
//
// A session's lock is held from the plan of a change to upf-u's answer, so a session changes by one transaction at a time and different
// sessions change at once. It is taken before those of the accounts (slots, blocks, groups, what is postponed), of the node and of the
// store, none of which is held while upf-u is waited for.
package agent
