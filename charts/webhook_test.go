package charts_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/operators/admission"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/managertest"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/specs"
)

const (
	webhookName          = "core5g-operator-webhook"
	webhookConfiguration = namespace + "-" + webhookName
)

// TestWebhookConfiguration holds the chart's configuration against what the operator serves, and against what
// must be so that an operator that is down blocks nobody.
func TestWebhookConfiguration(t *testing.T) {
	rendered, err := template(t)
	if err != nil {
		t.Fatal(err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	find(t, rendered, "ValidatingWebhookConfiguration", configuration)
	var paths []string
	for _, w := range configuration.Webhooks {
		paths = append(paths, *w.ClientConfig.Service.Path)
		if *w.FailurePolicy != admissionv1.Ignore || *w.SideEffects != admissionv1.SideEffectClassNone || *w.TimeoutSeconds > 10 {
			t.Errorf("%s: failurePolicy %s, sideEffects %s, timeoutSeconds %d", w.Name, *w.FailurePolicy, *w.SideEffects, *w.TimeoutSeconds)
		}
		if got := w.NamespaceSelector.MatchLabels[corev1.LabelMetadataName]; got != namespace {
			t.Errorf("%s asks for namespace %q, want %q: the operator sees no other", w.Name, got, namespace)
		}
		if len(w.ClientConfig.CABundle) > 0 {
			t.Errorf("%s: the chart writes caBundle, which an upgrade would take back", w.Name)
		}
	}
	slices.Sort(paths)
	if want := []string{admission.PathCore5G, admission.PathSlice, admission.PathSubscriber, admission.PathUPFInstance}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}

	off, err := template(t, "--set=webhook.enabled=false")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(off, "webhook") {
		t.Error("webhook.enabled=false leaves something of it")
	}
	managed, err := template(t, "--set=webhook.certificates=CertManager", "--set=webhook.issuerRef.name=ours", "--set=webhook.issuerRef.kind=ClusterIssuer")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(managed, "kind: Issuer\nmetadata") || strings.Contains(managed, "--webhook-configuration") || strings.Contains(managed, "validatingwebhookconfigurations") {
		t.Error("with an issuer of cert-manager, the chart makes one, or the operator keeps caBundle")
	}
	request := &unstructured.Unstructured{}
	find(t, managed, "Certificate", &request.Object)
	served := (&admission.Certificate{Name: webhookName}).Secret()
	if secret, _, _ := unstructured.NestedString(request.Object, "spec", "secretName"); secret != served {
		t.Errorf("cert-manager writes Secret %q, the operator serves with %q", secret, served)
	}
}

// find decodes the first document of the kind.
func find(t *testing.T, rendered, kind string, into any) {
	t.Helper()
	for _, doc := range split(t, rendered) {
		if doc.object.GetKind() == kind {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.object.Object, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s", kind)
}

// TestEnvtestWebhook applies objects to an API server that asks the operator, as the chart has it: with the
// chart's configuration, and the rights of the operator's account. The Service leads to this process.
func TestEnvtestWebhook(t *testing.T) {
	env, admin := apiServer(t, "../operators/config/crd")
	ctx := t.Context()
	rendered, err := template(t)
	if err != nil {
		t.Fatal(err)
	}
	port, standby := freePort(t), freePort(t)
	for _, doc := range split(t, rendered) {
		object := doc.object
		switch kind := object.GetKind(); {
		case kind == "Service":
			object = leadHere(t, object, port)
		case kind == "ValidatingWebhookConfiguration":
		case strings.HasPrefix(kind, "Role"), strings.HasPrefix(kind, "ClusterRole"), kind == "Lease":
		default:
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace("")
		}
		if err := admin.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	configured := &admissionv1.ValidatingWebhookConfiguration{}
	if err := admin.Get(ctx, client.ObjectKey{Name: webhookConfiguration}, configured); err != nil {
		t.Fatal(err)
	}
	for i := range configured.Webhooks {
		configured.Webhooks[i].ClientConfig.Service.Port = &port
	}
	if err := admin.Update(ctx, configured); err != nil {
		t.Fatal(err)
	}

	// Nobody serves yet: failurePolicy Ignore lets everything through.
	warned := &apiservertest.Warnings{}
	userConfig := rest.CopyConfig(env.Config)
	userConfig.WarningHandlerWithContext = warned
	user := userOf(t, userConfig)
	for _, manifest := range []string{coreManifest, upfManifest("upf", "172.30.3.16/28", "172.30.6.2/24"), sliceManifest("first", "010203", "10.45.0.0/16")} {
		if err := put(ctx, user, manifest); err != nil {
			t.Fatalf("with no operator: %v", err)
		}
	}

	// Of a time when cert-manager made the certificate.
	abandoned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: (&admission.Certificate{Name: webhookName}).Secret()}}
	if err := admin.Create(ctx, abandoned); err != nil {
		t.Fatal(err)
	}
	clock := &movedClock{offset: -61 * 24 * time.Hour} // of a certificate's 90 days, 30 are left when it is renewed
	runOperator(t, env, port, clock)
	runOperator(t, env, standby, clock)
	bundle := awaitBundle(t, admin)

	// The rules themselves are tested in operators/admission: here, that they are asked.
	awaitRefusal(t, user, sliceManifest("second", "112233", "10.45.128.0/17"),
		"pool 10.45.128.0/17 of DNN internet overlaps pool 10.45.0.0/16 of Slice first: write a pool that is free")
	for name, c := range map[string]struct{ manifest, refusal, warning string }{
		"an S-NSSAI twice":         {sliceManifest("second", "010203", "10.46.0.0/16"), "S-NSSAI 1-010203 belongs to Slice first already", ""},
		"the Service network":      {sliceManifest("second", "112233", "10.96.64.0/18"), "overlaps the cluster's Service network 10.96.0.0/16: write a pool that is free", ""},
		"an sd without quotes":     {strings.Replace(sliceManifest("second", "112233", "10.46.0.0/16"), `"112233"`, `010203`, 1), `spec.snssai.sd: Invalid value: "object": write sd in quotes, for example "010203"`, ""},
		"N3 endpoints twice":       {upfManifest("upf-b", "172.30.3.24/29", "172.30.6.3/24"), "spec.n3.endpoints 172.30.3.24/29 overlaps 172.30.3.16/28 of UPFInstance upf", ""},
		"an N6 address twice":      {upfManifest("upf-b", "172.30.3.32/28", "172.30.6.2/24"), "spec.n6.address 172.30.6.2/32 overlaps 172.30.6.2/32 of UPFInstance upf", ""},
		"a subnet in a pool":       {upfManifest("upf", "172.30.3.16/28", "10.45.0.2/24"), "overlaps the N6 subnet 10.45.0.0/24", ""},
		"a Slice that is not told": {sliceManifest("second", "abcdef", "10.46.0.0/16"), "", "S-NSSAI 1-abcdef is not in spec.sliceCatalogue"},
		"a Subscriber before its Slice": {subscriberManifest("early", "imsi-208930000000009", "", "later"), "",
			"Slice later does not exist: create it, or take it out of spec.slices"},
	} {
		for _, version := range []string{before, now} { // whichever it is written in, the webhook is asked, in the one that it knows
			t.Run(name+" by "+version, func(t *testing.T) {
				warned.Take()
				err := put(ctx, user, strings.Replace(c.manifest, before, version, 1), client.DryRunAll)
				if got := warned.Take(); !strings.Contains(got, c.warning) {
					t.Errorf("warnings %q, want %q", got, c.warning)
				}
				if c.refusal == "" && err != nil || c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)) {
					t.Errorf("got %v, want %q", err, c.refusal)
				}
			})
		}
	}
	for _, manifest := range []string{subscriberManifest("a", "imsi-208930000000001", "msisdn-33600000001", "first")} {
		if err := put(ctx, user, manifest); err != nil {
			t.Fatal(err)
		}
	}
	awaitRefusal(t, user, subscriberManifest("b", "imsi-208930000000001", "", "first"), "SUPI imsi-208930000000001 belongs to Subscriber a already")
	awaitRefusal(t, user, subscriberManifest("b", "imsi-208930000000002", "msisdn-33600000001", "first"), "GPSI msisdn-33600000001 belongs to Subscriber a already")

	warned.Take()
	slice := &api.Slice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "first"}}
	if err := user.Delete(ctx, slice, client.DryRunAll); err != nil {
		t.Fatalf("a Slice with Subscribers cannot be deleted: %v", err)
	}
	if got := warned.Take(); !strings.Contains(got, "1 Subscriber of Slice first still name it in spec.slices, and lose its PDU sessions: a") {
		t.Errorf("warnings of the deletion: %q", got)
	}
	if err := put(ctx, user, strings.Replace(coreManifest, "tacs:", "controlPlane: Free5GC\n  tacs:", 1), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if got := warned.Take(); !strings.Contains(got, "this changes whose AMF and SMF serve UEs") {
		t.Errorf("warnings of another control plane: %q", got)
	}

	// Both replicas serve the same certificate, which the API server believes.
	first := servedBy(t, port, bundle)
	awaitServed(t, standby, bundle, func(c *x509.Certificate) bool { return c.Equal(first) })

	// The certificate is renewed before its end, and what somebody has taken away comes back.
	clock.catchUp()
	touch(t, admin)
	awaitServed(t, port, bundle, func(c *x509.Certificate) bool { return !c.Equal(first) })
	renewed := servedBy(t, port, bundle)
	awaitServed(t, standby, bundle, func(c *x509.Certificate) bool { return c.Equal(renewed) })
	if err := admin.Get(ctx, client.ObjectKey{Name: webhookConfiguration}, configured); err != nil {
		t.Fatal(err)
	}
	before := configured.DeepCopy()
	for i := range configured.Webhooks {
		configured.Webhooks[i].ClientConfig.CABundle = nil
	}
	if err := admin.Patch(ctx, configured, client.MergeFrom(before)); err != nil { // the operator may write at the same moment
		t.Fatal(err)
	}
	if again := awaitBundle(t, admin); string(again) != string(bundle) {
		t.Error("another authority after caBundle was taken away")
	}
	awaitRefusal(t, user, sliceManifest("second", "112233", "10.45.128.0/17"), "overlaps")
	until(t, "Secret "+abandoned.Name+" goes", func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(abandoned), abandoned)
		if err == nil {
			err = errors.New("is there")
		}
		return client.IgnoreNotFound(err)
	})
	secret := &corev1.Secret{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: webhookName}, secret); err != nil {
		t.Fatal(err)
	}
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != configured.UID {
		t.Errorf("owners %v, want the configuration: it would stay after an uninstall", secret.OwnerReferences)
	}
}

type movedClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *movedClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *movedClock) catchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = 0
}

// leadHere makes the Service one that leads to a port of this machine.
func leadHere(t *testing.T, object *unstructured.Unstructured, port int32) *unstructured.Unstructured {
	t.Helper()
	service := &corev1.Service{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, service); err != nil {
		t.Fatal(err)
	}
	service.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
		Ports: []corev1.ServicePort{{Name: "webhook", Port: port, TargetPort: intstr.FromInt32(port)}},
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(service)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: raw}
}

func freePort(t *testing.T) int32 {
	t.Helper()
	return int32(loopback.Port(t))
}

// silence keeps the operator's log to itself, unless somebody asks for it.
func silence() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil)))
	if os.Getenv("CORE5G_TEST_LOG") != "" {
		ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	}
}

// runOperator starts the webhook as the operator's program does, with its account.
func runOperator(t *testing.T, env *envtest.Environment, port int32, clock *movedClock) {
	t.Helper()
	silence()
	account := rest.CopyConfig(env.Config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":core5g-operator"}
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	certificate := &admission.Certificate{Namespace: namespace, Name: webhookName, Configuration: webhookConfiguration, Now: clock.now}
	skip := true // controllers of the two replicas have the same names
	options := ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(namespace), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: &skip},
		WebhookServer:  certificate.Server(int(port)),
		LeaderElection: true, LeaderElectionID: "core5g-operator", LeaderElectionNamespace: namespace,
	}
	certificate.Cache(&options.Cache)
	mgr, err := ctrl.NewManager(account, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := subscriber.Index(mgr.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	if err := certificate.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	admission.Register(mgr, specs.Platform{Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev"})
	managertest.Run(t, mgr)
}

func put(ctx context.Context, c client.Client, manifest string, options ...client.PatchOption) error {
	return putIn(ctx, c, namespace, manifest, options...)
}

func until(t *testing.T, what string, done func(context.Context) error) {
	t.Helper()
	var last error
	if wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = done(ctx)
		return last == nil, nil
	}) != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

func awaitRefusal(t *testing.T, c client.Client, manifest, want string) {
	t.Helper()
	until(t, "want a refusal: "+want, func(ctx context.Context) error {
		err := put(ctx, c, manifest, client.DryRunAll)
		if err == nil {
			return errors.New("was accepted")
		}
		if !strings.Contains(err.Error(), want) {
			return err
		}
		return nil
	})
}

func awaitBundle(t *testing.T, c client.Client) []byte {
	t.Helper()
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	until(t, "caBundle of every webhook", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Name: webhookConfiguration}, configuration); err != nil {
			return err
		}
		for _, w := range configuration.Webhooks {
			if len(w.ClientConfig.CABundle) == 0 {
				return fmt.Errorf("%s has none", w.Name)
			}
		}
		return nil
	})
	return configuration.Webhooks[0].ClientConfig.CABundle
}

