package objectcache

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Subscriber takes out of a Subscriber what is there for its users alone, labels and annotations, and has it share
// with the others what nearly all of them say: as decoded, each has a copy of "8000" and of every condition's
// message. It is for programs that never update Subscribers, and patch no metadata of them.
func Subscriber(s *api.Subscriber) {
	s.ManagedFields, s.Labels, s.Annotations = nil, nil, nil
	share(&s.Namespace, &s.Kind, &s.APIVersion, &s.Spec.CoreRef.Name, &s.Spec.Authentication.AMF)
	shareAs(&s.Spec.AMBR.Uplink)
	shareAs(&s.Spec.AMBR.Downlink)
	for i := range s.Spec.Slices {
		share(&s.Spec.Slices[i].Name)
		for j := range s.Spec.Slices[i].DNNs {
			shareAs(&s.Spec.Slices[i].DNNs[j])
		}
	}
	// A list grows by doubling as it is decoded.
	s.Spec.Slices = exact(s.Spec.Slices)
	share(&s.Status.Slices)
	s.Status.Conditions = exact(s.Status.Conditions)
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		share(&c.Type, &c.Reason, &c.Message)
		shareAs(&c.Status)
	}
}

// Secret takes out of the metadata of a Secret that somebody else has made, and of which there is one for each
// Subscriber, all but which one it is and which version of it. What is kept is told by its label.
func Secret(m *metav1.PartialObjectMetadata, label, kept string) {
	m.ManagedFields = nil
	delete(m.Annotations, corev1.LastAppliedConfigAnnotation)
	if m.Labels[label] == kept {
		return
	}
	m.ObjectMeta = metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp,
	}
	share(&m.Namespace)
}

func share(all ...*string) {
	for _, s := range all {
		shareAs(s)
	}
}

func shareAs[S ~string](s *S) {
	if *s != "" {
		*s = unique.Make(*s).Value()
	}
}

func exact[E any](list []E) []E {
	if cap(list) == len(list) {
		return list
	}
	return slices.Clip(append(make([]E, 0, len(list)), list...))
}
