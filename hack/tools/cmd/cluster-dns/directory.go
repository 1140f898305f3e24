package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// directory is what the zone asks about the cluster.
type directory interface {
	namespace(name string) bool
	service(namespace, name string) *corev1.Service
	serviceByIP(ip string) *corev1.Service
	slices(namespace, service string) []*discoveryv1.EndpointSlice
}

const (
	byIP      = "ip"
	byService = "service"
)

// watched is the directory as the API server tells it.
type watched struct {
	services, endpoints, namespaces cache.Indexer
}

// watchDirectory returns once everything that exists now is known.
func watchDirectory(ctx context.Context, client kubernetes.Interface) (*watched, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(dropManagedFields))
	services := factory.Core().V1().Services().Informer()
	endpoints := factory.Discovery().V1().EndpointSlices().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	if err := errors.Join(
		services.AddIndexers(cache.Indexers{byIP: clusterIPs}),
		endpoints.AddIndexers(cache.Indexers{byService: serviceOfSlice}),
	); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, errors.New("stopped before all was known of " + kind.String())
		}
	}
	return &watched{services.GetIndexer(), endpoints.GetIndexer(), namespaces.GetIndexer()}, nil
}

// dropManagedFields keeps out of memory what no answer needs.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func clusterIPs(object any) ([]string, error) {
	service, ok := object.(*corev1.Service)
	if !ok || service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil, nil
	}
	return service.Spec.ClusterIPs, nil
}

func serviceOfSlice(object any) ([]string, error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, nil
	}
	return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}, nil
}

func (w *watched) namespace(name string) bool {
	_, exists, err := w.namespaces.GetByKey(name)
	return err == nil && exists
}

func (w *watched) service(namespace, name string) *corev1.Service {
	object, exists, err := w.services.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	service, _ := object.(*corev1.Service)
	return service
}

func (w *watched) serviceByIP(ip string) *corev1.Service {
	objects, err := w.services.ByIndex(byIP, ip)
	if err != nil || len(objects) == 0 {
		return nil
	}
	service, _ := objects[0].(*corev1.Service)
	return service
}

func (w *watched) slices(namespace, service string) []*discoveryv1.EndpointSlice {
	objects, err := w.endpoints.ByIndex(byService, namespace+"/"+service)
	if err != nil {
		return nil
	}
	found := make([]*discoveryv1.EndpointSlice, 0, len(objects))
	for _, object := range objects {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			found = append(found, slice)
		}
	}
	return found
}
