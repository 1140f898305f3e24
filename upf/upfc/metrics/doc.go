// Package metrics is upf-c's Prometheus side. What workers count is read from upf-u's memory when
// somebody scrapes; nothing is copied in between. docs/upf/metrics.md lists every family; a test
// writes it.
package metrics
