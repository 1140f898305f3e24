// Package nodes tells what happens when a node of three dies under traffic: the one that has the UPF unit which serves, an AMF worker, an N2
// terminator, a pod of the SMF, the NRF with its database, and the primary of the session store. `make e2e-nodes` makes the cluster, of nodes that are namespaces of one machine (hack/README.md), tells the stories, and
// takes it down.
//
// A node dies in two ways. Off: all its processes are killed at once, and later it boots. Cut: its cables are pulled out, everything on it goes on
// in the dark, and later it is back with all that it still believes.
package nodes
