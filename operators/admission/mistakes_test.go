package admission_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/operators/admission"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"
	"core5g.dev/core5g/operators/controllers"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/managertest"
	"core5g.dev/core5g/operators/specs"
)

// site is what a new user has got right: a core, a UPF, a Slice with its subscriber.
const site = `
apiVersion: core5g.dev/v1beta1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  tacs: ["000001", "000002"]
  sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1, sd: "112233"}]
  tls: {mode: Disabled}
---
apiVersion: core5g.dev/v1beta1
kind: UPFInstance
metadata: {name: upf}
spec:
  n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.16/28}
  n6: {attachment: {type: Bridge, bridge: c5g-n6}, address: 172.30.6.2/24, gateway: 172.30.6.1}
  n4: {controlPlaneSubnets: [10.244.0.0/16]}
---
apiVersion: core5g.dev/v1beta1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
---
apiVersion: v1
kind: Secret
metadata: {name: half}
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862}
---
` + "apiVersion: core5g.dev/v1beta1\nkind: Subscriber\nmetadata: {name: ue-1}\nspec: {supi: imsi-208930000000001, gpsi: msisdn-33600000001, authentication: {secretRef: {name: keys}}, slices: [{name: internet}]}\n"

func slice(name, rest string) string {
	return fmt.Sprintf("apiVersion: core5g.dev/v1beta1\nkind: Slice\nmetadata: {name: %s}\nspec:\n  %s\n", name, rest)
}

func subscriber(name, rest string) string {
	return fmt.Sprintf("apiVersion: core5g.dev/v1beta1\nkind: Subscriber\nmetadata: {name: %s}\nspec: {%s}\n", name, rest)
}

func core(name, rest string) string {
	return fmt.Sprintf("apiVersion: core5g.dev/v1beta1\nkind: Core5G\nmetadata: {name: %s}\nspec:\n  plmns: [{mcc: \"001\", mnc: \"01\"}]\n  sliceCatalogue: [{sst: 1}]\n  tls: {mode: Disabled}\n  %s\n", name, rest)
}

func upf(name, n3, n6 string) string {
	return fmt.Sprintf("apiVersion: core5g.dev/v1beta1\nkind: UPFInstance\nmetadata: {name: %s}\nspec:\n  n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: %s}\n  n6: {attachment: {type: Bridge, bridge: c5g-n6}, %s}\n", name, n3, n6)
}

// mistake is one that people make, and what answers it: a refusal or a warning when it is applied, and a condition.
type mistake struct {
	manifest          string
	refused, warned   string
	condition, saying string
}

