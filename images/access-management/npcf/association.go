package npcf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	serviceName = "npcf-am-policy-control"
	path        = "/npcf-am-policy-control/v1/policies"
)

// Client calls PCFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

func service() sbi.Service { return sbi.Service{Type: "PCF", Name: serviceName} }

// UE is what a PCF is told of a UE (PolicyAssociationRequest, TS 29.507 5.6.2.3). What is zero is not said.
type UE struct {
	// NotificationURI is called back with /update and /terminate behind it.
	NotificationURI string            `json:"notificationUri"`
	SUPI            string            `json:"supi"`
	GPSI            string            `json:"gpsi,omitempty"`
	PEI             string            `json:"pei,omitempty"`
	Access          string            `json:"accessType,omitempty"`
	RAT             string            `json:"ratType,omitempty"`
	Location        *ts29571.Location `json:"userLoc,omitempty"`
	TimeZone        string            `json:"timeZone,omitempty"`
	Serving         *ts29571.PLMN     `json:"servingPlmn,omitempty"`
	GUAMI           *ts29571.GUAMI    `json:"guami,omitempty"`
	// ServiceArea, RFSP and AMBR are the subscribed ones.
	ServiceArea *ts29571.ServiceArea `json:"servAreaRes,omitempty"`
	RFSP        uint16               `json:"rfsp,omitempty"`
	AMBR        *ts29571.AMBR        `json:"ueAmbr,omitempty"`
	Allowed     []ts29571.SNSSAI     `json:"allowedSnssais,omitempty"`
	// Features is mandatory: hexadecimal digits of those of TS 29.507 5.8 that the AMF has, 0 for none.
	Features string `json:"suppFeat"`
}

// Trigger is a reason to tell the PCF (RequestTrigger, TS 29.507 5.6.3.3).
type Trigger string

// The triggers that an AMF knows.
const (
	LocationChange     Trigger = "LOC_CH"
	ServiceAreaChange  Trigger = "SERV_AREA_CH"
	RFSPChange         Trigger = "RFSP_CH"
	AllowedNSSAIChange Trigger = "ALLOWED_NSSAI_CH"
	AMBRChange         Trigger = "UE_AMBR_CH"
	AccessTypeChange   Trigger = "ACCESS_TYPE_CH"
	PresenceChange     Trigger = "PRA_CH"
)

// Decision is what a PCF decides of a UE (PolicyAssociation and PolicyUpdate, TS 29.507 5.6.2.2, 5.6.2.5). What is zero
// is not said, unless Removed names it.
type Decision struct {
	// Triggers are what the PCF wants to hear of.
	Triggers    []Trigger
	ServiceArea *ts29571.ServiceArea
	// RFSP is the index in use, 0 for the subscribed one.
	RFSP uint16
	AMBR *ts29571.AMBR
	// Removed are members that an update takes back, by their JSON names.
	Removed []string
}

// Wants reports whether the PCF wants to hear of it.
func (d Decision) Wants(t Trigger) bool { return slices.Contains(d.Triggers, t) }

// Merge is the decision after one that says only what has changed.
func (d Decision) Merge(change Decision) Decision {
	d.Removed = nil
	if change.Triggers != nil || slices.Contains(change.Removed, "triggers") {
		d.Triggers = change.Triggers
	}
	if change.ServiceArea != nil || slices.Contains(change.Removed, "servAreaRes") {
		d.ServiceArea = change.ServiceArea
	}
	if change.RFSP != 0 || slices.Contains(change.Removed, "rfsp") {
		d.RFSP = change.RFSP
	}
	if change.AMBR != nil || slices.Contains(change.Removed, "ueAmbr") {
		d.AMBR = change.AMBR
	}
	return d
}

func readDecision(content sbi.Content) (Decision, error) {
	var d Decision
	f := sbi.Reading(content, sbi.Message{})
	sbi.Member(f, "triggers", &d.Triggers)
	sbi.Member(f, "servAreaRes", &d.ServiceArea)
	sbi.Member(f, "rfsp", &d.RFSP)
	sbi.Member(f, "ueAmbr", &d.AMBR)
	if d.RFSP > 256 {
		f.Fail(sbi.BadRequest("OPTIONAL_IE_INCORRECT", "rfsp "+strconv.Itoa(int(d.RFSP))+": it is 1 to 256"))
	}
	for _, name := range []string{"triggers", "servAreaRes", "rfsp", "ueAmbr"} {
		if string(content[name]) == "null" {
			d.Removed = append(d.Removed, name)
		}
	}
	if f.Err() != nil {
		return Decision{}, f.Err()
	}
	return d, nil
}

