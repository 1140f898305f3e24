package sbi

import (
	"fmt"
	"time"
)

// How a call fails. A caller that keeps state must tell three cases apart: the peer said no (and did nothing), the
// request never left (and may be made anew, elsewhere too), and nobody knows.

// Refused is an error answer of the peer's.
type Refused struct {
	Operation string
	Status    int
	// Cause and Detail are those of the problem details, "" where there are none.
	Cause, Detail string
	// RetryAfter is when the peer wants to be asked again, 0 where it does not say.
	RetryAfter time.Duration
	// Message is the whole content, for operations whose error answers say more.
	Message Message
}

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s: refused with %d %s %.200s", r.Operation, r.Status, r.Cause, r.Detail)
}

// NotSent is a request that has not reached the peer: nobody is known who serves it, or there is no connection.
type NotSent struct {
	Operation string
	Err       error
}

// Error implements error.
func (n *NotSent) Error() string { return n.Operation + ": not sent: " + n.Err.Error() }

// Unwrap gives the reason.
func (n *NotSent) Unwrap() error { return n.Err }

// Unknown is a request that may have reached the peer, and an answer that has not come, or that cannot be read.
type Unknown struct {
	Operation string
	Err       error
}

// Error implements error.
func (u *Unknown) Error() string { return u.Operation + ": sent, and nobody knows: " + u.Err.Error() }

// Unwrap gives the reason.
func (u *Unknown) Unwrap() error { return u.Err }
