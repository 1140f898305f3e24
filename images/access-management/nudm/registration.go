package nudm

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	shared "core5g.dev/core5g/images/session-management/nudm"
)

const (
	sdm  = "nudm-sdm"
	uecm = "nudm-uecm"
)

// Client calls UDMs.
type Client struct {
	sbi *sbi.Client
	// shared is for what SMFs ask in the same words.
	shared *shared.Client
}

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c, shared.NewClient(c)} }

func service(name string) sbi.Service { return sbi.Service{Type: "UDM", Name: name} }

// Registration says which AMF serves a UE over 3GPP access (Amf3GppAccessRegistration, TS 29.503 6.2.6.2.2). What is
// zero is not said.
type Registration struct {
	AMFInstanceID string        `json:"amfInstanceId"`
	GUAMI         ts29571.GUAMI `json:"guami"`
	// DeregistrationURI is where to hear that another AMF serves the UE.
	DeregistrationURI string `json:"deregCallbackUri"`
	// RAT such as NR.
	RAT string `json:"ratType"`
	PEI string `json:"pei,omitempty"`
	// Initial: the UE has registered anew, so that what other AMFs hold of it is void.
	Initial   bool `json:"initialRegistrationInd,omitempty"`
	Emergency bool `json:"emergencyRegistrationInd,omitempty"`
	// IMSVoiceOverPS is HOMOGENEOUS_SUPPORT, HOMOGENEOUS_NON_SUPPORT, NON_HOMOGENEOUS_OR_UNKNOWN.
	IMSVoiceOverPS string   `json:"imsVoPs,omitempty"`
	Backup         []Backup `json:"backupAmfInfo,omitempty"`
	// Time of the registration.
	Time time.Time `json:"registrationTime,omitzero"`
}

// Backup is an AMF that takes over (BackupAmfInfo, TS 29.571 5.4.4.57); no GUAMIs: all of them.
type Backup struct {
	Name   string          `json:"backupAmf"`
	GUAMIs []ts29571.GUAMI `json:"guamiList,omitempty"`
}

func registrationPath(supi string) string {
	return "/nudm-uecm/v1/" + url.PathEscape(supi) + "/registrations/amf-3gpp-access"
}

// Register makes the AMF known as the one that serves the UE, and has the one before told (TS 29.503 5.3.2.2.2). Again,
// it does the same.
func (c *Client) Register(ctx context.Context, supi string, r Registration) error {
	_, err := c.sbi.Do(ctx, sbi.Call{
		Operation: "3GppRegistration", Method: http.MethodPut, Service: service(uecm), Path: registrationPath(supi), JSON: r, Repeatable: true,
	})
	return err
}

// Modification is what changes of a registration (Amf3GppAccessRegistrationModification, TS 29.503 6.2.6.2.7).
type Modification struct {
	// GUAMI is that of the registration: of another, nothing is changed.
	GUAMI          ts29571.GUAMI `json:"guami"`
	PEI            string        `json:"pei,omitempty"`
	IMSVoiceOverPS string        `json:"imsVoPs,omitempty"`
	Backup         []Backup      `json:"backupAmfInfo,omitempty"`
}

// Modify changes a registration (TS 29.503 5.3.2.6.2).
func (c *Client) Modify(ctx context.Context, supi string, m Modification) error {
	_, err := c.patch(ctx, "Update3GppRegistration", supi, m)
	return err
}

// ended names the registration that a purge is of. A UDM that does not know the name passes over it (TS 29.500 6.6.3).
type ended struct {
	Time time.Time `json:"registrationTime"`
}

// Purge ends a registration of this AMF (TS 29.503 5.3.2.4.2), the one of that time, or with zero whichever there is. One that is not there any more, or that is
// another AMF's by now, or a newer one, has ended.
func (c *Client) Purge(ctx context.Context, supi string, guami ts29571.GUAMI, of time.Time) error {
	purge := struct {
		GUAMI ts29571.GUAMI `json:"guami"`
		Purge bool          `json:"purgeFlag"`
		Ended *ended        `json:"vendorSpecific-032473,omitempty"`
	}{GUAMI: guami, Purge: true}
	if !of.IsZero() {
		purge.Ended = &ended{of}
	}
	_, err := c.patch(ctx, "AmfDeregistration", supi, purge)
	var refused *sbi.Refused
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Cause == "MODIFICATION_NOT_ALLOWED") || ServedElsewhere(err) {
		return nil
	}
	return err
}

func (c *Client) patch(ctx context.Context, operation, supi string, v any) (*sbi.Reply, error) {
	return c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPatch, Service: service(uecm), Path: registrationPath(supi), JSON: v,
		ContentType: "application/merge-patch+json", Repeatable: true,
	})
}

// ServedElsewhere reports whether a Modify was refused because another AMF serves the UE.
func ServedElsewhere(err error) bool {
	var refused *sbi.Refused
	return errors.As(err, &refused) && refused.Cause == "INVALID_GUAMI"
}

// NotSubscribed reports whether the home network refuses the UE, and not only this request: nobody has the SUPI, or may
// be served over this access or in this network (TS 29.503 6.2.7.3).
func NotSubscribed(err error) bool {
	var refused *sbi.Refused
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Cause {
	case "USER_NOT_FOUND", "UNKNOWN_5GS_SUBSCRIPTION", "NO_PS_SUBSCRIPTION", "ROAMING_NOT_ALLOWED", "ACCESS_NOT_ALLOWED", "RAT_NOT_ALLOWED":
		return true
	}
	return false
}
