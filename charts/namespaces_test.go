package charts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/operators/admission"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/managertest"
	"core5g.dev/core5g/operators/specs"
)

// TestWatchedNamespaces renders two releases beside each other: what has no namespace must have a name of its own,
// and one namespace of both must be refused by Helm, which it does where both have an object of one name.
func TestWatchedNamespaces(t *testing.T) {
	render := func(release, at string, watched ...string) map[string]bool {
		t.Helper()
		rendered, err := templateAs(t, release, at, "--set=crds.install=false", "--set=core.create=false",
			"--set=upf.create=false", "--set=monitoring.enabled=Always", "--set=operator.watchNamespaces={"+strings.Join(append(watched, at), ",")+"}")
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, doc := range split(t, rendered) {
			names[doc.object.GetKind()+" "+doc.object.GetNamespace()+"/"+doc.object.GetName()] = true
		}
		return names
	}
	both := func(a, b map[string]bool) []string {
		var common []string
		for name := range a {
			if b[name] {
				common = append(common, name)
			}
		}
		slices.Sort(common)
		return common
	}
	north := render("core5g", "north", "paris", "lille")
	if got := both(north, render("core5g", "south", "lyon")); len(got) > 0 {
		t.Errorf("two releases of one name, each with its namespaces, both have %q", got)
	}
	if got := both(north, render("other", "south", "paris")); !slices.Equal(got, []string{"Role paris/core5g-operator", "RoleBinding paris/core5g-operator"}) {
		t.Errorf("two releases of namespace paris both have %q: Helm does not refuse the second", got)
	}
	if got := both(render("core5g", "north", "*"), render("other", "south", "*")); !slices.Equal(got, []string{"ClusterRole /core5g-operator-everywhere", "ClusterRoleBinding /core5g-operator-everywhere"}) {
		t.Errorf("two releases of all namespaces both have %q: Helm does not refuse the second", got)
	}
	if got := both(north, render("core5g", "paris")); !slices.Contains(got, "Role paris/core5g-operator") {
		t.Errorf("a release in paris, and another one that watches it, both have %q", got)
	}
}

// refusals are the requests of an account that the API server has forbidden.
type refusals struct {
	mu   sync.Mutex
	said []string
}

