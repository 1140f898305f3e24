package nchf

import (
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

// Notification is ChargingNotifyRequest (TS 32.291 6.1.6.2.1.3).
type Notification struct {
	// Abort: charging ends, and with it the session. Else quotas are to be asked for anew.
	Abort bool
	// RatingGroups to ask for; nil: all.
	RatingGroups []uint32
}

// ReadNotification reads a notification. free5GC's CHF leaves the type of a reauthorization empty.
func ReadNotification(req *http.Request) (Notification, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Notification{}, err
	}
	kind, _, err := sbi.Optional[string](content, "notificationType")
	if err != nil {
		return Notification{}, err
	}
	details, _, err := sbi.Optional[[]struct {
		RatingGroup *uint32 `json:"ratingGroup"`
	}](content, "reauthorizationDetails")
	if err != nil {
		return Notification{}, err
	}
	out := Notification{Abort: kind == "ABORT_CHARGING"}
	if !out.Abort && kind != "" && kind != "REAUTHORIZATION" {
		return Notification{}, sbi.BadRequest("MANDATORY_IE_INCORRECT", "notificationType: write REAUTHORIZATION or ABORT_CHARGING")
	}
	for _, d := range details {
		if d.RatingGroup == nil { // of all of them
			return Notification{Abort: out.Abort}, nil
		}
		out.RatingGroups = append(out.RatingGroups, *d.RatingGroup)
	}
	return out, nil
}
