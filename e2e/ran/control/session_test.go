package control_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/control"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/sim"
	"core5g.dev/core5g/e2e/ran/ue"
)

const neighbour = "neighbours: [{name: two, id: 2, tac: \"000002\", n3: {address: 127.30.4.101}}]\n"

func TestStreams(t *testing.T) {
	server := up(t)
	if err := ctl(t, server, nil, "status", "--wait-ready", "10s"); err != nil {
		t.Fatal(err)
	}
	for _, direction := range []string{"down", "up"} {
		var res measure.StreamResult
		if err := ctl(t, server, &res, "stream", "--ue", supi, "--to", "172.30.6.1", "--direction", direction, "--count", "500", "--rate", "1000"); err != nil {
			t.Fatal(err)
		}
		if res.Sent != 500 || res.Received != 500 || res.Lost != 0 || res.Duplicated != 0 || res.OutOfOrder != 0 || res.NotSent != 0 {
			t.Errorf("%s: %+v", direction, res)
		}
	}
}

func TestHandoverByCommand(t *testing.T) {
	for _, kind := range []string{"xn", "n2"} {
		t.Run(kind, func(t *testing.T) {
			server, _ := upWith(t, neighbour)
			var s sim.Status
			if err := ctl(t, server, &s, "status", "--wait-ready", "10s"); err != nil {
				t.Fatal(err)
			}
			if len(s.Neighbours) != 1 || s.Neighbours[0].GNB.Name != "two" || s.Neighbours[0].GNB.State != "connected" {
				t.Fatalf("neighbours: %+v", s.Neighbours)
			}
			type answer struct {
				res measure.StreamResult
				err error
			}
			done := make(chan answer, 1)
			go func() {
				var a answer
				a.err = ctl(t, server, &a.res, "stream", "--ue", supi, "--to", "172.30.6.1", "--count", "4000", "--rate", "4000")
				done <- a
			}()
			for begun := false; !begun; time.Sleep(time.Millisecond) {
				if err := ctl(t, server, &s, "status"); err != nil {
					t.Fatal(err)
				}
				begun = s.UEs[0].Sessions[0].DownlinkPackets > 500
			}
			var res gnb.HandoverResult
			if err := ctl(t, server, &res, "handover", "--ue", supi, "--gnb", "two", "--kind", kind); err != nil {
				t.Fatal(err)
			}
			if len(res.Sessions) != 1 || res.Sessions[0] != 1 || res.To != "two" || res.Forwarding != "direct" || res.EndMarkers != 1 {
				t.Errorf("%+v", res)
			}
			a := <-done
			if a.err != nil || a.res.Lost != 0 || a.res.Duplicated != 0 || a.res.OutOfOrder != 0 || a.res.Received != 4000 {
				t.Errorf("%+v, %v", a.res, a.err)
			}
			var ping measure.PingResult
			if err := ctl(t, server, &ping, "ping", "--ue", supi, "--to", "172.30.6.1", "--count", "3", "--interval", "1ms"); err != nil || ping.Received != 3 {
				t.Errorf("ping from the new cell: %+v, %v", ping, err)
			}
		})
	}
}

