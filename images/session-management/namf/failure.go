package namf

import (
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

// Failure is N1N2MsgTxfrFailureNotification (TS 29.518 6.1.6.2.31): a UE that was paged has not come, or its access
// network did not take what was for it.
type Failure struct {
	// Cause such as UE_NOT_RESPONDING, UE_NOT_REACHABLE_FOR_SESSION, TEMPORARY_REJECT_HANDOVER_ONGOING.
	Cause string
	// URI is that of the Outcome.
	URI string
	// RetryAfter in seconds, 0 where it is not said.
	RetryAfter int
}

// Reason sorts the cause as those of refusals.
func (f Failure) Reason() Reason { return reasonOf(0, f.Cause) }

// ReadFailure reads a failure notification.
func ReadFailure(req *http.Request) (Failure, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Failure{}, err
	}
	cause, err := sbi.Mandatory[sbi.Text](content, "cause")
	if err != nil {
		return Failure{}, err
	}
	// The URI is mandatory too, but tells nothing that the path of the callback does not.
	uri, _, err := sbi.Optional[string](content, "n1n2MsgDataUri")
	if err != nil {
		return Failure{}, err
	}
	retry, _, err := sbi.Optional[int](content, "retryAfter")
	return Failure{string(cause), uri, max(0, retry)}, err
}
