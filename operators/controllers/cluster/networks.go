package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/specs"
)

// Networks asks the cluster which networks it uses itself. Ranges of Services are read past the cache, once for
// each Slice that asks for pools; clusters before Kubernetes 1.33 do not tell them.
func Networks(ctx context.Context, cached, live client.Reader, namespace string) ([]specs.ClusterNetwork, error) {
	var ranges networkingv1.ServiceCIDRList
	err := live.List(ctx, &ranges)
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, err
	}
	var nodes corev1.NodeList
	if err := cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var services corev1.ServiceList
	if err := cached.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := cached.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return specs.ClusterNetworks(ranges.Items, nodes.Items, services.Items, pods.Items), nil
}
