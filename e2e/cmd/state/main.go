// Command state kills pods of a cluster's core without grace, under a phone's packets, and tells what it cost.
//
//	state [-case kill_smf,kill_store,…] [-runs N]
//
// It needs the core of `make up` with its phone. A line for each case: sessions is how many were looked
// at, sessions_lost those that were another one afterwards, packets_lost of a ping with 50 packets a second, and answer_ms how
// long the next session of the phone took, in the median: its own timer (T3580, 16 s) takes part where nobody answered it.
// Of kill_upf, packets_lost is not judged, and answer_ms is from the unit's being ready to the first packet that comes back.
// It exits with 1 where a session or a packet is lost, or kill_upf takes too long.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

const (
	phone    = "imsi-208930000000001"
	unit     = "upf-0"
	patience = 3 * time.Minute
	// slowestRestoration is from the moment at which the unit is back.
	slowestRestoration = 3 * time.Second
)

// kills are pods by their components; all of a component's pods are killed, but one where the name has :1.
var kills = []struct{ name, components string }{
	{"kill_smf", "smf:1"}, {"kill_store", "session-store"}, {"kill_both", "smf:1 session-store"}, {"kill_upf", "upf"},
	{"kill_pcf", "pcf"}, {"kill_chf", "chf"}, {"kill_nrf", "nrf"}, {"kill_database", "database"}, {"kill_subscriber_data", "subscriber-data"},
}

func main() {
	var names []string
	for _, k := range kills {
		names = append(names, k.name)
	}
	cases := flag.String("case", strings.Join(names, ","), "which cases, with commas")
	runs := flag.Int("runs", 3, "how often each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, strings.Split(*cases, ","), *runs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "state:", err)
		os.Exit(1)
	}
}

// core is the cluster's.
type core struct{ *cluster.Cluster }

func run(ctx context.Context, cases []string, runs int) error {
	k, err := cluster.Open(ctx)
	if err != nil {
		return err
	}
	c := core{k}
	plane, err := k.Run(ctx, "get", "core5g/core5g", "-o", "jsonpath={.spec.controlPlane}")
	if err != nil {
		return err
	}
	if plane != cluster.Core5G {
		return fmt.Errorf("the core has controlPlane %s, whose sessions end with their SMF: run make up", plane)
	}
	var failed error
	for _, name := range cases {
		i := slices.IndexFunc(kills, func(k struct{ name, components string }) bool { return k.name == name })
		if i < 0 {
			return fmt.Errorf("there is no case %q", name)
		}
		var all []outcome
		for range runs {
			o, err := c.kill(ctx, strings.Fields(kills[i].components))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, o)
		}
		failed = errors.Join(failed, report(name, all))
	}
	return failed
}

// outcome of a kill.
type outcome struct {
	lost, packets int
	answer        time.Duration
}

func report(name string, all []outcome) error {
	var lost, packets int
	var answers []time.Duration
	for _, o := range all {
		lost, packets = lost+o.lost, packets+o.packets
		answers = append(answers, o.answer)
	}
	slices.Sort(answers)
	worst := answers[len(answers)-1]
	fmt.Printf("case=%s on=cluster runs=%d sessions=%d sessions_lost=%d packets_lost=%d answer_ms=%d answer_max_ms=%d\n", name, len(all), len(all), lost, packets,
		answers[len(answers)/2].Milliseconds(), worst.Milliseconds())
	switch {
	case lost > 0:
		return fmt.Errorf("%s: %d sessions were lost", name, lost)
	case name == "kill_upf" && worst > slowestRestoration:
		return fmt.Errorf("%s: packets came back %s after the unit, want %s at most", name, worst, slowestRestoration)
	case name != "kill_upf" && packets > 0:
		return fmt.Errorf("%s: %d packets were lost", name, packets)
	}
	return nil
}

