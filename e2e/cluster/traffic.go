package cluster

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Traffic pings through a phone's PDU session until it is stopped.
type Traffic struct {
	Sent, Received int
	// Lost are the rounds that lost packets, and when.
	Lost []string
	// Err ended the traffic before it was stopped; Ended is when either did.
	Err   error
	Ended time.Time

	cluster *Cluster
	unit    string
	before  map[string]float64 // the unit's metrics
	stop    chan struct{}
	done    sync.WaitGroup
}

// StartTraffic pings with 50 packets a second; unit is the UPF's pod whose drops are compared.
func (c *Cluster) StartTraffic(ctx context.Context, supi, to, unit string) *Traffic {
	tr := &Traffic{cluster: c, unit: unit, stop: make(chan struct{})}
	tr.before, _ = c.UPFMetrics(ctx, unit)
	tr.done.Add(1)
	go func() {
		defer tr.done.Done()
		defer func() { tr.Ended = time.Now() }()
		for {
			began := time.Now()
			p, err := c.Ping(ctx, supi, to, 50, 20*time.Millisecond)
			if err != nil {
				tr.Err = fmt.Errorf("traffic that began at %s: %w", began.Format(time.TimeOnly), err)
				return
			}
			if p.Received != p.Sent {
				tr.Lost = append(tr.Lost, fmt.Sprintf("%d of %d between %s and %s",
					p.Sent-p.Received, p.Sent, began.Format(time.TimeOnly), time.Now().Format(time.TimeOnly)))
			}
			tr.Sent += p.Sent
			tr.Received += p.Received
			select {
			case <-tr.stop:
				return
			default:
			}
		}
	}()
	return tr
}

// Stop waits for the end of the round that is under way.
func (tr *Traffic) Stop() {
	close(tr.stop)
	tr.done.Wait()
}

// Lossless stops the traffic and says what was lost, and what the UPF has dropped meanwhile.
func (tr *Traffic) Lossless() error {
	tr.Stop()
	if tr.Err != nil {
		return tr.Err
	}
	if tr.Sent > 0 && tr.Received == tr.Sent {
		return nil
	}
	return fmt.Errorf("%d of %d packets came back, want all; lost %s; %s", tr.Received, tr.Sent, strings.Join(tr.Lost, ", "), tr.said())
}

func (tr *Traffic) said() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	grown, err := tr.Dropped(ctx)
	switch {
	case err != nil:
		return err.Error()
	case len(grown) == 0:
		return "the UPF dropped none"
	}
	var words []string
	for reason, n := range grown {
		words = append(words, fmt.Sprintf("the UPF dropped %.0f: %s", n, reason))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// Dropped returns by how much the unit's drops have grown since the traffic began, by reason.
func (tr *Traffic) Dropped(ctx context.Context) (map[string]float64, error) {
	now, err := tr.cluster.UPFMetrics(ctx, tr.unit)
	if err != nil {
		return nil, err
	}
	grown := map[string]float64{}
	for name, n := range now {
		labels, ok := strings.CutPrefix(name, "upf_dropped_packets_total{")
		if _, reason, _ := strings.Cut(labels, `reason="`); ok && n > tr.before[name] {
			grown[strings.TrimSuffix(reason, `"}`)] += n - tr.before[name]
		}
	}
	return grown, nil
}

// UPFMetrics reads a unit's metrics through the API server: "name{labels}" to value.
func (c *Cluster) UPFMetrics(ctx context.Context, unit string) (map[string]float64, error) {
	out, err := c.Run(ctx, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:9090/proxy/metrics", Namespace, unit))
	if err != nil {
		return nil, err
	}
	metrics := map[string]float64{}
	scan := bufio.NewScanner(strings.NewReader(out))
	for scan.Scan() {
		line := scan.Text()
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			metrics[line[:i]] = v
		}
	}
	return metrics, scan.Err()
}
