package controllertest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"core5g.dev/core5g/operators/specs"
)

// StrictAboutIntents is as an API server: it says whose fields are whose, and takes an object that says so for no intent.
func StrictAboutIntents(scheme *runtime.Scheme) client.WithWatch {
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if len(o.GetManagedFields()) > 0 {
				return fmt.Errorf("%s: metadata.managedFields must be nil", o.GetName())
			}
			err := c.Patch(ctx, o, p, options...)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: specs.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}})
			return err
		},
	})
}