// kill pods under traffic. An error is of the cluster, not of what is looked at.
func (c core) kill(ctx context.Context, components []string) (outcome, error) {
	var o outcome
	before, err := c.session(ctx)
	if err != nil {
		return o, err
	}
	traffic := c.StartTraffic(ctx, phone, cluster.DataNetwork, unit)
	var gone []string // UIDs
	for _, component := range components {
		component, one := strings.CutSuffix(component, ":1")
		pods, err := c.Component(ctx, component)
		if err != nil {
			return o, err
		}
		if one {
			pods = slices.DeleteFunc(pods, func(p cluster.Object) bool { return p.Metadata.Name != before.holder })
		}
		if len(pods) == 0 {
			return o, fmt.Errorf("no pod of %s", component)
		}
		for _, p := range pods {
			gone = append(gone, p.Metadata.UID)
			if _, err := c.Run(ctx, "delete", "pod", p.Metadata.Name, "--force", "--grace-period=0", "--wait=false"); err != nil {
				return o, err
			}
		}
	}
	began := time.Now()
	if slices.Contains(components, "upf") {
		// Its exec loses its pod's answers, not the pod: the traffic is of the phone.
		if err := c.back(ctx, "upf", gone); err != nil {
			return o, err
		}
		began = time.Now()
		err = c.packets(ctx)
	} else {
		err = c.another(ctx)
	}
	if err != nil {
		return o, err
	}
	o.answer = time.Since(began)
	for _, component := range components {
		component, _ = strings.CutSuffix(component, ":1")
		if err := c.back(ctx, component, gone); err != nil {
			return o, err
		}
	}
	traffic.Stop()
	if traffic.Err != nil {
		fmt.Printf("# %v\n", traffic.Err)
		o.lost = 1
	}
	o.packets = traffic.Sent - traffic.Received
	if err := c.packets(ctx); err != nil {
		return o, err
	}
	after, err := c.session(ctx)
	if err != nil {
		return o, err
	}
	if after.address != before.address || after.uplink != before.uplink {
		fmt.Printf("# the session had %s, uplink TEID %s, and has %s, %s\n", before.address, before.uplink, after.address, after.uplink)
		o.lost = 1
	}
	_ = c.RAN(ctx, nil, "release", "--ue", phone, "--session", "2") // there is none after kill_upf
	return o, nil
}

// back waits until pods of a component are ready, and none of them is one that was killed.
func (c core) back(ctx context.Context, component string, gone []string) error {
	return cluster.Eventually(ctx, patience, func() error {
		pods, err := c.Component(ctx, component)
		if err != nil {
			return err
		}
		for _, p := range pods {
			if !p.Ready() || slices.Contains(gone, p.Metadata.UID) {
				return fmt.Errorf("pod %s is not back", p.Metadata.Name)
			}
		}
		if len(pods) == 0 {
			return fmt.Errorf("no pod of %s", component)
		}
		return nil
	})
}

// another session of the phone.
func (c core) another(ctx context.Context) error {
	return cluster.Eventually(ctx, patience, func() error {
		return c.RAN(ctx, nil, "session", "--ue", phone, "--id", "2", "--sst", "1", "--sd", "010203", "--dnn", "internet")
	})
}

func (c core) packets(ctx context.Context) error {
	return cluster.Eventually(ctx, patience, func() error {
		p, err := c.Ping(ctx, phone, cluster.DataNetwork, 1, 100*time.Millisecond)
		if err == nil && p.Received == 0 {
			err = errors.New("no packet comes back")
		}
		return err
	})
}

// session is the phone's first, as it and the SMF know it.
type session struct{ address, uplink, holder string }

func (c core) session(ctx context.Context) (session, error) {
	var found session
	err := cluster.Eventually(ctx, patience, func() error {
		out, err := c.Run(ctx, "exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status", "--ue", phone)
		if err != nil {
			return err
		}
		var status struct {
			UEs []struct {
				Sessions []struct {
					ID      int    `json:"id"`
					Up      bool   `json:"up"`
					Address string `json:"address"`
					Uplink  string `json:"teid_uplink"`
				} `json:"sessions"`
			} `json:"ues"`
		}
		if err := json.Unmarshal([]byte(out), &status); err != nil {
			return err
		}
		if len(status.UEs) == 0 || len(status.UEs[0].Sessions) == 0 || !status.UEs[0].Sessions[0].Up {
			return fmt.Errorf("%s has no session", phone)
		}
		found.address, found.uplink = status.UEs[0].Sessions[0].Address, status.UEs[0].Sessions[0].Uplink
		said, err := c.Shell(ctx, "kubectl core5g session "+phone+"/1 -n "+cluster.Namespace)
		if err != nil {
			return fmt.Errorf("kubectl core5g session: %w: %s", err, said)
		}
		_, holder, ok := strings.Cut(said, "held by ")
		if !ok {
			return errors.New("nobody holds the session's shard")
		}
		found.holder, _, _ = strings.Cut(holder, "/")
		return nil
	})
	return found, err
}
