package metrics

import "github.com/prometheus/client_golang/prometheus"

// Family is one metric family as docs/upf/metrics.md describes it.
type Family struct {
	Name   string
	Type   string // counter, gauge or histogram
	Help   string
	Labels []string
	// Values of the labels where they are few and known.
	Values string
}

func (f Family) desc() *prometheus.Desc { return prometheus.NewDesc(f.Name, f.Help, f.Labels, nil) }

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// Families lists all of them in the order in which they are documented.
func Families() []Family {
	var out []Family
	for _, r := range readings {
		out = append(out, r.Family)
	}
	return append(out, messages, latency, retransmissions, reports, usageReports, restarts, dropped)
}
