// Package cluster is what controllers of all kinds ask of the cluster and share about it: the scheme, the cache and the client that they see it with, whose
// an object is, which networks it uses itself, whether a namespace ends, and by which version fields were written. It knows no kind's controller.
package cluster
