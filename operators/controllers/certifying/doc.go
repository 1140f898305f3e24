// Package certifying keeps certificates in their Secrets, by the operator's own authority or by cert-manager, and has the identity that the operator itself
// shows to network functions. It knows no kind's controller.
package certifying
