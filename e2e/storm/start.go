package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/figures"
	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/e2e/ran/control"
)

// Start has the phone of `make up` switch off and on so often, and prints how long it takes until it is registered, until it has its session, and until the data
// network has answered its first ping, with what the core's functions took for that.
func Start(ctx context.Context, k *cluster.Cluster, times int, out io.Writer) error {
	if times < 1 {
		return fmt.Errorf("%d is not a number of times: write 1 or more", times)
	}
	s, err := look(ctx, k)
	if err != nil {
		return err
	}
	supi, err := phone(ctx, k)
	if err != nil {
		return err
	}
	before, err := rest(ctx, k)
	if err != nil {
		return err
	}
	began := time.Now()
	var started []control.Started
	if err := k.RAN(ctx, &started, "start", "-ue", supi, "-to", cluster.DataNetwork, "-count", fmt.Sprint(times)); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := measure(ctx, k, time.Now())
	if err != nil {
		return err
	}
	return startLines(out, s.layout, started, took, before.beyond(after))
}

// phone is the SUPI of that of `make up`.
func phone(ctx context.Context, k *cluster.Cluster) (string, error) {
	supi, err := k.Run(ctx, "get", "subscriber", subscriber, "-o", "jsonpath={.spec.supi}")
	return strings.TrimSpace(supi), err
}

// startLines of what the phone says: each from its being switched on.
func startLines(out io.Writer, layout string, started []control.Started, took time.Duration, cpu map[string]time.Duration) error {
	if len(started) == 0 {
		return errors.New("the phone says nothing of its starts")
	}
	for _, part := range []struct {
		name string
		ms   func(control.Started) float64
	}{
		{"start_registered", func(s control.Started) float64 { return s.Registered }},
		{"start_ready", func(s control.Started) float64 { return s.Ready }},
		{"start_answered", func(s control.Started) float64 { return s.Answered }},
	} {
		var list []time.Duration
		for _, one := range started {
			list = append(list, time.Duration(part.ms(one)*float64(time.Millisecond)))
		}
		if _, err := fmt.Fprintln(out, figures.Line{
			Layout: layout, Case: part.name, UEs: len(list), P50: processes.Percentile(list, 50), P99: processes.Percentile(list, 99), Took: took, CPU: cpu,
		}); err != nil {
			return err
		}
	}
	return nil
}
