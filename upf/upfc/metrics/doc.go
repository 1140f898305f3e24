// Package metrics is upf-c's Prometheus side. What workers count is read from upf-u's memory when
// somebody scrapes; nothing is copied in between.
package metrics
