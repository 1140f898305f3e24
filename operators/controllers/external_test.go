package controllers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/associations"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

func (e *environment) testExternalUPF(t *testing.T) {
	ns := e.namespace(t)
	var mu sync.Mutex
	say := controllertest.Reporting(associations.Unit{Problem: "no answer to 3 requests"})
	e.associations.Store(ns, func(units []string) (*associations.Report, error) {
		mu.Lock()
		defer mu.Unlock()
		out := *say
		if len(units) > 0 {
			out.Sessions = map[string]int64{units[0]: 0}
		}
		return &out, nil
	})
	core := controllertest.Core(t, ns)
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	upf := controllertest.ExternalUPF(ns)
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 300 * time.Second}}
	pod := controllertest.OwnSMFPod(ns)
	e.create(t, core, upf, pod)
	e.editStatus(t, pod, func() { pod.Status.PodIP, pod.Status.PodIPs = "10.244.0.9", []corev1.PodIP{{IP: "10.244.0.9"}} })
	e.wantCondition(t, upf, api.ConditionAssociated, metav1.ConditionFalse, api.ReasonUnreachable, "UDP gets through both ways")
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	slice.Spec.UPFSelector = &api.UPFSelector{Name: "edge"}
	e.create(t, slice)
	e.wantCondition(t, slice, api.ConditionUPFReady, metav1.ConditionFalse, api.ReasonProgressing, "UPFInstance edge: no shard of the SMF has an association")
	mu.Lock()
	say = controllertest.Reporting(associations.Unit{Associated: true})
	mu.Unlock()
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, api.ReasonReady, "4 of 4 shards")
	e.wantCondition(t, slice, api.ConditionUPFReady, metav1.ConditionTrue, api.ReasonReady, "UPFInstance edge is ready")

	policy := &networkingv1.NetworkPolicy{}
	e.get(t, policy, ns, "edge-n4")
	if !cluster.Owns(upf, policy) || policy.Spec.Ingress[0].From[0].IPBlock.CIDR != "203.0.113.7/32" || policy.Spec.Ingress[0].Ports[0].Port.IntValue() != 8806 || *policy.Spec.Ingress[0].Ports[0].EndPort != 8809 {
		t.Errorf("the policy of the UPF: %+v", policy.Spec)
	}
	owned := client.MatchingLabels{api.LabelUPF: "edge"}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{}} {
		if err := e.client.List(t.Context(), list, client.InNamespace(ns), owned); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n != 0 {
			t.Errorf("there are %d of %T for a UPF that runs elsewhere", n, list)
		}
	}

	// Each shard has an address for it, where a load balancer gives one.
	shards := func() (string, error) {
		d := &appsv1.Deployment{}
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf"}, d); err != nil {
			return "", err
		}
		for _, env := range d.Spec.Template.Spec.Containers[0].Env {
			if env.Name == "SHARDS" {
				return env.Value, nil
			}
		}
		return "", errors.New("no SHARDS")
	}
	wantShards := func(what string, fits func(string) bool) {
		t.Helper()
		eventually(t, what, func() error {
			if text, err := shards(); err != nil || !fits(text) {
				return fmt.Errorf("SHARDS is %q, %v", text, err)
			}
			return nil
		})
	}
	e.patch(t, core, `{"spec":{"sessionManagement":{"shards":2,"n4":{"serviceType":"LoadBalancer","annotations":{"a":"b"}}}}}`)
	wantShards("shards wait for addresses", func(text string) bool { return strings.Count(text, "/") == 2 && strings.HasSuffix(text, "/") })
	for n := range 2 {
		service := &corev1.Service{}
		e.get(t, service, ns, fmt.Sprintf("core5g-smf-shard-%d-n4", n+1))
		if s := service.Spec; s.Type != corev1.ServiceTypeLoadBalancer || s.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || s.Ports[0].Port != 8805 ||
			s.Ports[0].TargetPort.IntValue() != 8806+n || s.Ports[0].Protocol != corev1.ProtocolUDP || service.Annotations["a"] != "b" {
			t.Errorf("Service %s: %+v", service.Name, s)
		}
		e.editStatus(t, service, func() {
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprint("192.0.2.", n+1)}}
		})
	}
	wantShards("shards have addresses", func(text string) bool {
		return strings.Contains(text, "/192.0.2.1,") && strings.HasSuffix(text, "/192.0.2.2")
	})
	e.patch(t, core, `{"spec":{"sessionManagement":{"shards":4,"n4":null}}}`)
	wantShards("they have none any more", func(text string) bool { return text != "" && !strings.Contains(text, "/") })
	eventually(t, "nor Services for it", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-shard-1-n4"}, &corev1.Service{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})

	second := controllertest.ExternalUPF(ns)
	second.Name = "twin"
	e.create(t, second)
	e.wantCondition(t, second, api.ConditionReady, metav1.ConditionFalse, api.ReasonAddressOverlap, "spec.external.n3.endpoints 203.0.113.16/28 overlaps 203.0.113.16/28 of UPFInstance edge")

	e.patch(t, upf, `{"spec":{"administrativeState":"Locked"}}`)
	eventually(t, "the UPF is out of service", func() error {
		e.get(t, upf, ns, "edge")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitStopped || u.Drain == nil || u.Drain.ReleasedAt == nil {
			return fmt.Errorf("unit %+v", u)
		}
		return nil
	})
	e.patch(t, upf, `{"spec":{"administrativeState":"Unlocked"}}`)
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, api.ReasonReady, "4 of 4 shards")
	if err := e.client.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is deleted", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(upf), &api.UPFInstance{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// The other side of it: no core, and N4 at the address that a load balancer gives.