// touch has the leader look at its certificate again.
func touch(t *testing.T, c client.Client) {
	t.Helper()
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration}}
	if err := c.Patch(t.Context(), configuration, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))); err != nil {
		t.Fatal(err)
	}
}

func ask(port int32, bundle []byte) (*x509.Certificate, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	c, err := tls.Dial("tcp", fmt.Sprintf("localhost:%d", port), &tls.Config{RootCAs: pool, ServerName: webhookName + "." + namespace + ".svc"})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

func servedBy(t *testing.T, port int32, bundle []byte) *x509.Certificate {
	t.Helper()
	c, err := ask(port, bundle)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func awaitServed(t *testing.T, port int32, bundle []byte, is func(*x509.Certificate) bool) {
	t.Helper()
	until(t, fmt.Sprintf("the certificate on port %d", port), func(context.Context) error {
		c, err := ask(port, bundle)
		if err == nil && !is(c) {
			err = errors.New("is another")
		}
		return err
	})
}

const coreManifest = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  tacs: ["000001"]
  sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1, sd: "112233"}]
`

func upfManifest(name, endpoints, n6 string) string {
	return fmt.Sprintf(`
apiVersion: core5g.dev/v1alpha1
kind: UPFInstance
metadata: {name: %s}
spec:
  n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: %s}
  n6: {attachment: {type: Bridge, bridge: c5g-n6}, address: %s, gateway: %s}
