// Package pace says when upf-c looks at its sessions, and at how many at once: a wheel that wakes them by the clock,
// crews that do what there is to do with them by a bounded number of goroutines, and what upf-u has said of a session
// until somebody looks at it. It knows sessions by their indexes alone, so that a session at rest stays at rest until
// its turn has come; what a job is, says who gives it: package reports.
package pace
