package core

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

func (r *Reconciler) observeN2(ctx context.Context, s *scope) error {
	for _, f := range s.functions {
		if !servesUEs(f.Function) && f.Function != api.FunctionControlPlane {
			continue
		}
		for _, service := range f.Services {
			if service.Name == specs.N2ServiceName(s.core.Name) {
				before := ptr.Deref(s.core.Status.N2, api.N2Status{}).Pods
				s.core.Status.N2 = &api.N2Status{Address: n2Address(service), Transport: s.core.Spec.N2.Transport}
				if err := r.observeN2Network(ctx, s, service.Spec.Selector, before); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// observeN2Network reads from the pods that gNBs connect to what Multus has really attached, where the core has them on a network of N2's own. gNBs are told
// of those that were Ready once, before too, and are not being deleted: what they could not connect to they are not told again, and what is not Ready for a moment
// keeps its associations.
func (r *Reconciler) observeN2Network(ctx context.Context, s *scope, selector map[string]string, before []api.N2Pod) error {
	definition := s.core.Spec.N2.NetworkAttachmentDefinition
	if definition == "" {
		return nil
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.core.Namespace), client.MatchingLabels(selector)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
			continue
		}
		at := slices.IndexFunc(workloads.AttachedTo(pod), func(a workloads.NetworkStatus) bool { return a.Interface == specs.InterfaceN2 && len(a.IPs) > 0 })
		if at < 0 {
			s.conditions.No(api.ConditionAMFReady, api.ReasonProgressing, fmt.Sprintf("Multus has not reported an address on interface %s of pod %s, by NetworkAttachmentDefinition %s "+
				"of spec.n2: look whether Multus and the definition are there, or leave n2.networkAttachmentDefinition out", specs.InterfaceN2, pod.Name, definition))
			continue
		}
		own := api.N2Pod{Name: pod.Name}
		for _, ip := range workloads.AttachedTo(pod)[at].IPs {
			own.Addresses = append(own.Addresses, net.JoinHostPort(ip, strconv.Itoa(int(s.core.Spec.N2.Port))))
		}
		s.core.Status.N2.Addresses = append(s.core.Status.N2.Addresses, own.Addresses...)
		if workloads.PodReady(pod) || slices.ContainsFunc(before, func(p api.N2Pod) bool { return p.Name == pod.Name }) {
			s.core.Status.N2.Pods = append(s.core.Status.N2.Pods, own)
		}
	}
	slices.Sort(s.core.Status.N2.Addresses)
	slices.SortFunc(s.core.Status.N2.Pods, func(a, b api.N2Pod) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// n2Address is where a gNB reaches the Service: the load balancer's address, the nodes' port, or the
// ClusterIP.
func n2Address(s *corev1.Service) string {
	port := strconv.Itoa(int(s.Spec.Ports[0].Port))
	for _, in := range s.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			return net.JoinHostPort(in.IP, port)
		}
		if in.Hostname != "" {
			return net.JoinHostPort(in.Hostname, port)
		}
	}
	if p := s.Spec.Ports[0].NodePort; p != 0 {
		return fmt.Sprintf("<any node>:%d", p)
	}
	return net.JoinHostPort(s.Spec.ClusterIP, port)
}