func decided(operation string, m sbi.Message) (Decision, error) {
	content, err := m.Content()
	if err == nil {
		var d Decision
		if d, err = readDecision(content); err == nil {
			return d, nil
		}
	}
	return Decision{}, &sbi.Unknown{Operation: operation, Err: err}
}

// Create makes a policy association (TS 29.507 4.2.2). A second one for the same UE takes the place of the first.
func (c *Client) Create(ctx context.Context, ue *UE) (sbi.Bound, Decision, error) {
	const operation = "CreateIndividualAMPolicyAssociation"
	reply, err := c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodPost, Service: service(), Path: path, JSON: ue})
	if err != nil {
		return sbi.Bound{}, Decision{}, err
	}
	made := reply.Bound()
	if made.URI == "" {
		return made, Decision{}, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	d, err := decided(operation, reply.Message)
	return made, d, err
}

// Change is what has happened to a UE (PolicyAssociationUpdateRequest, TS 29.507 5.6.2.4).
type Change struct {
	// NotificationURI and GUAMI are those of another AMF that serves the UE now.
	NotificationURI string               `json:"notificationUri,omitempty"`
	GUAMI           *ts29571.GUAMI       `json:"guami,omitempty"`
	Triggers        []Trigger            `json:"triggers,omitempty"`
	ServiceArea     *ts29571.ServiceArea `json:"servAreaRes,omitempty"`
	RFSP            uint16               `json:"rfsp,omitempty"`
	AMBR            *ts29571.AMBR        `json:"ueAmbr,omitempty"`
	Location        *ts29571.Location    `json:"userLoc,omitempty"`
	Allowed         []ts29571.SNSSAI     `json:"allowedSnssais,omitempty"`
}

// Update tells the PCF what has happened (TS 29.507 4.2.3), and gives what of its decision has changed.
func (c *Client) Update(ctx context.Context, at sbi.Bound, change *Change) (Decision, sbi.Bound, error) {
	const operation = "ReportObservedEventTriggersForIndividualAMPolicyAssociation"
	call := at.Call(operation, http.MethodPost, service())
	call.URI += "/update"
	call.JSON, call.Repeatable = change, true
	reply, err := c.sbi.Do(ctx, call)
	if err != nil {
		return Decision{}, at, err
	}
	at = at.Moved(reply, "/update")
	if len(reply.Message.JSON) == 0 {
		return Decision{}, at, nil
	}
	d, err := decided(operation, reply.Message)
	return d, at, err
}

// Delete ends an association (TS 29.507 4.2.4). One that is not there any more has ended.
func (c *Client) Delete(ctx context.Context, at sbi.Bound) error {
	call := at.Call("DeleteIndividualAMPolicyAssociation", http.MethodDelete, service())
	call.Repeatable = true
	if _, err := c.sbi.Do(ctx, call); !Gone(err) {
		return err
	}
	return nil
}

// Gone reports whether the PCF knows no such association: it is made anew, and the decision in force stays meanwhile.
func Gone(err error) bool {
	var refused *sbi.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// ReadUpdate reads a notification at NotificationURI/update (TS 29.507 4.2.4.2): what of the decision has changed.
func ReadUpdate(req *http.Request) (Decision, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Decision{}, err
	}
	return readDecision(content)
}

// Termination is a TerminationNotification (TS 29.507 5.6.2.6): the association is to be deleted.
type Termination struct {
	URI string
	// Cause such as UE_SUBSCRIPTION.
	Cause string
}

// ReadTermination reads a notification at NotificationURI/terminate (TS 29.507 4.2.4.3).
func ReadTermination(req *http.Request) (Termination, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Termination{}, err
	}
	f := sbi.Reading(content, sbi.Message{})
	var out Termination
	var cause sbi.Text
	sbi.Member(f, "resourceUri", &out.URI)
	sbi.Required(f, "cause", &cause)
	out.Cause = string(cause)
	if f.Err() != nil {
		return Termination{}, fmt.Errorf("the termination: %w", f.Err())
	}
	return out, nil
}
