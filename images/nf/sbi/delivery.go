package sbi

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// Delivery is what a transport says of a request: it asks for a connection, has it, and then writes.
type Delivery struct{ asked, connected atomic.Bool }

// Watched is the context to make the request with.
func (d *Delivery) Watched(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { d.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { d.connected.Store(true) },
	})
}

// NotSent says that nothing of the request has left, so that nothing can have been done of it. A transport that says nothing, such as memory, may have delivered
// what it reports an error of.
func (d *Delivery) NotSent() bool { return d.asked.Load() && !d.connected.Load() }
