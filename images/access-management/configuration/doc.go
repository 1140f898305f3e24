// Package configuration is what the AMF is told of its network: whom it serves, how it is called, which algorithms it uses. Of that it makes the Settings
// that procedures follow.
//
// Settings never change: whoever reads the Core5G (package cluster) or a file (Parse) makes the next ones. Nothing here knows of Kubernetes.
//
// Slices are not here. The catalogue of the Core5G says which there can be, a UE's subscription which of them it has; that one follows Subscribers and
// Slices, and whoever serves it tells of its changes (TS 29.503 5.2.2.5).
//
//	network.go  a network, and what is wrong with one
//	words.go    the words in which it is written
//	file.go     the same from YAML
//	follow.go   a file that changes
package configuration
