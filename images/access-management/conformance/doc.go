// Package conformance holds docs/amf-conformance.md, and the tests that it names, together.
package conformance