func (e *environment) testUPFOfAnotherCluster(t *testing.T) {
	ns := e.namespace(t)
	e.installAttachmentKind(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.N4 = api.N4Spec{ServiceType: corev1.ServiceTypeLoadBalancer}
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonProgressing, "no load balancer has given Service upf-0-n4-lb an address yet")
	pod := &corev1.Pod{}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("a pod was made without a Node ID: %v", err)
	}
	give := func(in ...corev1.LoadBalancerIngress) {
		t.Helper()
		service := &corev1.Service{}
		e.get(t, service, ns, "upf-0-n4-lb")
		e.editStatus(t, service, func() { service.Status.LoadBalancer.Ingress = in })
	}
	node := func(want string) *corev1.Pod {
		t.Helper()
		eventually(t, "the unit is "+want, func() error {
			e.get(t, upf, ns, "upf")
			if len(upf.Status.UnitStatuses) != 1 || upf.Status.UnitStatuses[0].N4Address != want {
				return fmt.Errorf("units %+v", upf.Status.UnitStatuses)
			}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); err != nil {
				return err
			}
			config := &corev1.ConfigMap{}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: pod.Spec.Volumes[0].ConfigMap.Name}, config); err != nil {
				return err
			}
			if !strings.Contains(config.Data["upf-c.yaml"], "nodeID: "+want+"\n") {
				return fmt.Errorf("its configuration: %s", config.Data["upf-c.yaml"])
			}
			return nil
		})
		return pod.DeepCopy()
	}
	give(corev1.LoadBalancerIngress{IP: "192.0.2.7"})
	first := node("192.0.2.7")

	give()
	e.patch(t, upf, `{"spec":{"drain":{"timeout":"60s"}}}`)
	eventually(t, "it is looked at meanwhile", func() error {
		e.get(t, upf, ns, "upf")
		if upf.Status.ObservedGeneration != upf.Generation {
			return fmt.Errorf("of generation %d, not %d", upf.Status.ObservedGeneration, upf.Generation)
		}
		return nil
	})
	if still := node("192.0.2.7"); still.UID != first.UID {
		t.Error("a load balancer that is away restarts the unit")
	}

	policy := client.ObjectKey{Namespace: ns, Name: "upf-n4"}
	if err := e.client.Get(t.Context(), policy, &networkingv1.NetworkPolicy{}); !apierrors.IsNotFound(err) {
		t.Errorf("without policies of a core one shuts out everybody but SMFs: %v", err)
	}
	e.create(t, controllertest.Core(t, ns))
	eventually(t, "with those of a core it lets SMFs of other clusters in", func() error {
		return e.client.Get(t.Context(), policy, &networkingv1.NetworkPolicy{})
	})

	e.patch(t, upf, `{"spec":{"n4":{"serviceType":null}}}`)
	eventually(t, "it goes with them", func() error { return e.goneFrom(t, &networkingv1.NetworkPolicy{}, ns, "upf-n4") })
	eventually(t, "its Service for other clusters goes", func() error {
		return e.goneFrom(t, &corev1.Service{}, ns, "upf-0-n4-lb")
	})
}
