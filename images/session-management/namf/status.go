package namf

import (
	"context"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

// Status is SmContextStatusNotification (TS 29.502 6.1.6.2.8).
type Status struct {
	// Resource is RELEASED, or UPDATED and the others of TS 29.502 6.1.6.3.14.
	Resource string
	// Cause of TS 29.502 6.1.6.3.8, such as REL_DUE_TO_REACTIVATION, "" for none.
	Cause string
	// Access whose resources are released, of a session over both, else "".
	Access string
}

// Released is the end of an SM context.
func Released(cause string) Status { return Status{Resource: "RELEASED", Cause: cause} }

type statusNotification struct {
	Info statusInfo `json:"statusInfo"`
}

type statusInfo struct {
	Resource string `json:"resourceStatus"`
	Cause    string `json:"cause,omitempty"`
	Access   string `json:"anType,omitempty"`
}

// NotifyStatus tells the AMF what has become of an SM context, at the URI that it gave (smContextStatusUri). An AMF that
// knows the context no more answers 404, a *sbi.Refused: it need not be told again.
func (c *Client) NotifyStatus(ctx context.Context, uri string, s Status) error {
	_, err := c.sbi.Do(ctx, sbi.Call{
		Operation: "SmContextStatusNotify", Method: http.MethodPost, URI: uri,
		Header: http.Header{"3gpp-Sbi-Callback": {"Nsmf_PDUSession_StatusNotify"}},
		JSON:   statusNotification{statusInfo(s)},
	})
	return err
}

// ReadStatus reads what an SMF tells of an SM context: the AMF's side of NotifyStatus.
func ReadStatus(req *http.Request) (Status, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Status{}, err
	}
	info, err := sbi.Mandatory[sbi.Content](content, "statusInfo")
	if err != nil {
		return Status{}, err
	}
	resource, err := sbi.Mandatory[sbi.Text](info, "resourceStatus")
	if err != nil {
		return Status{}, err
	}
	s := Status{Resource: string(resource)}
	if s.Cause, _, err = sbi.Optional[string](info, "cause"); err != nil {
		return Status{}, err
	}
	s.Access, _, err = sbi.Optional[string](info, "anType")
	return s, err
}
