package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWhatFallsShort(t *testing.T) {
	fast := []time.Duration{time.Second}
	for sentence, x := range map[string]struct {
		death string
		toll  toll
		want  string // "": nothing
	}{
		"nothing happened":                     {"kill_amf", toll{answers: fast}, ""},
		"a UE has registered anew":             {"kill_amf", toll{answers: fast, reregistered: 1}, "1 UEs registered anew"},
		"a session is lost":                    {"drain_amf", toll{answers: fast, lost: 2}, "2 sessions were lost"},
		"packets are lost":                     {"kill_n2_retain", toll{answers: fast, packets: 3}, "3 packets were lost"},
		"packets are lost where gNBs decide":   {"kill_n2_release", toll{answers: fast, packets: 3}, ""},
		"an answer came late":                  {"kill_gnb", toll{answers: []time.Duration{time.Second, 2 * time.Second}}, "answered after 2s, want 1.5s"},
		"a UE was rejected":                    {"kill_amf", toll{answers: fast, refused: 1}, "1 UEs were rejected"},
		"a UE has waited":                      {"drain_amf", toll{answers: fast, late: 1}, "1 UEs waited for timers of their own"},
		"a UE has waited for an N2 terminator": {"kill_n2_release", toll{answers: fast, late: 1}, ""},
	} {
		for _, d := range deaths {
			if d.name != x.death {
				continue
			}
			err := d.report(options{runs: 1, ues: 10}, x.toll)
			if (err == nil) != (x.want == "") || err != nil && (!errors.Is(err, errShort) || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%s: %v, want %q", sentence, err, x.want)
			}
		}
	}
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	good := options{cases: "registration", layouts: "Distributed,Fused", rounds: 1, ues: 1, storm: 1, idle: 1, workers: 1, pods: 1, runs: 1, rate: 1}
	for want, change := range map[string]func(*options){
		"":                            func(*options) {},
		`no case "registrations"`:     func(o *options) { o.cases = "registrations" },
		`no case "session"`:           func(o *options) { o.cases = "kill_amf,session" }, // they need another core
		`-layout "Merged": write Dis`: func(o *options) { o.layouts = "Fused,Merged" },
		"-ues 0: write 1 or more":     func(o *options) { o.ues = 0 },
		"-workers 100: write 1 to 99": func(o *options) { o.workers = 100 },
	} {
		o := good
		change(&o)
		_, err := o.check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