`, name, endpoints, n6, strings.Split(n6, "/")[0][:strings.LastIndex(n6, ".")]+".1")
}

func sliceManifest(name, sd, pool string) string {
	return fmt.Sprintf(`
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: %s}
spec:
  snssai: {sst: 1, sd: %q}
  dataNetworks: [{dnn: internet, uePools: [%s]}]
`, name, sd, pool)
}

func subscriberManifest(name, supi, gpsi, slice string) string {
	if gpsi != "" {
		gpsi = "\n  gpsi: " + gpsi
	}
	return fmt.Sprintf(`
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: %s}
spec:
  supi: %s%s
  authentication: {secretRef: {name: keys}}
  slices: [{name: %s}]
`, name, supi, gpsi, slice)
}

// TestWebhookRights: beyond the release's namespace the operator may write one object, by name.
func TestWebhookRights(t *testing.T) {
	rendered, err := template(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range split(t, rendered) {
		if doc.object.GetKind() != "ClusterRole" || doc.object.GetName() != webhookConfiguration {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.object.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if !slices.Equal(rule.ResourceNames, []string{webhookConfiguration}) {
				t.Errorf("%v is not restricted to %s", rule, webhookConfiguration)
			}
		}
		return
	}
	t.Errorf("no ClusterRole %s in %s", webhookConfiguration, filepath.Base(chart))
}

// userOf an API server, as config says.
func userOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	user, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return user
}
