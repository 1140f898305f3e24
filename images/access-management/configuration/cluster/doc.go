// Package cluster makes the AMF's Settings from the Core5G. It is the only part of access management that knows of Kubernetes.
//
// Build is pure: a Core5G in, Settings out. A Watcher builds anew whenever the Core5G changes, which is within a second, and tells who follows it. One that
// cannot be used is named, and what was last good of it stays in force: nothing that an administrator writes ends the AMF.
//
//	build.go    a Core5G to Settings, and what is wrong with it
//	watcher.go  when to build
package cluster
