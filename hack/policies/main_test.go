package main

import (
	"slices"
	"strings"
	"testing"

	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func TestServiceCIDRs(t *testing.T) {
	object := func(name string, cidrs ...string) runtime.Object {
		return &networking.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networking.ServiceCIDRSpec{CIDRs: cidrs}}
	}
	tests := []struct {
		name    string
		objects []runtime.Object
		want    []string
		wantErr string
	}{
		{name: "what the API server was started with", objects: []runtime.Object{object("kubernetes", "10.96.0.0/16")}, want: []string{"10.96.0.0/16"}},
		{name: "of two families the one that is enforced", objects: []runtime.Object{object("kubernetes", "fd00::/112", "10.96.0.0/16")}, want: []string{"10.96.0.0/16"}},
		{name: "a further range", objects: []runtime.Object{object("kubernetes", "10.96.0.0/16"), object("more", "10.97.0.0/24")}, want: []string{"10.96.0.0/16", "10.97.0.0/24"}},
		{name: "an API server older than the kind", wantErr: "write them after -service-cidrs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := serviceCIDRs(t.Context(), fake.NewClientset(test.objects...))
			slices.Sort(got)
			if !slices.Equal(got, test.want) || (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("got %v, error %v; want %v, error with %q", got, err, test.want, test.wantErr)
			}
		})
	}
}
