// Package configuration is what the SMF knows of its surroundings: slices, data networks, QoS flows, UPF units.
//
// A Snapshot holds all of it as it was at one moment, and never changes: a procedure takes one when it begins, and what
// it decides hangs together. Whoever reads custom resources (package cluster) or a file (Parse) makes the next Snapshot;
// nothing here knows of Kubernetes, nor of what is live: loads and broken paths are told to Select.
//
// What is a subscriber's own, static addresses and flows by name, is not here: it comes with the subscription data of
// the session (TS 29.503 6.1.6.2.9, SessionManagementSubscriptionData), and Select and Flow take it from there.
//
//	snapshot.go     slices, and what is looked up how
//	datanetwork.go  a data network, and what n1, n4 and the record are told of it
//	unit.go         UPF units
//	selection.go    which unit a session gets
//	path.go         what stands between access network and anchor
//	file.go         the same from YAML
package configuration
