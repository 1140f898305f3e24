// Package specs builds every object that the operator applies: custom resources in, object out.
//
// Builders are pure. They read no cluster, no clock and no environment; what they need beside the
// custom resource (default images, a ClusterIP, an allocated endpoint) is an argument. Each is tested
// against a golden file in testdata.
//
// The configuration of a network function is a typed value of its own, rendered to YAML. Its hash is
// an annotation on the pod template, so that a change rolls exactly the function that reads it.
package specs
