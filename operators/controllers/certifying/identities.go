package certifying

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/specs"
)

// Identities are what the operator shows to NRFs and SMFs.
type Identities struct {
	mu   sync.Mutex
	made map[string]madeIdentity
}

type madeIdentity struct {
	version  string
	identity *sbitls.Identity
}

// Of returns the operator's identity in a core: nil where the SBI has no TLS.
func (i *Identities) Of(ctx context.Context, c client.Client, core *api.Core5G) (*sbitls.Identity, error) {
	if !specs.SBIOverTLS(core) {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: core.Namespace, Name: specs.OperatorCertificateName(core.Name)}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	version := string(secret.UID) + " " + secret.ResourceVersion
	if m := i.made[key.String()]; m.version == version {
		return m.identity, nil
	}
	identity, err := sbitls.New(secret.Data[certificates.KeyCertificate], secret.Data[certificates.KeyPrivate], secret.Data[certificates.KeyAuthorities])
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w", key.Name, err)
	}
	if i.made == nil {
		i.made = map[string]madeIdentity{}
	}
	i.made[key.String()] = madeIdentity{version, identity}
	return identity, nil
}
