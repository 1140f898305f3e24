// Package conformance holds no code: its test checks that docs/smf-conformance.md, which says clause by clause what session
// management does, names only tests and stories that are there.
package conformance
