package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// Who wants to reach a UE, or to know where it is (TS 29.518 5.4, 5.5):
//
//	5.4.2.3  EnableUEReachability         reach: a UE that is idle is paged, and who asks hears when it has come, or that it does not
//	5.5.2.2  ProvideLocationInfo          locate: where it was heard last, or what the access network says now (TS 38.413 8.12)
//
// Who waits is in memory alone: where the worker dies they have no answer, and ask again. A UE that is idle is not paged to find out where it is.

// Reach wants a UE that is idle to come (TS 29.518 5.4.2.3).
type Reach struct{ From Token }

// Reached answers Reach: the UE is connected.
type Reached struct{}

// Locate asks where the UE is (TS 29.518 5.5.2.2).
type Locate struct {
	From Token
	// Current: the access network is asked, where the UE is connected.
	Current bool
}

// Placed answers Locate.
type Placed struct {
	Place record.Place
	// Current: the access network has said so since it was asked.
	Current bool
}

// Wanted says that somebody waits for the UE, or is to hear something of it, of whom the store does not know.
func (s State) Wanted() bool {
	return len(s.live.reaching)+len(s.live.locating)+len(s.live.unheard) > 0
}

func (Reach) event()  {}
func (Locate) event() {}

// reach: 5.4.2.3. Who waits is answered by settle.
func (t *turn) reach(e Reach) {
	switch a := t.s.N2; {
	case t.s.Phase == record.Leaving, t.s.Phase == record.Deregistered && t.doing() == 0:
		t.reply(e.From, noContext)
	case a != nil && (a.Releasing || a.Lost): // it is idle soon, or its gNB is back
		t.out.Later = true
	case a != nil:
		t.reply(e.From, Reached{})
	default:
		t.live.reaching = append(t.live.reaching, e.From)
		t.page(0)
	}
}

// locate: 5.5.2.2. One question to the access network is all who ask meanwhile need.
func (t *turn) locate(e Locate) {
	if !e.Current || !t.locatable() {
		t.reply(e.From, Placed{Place: t.s.Place})
		return
	}
	if len(t.live.locating) == 0 {
		t.send(&n2.LocationReportingControl{UE: ids(t.s.N2), Request: n2.LocationRequest{Event: n2.LocationDirect}})
		t.due(dueLocated, locateTime)
	}
	t.live.locating = append(t.live.locating, e.From)
}

// locatable says whether there is an access network that could be asked.
func (t *turn) locatable() bool {
	a := t.s.N2
	return a != nil && !a.Releasing && !a.Lost
}

// placed: the access network has answered, or does not.
func (t *turn) placed(current bool) {
	if len(t.live.locating) == 0 {
		return
	}
	for _, to := range t.live.locating {
		t.reply(to, Placed{Place: t.s.Place, Current: current})
	}
	t.live.locating = nil
	t.due(dueLocated, 0)
}

// reported: a Location Report. One that was not asked for is no answer.
func (t *turn) reported(m *n2.LocationReport) {
	t.seen(m.Location)
	if m.Request.Event == n2.LocationDirect {
		t.placed(true)
	}
}

// settle with those who wait for a UE, as it is behind an event.
func (t *turn) settle() {
	answer := func(list []Token, body any) {
		for _, to := range list {
			t.reply(to, body)
		}
	}
	switch all := slices.Concat(t.live.reaching, t.live.locating); {
	case len(all) == 0:
		return
	case t.moved:
		answer(all, notNow("the UE moves to another pod"))
	case t.s == nil || remnant(t.s):
		answer(all, noContext)
	default:
		if !t.locatable() {
			t.placed(false)
		}
		switch {
		case t.s.Phase == record.Leaving:
			answer(t.live.reaching, noContext)
			t.live.reaching = nil
		case t.s.Paging != nil:
		case t.s.N2 != nil:
			answer(t.live.reaching, Reached{})
			t.live.reaching = nil
		default:
			answer(t.live.reaching, Failed{Status: http.StatusGatewayTimeout, Cause: "UE_NOT_REACHABLE", Detail: "the UE is idle, and does not answer paging"})
			t.live.reaching = nil
		}
		return
	}
	t.live.reaching, t.live.locating = nil, nil
}
