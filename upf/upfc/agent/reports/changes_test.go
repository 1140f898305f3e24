package reports

import (
	"reflect"
	"testing"

	"core5g.dev/core5g/upf/upfc/rules"
)

// What came and went before anybody looked is nothing.
func TestChangesOfStations(t *testing.T) {
	a, b := rules.Station{MAC: [6]byte{2, 0, 0, 0, 0, 1}}, rules.Station{MAC: [6]byte{2, 0, 0, 0, 0, 2}}
	came := func(s rules.Station) stationEvent { return stationEvent{Station: s} }
	left := func(s rules.Station) stationEvent { return stationEvent{Station: s, gone: true} }
	for name, tc := range map[string]struct {
		before                 []rules.Station
		events                 []stationEvent
		now, detected, removed []rules.Station
	}{
		"one comes":             {nil, []stationEvent{came(a)}, []rules.Station{a}, []rules.Station{a}, nil},
		"one is told of again":  {[]rules.Station{a}, []stationEvent{came(a)}, []rules.Station{a}, nil, nil},
		"one leaves":            {[]rules.Station{a, b}, []stationEvent{left(a)}, []rules.Station{b}, nil, []rules.Station{a}},
		"one comes and leaves":  {[]rules.Station{b}, []stationEvent{came(a), left(a)}, []rules.Station{b}, nil, nil},
		"one leaves and comes":  {[]rules.Station{a}, []stationEvent{left(a), came(a)}, []rules.Station{a}, nil, nil},
		"nobody knows who left": {[]rules.Station{a}, []stationEvent{left(b)}, []rules.Station{a}, nil, nil},
	} {
		now, detected, removed := changeStations(tc.before, tc.events)
		if !reflect.DeepEqual(now, tc.now) || !reflect.DeepEqual(detected, tc.detected) || !reflect.DeepEqual(removed, tc.removed) {
			t.Errorf("%s: %v, detected %v, removed %v", name, now, detected, removed)
		}
	}
}

// A flow that has begun ends once, with what it began with, and with its upf-u at the latest.
func TestChangesOfFlows(t *testing.T) {
	name := func(number uint64) string { return map[uint64]string{7: "video"}[number] }
	flow := func(instance uint32) rules.DetectedFlow {
		return rules.DetectedFlow{Instance: instance, Application: "video"}
	}
	begins := func(number uint64, instance uint32) flowEvent {
		return flowEvent{number: number, DetectedFlow: rules.DetectedFlow{Instance: instance}}
	}
	ends := func(number uint64, instance uint32) flowEvent {
		e := begins(number, instance)
		e.gone = true
		return e
	}
	one, two := flow(1), flow(2)
	for what, tc := range map[string]struct {
		before            []rules.DetectedFlow
		events            []flowEvent
		now, begun, ended []rules.DetectedFlow
	}{
		"one begins":                     {nil, []flowEvent{begins(7, 1)}, []rules.DetectedFlow{one}, []rules.DetectedFlow{one}, nil},
		"one of nobody's":                {nil, []flowEvent{begins(8, 1)}, nil, nil, nil},
		"one ends":                       {[]rules.DetectedFlow{one, two}, []flowEvent{ends(7, 1)}, []rules.DetectedFlow{two}, nil, []rules.DetectedFlow{one}},
		"its upf-u is gone, and another": {[]rules.DetectedFlow{one}, []flowEvent{{gone: true, all: true}, begins(7, 2)}, []rules.DetectedFlow{two}, []rules.DetectedFlow{two}, []rules.DetectedFlow{one}},
	} {
		now, begun, ended := changeFlows(tc.before, tc.events, name)
		if !reflect.DeepEqual(now, tc.now) || !reflect.DeepEqual(begun, tc.begun) || !reflect.DeepEqual(ended, tc.ended) {
			t.Errorf("%s: %v, begun %v, ended %v", what, now, begun, ended)
		}
	}
}