// mistakes by what is wrong. Those that are taken stay, and must not be in each other's way.
var mistakes = map[string]mistake{
	// Of one object.
	"a tracking area that is reserved":      {manifest: core("a", `tacs: ["fffffe"]`), refused: "tac 000000 and FFFFFE are reserved"},
	"a tracking area without quotes":        {manifest: core("a", `tacs: [000001]`), refused: `write a tac in quotes, for example "000001"`},
	"a tracking area twice":                 {manifest: core("a", `tacs: ["00000a", "00000A"]`), refused: "the AMF cannot use this: tac 00000a is there twice: write it once"},
	"a value that there is not":             {manifest: core("a", "tacs: [\"000001\"]\n  controlPlane: Open5GS"), refused: `supported values: "Core5G", "Free5GC"`},
	"a field that there is not":             {manifest: core("a", "tacs: [\"000001\"]\n  plmn: {mcc: \"001\"}"), refused: `unknown field "spec.plmn"`},
	"a database that is not named":          {manifest: core("a", "tacs: [\"000001\"]\n  subscriberData: PostgreSQL"), refused: `name the Secret whose key "uri" holds the postgresql:// URI`},
	"a network with host bits":              {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.46.0.1/16]}]}`), refused: "write the network address of that prefix"},
	"a text that is no network":             {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.46.0.0]}]}`), refused: "write a network address and a prefix length"},
	"a guaranteed flow without rates":       {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.46.0.0/16], flows: [{name: voice, fiveQI: 1, precedence: 1, filters: [{}]}]}]}`), refused: "fiveQI is that of a GBR flow (TS 23.501 table 5.7.4-1): write gbr"},
	"no fallback for no tracking area":      {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.46.0.0/16], upfs: [{name: edge, uePools: [10.47.0.0/16], fallback: None}]}]}`), refused: "write the tracking areas whose gNBs reach no other UPF, or leave fallback out"},
	"an endpoint that is outside of N3":     {manifest: upf("a", "172.30.4.16/28", "address: 172.30.6.3/24, gateway: 172.30.6.1"), refused: "must lie within n3.subnet 172.30.3.0/24"},
	"another S-NSSAI for a Slice":           {manifest: slice("internet", `{snssai: {sst: 9}, dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}]}`), refused: "create a second Slice with the new S-NSSAI"},
	"a SUPI of another network":             {manifest: subscriber("a", "supi: imsi-310410000000001, authentication: {secretRef: {name: keys}}, slices: [{name: internet}]"), refused: "write a SUPI of one of them, or add its PLMN to spec.plmns of the Core5G first"},
	"UE pools that overlap":                 {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.45.128.0/17]}]}`), refused: "overlaps pool 10.45.0.0/16 of Slice internet: write a pool that is free"},
	"an S-NSSAI twice":                      {manifest: slice("a", `{snssai: {sst: 1, sd: "010203"}, dataNetworks: [{dnn: internet, uePools: [10.46.0.0/16]}]}`), refused: "S-NSSAI 1-010203 belongs to Slice internet already: "},
	"a SUPI twice":                          {manifest: subscriber("a", "supi: imsi-208930000000001, authentication: {secretRef: {name: keys}}, slices: [{name: internet}]"), refused: "belongs to Subscriber ue-1 already: delete one of the two"},
	"a number twice":                        {manifest: subscriber("a", "supi: imsi-208930000000002, gpsi: msisdn-33600000001, authentication: {secretRef: {name: keys}}, slices: [{name: internet}]"), refused: "belongs to Subscriber ue-1 already: write another number, or leave gpsi out"},
	"N3 endpoints of another UPF":           {manifest: upf("a", "172.30.3.24/29", "address: 172.30.6.3/24, gateway: 172.30.6.1"), refused: "overlaps 172.30.3.16/28 of UPFInstance upf: write "},
	"an N6 address of another UPF":          {manifest: upf("a", "172.30.3.64/28", "address: 172.30.6.2/24, gateway: 172.30.6.1"), refused: "of UPFInstance upf: write "},
	"a pool in the network of Services":     {manifest: slice("a", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.96.0.0/17]}]}`), refused: "overlaps the cluster's Service network 10.96.0.0/16: write a pool that is free"},
	"a Slice that there is not":             {manifest: subscriber("b", "supi: imsi-208930000000010, authentication: {secretRef: {name: keys}}, slices: [{name: robots}]"), warned: "Slice robots does not exist: create it, or take it out of spec.slices", condition: "SlicesReady"},
	"a data network that there is not":      {manifest: subscriber("c", "supi: imsi-208930000000011, authentication: {secretRef: {name: keys}}, slices: [{name: internet, dnns: [ims]}]"), warned: "Slice internet has no data network ims: write one of its own (internet), or none for all of them", condition: "SlicesReady"},
	"a UPFInstance that there is not":       {manifest: slice("d", `{snssai: {sst: 1, sd: "112233"}, dataNetworks: [{dnn: internet, uePools: [10.48.0.0/16]}], upfSelector: {name: upff}}`), warned: "UPFInstance upff does not exist: create it, or name another in spec.upfSelector", condition: "UPFReady"},
	"a further UPFInstance that is not":     {manifest: slice("e", `{snssai: {sst: 2}, dataNetworks: [{dnn: internet, uePools: [10.49.0.0/16], upfs: [{name: edge, uePools: [10.50.0.0/16], tacs: ["000002"]}]}]}`), warned: "UPFInstance edge does not exist: create it, or name another in upfs of DNN internet", condition: "FurtherUPFsReady"},
	"an S-NSSAI that nobody is told of":     {manifest: slice("f", `{snssai: {sst: 3}, dataNetworks: [{dnn: internet, uePools: [10.51.0.0/16]}]}`), warned: "so no UE can ask for it: add {sst: 3} there, which restarts nothing", condition: "Advertised"},
	"a core that there is not":              {manifest: slice("g", `{coreRef: {name: cor5g}, snssai: {sst: 4}, dataNetworks: [{dnn: internet, uePools: [10.52.0.0/16]}]}`), warned: "Core5G cor5g does not exist: create it, or name another in spec.coreRef", condition: "Advertised"},
	"breakouts that contradict each other":  {manifest: slice("h", `{snssai: {sst: 5}, dataNetworks: [{dnn: internet, uePools: [10.53.0.0/16], breakouts: [{name: a, prefixes: [192.0.2.0/24], upfInstance: upf}, {name: b, prefixes: [198.51.100.0/24], upfInstance: edge}]}]}`), condition: "SMFReady", saying: "name one in both, or divide their tacs"},
	"keys of which one is missing":          {manifest: subscriber("i", "supi: imsi-208930000000012, authentication: {secretRef: {name: half}}, slices: [{name: internet}]"), condition: "AuthenticationReady", saying: "write 32 hexadecimal digits under stringData"},
	"keys that are not there":               {manifest: subscriber("j", "supi: imsi-208930000000013, authentication: {secretRef: {name: none}}, slices: [{name: internet}]"), condition: "AuthenticationReady", saying: `Secret none does not exist: create it with keys "k" and "opc"`},
	"a database whose Secret is not there":  {manifest: core("k", "tacs: [\"000001\"]\n  database: {type: External, uriSecretRef: {name: mongo}}"), condition: "ConfigurationValid", saying: `Secret mongo, named by spec.database.uriSecretRef, does not exist: create it with key "uri"`},
	"subscribers whose Secret is not there": {manifest: core("l", "tacs: [\"000001\"]\n  subscriberData: PostgreSQL\n  subscriberDatabase: {secretRef: {name: pg}}"), condition: "SubscriberDatabaseReady", saying: `Secret pg, named by spec.subscriberDatabase.secretRef, does not exist: create it with key "uri"`},
}

