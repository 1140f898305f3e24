package core

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/specs"
)

// keepCertificates comes before the functions: their pods mount them.
func (r *Reconciler) keepCertificates(ctx context.Context, s *scope) error {
	if s.core.Fused() { // nobody is called by a network; what there is stays for the other layout
		return nil
	}
	requests := specs.CoreCertificates(s.core)
	if !specs.SBIOverTLS(s.core) {
		meta.RemoveStatusCondition(&s.core.Status.Conditions, api.ConditionCertificatesReady)
		err := r.certifier.Forsake(ctx, s.core, append(requests, specs.CertificateRequest{Namespace: s.core.Namespace, Secret: specs.AuthorityName(s.core.Name)}))
		if err != nil {
			return err
		}
		return r.certifier.ForsakeIssuer(ctx, s.core)
	}
	var issuer certifying.State
	if specs.OwnIssuer(s.core) {
		if err := r.certifier.KeepIssuer(ctx, s.core, &issuer); err != nil {
			return err
		}
	}
	state, err := r.certifier.Keep(ctx, s.core, s.core, requests)
	if err != nil {
		return err
	}
	if issuer.Problem != "" {
		state.Reason, state.Problem, state.Next = issuer.Reason, issuer.Problem, certifying.Earlier(state.Next, issuer.Next)
	}
	if !specs.OwnIssuer(s.core) && state.Problem == "" {
		if err := r.certifier.ForsakeIssuer(ctx, s.core); err != nil {
			return err
		}
	}
	if state.Problem != "" {
		s.halted = true
		s.requeue = max(time.Second, state.Next.Sub(r.Now()))
		s.conditions.No(api.ConditionCertificatesReady, state.Reason, state.Problem)
		return nil
	}
	s.conditions.Yes(api.ConditionCertificatesReady, api.ReasonReady, fmt.Sprintf("every function has a certificate; the first ends at %s", state.End.UTC().Format(time.RFC3339)))
	return nil
}
