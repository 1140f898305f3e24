package specs

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
)

// A unit's place is not part of its template: moving a unit is no update of it. A pod that is made for a
// place says so in annotations, is bound to the node by affinity, and starts behind a scheduling gate that
// is opened when the place is found free once more.

// Place is where a unit goes.
type Place = placement.Assignment

const (
	// AnnotationPlacedNode and AnnotationPlacedCell say which place a pod was made for.
	AnnotationPlacedNode = "core5g.dev/placed-node"
	AnnotationPlacedCell = "core5g.dev/placed-cell"
	// PlacementGate holds a pod back until its place is sure.
	PlacementGate = "core5g.dev/placement"
)

// Planned reports whether units get their places from the planner.
func Planned(upf *api.UPFInstance) bool {
	p := upf.Spec.Placement
	return p != nil && ((p.Policy != "" && p.Policy != api.PlacementAny) || p.MaxPerNode != nil)
}

// UnitDemand is what a unit takes from its place.
func UnitDemand(upf *api.UPFInstance) placement.Demand {
	d := placement.Demand{CPUs: int(CPUs(upf)), PageSize: pageSize(upf)}
	amount := hugepageAmount(upf)
	d.Hugepages = amount.Value()
	for _, a := range attachmentsOf(upf) {
		if a.spec.ResourceName != "" {
			d.Devices = append(d.Devices, a.spec.ResourceName)
		}
	}
	return d
}

// PodDemand is what a UPF pod takes or holds, read from the pod, with the devices' resources.
func PodDemand(pod *corev1.Pod) placement.Demand {
	var d placement.Demand
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != string(api.FunctionUPFU) {
			continue
		}
		for name, quantity := range c.Resources.Limits {
			switch {
			case name == corev1.ResourceCPU:
				d.CPUs = int(quantity.Value())
			case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
				d.PageSize, d.Hugepages = strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix), quantity.Value()
			case strings.Contains(string(name), "/"):
				for range quantity.Value() {
					d.Devices = append(d.Devices, string(name))
				}
			}
		}
	}
	return d
}

// PodSpot is the place that a pod was made for, or the node it runs on; false where it has neither.
func PodSpot(pod *corev1.Pod) (placement.Spot, bool) {
	spot := placement.Spot{Node: pod.Annotations[AnnotationPlacedNode], Cell: placement.AnyCell}
	if pod.Spec.NodeName != "" {
		spot.Node = pod.Spec.NodeName
	}
	if cell, err := strconv.ParseInt(pod.Annotations[AnnotationPlacedCell], 10, 32); err == nil {
		spot.Cell = int32(cell)
	}
	return spot, spot.Node != ""
}

// Gated reports whether the pod waits for its place.
func Gated(pod *corev1.Pod) bool {
	for _, g := range pod.Spec.SchedulingGates {
		if g.Name == PlacementGate {
			return true
		}
	}
	return false
}

// Placed returns the unit's pod made for a place.
func (u Unit) Placed(upf *api.UPFInstance, place *Place) *corev1.Pod {
	pod := u.Pod.DeepCopy()
	pod.Annotations[AnnotationPlacedNode] = place.Node
	if place.Cell != placement.AnyCell {
		pod.Annotations[AnnotationPlacedCell] = strconv.Itoa(int(place.Cell))
	}
	unit, _ := strconv.Atoi(pod.Labels[api.LabelUnit])
	pod.Annotations[annotationNetworks] = networksAnnotation(upf, interfaceNumber(upf, unit, Member(pod.Labels[api.LabelMember])), place)
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: PlacementGate}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{place.Node}}},
		}}},
	}}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == string(api.FunctionUPFU) {
			for _, d := range UnitDemand(upf).Devices {
				delete(c.Resources.Limits, corev1.ResourceName(d))
				delete(c.Resources.Requests, corev1.ResourceName(d))
			}
			for _, d := range place.Devices {
				addDevice(c.Resources.Limits, d)
				addDevice(c.Resources.Requests, d)
			}
		}
	}
	return pod
}

func addDevice(list corev1.ResourceList, name string) {
	n := list[corev1.ResourceName(name)]
	n.Add(*resource.NewQuantity(1, resource.DecimalSI))
	list[corev1.ResourceName(name)] = n
}

// DisruptionBudget keeps evictions from units: a node that is cordoned has its units drained and moved by
// the operator, where there is another place, and the eviction then finds none.
func DisruptionBudget(upf *api.UPFInstance, units int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name: upf.Name, Namespace: upf.Namespace, Labels: upfLabels(upf),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt(units)),
			Selector:     &metav1.LabelSelector{MatchLabels: UPFSelector(upf)},
			// A unit that is not ready holds no sessions that an eviction would end.
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}
