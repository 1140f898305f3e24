// Package conformance holds no code: its test checks that docs/upf/conformance.md, which says clause
// by clause what the UPF does, names only tests that are there.
package conformance
