package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/specs"
)

// The API server believes what is in caBundle of the ValidatingWebhookConfiguration, and shows the operator no
// certificate of its own. Every replica serves with what is in one Secret, read past no volume: a change is
// there at once. Who writes it: the leader with an authority of its own, which it also puts into caBundle; or
// cert-manager, whose CA injector does. The leader's Secrets belong to the configuration and go with it.
//
// Each has a Secret of its own: while a release goes from one to the other both are at work for a moment, and
// cert-manager takes over whatever certificate it finds. A leader begins with taking away what the other one has
// left, which nobody would renew. It does so once, for the leader before it may still be at work when the other
// one begins.

const (
	certificateDuration = 90 * 24 * time.Hour
	certificateRenewal  = 30 * 24 * time.Hour
)

// Certificate is where the webhook's certificate comes from.
type Certificate struct {
	// Namespace and Name of the Service that the API server calls.
	Namespace, Name string
	// Configuration is the ValidatingWebhookConfiguration whose caBundle is kept; empty where cert-manager
	// makes the certificate.
	Configuration string
	Now           func() time.Time

	client.Client
	served atomic.Pointer[tls.Certificate]
}

// Server answers the API server with the certificate of the Secret as it is at the time.
func (c *Certificate) Server(port int) webhook.Server {
	return webhook.NewServer(webhook.Options{Port: port, TLSOpts: []func(*tls.Config){func(config *tls.Config) {
		config.MinVersion = tls.VersionTLS12
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if served := c.served.Load(); served != nil {
				return served, nil
			}
			return nil, fmt.Errorf("Secret %s holds no certificate yet", c.Secret())
		}
	}}})
}

// Cache restricts what is read of all configurations to the one: nothing else is granted.
func (c *Certificate) Cache(options *cache.Options) {
	if c.Configuration != "" {
		options.ByObject[&admissionv1.ValidatingWebhookConfiguration{}] = cache.ByObject{
			Field: fields.OneTermEqualSelector("metadata.name", c.Configuration),
		}
	}
}

func (c *Certificate) authorityName() string { return c.Name + "-ca" }

// Secret names the Secret whose certificate is served, and left those of the other way to come by one.
func (c *Certificate) Secret() string {
	if c.Configuration == "" {
		return c.Name + "-tls"
	}
	return c.Name
}

func (c *Certificate) left() []string {
	if c.Configuration == "" {
		return []string{c.Name, c.authorityName()}
	}
	return []string{c.Name + "-tls"}
}

// SetupWithManager reads the certificate in every replica, and keeps it in the leader.
func (c *Certificate) SetupWithManager(mgr ctrl.Manager) error {
	c.Client = mgr.GetClient()
	named := func(names ...string) builder.Predicates {
		return builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			return slices.Contains(names, o.GetName()) && (o.GetNamespace() == "" || o.GetNamespace() == c.Namespace)
		}))
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("webhook-certificate").
		For(&corev1.Secret{}, named(c.Secret()), builder.OnlyMetadata).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(reconcile.Func(c.read)); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(c.tidy)); err != nil || c.Configuration == "" {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("webhook-authority").
		For(&admissionv1.ValidatingWebhookConfiguration{}, named(c.Configuration)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: c.Configuration}}}
		}), named(c.Secret(), c.authorityName())).
		Complete(reconcile.Func(c.keep))
}

// read takes over what the Secret holds. What was served goes on being served where that cannot be read.
func (c *Certificate) read(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, req.NamespacedName, secret); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pair, err := tls.X509KeyPair(secret.Data[certificates.KeyCertificate], secret.Data[certificates.KeyPrivate])
	if err != nil {
		// Without the parser's words: they may speak of the key.
		log.FromContext(ctx).Error(errors.New("no certificate and private key that belong together"), "the webhook cannot be served with the Secret")
		return reconcile.Result{}, nil
	}
	c.served.Store(&pair)
	return reconcile.Result{}, nil
}

// tidy takes away what nobody serves with any more.
func (c *Certificate) tidy(ctx context.Context) error {
	for _, name := range c.left() {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
		if err := client.IgnoreNotFound(c.Delete(ctx, secret)); err != nil {
			log.FromContext(ctx).Error(err, "a certificate is left that is no longer served, and that nobody renews", "secret", name)
		}
	}
	return nil
}

// keep brings about authority, caBundle and certificate, in this order: nothing is served that the API server
// does not believe.
func (c *Certificate) keep(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.Get(ctx, req.NamespacedName, configuration); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !configuration.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	now := c.Now()
	held, err := c.secret(ctx, c.Secret())
	if err != nil {
		return reconcile.Result{}, err
	}
	authority, err := c.authority(ctx, configuration, held.Data[certificates.KeyAuthorities], now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.believe(ctx, configuration, authority.Bundle); err != nil {
		return reconcile.Result{}, err
	}
	data, next, err := authority.Renew(held.Data, certificates.Certificate{
		DNSNames: []string{c.Name + "." + c.Namespace + ".svc"}, Duration: certificateDuration, RenewBefore: certificateRenewal,
	}, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.write(ctx, configuration, held, data); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(next.Sub(now), time.Second)}, nil
}

// authority returns the webhook's own, made where there is none that can be read, and replaced before it ends.
func (c *Certificate) authority(ctx context.Context, configuration *admissionv1.ValidatingWebhookConfiguration, earlier []byte, now time.Time) (*certificates.Authority, error) {
	secret, err := c.secret(ctx, c.authorityName())
	if err != nil {
		return nil, err
	}
	authority, err := certificates.ReadAuthority(secret.Data)
	if err == nil && !authority.Ends(now) {
		return authority, nil
	}
	if err == nil {
		earlier = authority.Bundle
	}
	data, err := certificates.NewAuthority(c.Namespace+"/"+c.Name, now, earlier)
	if err != nil {
		return nil, err
	}
	if err := c.write(ctx, configuration, secret, data); err != nil {
		return nil, err
	}
	return certificates.ReadAuthority(data)
}

// believe puts the authorities into the configuration.
func (c *Certificate) believe(ctx context.Context, configuration *admissionv1.ValidatingWebhookConfiguration, bundle []byte) error {
	changed := configuration.DeepCopy()
	same := true
	for i := range changed.Webhooks {
		at := &changed.Webhooks[i].ClientConfig
		same = same && bytes.Equal(at.CABundle, bundle)
		at.CABundle = bundle
	}
	if same {
		return nil
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(configuration, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner))
}

// secret returns the Secret, or an empty one where it does not exist.
func (c *Certificate) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}, nil
	}
	return secret, err
}

// write makes the Secret, or replaces its content unless somebody else has been at it.
func (c *Certificate) write(ctx context.Context, configuration *admissionv1.ValidatingWebhookConfiguration, have *corev1.Secret, data map[string][]byte) error {
	changed := have.DeepCopy()
	changed.Data = data
	switch {
	case have.ResourceVersion == "":
		changed.Type = corev1.SecretTypeTLS
		changed.Labels = specs.Labels(c.Name, "webhook")
		changed.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration",
			Name: configuration.Name, UID: configuration.UID,
		}}
		return c.Create(ctx, changed, client.FieldOwner(specs.FieldOwner))
	case certificates.Same(have.Data, data):
		return nil
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner))
}
