// Package stack gives goroutines the stack that they are going to need, at once. Each begins with 2 to 4 KiB, and whenever that is too small, all that is on it
// is copied to one twice as large: what serves a request or asks the session store does so two or three times, each time with more to copy, at the depth of
// JSON, TLS and the store's client. With nothing on it yet the copy is next to free.
package stack

import "runtime"

// room that a request's goroutine has: 16 KiB with what is below it.
const room = 12 << 10

// Grow the calling goroutine's stack, in which little has been called yet.
//
//go:noinline
func Grow() {
	var b [room]byte
	runtime.KeepAlive(&b)
}
