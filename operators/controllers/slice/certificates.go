package slice

import (
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// keepCertificate makes that of the Slice's SMF; the problem says why there is none.
func (r *Reconciler) keepCertificate(ctx context.Context, s *scope) (problem string, err error) {
	request := specs.SMFCertificate(s.core, s.slice)
	if !specs.SBIOverTLS(s.core) {
		return "", r.certifier.Forsake(ctx, s.slice, []specs.CertificateRequest{request})
	}
	state, err := r.certifier.Keep(ctx, s.core, s.slice, []specs.CertificateRequest{request})
	if err != nil {
		return "", err
	}
	if !state.Next.IsZero() {
		s.requeue = max(time.Second, state.Next.Sub(r.Now()))
	}
	return state.Problem, nil
}

// slicesOfSecret leads from a certificate to its Slice, and from an authority to all.
func (r *Reconciler) slicesOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[api.LabelManagedBy] != specs.Labels("", "")[api.LabelManagedBy] {
		return nil
	}
	if strings.HasSuffix(o.GetName(), "-ca") && labels[api.LabelComponent] == "ca" {
		return r.slicesWith(ctx, o, ofCoreNamed(labels[api.LabelInstance]))
	}
	return sliceOfPod(ctx, o)
}