// does says what to do about a mistake; of what the API server says by itself, it names what there is, or the field.
var does = regexp.MustCompile(`\b(write|create|add|put|name|delete|leave|take|keep|install|make|divide|supported values|unknown field)\b`)

// user applies manifests as kubectl does.
type user struct {
	client.Client
	told *apiservertest.Warnings
}

func (u *user) apply(ctx context.Context, manifest string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		return nil, err
	}
	object.SetNamespace("default")
	err := u.Create(ctx, object.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = u.Patch(ctx, object.DeepCopy(), client.Apply, client.FieldOwner("user"), client.ForceOwnership)
	}
	return object, err
}

// says waits until a condition of an object is not True, and says something.
func (u *user) says(t *testing.T, object *unstructured.Unstructured, condition, text string) {
	t.Helper()
	var last error
	if wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := u.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			last = cmp.Or(last, err)
			return false, nil
		}
		var status struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if last = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status); last != nil {
			return false, nil
		}
		found := meta.FindStatusCondition(status.Status.Conditions, condition)
		switch {
		case found == nil:
			last = errors.New("it is not there")
		case found.Status == metav1.ConditionTrue || !strings.Contains(found.Message, text):
			last = fmt.Errorf("it is %s: %s", found.Status, found.Message)
		case !does.MatchString(found.Message):
			last = fmt.Errorf("it does not say what to do: %s", found.Message)
		default:
			return true, nil
		}
		return false, nil
	}) != nil {
		t.Errorf("condition %s of %s: %v, want %q", condition, object.GetName(), last, text)
	}
}

