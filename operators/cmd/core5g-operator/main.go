// Command core5g-operator makes a cluster run the 5G cores that its Core5G, Slice, UPFInstance and
// Subscriber objects describe. It also carries what the chart's jobs and the init containers of network
// functions run, so that they need no image of their own:
//
//	core5g-operator [run] [flags]           the controllers
//	core5g-operator wait tcp://host:port …  until every peer listens
//	core5g-operator store-member [flags]    before a server of an embedded session store of three begins
//	core5g-operator apply|cleanup [flags]   the chart's default objects, and their removal
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"core5g.dev/core5g/images/nf/memorylimit"
	"core5g.dev/core5g/operators/admission"
	"core5g.dev/core5g/operators/controllers"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/peers"
	"core5g.dev/core5g/operators/release"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/operators/storemember"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx := ctrl.SetupSignalHandler()
	command := "run"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command = args[0]
	}
	switch command {
	case "run":
		if len(args) > 0 && args[0] == "run" {
			args = args[1:]
		}
		if err := operate(ctx, args); err != nil {
			fmt.Fprintln(os.Stderr, "core5g-operator:", err)
			return 1
		}
		return 0
	case "wait":
		if err := peers.Wait(ctx, args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "core5g-operator wait:", err)
			return 1
		}
		return 0
	case "store-member":
		o, err := storemember.Parse(args[1:], os.Stderr)
		if err == nil {
			err = storemember.Prepare(ctx, o)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "core5g-operator store-member:", err)
			return 1
		}
		return 0
	case "apply", "cleanup":
		return release.Main(ctx, ctrl.GetConfig, args, os.Stderr)
	default:
		fmt.Fprintf(os.Stderr, "core5g-operator: unknown command %q: write run, wait, store-member, apply or cleanup\n", command)
		return 2
	}
}

type config struct {
	metrics, health, level string
	// namespaces are watched; all where there are none.
	namespaces  []string
	leaderElect bool
	platform    specs.Platform
	pullPolicy  string
	// webhook is served on a port, 0 for none.
	webhookPort                       int
	webhookName, webhookConfiguration string
}

