package udm

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var registeredDesc = prometheus.NewDesc("core5g_registered_ues",
	"UEs for which an AMF has registered, by each S-NSSAI that their subscription had then. Of several replicas one says so.", []string{"snssai"}, nil)

// slicesTimeout bounds what a scrape asks the directory for.
const slicesTimeout = 3 * time.Second

// registeredUEs is a collector: registrations are counted when somebody asks.
type registeredUEs struct{ udm *UDM }

func (r registeredUEs) Describe(ch chan<- *prometheus.Desc) { ch <- registeredDesc }

func (r registeredUEs) Collect(ch chan<- prometheus.Metric) {
	if !r.udm.tells() { // one of the replicas counts for all
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), slicesTimeout)
	defer cancel()
	slices, err := r.udm.directory.Slices(ctx)
	if err != nil {
		return
	}
	for _, s := range slices { // one that nobody uses is told with 0
		if n, err := r.udm.registrations.records.Count(ctx, groupOfSlice(s.SNSSAI)); err == nil {
			ch <- prometheus.MustNewConstMetric(registeredDesc, prometheus.GaugeValue, float64(n), s.SNSSAI.String())
		}
	}
}
