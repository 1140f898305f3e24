package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
	"core5g.dev/core5g/operators/specs"
)

// collector turns conditions into metrics when it is asked, from the cache: nothing has to be kept
// up to date, and an object that is gone is gone from the metrics too. Subscribers alone are counted as they change.
type collector struct {
	reader      client.Reader
	subscribers *subscriberCounts
}

// Register registers the state of all objects that a manager's cache has.
func Register(ctx context.Context, to prometheus.Registerer, mgr manager.Manager) error {
	subscribers := newSubscriberCounts()
	if err := subscribers.follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	return to.Register(&collector{reader: mgr.GetClient(), subscribers: subscribers})
}

var (
	conditionDesc = prometheus.NewDesc("core5g_condition",
		"1 where the condition of the object is True, 0 where it is False, -1 where it is Unknown. Subscribers are counted in core5g_subscribers.",
		[]string{"kind", "namespace", "name", "type", "reason"}, nil)
	subscribersDesc = prometheus.NewDesc("core5g_subscribers",
		"Number of Subscribers by the status of Ready.", []string{"namespace", "ready"}, nil)
	endpointsDesc = prometheus.NewDesc("core5g_upf_endpoints",
		"Number of N3 endpoints that a UPFInstance has given to Slices.", []string{"namespace", "upfinstance"}, nil)
	rejectionsDesc = prometheus.NewDesc("core5g_upf_unit_rejections",
		"Number of pods in a row that were refused or failed.", []string{"namespace", "upfinstance", "unit"}, nil)
	unitDesc = prometheus.NewDesc("core5g_upf_unit",
		"1 for each unit of a UPFInstance, with its place and state; numa_cell is empty where the kubelet chooses.",
		[]string{"namespace", "upfinstance", "unit", "node", "numa_cell", "state"}, nil)
	externalDesc = prometheus.NewDesc("core5g_upf_external",
		"1 for each UPF that runs elsewhere; upf is its Node ID, by which metrics of SMFs name it.",
		[]string{"namespace", "upfinstance", "upf"}, nil)
	cellBackoffDesc = prometheus.NewDesc("core5g_upf_cell_rejections",
		"Number of units in a row that a place has refused and for which it is in a back-off.",
		[]string{"namespace", "upfinstance", "node", "numa_cell"}, nil)
)

// NewRejections counts, over the life of the operator, the pods of units that a kubelet refused or that failed.
func NewRejections() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "core5g_upf_rejections_total",
		Help: "Pods of units that a kubelet refused or that failed, by place and reason.",
	}, []string{"namespace", "upfinstance", "node", "numa_cell", "reason"})
}

// CellLabel is the number of a NUMA cell, or "" for none.
func CellLabel(cell int32) string {
	if cell == placement.AnyCell {
		return ""
	}
	return strconv.Itoa(int(cell))
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		conditionDesc, subscribersDesc, endpointsDesc, rejectionsDesc, unitDesc, externalDesc, cellBackoffDesc,
		functionDesc, sliceDesc, certificateDesc,
		observedDesc, cellCPUsDesc, cellHugepagesDesc, cellVFsDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. A kind that cannot be listed is left out.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var cores api.Core5GList
	if c.reader.List(ctx, &cores, client.UnsafeDisableDeepCopy) == nil {
		for i := range cores.Items {
			collectConditions(ch, "Core5G", &cores.Items[i], cores.Items[i].Status.Conditions)
		}
	}
	var slices api.SliceList
	if c.reader.List(ctx, &slices, client.UnsafeDisableDeepCopy) == nil {
		for i := range slices.Items {
			collectConditions(ch, "Slice", &slices.Items[i], slices.Items[i].Status.Conditions)
		}
		c.collectSlices(ctx, ch, slices.Items)
	}
	var upfs api.UPFInstanceList
	if c.reader.List(ctx, &upfs, client.UnsafeDisableDeepCopy) == nil {
		for i := range upfs.Items {
			u := &upfs.Items[i]
			collectConditions(ch, "UPFInstance", u, u.Status.Conditions)
			ch <- prometheus.MustNewConstMetric(endpointsDesc, prometheus.GaugeValue, float64(len(u.Status.Endpoints)), u.Namespace, u.Name)
			if u.Spec.External != nil {
				ch <- prometheus.MustNewConstMetric(externalDesc, prometheus.GaugeValue, 1, u.Namespace, u.Name, specs.ExternalNodeID(u))
			}
			for _, unit := range u.Status.UnitStatuses {
				ch <- prometheus.MustNewConstMetric(rejectionsDesc, prometheus.GaugeValue, float64(unit.Rejections), u.Namespace, u.Name, unit.Name)
				ch <- prometheus.MustNewConstMetric(unitDesc, prometheus.GaugeValue, 1, u.Namespace, u.Name, unit.Name, unit.Node,
					CellLabel(ptr.Deref(unit.Cell, placement.AnyCell)), string(unit.State))
			}
			for _, b := range u.Status.CellBackoffs {
				ch <- prometheus.MustNewConstMetric(cellBackoffDesc, prometheus.GaugeValue, float64(b.Rejections), u.Namespace, u.Name, b.Node, CellLabel(b.Cell))
			}
		}
	}
	var nodes api.DataplaneNodeList
	if c.reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy) == nil {
		for i := range nodes.Items {
			collectConditions(ch, "DataplaneNode", &nodes.Items[i], nodes.Items[i].Status.Conditions)
			collectNode(ch, &nodes.Items[i])
		}
	}
	c.subscribers.collect(ch)
	c.collectFunctions(ctx, ch)
	c.collectCertificates(ctx, ch)
}

func collectConditions(ch chan<- prometheus.Metric, kind string, o client.Object, list []metav1.Condition) {
	for _, condition := range list {
		value := map[metav1.ConditionStatus]float64{metav1.ConditionTrue: 1, metav1.ConditionUnknown: -1}[condition.Status]
		ch <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, value,
			kind, o.GetNamespace(), o.GetName(), condition.Type, condition.Reason)
	}
}
