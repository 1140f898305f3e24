// Package sbi is the service based interface of the subscriber data functions (TS 29.500): operations
// on paths, answered with JSON or problem details, over HTTP/2 with TLS or without, counted one by one.
package sbi
