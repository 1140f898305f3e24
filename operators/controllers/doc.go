// Package controllers makes the cluster be what Core5G, Slice, UPFInstance and Subscriber objects say.
//
// Each kind has a room of its own: packages core, slice, upf and subscriber. No kind imports another: what one has to tell another stands in objects, which
// both read. Below them are rooms that no kind's controller is in: cluster, what all ask of the cluster; applying, how objects are written, and certifying,
// how certificates are kept; conditions, asking and workloads; and metrics. Imports go down only (imports_test.go). This package, at the top, adds
// all of them to a manager, says what the operator may do (rbac.go), and has the tests of several kinds against one API server.
//
// Each Reconcile is a table of contents: read the object, keep its finalizer, run a list of phases, and
// patch the status once at the end. It starts from what is there, not from what happened, and may run
// any number of times. It waits for nobody but the API server: pods, SMFs and NRFs are asked beside it
// (package asking). An error is returned only for what a retry can heal; everything else is a condition, and a watch
// brings the object back when the cause has changed.
//
// Who writes what: objects come from package specs and are applied server-side with one field owner.
// N3 endpoints are given out by the UPFInstance reconciler alone, into its own status, so that two
// Slices never race for one.
package controllers