func parse(args []string) (config, error) {
	var c config
	f := flag.NewFlagSet("core5g-operator", flag.ContinueOnError)
	namespace := f.String("namespace", os.Getenv("POD_NAMESPACE"), "the namespace to watch (default $POD_NAMESPACE; empty for all)")
	more := f.String("watch-namespaces", "", "more namespaces to watch, with commas between them; * for all, and then others are those where the chart has made accounts")
	f.StringVar(&c.platform.Accounts.Roles, "account-roles", "",
		"with -watch-namespaces=*, what the names of the ClusterRoles begin with that accounts of functions have: behind it they are called as the accounts of the flags below")
	f.StringVar(&c.metrics, "metrics-bind-address", ":9090", "address of /metrics; 0 for none")
	f.StringVar(&c.health, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	f.StringVar(&c.level, "log-level", "info", "debug, info, warn or error")
	f.BoolVar(&c.leaderElect, "leader-elect", false, "let one of several replicas act at a time")
	f.StringVar(&c.platform.OperatorImage, "operator-image", "core5g/operator:dev", "image of this program, for init containers")
	f.StringVar(&c.platform.Registry, "image-registry", "core5g", "registry and path of the functions' images where a Core5G names none")
	f.StringVar(&c.platform.Tag, "image-tag", "dev", "tag of the functions' images where a Core5G names none")
	f.Func("image-digests", `digests of images by tag and name, as JSON: {"1.2.3":{"amf":"sha256:…"}}`, func(text string) (err error) {
		c.platform.Digests, err = imageDigests(text)
		return err
	})
	f.StringVar(&c.pullPolicy, "image-pull-policy", "IfNotPresent", "pull policy where a Core5G names none")
	f.StringVar(&c.platform.SubscriberDataServiceAccount, "subscriber-data-service-account", "core5g-subscriber-data",
		"service account that may read Subscribers, Slices and Secrets")
	f.StringVar(&c.platform.SessionManagementServiceAccount, "session-management-service-account", "core5g-session-management",
		"service account that may read Core5Gs, Slices and UPFInstances")
	f.StringVar(&c.platform.AccessManagementServiceAccount, "access-management-service-account", "core5g-access-management",
		"service account that may read Core5Gs")
	f.StringVar(&c.platform.ControlPlaneServiceAccount, "control-plane-service-account", "core5g-control-plane",
		"service account that may do what these three may")
	f.IntVar(&c.webhookPort, "webhook-port", 0, "port of the validating admission webhook; 0 for none")
	f.StringVar(&c.webhookName, "webhook-name", "core5g-operator-webhook", "the webhook's Service in $POD_NAMESPACE, and the Secret with its certificate; with -tls behind it where cert-manager makes it")
	f.StringVar(&c.webhookConfiguration, "webhook-configuration", "",
		"the ValidatingWebhookConfiguration whose caBundle to keep, with a certificate made by this program; empty where cert-manager makes it")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if c.webhookPort != 0 && os.Getenv("POD_NAMESPACE") == "" {
		return c, errors.New("-webhook-port needs $POD_NAMESPACE: the webhook's certificate is in a Secret there")
	}
	var err error
	if c.namespaces, c.platform.Accounts.Namespaces, err = watched(*namespace, *more); err != nil {
		return c, err
	}
	if all := *more != "" && c.namespaces == nil; all != (c.platform.Accounts.Roles != "") {
		return c, errors.New("-watch-namespaces=* and -account-roles go together: in namespaces that the chart does not name the operator makes accounts, and gives them these roles")
	}
	c.platform.OperatorNamespace = os.Getenv("POD_NAMESPACE")
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	c.platform.PullPolicy = corev1.PullPolicy(c.pullPolicy)
	return c, nil
}

// everywhere is the name for all namespaces.
const everywhere = "*"

// watched returns each namespace that is watched once, the first and those of a list with commas, and none where all are; and those that were
// named, where the chart has made what functions run as.
func watched(namespace, more string) (watch, named []string, err error) {
	if more == "" {
		if namespace == "" {
			return nil, nil, nil
		}
		return []string{namespace}, []string{namespace}, nil
	}
	if namespace == "" {
		return nil, nil, errors.New("-watch-namespaces without -namespace, which means all namespaces already: leave one out")
	}
	all := false
	named = []string{namespace}
	for _, name := range strings.Split(more, ",") {
		if name == everywhere {
			all = true
			continue
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, nil, fmt.Errorf("-watch-namespaces: %q is no name of a namespace, nor * for all: %s", name, strings.Join(problems, ", "))
		}
		if !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	if all {
		return nil, named, nil
	}
	return named, named, nil
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// imageDigests reads {tag: {image: digest}}.
func imageDigests(text string) (map[string]map[string]string, error) {
	var digests map[string]map[string]string
	if err := json.Unmarshal([]byte(text), &digests); err != nil {
		return nil, fmt.Errorf(`%w: write {"tag": {"image": "sha256:…"}}`, err)
	}
	for tag, images := range digests {
		for image, digest := range images {
			if !digestForm.MatchString(digest) {
				return nil, fmt.Errorf("%s:%s: %q is no digest: write sha256: and 64 hexadecimal digits in lower case", image, tag, digest)
			}
		}
	}
	return digests, nil
}

func operate(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.level)); err != nil {
		return fmt.Errorf("-log-level %q: write debug, info, warn or error", c.level)
	}
	memorylimit.Respect(memorylimit.Files)
	if os.Getenv("GOGC") == "" {
		// Most of the heap is the cache, which stays. To collect when half as much has come again costs little, and
		// leaves a start with many Subscribers within two thirds of the memory.
		debug.SetGCPercent(50)
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	scheme, err := cluster.Scheme()
	if err != nil {
		return err
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The client's default of 20 requests a second makes a core of many subscribers wait at a start.
	restConfig.QPS, restConfig.Burst = 100, 200
	options := ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cluster.CacheOptions(c.namespaces...),
		NewClient:                     cluster.NewClient,
		Metrics:                       server.Options{BindAddress: c.metrics},
		HealthProbeBindAddress:        c.health,
		LeaderElection:                c.leaderElect,
		LeaderElectionID:              "core5g-operator",
		LeaderElectionNamespace:       os.Getenv("POD_NAMESPACE"),
		LeaderElectionReleaseOnCancel: true,
	}
	certificate := &admission.Certificate{
		Namespace: os.Getenv("POD_NAMESPACE"), Name: c.webhookName, Configuration: c.webhookConfiguration, Now: time.Now,
	}
	if c.webhookPort != 0 {
		certificate.Cache(&options.Cache)
		options.WebhookServer = certificate.Server(c.webhookPort)
	}
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return err
	}
	if c.webhookPort != 0 {
		if err := certificate.SetupWithManager(mgr); err != nil {
			return err
		}
		admission.Register(mgr, c.platform)
	}
	if err := controllers.Setup(mgr, controllers.DefaultOptions(c.platform)); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if len(c.namespaces) > 0 {
		ctrl.Log.Info("watching namespaces", "namespaces", c.namespaces)
	} else {
		ctrl.Log.Info("watching all namespaces")
	}
	defer letGo(ctx, mgr.GetConfig(), scheme)()
	return mgr.Start(ctx)
}

// letGoTime is a part of the pod's grace period.
const letGoTime = 8 * time.Second

// letGo has an operator that is told to stop take its finalizers off where its namespace is being deleted, beside the end
// of its controllers. The function that it returns waits for that.
func letGo(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (wait func()) {
	namespace := os.Getenv("POD_NAMESPACE")
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		if namespace == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
		defer cancel()
		c, err := client.New(config, client.Options{Scheme: scheme})
		if err == nil {
			var count int
			if count, err = cluster.LetGo(ctx, c, namespace); count > 0 {
				ctrl.Log.Info("the namespace is being deleted: took the finalizers off", "namespace", namespace, "objects", count)
			}
		}
		if err != nil {
			ctrl.Log.Error(err, "finalizers of a namespace that may be being deleted", "namespace", namespace)
		}
	}()
	return func() {
		if ctx.Err() != nil {
			<-done
		}
	}
}
