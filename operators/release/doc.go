// Package release holds the two jobs that the chart runs around a Helm release: Apply puts the
// chart's default Core5G and UPFInstance in place after install and upgrade, and Cleanup takes every
// custom resource of the namespace down before uninstall, while the operator still runs.
//
// Helm resolves each manifest of a release against the API server's kinds before it creates the
// first one, so a custom resource cannot stand in the release that also brings its definition; and
// on uninstall Helm removes unknown kinds last, after the Deployment that would have to serve their
// finalizers. Both are therefore done here, from the operator's own image.
//
// Objects are handled unstructured: whatever a newer definition knows is passed on untouched.
package release