func (r *refusals) wrap(next http.RoundTripper) http.RoundTripper {
	return tripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			r.mu.Lock()
			r.said = append(r.said, request.Method+" "+request.URL.Path)
			r.mu.Unlock()
		}
		return response, err
	})
}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEnvtestWatchedNamespaces runs all of the operator with the account and the rights that the chart gives it for
// namespaces paris and lyon beside its own: it serves these, is refused nothing, and sees nothing of a fourth.
func TestEnvtestWatchedNamespaces(t *testing.T) {
	env, admin := apiServer(t, "../operators/config/crd", multus)
	ctx := t.Context()
	const elsewhere = "elsewhere"
	watched := []string{namespace, "lyon", "paris"}
	// UPF units with AFPacket are refused where level "restricted" is enforced, which has nothing to do with rights.
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := admin.Patch(ctx, own, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lyon", "paris", elsewhere} {
		if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := template(t, "--values", "core5g/testdata/namespaces.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	flags := installOperator(t, admin, rendered, port)
	for _, want := range []string{"--namespace=core5g", "--watch-namespaces=lyon,paris"} {
		if !slices.Contains(flags, want) {
			t.Errorf("the operator has %q, want %s", flags, want)
		}
	}
	forbidden := &refusals{}
	user := userOf(t, env.Config)
	// The API server learns of rights a moment after they are written. Until then it forbids what they allow.
	until(t, "the operator's rights are known", func(context.Context) error {
		for _, at := range watched {
			if !may(t, user, namespace, "core5g-operator", at, "list", "core5g.dev", "core5gs", "") {
				return errors.New("not in " + at)
			}
		}
		if !may(t, user, namespace, "core5g-operator", "", "list", "", "nodes", "") ||
			!may(t, user, namespace, "core5g-operator", "", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", webhookConfiguration) {
			return errors.New("not of what has no namespace")
		}
		return nil
	})
	runWatching(t, env, port, forbidden, watched, specs.Accounts{Namespaces: watched})
	awaitBundle(t, admin)

	// The operator is asked about what it sees, and about nothing else. The second Slice has the first one's pool.
	first, second := sliceManifest("first", "010203", "10.45.0.0/16"), sliceManifest("second", "112233", "10.45.128.0/17")
	for _, at := range append([]string{elsewhere}, watched...) {
		upf := strings.Replace(upfManifest("upf", "172.30.3.16/28", "172.30.6.2/24"), "spec:", "spec:\n  redundancy: {standbys: 1}", 1)
		for _, manifest := range []string{coreManifest, upf, first, subscriberManifest("a", "imsi-208930000000001", "", "first")} {
			if err := putIn(ctx, user, at, manifest); err != nil {
				t.Fatalf("in %s: %v", at, err)
			}
		}
	}
	for _, at := range watched {
		until(t, "the refusal of a pool that is taken in "+at, func(ctx context.Context) error {
			if err := putIn(ctx, user, at, second, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "of Slice first: write a pool that is free") {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	}
	if err := putIn(ctx, user, elsewhere, second, client.DryRunAll); err != nil {
		t.Errorf("the operator judges namespace %s, which it does not watch: %v", elsewhere, err)
	}

	for _, at := range watched {
		until(t, "the core, its UPF, Slice and Subscriber in "+at, func(ctx context.Context) error {
			for _, name := range []string{"core5g-nrf", "core5g-subscriber-data"} {
				if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: name}, &appsv1.Deployment{}); err != nil {
					return err
				}
			}
			for _, member := range []string{"Role", "RoleBinding"} {
				list := &unstructured.UnstructuredList{}
				list.SetAPIVersion("rbac.authorization.k8s.io/v1")
				list.SetKind(member + "List")
				if err := user.List(ctx, list, client.InNamespace(at), client.MatchingLabels{api.LabelManagedBy: "core5g-operator"}); err != nil {
					return err
				}
				if len(list.Items) == 0 {
					return fmt.Errorf("no %s of the unit with a standby", member)
				}
			}
			return unsaid(ctx, user, at)
		})
		policy := &networkingv1.NetworkPolicy{}
		until(t, "a NetworkPolicy of the NRF in "+at, func(ctx context.Context) error {
			return user.Get(ctx, client.ObjectKey{Namespace: at, Name: "core5g-nrf"}, policy)
		})
		admits := slices.ContainsFunc(policy.Spec.Ingress[0].From, func(peer networkingv1.NetworkPolicyPeer) bool {
			return peer.PodSelector.MatchLabels[api.LabelComponent] == "operator" &&
				(at == namespace) == (peer.NamespaceSelector == nil) &&
				(peer.NamespaceSelector == nil || peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName] == namespace)
		})
		if !admits {
			t.Errorf("the NRF in %s does not let in the operator of %s: %v", at, namespace, policy.Spec.Ingress[0].From)
		}
		// A function runs as an account that is there, and may read its core.
		deployment := &appsv1.Deployment{}
		if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: "core5g-subscriber-data"}, deployment); err != nil {
			t.Fatal(err)
		}
		account := deployment.Spec.Template.Spec.ServiceAccountName
		if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: account}, &corev1.ServiceAccount{}); err != nil {
			t.Errorf("in %s: %v", at, err)
		}
		if !may(t, user, at, account, at, "watch", "core5g.dev", "subscribers", "") {
			t.Errorf("account %s of %s may not watch its Subscribers", account, at)
		}
	}

	// Elsewhere nothing happens, because the operator is not let near it.
	if got := forbidden.all(); len(got) > 0 {
		t.Errorf("the API server has forbidden the operator %q", got)
	}
	for _, at := range []string{elsewhere, ""} {
		for resource, group := range map[string]string{"core5gs": "core5g.dev", "secrets": "", "pods": "", "deployments": "apps"} {
			if may(t, user, namespace, "core5g-operator", at, "list", group, resource, "") {
				t.Errorf("the operator may list %s in namespace %q", resource, at)
			}
		}
	}
	core := &api.Core5G{}
	if err := user.Get(ctx, client.ObjectKey{Namespace: elsewhere, Name: "core5g"}, core); err != nil {
		t.Fatal(err)
	}
	deployments := &appsv1.DeploymentList{}
	if err := user.List(ctx, deployments, client.InNamespace(elsewhere)); err != nil {
		t.Fatal(err)
	}
	if len(core.Status.Conditions) > 0 || len(deployments.Items) > 0 {
		t.Errorf("in %s the core has conditions %v and %d Deployments", elsewhere, core.Status.Conditions, len(deployments.Items))
	}
}

