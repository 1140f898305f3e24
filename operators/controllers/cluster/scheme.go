package cluster

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Scheme holds every kind that the controllers read or write.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return nil, err
	}
	return s, api.AddToScheme(s)
}
