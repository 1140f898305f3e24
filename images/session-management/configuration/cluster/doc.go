// Package cluster makes Snapshots of the SMF's configuration from custom resources: the Slices and UPFInstances of one
// core, and the Core5G. It is the only part of session management that knows of Kubernetes.
//
// Build is pure: objects in, Snapshot out. A Watcher builds anew whenever an object changes, which is within a second, and
// tells who follows it. An object that cannot be used, because it contradicts itself or another, is named, and what was
// last good of it stays in force: nothing that an administrator writes ends the SMF or another Slice's sessions.
//
//	build.go    objects to a Snapshot, and what is wrong with which
//	slice.go    a Slice to data networks
//	unit.go     a UPFInstance to units
//	watcher.go  which objects (when to build says package customresources)
package cluster
