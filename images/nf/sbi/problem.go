package sbi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Problem is an error answer: the problem details of TS 29.571 5.2.4.1.
type Problem struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"`
	// about are keys and values for the log, which the answer does not have.
	about []any
}

// About adds keys and values to the log of the refusal, not to the answer.
func (p *Problem) About(keysAndValues ...any) *Problem {
	p.about = append(p.about, keysAndValues...)
	return p
}

// Error implements error.
func (p *Problem) Error() string {
	return fmt.Sprintf("%d %s: %s", p.Status, p.Cause, p.Detail)
}

// NewProblem returns a problem with a cause of the specification and a sentence for people.
func NewProblem(status int, cause, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Cause: cause, Detail: detail}
}

// Refusing is the answer that has the problem alone, and says when to ask again; 0 says nothing of it.
func (p *Problem) Refusing(retryAfter time.Duration) Answer {
	text, _ := json.Marshal(p) // of strings and numbers
	return Answer{Status: p.Status, Header: RetryAfter(retryAfter), Body: Raw{ContentType: "application/problem+json", Content: text}}
}

// RetryAfter is the header that says when to ask again (RFC 9110 10.2.3), nil for 0.
func RetryAfter(d time.Duration) http.Header {
	if d <= 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(Seconds(d))}}
}

// Seconds rounds up to whole ones, and what is over to 0.
func Seconds(d time.Duration) int { return int((max(0, d) + time.Second - 1) / time.Second) }

// UserNotFound is the answer for a SUPI without a subscription.
func UserNotFound(supi string) *Problem {
	return NewProblem(http.StatusNotFound, "USER_NOT_FOUND", "no subscriber has this SUPI").About("supi", supi)
}

// DataNotFound is the answer where the subscription has nothing of the kind asked for.
func DataNotFound(detail string) *Problem {
	return NewProblem(http.StatusNotFound, "DATA_NOT_FOUND", detail)
}

// SubscriptionNotFound is the answer for an identifier that no subscription has.
func SubscriptionNotFound() *Problem {
	return NewProblem(http.StatusNotFound, "SUBSCRIPTION_NOT_FOUND", "no subscription has this identifier")
}

// BadRequest is the answer to something that cannot be read (TS 29.500 5.2.7.2).
func BadRequest(cause, detail string) *Problem {
	return NewProblem(http.StatusBadRequest, cause, detail)
}

// asProblem turns any error into an answer. What is not a Problem is our own failure, and its text may
// speak of Secrets by name: it is logged and not sent.
func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return NewProblem(http.StatusInternalServerError, "SYSTEM_FAILURE", "see the log of the function")
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
