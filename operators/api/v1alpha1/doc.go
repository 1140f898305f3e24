// Package v1alpha1 holds the API group core5g.dev/v1alpha1: what a user asks of a 5G core.
//
// Core5G is one 5G core network, Slice is one network slice of it (an S-NSSAI with its data
// networks), UPFInstance is a user plane function with its N3 and N6 sides, Subscriber is one SIM.
// Every kind is namespaced; references stay within the namespace.
//
// What the schema can refuse, it refuses with a sentence that says what to write instead (CEL rules);
// what needs a second object to judge is a condition.
//
// The definitions serve v1beta1 beside it, of the same schema (hack/definitions, docs/adr/0027-two-versions-of-one-shape.md): a field that
// is added here is one of both.
//
// +kubebuilder:object:generate=true
// +groupName=core5g.dev
package v1alpha1