// installOperator makes what the chart has for an operator that runs in this process, its webhook at a port of this machine, and returns the flags
// that its pod would have.
func installOperator(t *testing.T, admin client.Client, rendered string, port int32) (flags []string) {
	t.Helper()
	for _, doc := range split(t, rendered) {
		object := doc.object
		switch kind := object.GetKind(); {
		case kind == "Deployment":
			spec, _ := podSpec(t, object)
			flags = spec.Containers[0].Args
			continue
		case kind == "Service":
			object = leadHere(t, object, port)
		case kind == "ValidatingWebhookConfiguration":
			configure(t, object, port)
		case strings.HasPrefix(kind, "Role"), strings.HasPrefix(kind, "ClusterRole"), kind == "Lease", kind == "ServiceAccount":
		default:
			continue
		}
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	return flags
}

// TestEnvtestEverywhere runs all of the operator with the rights that the chart gives it for all namespaces: it serves one that comes later and that nobody has
// named, where it makes the accounts of network functions, which may do in it what the chart's may where it has made them, and nothing elsewhere.
func TestEnvtestEverywhere(t *testing.T) {
	env, admin := apiServer(t, "../operators/config/crd", multus)
	ctx := t.Context()
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := admin.Patch(ctx, own, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`))); err != nil {
		t.Fatal(err)
	}
	create := func(name string) {
		t.Helper()
		if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	create("paris")
	rendered, err := templateOf(t, operatorChart, "core5g", namespace, "--values", "core5g-operator/testdata/everywhere.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	flags := installOperator(t, admin, rendered, port)
	for _, want := range []string{"--namespace=core5g", "--watch-namespaces=*,paris", "--account-roles=core5g-"} {
		if !slices.Contains(flags, want) {
			t.Errorf("the operator has %q, want %s", flags, want)
		}
	}
	user := userOf(t, env.Config)
	until(t, "the operator's rights are known", func(context.Context) error {
		if !may(t, user, namespace, "core5g-operator", "", "list", "core5g.dev", "core5gs", "") ||
			!may(t, user, namespace, "core5g-operator", "", "list", "", "nodes", "") ||
			!may(t, user, namespace, "core5g-operator", "", "bind", "rbac.authorization.k8s.io", "clusterroles", "core5g-core5g-subscriber-data") ||
			!may(t, user, namespace, "core5g-operator", "", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", webhookConfiguration) {
			return errors.New("not all of them")
		}
		return nil
	})
	if may(t, user, namespace, "core5g-operator", "", "bind", "rbac.authorization.k8s.io", "clusterroles", "cluster-admin") {
		t.Error("the operator may give anybody every right")
	}
	forbidden := &refusals{}
	runWatching(t, env, port, forbidden, nil, specs.Accounts{Roles: "core5g-", Namespaces: []string{namespace, "paris"}})
	awaitBundle(t, admin)

	create("later")
	first, second := sliceManifest("first", "010203", "10.45.0.0/16"), sliceManifest("second", "112233", "10.45.128.0/17")
	accounts := map[string]string{"paris": "core5g-subscriber-data", "later": "core5g-subscriber-data-account"}
	for at := range accounts {
		for _, manifest := range []string{coreManifest, upfManifest("upf", "172.30.3.16/28", "172.30.6.2/24"), first, subscriberManifest("a", "imsi-208930000000001", "", "first")} {
			if err := putIn(ctx, user, at, manifest); err != nil {
				t.Fatalf("in %s: %v", at, err)
			}
		}
	}
	for at, want := range accounts {
		until(t, "the refusal of a pool that is taken in "+at, func(ctx context.Context) error {
			if err := putIn(ctx, user, at, second, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "of Slice first: write a pool that is free") {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
		deployment := &appsv1.Deployment{}
		until(t, "the core, its UPF, Slice and Subscriber in "+at, func(ctx context.Context) error {
			if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: "core5g-subscriber-data"}, deployment); err != nil {
				return err
			}
			return unsaid(ctx, user, at)
		})
		account := deployment.Spec.Template.Spec.ServiceAccountName
		if account != want {
			t.Errorf("in %s subscriber data run as %s, want %s", at, account, want)
		}
		if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: account}, &corev1.ServiceAccount{}); err != nil {
			t.Errorf("in %s: %v", at, err)
		}
		until(t, "the rights of "+account+" in "+at, func(context.Context) error {
			for resource, group := range map[string]string{"subscribers": "core5g.dev", "secrets": ""} {
				if !may(t, user, at, account, at, "watch", group, resource, "") {
					return fmt.Errorf("it may not watch %s", resource)
				}
			}
			return nil
		})
		for _, elsewhere := range []string{"", namespace, "default"} {
			if may(t, user, at, account, elsewhere, "get", "", "secrets", "") {
				t.Errorf("account %s of %s may read Secrets of namespace %q", account, at, elsewhere)
			}
		}
	}
	// All layouts find theirs, and each may do what the chart's may.
	for account, rights := range map[string][]string{
		"core5g-session-management-account": {"core5gs", "slices", "upfinstances"}, "core5g-access-management-account": {"core5gs"},
		"core5g-control-plane-account": {"core5gs", "slices", "upfinstances", "subscribers"},
	} {
		until(t, "the rights of "+account, func(context.Context) error {
			for _, resource := range rights {
				if !may(t, user, "later", account, "later", "watch", "core5g.dev", resource, "") {
					return fmt.Errorf("it may not watch %s", resource)
				}
			}
			return nil
		})
	}
	if may(t, user, "later", "core5g-access-management-account", "later", "get", "", "secrets", "") {
		t.Error("the AMF may read Secrets")
	}
	if got := forbidden.all(); len(got) > 0 {
		t.Errorf("the API server has forbidden the operator %q", got)
	}
}

// unsaid is an error while an object of the namespace has no conditions.
func unsaid(ctx context.Context, c client.Client, at string) error {
	core, upf, slice, subscriber := &api.Core5G{}, &api.UPFInstance{}, &api.Slice{}, &api.Subscriber{}
	for name, o := range map[string]client.Object{"core5g": core, "upf": upf, "first": slice, "a": subscriber} {
		if err := c.Get(ctx, client.ObjectKey{Namespace: at, Name: name}, o); err != nil {
			return err
		}
	}
	for i, conditions := range [][]metav1.Condition{core.Status.Conditions, upf.Status.Conditions, slice.Status.Conditions, subscriber.Status.Conditions} {
		if len(conditions) == 0 {
			return errors.New([]string{"the Core5G", "the UPFInstance", "the Slice", "the Subscriber"}[i] + " has no conditions")
		}
	}
	return nil
}

// may asks the API server for a right of a service account, to all objects where there is no name.
func may(t *testing.T, c client.Client, accountAt, account, at, verb, group, resource, name string) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + accountAt + ":" + account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: at, Verb: verb, Group: group, Resource: resource, Name: name},
	}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// configure has the API server ask a port of this machine.
func configure(t *testing.T, object *unstructured.Unstructured, port int32) {
	t.Helper()
	webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range webhooks {
		if err := unstructured.SetNestedField(w.(map[string]any), int64(port), "clientConfig", "service", "port"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(object.Object, webhooks, "webhooks"); err != nil {
		t.Fatal(err)
	}
}

func putIn(ctx context.Context, c client.Client, at, manifest string, options ...client.PatchOption) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		return err
	}
	object.SetNamespace(at)
	return c.Patch(ctx, object, client.Apply, append(options, client.FieldOwner("user"), client.ForceOwnership)...)
}

// runWatching starts controllers and webhook as the operator's program does, with its account, for some namespaces.
func runWatching(t *testing.T, env *envtest.Environment, port int32, forbidden *refusals, namespaces []string, accounts specs.Accounts) {
	t.Helper()
	silence()
	account := rest.CopyConfig(env.Config)
	account.QPS, account.Burst = 100, 200
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":core5g-operator"}
	account.Wrap(forbidden.wrap)
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	certificate := &admission.Certificate{Namespace: namespace, Name: webhookName, Configuration: webhookConfiguration, Now: time.Now}
	skip := true // other tests have controllers of these names
	options := ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(namespaces...), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: &skip},
		WebhookServer:  certificate.Server(int(port)),
		LeaderElection: true, LeaderElectionID: "core5g-operator", LeaderElectionNamespace: namespace,
	}
	certificate.Cache(&options.Cache)
	mgr, err := ctrl.NewManager(account, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := certificate.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	platform := specs.Platform{
		Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev", OperatorNamespace: namespace,
		SubscriberDataServiceAccount: "core5g-subscriber-data", SessionManagementServiceAccount: "core5g-session-management",
		AccessManagementServiceAccount: "core5g-access-management", ControlPlaneServiceAccount: "core5g-control-plane",
		Accounts: accounts,
	}
	admission.Register(mgr, platform)
	whole := controllers.DefaultOptions(platform)
	whole.Metrics = nil // a registry of the whole program
	if err := controllers.Setup(mgr, whole); err != nil {
		t.Fatal(err)
	}
	managertest.Run(t, mgr)
}
