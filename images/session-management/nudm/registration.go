package nudm

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Registration says which SMF serves a PDU session (SmfRegistration, TS 29.503 6.2.6.2.4).
type Registration struct {
	SMFInstanceID string         `json:"smfInstanceId"`
	SMFSetID      string         `json:"smfSetId,omitempty"`
	SessionID     uint8          `json:"pduSessionId"`
	SNSSAI        ts29571.SNSSAI `json:"singleNssai"`
	DNN           string         `json:"dnn"`
	PLMN          ts29571.PLMN   `json:"plmnId"`
	PCFID         string         `json:"pcfId,omitempty"`
	Emergency     bool           `json:"emergencyServices,omitempty"`
	// Time of the registration.
	Time time.Time `json:"registrationTime,omitzero"`
}

func registrationPath(supi string, session uint8) string {
	return "/nudm-uecm/v1/" + url.PathEscape(supi) + "/registrations/smf-registrations/" + strconv.Itoa(int(session))
}

// Register makes the SMF known as that of a session. Again, it does the same.
func (c *Client) Register(ctx context.Context, supi string, r Registration) error {
	_, err := c.sbi.Do(ctx, sbi.Call{
		Operation: "Registration", Method: http.MethodPut, Service: service(uecm), Path: registrationPath(supi, r.SessionID),
		JSON: r, Repeatable: true,
	})
	return err
}

// Deregister ends the registration of a session with this SMF. One that is not there any more has ended.
func (c *Client) Deregister(ctx context.Context, supi string, session uint8, smfInstanceID string) error {
	return gone(c.sbi.Do(ctx, sbi.Call{
		Operation: "SmfDeregistration", Method: http.MethodDelete, Service: service(uecm), Path: registrationPath(supi, session),
		Query: url.Values{"smf-instance-id": {smfInstanceID}}, Repeatable: true,
	}))
}
