package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is core5g.dev/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "core5g.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this group version.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Core5G{}, &Core5GList{},
		&Slice{}, &SliceList{},
		&UPFInstance{}, &UPFInstanceList{},
		&Subscriber{}, &SubscriberList{},
		&DataplaneNode{}, &DataplaneNodeList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
