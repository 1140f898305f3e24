package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// DataNetwork is what phones talk to: the data network of manifests/samples/ran.yaml, which is the gateway on N6
// of the chart's default UPF.
const DataNetwork = "172.30.6.1"

// UEStatus is what the simulated gNB says of one UE.
type UEStatus struct {
	SUPI     string    `json:"supi"`
	State    string    `json:"state"`
	Error    string    `json:"last_error"`
	Sessions []Session `json:"sessions"`
	Counters struct {
		Registrations int `json:"registrations"`
	} `json:"counters"`
}

// Session is a PDU session of a UE.
type Session struct {
	ID      int    `json:"id"`
	Slice   string `json:"slice"`
	DNN     string `json:"dnn"`
	Address string `json:"address"`
}

// RANStatus is the state of the simulated gNB and its UEs.
type RANStatus struct {
	GNB struct {
		State string `json:"state"`
	} `json:"gnb"`
	UEs []UEStatus `json:"ues"`
}

// Ping is the result of a ping through a UE's PDU session.
type Ping struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
	RTT      struct {
		Min float64 `json:"min"`
		Avg float64 `json:"avg"`
		Max float64 `json:"max"`
	} `json:"rtt_ms"`
}

// Throughput is the result of a transfer through a UE's PDU session.
type Throughput struct {
	Mbps float64 `json:"throughput_mbps"`
}

// RAN runs `ran ctl ARGS` in the simulated gNB's pod and decodes what it prints.
func (c *Cluster) RAN(ctx context.Context, v any, args ...string) error {
	out, err := c.Run(ctx, append([]string{"exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl"}, args...)...)
	if err != nil {
		return err
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		return fmt.Errorf("ran ctl %v answered %q: %w", args, out, err)
	}
	return nil
}

// WaitAttached waits until the UE is registered and has a PDU session with an address, and its gNB has N2: one that has lost that lets go of its UEs when it is back.
func (c *Cluster) WaitAttached(ctx context.Context, supi string, limit time.Duration) (UEStatus, error) {
	var found UEStatus
	err := Eventually(ctx, limit, func() error {
		var status RANStatus
		if err := c.RAN(ctx, &status, "status"); err != nil {
			return err
		}
		if status.GNB.State != "connected" {
			return fmt.Errorf("the simulated gNB is %s", status.GNB.State)
		}
		for _, ue := range status.UEs {
			if ue.SUPI != supi {
				continue
			}
			if len(ue.Sessions) > 0 && ue.Sessions[0].Address != "" {
				found = ue
				return nil
			}
			return fmt.Errorf("%s is %s, without a PDU session (%s)", supi, ue.State, ue.Error)
		}
		return fmt.Errorf("the simulated gNB knows no %s", supi)
	})
	return found, err
}

// Ping sends count echo requests through the UE's PDU session.
func (c *Cluster) Ping(ctx context.Context, supi, to string, count int, interval time.Duration) (Ping, error) {
	var p Ping
	err := c.RAN(ctx, &p, "ping", "--ue", supi, "--to", to, "--count", fmt.Sprint(count), "--interval", interval.String())
	return p, err
}

// Throughput transfers for the duration, "up" or "down".
func (c *Cluster) Throughput(ctx context.Context, supi, to, direction string, seconds int) (Throughput, error) {
	var t Throughput
	err := c.RAN(ctx, &t, "throughput", "--ue", supi, "--to", to, "--direction", direction, "--seconds", fmt.Sprint(seconds))
	return t, err
}
