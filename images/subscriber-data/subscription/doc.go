// Package subscription reads what the subscriber data functions serve: subscribers, slices and the core
// they belong to, straight from Subscriber, Slice and Core5G objects and Secrets at the moment of the
// question. A Directory resolves them; the objects come from a cluster (Cluster) or from a file of the
// same manifests (File).
package subscription
