package procedure

import (
	"fmt"
	"net/http"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Networks behind the UE (framed routes, TS 23.501 5.6.14) are the subscription's, and in the record as all that the unit is told. They are of a
// session as its addresses are: where the subscription has others it ends, and the UE asks for it again.

// framedRoutes of the subscription, as far as the session's type has addresses for them.
func framedRoutes(kind n1.SessionType, sub Subscription) (out record.Prefixes) {
	for _, p := range sub.Routes {
		if p.Addr().Is4() && configuration.HasIPv4(kind) || p.Addr().Is6() && configuration.HasIPv6(kind) {
			out = append(out, p)
		}
	}
	return out
}

// tooManyRoutes says why the session cannot have those of its record; "": it can. The record has room for them beside the flows, or for fewer.
func (t *turn) tooManyRoutes() string {
	switch n := len(t.s.Routes); {
	case n > record.MostRoutes:
		return fmt.Sprintf("the subscription has %d framed routes to DNN %s: %d are possible", n, t.s.DNN, record.MostRoutes)
	case n > 0 && !t.fits():
		return fmt.Sprintf("the framed routes to DNN %s, %d of them, leave no room for the flows of the session: give it fewer of either", t.s.DNN, n)
	}
	return ""
}

// noneFor says whether it is for the routes that no unit serves.
func (t *turn) noneFor(reason configuration.Reason) bool {
	return len(t.s.Routes) > 0 && (reason == configuration.NotFramed || reason == configuration.NoRoute)
}

// refuseRoutes: a session without them would not be what is subscribed. Cause is counted, why is logged, and for who asks the AMF.
func (t *turn) refuseRoutes(cause, why string, request *n1.EstablishmentRequest) {
	f := refused(http.StatusInternalServerError, "INSUFFICIENT_RESOURCES_SLICE_DNN", request, n1.CauseInsufficientResources)
	f.Detail = why
	t.reply(f)
	supi := t.s.SUPI
	t.gone(cause)
	if n := len(t.out.Ended); n > 0 {
		t.out.Ended[n-1].Why, t.out.Ended[n-1].SUPI = why, supi
	}
}