// TestEnvtestMistakes makes the mistakes of a new user at a real API server, with the operator as it is installed: each is answered, and told what to do about.
func TestEnvtestMistakes(t *testing.T) {
	u, env := operated(t)
	for _, manifest := range strings.Split(site, "---\n") {
		if _, err := u.apply(t.Context(), manifest); err != nil {
			t.Fatalf("what is right: %v", err)
		}
	}
	if said := u.told.Take(); said != "" {
		t.Errorf("what is right is warned of: %s", said)
	}
	unit := &unstructured.Unstructured{}
	unit.SetGroupVersionKind(api.GroupVersion.WithKind("UPFInstance"))
	unit.SetNamespace("default")
	unit.SetName("upf")
	t.Run("a cluster without Multus", func(t *testing.T) { u.says(t, unit, "N3Attached", "install Multus") })
	if _, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "controllers", "testdata")}}); err != nil {
		t.Fatal(err)
	}
	t.Run("a cluster without hugepages", func(t *testing.T) {
		pod := &corev1.Pod{}
		if err := wait.PollUntilContextTimeout(t.Context(), 250*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			// A change of annotations stands for the periodic look, which is half a minute away.
			looked := fmt.Sprintf(`{"metadata":{"annotations":{"test/look":"%d"}}}`, time.Now().UnixNano())
			if err := u.Patch(ctx, unit.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(looked))); err != nil {
				return false, nil
			}
			return u.Get(ctx, client.ObjectKey{Namespace: "default", Name: "upf-0"}, pod) == nil, nil
		}); err != nil {
			t.Fatal("the unit has no pod")
		}
		before := pod.DeepCopy() // what a scheduler says
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient hugepages-2Mi.",
		})
		if err := u.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		u.says(t, unit, "Placed", "1 Insufficient hugepages-2Mi: make room on a node, or ask for less in spec.workers, hugepages or units")
	})
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			u.told.Take()
			object, err := u.apply(t.Context(), m.manifest)
			warned := u.told.Take()
			if m.refused != "" {
				if err == nil || !strings.Contains(err.Error(), m.refused) || !does.MatchString(err.Error()) {
					t.Errorf("got %v, want %q, and what to do", err, m.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(warned, m.warned) || m.warned != "" && !does.MatchString(warned) {
				t.Errorf("warned of %q, want %q, and what to do", warned, m.warned)
			}
			if m.condition != "" {
				u.says(t, object, m.condition, m.saying+m.warned)
			}
		})
	}
}

// operated is an API server with the operator: its controllers, and its webhook, which the API server asks.
func operated(t *testing.T) (*user, *envtest.Environment) {
	t.Helper()
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil)))
	asked := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "core5g"}}
	for resource, path := range map[string]string{
		"core5gs": admission.PathCore5G, "slices": admission.PathSlice, "subscribers": admission.PathSubscriber, "upfinstances": admission.PathUPFInstance,
	} {
		asked.Webhooks = append(asked.Webhooks, admissionv1.ValidatingWebhook{
			Name: resource + ".core5g.dev", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone), FailurePolicy: ptr.To(admissionv1.Fail),
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "webhook", Path: &path}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{"core5g.dev"}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource}},
			}},
		})
	}
	env, restConfig := apiservertest.Start(t, func(env *envtest.Environment) {
		env.WebhookInstallOptions = envtest.WebhookInstallOptions{
			LocalServingHost: "127.0.0.1", LocalServingPort: loopback.Port(t), ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{asked},
		}
		env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.96.0.0/16")
	})
	restConfig.QPS, restConfig.Burst = 500, 1000
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(rest.CopyConfig(restConfig), ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: env.WebhookInstallOptions.LocalServingHost, Port: env.WebhookInstallOptions.LocalServingPort, CertDir: env.WebhookInstallOptions.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	platform := specs.Platform{Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev"}
	options := controllers.DefaultOptions(platform)
	options.Metrics = nil
	if err := controllers.Setup(mgr, options); err != nil {
		t.Fatal(err)
	}
	admission.Register(mgr, platform)
	managertest.Run(t, mgr)
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the operator reads nothing")
	}
	started := mgr.GetWebhookServer().StartedChecker()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return started(nil) == nil, nil }); err != nil {
		t.Fatalf("the webhook does not serve: %v", started(nil))
	}
	u := &user{told: &apiservertest.Warnings{}}
	mine := rest.CopyConfig(restConfig)
	mine.WarningHandlerWithContext = u.told
	strict, err := client.New(mine, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	u.Client = client.WithFieldValidation(strict, metav1.FieldValidationStrict)
	return u, env
}
