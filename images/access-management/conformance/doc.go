// Package conformance holds no code: its test checks that docs/amf-conformance.md, which says clause by clause what access
// management does, names only tests and cases that are there.
package conformance