func TestSessionCommands(t *testing.T) {
	server, amf := upWith(t, neighbour)
	if err := ctl(t, server, nil, "status", "--wait-ready", "10s"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "flow.yaml")
	flow := "flows: [{fiveQI: 1, qfi: 5, gfbrUplink: 64000, filters: [{remote: 172.30.6.0/24, protocol: 17, remotePorts: 5000-5010, tos: 0xb8/0xfc}]}]\n"
	if err := os.WriteFile(file, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	var s ue.Status
	if err := ctl(t, server, &s, "modify", "--ue", supi, "-f", file, "--always-on"); err != nil {
		t.Fatal(err)
	}
	x := s.Sessions[0]
	if len(x.Flows) != 2 || x.Flows[1].FiveQI != 1 || x.AlwaysOn == nil || !*x.AlwaysOn {
		t.Fatalf("after modify: %+v", x)
	}
	if f := x.Flows[1].Rules[0].Filters[0]; f.Remote != "172.30.6.0/24" || f.RemotePorts != "5000-5010" || f.TOS != "0xb8/0xfc" || *f.Protocol != 17 {
		t.Errorf("filter %+v", f)
	}
	for _, step := range []struct {
		args []string
		want string // in the core's trace
	}{
		{[]string{"behave", "--ue", supi, "--ignore", "release-command=1,status", "--repeat", "1"}, ""},
		{[]string{"behave", "--ue", supi}, ""},
		{[]string{"raw-5gsm", "--ue", supi, "--session", "4", "--payload", "2e0409c1ff", "--request-type", "1", "--sst", "1", "--sd", "010203", "--dnn", "x"}, "5GSM message refused: 5GSM message 0xc1: a mandatory element is missing or cut (cause 96)"},
		{[]string{"again", "--ue", supi, "--session", "1"}, "session 1 up"},
		{[]string{"notify", "--ue", supi, "--not-fulfilled", "1"}, "session 1: flow 1 fulfilled false"},
		{[]string{"move-tunnel", "--ue", supi}, "session 1: downlink moved"},
		{[]string{"gnb-behave", "--refuse-sessions", "all", "--refuse-flows", "5,6"}, ""},
		{[]string{"gnb-behave"}, ""},
		{[]string{"camp", "--ue", supi, "--gnb", "2"}, "Service Request (type 1)"},
		{[]string{"status", "--wait-ready", "10s"}, ""},
		{[]string{"gnb-die", "--gnb", "two", "--silent"}, ""},
		{[]string{"gnb-revive", "--gnb", "two"}, ""},
		{[]string{"status", "--wait-ready", "10s"}, ""},
	} {
		if err := ctl(t, server, nil, step.args...); err != nil {
			t.Fatalf("ran ctl %v: %v", step.args, err)
		}
		if step.want != "" {
			amf.WaitTrace(step.want, 1)
		}
	}
}

func TestSessionCommandsRefused(t *testing.T) {
	server, _ := upWith(t, neighbour)
	if err := ctl(t, server, nil, "status", "--wait-ready", "10s"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args       []string
		want       string
		wantAnswer bool
	}{
		"a modification of nothing":         {[]string{"modify", "--ue", supi}, "it asks for nothing", true},
		"a message that nobody ignores":     {[]string{"behave", "--ue", supi, "--ignore", "everything"}, "is not one of establishment-accept", true},
		"an ignored message without number": {[]string{"behave", "--ue", supi, "--ignore", "release-command=x"}, "release-command=2", false},
		"octets in letters":                 {[]string{"raw-5gsm", "--ue", supi, "--payload", "xyz"}, "write hexadecimal octets", true},
		"a notification of nothing":         {[]string{"notify", "--ue", supi}, "it tells nothing", true},
		"a flow that is not there":          {[]string{"notify", "--ue", supi, "--released", "9"}, "no such QoS flow: 9", true},
		"flows in letters":                  {[]string{"notify", "--ue", supi, "--released", "x"}, "such as 1,5", false},
		"a session without resources":       {[]string{"move-tunnel", "--ue", supi, "--session", "7"}, "no resources of this session", true},
		"a gNB that is not here":            {[]string{"camp", "--ue", supi, "--gnb", "three"}, "three: no such gNB", true},
		"a handover to nowhere":             {[]string{"handover", "--ue", supi}, "gnb is missing", true},
		"a handover of a third kind":        {[]string{"handover", "--ue", supi, "--gnb", "two", "--kind", "s1"}, "neither xn nor n2", true},
		"a handover refused by the core":    {[]string{"handover", "--ue", supi, "--gnb", "77", "--kind", "n2"}, "Handover Preparation Failure: radio network: unknown target ID", true},
		"a cancellation at another time":    {[]string{"handover", "--ue", supi, "--gnb", "two", "--kind", "n2", "--cancel", "later"}, "neither", true},
		"a stream of no packets":            {[]string{"stream", "--ue", supi, "--to", "172.30.6.1", "--count", "0"}, "a count of 0", true},
		"a stream to a name":                {[]string{"stream", "--ue", supi, "--to", "dn"}, "neither an IP address nor address:port", true},
		"a gNB that lives is revived":       {[]string{"gnb-revive"}, "the gNB is not dead", true},
		"a session type that there is not":  {[]string{"session", "--ue", supi, "--id", "3", "--dnn", "x", "--type", "X.25"}, "is not one of IPv4, IPv6", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := ctl(t, server, nil, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := control.IsFailure(err); got != tt.wantAnswer {
				t.Errorf("answered by the simulation: %v, want %v", got, tt.wantAnswer)
			}
		})
	}
}
