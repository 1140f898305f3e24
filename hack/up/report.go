package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/hack/runner"
)

// report.json, for programs.
type reportFile struct {
	UEs        []ueReport      `json:"ues"`
	Pods       []podReport     `json:"pods"`
	Steps      []runner.Result `json:"steps"`
	Seconds    float64         `json:"seconds"`
	Kubeconfig string          `json:"kubeconfig"`
}

type ueReport struct {
	SUPI    string `json:"supi"`
	Slice   string `json:"slice"`
	Address string `json:"address"`
	Ping    struct {
		Sent     int     `json:"sent"`
		Received int     `json:"received"`
		RTT      float64 `json:"rtt_ms"`
	} `json:"ping"`
	// Throughput is the better of both directions; each stands beside it.
	Throughput float64 `json:"throughput_mbps"`
	Uplink     float64 `json:"uplink_mbps"`
	Downlink   float64 `json:"downlink_mbps"`
}

type podReport struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}

func (u *up) report(ctx context.Context, out io.Writer, steps []runner.Result, took time.Duration) error {
	pods, err := u.cluster.Pods(ctx, "")
	if err != nil {
		return err
	}
	var slices string
	if slices, err = u.cluster.Run(ctx, "get", "core5gs,upfinstances,slices,subscribers"); err != nil {
		return err
	}

	file := reportFile{Steps: steps, Seconds: took.Seconds(), Kubeconfig: u.cluster.Kubeconfig}
	ue := ueReport{SUPI: u.ue.SUPI, Slice: slice, Address: u.ue.Sessions[0].Address}
	ue.Ping.Sent, ue.Ping.Received, ue.Ping.RTT = u.pings.Sent, u.pings.Received, u.pings.RTT.Avg
	ue.Uplink, ue.Downlink = u.upMbps.Mbps, u.dnMbps.Mbps
	ue.Throughput = max(ue.Uplink, ue.Downlink)
	file.UEs = []ueReport{ue}
	for _, pod := range pods {
		file.Pods = append(file.Pods, podReport{Name: pod.Metadata.Name, Ready: pod.Ready()})
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile("out/report.json", append(data, '\n'), 0o644); err != nil {
		return err
	}

	fmt.Fprintf(out, "\nPods in namespace %s\n", cluster.Namespace)
	for _, pod := range file.Pods {
		state := "ready"
		if !pod.Ready {
			state = "NOT READY"
		}
		fmt.Fprintf(out, "  %-48s %s\n", pod.Name, state)
	}
	fmt.Fprintf(out, "\n%s\n", slices)
	fmt.Fprintf(out, "UE          %s, slice %s, address %s\n", ue.SUPI, ue.Slice, ue.Address)
	fmt.Fprintf(out, "ping        phone - N3 - UPF - N6 - %s: %d sent, %d received, %.0f %% loss, rtt %.2f/%.2f/%.2f ms (min/avg/max)\n",
		dataNetwork, ue.Ping.Sent, ue.Ping.Received, 100*float64(ue.Ping.Sent-ue.Ping.Received)/float64(ue.Ping.Sent),
		u.pings.RTT.Min, u.pings.RTT.Avg, u.pings.RTT.Max)
	fmt.Fprintf(out, "throughput  %.0f Mbit/s up, %.0f Mbit/s down (TCP, one connection through the phone)\n", ue.Uplink, ue.Downlink)
	fmt.Fprintf(out, "time        %.0f s (per step: out/report.json)\n", took.Seconds())
	fmt.Fprintf(out, `
Next
  export KUBECONFIG=%s
  export PATH=$PWD/out/bin:$PATH
  kubectl core5g status -n core5g                     # the whole core on one screen
  kubectl -n core5g get pods,slices,subscribers       # what runs
  kubectl apply -f manifests/slice-second.yaml        # a second slice: nothing restarts
  kubectl -n core5g exec deploy/ran -- /ran ctl register --ue imsi-208930000000002   # its phone
  kubectl -n core5g exec deploy/ran -- /ran ctl ping --ue %s --to %s --count 5
  kubectl -n core5g exec upf-0 -c upf-c -- upfctl sessions    # the UPF's view
  make test                                           # everything CI runs
  make down                                           # remove every trace
`, u.cluster.Kubeconfig, ue.SUPI, dataNetwork)
	return nil
}
