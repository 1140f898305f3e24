package udm

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/subscriber-data/subscription"
)

var registeredDesc = prometheus.NewDesc("core5g_registered_ues",
	"UEs for which an AMF has registered since this program began, by each S-NSSAI that their subscription had then.", []string{"snssai"}, nil)

// slicesTimeout bounds what a scrape asks the directory for.
const slicesTimeout = 3 * time.Second

// registeredUEs is a collector: registrations are counted when somebody asks.
type registeredUEs struct{ udm *UDM }

func (r registeredUEs) Describe(ch chan<- *prometheus.Desc) { ch <- registeredDesc }

func (r registeredUEs) Collect(ch chan<- prometheus.Metric) {
	counts := r.udm.registrations.bySlice()
	ctx, cancel := context.WithTimeout(context.Background(), slicesTimeout)
	defer cancel()
	if slices, err := r.udm.directory.Slices(ctx); err == nil {
		for _, s := range slices { // one that nobody uses is told with 0
			counts[s.SNSSAI] += 0
		}
	}
	for snssai, n := range counts {
		ch <- prometheus.MustNewConstMetric(registeredDesc, prometheus.GaugeValue, float64(n), snssai.String())
	}
}

// bySlice counts each UE once, over whichever access it is registered.
func (g registrations) bySlice() map[subscription.SNSSAI]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := map[subscription.SNSSAI]int{}
	for key, registration := range g.amf {
		if key.access == accessNon3GPP {
			if _, both := g.amf[amfKey{key.supi, access3GPP}]; both {
				continue
			}
		}
		for _, snssai := range registration.snssais {
			counts[snssai]++
		}
	}
	return counts
}
