package procedure

import (
	"net/http"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// What the PCF decides by itself (TS 29.512 4.2.3, 4.2.4): other QoS, and the association's end. Without a PCF the Slice's flows hold.

// policyChanged: TS 23.502 4.3.3.2 step 1b. What the PCF leaves open stays. A UE that is idle is paged for it.
func (t *turn) policyChanged(p PolicyChanged) {
	network := t.network()
	if t.s.Phase == record.Releasing || network == nil {
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "the session is being released"})
		return
	}
	t.s.Decided = and(t.s.Decided, p.Decided)
	if p.Flows != nil {
		t.s.Subscribed = p.Flows
	}
	t.reply(Accepted{})
	if difference(t.s.Clone(), network) == nil {
		return
	}
	t.s.Behind = true
	if t.s.Phase == record.Idle && t.s.Wanted == nil && t.s.Command == nil {
		t.begin(Paging, pageTransfer)
		t.out.Lazy = false // the PCF has its answer
		return
	}
	t.catchUp()
}

// policyEnded: the PCF wants its association, and with it the session, to end (TS 29.512 4.2.4.2).
func (t *turn) policyEnded() {
	t.reply(Accepted{})
	t.endByNetwork(n1.CauseRegularDeactivation)
}
